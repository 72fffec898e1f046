"""Files that were read and are not imported yet, with their preview and their import job.

The process holds them: a page reload or a closed tab loses nothing. They end with the studio.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from core.codebook import Codebook
from core.errors import MootError
from core.services.data.importing import ImportDraft, ImportPreview, preview_import, store_documents
from core.services.session import ProjectSession
from core.store.documents import Import

MAX_PENDING = 4
"""Files held at once: each is in memory with its rows."""


class ImportJob:
    """One import in its own thread, so that a rerun of the page neither stops nor repeats it.

    ``target`` returns the project, and may create it.
    """

    def __init__(self, preview: ImportPreview, target: Callable[[], ProjectSession]) -> None:
        self.preview = preview
        self.share = 0.0
        self.step = "Importing"
        self._future: Future[tuple[ProjectSession, Import]] = Future()
        threading.Thread(target=self._run, args=(target,), name="moot-import", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` and return whether the job has ended."""
        futures.wait([self._future], seconds)
        return self._future.done()

    def result(self) -> tuple[ProjectSession, Import]:
        """Return the project and the stored import, waiting for them if necessary. Raises the error of the job."""
        return self._future.result()

    def _run(self, target: Callable[[], ProjectSession]) -> None:
        try:
            session = target()
            self._future.set_result((session, store_documents(session, self.preview, self._report)))
        except Exception as error:  # raised again by result()
            self._future.set_exception(error)

    def _report(self, share: float, step: str) -> None:
        self.share, self.step = share, step


@dataclass(frozen=True, slots=True)
class _BuiltPreview:
    """A preview, or the error that prevented it, and the codebook and project state that it was built for."""

    codebook_hash: str
    stored_documents: int
    result: ImportPreview | MootError


@dataclass(frozen=True, slots=True)
class PendingImport:
    """A file that was read, as it is currently mapped, and its import job once started."""

    id: str
    draft: ImportDraft
    project: Path | None
    """The project that was open when the file was read; None without a project."""
    read_at: float
    """Unix seconds."""
    job: ImportJob | None = None
    built: _BuiltPreview | None = None


class PendingImports:
    """The pending imports of all tabs. Safe to use from several threads."""

    def __init__(self) -> None:
        self._pending: dict[str, PendingImport] = {}
        self._lock = threading.Lock()

    def add(self, draft: ImportDraft, project: Path | None) -> PendingImport:
        """Hold a file. Beyond ``MAX_PENDING`` the oldest one is dropped, unless it is being imported."""
        added = PendingImport(uuid4().hex[:12], draft, project, time.time())
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

    def preview(self, id: str, codebook: Codebook | None, session: ProjectSession | None) -> ImportPreview:
        """Return the preview of a pending import, built once until draft, codebook or project change.

        ``session`` is the project to add to, None for a new project. Raises the MootError that prevents the import,
        and KeyError once the import is gone.
        """
        with self._lock:
            pending = self._pending[id]
        codebook_hash = codebook.hash if codebook is not None else ""
        stored = session.store.documents.count() if session is not None else 0
        built = pending.built
        if built is None or (built.codebook_hash, built.stored_documents) != (codebook_hash, stored):
            try:
                result: ImportPreview | MootError = preview_import(pending.draft, codebook, session)
            except MootError as error:
                result = error
            built = _BuiltPreview(codebook_hash, stored, result)
            with self._lock:
                if (current := self._pending.get(id)) is not None and current.draft is pending.draft:
                    self._pending[id] = replace(current, built=built)
        if isinstance(built.result, MootError):
            raise built.result
        return built.result

    def update(self, id: str, draft: ImportDraft) -> None:
        """Replace the draft of a pending import. Does nothing once it is gone."""
        with self._lock:
            if id in self._pending:
                self._pending[id] = replace(self._pending[id], draft=draft, built=None)

    def set_job(self, id: str, job: ImportJob | None) -> None:
        """Set the import job; None after it failed. Does nothing once the pending import is gone."""
        with self._lock:
            if id in self._pending:
                self._pending[id] = replace(self._pending[id], job=job)

    def remove(self, id: str) -> None:
        """Remove a pending import. Does nothing once it is gone."""
        with self._lock:
            self._pending.pop(id, None)
