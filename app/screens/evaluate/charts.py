"""Charts of scores, in Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.widgets import palette
from app.widgets.charts import Spec, draw, finished, kept, table
from core.formatting import format_count, format_number
from core.services.evaluation.debate_effect import DebateEffect
from core.services.evaluation.scores import EvaluationReport
from core.stats.intervals import Estimate
from core.stats.metrics import Scores

MEASURES = ("Precision", "Recall", "F1")
KEYS = ("precision", "recall", "f1")
_APART = 1.5
"""Width of a panel in units of its own 0 to 1 scale; three of them share one x axis, so that the chart can stretch."""
_NAMES = 1.12
ROW = 39
"""Height of a row in pixels."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One label (``colour`` 1 to 8) or a mean (0): precision, recall and F1, and each other role's three values."""

    name: str
    note: str
    colour: int
    scores: tuple[Estimate, ...]
    roles: Mapping[str, tuple[float | None, ...]]


def score_bars(found: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect, *, key: str) -> None:
    """Draw the scores as small multiples, with one row per label.

    The mark is the value, the light bar is the interval, and triangles are the other roles.
    """
    rows = _rows(found, other_roles(roles, debate))
    draw(_score_bars(rows, debate.titles), _numbers(rows, debate.titles), key=key)


def preload(found: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect) -> None:
    """Make the chart that ``score_bars`` will draw."""
    _score_bars(_rows(found, other_roles(roles, debate)), debate.titles)


def other_roles(roles: Mapping[str, Scores], debate: DebateEffect) -> dict[str, Scores]:
    """Return the scores of the roles other than the deciding one; empty for a run without a debate."""
    if debate.flip_table is None:
        return {}
    return {role: scores for role, scores in roles.items() if role != debate.flip_table.roles[-1]}


def _rows(found: EvaluationReport, roles: Mapping[str, Scores]) -> list[ScoreRow]:
    labels = {label.name: label.colour for label in found.run.settings.codebook.labels}
    rows = []
    for name, label in found.scores.labels.items():
        positives = label.counts.positives if label.counts else 0
        each = {role: tuple(scores.labels[name][key].value for key in KEYS) for role, scores in roles.items()}
        rows.append(ScoreRow(name, f"{positives:,} present", labels[name], tuple(label[key] for key in KEYS), each))
    scored = sum(counts.positives > 0 for counts in found.scores.counts.values())
    means = {role: tuple(scores[f"macro_{key}"].value for key in KEYS) for role, scores in roles.items()}
    macro = tuple(found.scores[f"macro_{key}"] for key in KEYS)
    return [*rows, ScoreRow("Macro", format_count(scored, "label"), 0, macro, means)]


def _numbers(rows: Sequence[ScoreRow], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "label": row.name,
            "measure": measure,
            "value": score.value,
            "low": score.interval.low if score.interval else None,
            "high": score.interval.high if score.interval else None,
            **{titles.get(role, role): three[panel] for role, three in row.roles.items()},
        }
        for row in rows
        for panel, (measure, score) in enumerate(zip(MEASURES, row.scores, strict=True))
    ]


