"""Files that were read and are not imported yet, in all tabs."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from pathlib import Path
from uuid import uuid4

from core.codebook import Codebook
from core.services.background_jobs import Job
from core.services.data.importing import ImportDraft, ImportPreview, preview_import
from core.services.project_session import ProjectSession
from core.store.documents import Import

MAX_PENDING = 4
"""Files held at once: each is in memory with its rows."""


class PendingImport:
    """A file that was read, as it is currently mapped, and its import job once started.

    ``project`` was open when the file was read; None without a project. ``new_project`` is the entered name of the
    project to create, empty for none.
    """

    def __init__(self, draft: ImportDraft, project: Path | None) -> None:
        self.id = uuid4().hex[:12]
        self.draft = draft
        self.project = project
        self.new_project = ""
        self.read_at = time.time()
        self.job: Job[tuple[ProjectSession, Import]] | None = None
        self._built: tuple[ImportDraft, Hashable, ImportPreview] | None = None

    def preview(self, codebook: Codebook | None, session: ProjectSession | None) -> ImportPreview:
        """Return the preview, built once until draft, codebook, project, or its documents or gold change.

        ``session`` is the project to add to, None for a new project. Raises the MootError that prevents the import.
        """
        stored = (session.path, session.store.documents.state()) if session is not None else None
        basis = (codebook.hash if codebook is not None else "", stored)
        built = self._built
        if built is None or built[0] is not self.draft or built[1] != basis:
            self._built = built = self.draft, basis, preview_import(self.draft, codebook, session)
        return built[2]


class PendingImports:
    """The pending imports of all tabs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingImport] = {}
        self._lock = threading.Lock()

    def add(self, draft: ImportDraft, project: Path | None) -> PendingImport:
        """Hold a file. Beyond ``MAX_PENDING`` an earlier one is dropped, unless all are being imported.

        The oldest file whose import has ended is dropped first, then the oldest one that is not imported.
        """
        added = PendingImport(draft, project)
        with self._lock:
            idle = [id for id, pending in self._pending.items() if pending.job is None]
            ended = [id for id, pending in self._pending.items() if (job := pending.job) and job.wait(0)]
            self._pending[added.id] = added
            for id in [*ended, *idle][: max(0, len(self._pending) - MAX_PENDING)]:
                del self._pending[id]
        return added

    def get(self, id: str) -> PendingImport | None:
        """Return a pending import; None once it was imported or dropped."""
        with self._lock:
            return self._pending.get(id)

    def of_project(self, project: Path | None) -> tuple[PendingImport, ...]:
        """Return the pending imports that were read in a project, the latest first."""
        with self._lock:
            return tuple(pending for pending in reversed(self._pending.values()) if pending.project == project)

    def remove(self, id: str) -> None:
        """Remove a pending import. Does nothing once it is gone."""
        with self._lock:
            self._pending.pop(id, None)
