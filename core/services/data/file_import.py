"""From an input file on the command line to documents in a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.codebook import Codebook
from core.documents import Document
from core.errors import InputError
from core.ingest.document_builder import BuiltDocuments, build_documents
from core.ingest.mapping import Mapping, mapping_same_names, parse_gold_option, parse_value_option
from core.ingest.read import read_table
from core.services.session import ProjectSession
from core.store.documents import RejectedRow

COMPARED_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """An input file and how to read it, as the command line gives it."""

    path: Path
    text: str
    id_column: str | None = None
    contexts: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    gold_same_names: bool = False
    gold_values: tuple[str, ...] = ()
    group: str | None = None
    order: str | None = None


def read_source(source: SourceFile, codebook: Codebook) -> BuiltDocuments:
    """The documents of an input file. InputError, UsageError; also when no row is kept."""
    table = read_table(source.path, name=source.path.name)
    gold = parse_gold_option(source.gold, table, codebook)
    if source.gold_same_names:
        named = {one.name for one in gold}
        gold += tuple(one for one in mapping_same_names(table, codebook) if one.name not in named)
    mapping = Mapping(
        text=source.text,
        context=source.contexts,
        id=source.id_column,
        gold=gold,
        value_map=parse_value_option(source.gold_values, codebook),
        group=source.group,
        order=source.order,
    )
    imported = build_documents(table, mapping, codebook)
    if not imported.documents:
        first = f" The first: {imported.rejected[0].reason}." if imported.rejected else ""
        raise InputError(f"{source.path.name}: no row can be used.{first}", "Check the columns and the file.")
    return imported


@dataclass(frozen=True, slots=True)
class Taken:
    """The ids of a file's documents in the project, in their order, and what there is to be told of them."""

    ids: tuple[str, ...]
    note: str = ""


def take_in(session: ProjectSession, imported: BuiltDocuments, file_name: str) -> Taken:
    """Add documents to a project.

    One that is there already with the same words stays as it is, but for gold that it lacks; gold that says otherwise
    is not taken, which the note tells. InputError names the first document whose words differ.
    """
    documents = imported.documents
    for start in range(0, len(documents), COMPARED_AT_ONCE):
        chunk = documents[start : start + COMPARED_AT_ONCE]
        there = {one.id: one for one in session.store.documents.load([one.id for one in chunk], gold=False)}
        for document in chunk:
            _check_same(document, there.get(document.id), session.path)
    rejected = [RejectedRow(row.line, row.reason, row.raw) for row in imported.rejected]
    made = session.store.documents.add(documents, file_name=file_name, rejected=rejected)
    return Taken(tuple(document.id for document in documents), _kept_gold(made.counts["otherwise"], session.path))


def _kept_gold(otherwise: int, path: Path) -> str:
    if not otherwise:
        return ""
    return (
        f"{otherwise:,} gold value{' differs' if otherwise == 1 else 's differ'} from the gold that {path.name} has, "
        "which stays. To compare with both, name a rater: --gold LABEL=COL@RATER."
    )


def _check_same(document: Document, there: Document | None, path: Path) -> None:
    if there is not None and dict(there.fields) != dict(document.fields):
        raise InputError(
            f"{path.name} already has a document '{document.id}' with other words.",
            "Use another --project, or another column for the ids.",
        )
