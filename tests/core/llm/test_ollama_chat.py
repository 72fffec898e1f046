"""Tests of the Ollama API: thinking, schemas and the requested context."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.debate.turns import Request
from core.llm import ollama_chat
from core.llm.capabilities import ModelCapabilities
from core.llm.connections import Dialect
from core.llm.model_library import ModelLibrary
from core.prompts import Message
from core.runs import RoleModel
from tests.core.engine.fakes import settings
from tests.core.llm.asking import ask, refusing
from tests.each_row import each_row
from tests.servers.scripted import event, piece, sending, stream


async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Reply "none" with thinking, unless thinking is disabled."""
    thinks = body.get("think", True) is not False
    lines = [{"message": {"role": "assistant", "thinking": "hm"}, "done": False}] if thinks else []
    lines.append({"message": {"content": "none"}, "done": False})
    lines.append({"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 2})
    return await stream(request, *[json.dumps(line).encode() + b"\n" for line in lines])


@pytest.mark.parametrize(
    ("effort", "think"), [(None, None), ("none", False), ("minimal", False), ("low", "low"), ("high", "high")]
)
def test_think_parameter_follows_reasoning_effort(effort: str | None, think: object) -> None:
    outcome = ask(answer, dialect="ollama", reasoning_effort=effort)
    assert outcome.sent[0].get("think") == think
    assert outcome.reply.reasoning == ("" if think is False else "hm")
    assert outcome.reply.text == "none"


def test_unsupported_think_level_becomes_true_or_is_left_out() -> None:
    levels = {"error": 'think value "low" is not supported for this model'}
    outcome = ask(
        refusing(answer, (lambda body: body.get("think") == "low", 400, levels)),
        dialect="ollama",
        times=2,
        reasoning_effort="low",
    )
    assert [body["think"] for body in outcome.sent] == ["low", True, True]
    assert outcome.reply.refused_params == ()
    never = {"error": '"m" does not support thinking'}
    outcome = ask(
        refusing(answer, (lambda body: "think" in body, 400, never)), dialect="ollama", reasoning_effort="low"
    )
    assert "think" not in outcome.sent[-1]
    assert outcome.reply.refused_params == ("think",)


def test_num_ctx_is_a_power_of_two_and_never_shrinks() -> None:
    def before(capabilities: ModelCapabilities) -> None:
        capabilities.num_ctx = 8192

    assert ask(answer, dialect="ollama").sent[0]["options"]["num_ctx"] == 4096
    assert ask(answer, dialect="ollama", max_tokens=4000).sent[0]["options"]["num_ctx"] == 8192
    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 8192


@pytest.mark.parametrize(("text", "context"), [("x" * 12_000, 8192), ("这家酒店的房间很干净。" * 1100, 16_384)])
def test_num_ctx_suits_scripts_with_a_token_per_character(text: str, context: int) -> None:
    model_request = ModelLibrary().build_request(
        None, RoleModel(connection="ollama", model="m"), Request("a", (Message("user", text),)), settings()
    )
    assert ollama_chat._context(model_request, 1024, ModelCapabilities(context=131_072)) == context


def test_num_ctx_is_bounded_by_the_model_and_too_long_prompts_are_not_sent() -> None:
    def before(capabilities: ModelCapabilities) -> None:
        capabilities.context = 3000

    assert ask(answer, dialect="ollama", before=before).sent[0]["options"]["num_ctx"] == 3000

    def tiny(capabilities: ModelCapabilities) -> None:
        capabilities.context = 0

    sent: list[object] = []
    with pytest.raises(errors.ContextTooLong, match="at least 1 tokens") as caught:
        ask(refusing(answer, (sent.append, 500, {})), dialect="ollama", before=tiny)
    assert sent == []
    assert "cut" in caught.value.remedy


def test_schema_is_sent_as_format() -> None:
    outcome = ask(answer, dialect="ollama", json_schema="on")
    assert outcome.sent[0]["format"]["required"] == ["reasoning", "labels"]


@each_row(
    "words",
    [
        "json: cannot unmarshal object into Go struct field ChatRequest.format of type string",
        # ollama-openai-proxy 0.7
        "Invalid request body: 1 validation error for OllamaChatRequest\nformat\n  Input should be 'json' "
        "[type=literal_error, input_value={'type': 'object', 'prope...ionalProperties': False}, input_type=dict]",
    ],
)
def test_schema_is_left_out_for_versions_that_know_no_schema(words: str) -> None:
    refuse = refusing(answer, (lambda body: "format" in body, 400, {"error": words}))
    outcome = ask(refuse, dialect="ollama", json_schema="on")
    assert outcome.reply.text == "none"
    assert outcome.reply.refused_params == ("response_format",)


def test_text_in_the_field_of_the_other_endpoint_is_read() -> None:
    pieces: list[dict[str, Any]] = [  # ollama-openai-proxy 0.7
        {"model": "m", "response": None, "done": False},
        {"model": "m", "response": "no", "done": False},
        {"model": "m", "response": "ne", "done": False},
        {"model": "m", "response": "", "done": True, "done_reason": "stop"},
    ]
    outcome = ask(sending(*[json.dumps(piece).encode() + b"\n" for piece in pieces]), "ollama")
    assert outcome.reply.text == "none"
    assert outcome.reply.usage.estimated


def test_missing_model_suggests_ollama_pull() -> None:
    absent = {"error": 'model "m" not found, try pulling it first'}
    with pytest.raises(errors.NoSuchModel) as caught:
        ask(refusing(answer, (lambda _body: True, 404, absent)), dialect="ollama")
    assert caught.value.remedy.endswith("ollama pull m")
    with pytest.raises(errors.NoSuchModel, match="Check the address"):
        ask(refusing(answer, (lambda _body: True, 404, "404 page not found")), dialect="ollama")


def test_cloud_model_of_a_machine_that_is_not_signed_in_suggests_to_sign_in() -> None:
    refusal = {"error": "unauthorized", "signin_url": "https://ollama.com/connect?name=x"}
    with pytest.raises(errors.Unauthorised, match="run: ollama signin"):
        ask(refusing(answer, (lambda _body: True, 401, refusal)), dialect="ollama")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"message": {"content": "no"}}], errors.CutStream),
        ([{"message": {"content": "no"}}, {"error": "llama runner process has terminated"}], errors.ServerFault),
        ([{"message": {"content": ""}, "done": True, "done_reason": "stop"}], errors.EmptyReply),
    ],
)
def test_broken_streams_raise_the_right_error(lines: list[dict[str, Any]], expected: type[errors.ModelError]) -> None:
    with pytest.raises(expected) as caught:
        ask(sending(*[json.dumps(line).encode() + b"\n" for line in lines]), "ollama")
    assert caught.value.partial == ("no" if len(lines) == 2 or expected is errors.CutStream else "")


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_endless_stream_of_empty_events_times_out(dialect: Dialect) -> None:
    # Only events with text reset the silence timeout.
    line = b'{"message": {"content": ""}, "done": false}\n'
    chunk = line if dialect == "ollama" else event(piece(""))

    with pytest.raises(errors.TimedOut, match=r"silent for 0\.2 s"):
        ask(sending(*[chunk] * 500, pause=0.02), dialect, silence=0.2)
