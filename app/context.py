"""Access to the running workspace, the project of the tab and its pending import."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from zlib import crc32

import streamlit as st
from starlette.concurrency import run_in_threadpool
from streamlit import config

from app.api.access import process_access
from app.state import DataState, reset_widgets, state
from core.errors import ProjectError
from core.services import projects
from core.services import workspace as workspaces
from core.services.project_session import ProjectSession

if TYPE_CHECKING:
    from core.services.data.importing import ImportDraft, PendingImport, PendingImports


def workspace() -> workspaces.Workspace:
    """Return the running workspace.

    Raises RuntimeError if the server has not started it yet.
    """
    return workspaces.current()


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Start the workspace with the server and stop it before the server ends."""
    os.umask(0o077)  # everything that Moot creates is for this user alone; `moot` has set it already
    started = await run_in_threadpool(workspaces.start)
    if not started.sessions():
        # Started by streamlit run: the launcher opens a project and prints the address before it serves.
        await run_in_threadpool(projects.open_last, started)
        port = config.get_option("server.port")
        print(f"Moot: open http://127.0.0.1:{port}{process_access().entrance}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        await run_in_threadpool(workspaces.stop)


def live_name(session: ProjectSession, run_id: str) -> str:
    """Return the browser's name of a run, which is unique across open projects.

    Runs of two open projects may have the same id.
    """
    return f"{run_id}@{_mark(session)}"


def find_run(name: str) -> tuple[ProjectSession | None, str]:
    """Return the open project and the run id for a name from ``live_name``; None for a project that is not open."""
    run_id, _, mark = name.partition("@")
    return next((session for session in _sessions() if _mark(session) == mark), None), run_id


def _sessions() -> Sequence[ProjectSession]:
    """Return the open projects, none before the server has started."""
    try:
        return workspace().sessions()
    except RuntimeError:
        return ()


def _mark(session: ProjectSession) -> str:
    return f"{crc32(str(session.path).encode(errors='replace')):08x}"


def current_project() -> ProjectSession | None:
    """Return the open project that the tab shows, or None."""
    wanted = state.project
    return next((session for session in _sessions() if session.path == wanted), None)


def require_project() -> ProjectSession:
    """Return the open project that the tab shows.

    Raises ProjectError if no project is open. The error is shown instead of the page.
    """
    session = current_project()
    if session is None:
        raise ProjectError("No project is open.", "Open or create one on the Home page.")
    return session


def pending_imports() -> PendingImports:
    """Return the pending imports of all tabs: files that are read but not imported."""
    from core.services.data.importing import PendingImports

    return workspace().shared(PendingImports)


def pending_import() -> PendingImport | None:
    """Return the pending import of this tab, or None.

    After a reload, this is the import that the address names.
    """
    id = state.data.pending_import
    if id is None:
        id = st.query_params.get("import_id", "")
    pending = pending_imports().get(id) if id else None
    return pending if pending is not None and pending.project == state.project else None


def select_pending_import(pending: PendingImport | None) -> None:
    """Show a pending import on the Data page. None shows no import."""
    state.data.pending_import = "" if pending is None else pending.id


def add_pending_import(draft: ImportDraft) -> None:
    """Add a pending import for a file that was just read."""
    reset_widgets(*DataState.GOLD_WIDGETS)
    select_pending_import(pending_imports().add(draft, state.project))


def remove_pending_import() -> None:
    """Remove the pending import of this tab, after it was imported or cancelled."""
    if (pending := pending_import()) is not None:
        pending_imports().remove(pending.id)
        select_pending_import(None)
