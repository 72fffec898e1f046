"""Tests of documents that exceed the context: failed, cut or skipped, depending on the settings of the run."""
# ruff: noqa: E501  (error messages are quoted verbatim)

from __future__ import annotations

import asyncio
import re

import pytest

from core import errors
from core.debate.turns import Request
from core.documents import Document
from core.engine.truncation import describe_cut, share_that_fits, truncate
from core.runs import ErrorHandling, OverlongPolicy
from tests.core.engine.fakes import World, find_service, settings

LONG = "The staff were kind. " * 200  # 4,200 characters, 1,050 tokens in the fake


@pytest.mark.parametrize(
    ("message", "share"),
    [
        (
            "toy answered 400 for m-70000: request (6018 tokens) exceeds the available context size (1280 tokens), try",
            1280 / 6018,
        ),
        (
            "x answered 400 for m: This model's maximum context length is 4096 tokens. However, you requested 5120 tokens (4096 in the "
            "messages, 1024 in the completion).",
            4096 / 5120,
        ),
        ("x answered 400 for m: prompt is too long: 210000 tokens > 200000 maximum.", 200000 / 210000),
        (
            "x answered 400 for m: The input token count (40000) exceeds the maximum number of tokens allowed (32768).",
            32768 / 40000,
        ),
    ],
)
def test_share_that_fits_is_read_from_the_error_message(message: str, share: float) -> None:
    assert share_that_fits(message) == pytest.approx(share * 0.92)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "too long",
        "x answered 413 for m: Request Entity Too Large.",
        "x: max_tokens is too large: its context is 512 tokens, your request has 100 input tokens",
        "v answered 400 for m: This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input tokens, "
        "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=8193).",
    ],
)
def test_half_is_kept_if_the_message_does_not_say_how_much_fits(message: str) -> None:
    assert share_that_fits(message) is None
    cut = truncate(Document("1", {"text": LONG}), message, 2 * len(LONG))
    assert cut is not None
    assert len(cut.text) == len(LONG) / 2


def test_longest_field_is_cut_at_its_end_and_short_texts_are_not_cut() -> None:
    document = Document("1", {"title": "A title", "text": LONG})
    cut = truncate(document, "too long", 5000)
    assert cut is not None
    assert cut.fields == {"title": "A title", "text": LONG[:2100]}
    assert truncate(Document("1", {"text": "short"}), "too long", 5000) is None


def test_note_names_the_field_that_was_cut() -> None:
    document = Document("1", {"text": "A short text", "neighbours": LONG})
    cut = truncate(document, "too long", len(LONG))
    assert cut is not None
    half, whole = f"{len(LONG) // 2:,}", f"{len(LONG):,}"
    note = f"was cut to its first {half} of {whole} characters, to fit the model's context"
    assert describe_cut(document, cut) == f"'neighbours' {note}"
    alone, shorter = (Document("1", {"text": one.fields["neighbours"]}) for one in (document, cut))
    assert describe_cut(alone, shorter) == f"the text {note}"


def test_text_is_cut_by_what_the_whole_prompt_exceeds() -> None:
    # llama.cpp with a codebook of 3,300 tokens: shares of the text alone would need more than six attempts
    def fits(characters: int) -> str | None:
        tokens = 3300 + characters // 4
        return f"request ({tokens} tokens) exceeds the available context size (4096 tokens)" if tokens > 4096 else None

    document: Document | None = Document("1", {"text": "The staff were kind. " * 8000})
    attempts = 0
    while document is not None and (refusal := fits(len(document.text))):
        attempts += 1
        document = truncate(document, f"toy answered 400 for m: {refusal}", 3300 * 4 + len(document.text))
    assert document is not None
    assert attempts <= 2
    assert len(document.text) > 1000


def prompt_tokens(ask: Request) -> int:
    return sum(len(message.content) for message in ask.messages) // 4


def limited_context(context: int, *, numbers: bool = True):
    """Return a script that fails above this context length, at four characters per token."""

    def script(ask: Request, document: Document, times: int) -> str | Exception:
        if (tokens := prompt_tokens(ask)) <= context:
            return find_service(ask, document, times)
        message = (
            f"request ({tokens} tokens) exceeds the available context size ({context} tokens)"
            if numbers
            else "too long"
        )
        return errors.ContextTooLong(f"fake answered 400 for m: {message}.")

    return script


def run(on_long: OverlongPolicy, world: World, count: int = 2):
    async def load(ids):
        return [Document(id, {"text": LONG if id == "d0" else "The staff were kind."}) for id in ids]

    world.load = load  # type: ignore[method-assign]
    work = world.work(settings("ecj", handling=ErrorHandling(on_long=on_long)), count)
    return asyncio.run(world.run(work).run())


def test_too_long_document_fails_by_default() -> None:
    world = World(script=limited_context(1000))
    status = run("fail", world)
    assert (status.verdicts, status.failed) == (1, 1)
    verdict = world.verdicts["d0"].verdict
    assert verdict.error is not None
    assert "on_long" in verdict.error.message


def test_skipped_document_is_unresolved() -> None:
    world = World(script=limited_context(1000))
    status = run("skip", world)
    assert (status.verdicts, status.unresolved, status.failed) == (1, 1, 0)
    assert all("skipped" in reason for reason in world.verdicts["d0"].verdict.reasons.values())
    assert {role for document, role in world.requested if document == "d0"} == {"extractor"}


@pytest.mark.parametrize("numbers", [True, False])
def test_verdict_on_a_cut_document_notes_the_cut(numbers: bool) -> None:
    world = World(script=limited_context(1000, numbers=numbers))
    status = run("cut", world)
    assert (status.verdicts, status.failed) == (2, 0)
    (note,) = world.verdicts["d0"].verdict.notes
    match = re.search(r"first ([\d,]+) of 4,200 characters", note)
    assert match is not None
    assert 1000 < int(match[1].replace(",", "")) < 4200
    assert world.verdicts["d1"].verdict.notes == ()
    turns = [row.turn for row in world.turns if row.document_id == "d0"]
    assert len(turns) == len(set(turns)), "turn numbers are unique, also for turns before a later cut"


def test_resumed_run_cuts_at_the_same_position_and_repeats_no_call() -> None:
    world = World(script=limited_context(1000))
    run("cut", world)
    paid = len(world.replies)
    world.verdicts.clear()
    status = run("cut", world)
    assert status.verdicts == 2
    assert len(world.replies) == paid


def test_document_that_cannot_be_cut_enough_fails() -> None:
    world = World(script=limited_context(10))
    status = run("cut", world)
    assert status.failed == 2
    for outcome in world.verdicts.values():
        assert outcome.verdict.error is not None
        assert "on_long" not in outcome.verdict.error.message
        assert "Shorten the codebook" in outcome.verdict.error.message
        assert set(outcome.verdict.reasons.values()) == {outcome.verdict.error.message}
