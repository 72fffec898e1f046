"""Seats by name: apply, save and delete presets."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app import state
from app.views.rooms import line
from core.errors import UsageError
from core.studio.preferences import Seats
from core.studio.running import seats
from core.studio.running.runs import Plan


def presets(plan: Plan, known: dict[str, Seats], save: Callable[[Plan], None]) -> None:
    """The popover with the saved presets and the form that saves another."""
    with st.popover("Presets", icon=":material/bookmark:", key="presets", help="Who sits where, by a name of yours"):
        if not known:
            line("None yet. A preset keeps who sits on which role and how they sample, for all your projects.", "q")
        for name, kept in known.items():
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                if st.button(name, key=f"preset-{name}", help=f"Seat everybody as in {name}", width="stretch"):
                    save(seats.with_preset(plan, kept))
                    state.say_next("ok", f"Seated as in {name}", _who(kept))
                    st.rerun()
                if st.button(
                    "", icon=":material/delete:", key=f"unpreset-{name}", help=f"Delete {name}", type="tertiary"
                ):
                    seats.delete_preset(name)
                    st.rerun()
        with st.form("save-preset", border=False, clear_on_submit=True):
            name = st.text_input("Name", placeholder="cheap, local, final, …", key="preset-name", width=260)
            if st.form_submit_button("Save these seats", type="primary"):
                try:
                    kept_as = seats.save_preset(name, plan)
                except UsageError as error:
                    state.say_next("error", error.message, error.remedy)
                else:
                    state.say_next("ok", f"Saved as {kept_as}", "It is offered in all your projects.")
                st.rerun()


def _who(kept: Seats) -> str:
    specs = dict.fromkeys([kept.everyone.spec, *(seat.spec for seat in kept.seats.values())])
    return ", ".join(specs)
