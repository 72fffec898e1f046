"""Selection of the run that a page shows."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from app.state import state
from app.widgets import layout
from core.runs import RunRow


def run_words(run: RunRow, name: str = "") -> str:
    """Return the name, protocol and size of a run, and its progress and state unless it is done."""
    ended = run.verdicts + run.unresolved + run.failed
    size = f"{run.documents:,} documents" if run.state == "done" else f"{ended:,} of {run.documents:,}, {run.state}"
    return f"{name or run.run_id}, {run.settings.protocol}, {size}"


def run_date(run: RunRow) -> str:
    """Return the time at which a run finished, or its state."""
    if run.finished_at is None:
        return run.state
    ended = time.localtime(run.finished_at)
    same_day = ended[:3] == time.localtime()[:3]
    return "finished " + time.strftime("%H:%M" if same_day else "%d %b %H:%M", ended)


def selected_run(runs: Sequence[RunRow], *, key: str) -> RunRow:
    """Return the run that ``run_picker`` with this key shows, before it is drawn. ``runs`` must not be empty."""
    by_id = {run.run_id: run for run in runs}
    chosen = st.session_state.get(key) or state.run_id
    return by_id[chosen] if chosen in by_id else runs[0]


def run_picker(runs: Sequence[RunRow], *, key: str) -> RunRow:
    """Draw a select box of the runs and return the selected run. ``runs`` must not be empty.

    The first run is selected unless the tab shows another run.
    """
    by_id = {run.run_id: run for run in runs}
    wanted = selected_run(runs, key=key).run_id
    ids = list(by_id)
    chosen = st.selectbox(
        "Run",
        ids,
        index=ids.index(wanted),
        format_func=lambda id: run_words(by_id[id]),
        label_visibility="collapsed",
        key=key,
        width=280,
    )
    if chosen != state.run_id:
        state.select_run(chosen)
    layout.write_url(run=chosen)
    return by_id[chosen]
