"""Prodigy: one task per line, for its ``choice`` view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

from core.codebook import Codebook, nearest_point
from core.export.export_row import (
    AnnotatorValues,
    ExportRow,
    SharedColumns,
    evidence_spans,
    label_names,
    named_ratings,
    text_fields,
    write_lines,
)
from core.hashing import digest


def write_prodigy(rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
    """Write tasks with ``options``, ``accept`` (the final values), ``answer``, ``spans`` (verdict quotes) and ``meta``.

    ``answer`` is ``accept`` if every item has a value, ``reject`` if a reviewer discarded the document and ``ignore``
    if an item is unresolved or the review is a draft. A rating has an option for each point of each dimension. The
    annotator is the last reviewer who submitted, otherwise the last reviewer, otherwise the run. Hashes are the same in
    every export.
    """
    options = _options(codebook)
    write_lines((_task(row, codebook, columns, options) for row in rows), file)


def _task(row: ExportRow, codebook: Codebook, columns: SharedColumns, options: list[dict[str, str]]) -> dict[str, Any]:
    fields = text_fields(row, columns)
    last = max(row.reviewers, key=lambda reviewer: (reviewer.status == "Submitted", reviewer.at or 0.0), default=None)
    by = last.name if last is not None else row.run_id
    points = (f"{name}:{nearest_point(value)}" for name, value in named_ratings(row.values, codebook).items())
    spans = evidence_spans(row.models[0], row, codebook) if row.models else []
    task = {
        **fields,
        "options": options,
        "accept": [*(label_names(row.values, codebook) or ()), *points],
        "answer": _answer(row, codebook, last),
        "spans": [{key: span[key] for key in ("start", "end", "label")} for span in spans],
        "meta": {"id": row.document.id, **row.metadata},
        "_input_hash": _number(fields),
        "_task_hash": _number([fields, options]),
        "_view_id": "choice",
        "_annotator_id": by,
        "_session_id": f"moot-{by}",
        "config": {"choice_style": "single" if codebook.kind == "choice" else "multiple"},
    }
    if last is not None and last.at is not None:
        task["_timestamp"] = int(last.at)
    return task


def _options(codebook: Codebook) -> list[dict[str, str]]:
    if codebook.kind != "rating":
        return [{"id": label.name, "text": label.name} for label in codebook.labels]
    return [
        {"id": f"{name}:{point}", "text": f"{name}: {point}"}
        for name, scale in zip(codebook.names, codebook.scales, strict=True)
        for point in scale.points
    ]


def _answer(row: ExportRow, codebook: Codebook, last: AnnotatorValues | None) -> str:
    if last is not None and last.status == "Discarded":
        return "reject"
    is_open = (last is not None and last.is_draft) or any(row.values.get(item) is None for item in codebook.items)
    return "ignore" if is_open else "accept"


def _number(value: Any) -> int:
    """Return a hash in Prodigy's form: a signed 32-bit integer."""
    return int.from_bytes(bytes.fromhex(digest(value, size=4)), "big", signed=True)
