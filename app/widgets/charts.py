"""Charts that several pages draw, in Altair: the kinds of chart, and the cache, style and downloads of every chart.

Charts have explicit domains, intervals, and values beside the marks. Each chart can be downloaded as SVG and its rows
as CSV.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from html import escape
from typing import Any, ParamSpec, TypeAlias, cast

import altair as alt
import streamlit as st

from app.context import current_project
from app.state import state
from app.widgets import palette
from app.widgets.elements import download
from core import csv_text
from core.files import file_stem
from core.formatting import format_percent

PADDING = {"left": 4, "right": 8, "top": 4, "bottom": 4}
ROW = 26
READ_ROWS = 200
"""Most rows of the table behind a chart."""
RUN_PAGES = ("evaluate", "review")
"""Pages whose charts are about the run of the tab."""

CACHED_CHARTS = 200
"""Maximum number of cached charts, over all browser sessions."""

P = ParamSpec("P")
Spec: TypeAlias = dict[str, Any]
"""Complete Vega-Lite chart with its data, in colours for both themes."""

Rows = Sequence[Mapping[str, Any]]
MAX_TEXT_COLUMNS = 20
"""Maximum number of matrix columns with text in the cells. Wider matrices show it in a tooltip."""

FULL_COST = "Full cost and full tokens are counted as if no reply had been reused."
"""Help of ``frontier``."""
MIN_MATRIX_WIDTH = 320
"""Width in pixels that a matrix has on every page: names of columns that are wider together may be slanted."""

FULL_CELL = 0.5
"""Strength of the colour of a matrix cell with a share of 1. A stronger one would make its words hard to read."""
MAX_WITH_COUNTS = 6
"""Maximum number of columns of a confusion matrix whose cells show counts beside shares."""
MAX_CONFUSED = 40
"""Maximum number of rows of a confusion matrix: more are neither readable nor drawn in reasonable time."""


def cached(make: Callable[P, Spec]) -> Callable[P, Spec]:
    """Cache a chart function by its arguments. Building a chart in Altair takes 0.05 to 0.2 s."""
    return st.cache_data(show_spinner=False, max_entries=CACHED_CHARTS)(make)


def inline_data(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as chart data.

    A DataFrame is not used, because Altair would infer the type of its columns for each chart. A tuple is not copied
    with each layer, as a list would be.
    """
    return alt.InlineData(values=tuple(dict(row) for row in rows))


def scale_beside_text(width: int | str, domain: Sequence[float]) -> Any:
    """Return the scale of an x axis that leaves ``width`` pixels at the right of the plot for ``text_layer``.

    ``width`` is a number or a Vega expression.
    """
    return alt.Scale(domain=list(domain), nice=False, range=[0, alt.ExprRef(f"width - {width}")])


def named_axis(field: str, names: Iterable[str], **axis: Any) -> Any:
    """Return the y axis of named rows, in the order of ``names``; ``axis`` are further properties of the axis."""
    options = {"title": None, "ticks": False, "domain": False, "labelPadding": 8, **axis}
    return alt.Y(f"{field}:N", sort=list(names), axis=alt.Axis(**options))


def named_colours(field: str, colours: Mapping[str, str], **legend: Any) -> Any:
    """Return the colours of a field by its values, with a legend at the top; ``legend`` are further properties."""
    options = {"title": None, "orient": "top", "direction": "horizontal", **legend}
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(**options))


def tooltip(**fields: str | tuple[str, str]) -> list[Any]:
    """Return the tooltip of a mark: the title of each field, for numbers with their format."""
    titles = {name: (field, None) if isinstance(field, str) else field for name, field in fields.items()}
    return [
        alt.Tooltip(f"{name}:N", title=title) if form is None else alt.Tooltip(f"{name}:Q", title=title, format=form)
        for name, (title, form) in titles.items()
    ]


def interval_titles(form: str, prefix: str = "") -> dict[str, tuple[str, str]]:
    """Return the fields of a tooltip for the ends of an interval, whose names begin with the prefix."""
    return {f"{prefix}low": ("Interval from", form), f"{prefix}high": ("to", form)}


