"""Home: start with a file or a sample, recent projects, and the next steps of the open project."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from app import context
from app.pages import open_page
from app.screens.home import sections
from app.screens.home.sections import project_list
from app.state import DataState, state
from app.widgets import file_import
from app.widgets.common import heading
from app.widgets.layout import panel
from core.errors import MootError
from core.services import bundle, guided_path, projects
from core.services.authors import files as author_files
from core.services.data import sample_projects
from core.services.data.overview import count_documents
from core.services.guided_path import Step
from core.services.session import ProjectSession

TYPES = [*file_import.TYPES, bundle.SUFFIX.removeprefix(".")]


def open_sample(key: str) -> None:
    """Open a sample project, creating it if needed."""
    _open(lambda: sample_projects.ensure_sample(context.workspace(), key))


def open_chats() -> None:
    """Open the sample chats, creating their project if needed, and go to the Authors page."""
    if _open(lambda: author_files.ensure_sample_project(context.workspace())):
        state.next_page = "authors"


def open_recent(path: Path) -> None:
    """Open a project and show it."""
    _open(lambda: projects.open_project(context.workspace(), path).path)


def make_new() -> None:
    """Create an empty project with the typed name and go to the Data page."""
    if _open(lambda: projects.create_project(context.workspace(), state.data.new_project).path):
        state.next_page = "data"


def _open(opening: Callable[[], Path]) -> bool:
    """Show a project that is opened by a function; an error becomes a message. Returns whether it worked."""
    try:
        state.select_project(opening())
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
        return False
    return True


def start_with_files(session: ProjectSession | None) -> None:
    """Draw the uploader. Files that can be read lead to the Data page, and a bundle becomes a project."""
    with st.container(key="start", gap="small"):
        st.html(
            '<div class="moot-strong">Start with your files<small>csv, tsv, xlsx, jsonl, json or parquet, '
            "or a project bundle. The files stay on this machine, and nothing is imported before you have seen a "
            "preview.</small></div>"
        )
        files = [*file_import.chosen_files("home-file", TYPES), *file_import.dropped_files()]
        if not files:
            return
        if len(files) == 1 and files[0].name.lower().endswith(bundle.SUFFIX):
            _open(lambda: projects.project_from_bundle(context.workspace(), files[0], files[0].name).path)
            state.data.clear_uploaders()
            st.rerun()
        fresh = session is None or bool(count_documents(session))  # do not add the files to a sample's documents
        read = [(file.name, file.getvalue()) for file in files]
        if not file_import.read_files(read, session, "new" if fresh else "add"):
            return
    open_page("data")


def go(step: Step) -> None:
    """Go to the page of a step; a callback cannot switch pages itself."""
    state.next_page = step.page


def main() -> None:
    """Draw the page."""
    session, workspace = context.current_project(), context.workspace()
    with st.container(key="welcome"):
        left, right = st.columns((1.62, 1), gap="large")
        with left:
            sections.headline()
            start_with_files(session)
            cards = sample_projects.sample_cards()
            if cards:
                heading("Or open a sample")
                for at in range(0, len(cards), 2):
                    for cell, card in zip(st.columns(2), cards[at : at + 2], strict=False):
                        with cell:
                            sections.sample_card(card, partial(open_sample, card.sample.key))
                sections.sample_card(author_files.sample_card(), open_chats)
        with right:
            with panel("Example debate", note="a hotel review", key="example"):
                sections.example()
            if session is not None:
                overview = guided_path.overview(session)
                with panel(
                    f"Next steps in {overview.name}", note=f"{overview.done} of {len(overview.steps)}", key="next"
                ):
                    sections.steps(overview, go)
        with st.container(horizontal=True, vertical_alignment="center", key="projects-head"):
            heading("Projects")
            st.space("stretch")
            with st.popover("New project", icon=":material/add:"), st.form("new-project", border=False):
                st.text_input("Name", key=DataState.new_project.key, placeholder="clinic-letters")
                st.form_submit_button("Create", type="primary", on_click=make_new)
        project_list(workspace, session.path if session else None, open_recent)


main()
