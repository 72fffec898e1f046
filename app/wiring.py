"""The one place that knows where the running studio is. Everything else in ``app`` gets it from here."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

from starlette.concurrency import run_in_threadpool
from streamlit import config

from app.live import Access, Source
from core.studio import access as start_up
from core.studio.board import Board, DocumentText, FinishedPage, Replay


class Desk(Source, Protocol):
    """What frame and live routes need of an open project (``core.studio.desk.Desk``)."""

    @property
    def name(self) -> str:
        """What the project is called."""

    @property
    def path(self) -> Path:
        """Its file."""

    def under_way(self) -> Sequence[str]:
        """Runs that move or are queued."""

    def latest_run(self) -> str | None:
        """The run that was started last, None before the first."""

    def run_name(self, run_id: str) -> str:
        """What a run is called ("Run 14")."""

    def saved_at(self) -> float | None:
        """When the store last committed something (unix seconds)."""


class Workspace(Protocol):
    """What the frame needs of ``core.studio.workspace.Workspace``."""

    def desks(self) -> Sequence[Desk]:
        """The open projects."""

    def recent(self) -> Sequence[Path]:
        """Files of projects opened lately, the latest first."""

    def open(self, path: Path, *, create: bool = True) -> Desk:
        """Open a project. Raises a ProjectError."""


def watched(desk: Desk, run_id: str) -> str:
    """The name under which the browser asks for a run: runs of two open projects may have the same id."""
    return f"{run_id}@{_mark(desk)}"


def _mark(desk: Desk) -> str:
    return f"{crc32(str(desk.path).encode(errors='replace')):08x}"


class _OpenDesks:
    """All open projects as one source: the browser names a run (``watched``), this finds whose it is. A name without a
    project is looked for in all of them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def find(self, name: str) -> tuple[Desk | None, str]:
        """The project and the id of a run from the name that ``watched`` gives."""
        run_id, _, mark = name.partition("@")
        for desk in self._workspace.desks():
            if mark == _mark(desk) if mark else desk.board(run_id) is not None:
                return desk, run_id
        return None, run_id

    def board(self, name: str) -> Board | None:
        desk, run_id = self.find(name)
        return None if desk is None else desk.board(run_id)

    def document(self, name: str, document_id: str) -> DocumentText | None:
        desk, run_id = self.find(name)
        return None if desk is None else desk.document(run_id, document_id)

    def replay(self, name: str, document_id: str) -> Replay | None:
        desk, run_id = self.find(name)
        return None if desk is None else desk.replay(run_id, document_id)

    def finished(self, name: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        desk, run_id = self.find(name)
        if desk is None:
            return FinishedPage(0, ())
        return desk.finished(run_id, query=query, status=status, offset=offset, limit=limit)


_installed: Workspace | None = None
_access: Access | None = None
_source: tuple[Workspace, _OpenDesks] | None = None


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
    from core.studio import workspace as running

    return running.current()


def source() -> _OpenDesks | None:
    """What the live routes read from; None before the studio has started."""
    global _source
    try:
        running = workspace()
    except RuntimeError:
        return None
    if _source is None or _source[0] is not running:
        _source = (running, _OpenDesks(running))
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
    from core.studio import workspace as running

    workspace = await run_in_threadpool(running.start)
    if not workspace.desks():
        # Started by streamlit run: the launcher opens a project and says the address before it serves.
        from core.studio import home

        await run_in_threadpool(home.open_last, workspace)
        port = config.get_option("server.port")
        print(f"Moot: open http://127.0.0.1:{port}{access().entrance}", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        await run_in_threadpool(running.stop)