def text_layer(base: Any, width: int) -> Any:
    """Return the layer that writes the ``words`` of each row into ``width`` pixels at the right of the plot."""
    mark = base.mark_text(align="left", fontSize=11.5, color=palette.colours()["tx2"], limit=width)
    return mark.encode(x=alt.value(alt.ExprRef(f"width - {width - 8}")), text="words:N")


def text_width(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the width in pixels of the column that ``text_layer`` needs, by the longest text."""
    return 14 + round(6.2 * max((len(row["words"]) for row in rows), default=0))


def styled(chart: Any, height: int) -> Spec:
    """Return a chart as a specification in the common style.

    ``height`` is in pixels. The width is that of the container.
    """
    shades = palette.colours()
    axis = {
        "labelColor": shades["tx2"],
        "titleColor": shades["tx3"],
        "gridColor": shades["line"],
        "domainColor": shades["line2"],
        "tickColor": shades["line2"],
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": 400,
        "labelLimit": 190,
        "labelSeparation": 6,  # in a narrow panel, labels that would touch are left out
    }
    legend = {"labelColor": shades["tx2"], "titleColor": shades["tx3"], "labelFontSize": 11.5, "symbolSize": 70}
    spec = cast(Spec, chart.to_dict(validate=False))  # validated in tests only: it doubles the time
    config = spec["config"]
    # Screen readers get the numbers as a table: Vega would give marks without data a role but no name.
    # Only SVG supports CSS colours. Streamlit (1.67) would use a canvas from 2,000 marks on.
    return {
        **spec,
        "height": height,
        "background": "transparent",
        "padding": PADDING,
        "config": {
            **config,
            "font": "Inter",
            "view": {**config["view"], "stroke": None},
            "mark": {"aria": False},
            "axis": axis,
            "legend": legend,
        },
        "datasets": {name: list(rows) for name, rows in spec["datasets"].items()},
        "description": "Chart; a table of its numbers follows",
        "usermeta": {"embedOptions": {"renderer": "svg"}},
    }


def draw(spec: Spec, rows: Sequence[Mapping[str, Any]], *, key: str, title: str, select: str = "") -> dict[str, str]:
    """Draw a chart with its downloads, named after ``title`` and the run, and return the fields of the selected point.

    ``select`` names the selection. Empty without a selection.
    """
    dark = st.context.theme.type == "dark"
    options: dict[str, Any] = {"on_select": "rerun", "selection_mode": [select]} if select else {}
    event: Any = st.vega_lite_chart(None, deepcopy(spec), width="stretch", theme=None, key=key, **options)
    session = current_project()
    run_id = state.run_id if state.page in RUN_PAGES else None
    parts = (session.name if session is not None else "", run_id or "", state.page, title)
    name = "-".join(filter(None, map(file_stem, parts)))
    with st.container(horizontal=True, horizontal_alignment="right", key=f"plotfoot-{key}"):
        # The browser draws the chart later: without its height, everything below would jump.
        foot = f".st-key-plotfoot-{re.sub('[^a-zA-Z0-9_-]', '-', key)}"
        space = f".stElementContainer:has(+ * > {foot}) {{ min-height: {spec['height']}px; }}"
        st.html(f"{_hidden_table(rows)}<style>{space}</style>")
        help = "Download this chart as SVG, in the colours shown"
        picture = partial(svg, spec, dark)
        download("SVG", picture, f"{name}.svg", key=f"{key}-svg", type="tertiary", icon="image", help=help)
        help = "Download the data of this chart as CSV"
        download("CSV", partial(csv_text.to_csv, rows), f"{name}.csv", key=f"{key}-csv", type="tertiary", help=help)
    points = event["selection"].get(select) if select else None
    return {field: str(value) for field, value in (points or [{}])[0].items()}


def _hidden_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of a chart as a table that only screen readers show, with at most READ_ROWS rows."""
    if not rows:
        return '<p class="moot-hidden">This chart has no numbers.</p>'
    names = list(rows[0])
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in names)
    cells = ("".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names) for row in rows[:READ_ROWS])
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    extent = f", the first {READ_ROWS} of {len(rows):,} rows" if len(rows) > READ_ROWS else ""
    return f'<table class="moot-hidden"><caption>Numbers of the chart{extent}</caption><tr>{head}</tr>{body}</table>'


