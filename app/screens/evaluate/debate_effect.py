"""Does the debate help: what each step is worth and costs, the critic, the rounds, and what was there to be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from app.pages import open_page
from app.widgets import empty_state, layout, plots
from core.services.evaluation.debate_effect import DebateEffect
from core.stats.intervals import Estimate
from core.stats.rounds import Bound, Round

SERIES = {"vote": "bar", "mean of the agents": "tx3", "some agent is right": "right", "all agree": "unres"}


@dataclass(frozen=True, slots=True)
class CountedOn:
    """On how many documents each part stands, in words: all of the run, those of its steps, those of its rounds."""

    run: str
    debate: str
    rounds: str


def worth(told: DebateEffect, noun: str, agents: Mapping[str, str], on: CountedOn) -> None:
    """Draw all that there is; ``noun`` is what a cell of the ledger is, ``agents`` the roles' titles."""
    if told.flip_table is None and not told.rounds and not told.panels:
        _nobody_answered()
        return
    if told.flip_table is None:
        st.caption("All was said side by side and nobody changed a word, so no step mended or broke anything.")
    left, right = st.columns([1.5, 1], gap="small")
    with left:
        if told.flip_table is not None:
            _steps(told, noun, on.debate)
        _rounds(told.rounds, agents, on.rounds)
        if told.critic is not None and not told.rounds:  # beside the bound it would leave the left side empty
            _critic(told)
    with right:
        _bound(told.bound, noun, on.run)
        if told.critic is not None and told.rounds:
            _critic(told)
    _panels(told, on.rounds)


def _nobody_answered() -> None:
    if empty_state.empty(
        "No debate to judge",
        "One agent spoke and nobody answered. Compare this run with one that debates to see what that is worth.",
        ["Open Compare"],
        key="worth-none",
    ):
        open_page("compare")


def _steps(told: DebateEffect, noun: str, on: str) -> None:
    flip_table = told.flip_table
    assert flip_table is not None
    sub = f"{flip_table.cells:,} {noun}s with truth"
    with layout.panel("What each step is worth", sub, counted=on, key="worth-steps"):
        import pandas as pd

        rows = [{"step": told.titles[flip_table.roles[0]], "right": _percent(flip_table.shares[0], 1)}]
        for step, share in zip(flip_table.steps, flip_table.shares[1:], strict=True):
            price = told.prices[step.role]
            rows.append(
                {
                    "step": told.titles[step.role],
                    "right": _percent(share, 1),
                    "mended": f"{step.total.mended:,}",
                    "broken": f"{step.total.broken:,}",
                    "net": f"{step.total.net:+,}".replace("-", "−") if step.total.net else "0",
                    "cost": _dollars(price.cost_usd),
                    f"$ a {noun} gained": _dollars(price.per_label),
                    f"tokens a {noun} gained": "–"
                    if price.tokens_per_label is None
                    else f"{price.tokens_per_label:,.0f}",
                }
            )
        numbers = [name for name in rows[-1] if name != "step"]
        st.dataframe(
            pd.DataFrame(rows).fillna(""),
            hide_index=True,
            key="worth-steps-table",
            column_config={name: st.column_config.TextColumn(name, alignment="right") for name in numbers},
        )
        whole = told.prices["whole"]
        if whole.cost_usd is None:
            st.caption("A model without a known price took part: prices are left out, tokens stand in for them.")
        elif whole.net <= 0:
            st.caption("The debate gained nothing on these documents, so there is no price for a gain.")


def _dollars(price: float | None) -> str:
    return "–" if price is None else f"${price:.4f}" if price else "free"


def _critic(told: DebateEffect) -> None:
    critic = told.critic
    assert critic is not None
    rows = [
        ("objections", f"{critic.raised:,} of {critic.cells:,}"),
        ("justified", _share(critic.precision)),
        ("wrong claims it objected to", _share(critic.recall)),
        ("followed by the verdict", _share(critic.heard)),
        ("mended by following it", f"{critic.followed_rightly:,}"),
        ("broken by following it", f"{critic.followed_wrongly:,}"),
    ]
    with layout.panel("The critic", "where it says otherwise than the claim", key="worth-critic"):
        facts(rows)


def _bound(bound: Bound, noun: str, on: str) -> None:
    with layout.panel("What was there to be had", f"{bound.cells:,} {noun}s", counted=on, key="worth-bound"):
        if bound.at_first is None or bound.reached is None or bound.ever is None:
            st.caption("Nothing to tell: no agent gave a list of its own on a document with truth.")
            return
        rows = [
            {"name": name, "value": value, "words": f"{value:.1%}", "colour": colour}
            for name, value, colour in (
                ("some agent at first", bound.at_first, "tx3"),
                ("some agent ever", bound.ever, "tx3"),
                ("the verdict", bound.reached, "bar"),
            )
        ]
        plots.bars(rows, key="worth-bound-chart", unit="right")
        gap = bound.gap or 0.0
        st.caption(
            f"{abs(gap):.1%} more could be right if the verdict always sided with whoever was right at first."
            if gap > 0
            else "The verdict is at least as right as the best choice among what was said first."
        )


def _rounds(found: tuple[Round, ...], agents: Mapping[str, str], on: str) -> None:
    if not found:
        return
    rows: list[dict[str, Any]] = []
    for one in found:
        for name, value in zip(SERIES, (one.vote, one.mean, one.upper_bound, one.unanimous), strict=True):
            rows.append({"step": one.name, "series": name, "value": value})
    with layout.panel("Side by side", "agreement and accuracy, round by round", counted=on, key="worth-rounds"):
        plots.lines(rows, SERIES, key="worth-rounds-chart")
        import pandas as pd

        table = [
            {
                "round": one.name,
                "agent": agents.get(agent.agent, agent.agent),
                "accuracy": agent.accuracy,
                "kept": agent.kept,
                "to right": agent.to_right,
                "to wrong": agent.to_wrong,
            }
            for one in found
            for agent in one.agents
        ]
        st.dataframe(
            pd.DataFrame(table),
            hide_index=True,
            key="worth-rounds-table",
            column_config={"accuracy": st.column_config.NumberColumn(format="percent")},
        )
        said = [
            f"{one.name}: {_percent(one.with_majority)} of the agents side with the majority"
            + "".join(
                f"; {agents.get(a, a)} and {agents.get(b, b)} agree on {_percent(share)}"
                for a, b, share in one.consecutive
            )
            for one in found
        ]
        st.html(f'<div class="moot-told">{"".join(f"<span>{escape(words)}.</span>" for words in said)}</div>')


def _panels(told: DebateEffect, on: str) -> None:
    for family, dimensions in told.panels.items():
        title = f"{family.capitalize()}s before and after"
        with layout.panel(title, "ratings from 0 to 1", counted=on, key=f"worth-panel-{family}"):
            import pandas as pd

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
            st.dataframe(pd.DataFrame(rows), hide_index=True, key=f"worth-panel-table-{family}")


def facts(rows: list[tuple[str, str]]) -> None:
    """Names and values, a line each."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    st.html(f'<table class="moot-facts">{lines}</table>')


def _share(found: Estimate) -> str:
    if found.value is None:
        return "none"
    span = f" ({found.interval.low:.0%} to {found.interval.high:.0%})" if found.interval else ""
    return f"{found.value:.0%}{span}"


def _percent(share: float | None, digits: int = 0) -> str:
    return "–" if share is None else f"{share:.{digits}%}"
