"""Tests of event streams in all standard forms and in some nonstandard forms."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from core import errors
from core.llm import streaming
from core.llm.connections import Dialect
from tests.core.llm.asking import REQUEST, ROLE_MODEL, ask
from tests.each_row import each_row
from tests.linear_time import check_linear_time
from tests.servers.scripted import Behaviour, event, piece, sending, stream

REPLY = "The aspects present in this review are: #Service"
EVENTS = [piece("The aspects present"), piece(" in this review are: #Service"), piece(finish="stop")]
USAGE: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}
DONE = b"data: [DONE]\n\n"
COMPACT = b"".join(map(event, [*EVENTS, USAGE])) + DONE


def pretty(data: Any) -> bytes:
    """Return an event that spans several lines."""
    return b"".join(b"data: " + line.encode() + b"\n" for line in json.dumps(data, indent=1).splitlines()) + b"\n"


PRETTY = b"".join(map(pretty, [*EVENTS, USAGE])) + DONE


@each_row("body", [COMPACT, PRETTY])
@each_row("end", [b"\n", b"\r\n", b"\r"])
@each_row("bom", [b"", b"\xef\xbb\xbf"])
def test_any_line_end_and_multi_line_events_are_read(body: bytes, end: bytes, bom: bytes) -> None:
    reply = ask(sending(bom + body.replace(b"\n", end))).reply
    assert reply.text == REPLY
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)


@each_row("end", [b"\r\n", b"\r"])
def test_stream_is_read_byte_by_byte(end: bytes) -> None:
    body = PRETTY.replace(b"\n", end)
    assert ask(sending(*[body[at : at + 1] for at in range(len(body))])).reply.text == REPLY


def test_other_fields_comments_and_missing_blank_lines_are_accepted() -> None:
    body = b": hello\nretry: 10\n\n" + COMPACT.replace(b"data: ", b"id: 7\nevent: completion\ndata:")
    assert ask(sending(body)).reply.text == REPLY
    assert ask(sending(COMPACT.replace(b"\n\n", b"\n"))).reply.text == REPLY


def test_unknown_field_does_not_end_an_event() -> None:
    body = PRETTY.replace(b"data:  ", b"id: 1\n: keep\ndata:  ")
    assert ask(sending(body)).reply.text == REPLY


def test_invalid_utf_8_is_replaced() -> None:
    assert ask(sending(COMPACT.replace(b"Service", b"Serv\xefce"))).reply.text == REPLY.replace(
        "Service", "Serv\ufffdce"
    )


def test_second_choice_is_ignored() -> None:
    both = [
        {"choices": [{"index": 0, "delta": {"content": REPLY}}, {"index": 1, "delta": {"content": "other"}}]},
        {"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]},
        {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]},
    ]
    reply = ask(sending(b"".join(map(event, both)) + DONE)).reply
    assert (reply.text, reply.finish_reason) == (REPLY, "stop")


WHOLE = {"choices": [{"message": {"content": REPLY}, "finish_reason": "stop"}], "usage": USAGE["usage"]}


@each_row("kind", ["application/json", "text/event-stream", "text/plain"])
@each_row("indent", [None, 2])
def test_complete_reply_is_read_under_any_content_type(kind: str, indent: int | None) -> None:
    assert ask(sending(json.dumps(WHOLE, indent=indent).encode(), kind=kind)).reply.text == REPLY
    assert ask(sending(COMPACT, kind=kind)).reply.text == REPLY


def test_complete_reply_within_an_envelope_is_read() -> None:
    reply = ask(sending(json.dumps({"success": True, "data": WHOLE}).encode(), kind="application/json")).reply
    assert (reply.text, reply.usage.completion_tokens) == (REPLY, 7)


def test_complete_reply_without_a_finish_reason_is_read() -> None:
    body = {"choices": [{"message": {"content": REPLY}}]}
    assert ask(sending(json.dumps(body).encode(), kind="application/json")).reply.finish_reason == "stop"
    with pytest.raises(errors.CutStream):
        ask(sending(b'{"choices": [{"delta": {"content": "half"}}]}', kind="text/event-stream"))
    with pytest.raises(errors.EmptyReply):
        ask(sending(b'{"choices": []}', kind="application/json"))


@each_row(
    ("body", "expected", "message"),
    [
        (event(EVENTS[0]) + b'error: {"code": 500, "message": "slot gone"}\n\n', errors.ServerFault, "slot gone"),
        (event(EVENTS[0]) + b'{"error": {"message": "out of memory"}}\n', errors.ServerFault, "out of memory"),
        (event(EVENTS[0]) + b'data: {"choi\n\n' + DONE, errors.MalformedStream, "not JSON"),
        (event(EVENTS[0]) + b'data: {"choi\n' + DONE, errors.MalformedStream, "not JSON"),
        (event(EVENTS[0]) + b"data: {\n" * 3, errors.MalformedStream, "not JSON"),
        (event(EVENTS[0]) + b'data: {"choi', errors.MalformedStream, "not JSON"),
        (event(EVENTS[0]) + b'data: {"choi \n', errors.MalformedStream, r'not JSON: {"choi\. Check'),
    ],
)
def test_error_within_a_stream_keeps_the_partial_text(
    body: bytes, expected: type[errors.ModelError], message: str
) -> None:
    with pytest.raises(expected, match=message) as caught:
        ask(sending(body))
    assert caught.value.partial == "The aspects present"


@pytest.mark.parametrize("body", [b"data: {\n" * 1000, b"data: " + b"x" * 9000])
def test_too_long_event_is_not_requested_again(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(streaming, "MAX_LINE", 1000)
    with pytest.raises(errors.ModelError, match="more than 1,000 bytes") as caught:
        ask(sending(body))
    assert not caught.value.retryable


@each_row("kind", ["application/json", "text/event-stream"])
def test_json_null_body_is_rejected(kind: str) -> None:
    with pytest.raises(errors.MalformedStream):
        ask(sending(b"null", kind=kind))


def test_error_body_in_two_parts_is_read_completely() -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        await response.write(b'{"error": {"message": "the request is')
        await asyncio.sleep(0.05)
        await response.write(b' larger", "code": "context_length_exceeded"}}')
        return response

    with pytest.raises(errors.ContextTooLong, match="larger"):
        ask(behave)


def test_invalid_gzip_is_rejected() -> None:
    async def behave(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=b"no gzip at all", headers={"content-encoding": "gzip"})

    with pytest.raises(errors.MalformedStream, match="cannot be unpacked"):
        ask(behave)


class _Content:
    """Content of a response that returns these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def on_eof(self, _callback: object) -> None:
        pass

    def is_eof(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    async def readany(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"", b"bc"]).filter(bool), max_size=12), st.data())
