"""The process-wide workspace: the engine's thread, the models, and the projects that are open."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

from core.engine.thread import EngineThread
from core.llm.connections import PRESETS, Connection, connection
from core.llm.models import ModelLibrary
from core.store.project import Project
from core.studio import knowledge, preferences
from core.studio.datasets.waiting import Waiting
from core.studio.desk import Desk


class Workspace:
    """Owns the engine and every open project from construction to ``close``."""

    def __init__(self, *, url: str | None = None) -> None:
        self.url = url
        self.engine = EngineThread()
        kept = preferences.load()
        self.models = ModelLibrary(kept.connections)
        self.models.own_limits.update(kept.limits)
        self.models.prices.own.update(kept.prices)
        knowledge.recall(self.models)
        self.waiting = Waiting()
        self._desks: dict[Path, Desk] = {}
        self._guard = threading.Lock()
        self._closed = False

    def open(self, path: Path, *, create: bool = True) -> Desk:
        """The desk of a project file, opened if it is not yet and remembered as recent. Raises ProjectError."""
        path = path.expanduser().resolve()
        with self._guard:
            desk = self._desks.get(path)
            if desk is None:
                desk = Desk(Project.open(path, url=self.url, create=create), self.engine, self.models)
                self._desks[path] = desk
        preferences.save(preferences.load().with_recent(path))
        return desk

    def desks(self) -> tuple[Desk, ...]:
        """The open projects, in the order they were opened."""
        with self._guard:
            return tuple(self._desks.values())

    def close_project(self, path: Path) -> None:
        """Close one project; its runs pause. Nothing happens when it is not open."""
        with self._guard:
            desk = self._desks.pop(path.expanduser().resolve(), None)
        if desk is not None:
            desk.close()

    def recent(self) -> tuple[Path, ...]:
        """Projects opened lately that are still there, the latest first."""
        return tuple(path for path in map(Path, preferences.load().recent) if path.is_file())

    def connections(self) -> tuple[Connection, ...]:
        """All connections: the presets and the person's own."""
        return tuple(self.models.connections.values())

    def own_connections(self) -> tuple[Connection, ...]:
        """The connections that the person added."""
        return preferences.load().connections

    def use_connection(self, name: str, url: str) -> None:
        """Add or replace a connection for this process only. UsageError for a name or address that cannot be one."""
        self.models.add(connection(name, url))

    def add_connection(self, place: Connection) -> None:
        """Add or replace a connection, and remember it."""
        preferences.save(preferences.load().with_connection(place))
        self.models.add(place)

    def remove_connection(self, name: str) -> None:
        """Forget a connection of the person's own; a preset of that name comes back."""
        preferences.save(preferences.load().without_connection(name))
        preset = next((place for place in PRESETS if place.name == name), None)
        if preset is not None:
            self.models.add(preset)
        else:
            self.models.remove(name)

    def close(self) -> None:
        """Close all projects, the HTTP session and the engine. Harmless when repeated.

        Raises what closing a project raises (StorageFull), once everything else is closed.
        """
        if self._closed:
            return
        self._closed = True
        with ExitStack() as last:
            last.callback(self.engine.stop)
            last.callback(lambda: self.engine.submit(self.models.close()).result())
            last.callback(knowledge.keep, self.models)
            for desk in self.desks():
                last.callback(self.close_project, desk.path)


_current: Workspace | None = None


def start(*, url: str | None = None) -> Workspace:
    """Start the workspace of this process, or give the one that runs."""
    global _current
    if _current is None:
        _current = Workspace(url=url)
    return _current


def current() -> Workspace:
    """The running workspace. RuntimeError when none was started: a mistake in the launcher, not of a person."""
    if _current is None:
        raise RuntimeError("no workspace was started in this process")
    return _current


def stop() -> None:
    """Close the workspace of this process."""
    global _current
    workspace, _current = _current, None
    if workspace is not None:
        workspace.close()
