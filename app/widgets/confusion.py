"""Confusion matrices with selectable cells, and lists of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from app.components import component
from app.widgets.live_board import role_data
from core.codebook import Codebook
from core.stats.counts import Counts

_CONFUSION_MATRIX = component("confusion_matrix")
_DOCUMENT_LIST = component("document_list")

WORDS = {
    "tp": ("present", "present"),
    "fp": ("absent", "present"),
    "fn": ("present", "absent"),
    "tn": ("absent", "absent"),
}
"""Value of the reference and value of the annotator in each cell of a matrix."""


def _ignore() -> None:
    """Do nothing. Components report a trigger only if they have a callback for it."""


def confusion_matrices(
    counts: Mapping[str, Counts],
    codebook: Codebook,
    *,
    reference: str = "gold",
    annotator: str = "verdict",
    selected: tuple[str, str] | None = None,
    key: str = "confusion",
    on_cell: Callable[[], None] = _ignore,
) -> tuple[str, str] | None:
    """Draw a 2x2 confusion matrix for each label: rows are the reference, columns the annotator.

    ``counts`` is by label name. Returns (label id, ``tp``, ``fp``, ``fn`` or ``tn``) in the rerun after a click on a
    cell, else None.
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
    result = _CONFUSION_MATRIX(
        key=key,
        data={
            "labels": labels,
            "reference": reference,
            "annotator": annotator,
            "selected": list(selected) if selected else None,
        },
        on_cell_change=on_cell,
    )
    cell = result.get("cell")
    return (str(cell[0]), str(cell[1])) if cell else None


def document_list(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    note: str,
    heading: str = "",
    roles: Iterable[str] | Mapping[str, str] = (),
    listing: str = "",
    key: str = "documents",
) -> None:
    """Draw a list of documents, which open in the page's ``document_drawer``.

    Each row is ``{id, excerpt, role, note, corrected, regressed}``; only ``id`` and ``excerpt`` are required. ``role``
    or ``note`` is shown in a column with this ``heading``. ``corrected`` and ``regressed`` are label names.
    ``listing`` is the name of the list in the drawer (default: ``title``).
    """
    _DOCUMENT_LIST(
        key=key,
        data={
            "rows": [dict(row) for row in rows],
            "title": title,
            "note": note,
            "heading": heading,
            "roles": role_data(roles),
            "listing": listing or title,
        },
    )


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, for a list."""
    return " ".join(text[:300].split())[:200]
