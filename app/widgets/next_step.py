"""The path of the project: its state in the sidebar, and the next step at the end of each page."""

from __future__ import annotations

from html import escape

import streamlit as st

from app import context
from app.pages import open_page
from app.state import state
from core.services import guided_path
from core.services.guided_path import Overview, Step
from core.services.session import ProjectSession

MOVING = ("run", "review")
"""Pages whose work goes on without a rerun of the page."""


def path_card(session: ProjectSession, page: str) -> Overview:
    """Draw the steps of the project and the next one in the sidebar, and return them."""
    overview = guided_path.overview(session)
    if page == "data" and context.pending_import() is not None:
        with st.container(key="path"):
            st.html(_html("Next: import", "", "", "Check the columns and the preview, then press Import."))
        return overview
    with st.container(key="path", gap="small"):
        st.fragment(_draw, run_every=2.0 if page in MOVING else None)(session, page, overview.next)
    return overview


def _draw(session: ProjectSession, page: str, drawn: Step | None) -> None:
    """Draw the card. If the next step has changed since the page was drawn, draw the page again."""
    overview = guided_path.overview(session)
    step = overview.next
    if (step and step.name) != (drawn and drawn.name):
        st.rerun()
    marks = "".join(f'<i class="{each.state}" title="{escape(each.title)}"></i>' for each in overview.steps)
    head = "All steps done" if step is None else f"Next: {step.action.lower()}"
    words = "Compare runs, improve definitions, or export the results."
    if step is not None:
        words = step.hint if step.page == page else step.words
    st.html(_html(head, f"{overview.done} of {len(overview.steps)}", marks, words))
    if step is not None and step.page != page:
        _button(step, step.action, "path-next", stretch=True)


def _html(head: str, count: str, marks: str, words: str) -> str:
    return (
        f'<div class="moot-path"><div><b>{escape(head)}</b><span>{count}</span></div><p>{marks}</p>'
        f"<small>{escape(words)}</small></div>"
    )


def next_step(overview: Overview, page: str) -> None:
    """Draw the button for the next step at the end of a page, unless the step is done on this page."""
    step = overview.next
    if step is not None and step.page != page:
        with st.container(horizontal=True, horizontal_alignment="right", key="page-end"):
            _button(step, f"Next: {step.action.lower()}", "next-step")


def _button(step: Step, label: str, key: str, *, stretch: bool = False) -> None:
    if st.button(
        label, type="primary", icon=":material/arrow_forward:", icon_position="right", key=key,
        width="stretch" if stretch else "content",
    ):  # fmt: skip
        state.run.show_setup(step.name == "whole")
        open_page(step.page)
