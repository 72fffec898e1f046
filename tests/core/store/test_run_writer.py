"""Tests of the run writer: replies by key, turns, verdicts, failed attempts."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import duckdb
import pytest

from core.debate.turns import Usage
from core.engine.interfaces import FailedAttempt
from core.errors import ProjectGone, StorageFull
from core.prompts import Message
from core.store import run_writer
from core.store.project import Project
from tests.core.store.helpers import (
    ROLE_MODEL,
    fail_while,
    flush,
    make_documents,
    make_reply,
    make_settings,
    make_turn,
    make_verdict,
    run_values,
)


@pytest.fixture
def run_id(project):
    project.store.documents.add(make_documents(3))
    return project.store.runs.create(make_settings(), project.store.documents.ids()).run_id


def test_reply_is_stored_under_its_key(project):
    reply = make_reply("k1")
    assert not project.replies.contains("k1")
    assert asyncio.run(project.replies.fetch("k1")) is None
    asyncio.run(project.replies.commit(reply))
    assert project.replies.contains("k1")
    assert asyncio.run(project.replies.fetch("k1")) == reply


def test_first_reply_under_a_key_is_kept(project):
    first, second = make_reply("k1", text="first"), make_reply("k1", text="second")

    async def both():
        await asyncio.gather(project.replies.commit(first), project.replies.commit(second))
        await project.replies.commit(second)

    asyncio.run(both())
    assert project.replies.get("k1").text == "first"


def test_replies_are_found_after_reopening(path):
    with Project(path) as project:
        asyncio.run(project.replies.commit(make_reply("k1", cost=None)))
    with Project(path) as project:
        assert project.replies.contains("k1")
        assert not project.replies.contains("k2")
        assert project.replies.get("k1").cost_usd is None


def test_hostile_replies_are_stored(project, run_id):
    bad = "\ud800\x00x"

    async def write():
        await project.replies.commit(make_reply("k1", text=bad))
        row = make_turn(run_id, "d0", 0, "extractor", "k1", values={"a": True})
        row = replace(row, messages=(Message("system", bad), Message("user", bad)))
        project.sink.turn(row)

    asyncio.run(write())
    flush(project)
    (turn,) = project.store.transcripts.of(run_id, ["d0"])
    assert turn.reply.text == "\ufffdx"
    assert [message.content for message in turn.messages] == ["\ufffdx", "\ufffdx"]


def test_turn_is_read_back_with_its_reply(project, run_id):
    async def write():
        for number, role in enumerate(("extractor", "critic")):
            await project.replies.commit(make_reply(f"k{number}", text=f"{role} says"))
            values = {"a": True, "b": None} if role == "extractor" else None
            project.sink.turn(
                make_turn(
                    run_id,
                    "d1",
                    number,
                    role,
                    f"k{number}",
                    values=values,
                    quotes=["exact", "missing"],
                    cached=number == 1,
                )
            )

    asyncio.run(write())
    flush(project)
    first, second = project.store.transcripts.of(run_id, ["d1"])
    assert (first.turn, first.role, first.cached, second.cached) == (0, "extractor", False, True)
    assert first.messages == (Message("system", "the rules"), Message("user", "read d1"))
    assert (first.reply.text, first.reply.usage, first.reply.refused_params) == (
        "extractor says",
        Usage(10, 5, 2, 1),
        ("seed",),
    )
    assert first.reply.reading.values == {"a": True}
    assert first.values == {"a": True, "b": None}
    assert first.reply.reading.unknown == ("Pool",)
    assert (first.decided, second.values) == ({"a": True}, None)
    assert [quote.supported for quote in first.reply.evidence] == [True, False]
    assert first.role_model == ROLE_MODEL
    assert project.store.transcripts.of(run_id, []) == []


def test_time_of_a_run_is_added_up(project, run_id):
    project.sink.add_seconds(run_id, 10.0)
    asyncio.run(project.sink.state(run_id, "paused", seconds=2.5))
    assert project.store.runs.require(run_id).seconds == 12.5


def test_debates_are_read_in_the_order_of_the_run(project, run_id):
    async def write():
        for document_id in ("d2", "d0"):
            for number in (1, 0):
                key = f"{document_id}/{number}"
                await project.replies.commit(make_reply(key))
                project.sink.turn(make_turn(run_id, document_id, number, "critic", key))

    asyncio.run(write())
    flush(project)
    result = project.store.transcripts.of(run_id, ["d2", "d1", "d0"])
    assert [turn.reply.key for turn in result] == ["d0/0", "d0/1", "d2/0", "d2/1"]


def test_open_debates_have_turns_and_no_verdict(project, run_id):
    async def write():
        for document_id in ("d2", "d1"):
            await project.replies.commit(make_reply(document_id))
            project.sink.turn(make_turn(run_id, document_id, 0, "extractor", document_id))
        await project.sink.verdict(make_verdict(run_id, "d2", {"a": True}))

    def open_documents(most):
        return [turn.document_id for turn in project.store.transcripts.open_turns(run_id, most)]

    asyncio.run(write())
    flush(project)
    assert (open_documents(0), open_documents(9)) == ([], ["d1"])


def test_resumed_run_writes_no_turn_twice(project, run_id):
    row = make_turn(run_id, "d0", 0, "extractor", "k1", values={"a": True})

    async def begin():
        await project.sink.state(run_id, "running")
        await project.replies.commit(make_reply("k1"))
        project.sink.turn(row)
        await project.sink.state(run_id, "paused")

    async def resume():
        await project.sink.state(run_id, "running")
        queued = project.sink._queued[run_id]
        project.sink.turn(row)
        assert len(queued["d0"]) == 1, "only its system prompt"
        project.sink.turn(replace(row, turn=1))
        assert len(queued["d0"]) == 3

    asyncio.run(begin())
    asyncio.run(resume())
    flush(project)
    assert [turn.turn for turn in project.store.transcripts.of(run_id, ["d0"])] == [0, 1]


def test_repeated_system_prompt_is_stored_once(project, run_id):
    async def write():
        await asyncio.gather(*(project.replies.commit(make_reply(f"k{number}")) for number in range(30)))
        for number in range(30):
            project.sink.turn(make_turn(run_id, "d0", number, "critic", f"k{number}"))

    asyncio.run(write())
    flush(project)
    assert project._connection.rows("SELECT text FROM texts") == [("the rules",)]
    assert len(project.store.transcripts.of(run_id, ["d0"])) == 30


def test_last_values_of_a_role_count(project, run_id):
    async def write():
        lists = [{"a": True, "b": True}, {"a": False, "b": None}, None]
        for number, values in enumerate(lists):
            await project.replies.commit(make_reply(f"k{number}"))
            project.sink.turn(make_turn(run_id, "d0", number, "extractor", f"k{number}", values=values))

    asyncio.run(write())
    flush(project)
    assert run_values(project, run_id) == [("d0", "a", "extractor", "false")]
    assert project.store.document_records.load(run_id, ["d0"])[0].roles == {"extractor": {"a": False}}


def test_first_verdict_on_a_document_is_kept(project, run_id):
    async def write():
        first = make_verdict(run_id, "d0", {"a": True, "b": None})
        await asyncio.gather(
            project.sink.verdict(first), project.sink.verdict(make_verdict(run_id, "d0", {"a": False}))
        )
        await project.sink.verdict(make_verdict(run_id, "d0", {"a": False}))
        return first

    first = asyncio.run(write())
    stored = project.store.transcripts.verdict(run_id, "d0")
    assert stored == first
    assert stored.verdict.status == "unresolved"
    assert project.store.transcripts.verdict(run_id, "d1") is None
    assert project.store.runs.get(run_id).unresolved == 1


@pytest.mark.parametrize("refused", ["_insert_turns", "_insert_texts"])
def test_verdict_is_not_written_without_its_turns(project, run_id, monkeypatch, refused):
    def refuse(*_):
        raise duckdb.IOException("Could not write: No space left on device")

    async def debate():
        await project.replies.commit(make_reply("k", run_id=run_id))
        await project.sink.state(run_id, "running")
        turn = make_turn(run_id, "d0", 0, "judge", "k", values={"l1": True})
        project.sink.turn(replace(turn, messages=(Message("system", "You are a judge."),)))
        await project.sink.verdict(make_verdict(run_id, "d0", {"l1": True}))

    with monkeypatch.context() as patch:
        patch.setattr(run_writer, refused, refuse)
        with pytest.raises(StorageFull):
            asyncio.run(debate())
    assert "d0" in project.store.runs.work(run_id).todo
    asyncio.run(debate())
    assert "d0" not in project.store.runs.work(run_id).todo
    assert len(project.store.transcripts.of(run_id, ["d0"])) == 1


def test_verdict_is_written_to_a_file_that_was_moved(path):
    async def debate():
        project.sink.turn(make_turn(run_id, "d0", 0, "judge", "k", values={"l1": True}))
        await project.sink.state(run_id, "paused")

    async def end(queued):
        project.sink._queued[run_id]["d0"] = queued
        await project.sink.verdict(make_verdict(run_id, "d0", {"l1": True}))

    project = Project(path)
    project.store.documents.add(make_documents(1))
    run_id = project.store.runs.create(make_settings(), ["d0"]).run_id
    path.rename(path.with_name("moved.duckdb"))
    gone = project._writer.call(lambda _: None)
    assert isinstance(gone.exception(30), ProjectGone)
    for step in (debate(), end([gone])):
        with pytest.raises(ProjectGone):
            asyncio.run(step)
    assert project.store.runs.work(run_id).todo == ()
    with pytest.raises(ProjectGone):
        project.close()


def test_verdict_values_are_written_as_annotations(project, run_id):
    asyncio.run(project.sink.verdict(make_verdict(run_id, "d0", {"a": True, "b": None})))
    assert project._connection.rows("SELECT annotator, item, value, reason FROM annotations ORDER BY item") == [
        ("verdict", "a", "true", ""),
        ("verdict", "b", None, "could not be read"),
    ]


def test_failed_attempts_are_stored(project, run_id):
    attempts = [
        FailedAttempt(
            run_id, f"d{n}", "critic", f"k{n}", "stalled", "silence", Usage(5, 2), 0.25, "half a", 1.5, 100.0 + n
        )
        for n in range(3)
    ]
    for row in attempts:
        project.sink.attempt(row)
    asyncio.run(project.sink.state(run_id, "paused"))
    run = project.store.runs.get(run_id)
    assert (run.calls, run.prompt_tokens, run.completion_tokens, run.cost_usd) == (
        0,
        15,
        6,
        0.75,
    )  # failed attempts are billed too
    stored = project._connection.rows("SELECT * FROM attempts ORDER BY document_id")
    assert stored == [
        (run_id, f"d{n}", "critic", f"k{n}", "stalled", "silence", "half a", 5, 2, 0.25, 1.5, 100.0 + n)
        for n in range(3)
    ]


def test_failed_attempt_that_the_disk_refused_is_written_later(project, run_id, monkeypatch):
    fail_while(monkeypatch, run_writer, "_insert_attempts", full := threading.Event())
    full.set()
    project.sink.attempt(FailedAttempt(run_id, "d0", "critic", "k0", "stalled", "silence", Usage(5, 2), 0.25))
    flush(project)
    assert project.store.runs.require(run_id).cost_usd == 0
    full.clear()
    project.write_refused()
    project.write_refused()
    assert project.store.runs.require(run_id).cost_usd == 0.25
