"""Tests of the writer thread: groups, order, isolated failures."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from pathlib import Path

import duckdb
import pytest

from core.errors import ProjectError, ProjectGone, StorageFull
from core.store.database import open_file
from core.store.rows import insert_keyed
from core.store.write_queue import Writer


@pytest.fixture
def connection(path):
    opened = open_file(path)
    yield opened
    opened.close()


@pytest.fixture
def writer(connection):
    writer = Writer(connection)
    writer.do(lambda cursor: cursor.execute("CREATE TABLE pairs (key INTEGER PRIMARY KEY, word VARCHAR)") and None)
    yield writer
    writer.close()


def insert_pairs(cursor, rows, keys_may_exist):
    insert_keyed(cursor, "pairs", ("key", "word"), rows, keys_may_exist)


class BlockedWriter:
    """Blocks the writer until release, so that all rows queued in between form one group."""

    def __init__(self, writer):
        self._gate, entered = threading.Event(), threading.Event()
        self._future = writer.call(lambda _: (entered.set(), self._gate.wait(30))[1])
        assert entered.wait(30)

    def release(self):
        self._gate.set()
        assert self._future.result(30)


def pairs(connection):
    return connection.rows("SELECT key, word FROM pairs ORDER BY key")


def test_commit_times_increase_even_if_the_clock_goes_back(writer, monkeypatch):
    clock = iter([100.0, 100.0, 90.0])
    monkeypatch.setattr(time, "time", lambda: next(clock))
    moments = []
    for number in range(3):
        writer.insert(insert_pairs, [(number, "a")]).result(30)
        moments.append(writer.committed_at)
    assert moments == sorted(set(moments))


def test_disk_that_is_gone_is_reported(connection, writer, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", fail)
        with pytest.raises(ProjectGone, match="was deleted or moved"):
            writer.insert(insert_pairs, [(1, "a")]).result(5)
    writer.insert(insert_pairs, [(2, "b")]).result(30)
    assert pairs(connection) == [(1, "a"), (2, "b")]


def test_rows_queued_together_are_committed_together(connection, writer):
    groups = []

    def record_size(cursor, rows, keys_may_exist):
        groups.append(len(rows))
        insert_pairs(cursor, rows, keys_may_exist)

    blocked = BlockedWriter(writer)
    futures = [writer.insert(record_size, [(number, "a")]) for number in range(50)]
    assert not any(future.done() for future in futures)
    blocked.release()
    for future in futures:
        future.result(30)
    assert groups == [50]
    assert len(pairs(connection)) == 50


def test_result_is_available_only_after_the_commit(connection, writer):
    seen = writer.call(lambda cursor: cursor.execute("INSERT INTO pairs VALUES (1, 'a') RETURNING key").fetchall())
    assert seen.result(30) == [(1,)]
    assert pairs(connection) == [(1, "a")]


def test_calls_see_the_rows_queued_before_them(writer):
    blocked = BlockedWriter(writer)
    writer.insert(insert_pairs, [(1, "a")])
    first = writer.call(lambda cursor: cursor.execute("SELECT count(*) FROM pairs").fetchall()[0][0])
    writer.insert(insert_pairs, [(2, "b")])
    second = writer.call(lambda cursor: cursor.execute("SELECT count(*) FROM pairs").fetchall()[0][0])
    blocked.release()
    assert (first.result(30), second.result(30)) == (1, 2)


def test_rows_wait_briefly_to_be_grouped(connection, writer, monkeypatch):
    monkeypatch.setattr("core.store.write_queue.LINGER_SECONDS", 0.5)
    groups = []

    def record_size(cursor, rows, keys_may_exist):
        groups.append(len(rows))
        insert_pairs(cursor, rows, keys_may_exist)

    waiting = [writer.insert(record_size, [(0, "a")])]
    time.sleep(0.05)
    waiting += [writer.insert(record_size, [(number, "a")]) for number in range(1, 5)]
    assert not any(future.done() for future in waiting)
    for future in waiting:
        future.result(30)
    assert groups == [5]


def test_rows_wait_longer_after_a_slow_transaction(writer, monkeypatch):
    monkeypatch.setattr("core.store.write_queue.REST_FACTOR", 1000.0)
    monkeypatch.setattr("core.store.write_queue.MAX_REST_SECONDS", 60.0)
    writer.do(lambda _: time.sleep(0.05))
    waiting = writer.insert(insert_pairs, [(1, "a")])
    time.sleep(0.05)
    assert not waiting.done()


@pytest.mark.parametrize("pressing", ["call", "close"])
def test_calls_and_closing_write_waiting_rows_first(connection, writer, pressing, monkeypatch):
    monkeypatch.setattr("core.store.write_queue.LINGER_SECONDS", 60.0)
    waiting = writer.insert(insert_pairs, [(1, "a")])
    time.sleep(0.05)
    assert not waiting.done()
    if pressing == "call":
        assert writer.do(lambda cursor: cursor.execute("SELECT count(*) FROM pairs").fetchall()) == [(1,)]
    else:
        writer.close()
    waiting.result(30)
    assert pairs(connection) == [(1, "a")]


def test_only_the_offending_item_fails(connection, writer):
    def fail(_cursor):
        raise ValueError("mine")

    blocked = BlockedWriter(writer)
    good = [writer.insert(insert_pairs, [(1, "a")]), writer.insert(insert_pairs, [(2, "b")])]
    wrong_type = writer.insert(insert_pairs, [("no number", "c")])
    raised = writer.call(fail)
    late = writer.call(lambda cursor: cursor.execute("INSERT INTO pairs VALUES (3, 'd')") and 7)
    blocked.release()
    assert [future.result(30) for future in good] == [None, None]
    assert late.result(30) == 7
    with pytest.raises(duckdb.Error):
        wrong_type.result(30)
    with pytest.raises(ValueError, match="mine"):
        raised.result(30)
    assert pairs(connection) == [(1, "a"), (2, "b"), (3, "d")]


def test_repeated_key_does_not_fail_other_rows(connection, writer):
    writer.insert(insert_pairs, [(1, "first")]).result(30)
    blocked = BlockedWriter(writer)
    futures = [writer.insert(insert_pairs, [(number, "second")]) for number in (1, 2, 3)]
    blocked.release()
    for future in futures:
        future.result(30)
    assert pairs(connection) == [(1, "first"), (2, "second"), (3, "second")]


def test_full_disk_raises_storage_full(connection, writer):
    def full(_cursor):
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")

    with pytest.raises(StorageFull):
        writer.do(full)
    assert writer.do(lambda cursor: 1) == 1


def test_cancelled_caller_does_not_lose_the_row(connection, writer):
    async def cancel():
        blocked = BlockedWriter(writer)
        future = writer.insert(insert_pairs, [(1, "paid")])
        task = asyncio.ensure_future(asyncio.wait_for(asyncio.wrap_future(future), 10))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        blocked.release()
        return future

    assert asyncio.run(cancel()).result(30) is None
    assert pairs(connection) == [(1, "paid")]


def test_closing_writes_queued_rows_and_ends_the_thread(connection):
    writer = Writer(connection)
    writer.do(lambda cursor: cursor.execute("CREATE TABLE pairs (key INTEGER PRIMARY KEY, word VARCHAR)") and None)
    blocked = BlockedWriter(writer)
    futures = [writer.insert(insert_pairs, [(number, "a")]) for number in range(20)]
    threading.Timer(0.05, blocked.release).start()
    writer.close()
    writer.close()
    assert all(future.done() for future in futures)
    assert len(pairs(connection)) == 20
    with pytest.raises(ProjectError, match="is closed"):
        writer.insert(insert_pairs, [(99, "late")])
    assert not writer._thread.is_alive()
