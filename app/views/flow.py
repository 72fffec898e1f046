"""What the debate changed: ribbons from role to role, and in numbers for each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.views.component import component
from core.codebook import Codebook
from core.evaluation.flips import Ledger

_FLOW = component("flow")
_LEDGER = component("ledger")


def flow(
    ledger: Ledger,
    titles: Mapping[str, str],
    sentence: Sequence[tuple[str, bool]],
    *,
    height: int = 220,
    key: str = "flow",
) -> None:
    """A post for each role (right above, wrong below) and between two posts what was mended, broken and kept.

    ``titles`` names the roles, ``sentence`` are the words below with those to set in bold; ``height`` in pixels is that
    of the ribbons.
    """
    changes = [step.total for step in ledger.steps]
    right = [changes[0].right_before, *(change.right_after for change in changes)]
    posts = [
        {
            "role": role,
            "name": titles.get(role, role),
            "right": count,
            "share": f"{share:.1%} right" if share is not None else "",
        }
        for role, count, share in zip(ledger.roles, right, ledger.shares, strict=True)
    ]
    steps = [
        {"mended": one.mended, "broken": one.broken, "kept_right": one.kept_right, "kept_wrong": one.kept_wrong}
        for one in changes
    ]
    _FLOW(
        key=key,
        data={
            "cells": ledger.cells,
            "height": height,
            "posts": posts,
            "steps": steps,
            "sentence": [{"text": text, "strong": strong} for text, strong in sentence],
            "told": "".join(text for text, _ in sentence),
        },
    )


def changes(ledger: Ledger, codebook: Codebook, titles: Mapping[str, str], noun: str, *, key: str = "changes") -> None:
    """The table of who changed what, a row for each label and one for all where there are several; ``noun`` is what a
    cell is."""
    labels = {label.name: label for label in codebook.labels}
    rows = [
        {
            "name": name,
            "colour": labels[name].colour if name in labels else 0,
            "steps": [[step.labels[name].mended, step.labels[name].broken] for step in ledger.steps],
            "net": ledger.whole.labels[name].net,
        }
        for name in ledger.whole.labels
    ]
    if len(rows) > 1:
        rows.append(
            {
                "name": f"All {noun}s",
                "colour": 0,
                "steps": [[step.total.mended, step.total.broken] for step in ledger.steps],
                "net": ledger.whole.total.net,
            }
        )
    _LEDGER(key=key, data={"roles": [titles.get(role, role) for role in ledger.roles[1:]], "rows": rows})
