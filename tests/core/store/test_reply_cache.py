"""Tests of the reply log: paid replies are on disk before they are in the table."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
import threading
from dataclasses import replace
from typing import get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.debate.turns import Reply, Usage, decode_reply, encode_reply
from core.engine.pending_turns import paid_reply
from core.errors import StorageFull
from core.llm.failures import server_message
from core.llm.streaming import LOWEST_LOGPROB
from core.store import reply_cache
from core.store.project import Project
from core.store.reply_cache import ReplyLog, reply_log_path
from tests.core.store import helpers
from tests.core.store.helpers import fail_while, flush
from tests.each_row import each_row


def make_reply(key, **fields):
    return replace(helpers.make_reply(key, **fields), unix_time=1.0)


def commit_replies(project, *keys):
    async def commit():
        await asyncio.gather(*(project.replies.commit(make_reply(key)) for key in keys))

    asyncio.run(commit())


def stored_keys(project):
    return {key for (key,) in project._connection.rows("SELECT key FROM replies")}


def test_committed_reply_is_readable_before_it_is_in_the_table(project, path, monkeypatch):
    monkeypatch.setattr("core.store.write_queue.LINGER_SECONDS", 60.0)
    commit_replies(project, "k1")
    assert stored_keys(project) == set()
    assert project.replies.contains("k1")
    assert project.replies.get("k1") == asyncio.run(project.replies.fetch("k1")) == make_reply("k1")
    assert ReplyLog(reply_log_path(path)).recovered == (make_reply("k1"),)
    flush(project)
    assert stored_keys(project) == {"k1"}
    assert project.replies.get("k1") == make_reply("k1")


def test_many_replies_are_read_at_once(project, monkeypatch):
    commit_replies(project, "k1", "k2")
    flush(project)
    monkeypatch.setattr("core.store.write_queue.LINGER_SECONDS", 60.0)
    commit_replies(project, "k3")
    rows, queries = project._connection.rows, []
    monkeypatch.setattr(project._connection, "rows", lambda *query: queries.append(query) or rows(*query))
    replies = asyncio.run(project.replies.fetch_all(["k3", "k2", "k1", "k4"]))
    assert replies == {key: make_reply(key) for key in ("k1", "k2", "k3")}
    assert len(queries) == 1


TEXT = st.text(st.characters(), max_size=20)
COUNT = st.integers(0, 10**9)
REPLY = st.builds(
    Reply,
    text=TEXT,
    reasoning=TEXT,
    finish_reason=st.sampled_from(get_args(get_type_hints(Reply)["finish_reason"])),
    usage=st.builds(Usage, COUNT, COUNT, COUNT, COUNT, st.booleans()),
    cost_usd=st.none() | st.floats(0, 1e9),
    refused_params=st.lists(TEXT.map(server_message)).map(tuple),
    served_model=TEXT.map(server_message),
    token_logprobs=st.lists(st.tuples(COUNT, st.floats(LOWEST_LOGPROB, 0))).map(tuple),
)
KEYS = itertools.count()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parsed=REPLY)
def test_reply_is_the_same_from_memory_the_log_and_the_table(project, parsed):
    reply = paid_reply(parsed, f"key {next(KEYS)}", run_id="r0001", seconds=0.25, output_limit=1024)
    assert decode_reply(encode_reply(reply)) == reply
    asyncio.run(project.replies.commit(reply))
    assert project.replies.get(reply.key) == reply
    flush(project)
    assert project.replies._log.get(reply.key) is None
    assert project.replies.get(reply.key) == reply


def test_opening_moves_logged_replies_into_the_table(path):
    with Project(path) as project:
        commit_replies(project, "k1")
    assert not reply_log_path(path).exists(), "closing a project removes the log"
    log = ReplyLog(reply_log_path(path))
    for reply in (make_reply("k1", text="second"), make_reply("k2"), replace(make_reply("k3"), served_model="\ud800")):
        log.append(reply)
    with reply_log_path(path).open("ab") as file:
        file.write(b'{"key": "half a li')
    with Project(path) as project:
        assert stored_keys(project) == {"k1", "k2", "k3"}
        assert project.replies.get("k1").text == "said"
        assert project.replies.get("k2") == make_reply("k2")
    assert not reply_log_path(path).exists()


def test_line_of_an_earlier_version_is_read(path):
    line = json.loads(encode_reply(make_reply("k1")))
    del line["output_limit"]
    reply_log_path(path).write_text(json.dumps(line))
    assert ReplyLog(reply_log_path(path)).recovered == (make_reply("k1"),)


def test_line_after_an_incomplete_line_is_read(path):
    reply_log_path(path).write_bytes(b'{"key": "other fields"}\n[1]\n{"key": "half a li')
    ReplyLog(reply_log_path(path)).append(make_reply("k1"))
    assert ReplyLog(reply_log_path(path)).recovered == (make_reply("k1"),)


def test_new_project_ignores_the_log_of_a_deleted_project(path):
    ReplyLog(reply_log_path(path)).append(make_reply("k1"))
    with Project(path) as project:
        assert not project.replies.contains("k1")


def test_large_log_is_compacted_to_the_replies_not_yet_stored(path, monkeypatch):
    monkeypatch.setattr(reply_cache, "MAX_BYTES", 2_000)
    log = ReplyLog(path)
    for number in range(20):
        log.append(make_reply(f"k{number}"))
    size = path.stat().st_size
    assert size > 2_000
    log.forget(f"k{number}" for number in range(19))
    assert path.stat().st_size < size / 10
    log.append(make_reply("k20"))
    assert [reply.key for reply in ReplyLog(path).recovered] == ["k19", "k20"]
    log.close()
    assert path.exists(), "replies that are not in the table stay in the log"
    log.forget(["k19", "k20"])
    log.close()
    assert not path.exists()


def test_large_log_of_waiting_replies_is_seldom_rewritten(path, monkeypatch):
    monkeypatch.setattr(reply_cache, "MAX_BYTES", 2_000)
    rewritten = []
    rewrite = ReplyLog._rewrite
    monkeypatch.setattr(ReplyLog, "_rewrite", lambda log: rewritten.append(len(log._waiting)) or rewrite(log))
    log = ReplyLog(path)
    for number in range(100):
        log.append(make_reply(f"k{number}"))
    for number in range(100):
        log.forget([f"k{number}"])
    assert rewritten[:2] == [49, 24]
    assert path.stat().st_size <= 2_000


def test_full_disk_leaves_the_log_unchanged(path, monkeypatch):
    log = ReplyLog(path)
    log.append(make_reply("k1"))
    write = os.write
    monkeypatch.setattr(reply_cache.os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(StorageFull):
        log.append(make_reply("k2"))
    monkeypatch.undo()
    log.append(make_reply("k3"))
    assert [reply.key for reply in ReplyLog(path).recovered] == ["k1", "k3"]


def test_line_after_an_incomplete_line_and_a_full_disk_is_read(path, monkeypatch):
    path.write_bytes(b'{"key": "half a li')
    log = ReplyLog(path)

    def refuse(_file, _line):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reply_cache.os, "write", refuse)
    with pytest.raises(StorageFull):
        log.append(make_reply("k1"))
    monkeypatch.undo()
    log.append(make_reply("k2"))
    assert [reply.key for reply in ReplyLog(path).recovered] == ["k2"]


@pytest.fixture
def full_disk(monkeypatch):
    full = threading.Event()
    full.set()
    fail_while(monkeypatch, reply_cache, "_insert_replies", full)
    return full


def test_reply_whose_insert_failed_is_inserted_later(project, full_disk):
    commit_replies(project, "k1")
    flush(project)
    assert project.replies.contains("k1")
    assert stored_keys(project) == set()
    full_disk.clear()
    commit_replies(project, "k2")
    flush(project)
    assert stored_keys(project) == {"k1", "k2"}


@each_row("later", ["another reply", "resume", "close"])
def test_reply_that_the_log_refused_is_written_later(tmp_path, monkeypatch, later):
    path = tmp_path / f"{later}.duckdb"
    with Project(path) as project:
        write = os.write
        monkeypatch.setattr(reply_cache.os, "write", lambda file, line: write(file, line[:10]))
        with pytest.raises(StorageFull):
            commit_replies(project, "k1")
        assert not project.replies.contains("k1")
        with pytest.raises(StorageFull):
            project.write_refused()
        monkeypatch.undo()
        if later == "another reply":
            commit_replies(project, "k2")
        elif later == "resume":
            project.write_refused()
            assert stored_keys(project) == {"k1"}, "the totals of a resumed run count it"
        assert project.replies.contains("k1") == (later != "close")
    with Project(path) as project:
        assert project.replies.get("k1") == make_reply("k1")