def svg(spec: Spec, dark: bool) -> str:
    """Return the chart as SVG, 640 pixels wide, in the colours of one theme."""
    out = io.StringIO()
    full_spec = {**spec, "width": 640, "background": palette.colours()["bg"]}
    alt.Chart.from_dict(json.loads(palette.single_theme(json.dumps(full_spec), dark))).save(out, format="svg")
    return out.getvalue()


def forest(rows: Rows, *, key: str, title: str, unit: str) -> str:
    """Draw differences in points with intervals, one row each, and return the selected name, empty without a selection.

    Rows are ``{name, value, low, high, words, tone}``. ``tone`` is right, wrong or empty.
    """
    return draw(_forest(rows, unit), rows, key=key, title=title, select="label").get("name", "")


@cached
def _forest(rows: Rows, unit: str) -> Spec:
    shades = palette.colours()
    ends = [abs(row[end]) for row in rows for end in ("value", "low", "high") if row[end] is not None]
    maximum = min(100.0, max([*ends, 2.0]) * 1.12)
    frame = inline_data([{**row, "colour": shades[row["tone"]] if row["tone"] else shades["tx3"]} for row in rows])
    room = text_width(rows)
    x_scale = scale_beside_text(room, (-maximum, maximum))
    without_sign = "datum.value === 0 ? '0' : datum.label"
    axis = alt.Axis(title=unit, format="+~f", labelExpr=without_sign, tickCount=5, grid=True)
    tip = tooltip(name="Label", value=("Difference", "+.1f"), **interval_titles("+.1f"))
    selection = alt.selection_point(fields=["name"], name="label")
    faint = alt.condition(selection, alt.value(1.0), alt.value(0.3))
    base = alt.Chart(frame).encode(y=named_axis("name", (row["name"] for row in rows)))
    marks = base.encode(color=alt.Color("colour:N", scale=None), tooltip=tip)
    zero = alt.Chart(inline_data([{"at": 0.0}])).mark_rule(color=shades["tx3"]).encode(x=alt.X("at:Q", scale=x_scale))
    spans = marks.mark_rule(strokeWidth=3, opacity=0.45).encode(x=alt.X("low:Q", scale=x_scale), x2="high:Q")
    dots = marks.mark_point(filled=True, size=95, cursor="pointer").encode(
        x=alt.X("value:Q", scale=x_scale, axis=axis), opacity=faint
    )
    layers = (zero, spans, dots.add_params(selection), text_layer(base, room))
    return styled(alt.layer(*layers), ROW * len(rows) + 46)


@cached
def lines(rows: Rows, series: Mapping[str, str]) -> Spec:
    """Return shares over ordered steps as lines, with their intervals.

    Rows are ``{step, series, value, low, high}``; the ends of an interval are None without one. ``series`` maps each
    name to its colour token.
    """
    shades = palette.colours()
    frame = inline_data([row for row in rows if row["value"] is not None])
    steps = list(dict.fromkeys(row["step"] for row in rows))
    colours = {name: shades[colour] for name, colour in series.items() if any(row["series"] == name for row in rows)}
    shifts = {name: 6 * index - 3 * (len(colours) - 1) for index, name in enumerate(colours)}  # pixels
    axis = alt.Axis(title=None, labelAngle=0, grid=False, labelExpr="split(datum.label, ', ')")
    x = alt.X("step:N", sort=steps, axis=axis, scale=alt.Scale(padding=0.6))
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="share", format=".0%", tickCount=5))
    colour = named_colours("series", colours, symbolOpacity=1)
    tip = tooltip(step="Step", series="Measure", value=("Share", ".1%"), **interval_titles(".1%"))
    layers = [alt.Chart(frame).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)]
    for name, shift in shifts.items():  # intervals of one step beside each other
        points = inline_data([row for row in rows if row["series"] == name and row["value"] is not None])
        base = alt.Chart(points).encode(x=x, y=y, color=colour, tooltip=tip)
        spans = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3, opacity=0.35, xOffset=shift)
        layers.append(spans.encode(y="low:Q", y2="high:Q"))
        layers.append(base.mark_point(filled=True, size=70, opacity=1, xOffset=shift))
    return styled(alt.layer(*layers), 240)


