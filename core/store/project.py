"""An open project: its file, its writer thread, and its contents by family."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from core.errors import CodebookError, ProjectError, ProjectGone, StorageFull
from core.store import bundle_tables, migrations
from core.store.annotation_sources import LatentLabels
from core.store.annotations import Annotations
from core.store.classifiers import ClassifierStore
from core.store.database import DatabaseConnection, copy_files, data_files, open_file
from core.store.document_records import DocumentRecords
from core.store.documents import Documents
from core.store.events import AuthorLog, Events, Settings
from core.store.lab import Lab
from core.store.reply_cache import Replies
from core.store.review_queue import ReviewQueue, ReviewReasons
from core.store.reviews import ReviewerAgreement, Reviews
from core.store.run_writer import BatchJobStore, RunWriter
from core.store.runs import PrecedentPools, RunCosts, Runs
from core.store.sampling_frames import SamplingFrames
from core.store.saved_versions import Codebooks, Personas, Prompts
from core.store.transcripts import Transcripts
from core.store.write_queue import Writer


class Store:
    """All contents of a project, one attribute per family, for any thread; it blocks an event loop."""

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        self.documents = Documents(connection, writer)
        self.author_log = AuthorLog(connection, writer)
        self.codebooks = Codebooks(connection, writer)
        self.runs = Runs(connection, writer)
        self.costs = RunCosts(connection)
        self.transcripts = Transcripts(connection)
        self.reviews = Reviews(connection, writer)
        self.events = Events(connection)
        self.agreement = ReviewerAgreement(connection)
        self.settings = Settings(connection, writer)
        self.document_records = DocumentRecords(connection, self.runs)
        self.dump = bundle_tables.Dump(connection)
        self.classifiers = ClassifierStore(connection, writer)
        self.review_queue = ReviewQueue(connection)
        self.personas = Personas(connection, writer)
        self.review_reasons = ReviewReasons(connection, writer, self.runs)
        self.sampling_frames = SamplingFrames(connection, writer)
        self.annotations = Annotations(connection, writer)
        self.prompts = Prompts(connection, writer)
        self.precedents = PrecedentPools(connection, writer)
        self.lab = Lab(connection, writer)
        self.latent_labels = LatentLabels(connection, writer)

    def learned_from(self, run_id: str) -> set[str]:
        """Return the documents used as examples in the run's codebook, or to train its classifier."""
        return {*self.annotations.example_documents(run_id), *self.classifiers.training_documents(run_id)}


class Project:
    """An open project file, until ``close``. Also a context manager. A missing file is created if ``create`` is set.

    ``store`` gives access to all contents; ``replies``, ``sink`` and ``jobs`` are the interfaces for the engine.
    Runs that a dead process left running become ``paused``. Opening raises ProjectLocked, StorageFull and ProjectError.
    """

    def __init__(self, path: str | os.PathLike[str], *, url: str | None = None, create: bool = True) -> None:
        self._connection = open_file(path, url=url, create=create)
        self.copy: Path | None = None
        """The copy that ``save_copy`` wrote."""
        with ExitStack() as undo:
            undo.callback(self._connection.close)
            self._writer = Writer(self._connection)
            undo.callback(self._writer.close)
            self.store = Store(self._connection, self._writer)
            self.store.runs.recover()
            self._check_contents()
            self.replies = Replies(self._connection, self._writer)
            self.sink = RunWriter(self._connection, self._writer)
            self.sink.recover()
            self.jobs = BatchJobStore(self._connection, self._writer)
            undo.pop_all()

    def _check_contents(self) -> None:
        """Raise ProjectError if the runs or the codebook, which every page reads, are not as Moot writes them."""
        try:
            self.store.runs.all()
            self.store.codebooks.latest()
        except (CodebookError, ValueError, TypeError) as error:
            raise ProjectError(
                f"{self.path} was changed by another program: its runs or its codebook cannot be read.",
                "Open another project, or restore a copy of this one.",
            ) from error

    @property
    def path(self) -> Path:
        """The absolute path of the file. Do not open, copy or hash the file while the project is open."""
        return self._connection.path

    @property
    def saved_at(self) -> float | None:
        """Time of the last commit in this process (Unix seconds), None before the first."""
        return self._writer.committed_at

    @property
    def file_problem(self) -> ProjectGone | StorageFull | None:
        """An error if nothing can be saved, else None: the file is gone, or its disk full or read-only."""
        return self._connection.file_problem() or self._connection.read_only_problem() or self._writer.refusal

    def save_copy(self) -> Path:
        """Write a copy of the whole project beside the file, or if that fails into the home folder; return its path."""
        failed: Exception | None = None
        for folder in (self.path.parent, Path.home()):
            copy = self._free_name(folder)
            try:
                bundle_tables.restore(copy, migrations.newest(), self.store.dump.tables())
            except (ProjectError, OSError) as error:
                failed = error
            else:
                self.copy = copy
                return copy
        raise ProjectError("No copy of the project could be saved.", "Free some space and try again.") from failed

    def write_refused(self) -> None:
        """Write what the full disk refused and was paid for. Raises StorageFull and ProjectError."""
        self.replies.write_unlogged()
        self._writer.retry_refused()
        self._writer.do(lambda _cursor: None)  # after all of them

    def close(self) -> None:
        """Write everything queued, checkpoint and release the file. Harmless if repeated.

        If the file is gone or its disk read-only, ``rescue`` the project and raise ProjectGone with the copy's path.
        """
        try:
            problem = self._connection.read_only_problem() if self._connection.is_open else None
            if problem is None:
                with suppress(ProjectError):
                    self.write_refused()
                self._writer.close()
                problem = self._connection.file_problem() if self._connection.is_open else None
            if problem is not None:
                raise ProjectGone(problem.message, f"Everything that was saved is in the copy {self.rescue()}.")
            self.replies.close()
        finally:
            self._connection.close()

    def rescue(self) -> Path:
        """Close the project, whose file cannot be written any more, and return a copy of everything in it.

        If the file is still in its place, the copy is made of the files and lies in the home folder, because DuckDB
        gives up a database that it cannot write to. Otherwise ``save_copy`` makes it, unless it was saved before.
        Raises ProjectError if no copy can be saved.
        """
        is_in_place = self._connection.file_problem() is None
        self._writer.close()
        copy = self.copy if is_in_place else self.copy or self.save_copy()
        self.replies.close()
        with suppress(ProjectError):
            self._connection.close()
        return copy or self._copy_files()

    def check_room(self) -> None:
        """Raise ProjectError if the home folder has no room for a copy of the files."""
        size = sum(path.stat().st_size for path in data_files(self.path))
        if shutil.disk_usage(Path.home()).free < 2 * size:
            raise ProjectError(
                f"The home folder has no room for a copy of {self.path}.", "Free some space and try again."
            )

    def _copy_files(self) -> Path:
        """Copy the files of the closed project into the home folder; return the path of the database."""
        copy = self._free_name(Path.home())
        try:
            copy_files(self.path, copy)
        except (ProjectError, StorageFull) as error:
            raise ProjectError(f"No copy of {self.path} could be saved: {error.message}", error.remedy) from error
        self.copy = copy
        return copy

    def _free_name(self, folder: Path) -> Path:
        names = (f"{self.path.stem}-recovered{number or ''}{self.path.suffix}" for number in range(100))
        return next(path for name in names if not (path := folder / name).exists())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
