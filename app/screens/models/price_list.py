"""Own model prices, and the price limit above which models are not offered."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from app.state import state, with_value
from app.widgets.common import line
from core.errors import UsageError
from core.runs import BUILTIN
from core.services import models
from core.services.models import ConnectionEntry, Price
from core.services.workspace import Workspace


def ceiling() -> float | None:
    """Draw the field for the price limit and return the limit."""

    def changed() -> None:
        models.set_price_ceiling(st.session_state["price-ceiling"])

    holds = models.price_ceiling()
    st.html('<div class="moot-line q xs">Up to $ a million out</div>', width="content")
    st.number_input(
        "Highest price in dollars for a million tokens of reply",
        min_value=0.0,
        value=None,
        step=1.0,
        format="%.2f",
        placeholder="any price",
        key=with_value("price-ceiling", holds),
        on_change=changed,
        label_visibility="collapsed",
        width=135,
        help="Offer only models up to this price, in dollars for a million tokens of reply. Models without a known "
        "price are left out, too.",
    )
    return holds


def own_prices(workspace: Workspace, places: Sequence[ConnectionEntry]) -> None:
    """Draw the user's own prices, each with a delete button, and the form that adds one."""
    for spec, price in models.own_prices(workspace).items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<div class="moot-line"><code>{escape(spec)}</code><br>{_words(price)}</div>', width="stretch")
            connection, _, model = spec.partition("/")
            if st.button(
                "", icon=":material/delete:", key=f"unprice-{spec}", type="tertiary", help=f"Forget the price of {spec}"
            ):
                models.set_price(workspace, connection, model, None)
                st.rerun()
    with st.form("add-price", border=False, clear_on_submit=True):
        name = st.selectbox(
            "Connection", [place.name for place in places if place.name != BUILTIN], key="price-connection"
        )
        model = st.text_input("Model", placeholder="its name, or * for all of the connection's", key="price-model")
        left, right = st.columns(2, wrap=False)
        fields: dict[str, Any] = {"min_value": 0.0, "value": None, "format": "%.4g", "step": 0.1}
        prompt = left.number_input("In", key="price-in", placeholder="0.40", **fields)
        reply = right.number_input("Out", key="price-out", placeholder="1.60", **fields)
        if st.form_submit_button("Keep the price", type="primary"):
            try:
                if prompt is None or reply is None:
                    raise UsageError("A price has two numbers.", "Type dollars for a million tokens, in and out.")
                models.set_price(workspace, name, model, Price(prompt=prompt, completion=reply))
            except UsageError as error:
                state.set_notice("error", error.message, error.remedy)
            else:
                state.set_notice("ok", f"{name}/{model.strip()} has a price", "Estimates and budgets count with it.")
            st.rerun()
    line("Dollars for a million tokens. Yours come before published ones.", "q xs")


def _words(price: Price) -> str:
    return f"${price.prompt:,.2f} in, ${price.completion:,.2f} out"
