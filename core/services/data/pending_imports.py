"""Files that were read and are not imported yet, with their preview and their import job.

The process holds them: a page reload or a closed tab loses nothing. They end with the studio.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from uuid import uuid4

from core.codebook import Codebook
from core.errors import MootError
from core.services.data.importing import ImportDraft, ImportPreview, preview_import
from core.services.jobs import Job
from core.services.session import ProjectSession
from core.store.documents import Import

MAX_PENDING = 4
"""Files held at once: each is in memory with its rows."""


class PendingImport:
    """A file that was read, as it is currently mapped, and its import job once started.

    ``project`` was open when the file was read; None without a project.
    """

    def __init__(self, draft: ImportDraft, project: Path | None) -> None:
        self.id = uuid4().hex[:12]
        self.draft = draft
        self.project = project
        self.read_at = time.time()
        self.job: Job[tuple[ProjectSession, Import]] | None = None
        self._built: tuple[tuple[ImportDraft, str, int], ImportPreview | MootError] | None = None

    def preview(self, codebook: Codebook | None, session: ProjectSession | None) -> ImportPreview:
        """Return the preview, built once until draft, codebook or project change.

        ``session`` is the project to add to, None for a new project. Raises the MootError that prevents the import.
        """
        draft, built = self.draft, self._built
        stored = session.store.documents.count() if session is not None else 0
        basis = (draft, codebook.hash if codebook is not None else "", stored)
        if built is None or built[0][0] is not draft or built[0][1:] != basis[1:]:
            try:
                result: ImportPreview | MootError = preview_import(draft, codebook, session)
            except MootError as error:
                result = error
            self._built = built = basis, result
        if isinstance(built[1], MootError):
            raise built[1]
        return built[1]


class PendingImports:
    """The pending imports of all tabs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingImport] = {}
        self._lock = threading.Lock()

    def add(self, draft: ImportDraft, project: Path | None) -> PendingImport:
        """Hold a file. Beyond ``MAX_PENDING`` the oldest one is dropped, unless it is being imported."""
        added = PendingImport(draft, project)
        with self._lock:
            self._pending[added.id] = added
            idle = [id for id, one in self._pending.items() if one.job is None]
            for id in idle[: max(0, len(self._pending) - MAX_PENDING)]:
                del self._pending[id]
        return added

    def get(self, id: str) -> PendingImport | None:
        """Return a pending import; None once it was imported or dropped."""
        with self._lock:
            return self._pending.get(id)

    def of_project(self, project: Path | None) -> tuple[PendingImport, ...]:
        """Return the pending imports that were read in a project, the latest first."""
        with self._lock:
            return tuple(one for one in reversed(self._pending.values()) if one.project == project)

    def remove(self, id: str) -> None:
        """Remove a pending import. Does nothing once it is gone."""
        with self._lock:
            self._pending.pop(id, None)
