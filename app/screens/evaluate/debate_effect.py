"""The tab Debate: contribution and cost of each step, critic, rounds, upper bound."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from typing import Any

import streamlit as st

from app.widgets import charts, layout
from app.widgets.elements import facts, sentences, table
from app.widgets.empty_state import empty
from core.annotations import Reference
from core.formatting import (
    MISSING,
    format_count,
    format_percent,
    format_price,
    format_signed,
    format_tokens,
)
from core.runs import RunRow
from core.services.evaluation import counted_documents
from core.services.evaluation.debate_effect import DebateEffect, noun
from core.services.evaluation.debate_effect import debate_effect as effect_of
from core.services.project_session import ProjectSession
from core.stats.debate_rounds import Bound, Round
from core.stats.intervals import Estimate, format_estimate

SERIES = {"vote": "bar", "mean of the agents": "tx3", "at least one agent correct": "right", "all agree": "unres"}


def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    result = effect_of(session, run, reference)
    unit = noun(run)
    on_run, on_debate, on_rounds = (
        count(session, run, reference).describe(reference)
        for count in (counted_documents.of_run, counted_documents.of_debate, counted_documents.of_rounds)
    )
    if result.flip_table is None and not result.rounds and not result.panels:
        _no_debate()
        return
    if result.flip_table is None:
        st.caption("All agents answered independently, so there are no corrections or regressions.")
    left, right = st.columns([1.5, 1], gap="small")
    with left:
        if result.flip_table is not None:
            _steps(result, unit, on_debate)
        _rounds(result.rounds, result.titles, on_rounds)
        if result.critic is not None and not result.rounds:  # beside the bound it would leave the left side empty
            _critic(result)
    with right:
        _bound(result.upper_bound, on_run)
        if result.critic is not None and result.rounds:
            _critic(result)
    _panels(result, on_rounds)


def _no_debate() -> None:
    empty(
        "No debate in this run",
        "A single agent answered. Compare this run with one that debates to see the effect of a debate.",
        {"Open Compare": "compare"},
        key="no-debate",
    )


def _steps(result: DebateEffect, noun: str, on: str) -> None:
    flip_table = result.flip_table
    assert flip_table is not None
    sub = f"{format_count(flip_table.cells, noun)} with a reference"
    with layout.panel("Contribution by step", sub, counted=on, key="debate-steps"):
        rows = [[result.titles[flip_table.roles[0]], format_percent(flip_table.shares[0], 1), *[""] * 6]]
        for step, share in zip(flip_table.steps, flip_table.shares[1:], strict=True):
            price = result.prices[step.role]
            rows.append(
                [
                    result.titles[step.role],
                    format_percent(share, 1),
                    f"{step.total.corrected:,}",
                    f"{step.total.regressed:,}",
                    format_signed(step.total.net, 0),
                    format_price(price.cost_usd),
                    MISSING if price.per_label is None else format_price(price.per_label),
                    MISSING if price.tokens_per_label is None else format_tokens(price.tokens_per_label),
                ]
            )
        gained = f"per {noun} gained"
        heads = [
            "Step",
            "Correct",
            "Corrected",
            "Introduced errors",
            "Net",
            "Cost",
            f"Cost {gained}",
            f"Tokens {gained}",
        ]
        table(heads, rows)
        whole = result.prices["whole"]
        if whole.cost_usd is None:
            st.caption("The price of a model is unknown, so costs are given in tokens.")
        elif whole.net <= 0:
            st.caption("The debate gained no label on balance, so there is no cost per label gained.")


def _critic(result: DebateEffect) -> None:
    critic = result.critic
    assert critic is not None
    rows = [
        ("objections", f"{critic.raised:,} of {critic.cells:,}"),
        ("justified", _share(critic.precision)),
        ("wrong claims with an objection", _share(critic.recall)),
        ("followed by the verdict", _share(critic.followed_share)),
        ("corrected by following it", f"{critic.followed_rightly:,}"),
        ("errors introduced by following it", f"{critic.followed_wrongly:,}"),
    ]
    with layout.panel("Critic", "objections to the claim", key="debate-critic"):
        facts(rows)


def _bound(bound: Bound, on: str) -> None:
    with layout.panel("Upper bound", "best score any agent reached", counted=on, key="debate-bound"):
        if bound.at_first is None or bound.reached is None or bound.ever is None:
            st.caption("No agent gave a list of its own on a document with a reference.")
            return
        rows = [
            {"name": name, "value": value, "words": format_percent(value, 1), "colour": colour}
            for name, value, colour in (
                ("an agent in the first step", bound.at_first, "tx3"),
                ("an agent in any step", bound.ever, "tx3"),
                ("the verdict", bound.reached, "bar"),
            )
        ]
        charts.bars(rows, key="debate-bound-chart", unit="share correct")
        gap = bound.gap or 0.0
        st.caption(
            f"{format_percent(gap, 1)} more would be correct if the verdict always followed the correct first answer."
            if gap > 0
            else "The verdict is at least as good as the best choice among the first answers."
        )


def _rounds(found: tuple[Round, ...], agents: Mapping[str, str], on: str) -> None:
    if not found:
        return
    rows: list[dict[str, Any]] = []
    for one in found:
        for name, value in zip(SERIES, (one.vote, one.mean, one.upper_bound, one.unanimous), strict=True):
            rows.append({"step": one.name, "series": name, "value": value})
    with layout.panel("Rounds", "agreement and accuracy, round by round", counted=on, key="debate-rounds"):
        charts.draw(charts.lines(rows, SERIES), rows, key="debate-rounds-chart")
        table = [
            {
                "round": one.name,
                "agent": agents.get(agent.agent, agent.agent),
                "accuracy": format_percent(agent.accuracy, 1),
                "kept": agent.kept,
                "corrected": agent.to_right,
                "regressed": agent.to_wrong,
            }
            for one in found
            for agent in one.agents
        ]
        st.dataframe(
            table,
            hide_index=True,
            key="debate-rounds-table",
            column_config={"accuracy": st.column_config.TextColumn(alignment="right")},
        )
        lines = []
        for text, group in groupby(found, key=partial(_agreement, agents)):
            names = [one.name for one in group]
            lines.append(f"{' to '.join(dict.fromkeys((names[0], names[-1])))}: {text}.")
        sentences(*lines)


def _agreement(agents: Mapping[str, str], one: Round) -> str:
    """Return the agreement of the agents in a round as text."""
    return f"{format_percent(one.with_majority)} of the agents agree with the majority" + "".join(
        f"; {agents.get(a, a)} and {agents.get(b, b)} agree on {format_percent(share)}"
        for a, b, share in one.consecutive
    )


def _panels(result: DebateEffect, on: str) -> None:
    for family, dimensions in result.panels.items():
        title = f"{family.capitalize()}s before and after"
        with layout.panel(title, "ratings from 0 to 1", counted=on, key=f"debate-panel-{family}"):
            rows = [
                {
                    "dimension": name,
                    "Spearman before": one.before.spearman,
                    "after": one.after.spearman,
                    "|ρ| before": one.before.absolute["spearman"],
                    "|ρ| after": one.after.absolute["spearman"],
                    "Kendall before": one.before.kendall,
                    "Kendall after": one.after.kendall,
                    "alpha before": one.alpha_before,
                    "alpha after": one.alpha_after,
                }
                for name, one in dimensions.items()
            ]
            st.dataframe(rows, hide_index=True, key=f"debate-panel-table-{family}")


def _share(found: Estimate) -> str:
    return "none" if found.value is None else format_estimate(found, percent=True)
