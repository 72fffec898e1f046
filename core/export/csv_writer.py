"""csv: UTF-8 with a byte-order mark, everything quoted, formulas escaped."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.csv_text import escape_formula, is_number
from core.documents import Value
from core.errors import ExportError
from core.export.export_row import (
    ABOUT,
    ExportRow,
    ValueNames,
    cell_text,
    dump_json,
    evidence_by_item,
    peek_columns,
    source_columns,
)


def write_csv(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Write source columns, document id, the run, and per label gold, verdict, review, roles and evidence (JSON).

    The source columns are those of the first row; ExportError if a later row has others. Formulas are escaped as in
    ``core.csv_text``, and import unescapes them. Text columns are always escaped, other columns unless they hold a
    plain number. Values are 1, 0 or empty, a label's name, or a number. Returns the number of rows; without rows only
    the header is written.
    """
    plan, rows = peek_columns(rows, codebook)
    values, items = ValueNames(codebook), [each.item for each in plan.items]
    file.write(codecs.BOM_UTF8)
    writer = csv.writer(_Utf8(file), quoting=csv.QUOTE_ALL)
    header = [*plan.source, plan.document]
    for each in plan.items:
        header += (*each.values, each.evidence)
    header += plan.about
    writer.writerow([escape_formula(name) for name in header])
    count = 0
    for row in rows:
        cells = source_cells(row, plan.source)
        line = [_cell(cell, name in row.document.fields) for name, cell in zip(plan.source, cells, strict=True)]
        line.append(_cell(row.document.id, False))
        evidence = evidence_by_item(row)
        for item, given in values.cells(row, items, plan.roles).items():
            quotes = evidence.get(item)
            line += (*map(_value, given), dump_json(quotes).decode() if quotes else "")
        line += (escape_formula(str(getattr(row, name))) for name in ABOUT)
        writer.writerow(line)
        count += 1
    return count


class _Utf8:
    """A text interface to a binary file for csv.writer, which must not close the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: str, /) -> int:
        return self._file.write(text.encode("utf-8", "replace"))


def source_cells(row: ExportRow, columns: tuple[str, ...]) -> list[Any]:
    """Return the cells of the source columns. ExportError if the row has another column."""
    source: Mapping[str, Any] = source_columns(row.document)
    if len(source) > len(columns) or not source.keys() <= set(columns):
        extra = ", ".join(sorted(map(str, source.keys() - set(columns)))[:5])
        raise ExportError(
            f"Document '{row.document.id}' has columns that the first document does not have: {extra}.",
            "Export the datasets one by one.",
        )
    return [source.get(name) for name in columns]


def _cell(cell: Any, is_text: bool) -> str:
    if isinstance(cell, str):
        escaped = escape_formula(cell)
        return cell if escaped is not cell and not is_text and is_number(cell) else escaped
    return "" if cell is None else cell_text(cell)


def _value(value: Value | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "1" if value else "0"
        case str():
            return escape_formula(value)
        case _:
            return str(value)
