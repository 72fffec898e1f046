"""Build documents from a table and a mapping, with an account of every row; and a codebook from gold columns."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.codebook import RESERVED_NAMES, Codebook, Label, normalise, parse_codebook
from core.documents import Document, Value
from core.errors import UsageError
from core.ingest.gold import CellReader, cell_reader, parse_rating, split_list
from core.ingest.mapping import Mapping, check_mapping
from core.ingest.table import Rejected, Table, as_text, clip

MAX_LABELS = 200
"""A column with more distinct values than this holds no labels."""
_ENOUGH = 20
"""Ratings of a dimension from which an unused half of the scale is taken to be no part of it."""


@dataclass(frozen=True, slots=True)
class UnknownGold:
    """A gold value that is not understood: it is ignored until the user maps it to a meaning."""

    column: str
    value: str
    count: int
    line: int
    """The first row with the value."""

    def __str__(self) -> str:
        more = f" ({self.count:,} times)" if self.count > 1 else ""
        return f"row {self.line}: '{clip(self.value, 80)}' in {self.column} is not a gold value{more}"


@dataclass(frozen=True, slots=True)
class BuiltDocuments:
    """The documents of a file and an account of every row: ``read == kept + len(rejected)``."""

    documents: tuple[Document, ...]
    read: int
    rejected: tuple[Rejected, ...]
    """Rows that could not be read or used, by line."""
    duplicate_texts: int = 0
    """Rows with the text and context of an earlier document, kept or not."""
    empty_texts: int = 0
    """Rows without text, kept or not."""
    with_gold: int = 0
    """Documents with a gold value by at least one rater."""
    unknown_gold: tuple[UnknownGold, ...] = ()
    """Gold values that are not understood, the most frequent first."""
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """Number of documents."""
        return len(self.documents)


def build_documents(
    table: Table,
    mapping: Mapping,
    codebook: Codebook | None = None,
    *,
    duplicates: Literal["keep", "first"] = "keep",
    empties: Literal["keep", "drop"] = "drop",
) -> BuiltDocuments:
    """Build documents in the order of the rows; documents of a group are together, in the group's order.

    They show as many of their neighbours in the group as the mapping says. A row is rejected if its id is empty or
    repeated, if it has no text (unless ``empties`` is ``keep``), or if it repeats text and context of an earlier
    document and ``duplicates`` is ``first``. Ids are trimmed, texts stay as they are. Gold is keyed by label id,
    without a codebook by label name. A gold cell that is not understood is listed and ignored; its row is kept. Raises
    UsageError for a mapping that does not fit.
    """
    check_mapping(table, mapping, codebook)
    names = (mapping.text, *mapping.context)
    fields = zip(*(map(as_text, table.column(name)) for name in names), strict=True)
    parts = list(_parts(table, mapping))
    ids = list(map(str, table.row_numbers)) if mapping.id is None else _texts(table.column(mapping.id))
    gold = _Gold(table, mapping, codebook)
    documents: list[Document] = []
    rejected = list(table.rejected)
    owners: dict[str, int] = {}
    texts: dict[tuple[str, ...], int] = {}
    duplicate = empty = with_gold = 0
    rows = zip(*table.data, strict=True)
    for index, (line, id, row, values) in enumerate(zip(table.line_numbers, ids, rows, fields, strict=True)):
        blank = not values[0].strip()
        first = None if blank else texts.get(values)
        empty += blank
        duplicate += first is not None
        if not id:
            reason = f"no id in column '{mapping.id}'"
        elif id in owners:
            reason = f"the id '{clip(id, 80)}' is already used by row {owners[id]}"
        elif blank and empties == "drop":
            reason = f"no text in column '{mapping.text}'"
        elif first is not None and duplicates == "first":
            reason = f"the same text as row {first}"
        else:
            owners[id] = line
            texts.setdefault(values, line)
            row_gold = gold.of(index, line)
            with_gold += bool(row_gold)
            source = dict(zip(table.columns, row, strict=True))
            shown = dict(zip(names, values, strict=True))
            documents.append(Document(id, shown, len(documents), source, row_gold, *parts[index]))
            continue
        rejected.append(Rejected(line, reason, _raw(row)))
    unknown = gold.unknown()
    if mapping.group is not None:
        documents = list(_with_neighbours(list(_in_order(documents)), mapping.neighbours))
    return BuiltDocuments(
        documents=tuple(documents),
        read=table.read,
        rejected=tuple(sorted(rejected, key=lambda row: row.line)),
        duplicate_texts=duplicate,
        empty_texts=empty,
        with_gold=with_gold,
        unknown_gold=unknown,
        notes=(*table.notes, *map(str, unknown[:20])),
    )


def _parts(table: Table, mapping: Mapping) -> Iterator[tuple[str, float | None]]:
    """Yield group and order of each row; the order is None if the cell is not a number."""
    nothing: list[Any] = [None] * len(table)
    groups = nothing if mapping.group is None else table.column(mapping.group)
    orders = nothing if mapping.order is None else table.column(mapping.order)
    for group, order in zip(groups, orders, strict=True):
        name = as_text(group).strip()
        yield name, _number(order) if name else None


def _number(cell: Any) -> float | None:
    try:
        number = float(as_text(cell))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _in_order(documents: Sequence[Document]) -> Iterator[Document]:
    """Yield each group at its first row, with its documents by their order; those without an order come last."""
    first: dict[str, int] = {}
    for document in documents:
        if document.group:
            first.setdefault(document.group, document.position)

    def place(document: Document) -> tuple[int, float, int]:
        order = math.inf if document.order is None else document.order
        return first.get(document.group, document.position), order, document.position

    for position, document in enumerate(sorted(documents, key=place)):
        yield replace(document, position=position)


NEIGHBOURS, HERE = "neighbours", "[the text to label]"
"""Name of the field with the texts around a document, and what stands there in the place of its own text."""


def _with_neighbours(documents: Sequence[Document], count: int) -> Iterator[Document]:
    """Yield the documents with the texts of up to ``count`` documents before and after them in their group."""
    for position, document in enumerate(documents):
        around = range(max(0, position - count), min(len(documents), position + count + 1))
        near = [place for place in around if document.group and documents[place].group == document.group]
        if len(near) > 1:
            lines = "\n".join(HERE if place == position else documents[place].text for place in near)
            document = replace(document, fields={**document.fields, NEIGHBOURS: lines})
        yield document


class _Gold:
    """Reads the gold of rows and counts the values that are not understood."""

    def __init__(self, table: Table, mapping: Mapping, codebook: Codebook | None) -> None:
        self._sources: list[tuple[str, str, tuple[Any, ...], CellReader]] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lines: dict[tuple[str, str], int] = {}
        if not mapping.gold:
            return
        labels = codebook if codebook is not None else codebook_from_gold(table, mapping)
        key = _id if codebook is not None else _name
        for source in mapping.gold:
            read = cell_reader(source, labels, mapping.value_map, key)
            self._sources.append((source.rater, source.column, table.column(source.column), read))

    def of(self, index: int, line: int) -> AnyMapping[str, AnyMapping[str, Value]]:
        """Return the gold values of a row by rater; raters without a value are left out."""
        gold: dict[str, dict[str, Value]] = {}
        for rater, column, cells, read in self._sources:
            values, unknown = read(cells[index])
            if values:
                gold.setdefault(rater, {}).update(values)
            for value in unknown:
                self._counts[column, value] += 1
                self._lines.setdefault((column, value), line)
        return gold

    def unknown(self) -> tuple[UnknownGold, ...]:
        return tuple(
            UnknownGold(column, value, count, self._lines[column, value])
            for (column, value), count in self._counts.most_common()
        )


def _id(label: Label) -> str:
    return label.id


def _name(label: Label) -> str:
    return label.name


def _texts(cells: tuple[Any, ...]) -> list[str]:
    return [as_text(cell).strip() for cell in cells]


def _raw(row: tuple[Any, ...]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="").writerow([as_text(cell) for cell in row])
    return clip(out.getvalue())


def codebook_from_gold(table: Table, mapping: Mapping, *, name: str = "From the gold columns") -> Codebook:
    """Return a codebook with the labels of the gold: the label columns, or the values of a list or label column.

    Columns of numbers beyond 0 and 1 make it a rating codebook with the scales they span. Values are ordered by number
    if all are numbers, else by how often they occur; ``none`` is not a label. UsageError without gold columns, for
    columns of different kinds, and for a column with more than ``MAX_LABELS`` values.
    """
    check_mapping(table, mapping, None)
    kinds = {source.kind for source in mapping.gold}
    if not kinds:
        raise UsageError("No gold column is chosen.", "Choose the columns that hold gold labels, or write a codebook.")
    if len(kinds) > 1:
        raise UsageError("The gold columns are of different kinds.", "Choose label columns, or one column of labels.")
    (kind,) = kinds
    data: dict[str, Any] = {"name": name}
    if kind == "label":
        names = {normalise(source.name): source.name for source in reversed(mapping.gold)}
        data["labels"] = [{"name": each} for each in reversed(names.values())]
        scales = _scales({name: [s.column for s in mapping.gold if normalise(s.name) == name] for name in names}, table)
        for label in data["labels"] if scales else ():
            label["scale"] = scales[normalise(label["name"])]
        data["kind"] = "rating" if scales else "multilabel"
    else:
        data["kind"] = "choice" if kind == "choice" else "multilabel"
        data["labels"] = _labels(table, mapping)
    return parse_codebook(data, where=f"the gold columns of {table.name}")


def _scales(columns: AnyMapping[str, Sequence[str]], table: Table) -> dict[str, dict[str, int]]:
    """Return the scale of each dimension by its columns of ratings.

    That is the span of all numbers, because few ratings rarely use every point. A dimension has an end of its own where
    ``_ENOUGH`` ratings leave half of that span unused: no negative one, or none above the middle. Empty for only 0 and
    1, or if half of the cells are not numbers.
    """
    filled = {name: [cell for one in own for cell in table.column(one) if as_text(cell).strip()]
              for name, own in columns.items()}  # fmt: skip
    found = {name: [number for cell in cells if (number := parse_rating(cell)) is not None]
             for name, cells in filled.items()}  # fmt: skip
    numbers = [number for own in found.values() for number in own]
    if len(numbers) < 0.5 * sum(map(len, filled.values())) or set(numbers) <= {0, 1}:
        return {}
    low, high = math.floor(min(numbers)), math.ceil(max(numbers))
    scales = {}
    for name, own in found.items():
        bottom = 0 if low < 0 and len(own) >= _ENOUGH and min(own) >= 0 else low
        unused = len(own) >= _ENOUGH and max(own) <= (bottom + high) / 2
        scales[name] = {"min": bottom, "max": max(math.ceil(max(own)) if unused else high, bottom + 1)}
    return scales


def _labels(table: Table, mapping: Mapping) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for source in mapping.gold:
        for cell in table.column(source.column):
            names = split_list(cell) if source.kind == "list" else (as_text(cell).strip(),)
            for name in names:
                folded = normalise(name)
                if folded and folded not in RESERVED_NAMES:
                    counts[folded] += 1
                    spelling.setdefault(folded, name)
        if len(counts) > MAX_LABELS:
            raise UsageError(
                f"Column '{source.column}' has more than {MAX_LABELS} different values.", "Choose a column of labels."
            )
    codes = {folded: number for folded in counts if (number := parse_rating(folded)) is not None and _plain(folded)}
    if counts and len(codes) == len(counts):
        return [{"name": spelling[each], "code": codes[each]} for each in sorted(counts, key=codes.__getitem__)]
    return [{"name": spelling[each]} for each in sorted(counts, key=lambda each: (-counts[each], each))]


def _plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
