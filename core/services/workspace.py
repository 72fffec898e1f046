"""The workspace of the process: engine thread, models and open projects."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar, cast

from core.engine.event_loop import EngineThread
from core.llm import embeddings
from core.llm.connections import check_key, other_spelling, parse_connection
from core.llm.model_library import ModelLibrary
from core.services import preferences
from core.services.project_session import ProjectSession
from core.store.database import check_path as check_path
from core.store.project import Project
from core.store.project_lock import check_folder as check_folder

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Workspace:
    """Owns the engine and every open project from construction to ``close``.

    Without ``remember``, its projects are not added to the recent ones.
    """

    def __init__(self, *, url: str | None = None, remember: bool = True) -> None:
        self.url = url
        self._remember = remember
        self.engine = EngineThread()
        saved = preferences.load()
        self.models = ModelLibrary()
        for connection in saved.connections:
            if (other := other_spelling(connection, self.models.connections.values())) is None:
                self.models.add(connection)
            else:  # saved by an older Moot
                logger.warning("%s is left out, because it would get the key of %s.", connection.name, other.name)
        self.models.own_limits.update(saved.limits)
        self.models.prices.user_prices.update(saved.prices)
        default = embeddings.MINILM if embeddings.available() else ""
        self.models.embedder_spec = default if saved.vectors is None else saved.vectors
        preferences.recall_capabilities(self.models)
        self._shared: dict[tuple[type, Path | None], object] = {}
        self._sessions: dict[Path, ProjectSession] = {}
        self._reservations: dict[Path, threading.RLock] = {}
        self._guard = threading.Lock()
        self._closed = False

    def open(self, path: Path, *, create: bool = True) -> ProjectSession:
        """Open a project file, unless it is open, and add it to the recent ones. Raises ProjectError."""
        check_path(path)
        path = path.expanduser().resolve()
        with self.reserved(path) as session:
            if session is None:
                session = ProjectSession(Project(path, url=self.url, create=create), self.engine, self.models)
                with self._guard:
                    self._sessions[path] = session
            if self._remember:
                preferences.update(lambda saved: saved.with_recent(path))
            return session

    @contextmanager
    def reserved(self, path: Path) -> Iterator[ProjectSession | None]:
        """Yield the session of a project, None if it is not open. Other threads wait to open or close the project."""
        path = path.expanduser().resolve()
        with self._guard:
            reservation = self._reservations.setdefault(path, threading.RLock())
        with reservation:
            yield self._sessions.get(path)

    def shared(self, kind: type[T], path: Path | None = None) -> T:
        """Return the one instance of ``kind`` of the workspace, or of a project file, created on first use.

        It is state of a service that all tabs share, in memory only.
        """
        with self._guard:
            if (kind, path) not in self._shared:
                self._shared[kind, path] = kind()
            return cast(T, self._shared[kind, path])

    def move_shared(self, path: Path, target: Path) -> None:
        """Keep the shared state of a project whose file is now ``target``."""
        with self._guard:
            for kind, of in list(self._shared):
                if of == path:
                    self._shared[kind, target] = self._shared.pop((kind, of))

    def sessions(self) -> tuple[ProjectSession, ...]:
        """Return the open projects in the order in which they were opened."""
        with self._guard:
            return tuple(self._sessions.values())

    def close_project(self, path: Path) -> None:
        """Close a project; its runs pause. Ignored if it is not open."""
        with self.reserved(path) as session:
            if session is not None:
                try:
                    session.close()
                finally:
                    self._forget(session)

    def _forget(self, session: ProjectSession) -> None:
        with self._guard:
            self._sessions.pop(session.path, None)

    def rescue(self, session: ProjectSession) -> ProjectSession:
        """Close a project whose file cannot be written any more, and open a copy of everything in it.

        Raises ProjectError without room for a copy; the project then stays open.
        """
        with self.reserved(session.path):
            copy = session.rescue()
            self._forget(session)
        opened = self.open(copy, create=False)
        self.move_shared(session.path, opened.path)
        return opened

    def recent(self) -> tuple[Path, ...]:
        """Return the recently opened projects that still exist and are not archived, the latest first."""
        saved = preferences.load()
        return tuple(Path(path) for path in saved.recent if path not in saved.archived and Path(path).is_file())

    def use_connection(self, name: str, url: str) -> None:
        """Add or replace a connection for this process only.

        UsageError for an invalid name or address, and for a key in the environment that is another connection's.
        """
        connection = parse_connection(name, url)
        check_key(connection, [other for other in self.models.connections.values() if other.name != name])
        self.models.add(connection)

    def use_vectors(self, spec: str) -> None:
        """Use these vectors in all projects, none for an empty ``spec``, and save the choice.

        UsageError for an unknown connection, and for MiniLM if it is not installed.
        """
        embeddings.embedder(spec, self.models.connections)
        preferences.change(vectors=spec)
        self.models.embedder_spec = spec
        for session in self.sessions():
            session.trainer.schedule()

    def close(self) -> None:
        """Close all projects, the HTTP session and the engine. Safe to repeat.

        Raises the error of a project that could not be closed (StorageFull), after everything else is closed.
        """
        if self._closed:
            return
        self._closed = True
        with ExitStack() as last:
            last.callback(self.engine.stop)
            last.callback(lambda: self.engine.submit(self.models.close()).result())
            last.callback(preferences.keep_capabilities, self.models)
            for session in self.sessions():
                last.callback(self.close_project, session.path)


_current: Workspace | None = None


def start(*, url: str | None = None) -> Workspace:
    """Start the workspace of this process, or return the one that is running."""
    global _current
    if _current is None:
        _current = Workspace(url=url)
    return _current


def use(workspace: Workspace | None) -> None:
    """Make another workspace the one of this process (tests, development); the last one is not closed."""
    global _current
    _current = workspace


def current() -> Workspace:
    """Return the running workspace. RuntimeError when none was started, which is a mistake in the launcher."""
    if _current is None:
        raise RuntimeError("no workspace was started in this process")
    return _current


def stop() -> None:
    """Close the workspace of this process. Pages that are still drawn then find no open project."""
    try:
        if _current is not None:
            _current.close()
    finally:
        use(None)
