"""jsonl: one object per document, and one object per turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.export_row import ExportRow, SharedColumns, evidence_by_item, result_cells, result_names, write_lines
from core.ingest.table import REVIEW_DETAILS, unique_names


def write_jsonl(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write the columns of csv and Parquet with typed values, ``labels`` {name: {value, source, evidence}} and roles.

    ``value`` is true, false, a number, a label's name, or null with a ``reason`` beside it. If the source has a column
    of the same name, the key gets ``_2``. ExportError if a row has other source columns.
    """
    names = result_names(columns, codebook)
    details = names[-len(REVIEW_DETAILS) :]
    nested = unique_names(["labels", "roles"], names)

    def record(row: ExportRow) -> dict[str, Any]:
        cells = dict(zip(names, result_cells(row, columns, codebook), strict=True))
        labels: dict[str, dict[str, Any]] = {}
        evidence = evidence_by_item(row)
        for item, name in zip(codebook.items, codebook.item_names, strict=True):
            value = row.values.get(item)
            labels[name] = {
                "value": codebook.label_names.get(value, value),
                "source": row.sources.get(item, ""),
                "evidence": evidence.get(item, []),
            }
            if value is None and item in row.reasons:
                labels[name]["reason"] = row.reasons[item]
        lists = zip(details, row.review_details.values(), strict=True)  # not joined as in cells of a table
        return cells | dict(lists) | dict(zip(nested, (labels, dict(row.roles)), strict=True))

    write_lines(map(record, rows), file)


def write_transcript(
    turns: Iterable[Mapping[str, Any]], _codebook: Codebook, _columns: SharedColumns, file: BinaryIO
) -> None:
    """Write one line per turn."""
    write_lines(turns, file)
