"""The reply log: paid replies that are not yet in the project's tables, one per line in a file beside the project.

A line survives a crash of the process as soon as ``write`` has returned. It survives a crash of the machine once the
system has written it to disk or the tables contain it, a moment later. A paid reply thus never waits for a transaction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from core.debate.turns import Reply
from core.engine.reply_files import decode, encode
from core.store.database import translate_error

_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""A link with the name of the log could lead to any other file of the user."""
MAX_BYTES = 4_000_000
"""Size at which the file is rewritten with only the replies that are still waiting."""


def reply_log_path(project: Path) -> Path:
    """Return the path of a project's reply log."""
    return project.with_name(project.name + ".replies")


class ReplyLog:
    """The reply log of an open project, for use from any thread.

    ``found`` are the replies that a crashed process left in it; an incomplete line is skipped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file: int | None = None
        self._size = 0
        self.found: tuple[Reply, ...] = tuple(_read(path))
        self._waiting = {reply.key: reply for reply in self.found}

    def get(self, key: str) -> Reply | None:
        """Return the reply with this key if it is not yet in the tables."""
        return self._waiting.get(key)

    def append(self, reply: Reply) -> None:
        """Write a reply. Raises StorageFull and ProjectError, which leave the file unchanged."""
        line = encode(reply)
        with self._gate:
            try:
                file = self._open()
                if os.write(file, line) < len(line):
                    os.ftruncate(file, self._size)
                    raise OSError(f"no space left on device: {self._path}")
            except OSError as error:
                raise translate_error(error, self._path) from error
            self._size += len(line)
            self._waiting[reply.key] = reply

    def forget(self, keys: Iterable[str]) -> None:
        """Remove replies that are in the tables."""
        with self._gate:
            for key in keys:
                self._waiting.pop(key, None)
            if self._size > MAX_BYTES:
                with suppress(OSError):  # a large file does no harm, and the next call tries again
                    self._rewrite()

    def close(self) -> None:
        """Close the file, and delete it if no reply waits in it."""
        with self._gate:
            self._close()
            if not self._waiting:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)

    def _open(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
            if os.fstat(self._file).st_size:
                os.write(self._file, b"\n")  # the last line may have been cut off
            self._size = os.fstat(self._file).st_size
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _rewrite(self) -> None:
        draft = self._path.with_name(self._path.name + ".new")
        draft.unlink(missing_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600), "wb") as file:
            file.write(b"".join(map(encode, self._waiting.values())))
        self._close()
        os.replace(draft, self._path)
        self._size = self._path.stat().st_size


def _read(path: Path) -> Iterable[Reply]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise translate_error(error, path) from error
    for line in filter(None, lines):
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            yield decode(line)
