"""How a run takes what goes wrong: documents that are too long, and servers that fall silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app.widgets.alerts import notice
from app.widgets.common import bound, line
from core.runs import BUILTIN, RunSettings
from core.services.runs.context_limits import TooLong
from core.services.runs.planning import Plan

ON_LONG = {"fail": "fails", "cut": "is cut to what fits", "skip": "is skipped, for you to label"}


def handling(plan: Plan, save: Callable[[Plan], None]) -> None:
    """The fields; nothing while only the built-in model sits, which takes any length and never falls silent."""
    if all(role_model.connection == BUILTIN for role_model in (plan.everyone, *plan.narrowed().role_models.values())):
        return

    def keep(field: str) -> None:
        value: Any = st.session_state[f"handling-{field}"]
        save(replace(plan, handling=plan.handling.model_copy(update={field: value})))

    left, right = st.columns(2, wrap=False)
    left.selectbox(
        "A document too long",
        list(ON_LONG),
        format_func=ON_LONG.__getitem__,
        key=bound("handling-on_long", plan.handling.on_long),
        on_change=keep,
        args=("on_long",),
        help="For a model's context. One that is cut keeps its beginning, and its verdict says so.",
    )
    right.number_input(
        "Patience in seconds",
        min_value=1.0,
        max_value=86_400.0,
        value=None,
        step=30.0,
        format="%.0f",
        placeholder="180",
        key=bound("handling-silence", plan.handling.silence),
        on_change=keep,
        args=("silence",),
        help="How long a server may say nothing, before its first word and in mid-stream. Large models may need long.",
    )


def long_documents(settings: RunSettings, found: Sequence[TooLong]) -> None:
    """Seats whose context the longest document may exceed."""
    if found:
        notice("warn", "Not everything may fit", "\n".join(one.sentence(settings) for one in found))


@st.dialog("What this costs is not known")
def ask_first(specs: Sequence[str], start: Callable[[], None]) -> None:
    """Ask whether to start although nobody said what these models cost; ``start`` is called on a yes."""
    names = ", ".join(specs)
    line(f"No price is known for {names}, so neither an estimate nor a budget can be kept.", "")
    line("You can type a price on the Models page, under Prices of your own.", "q")
    with st.container(horizontal=True, gap="small"):
        if st.button("Start all the same", type="primary", key="start-unpriced"):
            start()
        if st.button("Type a price", key="type-price"):
            st.switch_page("screens/models/page.py")
        if st.button("Cancel", key="cancel-unpriced", type="tertiary"):
            st.rerun()
