"""The single writer thread of a project.

The thread writes all queued items in one transaction and acknowledges them after the commit. It delays only rows, to
write several together.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import duckdb

from core.errors import ProjectError, StorageFull
from core.store.database import Cursor, DatabaseConnection, ReadRepository, translate_error

T = TypeVar("T")
R = TypeVar("R")

Insert: TypeAlias = Callable[[Cursor, Sequence[R], bool], None]
"""Function that writes many rows of one kind.

At first it may assume that all rows are new, which is several times as fast. A repeated key then fails the group, and
the rows are passed again with the last argument (``keys_may_exist``) set.
"""


@dataclass(frozen=True, slots=True)
class _Rows:
    insert: Insert[Any]
    rows: Sequence[Any]
    keep: bool
    future: Future[Any] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _Call:
    run: Callable[[Cursor], Any]
    future: Future[Any] = field(default_factory=Future)


_Item: TypeAlias = _Rows | _Call

LINGER_SECONDS = 0.1
"""Time that rows wait for more rows. A transaction costs the same for one row as for twenty."""
REST_FACTOR, MAX_REST_SECONDS = 3.0, 0.5
"""Rows wait for this multiple of the last transaction's time if that is longer, so that a busy machine writes less
often. The second number is the longest such wait."""


class Writer:
    """Owner of the writing cursor. ``insert`` and ``call`` may be used from any thread and do not block.

    Items take effect in the order they were queued, but rows between two calls are grouped by kind. A failed group is
    rolled back and repeated with ``keys_may_exist`` set. If that fails too, its items are written one by one, so that
    only the faulty item fails. Functions may therefore run again and must change nothing but the cursor.
    """

    def __init__(self, connection: DatabaseConnection) -> None:
        self._connection = connection
        self._waiting: list[_Item] = []
        self._refused: list[_Item] = []
        """Rows to keep that a full disk refused."""
        self._changed = threading.Condition()
        self._pressing = False
        """True if the waiting items must be written at once."""
        self._closed = False
        self.committed_at: float | None = None
        """Time of the last commit (Unix seconds); different after each commit."""
        self.refusal: StorageFull | None = None
        """The error of the last transaction if the disk refused it, else None."""
        self._cursor = connection.cursor()
        self._thread = threading.Thread(target=self._work, name="moot-writer", daemon=True)
        self._thread.start()

    def insert(self, insert: Insert[R], rows: Sequence[R], *, keep: bool = False) -> Future[None]:
        """Queue rows, and return a future that is done once they are on disk.

        Rows may wait for others, and rows of one ``insert`` are written together. They are always written before a
        later call and before the writer ends. Pass only rows that can be restored after a crash of the process. Rows to
        ``keep`` wait for ``retry_refused`` if the disk is full; their future is not done before.
        """
        return self._submit(_Rows(insert, rows, keep))

    def retry_refused(self) -> None:
        """Queue the kept rows that a full disk refused again."""
        with self._changed:
            self._waiting += self._refused
            self._refused = []
            self._changed.notify()

    def call(self, run: Callable[[Cursor], T]) -> Future[T]:
        """Queue a function of the cursor, and return a future with its result, done once its transaction is on disk."""
        return self._submit(_Call(run))

    def do(self, run: Callable[[Cursor], T]) -> T:
        """Queue a function with ``call`` and return its result. Not for the writer's own thread or an event loop."""
        return self.call(run).result()

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Queue one statement and return when it is on disk."""
        self.do(lambda cursor: cursor.execute(sql, params))

    def close(self) -> None:
        """Write everything queued, then end the thread. Harmless if repeated."""
        with self._changed:
            self._closed = self._pressing = True
            self._changed.notify()
        self._thread.join()

    def _submit(self, item: _Item) -> Future[Any]:
        item.future.set_running_or_notify_cancel()  # queued items are written even if their caller no longer waits
        with self._changed:
            if self._closed:
                raise ProjectError(f"{self._connection.path} is closed.", "Open the project again.")
            self._waiting.append(item)
            self._pressing |= isinstance(item, _Call)
            if self._pressing or len(self._waiting) == 1:  # waking the thread for every row costs more than its row
                self._changed.notify()
        return item.future

    def _work(self) -> None:
        open_, rest = True, 0.0
        while open_:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(lambda: self._pressing, max(LINGER_SECONDS, rest))
                group, self._waiting = self._waiting, []
                open_, self._pressing = not self._closed, False
            began = time.monotonic()
            if group:
                self._write(group)
            rest = min(MAX_REST_SECONDS, REST_FACTOR * (time.monotonic() - began))
        self._cursor.close()

    def _write(self, group: list[_Item], *, keys_may_exist: bool = False) -> None:
        try:
            results = self._transaction(group, keys_may_exist)
        except Exception as error:
            if not keys_may_exist:
                self._write(group, keys_may_exist=True)
            elif len(group) > 1:
                for item in group:
                    self._write([item], keys_may_exist=True)
            else:
                problem = translate_error(error, self._connection.path)
                self.refusal = problem if isinstance(problem, StorageFull) else None
                if self.refusal and isinstance(group[0], _Rows) and group[0].keep:
                    with self._changed:
                        self._refused += group
                else:
                    _acknowledge(group, [None], problem)
            return
        self.refusal = None
        # A file that is gone still takes every write, but nobody could open it again.
        _acknowledge(group, results, self._connection.file_problem())

    def _transaction(self, group: list[_Item], keys_may_exist: bool) -> list[Any]:
        """Write the group, commit and return the result of each item. Any error rolls the transaction back."""
        self._cursor.execute("BEGIN")
        try:
            results = _apply(self._cursor, group, keys_may_exist)
            self._cursor.execute("COMMIT")
            # Increases even if the clock stops or is set back, because readers detect new commits by it.
            self.committed_at = max(time.time(), math.nextafter(self.committed_at or 0.0, math.inf))
            return results
        except BaseException:
            with suppress(duckdb.Error):  # a failed commit has ended the transaction already
                self._cursor.execute("ROLLBACK")
            raise


class Repository(ReadRepository):
    """Access to one family of a project's contents. Reads work in any thread; writes return after the commit."""

    def __init__(self, connection: DatabaseConnection, writer: Writer) -> None:
        super().__init__(connection)
        self._writer = writer
        self._last_read: dict[Hashable, tuple[float | None, Any]] = {}
        """Time of the last commit and what was read after it, by key."""

    def _once_per_commit(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the result of ``read``, kept under ``key`` until the next commit."""
        committed_at = self._writer.committed_at
        last = self._last_read.get(key)
        if last is None or last[0] != committed_at:
            last = self._last_read[key] = committed_at, read()
        result: T = last[1]
        return result


def _acknowledge(group: list[_Item], results: list[Any], error: Exception | None) -> None:
    for item, result in zip(group, results, strict=True):
        if error is not None:
            item.future.set_exception(error)
        else:
            item.future.set_result(result)


def _apply(cursor: Cursor, group: list[_Item], keys_may_exist: bool) -> list[Any]:
    waiting: dict[Insert[Any], list[Any]] = {}
    results: list[Any] = []
    for item in group:
        if isinstance(item, _Rows):
            waiting.setdefault(item.insert, []).extend(item.rows)
            results.append(None)
        else:
            _flush(cursor, waiting, keys_may_exist)
            results.append(item.run(cursor))
    _flush(cursor, waiting, keys_may_exist)
    return results


def _flush(cursor: Cursor, waiting: dict[Insert[Any], list[Any]], keys_may_exist: bool) -> None:
    for insert, rows in waiting.items():
        insert(cursor, rows, keys_may_exist)
    waiting.clear()
