"""What a writer gets: a document and what was decided about it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.annotations import Evidence
from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Document, Value


@dataclass(frozen=True, slots=True)
class AnnotatorValues:
    """What one annotator says of a document: a run's verdict, one of its roles, or a person.

    ``values`` holds what could be read; ``at`` is in Unix seconds, None where it is not known; ``status`` is a person's
    (Draft, Submitted, Discarded), empty for a machine.
    """

    by: str
    values: Mapping[str, Value | None]
    evidence: tuple[Evidence, ...] = ()
    at: float | None = None
    status: str = ""


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One document of one run.

    ``values`` maps an item (label id; ``"label"`` for a choice, whose value is a label id) to its final value, None
    where it is unresolved; ``sources`` maps an item to where that value comes from (``verdict``, ``review``, ``gold``,
    ...). A missing item is written as empty.
    """

    document: Document
    run_id: str
    protocol: str
    codebook_version: int
    status: str
    values: Mapping[str, Value | None] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    """Who sat on each role, as ``connection/model``."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why an item has no value."""
    machine: tuple[AnnotatorValues, ...] = ()
    """The verdict first, then each role in the order in which they spoke; none before the debate has ended."""
    people: tuple[AnnotatorValues, ...] = ()
    """What persons decided, for layouts that keep suggestions and decisions apart."""


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """The columns of one item."""

    item: str
    name: str
    value: str
    source: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table of results: those of the source under their own names, then the results.

    A result column whose name the source has already gets ``_2``, so that all are different and none is hidden.
    """

    source: tuple[str, ...]
    document: str
    items: tuple[ItemColumns, ...]
    run: str
    protocol: str
    version: str
    status: str


def free_names(wanted: Iterable[str], columns: Iterable[str]) -> list[str]:
    """The wanted names, each with ``_2``, ``_3`` ... where a column or an earlier one has it already."""
    taken, names = set(columns), []
    for name in wanted:
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        names.append(candidate)
    return names


def layout(source: Iterable[str], codebook: Codebook) -> Layout:
    """The columns for documents with these source columns under this codebook."""
    columns, items = tuple(source), items_of(codebook)
    wanted = ["document_id", "run_id", "protocol", "codebook_version", "status"]
    wanted += [f"{name}_{part}" for _, name in items for part in ("value", "source", "evidence")]
    document, run, protocol, version, status, *parts = free_names(wanted, columns)
    return Layout(
        source=columns,
        document=document,
        items=tuple(
            ItemColumns(item, name, *parts[3 * place : 3 * place + 3]) for place, (item, name) in enumerate(items)
        ),
        run=run,
        protocol=protocol,
        version=version,
        status=status,
    )


def items_of(codebook: Codebook) -> tuple[tuple[str, str], ...]:
    """(item, its name) in codebook order; a choice has the one item ``label``."""
    if codebook.kind == "choice":
        return ((CHOICE_ITEM, CHOICE_ITEM),)
    return tuple((label.id, label.name) for label in codebook.labels)


def source_of(document: Document) -> Mapping[str, Any]:
    """The columns as they came; the text fields for a document that was not read from a table."""
    return document.source or document.fields


class Values:
    """The value of an item as a reader of the file understands it: a choice by its label's name."""

    def __init__(self, codebook: Codebook) -> None:
        self._names = {label.id: label.name for label in codebook.labels} if codebook.kind == "choice" else {}

    def of(self, row: ExportRow, item: str) -> Value | None:
        """None when the item is unresolved or was not asked for; a label id that the codebook lost stays as it is."""
        value = row.values.get(item)
        return self._names.get(value, value) if isinstance(value, str) else value


def evidence_of(row: ExportRow) -> dict[str, list[dict[str, Any]]]:
    """The quotes by item, with their offsets into ``field`` (-1 where the words are not in the text)."""
    result: dict[str, list[dict[str, Any]]] = {}
    for each in row.evidence:
        quote = {"quote": each.quote, "field": each.field, "start": each.start, "end": each.end, "match": each.match}
        result.setdefault(each.item, []).append(quote)
    return result


def peek(rows: Iterable[ExportRow]) -> tuple[tuple[str, ...], Iterator[ExportRow]]:
    """The source columns of the first row (none if there is no row), and all rows."""
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return (), iter(())
    return tuple(source_of(first.document)), itertools.chain([first], iterator)
