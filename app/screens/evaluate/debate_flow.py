"""Effect of the debate on labels: a flow diagram from role to role, and a table by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.components import component
from app.widgets.palette import role_token
from core import csv_text
from core.codebook import Codebook
from core.formatting import format_percent
from core.stats.flips import FlipTable

_FLIP_SANKEY = component("flip_sankey")
_FLIP_TABLE = component("flip_table")


def flip_sankey(
    flip_table: FlipTable,
    titles: Mapping[str, str],
    sentence: Sequence[tuple[str, bool]],
    *,
    height: int = 220,
    key: str = "flow",
) -> None:
    """Draw a bar for each role (correct above, incorrect below) and the flows between consecutive roles.

    The flows are corrections, regressions and unchanged labels. ``titles`` are the names of the roles. ``sentence`` is
    the text below the diagram, as pieces with True for bold. ``height`` is the height of the diagram in pixels. The
    diagram can be downloaded as SVG and its numbers as CSV.
    """
    changes = [step.total for step in flip_table.steps]
    right = [changes[0].right_before, *(change.right_after for change in changes)]
    posts = [
        {
            "name": titles.get(role, role),
            "colour": role_token(role),
            "correct": count,
            "share": f"{format_percent(share, 1)} correct" if share is not None else "",
        }
        for role, count, share in zip(flip_table.roles, right, flip_table.shares, strict=True)
    ]
    steps = [
        {
            "corrected": one.corrected,
            "regressed": one.regressed,
            "kept_correct": one.kept_right,
            "kept_incorrect": one.kept_wrong,
        }
        for one in changes
    ]
    _FLIP_SANKEY(
        key=key,
        data={
            "cells": flip_table.cells,
            "height": height,
            "bars": posts,
            "steps": steps,
            "sentence": [{"text": text, "strong": strong} for text, strong in sentence],
            "name": key,
            "csv": csv_text.to_csv(rows(flip_table, titles)),
        },
    )


def rows(flip_table: FlipTable, titles: Mapping[str, str]) -> list[dict[str, str | int]]:
    """Return the numbers of the flow diagram, one row per step and label.

    Rows with an empty ``label`` are totals over all labels.
    """
    return [
        {
            "from": titles.get(step.against, step.against),
            "to": titles.get(step.role, step.role),
            "label": label,
            "kept_right": tally.kept_right,
            "corrected": tally.corrected,
            "regressed": tally.regressed,
            "kept_wrong": tally.kept_wrong,
            "net": tally.net,
        }
        for step in flip_table.steps
        for label, tally in [("", step.total), *step.labels.items()]
    ]


def correction_table(
    flip_table: FlipTable, codebook: Codebook, titles: Mapping[str, str], noun: str, *, key: str = "changes"
) -> None:
    """Draw the table of corrections and regressions by label, with a total for several labels.

    ``noun`` names the counted unit.
    """
    labels = {label.name: label for label in codebook.labels}
    lines = [
        {
            "name": name,
            "colour": labels[name].colour if name in labels else 0,
            "steps": [[step.labels[name].corrected, step.labels[name].regressed] for step in flip_table.steps],
            "net": flip_table.whole.labels[name].net,
        }
        for name in flip_table.whole.labels
    ]
    if len(lines) > 1:
        lines.append(
            {
                "name": f"All {noun}s",
                "colour": 0,
                "steps": [[step.total.corrected, step.total.regressed] for step in flip_table.steps],
                "net": flip_table.whole.total.net,
            }
        )
    _FLIP_TABLE(key=key, data={"roles": [titles.get(role, role) for role in flip_table.roles[1:]], "rows": lines})
