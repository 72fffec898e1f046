"""An open project: its file, its writer thread, and its contents."""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from core.errors import ProjectError, ProjectGone
from core.store import dump
from core.store.connection import open_file
from core.store.jobs import BatchJobStore
from core.store.replies import Replies
from core.store.run_writer import RunWriter
from core.store.store import Store
from core.store.writer import Writer


class Project:
    """An open project file, from ``open`` to ``close``. Also a context manager.

    ``store`` gives access to all contents; ``turn_store``, ``sink`` and ``jobs`` are the interfaces for the engine.
    """

    def __init__(self, path: str | os.PathLike[str], *, url: str | None = None, create: bool = True) -> None:
        self._connection = open_file(path, url=url, create=create)
        self._writer: Writer | None = None
        self._replies: Replies | None = None
        self.copy: Path | None = None
        """The copy that ``save_copy`` wrote."""
        try:
            self._writer = Writer(self._connection)
            self.store = Store(self._connection, self._writer)
            self.store.runs.recover()
            self.turn_store = self._replies = Replies(self._connection, self._writer)
            self.sink = RunWriter(self._connection, self._writer)
            self.jobs = BatchJobStore(self._connection, self._writer)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, url: str | None = None, create: bool = True) -> Self:
        """Open the project at ``path``. A missing file is created, or refused if ``create`` is False.

        Runs that a dead process left running become ``paused``. Raises ProjectLocked, StorageFull and ProjectError.
        """
        return cls(path, url=url, create=create)

    @property
    def path(self) -> Path:
        """The absolute path of the file. Do not open, copy or hash the file while the project is open."""
        return self._connection.path

    @property
    def saved_at(self) -> float | None:
        """Time of the last commit in this process (Unix seconds), None before the first."""
        return self._writer.committed_at if self._writer is not None else None

    def note_url(self, url: str | None) -> None:
        """Record the address of the project, for a second process that finds it locked."""
        self._connection.note_url(url)

    @property
    def file_problem(self) -> ProjectGone | None:
        """An error if the file was deleted, moved or replaced since it was opened, else None."""
        return self._connection.file_problem()

    def save_copy(self) -> Path:
        """Write a copy of the whole project beside the file, or if that fails into the home folder; return its path."""
        failed: Exception | None = None
        for folder in (self.path.parent, Path.home()):
            copy = self._free_name(folder)
            try:
                dump.restore(copy, self.store.dump.schema, self.store.dump.each_table())
            except (ProjectError, OSError) as error:
                failed = error
            else:
                self.copy = copy
                return copy
        raise ProjectError("No copy of the project could be saved.", "Free some space and try again.") from failed

    def close(self) -> None:
        """Write everything queued, checkpoint and release the file. Harmless if repeated.

        If the file was deleted, moved or replaced, save a copy of the project, unless it was saved before, and raise
        ProjectGone with its path. If it became read-only, the copy is made of the files, replies on disk included,
        because DuckDB gives up a database that it cannot write to.
        """
        read_only = self._connection.is_open and self._connection.is_read_only
        gone = ProjectGone(f"{self.path} became read-only while it was open.") if read_only else None
        unwritable = suppress(ProjectError) if read_only else nullcontext()
        try:
            with unwritable:
                if self._writer is not None:
                    self._writer.close()
                    gone = gone or (self.file_problem if self._connection.is_open else None)
            if gone is not None and not read_only:
                copy = self.copy or self.save_copy()
            if self._replies is not None:
                self._replies.close()
        finally:
            with unwritable:
                self._connection.close()
        if read_only:
            try:
                copy = self._copy_files()
            except OSError as error:
                raise ProjectGone(f"{self.path} became read-only.", f"No copy could be saved: {error}.") from error
        if gone is not None:
            raise ProjectGone(gone.message, f"Everything that was saved is in the copy {copy}.")

    def _copy_files(self) -> Path:
        """Copy the closed file, its write-ahead log and its replies into the home folder; return the file's path."""
        copy = self._free_name(Path.home())
        for suffix in ("", ".wal", ".replies"):
            source = self.path.with_name(self.path.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        return copy

    def _free_name(self, folder: Path) -> Path:
        names = (f"{self.path.stem}-recovered{number or ''}{self.path.suffix}" for number in range(100))
        return next(path for name in names if not (path := folder / name).exists())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
