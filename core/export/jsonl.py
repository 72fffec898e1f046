"""jsonl: one object per document, and one object per turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.export_row import ABOUT, ExportRow, SharedColumns, evidence_by_item, source_columns, write_lines
from core.ingest.table import REVIEW_DETAILS, unique_names

_KEYS = ("document_id", "labels", "roles", *ABOUT, *REVIEW_DETAILS)


def write_jsonl(rows: Iterable[ExportRow], codebook: Codebook, _columns: SharedColumns, file: BinaryIO) -> None:
    """Write source columns, ``document_id``, ``labels`` {name: {value, source, evidence}}, roles, run and review.

    ``value`` is true, false, a number, a label's name, or null with a ``reason`` beside it. If the source has a column
    of the same name, the key gets ``_2``.
    """
    keys = cache(lambda columns: unique_names(_KEYS, columns))

    def record(row: ExportRow) -> dict[str, Any]:
        source = dict(source_columns(row.document))
        evidence = evidence_by_item(row)
        labels: dict[str, dict[str, Any]] = {}
        for item, name in zip(codebook.items, codebook.item_names, strict=True):
            value = row.values.get(item)
            labels[name] = {
                "value": codebook.label_names.get(value, value),
                "source": row.sources.get(item, ""),
                "evidence": evidence.get(item, []),
            }
            if value is None and item in row.reasons:
                labels[name]["reason"] = row.reasons[item]
        about = (getattr(row, name) for name in ABOUT)
        cells = (row.document.id, labels, dict(row.roles), *about, *row.review_details.values())
        return source | dict(zip(keys(tuple(source)), cells, strict=True))

    write_lines(map(record, rows), file)


def write_transcript(
    turns: Iterable[Mapping[str, Any]], _codebook: Codebook, _columns: SharedColumns, file: BinaryIO
) -> None:
    """Write one line per turn."""
    write_lines(turns, file)