def test_lines_do_not_depend_on_chunk_boundaries(parts: list[bytes], data: st.DataObject) -> None:
    body = b"".join(parts)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(len(body) - 1, 1)), max_size=5)))
    pieces = [part for part in (body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)) if part]

    class Response:
        content = _Content(pieces)
        connection = None

    async def go() -> list[bytes]:
        reading = streaming.Lines(Response(), ROLE_MODEL)  # type: ignore[arg-type]
        return [line async for some in reading for line in some]

    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    assert asyncio.run(go()) == (lines if lines[-1] else lines[:-1])


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_endless_lines_without_text_are_a_runaway(dialect: Dialect) -> None:
    lines = b'{"done": false}\n' if dialect == "ollama" else b"data: {}\n\n"
    with pytest.raises(errors.Runaway, match="lines without an end"):
        ask(sending(*[lines * 1_000] * 60), dialect=dialect, max_tokens=1)


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
@pytest.mark.parametrize("more", [b"", b'{"message": {"content": " and more"}, "done": false}\n'])
def test_client_does_not_wait_for_a_finished_stream_that_stays_open(
    dialect: Dialect, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "END_OF_STREAM_SECONDS", 1.0)
    done = {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 7}
    lines = [{"message": {"content": REPLY}, "done": False}, done]
    ollama = b"".join(json.dumps(line).encode() + b"\n" for line in lines) + more

    closed = []

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(ollama if dialect == "ollama" else b"".join(map(event, EVENTS)))
        if dialect == "openai":
            await asyncio.sleep(0.05)  # the usage follows with a delay
            await response.write(event(USAGE))
        await asyncio.sleep(20)
        closed.append(True)
        return response

    reply = ask(behave, dialect=dialect).reply
    assert (reply.text, reply.finish_reason, reply.usage.completion_tokens) == (REPLY, "stop", 7)
    assert not closed