@cached
def learning_curve(rows: Rows, measure: str) -> Spec:
    """Return a score by the number of training documents, with its intervals as a band.

    Rows are ``{documents, score, low, high}``; without an interval, ``low`` and ``high`` are None. ``measure`` is the
    title of the y-axis.
    """
    shades = palette.colours()
    maximum = max(row["documents"] for row in rows) or 1
    counts = [row["documents"] for row in rows]
    axis = alt.Axis(title="training documents", values=counts, format=",d", grid=False)
    x = alt.X("documents:Q", scale=alt.Scale(domain=[0, maximum], nice=False, padding=26), axis=axis)
    y_scale = alt.Scale(domain=_axis_domain(rows, "score", "low", "high"), nice=False)
    y = alt.Y("score:Q", scale=y_scale, axis=alt.Axis(title=measure, format=".2f", tickCount=4))
    tip = tooltip(documents=("Training documents", ","), score=("Score", ".3f"), **interval_titles(".3f"))
    base = alt.Chart(inline_data(rows)).encode(x=x, y=y)
    intervals = alt.Chart(inline_data([row for row in rows if row["low"] is not None]))
    band = intervals.mark_area(color=shades["bar"], opacity=0.18).encode(
        x=x, y=alt.Y("low:Q", scale=y_scale), y2="high:Q"
    )
    line = base.mark_line(color=shades["bar"], strokeWidth=2)
    dots = base.mark_point(filled=True, color=shades["bar"], size=70, opacity=1).encode(tooltip=tip)
    words = base.mark_text(dy=-12, fontSize=11.5, color=shades["tx2"]).encode(text=alt.Text("score:Q", format=".3f"))
    return styled(band + line + dots + words, 180)


@cached
def reliability(rows: Rows, certainty: str) -> Spec:
    """Return a reliability diagram: certainty against the share of correct cases.

    Rows are ``{certainty, right, low, high, n}``. The diagonal is perfect calibration. ``certainty`` is the title of
    the x-axis.
    """
    shades = palette.colours()
    unit = alt.Scale(domain=[0, 1], nice=False)
    ends = alt.Chart(inline_data([{"certainty": end, "right": end} for end in (0.0, 1.0)]))
    diagonal = ends.mark_line(color=shades["line2"], strokeDash=[4, 4]).encode(
        x=alt.X("certainty:Q", scale=unit), y=alt.Y("right:Q", scale=unit)
    )
    x = alt.X("certainty:Q", scale=unit, axis=alt.Axis(title=certainty, format=".0%", tickCount=6))
    y = alt.Y("right:Q", scale=unit, axis=alt.Axis(title="share correct", format=".0%", tickCount=6))
    tip = tooltip(certainty=("Certainty", ".1%"), right=("Correct", ".1%"), n=("Cases", ","))
    base = alt.Chart(inline_data(rows)).encode(x=x, y=y)
    spans = base.mark_rule(color=shades["bar"], opacity=0.4, strokeWidth=3).encode(
        y=alt.Y("low:Q", scale=unit), y2="high:Q"
    )
    dots = base.mark_point(filled=True, color=shades["bar"], size=80).encode(tooltip=tip)
    words = base.mark_text(dx=9, align="left", fontSize=11, color=shades["tx3"]).encode(
        text=alt.Text("n:Q", format=",")
    )
    return styled(diagonal + spans + dots + words, 260)


def bars(rows: Rows, *, key: str, title: str, unit: str, share: bool = True, select: bool = False) -> str:
    """Draw bars, with intervals if the rows have them, and return the selected name.

    Rows are ``{name, value, low, high, words, colour}``. ``colour`` is a token. The name is empty without a selection.
    """
    spec = _bars(rows, unit, share, select)
    return draw(spec, rows, key=key, title=title, select="name" if select else "").get("name", "")


