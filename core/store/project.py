"""An open project: its file, its writer thread, and its contents."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

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

    def close(self) -> None:
        """Write everything queued, checkpoint and release the file. Harmless if repeated."""
        try:
            if self._writer is not None:
                self._writer.close()
            if self._replies is not None:
                self._replies.close()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
