"""The tab Debate: contribution and cost of each step, critic, rounds, upper bound, and the groups of a panel."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import altair as alt
import streamlit as st

from app.widgets import charts, layout, palette
from app.widgets.elements import facts, segments, sentences, table
from app.widgets.labels import pick
from app.widgets.metric_tables import estimate_data, estimate_html, share_html, with_interval
from core.documents import Reference
from core.formatting import (
    MISSING,
    format_count,
    format_number,
    format_points,
    format_price,
    format_signed,
    format_tokens,
)
from core.runs import RunRow
from core.services.evaluation import coverage, panel_ablation
from core.services.evaluation.debate_effect import DebateEffect, noun
from core.services.evaluation.debate_effect import debate_effect as effect_of
from core.services.evaluation.evaluation import evaluate
from core.services.evaluation.panel_ablation import NAMES, STYLES, GroupScores, Styles
from core.services.evaluation.reference import reference_names
from core.services.project_session import ProjectSession
from core.stats.debate_rounds import Bound, Round
from core.stats.flips import FlipTable, Objections
from core.stats.intervals import Estimate, format_estimate, format_interval
from core.stats.panels import MEASURES

SERIES = {"vote": "run", "mean of the agents": "tx3", "at least one agent correct": "right", "all agree": "unres"}


def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    _groups(session, run, reference)
    result = effect_of(session, run, reference)
    unit, evaluation = noun(run), evaluate(session, run, reference)
    run_basis, debate_basis, rounds_basis = (
        evaluation.describe_basis(count(session, run, reference))
        for count in (coverage.of_run, coverage.of_debate, coverage.of_rounds)
    )
    if result.flip_table is None and not result.rounds and not result.panels:
        words = "A single agent answered. Compare this run with one that debates to see the effect of a debate."
        layout.empty("No debate in this run", words, {"Open Compare": "compare"}, key="no-debate")
        return
    if result.flip_table is None:
        st.caption("All agents answered independently, so there are no corrections or regressions.")
    left, right = st.columns([1.75, 1], gap="small")
    with left:
        if result.flip_table is not None:
            _steps(result, result.flip_table, unit, reference_names(reference).noun, debate_basis)
        _rounds(result.rounds, result.titles, rounds_basis)
        if result.critic is not None and not result.rounds:  # beside the bound it would leave the left side empty
            _critic(result.critic)
    with right:
        _bound(result.upper_bound, run_basis)
        if result.critic is not None and result.rounds:
            _critic(result.critic)
    _panels(result, rounds_basis)


def _steps(result: DebateEffect, flip_table: FlipTable, noun: str, reference: str, basis: str) -> None:
    subtitle = f"{format_count(flip_table.cells, noun)} against {reference}"
    with layout.panel("Contribution by step", subtitle, counted=basis, key="debate-steps"):
        rows = [[result.titles[flip_table.roles[0]], share_html(flip_table.shares[0]), *[""] * 7]]
        for step, share in zip(flip_table.steps, flip_table.shares[1:], strict=True):
            price = result.prices[step.role]
            gain = with_interval(format_points(step.gain.value), format_interval(step.gain.interval, "points"))
            per_label = MISSING if price.per_label is None else format_price(price.per_label)
            tokens = MISSING if price.tokens_per_label is None else format_tokens(price.tokens_per_label)
            rows.append(
                [
                    result.titles[step.role],
                    share_html(share),
                    f"{step.total.corrected:,}",
                    f"{step.total.regressed:,}",
                    format_signed(step.total.net, 0),
                    gain,
                    format_price(price.cost_usd),
                    per_label,
                    tokens,
                ]
            )
        gained = f"per {noun} gained"
        heads = ["Step", "Correct", "Corrected", "Regressed", "Net", "Gain, points", "Cost"]
        has_gain = any(result.prices[step.role].net > 0 for step in flip_table.steps)
        if has_gain:
            heads += [f"Cost {gained}", f"Tokens {gained}"]
        table(heads, [row[: len(heads)] for row in rows])
        total, notes = result.prices["whole"], []
        if any(step.gain.value == 0 and step.gain.interval is None for step in flip_table.steps):
            notes.append("A step that changed nothing has no interval: nothing shows how far off its gain may be.")
        if flip_table.note:
            notes.append(flip_table.note)
        if total.cost_usd is None and has_gain:
            notes.append(f"The price of a model is unknown, so only tokens {gained} are given.")
        elif total.net <= 0:
            notes.append(f"The debate as a whole gained no {noun}, so it has no cost per {noun} gained.")
        if notes:
            st.caption(" ".join(notes))


def _critic(critic: Objections) -> None:
    rows = [
        ("Objections", f"{critic.raised:,} of {critic.cells:,}"),
        ("Justified", _format_share(critic.precision)),
        ("Wrong claims with an objection", _format_share(critic.recall)),
        ("Followed by the verdict", _format_share(critic.followed_share)),
        ("Corrected by following it", f"{critic.followed_rightly:,}"),
        ("Errors introduced by following it", f"{critic.followed_wrongly:,}"),
    ]
    with layout.panel("Critic", "objections to the claim", key="debate-critic"):
        facts(rows)


def _bound(bound: Bound, basis: str) -> None:
    with layout.panel("Upper bound", "the best of all agents", counted=basis, key="debate-bound"):
        if bound.at_first.value is None:
            st.caption("No agent gave a list of its own on a document with a reference.")
            return
        shares = {"first step": bound.at_first, "any step": bound.ever, "verdict": bound.reached}
        rows = [
            {"name": name, **estimate_data(share), "words": _percent(share), "colour": colour}
            for (name, share), colour in zip(shares.items(), ("tx3", "tx3", "bar"), strict=True)
        ]
        charts.bars(rows, key="debate-bound-chart", title="Upper bound", unit="share correct")
        words = "The verdict is at least as good as the best choice among the first answers."
        if (bound.gap.value or 0.0) > 0:
            words = f"The best choice among the first answers would be correct on {_percent(bound.gap)} more."
        st.caption(words)


def _rounds(rounds: tuple[Round, ...], agents: Mapping[str, str], basis: str) -> None:
    if not rounds:
        return
    rows: list[dict[str, Any]] = []
    for round_ in rounds:
        for name, share in zip(SERIES, (round_.vote, round_.mean, round_.upper_bound, round_.unanimous), strict=True):
            rows.append({"step": round_.name, "series": name, **estimate_data(share)})
    with layout.panel("Rounds", "agreement and accuracy, round by round", counted=basis, key="debate-rounds"):
        charts.draw(charts.lines(rows, SERIES), rows, key="debate-rounds-chart", title="Rounds")
        table(
            ["Round", "Agent", "Accuracy", "Kept", "Corrected", "Regressed"], _agents(rounds, agents), text=("Agent",)
        )

        def agreement(round_: Round) -> str:
            pairs = [
                f"{agents.get(a, a)} and {agents.get(b, b)} agree on {_percent(share)}"
                for a, b, share in round_.consecutive
            ]
            return "; ".join([f"{_percent(round_.with_majority)} of the agents agree with the majority", *pairs])

        lines = []
        for text, group in groupby(rounds, key=agreement):
            names = [round_.name for round_ in group]
            lines.append(f"{' to '.join(dict.fromkeys((names[0], names[-1])))}: {text}.")
        sentences(*lines)


def _agents(rounds: tuple[Round, ...], titles: Mapping[str, str]) -> list[list[str]]:
    """Return the row of each agent in each round. In its first one, an agent had no answers to keep or change."""
    rows, before = [], set[str]()
    for round_ in rounds:
        for agent in round_.agents:
            name, counts = agent.agent, (agent.kept, agent.to_right, agent.to_wrong)
            changes = [f"{count:,}" if name in before else "" for count in counts]
            rows.append([round_.name, titles.get(name, name), share_html(agent.accuracy), *changes])
        before |= {agent.agent for agent in round_.agents}
    return rows


def _panels(result: DebateEffect, basis: str) -> None:
    for family, dimensions in result.panels.items():
        title = f"{family.capitalize()}s before and after"
        with layout.panel(title, "correlation and agreement", counted=basis, key=f"debate-panel-{family}"):
            rows = []
            for name, effect in dimensions.items():
                sides = (effect.before, effect.after)
                cells = [estimate_html(side[key]) for key in ("spearman", "kendall", "alpha") for side in sides]
                rows.append([name, *cells])
            heads = [f"{name} {when}" for name in ("Spearman", "Kendall", "Alpha") for when in ("before", "after")]
            table(["Dimension", *heads], rows)


def _percent(share: Estimate) -> str:
    return format_estimate(share, percent=True, digits=1)


def _format_share(share: Estimate) -> str:
    return "none" if share.value is None else _percent(share)


# -- groups of a panel

LANES = {"full": "run", "simple": "tx3"}


@st.fragment
def _groups(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw the groups of a panel that rates; nothing for other runs."""
    if panel_ablation.style_of(run) is None:
        return
    with layout.panel("Groups before and after their debate", key="styles") as head:
        with head:
            titles = {measure: NAMES[measure] for measure in MEASURES}
            measure = segments("Measure of agreement", titles, default="spearman", key="styles-measure")
        default = evaluate(session, run, reference).first_scored
        label_id = pick(run.settings.codebook, key="styles-dimension", default=default)
        result = panel_ablation.styles(session, run, label_id, reference)
        if result is None:
            return
        layout.counted(result.counted.describe(reference))
        rows = [_row(part, result, measure) for part in result.parts]
        if any(row["after"] is not None or row["before"] is not None for row in rows):
            charts.draw(
                _lanes(rows, measure),
                rows,
                key=f"styles-chart-{measure}",
                title=f"Groups before and after {NAMES[measure]}",
            )
            spans = any(row["low"] is not None for row in rows)
            interval = " with its 95% interval over documents or their groups" if spans else ""
            st.caption(f"Hollow: before the debate. Filled: after it{interval}.")
        else:
            st.caption(f"{NAMES[measure]} is undefined here: the ratings do not vary, or there are too few raters.")
        sentences(result.sentence)