@cached
def _bars(rows: Rows, unit: str, share: bool, select: bool) -> Spec:
    shades = palette.colours()
    frame = inline_data([{**row, "fill": shades[row["colour"]]} for row in rows])
    maximum = max([row.get("high") or row["value"] or 0 for row in rows] + [1e-9])
    room = text_width(rows)
    x_scale = scale_beside_text(room, (0, min(1.0, maximum * 1.02) if share else maximum * 1.02))
    x = alt.X("value:Q", scale=x_scale, axis=alt.Axis(title=unit, format=".0%" if share else ",", tickCount=3))
    selection = alt.selection_point(fields=["name"], name="name")
    base = alt.Chart(frame).encode(y=named_axis("name", (row["name"] for row in rows)))
    has_intervals = any(row.get("high") is not None for row in rows)
    solid = alt.value(0.55 if has_intervals else 1.0)  # so that the line of the interval is visible on the bar
    marks = base.mark_bar(size=13, cornerRadiusEnd=2, cursor="pointer" if select else "default").encode(
        x=x,
        color=alt.Color("fill:N", scale=None),
        tooltip=tooltip(name="Name", words="Value"),
        opacity=alt.condition(selection, solid, alt.value(0.35)) if select else solid,
    )
    layers = [marks.add_params(selection) if select else marks]
    if has_intervals:
        spans = base.mark_rule(color=shades["tx"], strokeWidth=1.5)
        layers.append(spans.encode(x=alt.X("low:Q", scale=x_scale), x2="high:Q"))
    return styled(alt.layer(*layers, text_layer(base, room)), ROW * max(1, len(rows)) + 46)


@cached
def consistency_bars(rows: Rows) -> Spec:
    """Return the share of documents by their status over all iterations, one bar per label, and the right share.

    Rows are ``{name, consistency, count}``.
    """
    shades = palette.colours()
    names = list(dict.fromkeys(row["name"] for row in rows))
    right, total = Counter[str](), Counter[str]()
    for row in rows:
        total[row["name"]] += row["count"]
        right[row["name"]] += row["count"] * (row["consistency"] == "right")
    shares = [{"name": name, "words": f"{format_percent(right[name] / (total[name] or 1))} right"} for name in names]
    room, y = text_width(shares), named_axis("name", names)
    colours = {"right": "right", "inconsistent": "unres", "wrong": "wrong", "unresolved": "line2"}
    statuses = list(colours)
    base = alt.Chart(inline_data([{**row, "place": statuses.index(row["consistency"])} for row in rows]))
    chart = base.mark_bar(size=15).encode(
        x=alt.X(
            "count:Q",
            stack="normalize",
            scale=scale_beside_text(room, (0, 1)),
            axis=alt.Axis(title="share of documents", format=".0%", tickCount=5),
        ),
        y=y,
        order="place:Q",
        color=named_colours("consistency", {name: shades[colour] for name, colour in colours.items()}, columns=2),
        tooltip=tooltip(name="Label", consistency="In every iteration", count=("Documents", ",")),
    )
    words = text_layer(alt.Chart(inline_data(shares)).encode(y=y), room)
    return styled(alt.layer(chart, words), ROW * len(names) + 88)


def confusion_heatmap(
    matrix: Sequence[Sequence[int]], names: Sequence[str], reference: str, *, key: str, title: str
) -> tuple[str, str]:
    """Draw a confusion matrix ``[reference][verdict]``, shaded by the share of the row, which its cells show.

    Of more than ``MAX_CONFUSED`` names, those with most documents are drawn, with shares of the whole row. A line marks
    the diagonal. Returns the selected (row, column). Both are empty before a click.
    """
    totals = [sum(row) for row in matrix]
    frequencies = [total + sum(column) for total, column in zip(totals, zip(*matrix, strict=True), strict=True)]
    shown = sorted(sorted(range(len(names)), key=lambda index: -frequencies[index])[:MAX_CONFUSED])
    if len(shown) < len(names):
        st.caption(f"The {len(shown)} most frequent of {len(names)} are shown.")
    rows = []
    for row in shown:
        for column in shown:
            count = matrix[row][column]
            share = count / (totals[row] or 1)
            above = f"{count:,}\n" if len(names) <= MAX_WITH_COUNTS else ""
            words = f"{above}{format_percent(share)}" if count else ""
            cell = {"count": count, "share": share, "words": words, "marked": row == column}
            rows.append({"row": names[row], "column": names[column], **cell})
    shown_names = [names[index] for index in shown]
    return heat(rows, shown_names, key=key, title=title, x_title="verdict", y_title=reference)


