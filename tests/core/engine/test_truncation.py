"""Documents that exceed the context: failed, cut or skipped, depending on the run's settings."""
# ruff: noqa: E501  (the words of servers stand as they came)

from __future__ import annotations

import asyncio
import re

import pytest

from core import errors
from core.debate.turns import Request
from core.documents import Document
from core.engine.debate import HALF, share_that_fits, shortened
from core.runs import Handling, OnLong
from tests.core.engine.fakes import World, agreeing, settings

LONG = "The staff were kind. " * 200  # 4,200 characters, by the fake's count 1,050 tokens


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("toy answered 400 for m-70000: request (6018 tokens) exceeds the available context size (1280 tokens), try", 1280 / 6018),
        ("x answered 400 for m: This model's maximum context length is 4096 tokens. However, you requested 5120 tokens (4096 in the "
         "messages, 1024 in the completion).", 4096 / 5120),
        ("x answered 400 for m: prompt is too long: 210000 tokens > 200000 maximum.", 200000 / 210000),
        ("x answered 400 for m: The input token count (40000) exceeds the maximum number of tokens allowed (32768).", 32768 / 40000),
    ],
)  # fmt: skip
def test_share_that_fits_is_read_from_the_error_message(words: str, share: float) -> None:
    assert share_that_fits(words) == pytest.approx(share * 0.92)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "too long",
        "x answered 413 for m: Request Entity Too Large.",
        "x: max_tokens is too large: its context is 512 tokens, your request has 100 input tokens",
    ],
)
def test_half_is_kept_if_the_message_has_no_two_numbers(words: str) -> None:
    assert share_that_fits(words) == HALF


def test_longest_field_is_cut_at_its_end_and_short_texts_are_not_cut() -> None:
    document = Document("1", {"title": "A title", "text": LONG})
    cut = shortened(document, "too long")
    assert cut is not None
    assert cut.fields == {"title": "A title", "text": LONG[:2100]}
    assert shortened(Document("1", {"text": "short"}), "too long") is None


def prompt_tokens(ask: Request) -> int:
    return sum(len(message.content) for message in ask.messages) // 4


def small(context: int, *, numbers: bool = True):
    """Return a script of a server with this context, at four characters per token."""

    def script(ask: Request, document: Document, times: int) -> str | Exception:
        if (asked := prompt_tokens(ask)) <= context:
            return agreeing(ask, document, times)
        told = (
            f"request ({asked} tokens) exceeds the available context size ({context} tokens)" if numbers else "too long"
        )
        return errors.ContextTooLong(f"fake answered 400 for m: {told}.")

    return script


def run(on_long: OnLong, world: World, count: int = 2):
    async def load(ids):
        return [Document(one, {"text": LONG if one == "d0" else "The staff were kind."}) for one in ids]

    world.load = load  # type: ignore[method-assign]
    work = world.work(settings("ecj", handling=Handling(on_long=on_long)), count)
    return asyncio.run(world.run(work).run())


def test_too_long_document_fails_by_default() -> None:
    world = World(script=small(1000))
    status = run("fail", world)
    assert (status.verdicts, status.failed) == (1, 1)
    verdict = world.verdicts["d0"].verdict
    assert verdict.error is not None
    assert "on_long" in verdict.error.message


def test_skipped_document_is_unresolved() -> None:
    world = World(script=small(1000))
    status = run("skip", world)
    assert (status.verdicts, status.unresolved, status.failed) == (1, 1, 0)
    assert all("skipped" in reason for reason in world.verdicts["d0"].verdict.reasons.values())
    assert {role for document, role in world.asked if document == "d0"} == {"extractor"}


@pytest.mark.parametrize("numbers", [True, False])
def test_verdict_on_a_cut_document_notes_the_cut(numbers: bool) -> None:
    world = World(script=small(1000, numbers=numbers))
    status = run("cut", world)
    assert (status.verdicts, status.failed) == (2, 0)
    (note,) = world.verdicts["d0"].verdict.notes
    found = re.search(r"first ([\d,]+) of 4,200 characters", note)
    assert found is not None
    assert 1000 < int(found[1].replace(",", "")) < 4200
    assert world.verdicts["d1"].verdict.notes == ()
    turns = [row.turn for row in world.turns if row.document_id == "d0"]
    assert len(turns) == len(set(turns)), "each turn has a place of its own, those before a later cut included"


def test_resumed_run_cuts_at_the_same_place_and_pays_nothing_twice() -> None:
    world = World(script=small(1000))
    run("cut", world)
    paid = len(world.replies)
    world.verdicts.clear()
    status = run("cut", world)
    assert status.verdicts == 2
    assert len(world.replies) == paid


def test_document_that_cannot_be_cut_enough_fails() -> None:
    status = run("cut", World(script=small(10)))
    assert status.failed == 2
