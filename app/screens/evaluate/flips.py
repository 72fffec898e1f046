"""Corrections and regressions: their flow from role to role, and their counts by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
from markupsafe import Markup

from app.widgets import palette
from app.widgets.charts import Spec, cached, draw, inline_data, styled, tooltip
from app.widgets.elements import sentences, table
from app.widgets.labels import swatch_html
from app.widgets.metric_tables import estimate_data
from core.codebook import Codebook
from core.formatting import format_percent, format_signed
from core.stats.flips import FlipTable, Tally
from core.stats.intervals import format_interval

TOP, GAP, BOTTOM = 58, 14, 20
"""Pixels above the flows, between correct and incorrect labels, and below them for the word "incorrect"."""
BAR, MARGIN = 13, 8
"""Width of a bar, and distance of the middle of the first one from the edge, in pixels."""
MIN_FLOW_WIDTH = 1.5
CURVE = 16
"""Number of straight pieces of the edge of a flow."""
LINE, LETTER = 16, 7.6
"""Height of a line of a name, and width of a letter, in pixels."""
NARROW_STEP = 180
"""Width of a step in pixels in which its text and the word "correct" do not fit into one line."""
INTERVAL_ROOM, CHANGE_ROOM, UNCHANGED_ROOM = 130, 118, 80
"""Widths of a step in pixels in which an interval, the number of changes, and "no changes" reach no other text."""

Rows: TypeAlias = list[dict[str, Any]]


def flip_flow(flips: FlipTable, titles: Mapping[str, str], sentence: Sequence[tuple[str, bool]], height: int) -> None:
    """Draw a bar for each role (correct above, incorrect below) and the flows between consecutive roles.

    The flows are corrections, regressions and unchanged labels. ``titles`` are the names of the roles. ``sentence`` is
    the text below the diagram, as pieces with True for bold. ``height`` is the height of the diagram in pixels.
    """
    draw(_flow(flips, titles, height), flip_rows(flips, titles), key="evaluate-flips", title="Effect of the debate")
    pieces = (Markup("<b>{}</b>" if strong else "{}").format(text) for text, strong in sentence)
    sentences(Markup("").join(pieces))


def flip_rows(flips: FlipTable, titles: Mapping[str, str]) -> list[dict[str, str | float | None]]:
    """Return the numbers of the flow diagram by step and label; rows with an empty ``label`` are over all labels."""
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
            **estimate_data(gain, "gain"),
        }
        for step in flips.steps
        for label, tally, gain in [
            ("", step.total, step.gain),
            *((name, step.labels[name], gain) for name, gain in step.label_gains.items()),
        ]
    ]


@cached
def _flow(flips: FlipTable, titles: Mapping[str, str], height: int) -> Spec:
    shades = palette.colours()
    scale = (height - TOP - GAP - BOTTOM) / max(1, flips.cells)
    flows, changes = _flows(flips, scale)
    bars = _bars(flips, titles, scale)
    x_scale = alt.Scale(domain=[0, max(1, len(bars) - 1)], nice=False, range=[MARGIN, alt.ExprRef(f"width - {MARGIN}")])
    above = LINE * max(bar["name"].count(", ") for bar in bars)  # for further lines of names
    y_scale = alt.Scale(domain=[-above, height], nice=False, range=[0, height + above])
    x = alt.X("x:Q", axis=None, scale=x_scale)
    y, low = (alt.Y(f"{end}:Q", axis=None, scale=y_scale) for end in ("y", "low"))
    fill = alt.Color("fill:N", scale=None)

    # The width is known to the browser only: a name that reaches its neighbours is broken after the role, then cut.
    # Other texts have a short form for narrow steps. It is empty where the tooltip has the same number.
    step = f"((width - {2 * MARGIN}) / {max(1, len(bars) - 1)})"
    words = f"({step} < datum.room ? datum.short : datum.words)"
    lines = f"(length({words}) * {LETTER} > {step} * 2 / 3 ? split({words}, ', ') : [{words}])"
    drop = f"({step} < {NARROW_STEP} ? datum.drop : 0)"

    def text(rows: Rows, **mark: Any) -> Any:
        style: dict[str, Any] = {name: alt.ExprRef(f"datum.{name}") for name in ("align", "dx", "fontWeight")}
        style["text"] = alt.ExprRef(lines)
        style["limit"] = alt.ExprRef(f"datum.cut ? {step} * 3 / 4 : 0")
        style["fontSize"] = alt.ExprRef(f"datum.cut && {step} < {UNCHANGED_ROOM} ? 11 : datum.fontSize")
        style["dy"] = alt.ExprRef(f"{drop} - {LINE} * (length({lines}) - 1)")
        marks = alt.Chart(inline_data(rows)).mark_text(lineHeight=LINE, **style, **mark)
        return marks.encode(x=x, y=y, color=fill)

    tip = tooltip(name="Role", right="Correct", wrong="Incorrect", interval="Share correct, 95% interval")
    marks = alt.Chart(inline_data(bars)).encode(x=x, tooltip=tip)
    opacity = alt.Opacity("opacity:Q", scale=None)
    chart = alt.layer(
        alt.Chart(inline_data(flows))
        .mark_area()
        .encode(x=x, y=y, y2="y2:Q", color=fill, detail="flow:N", opacity=opacity),
        marks.mark_bar(size=BAR, cornerRadius=2).encode(y=y, y2="y2:Q", color=fill),
        marks.mark_bar(size=BAR - 1.5, cornerRadius=2, fill=shades["bg"], strokeWidth=1.5).encode(
            y=low, y2="low2:Q", stroke=alt.Stroke("fill:N", scale=None)
        ),
        text(changes, stroke=shades["bg"], strokeWidth=4, strokeJoin="round"),
        text([*changes, *_notes(bars, height)]),
    )
    return styled(chart, height + above)


def _notes(bars: Rows, height: int) -> Rows:
    """Return the texts above the bars, and the names of their halves."""
    shades = palette.colours()
    notes = [
        _text_mark(0, TOP + 14, "correct", shades["tx2"], align="left", dx=BAR / 2 + 4),
        _text_mark(0, height - 9, "incorrect", shades["tx2"], align="left", dx=-BAR / 2),
    ]
    for bar in bars:
        alignment = {"align": bar["align"], "dx": bar["dx"]}
        notes.append(
            _text_mark(bar["x"], 9, bar["name"], bar["fill"], fontSize=13, fontWeight=600, cut=True, **alignment)
        )
        for y_share, words_share, short in ((25, bar["share"], bar["short"]), (41, bar["interval"], "")):
            alignment |= {"room": INTERVAL_ROOM, "short": short, "fontSize": 11.5}
            notes.append(_text_mark(bar["x"], y_share, words_share, shades["tx2"], **alignment))
    return notes


def _flows(flips: FlipTable, scale: float) -> tuple[Rows, Rows]:
    """Return the edges of the flows between the roles, and the texts on them."""
    shades = palette.colours()
    flows: Rows = []
    texts: Rows = []
    for index, tally in enumerate(step.total for step in flips.steps):
        kept_end = TOP + tally.kept_right * scale
        before, after = (TOP + right * scale + GAP for right in (tally.right_before, tally.right_after))
        bottom = TOP + flips.cells * scale + GAP - tally.kept_wrong * scale
        for start, end, width, colour, opacity in (
            (TOP, TOP, tally.kept_right * scale, "bg3", 1.0),
            (bottom, bottom, tally.kept_wrong * scale, "line2", 0.6),
            (kept_end, after, tally.regressed and max(tally.regressed * scale, MIN_FLOW_WIDTH), "wrong", 0.62),
            (before, kept_end, tally.corrected and max(tally.corrected * scale, MIN_FLOW_WIDTH), "right", 0.62),
        ):
            for at in (piece / CURVE for piece in range(CURVE + 1)):
                edge = start + (end - start) * at * at * (3 - 2 * at)
                row = {"flow": f"{index} {colour}", "x": index + at, "y": edge, "y2": edge + width}
                flows.append({**row, "fill": shades[colour], "opacity": opacity})
        low, high = before - 1, after - 25
        if abs(low - high) < LINE:  # the texts would touch in a narrow diagram
            high = low - LINE
        if tally.regressed:
            words, brief = f"{tally.regressed:,} regressed", {"room": CHANGE_ROOM, "short": f"−{tally.regressed:,}"}
            texts.append(_text_mark(index + 0.7, high, words, shades["wrong"], fontWeight=600, **brief))
        if tally.corrected:
            words, brief = f"{tally.corrected:,} corrected", {"room": CHANGE_ROOM, "short": f"+{tally.corrected:,}"}
            texts.append(_text_mark(index + 0.3, low, words, shades["right"], fontWeight=600, **brief))
        if not tally.regressed and not tally.corrected:
            texts.append(_text_mark(index + 0.5, TOP + 16, "no changes", shades["tx2"], drop=18, room=UNCHANGED_ROOM))
    return flows, texts


def _text_mark(x: float, y: float, words: str, fill: str, **style: Any) -> dict[str, Any]:
    """Return a text. A step of less than ``room`` pixels has the text ``short`` instead."""
    defaults = {"align": "center", "dx": 0, "fontSize": 12, "fontWeight": 400, "cut": False, "drop": 0}
    defaults |= {"room": 0, "short": ""}
    return {"x": x, "y": y, "words": words, "fill": fill, **defaults, **style}


def _bars(flips: FlipTable, titles: Mapping[str, str], scale: float) -> Rows:
    """Return the bars with their places; the texts of the outer ones start or end at the edge of the bar."""
    totals = [step.total for step in flips.steps]
    rights = [totals[0].right_before, *(total.right_after for total in totals)]
    rows = []
    for index, (role, right, share) in enumerate(zip(flips.roles, rights, flips.shares, strict=True)):
        align, dx = ("left", -BAR / 2) if index == 0 else ("right", BAR / 2) if index == len(totals) else ("center", 0)
        low, wrong = TOP + right * scale + GAP, flips.cells - right
        rows.append(
            {
                "name": titles.get(role, role),
                "fill": palette.role_colour(role),
                "share": f"{format_percent(share.value, 1)} correct" if share.value is not None else "",
                "short": format_percent(share.value, 1) if share.value is not None else "",
                "interval": format_interval(share.shown_interval, "percent", digits=1),
                "right": f"{right:,}",
                "wrong": f"{wrong:,}",
                "align": align,
                "dx": dx,
                "x": index,
                "y": TOP,
                "y2": TOP + max(right * scale, 0.5),
                "low": low,
                "low2": low + max(wrong * scale, MIN_FLOW_WIDTH),
            }
        )
    return rows


def flip_table(flips: FlipTable, codebook: Codebook, titles: Mapping[str, str], noun: str) -> None:
    """Draw corrections and regressions by label, and for several labels over all; ``noun`` names what is counted."""
    labels = {label.name: label.colour for label in codebook.labels}

    def row(name: str, tallies: Iterable[Tally], net: int) -> list[str]:
        counts = [
            Markup('<span class="{}">{:,}</span>').format(tone if count else "q", count)
            for tally in tallies
            for tone, count in (("good", tally.corrected), ("bad", tally.regressed))
        ]
        title = Markup(swatch_html(labels[name])) + name if name in labels else Markup("<b>{}</b>").format(name)
        return [title, *counts, Markup("<b>{}</b>").format(format_signed(net, 0))]

    rows = [
        row(name, (step.labels[name] for step in flips.steps), total.net) for name, total in flips.whole.labels.items()
    ]
    if len(rows) > 1:
        rows.append(row(f"All {noun}s", (step.total for step in flips.steps), flips.whole.total.net))
    heads = [head for role in flips.roles[1:] for head in (f"{titles.get(role, role)} corrected", "regressed")]
    table(["Label", *heads, "Net"], rows)
