"""Files that were read and not imported yet. The process holds them, so that a reload of the page, or a tab that is
closed, loses none; they go when the studio ends."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from core.services.data.import_job import Importing
    from core.services.data.importing import Draft

MOST = 4
"""Files that are held: each is in memory with its rows."""


@dataclass(frozen=True, slots=True)
class PendingImport:
    """A file that was read, as it is mapped now, and its import once that has begun."""

    id: str
    draft: Draft
    project: Path | None
    """The project that it was read in; None without one."""
    read_at: float
    """Unix seconds."""
    job: Importing | None = None


class PendingImports:
    """The intakes of all tabs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._intakes: dict[str, PendingImport] = {}
        self._guard = threading.Lock()

    def add(self, draft: Draft, project: Path | None) -> PendingImport:
        """Hold a file. Beyond ``MOST`` the one that was read first is let go, unless it is being imported."""
        made = PendingImport(uuid4().hex[:12], draft, project, time.time())
        with self._guard:
            self._intakes[made.id] = made
            idle = [id for id, one in self._intakes.items() if one.job is None]
            for id in idle[: max(0, len(self._intakes) - MOST)]:
                del self._intakes[id]
        return made

    def get(self, id: str) -> PendingImport | None:
        """The intake of this id; None once it was imported or dropped."""
        with self._guard:
            return self._intakes.get(id)

    def change(self, id: str, draft: Draft) -> None:
        """The file is mapped otherwise now. Nothing happens once it is gone."""
        with self._guard:
            if id in self._intakes:
                self._intakes[id] = replace(self._intakes[id], draft=draft)

    def work(self, id: str, job: Importing | None) -> None:
        """Its import has begun; with None it has ended badly. Nothing happens once it is gone."""
        with self._guard:
            if id in self._intakes:
                self._intakes[id] = replace(self._intakes[id], job=job)

    def drop(self, id: str) -> None:
        """Let it go: it was imported, or nobody wants it."""
        with self._guard:
            self._intakes.pop(id, None)

    def of(self, project: Path | None) -> tuple[PendingImport, ...]:
        """What was read in a project and waits, the latest first."""
        with self._guard:
            return tuple(one for one in reversed(self._intakes.values()) if one.project == project)
