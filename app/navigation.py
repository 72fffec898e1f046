"""The script that Streamlit runs for every page: the sidebar, a notice, the page itself, and the next step."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import context, preload
from app.api import review
from app.pages import SECTIONS, open_page
from app.state import SessionState, state
from app.widgets import sidebar
from app.widgets.alerts import error_box, error_boxes, notice
from app.widgets.layout import empty_page
from core.errors import MootError
from core.services import guided_path

APP = Path(__file__).parent

st.set_page_config(
    page_title="Moot", page_icon=str(APP / "static" / "logo-icon.svg"), layout="wide", initial_sidebar_state=216
)
sidebar.styles()

pages = {
    section: [
        st.Page(
            APP / page.path,
            title=page.title,
            icon=f":material/{page.icon}:",
            default=page.name == "home",
            url_path=page.name,
        )
        for page in of_section
    ]
    for section, of_section in SECTIONS.items()
}
current = st.navigation(pages, position="hidden")
name = current.url_path or "home"
if name != "home":
    preload.load_before_pages()
review.wait_until_stored()

overview: guided_path.Overview | None = None
with st.sidebar:
    session = sidebar.project_switcher(name)
    state.enter_page(name)
    sidebar.navigation(pages, current)
    if session is not None:
        with st.container(key="sidebar-foot", gap="small"), error_boxes():
            overview = sidebar.project_status(session, name)

if (wanted := SessionState.next_page.pop()) is not None:
    open_page(wanted)
message = state.current_notice(name)
try:
    above = st.empty()  # always, so that the page below keeps its state when the notice appears or goes
    if message is not None:
        with above.container(key=f"page-notice-{state.notice_number % 2}"):
            notice(*message)
    if session is not None:
        sidebar.file_problem(session)
    if session is not None or name == "home" or context.pending_import() is not None:
        current.run()
    else:
        empty_page(
            current.title, "No project is open", "Open or create one on Home.", {"Open Home": "home"}, sign="lines"
        )
    elsewhere = name in ("home", "authors")  # Home lists the steps; authors have no part in them
    unfinished = (
        context.pending_import() is not None
        or (name == "data" and state.data.gold_draft is not None)
        or (name == "run" and state.run.setup_open)
    )
    if overview is not None and not elsewhere and not unfinished:
        sidebar.next_step(overview, name)
except MootError as error:
    error_box(error)
if state.notice == message:  # a page that reruns itself does not come this far: the notice is shown again
    state.note_notice_drawn(name)
if session is not None and name in ("home", "run", "review"):
    preload.prefetch_results(session)
preload.note_page()
