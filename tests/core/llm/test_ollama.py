"""Ollama's own API: thinking, schemas, and a context that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.llm.capabilities import Known
from tests.core.llm.asking import ask, refusing
from tests.servers.scripted import stream


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
    assert told.reply.dropped == ()
    never = {"error": '"m" does not support thinking'}
    told = ask(refusing(answer, (lambda body: "think" in body, 400, never)), dialect="ollama", reasoning_effort="low")
    assert "think" not in told.sent[-1]
    assert told.reply.dropped == ("think",)


def test_the_context_is_a_power_of_two_and_never_shrinks() -> None:
    def before(known: Known) -> None:
        known.num_ctx = 8192

    assert ask(answer, dialect="ollama").sent[0]["options"]["num_ctx"] == 4096
    assert ask(answer, dialect="ollama", max_tokens=4000).sent[0]["options"]["num_ctx"] == 8192
    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 8192


def test_no_more_context_is_asked_for_than_there_is_and_what_cannot_fit_is_not_asked() -> None:
    def before(known: Known) -> None:
        known.context = 3000

    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 3000

    def tiny(known: Known) -> None:
        known.context = 0

    sent: list[object] = []
    with pytest.raises(errors.ContextTooLong, match="at least 1 tokens") as caught:
        ask(refusing(answer, (sent.append, 500, {})), dialect="ollama", before=tiny)
    assert sent == []
    assert "cut" in caught.value.remedy


def test_a_schema_is_its_format() -> None:
    told = ask(answer, dialect="ollama", json_schema="on")
    assert told.sent[0]["format"]["required"] == ["reasoning", "labels"]