def heat(
    rows: Rows, names: Sequence[str], *, key: str, title: str, x_title: str = "", y_title: str = ""
) -> tuple[str, str]:
    """Draw a square matrix and return (row, column) of the selected cell. Both are empty before a click.

    Rows are ``{row, column, count, share, words, marked}``. Cells are shaded by ``share`` (0 to 1). ``marked`` cells
    have a line around them. ``names`` are those of the rows and of the columns, in order.
    """
    picked = draw(_heat(rows, names, x_title, y_title), rows, key=key, title=title, select="cell")
    return picked.get("row", ""), picked.get("column", "")


@cached
def _heat(rows: Rows, names: Sequence[str], x_title: str, y_title: str) -> Spec:
    shades = palette.colours()
    frame = inline_data(
        {**row, "fill": palette.both_themes(partial(_fill, row["share"])), "shift": -7 if "\n" in row["words"] else 0}
        for row in rows
    )
    needed = 6.5 * (max(map(len, names), default=0) + 1) * len(names)  # pixels of upright names beside each other
    slant = -40 if len(names) <= MAX_TEXT_COLUMNS else -90
    is_narrow = f"width < {needed}"
    angle, side = alt.ExprRef(f"{is_narrow} ? {slant} : 0"), alt.ExprRef(f"{is_narrow} ? 'left' : 'center'")
    axis = alt.Axis(title=x_title or None, orient="top", labelAngle=angle, labelAlign=side, grid=False)
    x = alt.X("column:N", sort=list(names), axis=axis)
    y = alt.Y("row:N", sort=list(names), axis=alt.Axis(title=y_title or None, grid=False))
    selection = alt.selection_point(fields=["row", "column"], name="cell")
    tip = tooltip(
        row=y_title or "Of those with",
        column=x_title or "have",
        count=("Documents", ","),
        share=("Share of the row", ".1%"),
    )
    base = alt.Chart(frame).encode(x=x, y=y)
    cells = base.mark_rect(cursor="pointer", stroke=shades["bg"], strokeWidth=2).add_params(selection)
    faint = alt.condition(selection, alt.value(1.0), alt.value(0.55))
    layers = [cells.encode(color=alt.Color("fill:N", scale=None), opacity=faint, tooltip=tip)]
    if marked := [row for row in rows if row.get("marked")]:
        line = alt.Chart(inline_data(marked)).mark_rect(filled=False, stroke=shades["tx2"], strokeWidth=1.5)
        layers.append(line.encode(x=x, y=y))
    height = 18
    if len(names) <= MAX_TEXT_COLUMNS:
        shift = alt.ExprRef("datum.shift")
        words = base.mark_text(
            color=shades["tx"], fontSize=11.5, lineBreak="\n", lineHeight=14, baseline="middle", dy=shift
        )
        layers.append(words.encode(text="words:N"))
        height = 44 if any("\n" in row["words"] for row in rows) else 32
    return styled(alt.layer(*layers), height * len(names) + (90 if needed > MIN_MATRIX_WIDTH else 50))


def _fill(share: float, shades: Mapping[str, str]) -> str:
    """Return the colour of a cell, light enough for words in the text colour."""
    return palette.blend(shades["bg2"], shades["bar"], share * FULL_CELL)


def frontier(rows: Rows, *, key: str, unit: str, quality: str) -> None:
    """Draw cost (``unit`` is usd or tokens) against quality, with its interval and the efficient front as a line.

    Rows are ``{name, cost, quality, low, high, efficient, group, words}``; the ends are None without an interval. Each
    ``group`` of runs with the same documents has its own front. Rows without a cost or a quality are left out.
    """
    complete = [row for row in rows if row["cost"] is not None and row["quality"] is not None]
    if not complete:
        st.caption("No run has both a cost and a score.")
        return
    cost = "full cost per verdict, $" if unit == "usd" else "full tokens per verdict"
    draw(_frontier(complete, cost, quality), rows, key=key, title="Quality and cost")


