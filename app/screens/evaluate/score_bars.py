"""Chart of precision, recall and F1 per label, in Altair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import altair as alt

from app.widgets import palette
from app.widgets.charts import Spec, cached, draw, inline_data, interval_titles, named_axis, styled, tooltip
from app.widgets.metric_tables import estimate_data
from core.formatting import format_count, format_number
from core.services.evaluation.debate_effect import DebateEffect
from core.services.evaluation.evaluation import EvaluationReport
from core.stats.scoring import Scores

MEASURES = {"precision": "Precision", "recall": "Recall", "f1": "F1"}
_TEXT = 52
"""Width of the number beside a bar, in pixels."""
ROW = 39
"""Height of a row in pixels."""

Rows: TypeAlias = list[dict[str, Any]]


def draw_score_bars(evaluation: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect) -> None:
    """Draw the scores of each label: the value as a mark, its interval as a light bar, other roles as triangles."""
    rows = _rows(evaluation, roles, debate)
    draw(_score_bars(rows), _numbers(rows), key="evaluate-scores", title="Scores per label")


def other_roles(roles: Mapping[str, Scores], debate: DebateEffect) -> dict[str, Scores]:
    """Return the scores of the roles other than the deciding one; empty for a run without a debate."""
    if debate.flip_table is None:
        return {}
    return {role: scores for role, scores in roles.items() if role != debate.flip_table.roles[-1]}


def _rows(evaluation: EvaluationReport, roles: Mapping[str, Scores], debate: DebateEffect) -> Rows:
    """Return the scores of each label and of the macro mean: rows of the verdict (role "") and of other roles."""
    shades, counts = palette.colours(), evaluation.scores.counts
    labels: list[tuple[str | None, str, str]] = [
        (label.name, f"{counts[label.name].positives:,} present", shades[f"l{label.colour}"])
        for label in evaluation.run.settings.codebook.labels
    ]
    scored = sum(count.positives > 0 for count in counts.values())
    labels.append((None, format_count(scored, "label"), shades["tx"]))
    return [
        {
            "label": name or "Macro",
            "axis": f"{name or 'Macro'}\n{note}",
            "measure": measure,
            "role": role,
            "who": debate.titles.get(role, role) if role else "the verdict",
            **estimate_data(scores.labels[name][key] if name else scores[f"macro_{key}"]),
            "colour": palette.role_colour(role) if role else colour,
        }
        for name, note, colour in labels
        for key, measure in MEASURES.items()
        for role, scores in {"": evaluation.scores, **other_roles(roles, debate)}.items()
    ]


def _numbers(rows: Rows) -> Rows:
    """Return the values and intervals of each label and measure in one row."""
    numbers: Rows = []
    for row in rows:
        if not row["role"]:
            numbers.append({name: row[name] for name in ("label", "measure", "value", "low", "high")})
        else:
            title = row["who"]
            numbers[-1] |= {title: row["value"], f"{title} low": row["low"], f"{title} high": row["high"]}
    return numbers


@cached
def _score_bars(rows: Rows) -> Spec:
    names = list(dict.fromkeys(row["axis"] for row in rows))
    y = named_axis("axis", names, labelExpr="split(datum.label, '\\n')").scale(domain=names)
    panels = [
        _panel([row for row in rows if row["measure"] == measure], index, measure, y)
        for index, measure in enumerate(MEASURES.values())
    ]
    own_axes = alt.Resolve(scale=alt.ScaleResolveMap(x="independent"), axis=alt.AxisResolveMap(x="independent"))
    return styled(alt.layer(*panels, resolve=own_axes), ROW * len(names) + 46)


def _panel(rows: Rows, index: int, measure: str, y: alt.Y) -> alt.LayerChart | alt.FacetChart:
    """Return the bars of one measure, in the third of the width with this index."""
    shades = palette.colours()
    bars = [
        {
            **row,
            "from": 0,
            "low": row["value"] if row["low"] is None else row["low"],
            "high": row["value"] if row["high"] is None else row["high"],
            "words": format_number(row["value"]),
        }
        for row in rows
        if not row["role"]
    ]
    triangles = [row for row in rows if row["role"] and row["value"] is not None]
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
    low, value = (alt.X(f"{name}:Q", scale=x_scale) for name in ("low", "value"))
    beside = alt.value(alt.ExprRef(f"{right} + 7"))
    tip = tooltip(label="Label", who="Of", value=(measure, ".3f"), **interval_titles(".3f"))
    base = alt.Chart(inline_data(bars))
    fill = alt.Color("colour:N", scale=None)
    return alt.layer(
        base.mark_bar(size=12).encode(x=x, x2="low:Q", y=y, color=fill, tooltip=tip),
        base.mark_bar(size=12, opacity=0.38).encode(x=low, x2="high:Q", y=y, color=fill, tooltip=tip),
        base.mark_tick(size=17, thickness=2, color=shades["tx"]).encode(x=value, y=y, tooltip=tip),
        base.mark_text(align="left", fontSize=12.5, fontWeight=600, color=shades["tx"]).encode(
            x=beside, y=y, text="words:N"
        ),
        alt.Chart(inline_data(triangles))
        .mark_point(shape="triangle-up", size=38, filled=True, opacity=1, yOffset=12)
        .encode(x=value, y=y, color=fill, tooltip=tip),
    )
