"""Chart of precision, recall and F1 per label, in Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from app.widgets import palette
from app.widgets.charts import Spec, cached, draw, inline_data, interval_titles, named_axis, styled, tooltip
from app.widgets.metric_tables import estimate_data
from core.formatting import format_count, format_number
from core.services.evaluation.debate_effect import DebateEffect
from core.services.evaluation.evaluation import EvaluationReport
from core.stats.intervals import Estimate
from core.stats.scoring import Scores

MEASURES = ("Precision", "Recall", "F1")
KEYS = ("precision", "recall", "f1")
_TEXT = 52
"""Width of the number beside a bar, in pixels."""
ROW = 39
"""Height of a row in pixels."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One label (``colour`` 1 to 8) or a mean (0): precision, recall and F1, and each other role's three values."""

    name: str
    note: str
    colour: int
    scores: tuple[Estimate, ...]
    roles: Mapping[str, tuple[Estimate, ...]]


def draw_score_bars(evaluation: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect) -> None:
    """Draw the scores as small multiples, with one row per label.

    The mark is the value, the light bar is the interval, and triangles are the other roles.
    """
    rows = _rows(evaluation, other_roles(roles, debate))
    spec, numbers = _score_bars(rows, debate.titles), _numbers(rows, debate.titles)
    draw(spec, numbers, key="evaluate-scores", title="Scores per label")


def preload(evaluation: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect) -> None:
    """Make the chart that ``draw_score_bars`` will draw."""
    _score_bars(_rows(evaluation, other_roles(roles, debate)), debate.titles)


def other_roles(roles: Mapping[str, Scores], debate: DebateEffect) -> dict[str, Scores]:
    """Return the scores of the roles other than the deciding one; empty for a run without a debate."""
    if debate.flip_table is None:
        return {}
    return {role: scores for role, scores in roles.items() if role != debate.flip_table.roles[-1]}


def _rows(evaluation: EvaluationReport, roles: Mapping[str, Scores]) -> list[ScoreRow]:
    labels = {label.name: label.colour for label in evaluation.run.settings.codebook.labels}
    rows = []
    for name, label in evaluation.scores.labels.items():
        positives = label.counts.positives if label.counts else 0
        other_scores = {role: tuple(scores.labels[name][key] for key in KEYS) for role, scores in roles.items()}
        rows.append(
            ScoreRow(name, f"{positives:,} present", labels[name], tuple(label[key] for key in KEYS), other_scores)
        )
    scored = sum(counts.positives > 0 for counts in evaluation.scores.counts.values())
    means = {role: tuple(scores[f"macro_{key}"] for key in KEYS) for role, scores in roles.items()}
    macro = tuple(evaluation.scores[f"macro_{key}"] for key in KEYS)
    return [*rows, ScoreRow("Macro", format_count(scored, "label"), 0, macro, means)]


def _numbers(rows: Sequence[ScoreRow], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    numbers: list[dict[str, Any]] = []
    for row in rows:
        for panel, (measure, score) in enumerate(zip(MEASURES, row.scores, strict=True)):
            line = {"label": row.name, "measure": measure, **estimate_data(score)}
            for role, estimates in row.roles.items():
                title = titles.get(role, role)
                line |= estimate_data(estimates[panel], title, f"{title} ")
            numbers.append(line)
    return numbers


@cached
def _score_bars(rows: Sequence[ScoreRow], titles: Mapping[str, str]) -> Spec:
    shades = palette.colours()
    names = [f"{row.name}\n{row.note}" for row in rows]
    y = named_axis("label", names, labelExpr="split(datum.label, '\\n')").scale(domain=names)
    panels = []
    for index, measure in enumerate(MEASURES):
        bars, triangles = _panel_rows(rows, names, index, titles)
        right = f"width * {index + 1} / 3 - {_TEXT}"
        x_scale = alt.Scale(domain=[0, 1], nice=False, range=[alt.ExprRef(f"width * {index} / 3"), alt.ExprRef(right)])
        axis = alt.Axis(
            orient="top",
            title=measure,
            titleAnchor="start",
            titleColor=shades["tx"],
            titleFontSize=12,
            titleFontWeight=600,
            values=[0, 0.5, 1],
            format="~g",
            grid=True,
            domain=False,
            ticks=False,
            labelColor=shades["tx3"],
        )
        x = alt.X("from:Q", scale=x_scale, axis=axis)
        tip = tooltip(name="Label", who="Of", value=(measure, ".3f"), **interval_titles(".3f"))
        base = alt.Chart(inline_data(bars))
        fill = alt.Color("colour:N", scale=None)
        panels.append(
            alt.layer(
                base.mark_bar(size=12).encode(x=x, x2="low:Q", y=y, color=fill, tooltip=tip),
                base.mark_bar(size=12, opacity=0.38).encode(
                    x=alt.X("low:Q", scale=x_scale), x2="high:Q", y=y, color=fill, tooltip=tip
                ),
                base.mark_tick(size=17, thickness=2, color=shades["tx"]).encode(
                    x=alt.X("value:Q", scale=x_scale), y=y, tooltip=tip
                ),
                base.mark_text(align="left", fontSize=12.5, fontWeight=600, color=shades["tx"]).encode(
                    x=alt.value(alt.ExprRef(f"{right} + 7")), y=y, text="words:N"
                ),
                alt.Chart(inline_data(triangles))
                .mark_point(shape="triangle-up", size=38, filled=True, opacity=1, yOffset=12)
                .encode(x=alt.X("value:Q", scale=x_scale), y=y, color=fill, tooltip=tip),
            )
        )
    own_axes = alt.Resolve(scale=alt.ScaleResolveMap(x="independent"), axis=alt.AxisResolveMap(x="independent"))
    return styled(alt.layer(*panels, resolve=own_axes), ROW * len(rows) + 46)


def _panel_rows(
    rows: Sequence[ScoreRow], names: Sequence[str], index: int, titles: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the bars of one measure, and the triangles of the other roles."""
    shades = palette.colours()
    bars: list[dict[str, Any]] = []
    triangles: list[dict[str, Any]] = []
    for row, label in zip(rows, names, strict=True):
        score = row.scores[index]
        low, high = (score.interval.low, score.interval.high) if score.interval else (score.value, score.value)
        bars.append(
            {
                "label": label,
                "name": row.name,
                "who": "the verdict",
                "from": 0,
                "value": score.value,
                "low": low,
                "high": high,
                "words": format_number(score.value),
                "colour": shades[f"l{row.colour}"] if row.colour else shades["tx"],
            }
        )
        triangles += [
            {
                "label": label,
                "name": row.name,
                "who": titles.get(role, role),
                **estimate_data(estimates[index]),
                "colour": palette.role_colour(role),
            }
            for role, estimates in row.roles.items()
            if estimates[index].value is not None
        ]
    return bars, triangles
