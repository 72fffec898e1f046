"""The list of labels that can be sorted, and the swatches of label colours: own components."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.components import component
from core.codebook import COLOURS, Codebook

_LABELS = component("label_list")
_SWATCHES = component("swatches")


def _ignore() -> None:
    """Components give a trigger back only when they have a callback for it."""


def label_list(
    codebook: Codebook,
    picked: str | None,
    notes: Mapping[str, str],
    *,
    key: str = "labels",
    told: Callable[[], None] = _ignore,
) -> tuple[str | None, list[str] | None]:
    """Draw the labels with a ``note`` each; gives the label that was clicked and the order that they were put into, in
    the rerun after that, else None."""
    result = _LABELS(
        key=key,
        data={
            "labels": [
                {"id": label.id, "name": label.name, "colour": label.colour, "note": notes.get(label.id, "")}
                for label in codebook.labels
            ],
            "picked": picked,
        },
        on_pick_change=told,
        on_order_change=told,
    )
    clicked, order = result.get("pick"), result.get("order")
    return (str(clicked) if clicked else None), ([str(each) for each in order] if order else None)


def swatches(codebook: Codebook, label_id: str, *, key: str) -> int | None:
    """Draw the colours with that of the label picked; gives the one that was clicked, in the rerun after that."""
    used = [(label.colour, label.name) for label in codebook.labels if label.id != label_id]
    result = _SWATCHES(
        key=key,
        data={"picked": codebook.label(label_id).colour, "count": COLOURS, "used": used},
        on_colour_change=_ignore,
    )
    colour = result.get("colour")
    return int(colour) if colour else None
