"""The Data room: from an upload to documents in the project, with every row accounted for before anything is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from core.codebook import Codebook, Scale, normalise
from core.documents import Document, Value
from core.errors import InputError, UsageError
from core.ingest import (
    SUFFIXES,
    BuiltDocuments,
    GoldSource,
    Mapping,
    Profile,
    Rejected,
    Table,
    UnknownGold,
    build_documents,
    codebook_from_gold,
    profile_documents,
    read_table,
    rejected_csv,
    suggest_mapping,
)
from core.ingest.csv_reader import DELIMITERS
from core.services.codebooks.codebook import prefilled
from core.services.session import ProjectSession
from core.store.documents import Import, RejectedRow

__all__ = [
    "DELIMITERS",
    "SUFFIXES",
    "BuiltDocuments",
    "Draft",
    "GoldSource",
    "Import",
    "ImportPreview",
    "Mapping",
    "Profile",
    "Rejected",
    "Table",
    "UnknownGold",
    "gold_draft",
    "gold_kinds",
    "meanings",
    "of_kind",
    "propose",
    "read",
    "rejected_csv",
    "remap_gold",
    "reread",
    "stored_table",
    "take_in",
    "trial",
]  # fmt: skip

Duplicates: TypeAlias = Literal["keep", "first"]
Empties: TypeAlias = Literal["keep", "drop"]
Where: TypeAlias = Literal["add", "replace", "new"]
Progress: TypeAlias = Callable[[float, str], None]
"""Called with a share from 0 to 1 and what is being done."""

CHUNK = 5_000
ID_COLUMN, TEXT_COLUMN = "document id", "document text"


@dataclass(frozen=True, slots=True)
class Draft:
    """A file that was read and is about to become documents. Nothing of it is in the project yet.

    ``encoding``, ``delimiter`` and ``sheet`` are what a person chose; None leaves them to detection.
    """

    name: str
    source: bytes | Path = field(repr=False)
    table: Table = field(repr=False, compare=False)
    mapping: Mapping
    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    duplicates: Duplicates = "keep"
    empties: Empties = "drop"
    where: Where = "add"
    """To the documents of the project, in their place, or into a project of its own."""


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """What an import would bring, counted without keeping anything.

    ``codebook`` is the one that gold is keyed by: the project's, or one made from the gold columns (``made``).
    """

    imported: BuiltDocuments = field(repr=False)
    profile: Profile
    codebook: Codebook | None
    made: bool
    known: int
    """Documents whose id the project has already; they stay as they are, but for gold that they lack, unless all are
    replaced."""
    changed: tuple[str, ...]
    """Ids of those among them whose text differs, at most some."""
    seconds: float = 0.0
    words: str = ""
    """Where the words of a codebook that was ``made`` are from."""


# -- reading


def read(
    source: bytes | Path,
    name: str,
    codebook: Codebook | None = None,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    progress: Progress | None = None,
) -> Draft:
    """Read an upload or a file and guess what its columns are. Raises InputError and UsageError.

    A table without a column that looks like text is read all the same: the person chooses one.
    """
    told = (lambda share: progress(share, "Reading")) if progress is not None else None
    table = read_table(source, name=name, encoding=encoding, delimiter=delimiter, sheet=sheet, progress=told)
    return Draft(name, source, table, propose(table, codebook), encoding, delimiter, sheet)


def reread(draft: Draft, codebook: Codebook | None = None, **changed: str | None) -> Draft:
    """The same file with another ``encoding``, ``delimiter`` or ``sheet``; columns that are still there stay mapped."""
    options = {"encoding": draft.encoding, "delimiter": draft.delimiter, "sheet": draft.sheet} | changed
    fresh = read(draft.source, draft.name, codebook, **options)  # type: ignore[arg-type]
    kept = draft.mapping
    used = {kept.text, *kept.context, *(source.column for source in kept.gold), kept.id or kept.text}
    mapping = kept if used <= set(fresh.table.columns) else fresh.mapping
    return replace(fresh, mapping=mapping, duplicates=draft.duplicates, empties=draft.empties, where=draft.where)


def propose(table: Table, codebook: Codebook | None) -> Mapping:
    """The likeliest mapping; the first column as the text where none looks like one."""
    known = codebook if codebook is not None and codebook.labels else None
    try:
        return suggest_mapping(table, known)
    except UsageError as error:
        first = table.columns[0] if table.columns else ""
        return Mapping(text=first, reasons=(f"{error.message} '{first}' is taken for now.",))


def gold_kinds(codebook: Codebook | None) -> tuple[str, ...]:
    """The kinds of gold that suit a codebook, all of them when there is none."""
    if codebook is None or not codebook.labels:
        return ("label", "list", "choice")
    return {"multilabel": ("label", "list"), "choice": ("choice",), "rating": ("label",)}[codebook.kind]


def meanings(draft: Draft, codebook: Codebook | None) -> dict[str, Value]:
    """What a gold cell outside the conventions may be said to mean, by what it is called, besides 'no gold'.

    Present and absent for a column a label, the points of the scale for a rating, else the labels; in a list also that
    a name is to be left out. Labels are not known without a codebook.
    """
    kinds = {source.kind for source in draft.mapping.gold}
    if codebook is not None and codebook.kind == "rating":
        scale = codebook.scale or Scale()
        return {str(point): point for point in range(scale.min, scale.max + 1)}
    if "label" in kinds:
        return {"present": True, "absent": False}
    names: dict[str, Value] = {name: name for name in codebook.names} if codebook is not None else {}
    return {**names, "leave out": False} if "list" in kinds else names


def of_kind(draft: Draft, kind: str, codebook: Codebook | None) -> tuple[GoldSource, ...]:
    """Gold columns of one kind to begin with, when a person turns to it: what is called like the labels, or nothing."""
    guess = propose(draft.table, codebook).gold
    if guess and all(source.kind == kind for source in guess):
        return guess
    if kind == "label" and codebook is not None:
        columns = {normalise(column): column for column in draft.table.columns}
        return tuple(
            GoldSource(columns[normalise(name)], "label", name)
            for name in codebook.names
            if normalise(name) in columns and columns[normalise(name)] != draft.mapping.text
        )
    return ()


# -- trying


def trial(draft: Draft, codebook: Codebook | None, session: ProjectSession | None = None) -> ImportPreview:
    """Count what the import would bring. Raises UsageError for a mapping that does not fit, CodebookError for gold
    columns that make no codebook."""
    began = time.perf_counter()
    used, made, words = codebook, False, ""
    if codebook is None or not codebook.labels:
        used = None
        if draft.mapping.gold:
            bare = codebook_from_gold(draft.table, draft.mapping, name=Path(draft.name).stem)
            used, words = prefilled(bare)
        made = used is not None
    imported = build_documents(draft.table, draft.mapping, used, duplicates=draft.duplicates, empties=draft.empties)
    known, changed = _known(session, imported.documents) if session is not None and draft.where == "add" else (0, ())
    seconds = time.perf_counter() - began
    return ImportPreview(imported, profile_documents(imported.documents), used, made, known, changed, seconds, words)


def _known(session: ProjectSession, documents: Sequence[Document]) -> tuple[int, tuple[str, ...]]:
    if not session.store.documents.count():
        return 0, ()
    there = set(session.store.documents.ids())
    again = [document for document in documents if document.id in there]
    changed = []
    for start in range(0, len(again), CHUNK):
        chunk = again[start : start + CHUNK]
        stored = {one.id: one for one in session.store.documents.load([one.id for one in chunk], gold=False)}
        changed += [one.id for one in chunk if one.id in stored and dict(stored[one.id].fields) != dict(one.fields)]
    return len(again), tuple(changed[:100])


# -- keeping


def take_in(
    session: ProjectSession, draft: Draft, codebook: Codebook | None = None, progress: Progress | None = None
) -> Import:
    """Import the documents of a draft and give what was kept.

    Gold is mapped to the labels of ``codebook``; without one, a codebook is made from the gold columns and saved as a
    version. InputError when a document that the project has already comes with another text (unless all are replaced),
    or when no row can be used.
    """
    tell = progress or (lambda _share, _what: None)
    tell(0.0, "Counting")
    found = trial(draft, codebook, session)
    documents = found.imported.documents
    if not documents:
        first = f" The first: {found.imported.rejected[0]}." if found.imported.rejected else ""
        raise InputError(f"{draft.name}: no row can be used.{first}", "Check the columns and the file.")
    if found.changed:
        raise InputError(
            f"The project already has a document '{found.changed[0]}' with another text.",
            "Replace all documents, choose another column for the ids, or open a new project.",
        )

    def prepared(count: int) -> None:
        share = count / len(documents)
        tell(0.1 + 0.8 * share, f"Preparing {count:,} of {len(documents):,}" if share < 1 else "Writing")

    made = session.store.documents.add(
        documents,
        file_name=draft.name,
        options=_options(draft),
        rejected=[RejectedRow(row.line, row.reason, row.raw) for row in found.imported.rejected],
        replace=draft.where == "replace",
        progress=prepared,
    )
    if found.made and found.codebook is not None:
        session.store.codebooks.save(found.codebook, note=f"from the gold columns of {draft.name}")
    tell(1.0, "Done")
    return made


def _options(draft: Draft) -> dict[str, Any]:
    mapping = draft.mapping
    return {
        "text": mapping.text,
        "context": list(mapping.context),
        "id": mapping.id,
        "group": mapping.group,
        "order": mapping.order,
        "gold": [
            {"column": one.column, "kind": one.kind, "label": one.label, "rater": one.rater} for one in mapping.gold
        ],
        "values": dict(mapping.value_map),
        "encoding": draft.table.encoding,
        "delimiter": draft.table.delimiter,
        "sheet": draft.sheet,
        "duplicates": draft.duplicates,
        "empties": draft.empties,
    }


# -- what is there


def stored_table(session: ProjectSession) -> Table:
    """The documents of the project with their source columns as a table, to map gold anew. InputError without any.

    Its first two columns hold id and text.
    """
    total = session.store.documents.count()
    documents = session.store.documents.load(session.store.documents.ids(), gold=False) if total else []
    if not documents:
        raise InputError("The project has no documents.", "Import a file first.")
    names = dict.fromkeys(name for document in documents for name in document.source)
    columns = [name for name in names if name not in (ID_COLUMN, TEXT_COLUMN)]
    data: list[tuple[Any, ...]] = [
        tuple(document.id for document in documents),
        tuple(document.text for document in documents),
    ]
    data += [tuple(document.source.get(name) for document in documents) for name in columns]
    numbers = tuple(range(1, total + 1))
    return Table(session.name, "json", (ID_COLUMN, TEXT_COLUMN, *columns), tuple(data), numbers, numbers, total)


def gold_draft(session: ProjectSession, codebook: Codebook | None) -> Draft:
    """The project's own documents as a draft whose gold may be mapped anew."""
    table = stored_table(session)
    mapping = replace(propose(table, codebook), text=TEXT_COLUMN, id=ID_COLUMN, context=())
    gold = tuple(one for one in mapping.gold if one.column not in (ID_COLUMN, TEXT_COLUMN))
    return Draft(session.name, b"", table, replace(mapping, gold=gold), empties="keep", where="replace")


def remap_gold(session: ProjectSession, draft: Draft, codebook: Codebook | None) -> int:
    """Put the gold of a draft made by ``gold_draft`` in the place of all gold there is; texts, runs and reviews stay.

    Without a codebook one is made from the columns and saved. Gives the number of documents with gold.
    """
    found = trial(draft, codebook)
    session.store.documents.replace_gold({one.id: one.gold for one in found.imported.documents if one.gold})
    if found.made and found.codebook is not None:
        session.store.codebooks.save(found.codebook, note="from the gold columns")
    return found.imported.with_gold
