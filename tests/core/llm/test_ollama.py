"""Ollama's own API: thinking, schemas, and a context that is asked for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.llm.capabilities import ModelCapabilities
from core.llm.connections import Dialect
from tests.core.llm.asking import ask, refusing
from tests.servers.scripted import event, piece, stream


async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Thinks when told to, or left to itself; says none."""
    thinks = body.get("think", True) is not False
    lines = [{"message": {"role": "assistant", "thinking": "hm"}, "done": False}] if thinks else []
    lines.append({"message": {"content": "none"}, "done": False})
    lines.append({"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2})
    return await stream(request, *[json.dumps(line).encode() + b"\n" for line in lines])


@pytest.mark.parametrize(("effort", "think"), [(None, None), ("minimal", False), ("low", "low"), ("high", "high")])
def test_thinking_follows_the_effort(effort: str | None, think: object) -> None:
    told = ask(answer, dialect="ollama", reasoning_effort=effort)
    assert told.sent[0].get("think") == think
    assert told.reply.reasoning == ("" if think is False else "hm")
    assert told.reply.text == "none"


def test_a_model_that_knows_no_levels_is_told_yes_and_one_that_cannot_think_nothing() -> None:
    levels = {"error": 'think value "low" is not supported for this model'}
    told = ask(refusing(answer, (lambda body: body.get("think") == "low", 400, levels)), dialect="ollama", times=2,
               reasoning_effort="low")  # fmt: skip
    assert [body["think"] for body in told.sent] == ["low", True, True]
    assert told.reply.refused_params == ()
    never = {"error": '"m" does not support thinking'}
    told = ask(refusing(answer, (lambda body: "think" in body, 400, never)), dialect="ollama", reasoning_effort="low")
    assert "think" not in told.sent[-1]
    assert told.reply.refused_params == ("think",)


def test_the_context_is_a_power_of_two_and_never_shrinks() -> None:
    def before(known: ModelCapabilities) -> None:
        known.num_ctx = 8192

    assert ask(answer, dialect="ollama").sent[0]["options"]["num_ctx"] == 4096
    assert ask(answer, dialect="ollama", max_tokens=4000).sent[0]["options"]["num_ctx"] == 8192
    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 8192


def test_no_more_context_is_asked_for_than_there_is_and_what_cannot_fit_is_not_asked() -> None:
    def before(known: ModelCapabilities) -> None:
        known.context = 3000

    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 3000

    def tiny(known: ModelCapabilities) -> None:
        known.context = 0

    sent: list[object] = []
    with pytest.raises(errors.ContextTooLong, match="at least 1 tokens") as caught:
        ask(refusing(answer, (sent.append, 500, {})), dialect="ollama", before=tiny)
    assert sent == []
    assert "cut" in caught.value.remedy


def test_a_schema_is_its_format() -> None:
    told = ask(answer, dialect="ollama", json_schema="on")
    assert told.sent[0]["format"]["required"] == ["reasoning", "labels"]


def test_a_model_that_was_not_pulled_is_to_be_pulled() -> None:
    absent = {"error": 'model "m" not found, try pulling it first'}
    with pytest.raises(errors.NoSuchModel) as caught:
        ask(refusing(answer, (lambda _body: True, 404, absent)), dialect="ollama")
    assert caught.value.remedy.endswith("ollama pull m")
    with pytest.raises(errors.NoSuchModel, match="Check the address"):
        ask(refusing(answer, (lambda _body: True, 404, "404 page not found")), dialect="ollama")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"message": {"content": "no"}}], errors.CutStream),
        ([{"message": {"content": "no"}}, {"error": "llama runner process has terminated"}], errors.ServerFault),
        ([{"message": {"content": ""}, "done": True, "done_reason": "stop"}], errors.EmptyReply),
    ],
)
def test_streams_that_go_wrong(lines: list[dict[str, Any]], expected: type[errors.ModelError]) -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return await stream(request, *[json.dumps(line).encode() + b"\n" for line in lines])

    with pytest.raises(expected) as caught:
        ask(behave, dialect="ollama")
    assert caught.value.partial == ("no" if len(lines) == 2 or expected is errors.CutStream else "")


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_a_stream_without_a_word_and_without_an_end_is_silence(dialect: Dialect) -> None:
    """Whole events, but empty ones: what the model says is waited for, not that the line is alive."""
    one = b'{"message": {"content": ""}, "done": false}\n'
    said = one if dialect == "ollama" else event(piece(""))

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for _ in range(500):
            await response.write(said)
            await asyncio.sleep(0.02)
        return response

    with pytest.raises(errors.TimedOut, match=r"silent for 0\.2 s"):
        ask(behave, dialect=dialect, silence=0.2)
