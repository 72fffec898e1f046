"""Files to import: chosen in an uploader or dropped anywhere on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from app import context
from app.components import component
from app.state import DataState, SessionState, reset_widgets, state
from app.widgets.alerts import error_boxes, error_notice
from core.errors import MootError
from core.services.codebooks import codebook as codebooks
from core.services.data import gold_mapping, importing
from core.services.project_session import ProjectSession

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

_DROP = component("file_drop")


def chosen_files(name: str) -> list[UploadedFile]:
    """Draw an uploader and return the files that were chosen in it.

    It takes files of any type, because the error of the import names the type of a file and what to do.
    """
    return st.file_uploader(
        "Files", key=state.data.uploader(name), accept_multiple_files=True, label_visibility="collapsed"
    )


def dropped_files() -> list[UploadedFile]:
    """Return the files that were dropped on the page, outside an uploader. Draws nothing."""
    with st.container(key="unseen-drop"):
        _DROP(key="file-drop")
        return st.file_uploader("Dropped files", key=state.data.uploader("drop"), accept_multiple_files=True)


def names_and_contents(files: Iterable[UploadedFile]) -> list[tuple[str, bytes]]:
    """Return uploaded files as imports take them."""
    return [(file.name, file.getvalue()) for file in files]


def draft_upload(label: str, types: Sequence[str], name: str, save: Callable[[bytes, str], int | None]) -> None:
    """Draw an uploader for a file that becomes the draft.

    ``save`` gets its content and its name, and returns the version as which it saved the earlier draft, None for none.
    """
    upload = st.file_uploader(label, type=list(types), key=state.data.uploader(name))
    if upload is None:
        return
    with error_boxes():
        kept = save(upload.getvalue(), upload.name)
        state.data.clear_uploaders()
        replaced = f"The draft that it replaced was saved as v{kept}. " if kept is not None else ""
        remedy = f"{replaced}Check the new draft, then save it as a version."
        state.set_notice("ok", f"{upload.name} is now the draft", remedy)
        st.rerun()


def read_files(
    files: Sequence[importing.SourceFile], session: ProjectSession | None, destination: importing.Destination
) -> None:
    """Read files as the pending import. If they cannot be read, drop them, show the error and draw the page again."""
    codebook, former_names = importing.target_codebook(session, destination)
    bar = st.progress(0.0, "Reading")

    def progress(share: float, step: str) -> None:
        bar.progress(share, step)

    try:
        draft = importing.read_files(files, codebook, former_names=former_names, progress=progress)
    except MootError as error:
        error_notice(error)
        state.data.clear_uploaders()
        st.rerun()
    SessionState.notice.reset()  # such as the error of a file that was chosen before
    context.add_pending_import(replace(draft, destination=destination))
    state.data.clear_uploaders()


def begin_gold_mapping(session: ProjectSession) -> None:
    """Read the documents, so that Data shows the mapping of their gold columns. InputError without documents."""
    with st.spinner("Reading the documents"):
        state.data.gold_draft = gold_mapping.draft_from_project(session, codebooks.editor_codebook(session))
    reset_widgets(*DataState.GOLD_WIDGETS)
