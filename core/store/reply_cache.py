"""Paid replies by the hash of their request: the engine's reply store.

A reply that is not yet in the project's tables is a line of a log beside the project, so that it never waits for a
transaction. A line survives a crash of the process at once, and a crash of the machine a moment later.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from core.debate.turns import Reply, Usage, decode_reply, encode_reply
from core.errors import ProjectError
from core.files import atomic_write
from core.store.database import Cursor, DatabaseConnection, translate_error
from core.store.rows import dump, insert_keyed, load
from core.store.write_queue import Repository, Writer

logger = logging.getLogger(__name__)

_USAGE = tuple(name for name in Usage.__dataclass_fields__ if name != "written_tokens")
_FIELDS = (
    "key", "run_id", "text", "reasoning", "finish_reason", "cost_usd", "seconds", "unix_time", "served_model",
    "output_limit",
)  # fmt: skip
_JSON = ("refused_params", "token_logprobs")
REPLY = (*_FIELDS, *_USAGE, *_JSON)
"""Columns of ``replies``: the fields of ``Reply`` and of its ``Usage``."""


class Replies(Repository):
    """The ``ReplyStore`` of the engine. A key that exists is never written again.

    Opening moves the replies that a crashed process left in the log into the table.
    """

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        super().__init__(connection, writer)
        path = reply_log_path(connection.path)
        if connection.created:  # a log from a deleted project of the same name
            path.unlink(missing_ok=True)
        self.calls: dict[str, tuple[object, asyncio.Future[Any]]] = {}
        self._keys = set(connection.column("SELECT key FROM replies"))
        self._log = ReplyLog(path)
        self._unlogged: deque[Reply] = deque()
        """Replies that the full disk kept out of the log."""
        missing = [reply for reply in self._log.recovered if reply.key not in self._keys]
        if missing:
            writer.do(lambda cursor: _insert_replies(cursor, missing, keys_may_exist=True))
            self._keys.update(reply.key for reply in missing)
        self._log.forget([reply.key for reply in self._log.recovered])

    def contains(self, key: str) -> bool:
        return key in self._keys

    def is_empty(self) -> bool:
        """Return True if there is no reply."""
        return not self._keys

    def get(self, key: str) -> Reply | None:
        """Return the reply with this key, or None."""
        return self.get_all([key]).get(key)

    def get_all(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the replies with these keys by key; those that do not exist are left out."""
        known = self._keys.intersection(keys)
        found = {key: reply for key in known if (reply := self._log.get(key)) is not None}
        if stored := list(known - found.keys()):
            query = f"SELECT {', '.join(REPLY)} FROM replies WHERE key IN (SELECT unnest(?))"
            found |= {reply.key: reply for reply in map(reply_from_row, self._connection.rows(query, [stored]))}
        return found

    async def fetch(self, key: str) -> Reply | None:
        waiting = self._log.get(key)
        if waiting is not None or key not in self._keys:
            return waiting
        return await asyncio.to_thread(self.get, key)

    async def fetch_all(self, keys: Iterable[str]) -> Mapping[str, Reply]:
        return await asyncio.to_thread(self.get_all, keys)

    async def commit(self, reply: Reply) -> None:
        """Return once the reply is in the log, where it survives a crash. Raises StorageFull and ProjectError.

        A reply that cannot be written is kept in memory for ``write_unlogged``.
        """
        self._write(reply)
        with suppress(ProjectError):
            self.write_unlogged()
        self._writer.retry_refused()

    def write_unlogged(self) -> None:
        """Write the replies that the full disk kept out of the log. Raises StorageFull and ProjectError."""
        with suppress(IndexError):  # another thread may take some
            while True:
                self._write(self._unlogged.popleft())

    def _write(self, reply: Reply) -> None:
        if reply.key in self._keys:
            return
        try:
            self._log.append(reply)
        except ProjectError:
            self._unlogged.append(reply)
            raise
        self._keys.add(reply.key)
        written = self._writer.insert(_insert_replies, [reply], keep=True)
        written.add_done_callback(partial(self._on_written, reply))

    def close(self) -> None:
        """Close the log, after the writer."""
        self._log.close()

    def _on_written(self, reply: Reply, written: Future[None]) -> None:
        error = written.exception()
        if error is None:
            self._log.forget([reply.key])
        else:
            logger.error("A reply stays in its log: %s", error)


def reply_from_row(row: Sequence[Any]) -> Reply:
    """Return the reply in a row of ``REPLY``."""
    fields = dict(zip(REPLY, row, strict=True))
    usage = Usage(**{name: fields.pop(name) for name in _USAGE})
    fields["refused_params"] = tuple(load(fields["refused_params"]))
    fields["token_logprobs"] = tuple(map(tuple, load(fields["token_logprobs"])))
    return Reply(usage=usage, **fields)


def _insert_replies(cursor: Cursor, replies: Sequence[Reply], keys_may_exist: bool) -> None:
    rows = [
        (
            *(getattr(reply, name) for name in _FIELDS),
            *(getattr(reply.usage, name) for name in _USAGE),
            *(dump(getattr(reply, name)) for name in _JSON),
        )
        for reply in replies
    ]
    insert_keyed(cursor, "replies", REPLY, rows, keys_may_exist)


_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""A link with the name of the log could lead to any other file of the user."""
MAX_BYTES = 4_000_000
"""Size from which the file is rewritten with only the waiting replies, once these are less than half of its lines."""


def reply_log_path(project: Path) -> Path:
    """Return the path of a project's reply log."""
    return project.with_name(project.name + ".replies")


class ReplyLog:
    """The reply log of an open project, for any thread; ``recovered`` are the replies of a crashed process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file: int | None = None
        self._size = 0
        self.recovered: tuple[Reply, ...] = tuple(_read(path))
        self._waiting = {reply.key: reply for reply in self.recovered}
        self._lines = len(self.recovered)

    def get(self, key: str) -> Reply | None:
        """Return the reply with this key if it is not yet in the tables."""
        return self._waiting.get(key)

    def append(self, reply: Reply) -> None:
        """Write a reply. Raises StorageFull and ProjectError, which leave the file unchanged."""
        line = b"\n" + encode_reply(reply)  # the last line may have been cut off
        with self._gate:
            try:
                file = self._open()
                if os.write(file, line) < len(line):
                    os.ftruncate(file, self._size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
            except OSError as error:
                raise translate_error(error, self._path) from error
            self._size += len(line)
            self._lines += 1
            self._waiting[reply.key] = reply

    def forget(self, keys: Iterable[str]) -> None:
        """Remove replies that are in the tables."""
        with self._gate:
            for key in keys:
                self._waiting.pop(key, None)
            if self._size > MAX_BYTES and len(self._waiting) < self._lines / 2:
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
            self._size = os.fstat(self._file).st_size
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _rewrite(self) -> None:
        with atomic_write(self._path, private=True) as file:
            file.write(b"".join(map(encode_reply, self._waiting.values())))
            self._close()  # Windows replaces no open file
        self._size, self._lines = self._path.stat().st_size, len(self._waiting)


def _read(path: Path) -> Iterable[Reply]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise translate_error(error, path) from error
    for line in filter(None, lines):
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            yield decode_reply(line)
