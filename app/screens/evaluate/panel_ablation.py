"""Groups of a panel before and after their debate, with full personas and with simple roles."""

from __future__ import annotations

from typing import Any

import altair as alt
import streamlit as st

from app.widgets import layout, palette
from app.widgets.charts import (
    Spec,
    cached,
    draw,
    inline_data,
    named_axis,
    named_colours,
    scale_beside_text,
    styled,
    text_layer,
    text_width,
    tooltip,
)
from app.widgets.elements import segments, sentences
from app.widgets.labels import pick
from app.widgets.metric_tables import estimate_data
from core.annotations import Reference
from core.formatting import format_number
from core.runs import RunRow
from core.services.evaluation import panel_ablation
from core.services.evaluation.panel_ablation import NAMES, STYLES, Part, Styles
from core.services.evaluation.scores import evaluate
from core.services.project_session import ProjectSession
from core.stats.intervals import format_estimate
from core.stats.panels import MEASURES

LANES = {"full": "bar", "simple": "tx3"}


@st.fragment
def groups(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw the groups of a panel that rates; nothing for other runs."""
    if panel_ablation.style_of(run) is None:
        return
    sub = "" if reference == "reviewed" else "95% intervals over documents or their groups"
    with layout.panel("Groups before and after their debate", sub, key="styles") as head:
        with head:
            titles = {measure: NAMES[measure] for measure in MEASURES}
            measure = segments("measure", titles, default="spearman", key="styles-measure")
        default = evaluate(session, run, reference).first_scored
        chosen = pick(run.settings.codebook, key="styles-dimension", default=default)
        result = panel_ablation.styles(session, run, chosen, reference)
        if result is None:
            return
        layout.counted(result.counted.describe(reference))
        rows = [_row(one, result, measure) for one in result.parts]
        if any(row["after"] is not None or row["before"] is not None for row in rows):
            draw(_lanes(rows, measure), rows, key=f"styles-chart-{measure}")
        else:
            st.caption(f"{NAMES[measure]} is undefined here: the ratings do not vary, or there are too few raters.")
        sentences(result.sentence)


def _row(one: Part, result: Styles, measure: str) -> dict[str, Any]:
    before, after = one.before[measure], one.after[measure]
    gain = result.gains.get(one.group, {}).get(measure) if one.style == "full" else None
    return {
        "group": one.group,
        "style": f"{STYLES[one.style]} ({result.runs[one.style]})",
        "colour": LANES[one.style],
        **estimate_data(before, "before", "before_"),
        **estimate_data(after, "after"),
        "words": f"{format_number(before.value, 2)} → {format_estimate(after, digits=2)}",
        **estimate_data(gain, "gain", "gain_"),
    }


@cached
def _lanes(rows: list[dict[str, Any]], measure: str) -> Spec:
    """Return a lane for each group and style.

    The hollow mark is the score before the debate. The filled mark is the score after the debate, with its interval.
    """
    shade = palette.colours()
    frame = inline_data([{**row, "ink": shade[row["colour"]]} for row in rows])
    ends = [row[name] for row in rows for name in ("before", "after", "low") if row[name] is not None]
    low = min([0.0, *ends])
    room = text_width(rows)
    across = scale_beside_text(room, (max(-1.0, low - 0.02) if low < 0 else 0.0, 1.0))
    ticks = [tick / 4 for tick in range(-4, 5) if tick / 4 >= low]
    names = dict.fromkeys(row["group"] for row in rows)
    styles = {row["style"]: shade[row["colour"]] for row in rows}
    x = alt.X("after:Q", scale=across, axis=alt.Axis(title=NAMES[measure], values=ticks, format=".2f"))
    offset = alt.YOffset("style:N", sort=list(styles), scale=alt.Scale(domain=list(styles)))
    lane = {"y": named_axis("group", names), "yOffset": offset}
    colour = named_colours("style", styles, labelLimit=260, symbolOpacity=1)
    tip = tooltip(
        group="Group", style="Style", before=("Before", ".3f"), before_low=("Interval from", ".3f"),
        before_high=("to", ".3f"), after=("After", ".3f"), low=("Interval from", ".3f"), high=("to", ".3f"),
    )  # fmt: skip
    base = alt.Chart(frame).encode(**lane)
    marks = base.encode(color=colour, tooltip=tip)
    known = marks.transform_filter("isValid(datum.after)").mark_point(filled=True, size=85, opacity=1)
    spans = marks.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3, opacity=0.4)
    first = marks.transform_filter("isValid(datum.before)").mark_point(size=75, strokeWidth=1.6, opacity=1)
    chart = alt.layer(
        spans.encode(x=alt.X("low:Q", scale=across), x2="high:Q"),
        first.encode(x=alt.X("before:Q", scale=across)),
        known.encode(x=x),
        text_layer(base, room),
    )
    return styled(chart, 24 * len(rows) + 70)
