"""Charts of named points: cost against quality, precision against recall."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.views import palette
from app.views.evaluate import placing
from app.views.evaluate.plots import Rows
from app.views.picture import Spec, draw, finished, kept, table

_PLOT = 200.0
"""What the axes and the legend leave of a plot's height, in pixels."""


def frontier(rows: Rows, *, key: str, cost: str, quality: str) -> None:
    """Cost against quality: ``{name, cost, quality, efficient, words}``; the efficient front is joined by a line."""
    known = [row for row in rows if row["cost"] is not None and row["quality"] is not None]
    if not known:
        st.caption("No run has both a cost and a score.")
        return
    draw(_frontier(known, cost, quality), rows, key=key)


@kept
def _frontier(known: Rows, cost: str, quality: str) -> Spec:
    import altair as alt

    shade = palette.colours()
    frame = table(known)
    most = max(row["cost"] for row in known) or 1.0
    low = min(row["quality"] for row in known)
    high = max(row["quality"] for row in known)
    room = max((high - low) * 0.25, 0.02)
    across, up = (0.0, most * 1.35), (max(0.0, low - room), min(1.0, high + room))
    x = alt.X("cost:Q", scale=alt.Scale(domain=across, nice=False), axis=alt.Axis(title=cost, tickCount=6))
    y = alt.Y(
        "quality:Q", scale=alt.Scale(domain=up, nice=False), axis=alt.Axis(title=quality, format=".3f", tickCount=6)
    )
    colour = alt.Color(
        "efficient:N",
        scale=alt.Scale(domain=[True, False], range=[shade["right"], shade["tx3"]]),
        legend=None,
    )
    front = table(sorted((row for row in known if row["efficient"]), key=lambda row: row["cost"]))
    chart = (
        alt.Chart(front).mark_line(color=shade["right"], opacity=0.5, strokeWidth=2).encode(x=x, y=y)
        + alt.Chart(frame).mark_point(filled=True, size=110, opacity=1).encode(
            x=x, y=y, color=colour,
            tooltip=[alt.Tooltip("name:N", title="Run"), alt.Tooltip("words:N", title="What"),
                     alt.Tooltip("quality:Q", title=quality, format=".3f"), alt.Tooltip("cost:Q", title=cost)],
        )
    )  # fmt: skip
    return finished(_named(chart, known, "cost", "quality", across, up), 260)


def scatter(rows: Rows, *, key: str) -> None:
    """Precision against recall of models in their seats: ``{name, seat, precision, recall, n}``."""
    draw(_scatter(rows), rows, key=key)


@kept
def _scatter(rows: Rows) -> Spec:
    import altair as alt

    shade = palette.colours()
    seats = list(dict.fromkeys(row["seat"] for row in rows))
    reach = (0.0, 1.02)
    unit = alt.Scale(domain=reach, nice=False)
    x = alt.X("recall:Q", scale=unit, axis=alt.Axis(title="recall", tickCount=6))
    y = alt.Y("precision:Q", scale=unit, axis=alt.Axis(title="precision", tickCount=6))
    base = alt.Chart(table(rows))
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            "seat:N",
            scale=alt.Scale(domain=seats, range=[palette.role_colour(seat, shade) for seat in seats]),
            legend=alt.Legend(title=None, orient="top", direction="horizontal"),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="Model"),
            alt.Tooltip("seat:N", title="Seat"),
            alt.Tooltip("precision:Q", title="Precision", format=".3f"),
            alt.Tooltip("recall:Q", title="Recall", format=".3f"),
            alt.Tooltip("n:Q", title="Cells", format=","),
        ],
    )
    if len({row["name"] for row in rows}) < 2:  # one model in all seats: its name would stand on itself
        return finished(dots, 280)
    return finished(_named(dots, rows, "recall", "precision", reach, reach), 280)


def _named(
    marks: Any, rows: Rows, across: str, up: str, x_reach: tuple[float, float], y_reach: tuple[float, float]
) -> Any:
    """``marks`` with the name of each of ``rows`` beside its point at the fields ``across`` and ``up``, none over
    another and once where points of one name stand together; a line joins a name that had to go far."""
    import altair as alt

    shade = palette.colours()
    (left, right), (low, high) = x_reach, y_reach
    points = [((row[across] - left) / (right - left), (high - row[up]) / (high - low)) for row in rows]
    chosen = placing.once(points, [row["name"] for row in rows], height=_PLOT)
    spots = placing.beside(
        [points[place] for place in chosen], [rows[place]["name"] for place in chosen], height=_PLOT,
        others=[point for place, point in enumerate(points) if place not in chosen],
    )  # fmt: skip
    named = [
        {across: row[across], up: row[up], "name": row["name"], "dx": spot.dx, "dy": spot.dy, "align": spot.align,
         "end": row[up] - spot.dy * (high - low) / _PLOT, "stem": spot.stem}
        for row, spot in zip((rows[place] for place in chosen), spots, strict=True)
    ]  # fmt: skip
    x = alt.X(f"{across}:Q", scale=alt.Scale(domain=x_reach, nice=False))
    y = alt.Y(f"{up}:Q", scale=alt.Scale(domain=y_reach, nice=False))

    def words(**look: Any) -> Any:
        spot: dict[str, Any] = {name: alt.ExprRef(f"datum.{name}") for name in ("align", "dx", "dy")}
        return alt.Chart(table(named)).mark_text(**spot, **look, fontSize=11.5).encode(x=x, y=y, text="name:N")

    stems = alt.Chart(table([one for one in named if one["stem"]]))
    return alt.layer(
        stems.mark_rule(color=shade["line2"]).encode(x=x, y=y, y2="end:Q"),
        marks,
        words(stroke=shade["bg"], strokeWidth=3, strokeJoin="round"),  # so that no line crosses the letters
        words(color=shade["tx"]),
    )