@cached
def _frontier(rows: Rows, cost: str, quality: str) -> Spec:
    shades = palette.colours()
    frame = inline_data(rows)
    maximum = max(row["cost"] for row in rows) or 1.0
    y_domain = _axis_domain(rows, "quality", "low", "high")
    named = _short_names(rows)
    room = _names_room(named)
    x_scale = scale_beside_text(room, (0, maximum * 1.06))
    y_scale = alt.Scale(domain=y_domain, nice=False)
    x = alt.X("cost:Q", scale=x_scale, axis=alt.Axis(title=cost, tickCount=4, labelSeparation=6))
    y = alt.Y("quality:Q", scale=y_scale, axis=alt.Axis(title=quality, format=".3~f", tickCount=6))
    fill = alt.Scale(domain=[True, False], range=[shades["right"], shades["tx3"]])
    tip = tooltip(name="Run", words="Settings", quality=(quality, ".3f"), **interval_titles(".3f"), cost=(cost, ""))
    front = inline_data(sorted((row for row in rows if row["efficient"]), key=lambda row: row["cost"]))
    base = alt.Chart(frame).encode(x=x, color=alt.Color("efficient:N", scale=fill, legend=None))
    spans = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.4)
    chart = alt.layer(
        alt.Chart(front)
        .mark_line(color=shades["right"], opacity=0.5, strokeWidth=2)
        .encode(x=x, y=y, detail="group:N"),
        spans.encode(y=alt.Y("low:Q", scale=y_scale), y2="high:Q"),
        base.mark_point(filled=True, size=110, opacity=1).encode(y=y, tooltip=tip),
    )
    return _with_names(chart, named, "cost", "quality", x_scale, y_domain, room)


@cached
def scatter(rows: Rows) -> Spec:
    """Return precision against recall of models by role, with the intervals of both as lines.

    Rows are ``{name, role, title, run, precision, precision_low, precision_high, recall, recall_low, recall_high, n}``;
    the ends of an interval are None without one.
    """
    roles = list(dict.fromkeys(row["role"] for row in rows))
    x_domain, y_domain = (_axis_domain(rows, name, f"{name}_low", f"{name}_high") for name in ("recall", "precision"))
    named = _short_names([{**row, "name": f"{row['name']}, {row['title']}"} for row in rows])
    room = _names_room(named)
    x_scale = scale_beside_text(room, x_domain)
    axis: dict[str, Any] = {"tickCount": 6, "format": ".2f", "labelSeparation": 6}
    y_scale = alt.Scale(domain=y_domain, nice=False)
    fill = alt.Scale(domain=roles, range=list(map(palette.role_colour, roles)))
    tip = tooltip(
        name="Model",
        title="Role",
        run="Run",
        precision=("Macro precision", ".3f"),
        **interval_titles(".3f", "precision_"),
        recall=("Macro recall", ".3f"),
        **interval_titles(".3f", "recall_"),
        n=("Documents", ","),
    )
    base = alt.Chart(inline_data(rows)).encode(color=alt.Color("role:N", scale=fill, legend=None), tooltip=tip)
    x = alt.X("recall:Q", scale=x_scale, axis=alt.Axis(title="macro recall", **axis))
    y = alt.Y("precision:Q", scale=y_scale, axis=alt.Axis(title="macro precision", **axis))
    spans = base.mark_rule(strokeWidth=2, opacity=0.35)
    marks = alt.layer(
        spans.encode(x=alt.X("recall_low:Q", scale=x_scale), x2="recall_high:Q", y=y),
        spans.encode(x=x, y=alt.Y("precision_low:Q", scale=y_scale), y2="precision_high:Q"),
        base.mark_point(filled=True, size=110, opacity=1).encode(x=x, y=y),
    )
    return _with_names(marks, named, "recall", "precision", x_scale, y_domain, room)


