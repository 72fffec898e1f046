"""Build documents from a table and a mapping, with an account of every row."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

from core.codebook import Codebook
from core.documents import GOLD_RATER, Document, Rejected, Value
from core.formatting import format_count, plural
from core.ingest.gold import (
    CellReader,
    LabelIndex,
    cell_reader,
    is_blank,
    normalise_cell,
    plain_number,
    split_list,
)
from core.ingest.mapping import ColumnMapping, check_mapping
from core.ingest.table import Table, as_text, clip, field_text, has_text, unique_names


@dataclass(frozen=True, slots=True)
class UnknownGold:
    """A gold value that is not understood: it is ignored until the user maps it to a meaning.

    The empty value is that of empty cells: the labels may be absent, or may not have been checked.
    """

    value: str
    columns: tuple[str, ...]
    """The columns with this value, which is compared without case."""
    count: int
    line: int
    """The first row with the value."""

    def __str__(self) -> str:
        more = f" ({self.count:,} times)" if self.count > 1 else ""
        columns = self.columns[0] if len(self.columns) == 1 else f"{len(self.columns)} columns"
        if not self.value:
            return f"row {self.line}: an empty cell in {columns} may mean absent{more}"
        return f"row {self.line}: '{clip(self.value, 80)}' in {columns} is not a gold value{more}"


@dataclass(frozen=True, slots=True)
class BuiltDocuments:
    """The documents of a file and an account of every row: ``read == kept + merged + len(rejected)``."""

    documents: tuple[Document, ...]
    read: int
    rejected: tuple[Rejected, ...]
    """Rows that could not be read or used, by line."""
    merged: int = 0
    """Rows about a document of an earlier row, by another rater or with further labels, whose gold was added to it."""
    duplicate_texts: int = 0
    """Rows with the text and context of an earlier document, kept or not."""
    empty_texts: int = 0
    """Rows without text, kept or not."""
    with_gold: int = 0
    """Documents with a gold value by at least one rater."""
    unknown_gold: tuple[UnknownGold, ...] = ()
    """Gold values that are not understood, the most frequent first."""
    notes: tuple[str, ...] = ()
    """Notes on how the file was read, and on its rows."""

    @property
    def kept(self) -> int:
        """Number of documents."""
        return len(self.documents)


def build_documents(
    table: Table,
    mapping: ColumnMapping,
    codebook: Codebook | None,
    *,
    duplicates: Literal["keep", "first"] = "keep",
    empties: Literal["keep", "drop"] = "drop",
) -> BuiltDocuments:
    """Build documents in the order of the rows; documents of a group are together, in the group's order.

    Each document contains the texts of as many neighbours in its group as the mapping states. A row is rejected if
    its id is empty or repeated, if it has no text (unless ``empties`` is ``keep``), or if it repeats text and
    context of an earlier document and ``duplicates`` is ``first``. A text such as ``NA`` stands for none
    (``has_text``). Ids are trimmed, texts stay as they are. Gold is keyed by label id and needs a codebook. A gold
    cell that is not understood is listed and ignored; its row is kept. Raises UsageError for a mapping that does not
    fit.

    Rows with the same id and text that list labels, or have gold for different labels, are one document with the
    labels of all; with ``duplicates`` ``first``, so are rows with the same text and context.

    With a rater column, rows of the same id are one document, with the gold of the rater that each row names. Without
    an id column, rows with the same text and context are. A row with another text, or by the same rater, is rejected.

    In a table of several files, ids that mostly have different texts in different files get the name of the file
    (``b.csv:1``). If instead most texts are the same, the files hold the gold of different raters: a rater without a
    name gets the name of the file. So do, without an id column, the raters of files that all have the same texts. The
    rows of a file without texts add their gold to the documents with their ids.
    Groups get the name of the file if documents of different files have the same place in a group, or no places to
    order neighbours by.
    """
    check_mapping(table, mapping, codebook)
    builder = _DocumentBuilder(table, mapping, codebook, duplicates=duplicates, empties=empties)
    rows = list(range(len(table)))
    if table.file_column:  # a row without text may have the gold of a text in a later file
        rows.sort(key=lambda row: not builder.has_text(row))
    for row in rows:
        builder.add(row)
    return builder.build()


class _DocumentBuilder:
    """Builder of documents. Each row becomes a document, adds its gold to an earlier one, or is rejected."""

    def __init__(
        self,
        table: Table,
        mapping: ColumnMapping,
        codebook: Codebook | None,
        *,
        duplicates: Literal["keep", "first"],
        empties: Literal["keep", "drop"],
    ) -> None:
        self._table, self._mapping = table, mapping
        self._keep_duplicates, self._keep_empties = duplicates == "keep", empties == "keep"
        self._field_names = (mapping.text, *mapping.context)
        self._texts = list(zip(*(map(field_text, table.column(name)) for name in self._field_names), strict=True))
        """The text and context of each row."""
        self._ids, files_share_documents = _document_ids(table, mapping, self._texts)
        self._files = table.column(table.file_column) if table.file_column else ("",) * len(table)
        self._files_of_gold: set[str] = set()
        """Files that have no texts, but perhaps the gold of those in other files."""
        if table.file_column:
            self._files_of_gold = {*self._files} - {file for row, file in enumerate(self._files) if self.has_text(row)}
        self._raters: Sequence[str] = ()
        """The rater of each row, if rows of the same id are one document."""
        if mapping.rater is not None:
            self._raters = [as_text(cell).strip() or GOLD_RATER for cell in table.column(mapping.rater)]
        elif files_share_documents or (self._files_of_gold and len(_files_with_gold(table, mapping, self._files)) > 1):
            self._raters = _without_suffixes(self._files)
        self._unites_lists = bool(mapping.gold) and all(source.kind == "list" for source in mapping.gold)
        """True if rows of the same document add the labels that they list."""
        self._label_index = None if codebook is None else LabelIndex(codebook)
        self._gold = _Gold(table, mapping, codebook, self._raters)
        self._groups = list(_groups_and_orders(table, mapping))
        self._documents: dict[str, Document] = {}
        """By id."""
        self._rows: dict[str, int] = {}
        """The row of each document by its id."""
        self._document_of_texts: dict[tuple[str, ...], Document] = {}
        self._rated: set[tuple[str, str]] = set()
        """The rater and id of each row that was read."""
        self._doubtful: set[tuple[str, str]] = set()
        """The rater and id of documents with a value of the rater that is not understood."""
        self._rejected = list(table.rejected)
        self._duplicate_texts = self._empty_texts = self._merged = self._contradictions = 0

    def has_text(self, row: int) -> bool:
        """Return True if a row has a text."""
        return has_text(self._texts[row][0])

    def add(self, row: int) -> None:
        """Add the row at a position of the table."""
        id, texts = self._ids[row], self._texts[row]
        earlier = self._documents.get(id)
        if earlier is not None and self._adds_to(earlier, row):
            return
        is_empty = not self.has_text(row)
        repeated = None if is_empty else self._document_of_texts.get(texts)
        self._empty_texts += is_empty
        self._duplicate_texts += repeated is not None
        if not id:
            self._reject(row, f"no id in column '{self._mapping.id}'")
        elif earlier is not None:
            self._reject(row, self._describe_repeated_id(earlier, row))
        elif is_empty and not self._keep_empties:
            text = texts[0].strip()
            self._reject(row, f"no text in column '{self._mapping.text}'{f', only {text}' if text else ''}")
        elif repeated is None or self._keep_duplicates:
            self._append(row)
        elif not self._merge_gold(repeated, row, is_first=False):
            self._reject(row, f"the same text as {self._row_name(repeated)}")

    def _adds_to(self, earlier: Document, row: int) -> bool:
        """Add the gold of a row with the id of an earlier document. Return True if the row is part of the document."""
        is_gold = self._files[row] in self._files_of_gold
        if not is_gold and not self._has_same_text(earlier, row):
            return False
        rater = self._raters[row] if self._raters else self._files[row]
        is_first = bool(self._raters or is_gold) and (rater, earlier.id) not in self._rated
        is_merged = self._merge_gold(earlier, row, is_first=is_first)
        if is_merged:
            self._rated.add((rater, earlier.id))
        return is_merged

    def _has_same_text(self, document: Document, row: int) -> bool:
        return _fold_spaces(self._texts[self._rows[document.id]]) == _fold_spaces(self._texts[row])

    def _describe_repeated_id(self, earlier: Document, row: int) -> str:
        """Return why a row with the id of an earlier document is rejected."""
        id = clip(earlier.id, 80)
        if self._files[row] in self._files_of_gold:
            return f"the id '{id}' is repeated in {self._files[row]}"
        used = f"the id '{id}' is already used by {self._row_name(earlier)}"
        if not self._has_same_text(earlier, row):
            return f"{used}, with another text"
        if self._mapping.rater is not None:
            return f"{used}, also by rater '{clip(self._raters[row], 80)}'"
        return f"{used} (choose a rater column if several raters labelled the same texts)"

    def _reject(self, row: int, reason: str) -> None:
        reason = f"{self._files[row]}: {reason}" if self._table.file_column else reason
        raw = _raw(cells[row] for cells in self._table.data)
        self._rejected.append(Rejected(self._table.line_numbers[row], reason, raw))

    def _append(self, row: int) -> None:
        id, texts = self._ids[row], self._texts[row]
        gold, doubtful = self._gold.read(row)
        fields = dict(zip(self._field_names, texts, strict=True))
        document = Document(id, fields, len(self._documents), self._table.row(row), gold, *self._groups[row])
        self._documents[id], self._rows[id] = document, row
        self._document_of_texts.setdefault(texts, document)
        self._doubtful.update((rater, id) for rater in doubtful)
        if self._raters:
            self._rated.add((self._raters[row], id))

    def _merge_gold(self, document: Document, row: int, *, is_first: bool) -> bool:
        """Add the gold of a row to a document. Return True if the row is part of the document, else nothing is added.

        A row is part of the document if it is the first one of a rater, if it lists labels, which are united, also in
        the columns of the file, or if it has gold for other labels and contradicts none. The first row of a rater can
        contradict gold by the rater of a column: the earlier value counts.
        """
        # changed in place, as copying the values of all earlier raters would be quadratic
        earlier, source = cast("dict[str, dict[str, Value]]", document.gold), cast("dict[str, Any]", document.source)
        gold, doubtful = self._gold.read(row)
        merged = {rater: {**values, **earlier.get(rater, {})} for rater, values in gold.items()}
        contradictions = sum(merged[rater][item] != values[item] for rater, values in gold.items() for item in values)
        if self._unites_lists:
            self._doubtful.update((rater, document.id) for rater in doubtful)
            for rater in {**gold, **dict.fromkeys(doubtful)}:
                values = earlier.get(rater, {})
                listed = {item: True for item, value in values.items() if value}
                merged[rater] = {
                    item: value
                    for item, value in {**values, **gold.get(rater, {}), **listed}.items()
                    if value or (rater, document.id) not in self._doubtful  # an unknown name may mean any label
                }
            for column in {gold_source.column for gold_source in self._mapping.gold} if not self._raters else ():
                if names := split_list(self._table.column(column)[row], self._label_index):
                    listed_before = split_list(source[column], self._label_index)
                    source[column] = "|".join(dict.fromkeys([*listed_before, *names]))
        elif not is_first:
            if self._raters or contradictions or all(earlier.get(rater) == values for rater, values in merged.items()):
                return False
        else:
            self._contradictions += contradictions
        earlier.update(merged)
        for rater in [rater for rater, values in merged.items() if not values]:
            del earlier[rater]
        self._merged += 1
        return True

    def _row_name(self, document: Document) -> str:
        row = self._rows[document.id]
        return f"row {self._table.line_numbers[row]}{f' of {self._files[row]}' if self._table.file_column else ''}"

    def _with_own_groups(self) -> list[Document]:
        """Return the documents, with the file in the names of their groups if each file has groups of its own."""
        documents = list(self._documents.values())
        files = [self._files[row] for row in self._rows.values()]
        file_at: dict[tuple[str, float | None], str] = {}
        for document, file in zip(documents, files, strict=True):
            is_placed = document.order is not None or (self._mapping.order is None and self._mapping.neighbours > 0)
            if document.group and is_placed and file_at.setdefault((document.group, document.order), file) != file:
                return [
                    replace(document, group=f"{file}:{document.group}") if document.group else document
                    for document, file in zip(documents, files, strict=True)
                ]
        return documents

    def build(self) -> BuiltDocuments:
        """Return the documents and the account of all rows."""
        unknown = self._gold.unknown()
        notes = list(self._table.notes)
        if self._gold.rejected:
            count = format_count(self._gold.rejected, "rejected assignment")
            notes.append(f"No gold was read from {count} (Mechanical Turk).")
        if self._contradictions:
            values = format_count(self._contradictions, "gold value")
            differ = plural(self._contradictions, "differs", "differ")
            notes.append(f"{values} of a column with a rater {differ} between rows of one document: the first counts.")
        if unread := self._unread_orders():
            notes.append(
                f"{format_count(len(unread), 'cell')} of '{self._mapping.order}' {plural(len(unread), 'is', 'are')} "
                f"neither a number nor an ISO date, such as '{clip(as_text(unread[0]), 80)}': these rows come last in "
                "their group."
            )
        if self._rejected or unknown:
            notes += self._note_row_numbers()
        documents = self._with_own_groups()
        if self._mapping.group is not None:
            documents = list(_with_neighbours(list(_in_order(documents)), self._mapping.neighbours))
        return BuiltDocuments(
            documents=tuple(documents),
            read=self._table.read,
            rejected=tuple(sorted(self._rejected, key=lambda row: row.line)),
            duplicate_texts=self._duplicate_texts,
            empty_texts=self._empty_texts,
            merged=self._merged,
            with_gold=sum(bool(document.gold) for document in documents),
            unknown_gold=unknown,
            notes=tuple(notes),
        )

    def _note_row_numbers(self) -> Iterator[str]:
        """Yield what row numbers in messages mean, if some rows have several lines or ids are other row numbers."""
        has_own_ids = self._mapping.id is not None
        distances = {line - row for line, row in zip(self._table.line_numbers, self._table.row_numbers, strict=True)}
        if len(distances) > 1 or (distances != {0} and not has_own_ids):
            yield FIRST_LINES if has_own_ids else f"{FIRST_LINES} {ROW_IDS}"

    def _unread_orders(self) -> list[Any]:
        if self._mapping.order is None:
            return []
        ordered = zip(self._groups, self._table.column(self._mapping.order), strict=True)
        return [cell for (group, order), cell in ordered if group and order is None and has_text(cell)]


def _document_ids(table: Table, mapping: ColumnMapping, fields: Sequence[tuple[str, ...]]) -> tuple[list[str], bool]:
    """Return the id of each row, and True if files have documents in common: most ids in common have the same text."""
    if mapping.id is None:
        rows = list(map(str, table.row_numbers))
        places: list[Hashable] = [*fields]
        if mapping.rater is None:
            if not table.file_column:
                return rows, False
            files = table.column(table.file_column)
            places = list(_places_in_files(files, fields))
            if len(set(places)) * len(set(files)) != len(places):
                return rows, False
        first_rows: dict[Hashable, str] = {}
        return [first_rows.setdefault(place, row) for place, row in zip(places, rows, strict=True)], not mapping.rater
    ids = [as_text(cell).strip() for cell in table.column(mapping.id)]
    if not table.file_column:
        return ids, False
    files = table.column(table.file_column)
    first: dict[str, tuple[str, tuple[str, ...]]] = {}
    same = different = 0
    for id, file, texts in zip(ids, files, fields, strict=True):
        if not has_text(texts[0]):
            continue
        other, other_texts = first.setdefault(id, (file, texts))
        if id and other != file:
            has_same_text = _fold_spaces(texts) == _fold_spaces(other_texts)
            same, different = same + has_same_text, different + (not has_same_text)
    if different and different >= same:
        return [f"{file}:{id}" if id else "" for file, id in zip(files, ids, strict=True)], False
    return ids, same > 0


def _places_in_files(files: Sequence[str], fields: Sequence[tuple[str, ...]]) -> Iterator[Hashable]:
    """Yield the text and context of each row, with its number among the rows of its file with the same ones."""
    counts: Counter[Hashable] = Counter()
    for file, texts in zip(files, fields, strict=True):
        folded = tuple(_fold_spaces(texts))
        counts[file, folded] += 1
        yield folded, counts[file, folded]


def _fold_spaces(texts: Iterable[str]) -> list[str]:
    """Return texts to compare: a program that saves a file again may change spaces and line ends."""
    return [" ".join(text.split()) for text in texts]


def _files_with_gold(table: Table, mapping: ColumnMapping, files: Sequence[str]) -> set[str]:
    columns = [table.column(source.column) for source in mapping.gold]
    return {file for column in columns for file, cell in zip(files, column, strict=True) if not is_blank(cell)}


def _groups_and_orders(table: Table, mapping: ColumnMapping) -> Iterator[tuple[str, float | None]]:
    """Yield group and order of each row; the order is None if the cell is neither a number nor an ISO date."""
    nothing: list[Any] = [None] * len(table)
    groups = nothing if mapping.group is None else table.column(mapping.group)
    orders = nothing if mapping.order is None else table.column(mapping.order)
    for group, order in zip(groups, orders, strict=True):
        name = as_text(group).strip()
        yield name, _order_of(order) if name else None


def _order_of(cell: Any) -> float | None:
    """Return the number in a cell, for an ISO date or time its Unix time; None for any other text."""
    number = plain_number(cell)
    if number is None:
        with suppress(ValueError, OverflowError):
            date = datetime.fromisoformat(as_text(cell).strip())
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return number


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
"""Name of the field with the texts around a document, unless the document has a field of that name, and what stands
there in the place of its own text."""


def _with_neighbours(documents: Sequence[Document], count: int) -> Iterator[Document]:
    """Yield the documents with the texts of up to ``count`` documents before and after them in their group."""
    for position, document in enumerate(documents):
        window = range(max(0, position - count), min(len(documents), position + count + 1))
        neighbours = [index for index in window if document.group and documents[index].group == document.group]
        if len(neighbours) > 1:
            lines = "\n".join(HERE if index == position else documents[index].text for index in neighbours)
            (name,) = unique_names([NEIGHBOURS], document.fields)
            document = replace(document, fields={**document.fields, name: lines})
        yield document


FIRST_LINES = "Messages give the number of a row's first line in the file, or of its row in the sheet."
ROW_IDS = "Ids count only the rows with data."
_STATUS = "AssignmentStatus"
"""Column of Mechanical Turk that states if the work of a rater was accepted."""


class _Gold:
    """Reader of the gold of rows, which counts the values that it does not understand.

    With ``raters``, the rater of each row, a rater without a name gets that one.
    """

    def __init__(self, table: Table, mapping: ColumnMapping, codebook: Codebook | None, raters: Sequence[str]) -> None:
        self._raters, self._line_numbers = raters, table.line_numbers
        self._sources: list[tuple[str, str, tuple[Any, ...], CellReader]] = []
        self._counts: Counter[str] = Counter()
        """Cells by the normalised value that is not understood."""
        self._columns: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._first: dict[str, tuple[str, int]] = {}
        """Spelling and line of the first cell with each of these values."""
        self._conclusive: set[str] = set()
        """Columns whose empty cells need no question: other cells say absent, or empty cells have a meaning."""
        self._filled: set[str] = set()
        """Columns with a cell that is not empty."""
        self._statuses = table.column(_STATUS) if _STATUS in table.columns else ()
        self.rejected = 0
        """Number of rows without gold because the assignment was rejected."""
        if codebook is None:
            return
        for source in mapping.gold:
            cells = table.column(source.column)
            read = cell_reader(source, codebook, mapping.value_map, cells)
            self._sources.append((source.rater, source.column, cells, read))
            if codebook.kind != "multilabel" or "" in mapping.value_map:
                self._conclusive.add(source.column)

    def read(self, row: int) -> tuple[dict[str, dict[str, Value]], frozenset[str]]:
        """Return new dictionaries of the gold values of a row by rater, and the raters with others, which are counted.

        Raters without a value are left out of the first.
        """
        if self._statuses and self._statuses[row] == "Rejected":
            self.rejected += 1
            return {}, frozenset()
        gold: dict[str, dict[str, Value]] = {}
        doubtful = set()
        for rater, column, cells, read in self._sources:
            values, unknown = read(cells[row])
            if self._raters and rater == GOLD_RATER:
                rater = self._raters[row]
            if values:
                gold.setdefault(rater, {}).update(values)
                if not any(values.values()):
                    self._conclusive.add(column)
            if unknown:
                doubtful.add(rater)
            if values or unknown:
                self._filled.add(column)
            elif not as_text(cells[row]).strip():
                unknown = ("",)
            for value in unknown:
                key = normalise_cell(value) if value else ""
                self._counts[key] += 1
                self._columns[key][column] = None
                self._first.setdefault(key, (value, self._line_numbers[row]))
        return gold, frozenset(doubtful)

    def unknown(self) -> tuple[UnknownGold, ...]:
        """Return the values that are not understood, the most frequent first.

        If empty cells of one column need a meaning, those of all columns are returned, which get the same meaning.
        """
        asks_for_empty = not self._columns[""].keys().isdisjoint(self._filled - self._conclusive)
        return tuple(
            UnknownGold(spelling, tuple(self._columns[key]), count, line)
            for key, count in self._counts.most_common()
            for spelling, line in [self._first[key]]
            if key or asks_for_empty
        )


def _without_suffixes(files: Sequence[str]) -> Sequence[str]:
    """Return the names of files without their suffixes, unchanged if two of them were the same then."""
    stems = {file: file.rpartition(".")[0] or file for file in files}
    return [stems[file] for file in files] if len({*stems.values()}) == len(stems) else files


def _raw(row: Iterable[Any]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="").writerow(map(as_text, row))
    return clip(out.getvalue())
