"""Confusion matrices that open their documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.components import component
from app.widgets.live_run import role_data
from core.codebook import Codebook
from core.stats.counts import Counts

_CONFUSION = component("confusion_matrix")
_CASES = component("document_list")

WORDS = {
    "tp": ("present", "present"),
    "fp": ("absent", "present"),
    "fn": ("present", "absent"),
    "tn": ("absent", "absent"),
}
"""What the truth says and what the annotator said, in each cell of a matrix."""


def _ignore() -> None:
    """Components give a trigger back only when they have a callback for it."""


def confusion(
    counts: Mapping[str, Counts],
    codebook: Codebook,
    *,
    reference: str = "gold",
    said: str = "verdict",
    picked: tuple[str, str] | None = None,
    key: str = "confusion",
    on_cell: Callable[[], None] = _ignore,
) -> tuple[str, str] | None:
    """A 2x2 matrix for each label (rows the truth, columns what was said); ``counts`` is by label name.

    Returns (label id, ``tp``, ``fp``, ``fn`` or ``tn``) in the rerun after a cell was clicked, else None.
    """
    labels: list[dict[str, Any]] = []
    for label in codebook.labels:
        own = counts[label.name]
        labels.append(
            {
                "id": label.id,
                "name": label.name,
                "colour": label.colour,
                "note": f"F1 {own.f1:.3f}" if own.f1 is not None else "none present",
                "tp": own.tp,
                "fp": own.fp,
                "fn": own.fn,
                "tn": own.tn,
            }
        )
    result = _CONFUSION(
        key=key,
        data={
            "labels": labels,
            "reference": reference,
            "annotator": said,
            "selected": list(picked) if picked else None,
        },
        on_cell_change=on_cell,
    )
    cell = result.get("cell")
    return (str(cell[0]), str(cell[1])) if cell else None


def cases(
    rows: Sequence[Mapping[str, Any]],
    *,
    head: str,
    told: str,
    by: str = "",
    roles: Iterable[str] | Mapping[str, str] = (),
    picked: str | None = None,
    key: str = "cases",
    on_document: Callable[[], None] = _ignore,
) -> str | None:
    """A list of documents, each ``{id, excerpt, role, corrected, regressed}``: ``role`` is shown under the heading
    ``by``, the last two are names of labels. All but the first two may be missing.

    Returns the id of the document that was clicked, in the rerun after the click.
    """
    result = _CASES(
        key=key,
        data={
            "rows": [dict(row) for row in rows],
            "title": head,
            "note": told,
            "role_heading": by,
            "roles": role_data(roles),
            "selected": picked,
        },
        on_document_change=on_document,
    )
    clicked = result.get("document")
    return clicked if isinstance(clicked, str) else None


def excerpt(text: str) -> str:
    """The beginning of a text on one line, for a list."""
    return " ".join(text[:300].split())[:200]
