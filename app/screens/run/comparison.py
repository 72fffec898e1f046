"""The comparison that is being put together: its members, what they cost, and the buttons that start them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st

from app.widgets.common import heading, line, money
from core.debate import protocols
from core.services.runs.comparison import Comparison, Member


def comparison(shown: Comparison, few: int, take_out: Callable[[int], None], clear: Callable[[], None]) -> int | None:
    """Draw the members; the number of documents of the button that was pressed, else None."""
    heading(f"Comparison of {len(shown.members)}" if len(shown.members) > 1 else "Comparison")
    for place, member in enumerate(shown.members):
        words, cost, button = st.columns((5, 2, 0.8), vertical_alignment="center", wrap=False)
        words.html(_words(member))
        cost.html(f'<div class="moot-line num">{escape(_cost(member))}</div>')
        button.button(
            "", icon=":material/close:", key=f"out-{place}", help=f"Take {member.title} out", on_click=take_out,
            args=(place,), type="tertiary",
        )  # fmt: skip
    if len(shown.members) < 2:
        line("Change the protocol, a parameter or a seat and add it, too. Two or more run on the same documents.", "q")
        return None
    shared = f", about {shown.shared:,} of them asked alike and paid once" if shown.shared else ""
    line(f"All on {shown.documents:,} documents: at most {shown.calls:,} calls{shared}; {money(shown.cost_usd)}.", "q")
    pressed = None
    with st.container(horizontal=True, gap="small"):
        ready = shown.ready
        if few < shown.documents and st.button(
            f"Compare on {few:,}", key="compare-few", type="primary", disabled=not ready
        ):
            pressed = few
        if st.button(f"Compare on all {shown.documents:,}", key="compare-all", disabled=not ready):
            pressed = shown.documents
        st.button("Clear", key="compare-clear", on_click=clear, type="tertiary")
    return pressed


def _words(member: Member) -> str:
    plan = member.plan
    if member.trouble:
        return f'<div class="moot-line bad">{escape(member.title)}: {escape(member.trouble)}</div>'
    chosen = [f"{name} {value}" for name, value in plan.params.items() if name != "script"]
    role_models = (
        list(dict.fromkeys(role_model.spec for role_model in member.settings.role_models.values()))
        if member.settings
        else []
    )
    times = [f"{plan.iterations} times"] if plan.iterations > 1 else []
    details = ", ".join([*chosen, *times, " and ".join(role_models)])
    return f'<div class="moot-line"><b>{escape(member.title)}</b> <span class="q">{escape(details)}</span></div>'


def _cost(member: Member) -> str:
    if member.estimate is None or member.settings is None:
        return ""
    asks = protocols.of(member.settings).total(member.settings.params, member.settings.codebook)
    return f"{asks} a document, {money(member.estimate.cost_usd)}"
