"""Rendering of charts: cache, common style, selection, and download as SVG and CSV."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from html import escape
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeAlias, cast

import streamlit as st

from app.widgets import palette
from core import csv_text

PADDING = {"left": 4, "right": 8, "top": 4, "bottom": 4}
ROW = 26
READ_ROWS = 200
"""Most rows of the table behind a chart."""

KEPT = 200
"""Maximum number of cached charts, over all browser sessions."""

P = ParamSpec("P")
Spec: TypeAlias = dict[str, Any]
"""Complete Vega-Lite chart with its data, in colours for both themes."""


def kept(make: Callable[P, Spec]) -> Callable[P, Spec]:
    """Cache a chart function by its arguments. Building a chart in Altair takes 0.05 to 0.2 s."""
    return st.cache_data(show_spinner=False, max_entries=KEPT)(make)


def table(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as chart data.

    A DataFrame is not used, because Altair would infer the type of its columns for each chart.
    """
    import altair as alt

    return alt.InlineData(values=[dict(row) for row in rows])


def beside(width: int, domain: Sequence[float]) -> Any:
    """Return the scale of an x axis that leaves ``width`` pixels at the right of the plot for ``texts``."""
    import altair as alt

    return alt.Scale(domain=list(domain), nice=False, range=[0, alt.ExprRef(f"width - {width}")])


def texts(base: Any, width: int, **channels: Any) -> Any:
    """Return the layer that writes the ``words`` of each row into ``width`` pixels at the right of the plot."""
    import altair as alt

    mark = base.mark_text(align="left", fontSize=11.5, color=palette.colours()["tx2"], limit=width)
    return mark.encode(x=alt.value(alt.ExprRef(f"width - {width - 8}")), text="words:N", **channels)


def text_width(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the width in pixels of the column that ``texts`` needs, by the longest text."""
    return 14 + round(6.2 * max((len(row["words"]) for row in rows), default=0))


def finished(chart: Any, height: int, padding: Mapping[str, int] | None = None) -> Spec:
    """Return a chart as a specification in the common style.

    ``height`` is in pixels. The width is that of the container.
    """
    shade = palette.colours()
    axis = {
        "labelColor": shade["tx2"], "titleColor": shade["tx3"], "gridColor": shade["line"],
        "domainColor": shade["line2"], "tickColor": shade["line2"], "labelFontSize": 11.5, "titleFontSize": 11.5,
        "titleFontWeight": 400, "labelLimit": 190,
    }  # fmt: skip
    legend = {"labelColor": shade["tx2"], "titleColor": shade["tx3"], "labelFontSize": 11.5, "symbolSize": 70}
    chart = chart.properties(height=height, background="transparent", padding=dict(padding or PADDING)).configure(
        font="Inter", view={"stroke": None}, axis=axis, legend=legend
    )
    spec = cast(Spec, chart.to_dict(validate=False))  # validated in tests only: it doubles the time
    _hide_marks(spec)
    # Only SVG supports CSS colours. Streamlit (1.67) would use a canvas from 2,000 marks on.
    return {
        **spec,
        "description": "Chart; a table of its numbers follows",
        "usermeta": {"embedOptions": {"renderer": "svg"}},
    }


def _hide_marks(part: Any) -> None:
    """Hide the marks of a specification from screen readers, which get the numbers as a table.

    Vega would describe each mark, and give marks without data a role but no name.
    """
    if isinstance(part, dict):
        if "mark" in part:
            mark = part["mark"]
            part["mark"] = {**(mark if isinstance(mark, dict) else {"type": mark}), "aria": False}
        for name, inner in part.items():
            if name not in ("data", "datasets"):
                _hide_marks(inner)
    elif isinstance(part, list):
        for inner in part:
            _hide_marks(inner)


def draw(spec: Spec, rows: Sequence[Mapping[str, Any]], *, key: str, select: str = "") -> dict[str, str]:
    """Draw a chart with its downloads and return the fields of the selected point.

    ``select`` names the selection. Empty without a selection.
    """
    dark = st.context.theme.type == "dark"
    picked: dict[str, str] = {}
    if select:
        event: Any = st.vega_lite_chart(
            None, deepcopy(spec), width="stretch", theme=None, key=key, on_select="rerun", selection_mode=[select]
        )
        points = event["selection"].get(select) or [{}]
        picked = {field: str(value) for field, value in points[0].items()}
    else:
        st.vega_lite_chart(None, deepcopy(spec), width="stretch", theme=None, key=key)
    with st.container(horizontal=True, horizontal_alignment="right", key=f"plotfoot-{key}"):
        st.html(_hidden_table(rows))
        if find_spec("vl_convert") is not None:
            st.download_button(
                "SVG", lambda: svg(spec, dark), f"{key}.svg", "image/svg+xml", key=f"{key}-svg",
                on_click="ignore",
                type="tertiary", icon=":material/image:", help="Download this chart as SVG, in the colours shown",
            )  # fmt: skip
        st.download_button(
            "CSV", lambda: csv_text.to_csv(rows), f"{key}.csv", "text/csv", key=f"{key}-csv", on_click="ignore",
            type="tertiary", icon=":material/download:", help="Download the data of this chart as CSV",
        )  # fmt: skip
    return picked


def _hidden_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of a chart as a table that only screen readers show, with at most READ_ROWS rows."""
    if not rows:
        return '<p class="moot-hidden">This chart has no numbers.</p>'
    names = list(rows[0])
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in names)
    cells = ("".join(f"<td>{escape(str(row.get(name, '')))}</td>" for name in names) for row in rows[:READ_ROWS])
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    rest = f", the first {READ_ROWS} of {len(rows):,} rows" if len(rows) > READ_ROWS else ""
    return f'<table class="moot-hidden"><caption>Numbers of the chart{rest}</caption><tr>{head}</tr>{body}</table>'


def svg(spec: Spec, dark: bool) -> str:
    """Return the chart as SVG, 640 pixels wide, in the colours of one theme."""
    import altair as alt

    out = io.StringIO()
    whole = {**spec, "width": 640, "background": palette.colours()["bg"]}
    alt.Chart.from_dict(json.loads(palette.plain(json.dumps(whole), dark))).save(out, format="svg")
    return out.getvalue()
