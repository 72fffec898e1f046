"""The next step of the project, as a button in the header of a page."""

from __future__ import annotations

import streamlit as st

from app.pages import open_page
from core.services import projects
from core.services.projects import StepPage
from core.services.session import ProjectSession

ACTIONS: dict[StepPage, str] = {
    "data": "import texts", "codebook": "define labels", "models": "choose models", "run": "start a run",
    "review": "review verdicts",
}  # fmt: skip


def next_step(session: ProjectSession, page: StepPage) -> None:
    """Draw the button that opens the first step that is not done, unless this page is that step."""
    step = next((step for step in projects.overview(session).steps if step.state == "now"), None)
    if step is not None and step.page != page:
        label = f"Next: {ACTIONS[step.page]}"
        if st.button(label, type="primary", icon=":material/arrow_forward:", key="next-step"):
            open_page(step.page)
