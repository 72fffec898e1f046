"""Prodigy: one task a line, as its ``choice`` view keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.interchange import fields_of, named, scale_of, spans_of
from core.export.jsontext import dumps
from core.export.rows import ExportRow
from core.hashing import digest


def write_prodigy(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """Tasks with ``options``, ``accept`` (the final values), ``answer``, ``spans`` (the verdict's quotes) and ``meta``.

    ``answer`` is ``accept`` where every item has a value, ``reject`` where a person discarded the document and
    ``ignore`` where something is unresolved. A rating has an option for each point of each dimension. The annotator is
    the person who decided last, else the run. Hashes are stable over exports. Returns how many tasks were written.
    """
    options = _options(codebook)
    count = 0
    for row in rows:
        count += 1
        fields = fields_of(row)
        last = max(row.people, key=lambda said: said.at or 0.0, default=None)
        by = last.by if last is not None else row.run_id
        kept = spans_of(row.machine[0], row, codebook) if row.machine else []
        task = {
            **fields,
            "options": options,
            "accept": _accepted(row, codebook),
            "answer": _answer(row, codebook, discarded=last is not None and last.status == "Discarded"),
            "spans": [{key: span[key] for key in ("start", "end", "label")} for span in kept],
            "meta": {"id": row.document.id, "run": row.run_id, "protocol": row.protocol, "status": row.status},
            "_input_hash": _number(fields),
            "_task_hash": _number([fields, options]),
            "_view_id": "choice",
            "_annotator_id": by,
            "_session_id": f"moot-{by}",
            "_timestamp": None if last is None or last.at is None else int(last.at),
        }
        file.write(dumps(task) + b"\n")
    return count


def _options(codebook: Codebook) -> list[dict[str, str]]:
    if codebook.kind != "rating":
        return [{"id": label.name, "text": label.name} for label in codebook.labels]
    scale = scale_of(codebook)
    return [
        {"id": f"{label.name}:{point}", "text": f"{label.name}: {point}"}
        for label in codebook.labels
        for point in range(scale.min, scale.max + 1)
    ]


def _accepted(row: ExportRow, codebook: Codebook) -> list[str]:
    match named(row.values, codebook):
        case list() as present:
            return present
        case str() as chosen:
            return [chosen]
        case dict() as ratings:
            return [f"{name}:{round(value)}" for name, value in ratings.items()]
        case _:
            return []


def _answer(row: ExportRow, codebook: Codebook, *, discarded: bool) -> str:
    if discarded:
        return "reject"
    return "accept" if all(row.values.get(item) is not None for item in codebook.items) else "ignore"


def _number(value: Any) -> int:
    """A hash as Prodigy keeps it: a signed whole number of 32 bits."""
    return int.from_bytes(bytes.fromhex(digest(value, size=4)), "big", signed=True)
