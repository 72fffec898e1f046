"""Paid replies by request hash: the engine's turn store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from core.debate.turns import Usage
from core.engine.ports import StoredReply
from core.errors import StorageFull
from core.store.connection import Connection, Cursor
from core.store.reply_log import ReplyLog, beside
from core.store.rows import append_keyed, dump, load
from core.store.writer import Writer

logger = logging.getLogger(__name__)

REPLY = (
    "key", "text", "reasoning", "finish", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens",
    "estimated", "cost_usd", "seconds", "unix_time", "dropped", "run_id", "served",
)  # fmt: skip


class Replies:
    """The TurnStore: paid replies by key. A key that is there is never written again.

    A reply goes into a log first, which takes microseconds, and reaches its table with others. What the log of a
    process that died still has is moved into the table on opening.
    """

    def __init__(self, connection: Connection, writer: Writer) -> None:
        self._connection = connection
        self._writer = writer
        place = beside(connection.path)
        if connection.made:  # what lies there is of another project that was deleted
            place.unlink(missing_ok=True)
        self._keys = {key for (key,) in connection.rows("SELECT key FROM replies")}
        self._log = ReplyLog(place)
        self._refused: list[StoredReply] = []
        """Those that the disk had no room for: in the log, not in the table."""
        left = [reply for reply in self._log.found if reply.key not in self._keys]
        if left:
            writer.do(lambda cursor: _insert_replies(cursor, left, True))
            self._keys.update(reply.key for reply in left)
        self._log.forget([reply.key for reply in self._log.found])

    def known(self, key: str) -> bool:
        """Whether a reply with this key is on disk. From memory."""
        return key in self._keys

    def keys(self) -> frozenset[str]:
        """The keys of all replies on disk."""
        return frozenset(self._keys)

    def get(self, key: str) -> StoredReply | None:
        """The reply with this key, or None."""
        if key not in self._keys:
            return None
        waiting = self._log.get(key)
        if waiting is not None:
            return waiting
        rows = self._connection.rows(f"SELECT {', '.join(REPLY)} FROM replies WHERE key = ?", [key])
        return reply_of(rows[0]) if rows else None

    async def fetch(self, key: str) -> StoredReply | None:
        """``get`` without blocking the loop."""
        waiting = self._log.get(key)
        if waiting is not None or key not in self._keys:
            return waiting
        return await asyncio.to_thread(self.get, key)

    async def commit(self, reply: StoredReply) -> None:
        """Return once the reply is in the log, where it outlives the process. Raises StorageFull and ProjectError."""
        if reply.key in self._keys:
            return
        self._log.append(reply)
        self._keys.add(reply.key)
        again, self._refused = self._refused, []
        for one in (*again, reply):
            self._writer.insert(_insert_replies, [one]).add_done_callback(self._settled(one))

    def close(self) -> None:
        """Give the log free, once the writer is closed."""
        self._log.close()

    def _settled(self, reply: StoredReply) -> Any:
        def settled(written: Future[None]) -> None:
            error = written.exception()
            if error is None:
                self._log.forget([reply.key])
            elif isinstance(error, StorageFull):
                self._refused.append(reply)
            else:
                logger.error("A reply stays in its log: %s", error)

        return settled


def reply_of(row: Sequence[Any]) -> StoredReply:
    """The reply in a row of ``REPLY``."""
    key, text, reasoning, finish, prompt, completion, cached, thought, estimated, cost, seconds, at, *rest = row
    dropped, run, served = rest
    usage = Usage(prompt, completion, cached, thought, estimated)
    return StoredReply(key, text, reasoning, finish, usage, cost, seconds, at, tuple(load(dropped)), run, served)


def _insert_replies(cursor: Cursor, replies: Sequence[StoredReply], careful: bool) -> None:
    rows = [
        (
            reply.key, reply.text, reply.reasoning, reply.finish, reply.usage.prompt_tokens,
            reply.usage.completion_tokens, reply.usage.cached_tokens, reply.usage.reasoning_tokens,
            reply.usage.estimated, reply.cost_usd, reply.seconds, reply.at, dump(reply.dropped), reply.run_id,
            reply.served,
        )
        for reply in replies
    ]  # fmt: skip
    append_keyed(cursor, "replies", REPLY, rows, careful)
