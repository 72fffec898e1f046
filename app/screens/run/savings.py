"""What a run did not have to pay for: replies from the store, prompts from servers' caches, debates left out."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.widgets.common import money
from core.runs import RunRow
from core.services.runs.savings import Adaptive, FromStore


def saved_strip(run: RunRow, store: FromStore, adaptive: Adaptive | None) -> None:
    """One line for each kind of saving; nothing where there is none."""
    lines = [line for line in (_adaptive(adaptive), _from_store(store), _cached(run)) if line]
    if lines:
        st.html("".join(f'<div class="moot-line q">{line}</div>' for line in lines))


def _from_store(store: FromStore) -> str:
    if not store.replies:
        return ""
    worth = f", worth {escape(money(store.cost_usd))}" if store.cost_usd else ""
    return (
        f"<b>{store.replies:,}</b> replies came from the store instead of being asked for again "
        f"({store.tokens:,} tokens{worth})."
    )


def _cached(run: RunRow) -> str:
    if not run.cached_tokens or not run.prompt_tokens:
        return ""
    share = run.cached_tokens / run.prompt_tokens
    return f"<b>{share:.0%}</b> of the prompt tokens were in the servers' prefix caches."


def _adaptive(left_out: Adaptive | None) -> str:
    if left_out is None or not (left_out.short + left_out.audited + left_out.full):
        return ""
    spared = f" That spared about <b>{left_out.calls_saved:,}</b> calls" if left_out.calls_saved else ""
    if spared and left_out.cost_saved_usd:
        spared += f", {escape(money(left_out.cost_saved_usd))}"
    lost = " Nothing was audited yet."
    if left_out.audited and left_out.interval is not None:
        low, high = left_out.interval.low, left_out.interval.high
        lost = (
            f" Of {left_out.audited:,} debated all the same, the debate changed <b>{left_out.changed:,}</b> "
            f"(with 95% confidence {low:.0%} to {high:.0%} of all such)."
        )
    head = f"<b>{left_out.share:.0%}</b> of the documents were decided without a debate."
    return f"{head}{spared}{'.' if spared else ''}{lost}"
