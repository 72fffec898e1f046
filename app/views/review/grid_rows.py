"""The rows of the grid of documents: plain cells out of what the store tells."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from core.codebook import Codebook
from core.documents import Value
from core.studio.reviewing.focus import TONES
from core.studio.reviewing.queue import REASONS, Row

WORDS = 240
"""Characters of a text that a row carries; the rest is shown below the grid."""


def cells_of(row: Row, codebook: Codebook, roles: Mapping[str, str], read: float | None = None) -> dict[str, Any]:
    """The cells of one document: ``v_ITEM`` its label's value, ``m_ITEM`` its marks, ``r_ROLE`` what a role said.
    ``read`` is when it was read (Unix seconds, now by default)."""
    cells: dict[str, Any] = {
        "_id": row.document_id,
        "_text": " ".join(row.text[: 2 * WORDS].split())[:WORDS],
        "_quotes": f"{row.supported} of {row.quotes}" if row.quotes else "",
        "_reason": _badge(row),
        "_tone": "" if audit(row) else TONES.get(row.reason or "", ""),
        "_why": ", ".join(REASONS[reason] for reason in row.reasons),
        "_status": row.status,
        "_act": "",
        "_read": time.time() if read is None else read,
        "gold": _squares(row.gold, codebook) if row.gold else "",
    }
    for role in roles:
        says = row.roles.get(role)
        cells[f"r_{role}"] = "?" if says is None else _squares(says, codebook)
    for item in codebook.items:
        marks = "g" * (item in row.wrong) + "d" * (item in row.disputed) + "e" * (item in row.edited)
        cells[f"v_{item}"] = _text(row.values.get(item))
        cells[f"m_{item}"] = marks
    return cells


def speakers(rows: Sequence[Row], roles: Mapping[str, str]) -> dict[str, str]:
    """Those of ``roles`` who gave a value somewhere on these rows: a clerk or a coordinator would be a column of
    question marks. All of them where nobody gave any."""
    heard = {role for row in rows for role, said in row.roles.items() if said}
    return {role: title for role, title in roles.items() if not heard or role in heard}


def audit(row: Row) -> bool:
    """Whether the document comes by chance."""
    return row.draw is not None and row.draw.how == "audit"


def _badge(row: Row) -> str:
    if audit(row):
        return "random audit"
    if row.reason == "student" and row.certainty is not None:
        return f"student {row.certainty:.2f}"
    return REASONS[row.reason] if row.reason else ""


def _text(value: Value | None) -> str:
    match value:
        case None:
            return "?"
        case bool():
            return "1" if value else "0"
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")  # a mean of several
        case _:
            return str(value)


def _squares(said: Mapping[str, Value | None], codebook: Codebook) -> str:
    """A character for each label: 1 present, 0 absent, ? not said; ``=`` and words where squares say too little."""
    if codebook.kind == "choice":
        chosen = said.get(codebook.items[0])
        return "=" + next((label.name for label in codebook.labels if label.id == chosen), "?")
    if codebook.kind == "rating":
        return "=" + " ".join("·" if said.get(item) is None else _text(said[item]) for item in codebook.items)
    return "".join(_text(said.get(item)) for item in codebook.items)