def _axis_domain(rows: Rows, *names: str) -> tuple[float, float]:
    """Return the part of an axis of shares or correlations that holds these fields, with some room around them."""
    shares = [row[name] for row in rows for name in names if row[name] is not None]
    low, high = min(shares), max(shares)
    room = max(0.25 * (high - low), 0.05)
    return max(-1.0 if low < 0 else 0.0, low - room), min(1.0, high + room)


_MAX_NAMES = 0.45
"""Largest part of the width for the names beside a plot. Longer names are cut."""
_LINE = 17
"""Height of a name, in pixels."""


def _names_room(rows: Rows) -> str:
    """Return the width of the column of names beside a plot, in pixels, as a Vega expression."""
    return f"min({32 + round(6.2 * max(len(row['name']) for row in rows))}, width * {_MAX_NAMES})"


def _with_names(
    marks: Any, rows: Rows, x_field: str, y_field: str, x_scale: Any, y_domain: tuple[float, float], room: str
) -> Spec:
    """Return a chart of ``marks`` with the names of ``rows`` at the right, joined to their points by lines.

    The names of equal points share a line. Names are at the height of their points as far as they do not overlap, in
    the order of the points. This is one-sided boundary labelling (Bekos, Kaufmann, Symvonis and Wolff 2007) with
    straight leaders.
    """
    shades = palette.colours()
    height = max(190, _LINE * len(rows))
    ordered = sorted(rows, key=lambda row: (-row[y_field], -row[x_field]))
    positions = _spread_positions(
        [row[y_field] for row in ordered], y_domain, _LINE * (y_domain[1] - y_domain[0]) / height
    )
    placed = zip(ordered, positions, strict=True)
    named = alt.Chart(inline_data({**row, "place": position} for row, position in placed))
    y = alt.Y(f"{y_field}:Q", scale=alt.Scale(domain=list(y_domain), nice=False))
    places: dict[tuple[float, float], list[float]] = {}
    for row, position in zip(ordered, positions, strict=True):
        places.setdefault((row[x_field], row[y_field]), []).append(position)
    points = [
        {x_field: at[0], y_field: at[1], "first": group[0], "place": (group[0] + group[-1]) / 2, "last": group[-1]}
        for at, group in places.items()
    ]
    joined = alt.Chart(inline_data(points)).mark_rule(color=shades["line2"])
    ends = alt.value(alt.ExprRef(f"width - {room} + 12"))
    leaders = joined.encode(x=alt.X(f"{x_field}:Q", scale=x_scale), y=y, x2=ends, y2="place:Q")
    brackets = joined.encode(x=ends, y="first:Q", y2="last:Q")
    limit = alt.ExprRef(f"{room} < width * {_MAX_NAMES} ? 1000 : {room} - 20")
    names = named.mark_text(align="left", fontSize=11.5, color=shades["tx"], limit=limit).encode(
        x=alt.value(alt.ExprRef(f"width - {room} + 18")), y="place:Q", text="name:N"
    )
    return styled(alt.layer(leaders, brackets, marks, names), height + 70)


def _short_names(rows: Rows) -> list[dict[str, Any]]:
    """Return rows whose names lack the parts between commas that are in all of them. The first part of a name stays."""
    names = [row["name"] for row in rows]
    parts = [re.split(r", | (?=\()", name) for name in names]
    shared = set(parts[0]).intersection(*parts[1:]) if len(names) > 1 else set()
    short = (
        ", ".join([name_parts[0], *(part for part in name_parts[1:] if part not in shared)]) for name_parts in parts
    )
    return [{**row, "name": name.replace(", (", " (")} for row, name in zip(rows, short, strict=True)]


def _spread_positions(positions: Sequence[float], domain: tuple[float, float], gap: float) -> list[float]:
    """Return descending positions within ``domain``, at least ``gap`` apart and near to the given ones."""
    spread: list[float] = []
    for number, position in enumerate(positions):
        lowest = domain[0] + gap * (len(positions) - number - 0.5)  # leaves room for those below
        above = spread[-1] - gap if spread else domain[1] - gap / 2
        spread.append(min(above, max(position, lowest)))
    return spread
