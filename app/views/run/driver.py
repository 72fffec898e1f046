"""How the asks of a run reach the models: streamed calls, or files of requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from app.views.rooms import bound
from core.runs import Engine
from core.studio.running.runs import Plan

NAMES = {
    "live": "Live, streamed",
    "batch": "In batches, within a day",
    "ray": "On a Ray cluster",
}


def driver(plan: Plan, save: Callable[[Plan], None]) -> None:
    """The box that chooses, and a folder for files that are answered by hand; each change goes to ``save`` at once."""

    def change() -> None:
        save(replace(plan, engine=Engine(name=st.session_state["run-engine"])))

    def change_folder() -> None:
        folder = st.session_state["run-batch-dir"].strip()
        save(replace(plan, engine=plan.engine.model_copy(update={"batch_dir": folder})))

    st.selectbox(
        "How to ask",
        list(NAMES),
        format_func=NAMES.__getitem__,
        key=bound("run-engine", plan.engine.name),
        on_change=change,
        help="Batches go through the provider's Batch API, which OpenAI sells at half its list price, a stage of all "
        "debates at a time. The studio may be closed meanwhile.",
    )
    if plan.engine.name == "batch":
        st.text_input(
            "Folder for files answered by hand",
            key=bound("run-batch-dir", plan.engine.batch_dir),
            on_change=change_folder,
            placeholder="none: the provider's Batch API",
            help="Requests are written there as JSONL; answer each file with vllm run-batch, say, and go on.",
        )
