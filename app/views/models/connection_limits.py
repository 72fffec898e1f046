"""What a connection may be asked: requests and tokens a minute, calls at once."""

from __future__ import annotations

import streamlit as st

from app.views.rooms import line
from core.studio.models import Place
from core.studio.running import costs
from core.studio.running.costs import Limits
from core.studio.workspace import Workspace

FIELDS = (
    ("requests_per_minute", "Requests a minute"),
    ("tokens_per_minute", "Tokens a minute"),
    ("at_once", "Calls at once"),
)


def limits(workspace: Workspace, place: Place) -> None:
    """The form in a connection's popover."""
    holds = costs.limits(workspace, place.name)
    with st.form(f"limitsform-{place.name}", border=False):
        typed = {
            field: st.number_input(
                label, min_value=1, value=getattr(holds, field), step=1, placeholder="no limit",
                key=f"limit-{place.name}-{field}", width=220,
            )
            for field, label in FIELDS
        }  # fmt: skip
        if st.form_submit_button("Keep the limits", type="primary"):
            costs.set_limits(workspace, place.name, Limits(**typed))
            st.rerun()
    line(
        "Runs that begin from now on keep to them. When a server says too many, Moot asks less at once by itself.",
        "q xs",
    )


def limit_words(workspace: Workspace, place: Place) -> str:
    """The limits of a connection on one line; empty without any."""
    holds = costs.limits(workspace, place.name)
    parts = [
        f"{holds.requests_per_minute:,} requests a minute" if holds.requests_per_minute else "",
        f"{holds.tokens_per_minute:,} tokens a minute" if holds.tokens_per_minute else "",
        f"{holds.at_once} at once" if holds.at_once else "",
    ]
    return ", ".join(part for part in parts if part)
