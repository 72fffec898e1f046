"""Replies that workers on several machines share: each line once, none before it is whole."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.annotations import Precedent
from core.debate.turns import Usage
from core.engine.ports import StoredReply
from core.engine.ray_worker import precedents_of, precedents_text
from core.engine.reply_log import Journal, JournalStore, write

REPLY = StoredReply("k", "text", "", "stop", Usage(1, 2), 0.5, 1.0, 2.0, ("seed",), "r0001")


def test_each_line_is_given_once_and_one_that_is_not_whole_is_left(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    write(tmp_path / "a.jsonl", REPLY)
    (tmp_path / "b.jsonl").write_text('{"key": "half', encoding="utf-8")
    assert list(journal.news()) == [REPLY]
    assert list(journal.news()) == []


def test_what_one_worker_paid_for_another_finds(tmp_path: Path) -> None:
    one, other = JournalStore(tmp_path), JournalStore(tmp_path)
    asyncio.run(one.commit(REPLY))
    assert not other.known("k")
    other.refresh()
    assert asyncio.run(other.fetch("k")) == REPLY


def test_precedents_come_back_as_they_were() -> None:
    shown = {("item", True): (Precedent("d1", "words", {"item": True}),), ("label", "x"): ()}
    assert precedents_of(precedents_text(shown)) == shown