def _row(part: GroupScores, result: Styles, measure: str) -> dict[str, Any]:
    before, after = part.before[measure], part.after[measure]
    gain = result.gains.get(part.group, {}).get(measure) if part.style == "full" else None
    return {
        "group": part.group,
        "style": f"{STYLES[part.style]} ({result.runs[part.style]})",
        "colour": LANES[part.style],
        **estimate_data(before, "before", "before_"),
        **estimate_data(after, "after"),
        "words": f"{format_number(before.value, 2)} → {format_estimate(after, digits=2)}",
        **estimate_data(gain, "gain", "gain_"),
    }


@charts.cached
def _lanes(rows: list[dict[str, Any]], measure: str) -> charts.Spec:
    """Return a lane for each group and style: hollow before the debate, filled with its interval after it."""
    shades = palette.colours()
    frame = charts.inline_data([{**row, "ink": shades[row["colour"]]} for row in rows])
    ends = [row[name] for row in rows for name in ("before", "after", "low") if row[name] is not None]
    low = min([0.0, *ends])
    room = charts.text_width(rows)
    x_scale = charts.scale_beside_text(room, (max(-1.0, low - 0.02) if low < 0 else 0.0, 1.0))
    ticks = [tick / 4 for tick in range(-4, 5) if tick / 4 >= low]
    names = dict.fromkeys(row["group"] for row in rows)
    styles = {row["style"]: shades[row["colour"]] for row in rows}
    x = alt.X("after:Q", scale=x_scale, axis=alt.Axis(title=NAMES[measure], values=ticks, format=".2f"))
    offset = alt.YOffset("style:N", sort=list(styles), scale=alt.Scale(domain=list(styles)))
    lane = {"y": charts.named_axis("group", names), "yOffset": offset}
    colour = charts.named_colours("style", styles, labelLimit=260, symbolOpacity=1)
    tip = charts.tooltip(
        group="Group",
        style="Style",
        before=("Before", ".3f"),
        **charts.interval_titles(".3f", "before_"),
        after=("After", ".3f"),
        **charts.interval_titles(".3f"),
    )
    base = alt.Chart(frame).encode(**lane)
    marks = base.encode(color=colour, tooltip=tip)
    after = marks.transform_filter("isValid(datum.after)").mark_point(filled=True, size=85, opacity=1)
    spans = marks.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=3, opacity=0.4)
    first = marks.transform_filter("isValid(datum.before)").mark_point(size=75, strokeWidth=1.6, opacity=1)
    chart = alt.layer(
        spans.encode(x=alt.X("low:Q", scale=x_scale), x2="high:Q"),
        first.encode(x=alt.X("before:Q", scale=x_scale)),
        after.encode(x=x),
        charts.text_layer(base, room),
    )
    return charts.styled(chart, 24 * len(rows) + 70)
