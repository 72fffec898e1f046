"""The one place that knows where the running studio is. Everything else in ``app`` gets it from here."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from zlib import crc32

import streamlit as st
from starlette.concurrency import run_in_threadpool
from streamlit import config

from app.api.live import Access
from app.state import DataState, state
from core.errors import ProjectError
from core.services import access as start_up
from core.services.live_run import DocumentText, FinishedPage, LiveRunState, Replay
from core.services.session import ProjectSession
from core.services.workspace import Workspace

if TYPE_CHECKING:
    from core.services.data.import_job import Importing
    from core.services.data.importing import Draft
    from core.services.data.pending_imports import PendingImport


def watched(session: ProjectSession, run_id: str) -> str:
    """The name under which the browser asks for a run: runs of two open projects may have the same id."""
    return f"{run_id}@{_mark(session)}"


def _mark(session: ProjectSession) -> str:
    return f"{crc32(str(session.path).encode(errors='replace')):08x}"


class _OpenSessions:
    """All open projects as one source: the browser names a run (``watched``), this finds whose it is. A name without a
    project is looked for in all of them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def find(self, name: str) -> tuple[ProjectSession | None, str]:
        """The project and the id of a run from the name that ``watched`` gives."""
        run_id, _, mark = name.partition("@")
        for session in self._workspace.sessions():
            if mark == _mark(session) if mark else session.live_run(run_id) is not None:
                return session, run_id
        return None, run_id

    def live_run(self, name: str) -> LiveRunState | None:
        session, run_id = self.find(name)
        return None if session is None else session.live_run(run_id)

    def document(self, name: str, document_id: str) -> DocumentText | None:
        session, run_id = self.find(name)
        return None if session is None else session.document(run_id, document_id)

    def replay(self, name: str, document_id: str) -> Replay | None:
        session, run_id = self.find(name)
        return None if session is None else session.replay(run_id, document_id)

    def finished(self, name: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        session, run_id = self.find(name)
        if session is None:
            return FinishedPage(0, ())
        return session.finished(run_id, query=query, status=status, offset=offset, limit=limit)


_installed: Workspace | None = None
_access: Access | None = None
_source: tuple[Workspace, _OpenSessions] | None = None


def install(workspace: Workspace | None, access: Access | None = None) -> None:
    """Put another workspace in place of the real one (tests, development)."""
    global _installed, _access
    _installed = workspace
    _access = access or _access


def workspace() -> Workspace:
    """The running workspace. RuntimeError before the server has started it."""
    if _installed is not None:
        return _installed
    # Imported late: it brings the engine, the store and the models, and a test of a screen needs none of them.
    from core.services import workspace as running

    return running.current()


def source() -> _OpenSessions | None:
    """What the live routes read from; None before the studio has started."""
    global _source
    try:
        running = workspace()
    except RuntimeError:
        return None
    if _source is None or _source[0] is not running:
        _source = (running, _OpenSessions(running))
    return _source[1]


def find(name: str) -> tuple[Any, str]:
    """The open project and the id of a run, from the name that ``watched`` gives; None for the project when there is
    none."""
    known = source()
    return (None, name) if known is None else known.find(name)


def access() -> Access:
    """Who may use the own routes: whoever has this process's token."""
    global _access
    if _access is None:
        _access = Access(start_up.token())
    return _access


@asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Start the studio with the server and stop it before the server ends."""
    if _installed is not None:
        yield
        return
    from core.services import workspace as running

    workspace = await run_in_threadpool(running.start)
    if not workspace.sessions():
        # Started by streamlit run: the launcher opens a project and says the address before it serves.
        from core.services import projects

        await run_in_threadpool(projects.open_last, workspace)
        port = config.get_option("server.port")
        print(f"Moot: open http://127.0.0.1:{port}{access().entrance}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        await run_in_threadpool(running.stop)


def current_project() -> ProjectSession | None:
    """The open project on the switcher; None while there is none."""
    try:
        sessions = workspace().sessions()
    except RuntimeError:
        return None
    wanted = state.project
    return next((session for session in sessions if session.path == wanted), None)


def require_project() -> ProjectSession:
    """The open project on the switcher. ProjectError, shown in place of the screen, while there is none."""
    session = current_project()
    if session is None:
        raise ProjectError("No project is open.", "Open or make one on Home.")
    return session


def pending_import() -> PendingImport | None:
    """Return the import that this tab prepares (after a reload the one that the address names), None without one."""
    id = state.data.pending_import
    if id is None:
        id = st.query_params.get("intake", "")
    found = workspace().waiting.get(id) if id else None
    return found if found is not None and found.project == state.project else None


def select_pending_import(pending: PendingImport | None) -> None:
    """Show a pending import on the Data page, or none."""
    DataState.preview.reset()
    state.data.pending_import = "" if pending is None else pending.id


def add_pending_import(draft: Draft) -> None:
    """Prepare the import of a file that was just read."""
    select_pending_import(workspace().waiting.add(draft, state.project))


def update_pending_import(draft: Draft | None) -> None:
    """Store the settings of the pending import; None removes it."""
    waiting, pending = workspace().waiting, pending_import()
    if pending is not None and draft is not None:
        waiting.change(pending.id, draft)
    elif pending is not None:
        waiting.drop(pending.id)
        select_pending_import(None)


def set_import_job(job: Importing | None) -> None:
    """Note the running import of the pending file; None after it failed."""
    pending = pending_import()
    if pending is not None:
        workspace().waiting.work(pending.id, job)