@each_row(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("tool_calls", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_finish_reason_is_normalised(reason: str, expected: str) -> None:
    assert ask(sending(event(EVENTS[0]) + event(piece(finish=reason)) + DONE)).reply.finish_reason == expected


@each_row(
    ("last", "expected"),
    [
        (piece(finish="error"), errors.CutStream),
        (piece(finish="insufficient_system_resource"), errors.CutStream),
        (piece(finish="error_finish"), errors.CutStream),
        ({"error": {"message": "Too many tokens, please wait before trying again."}}, errors.RateLimited),  # Bedrock
        (piece(finish="SAFETY"), errors.Refused),
        (piece(finish="guardrail_intervened"), errors.Refused),
        (piece(finish="refusal"), errors.Refused),
        (piece(finish="content_filter: RECITATION"), errors.Refused),
        ({"error": {"message": "slow", "type": "None", "param": "None", "code": "429"}}, errors.RateLimited),
        ({"error": {"message": "bad key", "code": "401"}}, errors.Unauthorised),
        ({"error": {"message": "spent", "code": "insufficient_quota"}}, errors.QuotaSpent),
        ({"error": {"message": "filtered by the content management policy"}}, errors.Refused),
        ({"error": {"message": "odd", "type": "invalid_request_error", "code": None}}, errors.BadRequest),
        ({"error": "Unexpected endpoint or method. (POST /chat/completions)"}, errors.NoSuchModel),
        ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, errors.ServerFault),
        (piece(finish="null"), errors.CutStream),
        ({"choices": None, "error_type": "BadRequestError", "error_message": "prompt too long"}, errors.ContextTooLong),
        ({"choices": [{"error": {"code": 502, "message": "gone"}, "finish_reason": "error"}]}, errors.ServerFault),
    ],
)
def test_reply_with_an_abnormal_end_is_an_error(last: Any, expected: type[errors.ModelError]) -> None:
    # The text before the error could be mistaken for a decision.
    with pytest.raises(expected) as caught:
        ask(sending(event(piece(REPLY)) + event(last)))
    assert caught.value.partial == REPLY


STREAMS = {
    "OpenRouter": [
        b": OPENROUTER PROCESSING\n\n",
        event({"provider": "x", **piece("", reasoning="hm", reasoning_details=[{"type": "reasoning.text"}])}),
        event(piece(REPLY)),
        b": OPENROUTER PROCESSING\n\n",
        event(piece("", "stop")),
        event({**piece(""), "usage": {**USAGE["usage"], "cost": 0.1, "prompt_tokens_details": None}}),
    ],
    "Azure": [
        event({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        event({**piece(content=None, refusal=None), "usage": None}),
        event(piece(REPLY)),
        event(piece(finish="stop")),
        event(USAGE),
    ],
    "DeepSeek": [
        b": keep-alive\n\n",
        event(piece(content=None, reasoning_content="hm")),
        event(piece(REPLY, reasoning_content=None)),
        event({**piece("", "stop"), "usage": {**USAGE["usage"], "prompt_cache_hit_tokens": 2}}),
    ],
    "Gemini": [event({**piece(REPLY, "stop", extra_content={"google": {}}), "usage": USAGE["usage"]})],
    "vLLM": [
        event({**piece(""), "usage": {"prompt_tokens": 11, "completion_tokens": 0}}),
        event({**piece(REPLY), "usage": {"prompt_tokens": 11, "completion_tokens": 6}}),
        event(piece(finish="stop")),
        event(USAGE),
    ],
    "Anthropic": [
        b'event: ping\ndata: {"type": "ping"}\n\n',
        event(piece(REPLY)),
        event(piece(finish="end_turn")),
        event(USAGE),
    ],
}


@each_row("name", STREAMS)
def test_streams_of_real_servers_are_read(name: str) -> None:
    reply = ask(sending(*STREAMS[name], DONE)).reply
    assert (reply.text, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (REPLY, 11, 7)
    assert reply.reasoning == ("hm" if name in ("OpenRouter", "DeepSeek") else "")


@each_row("data", [b": OPENROUTER PROCESSING", b"ping", b"null"])
def test_sign_of_life_sent_as_data_is_ignored(data: bytes) -> None:
    sign = b"data: " + data + b"\n\n"
    assert ask(sending(sign, event(piece(REPLY)), sign, event(piece(finish="stop")), sign, DONE)).reply.text == REPLY


@each_row("ends", [(), (DONE,)])
def test_words_sent_as_data_in_place_of_the_rest_are_shown(ends: tuple[bytes, ...]) -> None:
    with pytest.raises(errors.MalformedStream, match=r"not JSON: Backend crashed\."):
        ask(sending(event(piece(REPLY)), b"data: Backend crashed\n\n", *ends))


def test_reply_with_reasoning_alone_names_the_remedies() -> None:
    with pytest.raises(errors.EmptyReply, match="with reasoning and without any text") as raised:
        ask(sending(event(piece(reasoning_content=REPLY, finish="stop")) + DONE))
    assert all(remedy in raised.value.remedy for remedy in ("effort 'none'", "--reasoning-parser"))


def test_reasoning_is_switched_off_by_its_effort() -> None:
    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        name = "content" if body.get("reasoning_effort") == "none" else "reasoning_content"
        return await stream(request, event(piece(finish="stop", **{name: REPLY})), DONE)

    assert ask(behave, reasoning_effort="none").reply.text == REPLY


def test_unknown_compression_is_named() -> None:
    async def behave(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=b"\x0b\x02\x80hello\x03", headers={"content-encoding": "br"})

    with pytest.raises(errors.MalformedStream, match="cannot be unpacked") as caught:
        ask(behave)
    assert "compression" in caught.value.remedy


def test_garbage_after_the_end_is_ignored() -> None:
    body = event(piece(REPLY)) + event(piece(finish="stop")) + event(USAGE)
    for odd in (b"data: DONE\n\n", b"data: {\n\n", b"\x00\xff\n", b": bye\n\n", b"data: [DONE]"):
        reply = ask(sending(body + odd)).reply
        assert (reply.text, reply.usage.completion_tokens) == (REPLY, 7)


@each_row(
    ("body", "kind", "expected", "words"),
    [
        (b'{"detail": "no such route"}', "application/json", errors.MalformedStream, "no such route"),
        (b'{"success": false, "errors": ["bad"]}', "application/json", errors.MalformedStream, '"errors": \\["bad"'),
        (b'{"code": 429, "message": "slow down"}', "application/json", errors.RateLimited, "answered 429.*slow down"),
        (b'{"choices": null, "base_resp": {"status_msg": "no"}}', "application/json", errors.MalformedStream, '"no"'),
        (b"Internal Server Error", "text/plain", errors.MalformedStream, "Internal Server Error"),
        (b"Internal Server Error", "text/event-stream", errors.MalformedStream, "Internal Server Error"),
        (b"{}", "application/json", errors.MalformedStream, "answered 200"),
        (b'data: {"detail": "no such route"}\n\n', "text/event-stream", errors.MalformedStream, "no such route"),
        (
            b'data: {"code": 429, "message": "slow down"}\n\ndata: [DONE]\n\n',
            "text/event-stream",
            errors.RateLimited,
            "answered 429.*slow down",
        ),
    ],
)
def test_success_without_a_reply_shows_what_came(
    body: bytes, kind: str, expected: type[errors.ModelError], words: str
) -> None:
    async def behave(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=body, content_type=kind)

    with pytest.raises(expected, match=words):
        ask(behave)


@each_row(
    "usages",
    [
        ({"prompt_tokens": 11, "completion_tokens": 0}, {"completion_tokens": 7}),
        ({"prompt_tokens": 11, "completion_tokens": 7}, {}),
        ({"prompt_tokens": 11, "completion_tokens": 3}, {"prompt_tokens": 11, "completion_tokens": 7}),
    ],
)
def test_usage_in_several_parts_is_put_together(usages: tuple[dict[str, int], ...]) -> None:
    parts = b"".join(event({"choices": [], "usage": usage}) for usage in usages)
    usage = ask(sending(event(piece(REPLY, "stop")) + parts + DONE)).reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (11, 7, False)


def test_finish_reason_with_each_piece_does_not_end_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "END_OF_STREAM_SECONDS", 0.1)
    start, rest = REPLY[:10], REPLY[10:]

    def behave(*, cut: bool) -> Behaviour:
        async def answer(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
            response = web.StreamResponse(headers={"content-type": "text/event-stream"})
            await response.prepare(request)
            for text in (start[:4], start[4:]):
                await response.write(event(piece(text, "stop")))
            await asyncio.sleep(0.3)
            if cut:
                assert request.transport is not None
                request.transport.abort()
            else:
                await response.write(event(piece(rest, "stop")) + DONE)
            return response

        return answer

    assert ask(behave(cut=False)).reply.text == REPLY
    with pytest.raises(errors.CutStream):
        ask(behave(cut=True))


def test_numbers_that_only_python_writes_are_read() -> None:
    chunk = (
        b'data: {"choices": [{"delta": {"content": "fine"}, "score": [NaN, -Infinity], "finish_reason": "stop"}]}\n\n'
    )
    assert ask(sending(chunk + DONE)).reply.text == "fine"


def test_stream_that_its_server_spoils_with_other_bytes_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "END_OF_STREAM_SECONDS", 0.2)

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event(piece(REPLY)))
        await asyncio.sleep(0.1)
        assert request.transport is not None
        request.transport.write(b"Fatal error: out of memory\r\n")  # without the size of a chunk
        request.transport.close()
        return response

    with pytest.raises(errors.CutStream) as caught:
        ask(behave)
    assert caught.value.partial == REPLY


@each_row("error", [{"message": "The callback of the proxy failed."}, {"message": "Slow down.", "code": 429}])
def test_error_after_a_complete_reply_changes_nothing(error: dict[str, Any]) -> None:
    failed = event({"error": error})
    assert ask(sending(event(piece(REPLY, "stop")), failed)).reply.text == REPLY


@each_row("pieces", [(piece("", "stop"),), (piece("#Ser"), piece("", "error"))])
def test_error_after_a_reply_that_cannot_be_used_is_raised(pieces: tuple[dict[str, Any], ...]) -> None:
    failed = event({"error": {"message": "Out of memory."}})
    with pytest.raises(errors.ServerFault, match="Out of memory"):
        ask(sending(*map(event, pieces), failed))


def test_other_bytes_after_a_complete_reply_change_nothing() -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event(piece(REPLY)))
        await asyncio.sleep(0.01)  # the rest is read with the next pieces, when the connection is closed
        rest = event(piece(finish="stop")) + DONE
        assert request.transport is not None
        request.transport.write(b"%x\r\n%s\r\nFatal error: out of memory\r\n" % (len(rest), rest))
        request.transport.close()
        return response

    assert ask(behave).reply.text == REPLY


def test_line_that_arrives_byte_by_byte_without_end_times_out() -> None:
    with pytest.raises(errors.TimedOut):
        ask(sending(*[b"x"] * 400, pause=0.02), silence=0.2)


def odds(*tokens: str) -> list[dict[str, Any]]:
    return [{"token": token, "logprob": -0.5} for token in tokens]


def test_log_probabilities_are_aligned_in_linear_time() -> None:
    def align(size: int) -> None:
        text = "é" + "a" * size
        builder = streaming.ReplyBuilder(REQUEST, lambda *_: None, 0)
        builder.add_logprobs(odds(*text))
        assert [position for position, _ in builder._aligned(text)] == list(range(len(text)))
        builder.add_logprobs(odds("a" * 20 * size))
        assert builder._aligned("ac" + "a" * size) == ()

    check_linear_time(align, 30_000)


def test_refusal_in_many_pieces_is_joined_in_linear_time() -> None:
    def add_pieces(size: int) -> None:
        builder = streaming.ReplyBuilder(REQUEST, lambda *_: None, 0)
        for _ in range(size):
            builder.add_refusal("🙅")
        assert builder.billed[1] == size // streaming.CHARACTERS_PER_TOKEN

    check_linear_time(add_pieces, 96_000)


def test_token_that_is_a_part_of_a_character_has_the_position_of_the_character() -> None:
    builder = streaming.ReplyBuilder(REQUEST, lambda *_: None, 0)
    parts = [{"bytes": [0xC3], "logprob": -1.0}, {"bytes": [0xA9], "logprob": -2.0}]
    builder.add_logprobs([*odds("<think>", "x"), *parts, *odds("a")])
    assert [position for position, _ in builder._aligned("xéa")] == [0, 1, 1, 2]


def test_endless_log_probabilities_are_a_runaway() -> None:
    many = event({"choices": [{"index": 0, "delta": {}, "logprobs": {"content": odds(*["a"] * 1_000)}}]})
    with pytest.raises(errors.Runaway, match="log probabilities"):
        ask(sending(*[many] * 1_000, DONE), max_tokens=100)


def test_impossible_numbers_do_not_end_the_run() -> None:
    for number in (b"1" * 400, b"-" + b"1" * 400, b"NaN", b"Infinity"):
        part = b'{"choices": [{"delta": {"content": "Yes \\ud83d"}, "finish_reason": "stop", "logprobs": '
        entry = b'{"content": [{"token": "Yes", "logprob": ' + number + b"}]}}]}"
        reply = ask(sending(b"data: " + part + entry + b"\n\n", DONE)).reply
        assert reply.text.startswith("Yes")
        assert all(-math.inf < logprob <= 0 for _, logprob in reply.token_logprobs)
