"""csv: UTF-8 with a byte-order mark, everything quoted, formulas escaped."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.csv_text import escape_formula, is_number_text
from core.export.export_row import ExportRow, SharedColumns, result_cells, result_names
from core.ingest.table import as_text


def write_csv(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write source columns, document id, the run, and per label gold, verdict, review, roles and evidence (JSON).

    ExportError if a row has other source columns. Formulas are escaped as in ``core.csv_text``, and import unescapes
    them. Text columns are always escaped, other columns unless they hold a plain number. Values are 1, 0 or empty, a
    label's name, or a number. Without rows only the header is written.
    """
    names, results = result_names(columns, codebook), len(columns.source) + 1
    text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(map(escape_formula, names))
    try:
        for row in rows:
            cells = result_cells(row, columns, codebook)
            source = zip(names, cells[:results], strict=False)
            line = [_source_cell(cell, name in row.document.fields) for name, cell in source]
            writer.writerow([*line, *map(_result_cell, cells[results:])])
    finally:
        text.detach()  # it would close the file


def _source_cell(cell: Any, is_text: bool) -> str:
    if isinstance(cell, str):
        return cell if not is_text and is_number_text(cell) else escape_formula(cell)
    return as_text(cell)


def _result_cell(cell: Any) -> str:
    match cell:
        case None | []:
            return ""
        case bool():
            return "1" if cell else "0"
        case str():
            return escape_formula(cell)
        case _:
            return as_text(cell)
