"""Tests of the reply folder that Ray workers share."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.annotations import Precedent
from core.debate.turns import Reply, Usage
from core.engine.interfaces import FailedAttempt
from core.engine.ray_worker import precedents_of, precedents_text
from core.engine.reply_files import FolderReplyStore, ReplyLogReader, append_replies, take_attempts, write_attempt

REPLY = Reply(
    "text",
    usage=Usage(1, 2),
    cost_usd=0.5,
    seconds=1.0,
    unix_time=2.0,
    refused_params=("seed",),
    key="k",
    run_id="r0001",
)


def test_reader_yields_each_line_once_and_leaves_an_incomplete_line(tmp_path: Path) -> None:
    reader = ReplyLogReader(tmp_path)
    append_replies(tmp_path / "a.jsonl", REPLY)
    (tmp_path / "b.jsonl").write_text('{"key": "half', encoding="utf-8")
    assert list(reader.new_replies()) == [REPLY]
    assert list(reader.new_replies()) == []


def test_reply_of_one_worker_is_found_by_another(tmp_path: Path) -> None:
    one, other = FolderReplyStore(tmp_path), FolderReplyStore(tmp_path)
    asyncio.run(one.commit(REPLY))
    assert not other.contains("k")
    other.refresh()
    assert asyncio.run(other.fetch("k")) == REPLY


def test_failed_attempt_is_taken_once(tmp_path: Path) -> None:
    attempt = FailedAttempt("r0001", "d1", "judge", "k", "cut", "It ended.", Usage(1, 2), 0.5, "half \ud83d", 1.0, 2.0)
    write_attempt(tmp_path, attempt)
    (tmp_path / "half.part").write_text('{"run_id"', encoding="utf-8")
    assert take_attempts(tmp_path) == [attempt]
    assert take_attempts(tmp_path) == []


def test_precedents_round_trip() -> None:
    shown = {("item", True): (Precedent("d1", "words", {"item": True}),), ("label", "x"): ()}
    assert precedents_of(precedents_text(shown)) == shown
