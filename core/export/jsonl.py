"""jsonl: one object a document, and one object a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from core.codebook import Codebook
from core.export.jsontext import dumps
from core.export.rows import ExportRow, Values, evidence_of, free_names, items_of, source_of

TURN_KEYS = (
    "run", "document", "turn", "role", "model", "messages", "text", "reasoning", "reading", "evidence", "tokens",
    "cost", "seconds", "cached",
)  # fmt: skip

_KEYS = ("document_id", "labels", "roles", "run_id", "protocol", "codebook_version", "status")


def write_jsonl(rows: Iterable[ExportRow], codebook: Codebook, file: BinaryIO) -> int:
    """The source columns, then ``document_id``, ``labels`` {name: {value, source, evidence}}, the roles and the run.

    ``value`` is true, false, a number, a label's name, or null with the ``reason`` beside it. A key that the source has
    already gets ``_2``. Returns how many rows were written.
    """
    values, items = Values(codebook), items_of(codebook)
    names: dict[tuple[str, ...], list[str]] = {}
    count = 0
    for row in rows:
        source = dict(source_of(row.document))
        columns = tuple(source)
        own = names.get(columns)
        if own is None:
            own = names[columns] = free_names(_KEYS, columns)
        evidence = evidence_of(row)
        labels = {name: _label(row, item, values, evidence.get(item, [])) for item, name in items}
        about = (dict(row.roles), row.run_id, row.protocol, row.codebook_version, row.status)
        file.write(dumps(source | dict(zip(own, (row.document.id, labels, *about), strict=True))) + b"\n")
        count += 1
    return count


def _label(row: ExportRow, item: str, values: Values, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    value = values.of(row, item)
    label: dict[str, Any] = {"value": value, "source": row.sources.get(item, ""), "evidence": evidence}
    if value is None and item in row.reasons:
        label["reason"] = row.reasons[item]
    return label


def write_transcript(turns: Iterable[Mapping[str, Any]], codebook: Codebook, file: BinaryIO) -> int:
    """One line a turn with ``TURN_KEYS`` in that order, null where a turn lacks one, then whatever else it has.

    The codebook is not needed and is there so that all writers are called alike. Returns how many turns were written.
    """
    del codebook
    count = 0
    for turn in turns:
        file.write(dumps({**dict.fromkeys(TURN_KEYS), **turn}) + b"\n")
        count += 1
    return count
