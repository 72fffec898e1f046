"""Run page: set up, start, watch and control runs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import context
from app.screens.run import setup, status
from app.state import RunState, bound, state
from app.widgets import layout
from app.widgets.elements import saved
from core.formatting import format_count
from core.runs import RunRow


def main() -> None:
    """Draw the page: the setup of a new run, or the selected run."""
    session = context.require_project()
    active = set(session.active_runs())
    runs = [run for run in session.runs() if run.details.status != "archived" or run.run_id in active]
    if state.run.setup_open or not runs:
        with layout.header("Run", "new run" if runs else "first run", key="setup-header"):
            saved(state.models.plan_saved_at)
            _run_picker(runs, RunState.NEW)
            if runs:
                st.button("Back to runs", on_click=state.run.show_setup, args=(False,))
        setup.draw(session, first=not runs)
    else:
        run_id = state.run_id
        if run_id not in {run.run_id for run in runs}:
            run_id = next(iter(session.active_runs()), runs[-1].run_id)
        status.draw(session, run_id, lambda: _run_picker(runs, run_id))


def _run_picker(runs: Sequence[RunRow], shown: str) -> None:
    """Draw the select box of the project's runs, latest first."""
    if not runs:
        return
    by_id = {run.run_id: run for run in reversed(runs)}

    def select(run_id: str) -> None:
        state.run_id = run_id
        state.run.show_setup(False)

    def title(run_id: str) -> str:
        """Return the option of a run, without counts that would be out of date while the run is active."""
        if run_id == RunState.NEW:
            return "New run"
        run = by_id[run_id]
        name = run.title if run.details.name else f"{run_id}, {run.settings.protocol}"
        return f"{name}, {format_count(run.documents, 'document')}"

    layout.write_url(run=shown)
    options = [RunState.NEW, *by_id] if shown == RunState.NEW else list(by_id)
    st.selectbox(
        "Run", options, format_func=title, label_visibility="collapsed", width=250,
        **bound("run-picker", shown, select),
    )  # fmt: skip


main()
