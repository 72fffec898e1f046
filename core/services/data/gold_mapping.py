"""Map gold columns: those that fit a codebook, and the gold of stored documents again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from core.codebook import Codebook
from core.documents import Value
from core.errors import InputError, UsageError
from core.formatting import format_rating
from core.ingest.gold import GoldSource, LabelIndex
from core.ingest.gold_suggestions import columns_by_rater
from core.ingest.mapping import GOLD_KINDS, ColumnMapping, check_mapping
from core.ingest.table import Table
from core.services.codebooks import codebook as codebooks
from core.services.data.importing import (
    NO_NAMES,
    ImportDraft,
    ImportPreview,
    propose_mapping,
    save_new_codebook,
)
from core.services.project_session import ProjectSession
from core.store.annotation_sources import AUTHOR

GOLD_SETTING = "gold mapping"
"""Project setting with the gold columns that were mapped last and the last import before that."""
ID_COLUMN, TEXT_COLUMN = "document id", "document text"


def gold_kinds(codebook: Codebook | None) -> tuple[str, ...]:
    """Return the kinds of gold that suit a codebook, all of them without a codebook."""
    return ("label", "list", "choice") if codebook is None else GOLD_KINDS[codebook.kind]


def gold_value_options(draft: ImportDraft, codebook: Codebook | None, cell: str) -> dict[str, Value]:
    """Return the values that an unknown gold cell can be mapped to, by name. "No gold" is not among them.

    Present and absent for one column per label, the points of all scales for a rating, otherwise the labels. In a list
    a name can also be left out. Without a codebook there are no labels to offer. An empty cell can only mean absent.
    """
    if not cell:
        return {"absent": False}
    kinds = {source.kind for source in draft.mapping.gold}
    if codebook is not None and codebook.kind == "rating":
        points = sorted({point for scale in codebook.scales for point in scale.points})
        return {format_rating(point): point for point in points}
    if "label" in kinds:
        return {"present": True, "absent": False}
    names: dict[str, Value] = {name: name for name in codebook.names} if codebook is not None else {}
    return {**names, "leave out": False} if "list" in kinds else names


def suggest_gold(draft: ImportDraft, kind: str, codebook: Codebook | None) -> tuple[GoldSource, ...]:
    """Return gold columns of one kind: those named like the labels, or none."""
    guess = propose_mapping(draft.table, codebook).gold
    if guess and all(source.kind == kind for source in guess):
        return guess
    if kind == "label" and codebook is not None:
        columns = (column for column in draft.table.columns if column != draft.mapping.text)
        return tuple(LabelIndex(codebook).sources(columns))
    return ()


def gold_by_rater(draft: ImportDraft) -> tuple[GoldSource, ...]:
    """Return the chosen label columns as gold of several raters; empty if their names do not allow it."""
    gold = draft.mapping.gold
    return gold if len(draft.mapping.raters) > 1 else columns_by_rater([source.column for source in gold])


def draft_from_project(session: ProjectSession, codebook: Codebook | None) -> ImportDraft:
    """Return the project's documents as a draft whose gold columns can be mapped again.

    The gold columns that were mapped last are proposed if they still fit. Gold columns of an import are proposed only
    if no others are. No columns are proposed if they would add a rater to those of the project: of rows by several
    raters, only the first of each document is stored. Raises InputError if the project has no documents.
    """
    state = _documents_state(session)
    table = _stored_table(session)
    former_names = codebooks.former_names(session, codebook) if codebook is not None else NO_NAMES
    proposed = propose_mapping(table, codebook, former_names)
    gold = tuple(source for source in proposed.gold if source.column not in (ID_COLUMN, TEXT_COLUMN))
    mapping = replace(proposed, text=TEXT_COLUMN, id=ID_COLUMN, context=(), gold=gold)
    raters = {*session.store.annotations.raters()} - {AUTHOR}
    if gold and raters.isdisjoint(mapping.raters) and raters:
        reason = "The project has gold by other raters. Choose columns to add gold."
        mapping = replace(mapping, gold=(), reasons=(*mapping.reasons, reason))
    mapping = _with_earlier_gold(session, table, codebook, mapping)
    return ImportDraft(session.name, (), table, mapping, empties="keep", destination="replace", documents_state=state)


def _with_earlier_gold(
    session: ProjectSession, table: Table, codebook: Codebook | None, mapping: ColumnMapping
) -> ColumnMapping:
    """Return the mapping with the gold columns that were mapped last, unchanged if they do not fit.

    They do not fit if raters had rows or files of their own, or if the codebook has no such label any more. Those of an
    import do not replace others.
    """
    imports = [entry for entry in session.store.documents.imports() if entry.options.get("gold")]
    options, reason = imports[-1].options if imports else {}, "These are the gold columns of the last import with gold."
    mapped = session.store.settings.get(GOLD_SETTING)
    is_newer = mapped is not None and all(entry.id <= mapped["import"] for entry in imports)
    if is_newer:
        options, reason = mapped, "These are the gold columns that were mapped last."
    gold = tuple(GoldSource(**source) for source in options.get("gold", ()))
    raters = session.store.annotations.raters()
    if not gold or options["rater"] is not None or not all(source.rater in raters for source in gold):
        return mapping
    if mapping.gold not in ((), gold) and not is_newer:
        return mapping
    value_map = {**options["value_map"], **mapping.value_map}
    earlier = replace(mapping, gold=gold, value_map=value_map, reasons=(*mapping.reasons, reason))
    try:
        check_mapping(table, earlier, codebook)
    except UsageError:
        return mapping
    return earlier


def _documents_state(session: ProjectSession) -> tuple[Any, ...]:
    """Return a value that changes with every import; gold may change while its columns are mapped."""
    return session.store.documents.state()[:2]


def _stored_table(session: ProjectSession) -> Table:
    """Return id, text and source columns of all stored documents as a table."""
    documents = session.store.documents.load(session.store.documents.ids(), gold=False)
    if not documents:
        raise InputError("The project has no documents.", "Import a file first.")
    rows = [{**document.source, ID_COLUMN: document.id, TEXT_COLUMN: document.text} for document in documents]
    columns = tuple(dict.fromkeys([ID_COLUMN, TEXT_COLUMN, *(name for row in rows for name in row)]))
    data = tuple(tuple(row.get(name) for row in rows) for name in columns)
    numbers = tuple(range(1, len(rows) + 1))
    return Table(session.name, "json", columns, data, numbers, numbers, len(rows))


def other_raters(session: ProjectSession, draft: ImportDraft) -> list[str]:
    """Return the raters with gold that a new mapping does not name, without authors, whose labels are their own."""
    return [rater for rater in session.store.annotations.raters() if rater not in {AUTHOR, *draft.mapping.raters}]


def replace_gold(session: ProjectSession, preview: ImportPreview, dropped: Iterable[str] = ()) -> int:
    """Replace gold by that of a preview of ``draft_from_project``; return the documents with gold from it.

    The mapping is proposed again next time. Only the gold of the raters that it names is replaced, on documents whose
    row has one of its columns: gold may also come from further files, whose rows are not stored. The gold of the
    ``dropped`` raters is deleted. Texts, runs and reviews stay. A codebook that was made from the columns is saved.
    Raises InputError if documents were imported since the draft was made: its rows may be those of other texts.
    """
    if preview.draft.documents_state != _documents_state(session):
        raise InputError(
            f"The documents of {session.name} have changed since their columns were read.",
            "Cancel, and map the gold columns again.",
        )
    built, mapping = preview.built, preview.draft.mapping
    columns = {source.column for source in mapping.gold}
    session.store.documents.replace_gold(
        {document.id: document.gold for document in built.documents if document.gold},
        raters=mapping.raters,
        documents=[
            document.id
            for document in built.documents
            if any(document.source.get(column) is not None for column in columns)
        ],
        dropped=dropped,
    )
    if mapping.gold:
        last = max((import_.id for import_ in session.store.documents.imports()), default=0)
        session.store.settings.set(GOLD_SETTING, {**asdict(replace(mapping, reasons=())), "import": last})
    save_new_codebook(session, preview, "from the gold columns")
    return built.with_gold
