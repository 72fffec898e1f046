"""Paid replies by the hash of their request: the engine's reply store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from core.debate.turns import Reply, Usage
from core.errors import StorageFull
from core.store.database import Connection, Cursor
from core.store.reply_log import ReplyLog, reply_log_path
from core.store.row_conversion import append_keyed, dump, load
from core.store.write_queue import Repository, Writer

logger = logging.getLogger(__name__)

_USAGE = tuple(Usage.__dataclass_fields__)
_FIELDS = ("key", "run_id", "text", "reasoning", "finish_reason", "cost_usd", "seconds", "unix_time", "served_model")
REPLY = (*_FIELDS, *_USAGE, "refused_params")
"""Columns of ``replies``: the fields of ``Reply`` and of its ``Usage``."""


class Replies(Repository):
    """The engine's ``ReplyStore``. A key that exists is never written again.

    A reply is first written to a log, which takes microseconds, and later to its table together with others. Opening
    moves the replies that a crashed process left in the log into the table.
    """

    def __init__(self, connection: Connection, writer: Writer) -> None:
        super().__init__(connection, writer)
        path = reply_log_path(connection.path)
        if connection.made:  # a log from a deleted project of the same name
            path.unlink(missing_ok=True)
        self._keys = set(connection.column("SELECT key FROM replies"))
        self._log = ReplyLog(path)
        self._refused: list[Reply] = []
        """Replies that the full disk refused: in the log, not in the table."""
        left = [reply for reply in self._log.found if reply.key not in self._keys]
        if left:
            writer.do(lambda cursor: _insert_replies(cursor, left, True))
            self._keys.update(reply.key for reply in left)
        self._log.forget([reply.key for reply in self._log.found])

    def contains(self, key: str) -> bool:
        """Return True if a reply with this key is on disk; from memory."""
        return key in self._keys

    def keys(self) -> frozenset[str]:
        """Return the keys of all replies on disk."""
        return frozenset(self._keys)

    def get(self, key: str) -> Reply | None:
        """Return the reply with this key, or None."""
        if key not in self._keys:
            return None
        waiting = self._log.get(key)
        if waiting is not None:
            return waiting
        rows = self._connection.rows(f"SELECT {', '.join(REPLY)} FROM replies WHERE key = ?", [key])
        return reply_from_row(rows[0]) if rows else None

    async def fetch(self, key: str) -> Reply | None:
        """Return the reply with this key, or None, without blocking the loop."""
        waiting = self._log.get(key)
        if waiting is not None or key not in self._keys:
            return waiting
        return await asyncio.to_thread(self.get, key)

    async def commit(self, reply: Reply) -> None:
        """Return once the reply is in the log, where it survives a crash. Raises StorageFull and ProjectError."""
        if reply.key in self._keys:
            return
        self._log.append(reply)
        self._keys.add(reply.key)
        again, self._refused = self._refused, []
        for one in (*again, reply):
            self._writer.insert(_insert_replies, [one]).add_done_callback(self._on_written(one))

    def close(self) -> None:
        """Close the log, after the writer."""
        self._log.close()

    def _on_written(self, reply: Reply) -> Any:
        def on_written(written: Future[None]) -> None:
            error = written.exception()
            if error is None:
                self._log.forget([reply.key])
            elif isinstance(error, StorageFull):
                self._refused.append(reply)
            else:
                logger.error("A reply stays in its log: %s", error)

        return on_written


def reply_from_row(row: Sequence[Any]) -> Reply:
    """Return the reply in a row of ``REPLY``."""
    fields = dict(zip(REPLY, row, strict=True))
    usage = Usage(**{name: fields.pop(name) for name in _USAGE})
    return Reply(usage=usage, refused_params=tuple(load(fields.pop("refused_params"))), **fields)


def _insert_replies(cursor: Cursor, replies: Sequence[Reply], careful: bool) -> None:
    rows = [
        (
            *(getattr(reply, name) for name in _FIELDS),
            *(getattr(reply.usage, name) for name in _USAGE),
            dump(reply.refused_params),
        )
        for reply in replies
    ]
    append_keyed(cursor, "replies", REPLY, rows, careful)
