"""csv: UTF-8 with a byte-order mark, everything quoted, formulas disarmed."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.csv_text import escape_formula, is_number
from core.documents import Value
from core.errors import ExportError
from core.export.jsontext import dumps
from core.export.rows import ExportRow, Values, evidence_of, layout, peek, source_of


def write_csv(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Source columns, document id, for each label value (1, 0 or empty), source and evidence (JSON), then the run.

    The source columns are those of the first row; ExportError when a later one has others. Text is escaped as
    ``core.csv_text`` says, which import undoes; a text column is always escaped, another column not where it
    holds a plain number. Returns how many rows were written; no rows give the header alone.
    """
    columns, rows = peek(rows)
    plan, values = layout(columns, codebook), Values(codebook)
    file.write(codecs.BOM_UTF8)
    writer = csv.writer(_Utf8(file), quoting=csv.QUOTE_ALL)
    header = [*plan.source, plan.document]
    for each in plan.items:
        header += (each.value, each.source, each.evidence)
    header += (plan.run, plan.protocol, plan.version, plan.status)
    writer.writerow([escape_formula(name) for name in header])
    count = 0
    for row in rows:
        cells = source_cells(row, plan.source)
        line = [_cell(cell, name in row.document.fields) for name, cell in zip(plan.source, cells, strict=True)]
        line.append(_cell(row.document.id, False))
        evidence = evidence_of(row)
        for each in plan.items:
            quotes = evidence.get(each.item)
            line += (
                _value(values.of(row, each.item)),
                escape_formula(row.sources.get(each.item, "")),
                dumps(quotes).decode() if quotes else "",
            )
        line += (
            escape_formula(row.run_id),
            escape_formula(row.protocol),
            str(row.codebook_version),
            escape_formula(row.status),
        )
        writer.writerow(line)
        count += 1
    return count


class _Utf8:
    """What csv.writer writes to: a binary file that it must not close."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: str, /) -> int:
        return self._file.write(text.encode("utf-8", "replace"))


def source_cells(row: ExportRow, columns: tuple[str, ...]) -> list[Any]:
    """The cells of the source columns; ExportError when the row has a column that is not among them."""
    source: Mapping[str, Any] = source_of(row.document)
    if len(source) > len(columns) or not source.keys() <= set(columns):
        extra = ", ".join(sorted(map(str, source.keys() - set(columns)))[:5])
        raise ExportError(
            f"Document '{row.document.id}' has columns that the first document has not: {extra}.",
            "Export the data sets one by one.",
        )
    return [source.get(name) for name in columns]


def _cell(cell: Any, is_text: bool) -> str:
    match cell:
        case str():
            escaped = escape_formula(cell)
            return cell if escaped is not cell and not is_text and is_number(cell) else escaped
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case int() | float():
            return str(cell)
        case _:
            return escape_formula(dumps(cell).decode())


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
