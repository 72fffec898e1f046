"""Replies that were paid for and are not in the project's tables yet: a line each, in a file beside the project.

A line is there for good once ``write`` has returned, whatever becomes of the process (of the machine: once the system
has put it on the disk, or the tables have it, a moment later). So nothing that was paid for waits for a transaction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from core.engine.ports import StoredReply
from core.engine.reply_log import decoded, encoded
from core.store.connection import translated

MOST_BYTES = 4_000_000
"""When the file is larger it is written anew with what is still needed."""


def beside(project: Path) -> Path:
    """Where the log of a project lies."""
    return project.with_name(project.name + ".replies")


class ReplyLog:
    """The log of an open project, used from any thread. ``found`` is what a process that died left in it; a line that
    was cut off in the writing is passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file: int | None = None
        self._size = 0
        self.found: tuple[StoredReply, ...] = tuple(_left_in(path))
        self._waiting = {reply.key: reply for reply in self.found}

    def get(self, key: str) -> StoredReply | None:
        """The reply with this key while it waits for its place in the tables."""
        return self._waiting.get(key)

    def append(self, reply: StoredReply) -> None:
        """Write a line. Raises StorageFull and ProjectError; the file is then as it was."""
        line = encoded(reply)
        with self._gate:
            try:
                file = self._opened()
                if os.write(file, line) < len(line):
                    os.ftruncate(file, self._size)
                    raise OSError(f"no space left on device: {self._path}")
            except OSError as error:
                raise translated(error, self._path) from error
            self._size += len(line)
            self._waiting[reply.key] = reply

    def forget(self, keys: Iterable[str]) -> None:
        """These are in the tables."""
        with self._gate:
            for key in keys:
                self._waiting.pop(key, None)
            if self._size > MOST_BYTES:
                with suppress(OSError):  # a large file does no harm; the next one that is forgotten tries again
                    self._begin_anew()

    def close(self) -> None:
        """Give the file free, and remove it when nothing waits in it."""
        with self._gate:
            self._shut()
            if not self._waiting:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)

    def _opened(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
            if os.fstat(self._file).st_size:
                os.write(self._file, b"\n")  # the last line may have been cut off
            self._size = os.fstat(self._file).st_size
        return self._file

    def _shut(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _begin_anew(self) -> None:
        draft = self._path.with_name(self._path.name + ".new")
        draft.write_bytes(b"".join(map(encoded, self._waiting.values())))
        self._shut()
        os.replace(draft, self._path)
        self._size = self._path.stat().st_size


def _left_in(path: Path) -> Iterable[StoredReply]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise translated(error, path) from error
    for line in filter(None, lines):
        with suppress(ValueError, TypeError, KeyError):
            yield decoded(line)
