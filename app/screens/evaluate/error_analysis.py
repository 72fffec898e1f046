"""Where a label goes wrong: again and again, by words, by length, by tags."""

from __future__ import annotations

from typing import cast

import streamlit as st

from app.screens.evaluate import debate_effect
from app.widgets import layout, plots
from core.services.evaluation import coverage
from core.services.evaluation.error_analysis import LabelErrors, Side, told_sides
from core.services.evaluation.grids import Reference
from core.stats.error_analysis import Band

NAMES: dict[bool, dict[Side, str]] = {
    False: {"missed": "Missed", "invented": "Invented"},
    True: {"missed": "Too low", "invented": "Too high"},
}
"""Both ways to be wrong, by whether it is a rating."""


def findings(told: LabelErrors, kind: str, reference: Reference) -> tuple[Side | None, str]:
    """Draw them. Gives the side and the cue word that were picked to filter the documents by."""
    side: Side | None = None
    word = ""
    on = coverage.words(told.counted, reference)
    left, right = st.columns([1.2, 1], gap="small")
    with left, layout.panel("Cue words", "stand in these errors more than in the hits", counted=on, key="errors-cues"):
        sides = dict(told_sides(kind))
        counts = {one.side: one for one in told.sides}
        chosen = st.segmented_control(
            "side",
            list(sides),
            default="missed" if counts["missed"].wrong >= counts["invented"].wrong else "invented",
            format_func=lambda name: f"{NAMES[kind == 'rating'][name]} {counts[name].wrong:,}",
            required=True,
            label_visibility="collapsed",
            key="errors-side",
        )
        side = cast(Side, chosen)
        found = counts[side]
        st.caption(f"{sides[side].capitalize()}." + _again(told, found.consistent))
        if found.cues:
            rows = [
                {
                    "name": cue.word,
                    "value": cue.weight,
                    "words": f"{cue.errors} error{'' if cue.errors == 1 else 's'}, {cue.hits} hit"
                    f"{'' if cue.hits == 1 else 's'}",
                    "colour": "wrong",
                }
                for cue in found.cues
            ]
            word = plots.bars(rows, key=f"errors-words-{side}", unit="TF-IDF lead", share=False, select=True)
        else:
            st.caption("No word stands in two of these errors and in a larger share of them than of the hits.")
    with right:
        with layout.panel("By length", "share wrong by words of the text", counted=on, key="errors-length"):
            _bands(told.by_length, "words", key="errors-length-chart")
        if told.by_labels:
            with layout.panel("By number of labels", "present in the truth", counted=on, key="errors-labels"):
                _bands(told.by_labels, "labels", key="errors-labels-chart")
        with layout.panel("By tag", "as people tagged the wrong documents", counted=on, key="errors-tags"):
            if told.tags:
                debate_effect.facts([(tag, f"{count:,}") for tag, count in told.tags.items()])
            else:
                st.caption("None of them is tagged yet. Review offers error tags for each document.")
    return side, word


def _again(told: LabelErrors, consistent: int) -> str:
    if told.iterations < 2:
        return " With one iteration nothing tells a steady error from a slip."
    return f" {consistent:,} of them in all {told.iterations} iterations."


def _bands(bands: tuple[Band, ...], unit: str, *, key: str) -> None:
    if not bands:
        st.caption("No document has truth and a verdict.")
        return
    rows = [
        {
            "name": f"{band.low:,}" if band.low == band.high else f"{band.low:,} to {band.high:,}",
            "value": band.share.value,
            "low": band.share.interval.low if band.share.interval else None,
            "high": band.share.interval.high if band.share.interval else None,
            "words": f"{band.wrong:,} of {band.n:,}",
            "colour": "bar",
        }
        for band in bands
    ]
    plots.bars(rows, key=key, unit=f"share wrong, by {unit}")