@kept
def _score_bars(rows: Sequence[ScoreRow], titles: Mapping[str, str]) -> Spec:
    import altair as alt

    shade = palette.colours()
    bars: list[dict[str, Any]] = []
    triangles: list[dict[str, Any]] = []
    for place, row in enumerate(rows):
        for panel, (measure, score) in enumerate(zip(MEASURES, row.scores, strict=True)):
            left = panel * _APART
            interval = score.interval
            value = score.value
            low = interval.low if interval else value
            high = interval.high if interval else value
            bars.append(
                {
                    "label": row.name,
                    "measure": measure,
                    "place": place,
                    "top": place - 0.15,
                    "bottom": place + 0.15,
                    "mark_top": place - 0.21,
                    "mark_bottom": place + 0.21,
                    "left": left,
                    "low": None if low is None else left + low,
                    "high": None if high is None else left + high,
                    "at": None if value is None else left + value,
                    "value": value,
                    "from": interval.low if interval else None,
                    "to": interval.high if interval else None,
                    "words_at": left + 1.05,
                    "words": format_number(value),
                    "colour": shade[f"l{row.colour}"] if row.colour else shade["tx"],
                }
            )
            for role, three in row.roles.items():
                its = three[panel]
                if its is not None:
                    triangles.append(
                        {
                            "label": row.name,
                            "measure": measure,
                            "place": place + 0.31,
                            "at": left + its,
                            "role": titles.get(role, role),
                            "value": its,
                        }
                    )
    count = len(rows)
    # An explicit domain for both axes, so that neither the data nor Altair decides where 0 and 1 are.
    across = alt.Scale(domain=[-_NAMES, 2 * _APART + 1.32], nice=False, zero=False)
    down = alt.Scale(domain=[-1.05, count - 0.05], reverse=True, nice=False, zero=False)

    def x(field: str, kind: str = "Q") -> Any:
        return alt.X(f"{field}:{kind}", scale=across, axis=None)

    def room(indent: int) -> Any:
        """Return the width in pixels for a name before the first panel, as a Vega expression of the chart's width."""
        return alt.expr(f"width * {_NAMES / (_NAMES + 2 * _APART + 1.32):.4f} - {indent + 6}")

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", scale=down, axis=None)

    frame = table(bars)
    base = alt.Chart(frame)
    own = alt.Color("colour:N", scale=None)
    tip = [
        alt.Tooltip("label:N", title="Label"),
        alt.Tooltip("measure:N", title="Measure"),
        alt.Tooltip("value:Q", title="Value", format=".3f"),
        alt.Tooltip("from:Q", title="Interval from", format=".3f"),
        alt.Tooltip("to:Q", title="to", format=".3f"),
    ]
    ticks = table(
        [
            {
                "at": panel * _APART + part,
                "words": f"{part:g}",
                "top": -0.55,
                "bottom": count - 0.42,
                "under": count - 0.2,
            }
            for panel in range(3)
            for part in (0.0, 0.5, 1.0)
        ]
    )
    heads = table([{"at": panel * _APART, "place": -0.82, "words": name} for panel, name in enumerate(MEASURES)])
    names = [
        {
            "at": -_NAMES,
            "upper": place - 0.14,
            "lower": place + 0.24,
            "label": row.name,
            "note": row.note,
            "colour": shade[f"l{row.colour}"] if row.colour else "transparent",
            "square": row.colour > 0,
        }
        for place, row in enumerate(rows)
    ]
    squares, plain = (table([name for name in names if name["square"] is own]) for own in (True, False))
    own_and_mean = ((squares, 16), (plain, 0))
    layers = [
        alt.Chart(ticks).mark_rule(color=shade["line"]).encode(x=x("at"), y=y("top"), y2="bottom"),
        alt.Chart(ticks).mark_text(fontSize=10.5, color=shade["tx3"]).encode(x=x("at"), y=y("under"), text="words:N"),
        alt.Chart(heads)
        .mark_text(align="left", fontSize=12, fontWeight=600, color=shade["tx"])
        .encode(x=x("at"), y=y("place"), text="words:N"),
        alt.Chart(squares)
        .mark_square(size=95, opacity=1, filled=True, xOffset=5)
        .encode(x=x("at"), y=y("upper"), color=own),
        *(
            alt.Chart(named)
            .mark_text(align="left", fontSize=12.5, fontWeight=500, color=shade["tx"], dx=indent, limit=room(indent))
            .encode(x=x("at"), y=y("upper"), text="label:N", tooltip=[alt.Tooltip("label:N", title="Label")])
            for named, indent in own_and_mean
        ),
        *(
            alt.Chart(named)
            .mark_text(align="left", fontSize=10.5, color=shade["tx3"], dx=indent)
            .encode(x=x("at"), y=y("lower"), text="note:N")
            for named, indent in own_and_mean
        ),
        base.mark_rect().encode(x=x("left"), x2="low", y=y("top"), y2="bottom", color=own, tooltip=tip),
        base.mark_rect(opacity=0.38).encode(x=x("low"), x2="high", y=y("top"), y2="bottom", color=own, tooltip=tip),
        base.mark_rule(color=shade["tx"], strokeWidth=2).encode(
            x=x("at"), y=y("mark_top"), y2="mark_bottom", tooltip=tip
        ),
        base.mark_text(align="left", fontSize=12.5, fontWeight=600, color=shade["tx"]).encode(
            x=x("words_at"), y=y("place"), text="words:N"
        ),
    ]
    if triangles:
        roles = list(dict.fromkeys(role for row in rows for role in row.roles))
        layers.append(
            alt.Chart(table(triangles))
            .mark_point(shape="triangle-up", size=38, filled=True, opacity=1)
            .encode(
                x=x("at"),
                y=y("place"),
                color=alt.Color(
                    "role:N",
                    scale=alt.Scale(
                        domain=[titles.get(role, role) for role in roles],
                        range=[palette.role_colour(role, shade) for role in roles],
                    ),
                    legend=None,
                ),
                tooltip=[
                    alt.Tooltip("role:N", title="Role"),
                    alt.Tooltip("label:N", title="Label"),
                    alt.Tooltip("measure:N", title="Measure"),
                    alt.Tooltip("value:Q", title="Value", format=".3f"),
                ],
            )
        )
    return finished(
        alt.layer(*layers).resolve_scale(color="independent"),
        ROW * (count + 1),
        {"left": 2, "right": 0, "top": 0, "bottom": 2},
    )
