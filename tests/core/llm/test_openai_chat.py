"""Tests of the OpenAI-compatible client: each failure has its own error, refused parameters are dropped once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.llm import http, openai_chat, streaming
from core.llm.request import encode_body
from tests.core.llm.asking import REQUEST, ask, ask_at
from tests.each_row import each_row
from tests.linear_time import check_linear_time
from tests.servers.faults import hanging
from tests.servers.scripted import Behaviour, Scripted, event, piece, reply_with, sending, stream


def test_reply_is_streamed_with_its_usage() -> None:
    received: list[str] = []
    outcome = ask(
        reply_with("The aspects are none"),
        on_delta=lambda text, _: received.append(text),
        temperature=0.5,
        max_tokens=77,
    )
    reply = outcome.reply
    assert reply.text == "The aspects are none"
    assert received == ["The", " aspects", " are", " none"]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated) == (11, 7, False)
    assert reply.cost_usd is None  # this server has no published price
    assert outcome.sent[0]["max_tokens"] == 77
    assert outcome.sent[0]["temperature"] == 0.5
    assert "top_p" not in outcome.sent[0]


def test_usage_within_a_choice_is_read() -> None:
    last = piece(finish="stop")
    last["choices"][0]["usage"] = {"prompt_tokens": 11, "completion_tokens": 7}
    usage = ask(sending(event(piece("fine")), event(last), event(b"[DONE]"))).reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.estimated) == (11, 7, False)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": 0.25}, 0.25),  # OpenRouter, LiteLLM
        ({"cost": 0}, 0.0),  # a free model
        ({"cost": 0.25, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.25}}, 0.25),
        ({"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}}, 0.75),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
        ({"cost": {"input_tokens_cost": 0.25, "total_cost": 0.75}}, 0.75),  # Perplexity
        ({"estimated_cost": 0.5}, 0.5),  # DeepInfra
        ({"cost_in_usd_ticks": 5_000_000_000}, 0.5),  # xAI
        ({"cost": -1.0}, None),
        ({"cost": True}, None),
        ({"cost": 10**400}, None),
        ({"cost": "free"}, None),
    ],
)
def test_price_that_the_server_states_is_the_cost(usage: dict[str, Any], cost: float | None) -> None:
    tokens = {"prompt_tokens": 11, "completion_tokens": 7}
    last = {"choices": [], "usage": {**tokens, **usage}}
    assert ask(sending(event(piece("fine", finish="stop")), event(last))).reply.cost_usd == cost


@pytest.mark.parametrize("name", ["cached_tokens", "prompt_cache_hit_tokens"])
def test_cached_tokens_outside_the_details_are_read(name: str) -> None:  # Moonshot, DeepSeek
    usage = {"prompt_tokens": 11, "completion_tokens": 7, name: 8}
    reply = ask(sending(event(piece("fine", finish="stop")), event({"choices": [], "usage": usage}))).reply
    assert reply.usage.cached_tokens == 8


def test_tokens_that_the_server_stores_in_its_cache_are_read() -> None:  # OpenAI from gpt-5.6 on
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cache_write_tokens": 9}}
    reply = ask(sending(event(piece("fine", finish="stop")), event({"choices": [], "usage": usage}))).reply
    assert (reply.usage.prompt_tokens, reply.usage.written_tokens) == (11, 9)


def test_reasoning_is_separated_and_missing_usage_is_estimated() -> None:
    pieces = piece(reasoning_content="hmm "), piece(reasoning="so"), piece("yes", finish="stop")
    reply = ask(sending(*(event({**part, "model": "m-2026-11"}) for part in pieces))).reply
    assert (reply.text, reply.reasoning) == ("yes", "hmm so")
    assert reply.served_model == "m-2026-11"
    assert reply.usage.estimated
    assert reply.usage.completion_tokens == 3  # 9 characters at 4 per token, rounded up


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}, (32, 103)),  # xAI, with reasoning
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}, (32, 9)),
        ({"input_tokens": 32, "output_tokens": 9, "total_tokens": 41}, (32, 9)),  # mlx-vlm
        # the prompt without its cached tokens
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 141, "cached_tokens": 100}, (132, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 0}, (32, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 12}, (32, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": "odd"}, (32, 9)),
        ({"prompt_tokens": 0, "completion_tokens": 9, "total_tokens": 135}, (4, 9)),  # an unknown prompt is estimated
    ],
)
def test_reasoning_that_is_in_the_total_only_is_billed(usage: dict[str, Any], expected: tuple[int, int]) -> None:
    reply = ask(sending(event(piece("fine", finish="stop")), event({"choices": [], "usage": usage}))).reply
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == expected


def test_whole_reply_at_the_end_of_a_stream_adds_no_text() -> None:
    # MiniMax
    whole = {
        "object": "chat.completion",
        "choices": [{"message": {"content": "The label is A", "reasoning_content": "hm"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 10},
    }
    pieces = (piece(reasoning_content="hm"), piece("The label "), piece("is A"))
    reply = ask(sending(*map(event, (*pieces, whole)), event(b"[DONE]"))).reply
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("The label is A", "hm", "length")
    assert reply.usage.prompt_tokens == 20


LABEL = "The label is A"


@pytest.mark.parametrize("chunk", ["chat.completion.chunk", None])
def test_whole_message_of_a_last_chunk_adds_no_text(chunk: str | None) -> None:
    whole = {"object": chunk, "choices": [{"delta": {}, "message": {"content": LABEL}, "finish_reason": "stop"}]}
    pieces = (piece("The "), piece("label is A"))
    assert ask(sending(*map(event, (*pieces, whole)))).reply.text == LABEL


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
def test_pieces_that_repeat_all_text_before_them_are_read_once(field: str) -> None:
    text = "The reviewer says much. " * 40 + LABEL
    shown: list[str] = []
    pieces = [event(piece(**{field: text[:end]})) for end in (*range(1, len(text)), len(text), len(text))]
    end = event(piece(None if field == "content" else "x", finish="stop"))
    reply = ask(sending(*pieces, end), max_tokens=64, on_delta=lambda new, _is_reasoning: shown.append(new)).reply
    assert (reply.text if field == "content" else reply.reasoning) == text
    assert "".join(shown).removesuffix("x") == "T" + text  # the first piece is certain to be repeated after the third


@pytest.mark.parametrize(
    "texts", [("1", "10"), ("a", "ab", "b"), ("1", "1", "1"), ("a", "ab", "b", "ba", "bab", "babb")]
)
def test_pieces_that_repeat_by_chance_are_kept(texts: tuple[str, ...]) -> None:
    assert ask(sending(*[event(piece(text)) for text in texts], event(piece(finish="stop")))).reply.text == "".join(
        texts
    )


def test_text_that_is_sent_as_a_number_is_read() -> None:
    pieces = (piece("Service: "), {"choices": [{"delta": {"content": 4}}]}, piece(" of 5", finish="stop"))
    assert ask(sending(*map(event, pieces))).reply.text == "Service: 4 of 5"  # Cloudflare


@pytest.mark.parametrize(
    ("pieces", "text", "reasoning", "expected"),
    [
        ((piece("\n\n"), piece("The label "), piece("is A")), LABEL, None, (LABEL, "")),
        ((piece(reasoning_content="hm"), piece("\n")), LABEL, "hm", (LABEL, "hm")),
        (
            (piece(reasoning_content="hm"), piece(LABEL)),
            f"<think>hm</think>{LABEL}",
            None,
            (f"<think>hm</think>{LABEL}", "hm"),
        ),
        ((piece(reasoning_content="\nhm "), piece("A")), "A", "hm", ("A", "hm")),
        ((piece(f"<think>hm</think>{LABEL}"),), LABEL, "hm", (LABEL, "hm")),
        ((piece(role="assistant", content=""),), LABEL, "hm", (LABEL, "hm")),
        ((piece("The label "),), LABEL, None, (LABEL, "")),
        ((piece(LABEL),), LABEL, "hm", (LABEL, "hm")),
        ((piece("The  label is A"),), LABEL, None, (LABEL, "")),
    ],
)
def test_whole_reply_after_its_pieces_neither_doubles_nor_cuts_text(
    pieces: tuple[dict[str, Any], ...], text: str, reasoning: str | None, expected: tuple[str, str]
) -> None:
    message = {"content": text, "reasoning_content": reasoning}
    whole = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}
    reply = ask(sending(*map(event, (*pieces, whole)), event(b"[DONE]"))).reply
    assert (reply.text, reply.reasoning) == expected


@pytest.mark.parametrize(
    "texts",
    [
        ("The label ", "is A"),
        ("The label ", "The label is A", "The label is A"),
        ("", " ", "The label ", "is A"),
        ("The label ", "\nThe label is A", "The label is A\n"),
        ("The label \n", "The label is A"),
    ],
)
def test_stream_of_messages_is_read_whole(texts: tuple[str, ...]) -> None:
    def message(text: str) -> dict[str, Any]:
        return {"object": "chat.completion", "choices": [{"message": {"content": text}}]}

    end = {"object": "chat.completion", "choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}
    assert ask(sending(*map(event, (*map(message, texts), end)), event(b"[DONE]"))).reply.text.split() == LABEL.split()


@pytest.mark.parametrize("message", [{"content": ""}, {"content": "x", "reasoning": "aab"}, {"reasoning": "a"}])
def test_whole_replies_after_many_pieces_take_linear_time(message: dict[str, str]) -> None:
    whole = {"object": "chat.completion", "choices": [{"message": message}]}

    def take_events(size: int) -> None:
        builder = streaming.ReplyBuilder(REQUEST, lambda *_: None, 0)
        for part in (piece("a"), whole):
            for _ in range(size):
                openai_chat.take(part, builder)

    check_linear_time(take_events, 16_000)


def test_streamed_refusal_is_reported_whole_with_its_cost() -> None:
    pieces = (piece(refusal="I"), piece(refusal="'m sorry, I cannot do this."), piece(finish="stop"))
    usage = {"choices": [], "usage": {"prompt_tokens": 1200, "completion_tokens": 12}}
    with pytest.raises(errors.Refused, match=r"m declined: I'm sorry, I cannot do this\.") as caught:
        ask(sending(*map(event, (*pieces, usage)), event(b"[DONE]")))
    assert caught.value.billed == (1200, 12, 0)


def status(code: int, body: Any, **headers: str) -> Behaviour:
    async def behave(_request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(body, status=code, headers=headers)

    return behave


ERROR = {"error": {"message": "no", "code": None}}


@pytest.mark.parametrize(
    ("behave", "expected"),
    [
        (status(401, ERROR), errors.Unauthorised),
        (status(403, ERROR), errors.Unauthorised),
        (status(404, {"error": {"message": "The model `m` does not exist"}}), errors.NoSuchModel),
        (status(429, ERROR), errors.RateLimited),
        (status(429, {"error": {"message": "", "code": "insufficient_quota"}}), errors.QuotaSpent),
        (status(500, ERROR), errors.ServerFault),
        (status(503, "busy"), errors.ServerFault),
        (status(400, {"error": {"type": "exceed_context_size_error", "message": "x"}}), errors.ContextTooLong),
        (status(400, {"message": "This model's maximum context length is 9 tokens"}), errors.ContextTooLong),
        (status(400, {"error": {"message": "bad", "code": "content_filter"}}), errors.Refused),
        (status(400, ERROR), errors.BadRequest),
        (status(302, {}, location="http://127.0.0.1:9/steal"), errors.Redirected),
        (sending(event(piece("half"))), errors.CutStream),
        (sending(event(piece("half")), drop=True), errors.CutStream),
        (sending(event(piece("half")), b'data: {"choices": [{"del\n\n'), errors.MalformedStream),
        (sending(event(piece("half")), event({"error": {"message": "died", "code": 500}})), errors.ServerFault),
        (sending(event(piece("half")), event({"message": "died", "code": 500}), event(b"[DONE]")), errors.ServerFault),
        (status(200, {"error": {"message": "no", "code": "invalid_api_key"}}), errors.Unauthorised),
        (sending(event(piece(finish="stop")), event(b"[DONE]")), errors.EmptyReply),
        (sending(event(piece("x", finish="content_filter"))), errors.Refused),
        (sending(event(piece(refusal="I will not"))), errors.Refused),
        (sending(event(piece(refusal={"reason": "no"}))), errors.Refused),
    ],
)
def test_each_failure_has_its_own_error(behave: Behaviour, expected: type[errors.ModelError]) -> None:
    with pytest.raises(expected) as caught:
        ask(behave)
    assert type(caught.value) is expected
    assert "TransferEncoding" not in str(caught.value)
    if expected is errors.CutStream:
        assert caught.value.partial == "half"


def test_failed_attempt_reports_billed_tokens() -> None:
    # Billed tokens are the usage of the server, otherwise estimated from the received text, otherwise zero.
    usage = event(
        {
            "choices": [],
            "usage": {"prompt_tokens": 7, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 5}},
        }
    )
    empty = sending(event(piece(finish="stop")), usage, event(b"[DONE]"))
    for behave, billed in (
        (empty, (7, 40, 5)),
        (sending(event(piece("four" * 3)), drop=True), None),
        (status(401, ERROR), (0, 0, 0)),
    ):
        with pytest.raises(errors.ModelError) as caught:
            ask(behave)
        prompt, reply, _ = caught.value.billed
        assert caught.value.billed == billed if billed else (prompt > 0 and reply == 3)


def test_closed_port_is_unreachable() -> None:
    server = Scripted(reply_with(""))
    with server:
        pass
    with pytest.raises(errors.Unreachable, match=r"cannot be reached \(connection refused\)\. "):
        ask_at(server.url)


@each_row("headers", [{"content-security-policy": "https://cdn.example " * 700}, {f"x-{n}": "1" for n in range(200)}])
def test_reply_with_a_long_header_or_many_of_them_is_read(headers: dict[str, str]) -> None:
    async def behave(_request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=event(piece("A", "stop")), content_type="text/event-stream", headers=headers)

    assert ask(behave).reply.text == "A"


def test_silence_is_a_timeout_before_a_stream_and_a_stall_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "IDLE_SECONDS", 0.2)
    with pytest.raises(errors.Stalled):
        ask(hanging(event(piece("half"))))
    with pytest.raises(errors.TimedOut):
        ask(hanging())


def test_key_is_sent_to_its_own_connection_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/evil")
    with Scripted(reply_with("ok")) as server:
        ask_at(server.url)
    assert server.headers[0]["authorization"] == "Bearer sk-secret"


def test_ollama_connection_uses_its_native_api() -> None:
    async def behave(request: web.ModelRequest, body: dict[str, Any]) -> web.StreamResponse:
        assert body["options"]["num_predict"] == 1024
        return await stream(
            request,
            b'{"message":{"role":"assistant","thinking":"hm"},"done":false}\n',
            b'{"message":{"role":"assistant","content":"yes"},"done":false}\n',
            b'{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":2}\n',
        )

    reply = ask(behave, "ollama").reply
    assert (reply.text, reply.reasoning) == ("yes", "hm")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 2)
    assert reply.cost_usd == 0.0


@pytest.mark.parametrize(("late", "longest_wait", "connections"), [(0.01, 5.0, 1), (5.0, 0.01, 3)])
def test_connection_is_reused_if_the_stream_ends_soon_after_the_text(
    late: float, longest_wait: float, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client does not wait for a late end of the stream.
    monkeypatch.setattr(http, "DRAIN_SECONDS", longest_wait)
    seen: set[int] = set()

    async def behave(request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        assert request.transport is not None
        seen.add(request.transport.get_extra_info("peername")[1])
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event(piece("A", "stop")) + event(b"[DONE]"))
        await asyncio.sleep(late)
        return response

    assert ask(behave, times=3).reply.text == "A"
    assert len(seen) == connections


def test_connection_closed_after_its_reply_is_replaced_without_error() -> None:
    # The llama.cpp server announces keep-alive but closes the connection after each stream, while the next request is
    # being sent.
    body = event(piece("A", "stop")) + event(b"[DONE]")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(len(connections))
        request_head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(request_head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(head + body)
        await reader.readexactly(1)
        writer.transport.abort()

    async def go() -> list[str]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        outcome = await asyncio.to_thread(ask_at, f"http://127.0.0.1:{port}/v1", times=3)
        server.close()
        return [reply.text for reply in outcome.replies]

    assert asyncio.run(go()) == ["A"] * 3
    assert len(connections) == 3


@pytest.mark.parametrize(
    "data",
    [
        b'{"message": "out of rooms", "code": null}',
        b"out of rooms",
        b'{"message":\ndata: "out of rooms",\ndata: "code": null}',
    ],
)
def test_error_event_without_error_key_is_reported_with_its_message(data: bytes) -> None:
    behave = sending(event(piece("half")), b"event: error\ndata: " + data + b"\n\n")
    with pytest.raises(errors.ServerFault, match="stopped in mid-stream: out of rooms"):
        ask(behave)


@pytest.mark.parametrize("end", [b"\n\n", b"\n"])
def test_empty_error_event_does_not_make_the_next_event_an_error(end: bytes) -> None:
    behave = sending(b"event: error\ndata: {}" + end, event(piece("whole")), b"data: [DONE]\n\n")
    assert ask(behave).reply.text == "whole"


def test_connection_closed_before_its_first_reply_is_an_error() -> None:
    seen: list[int] = []

    async def behave(request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        seen.append(1)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with pytest.raises(errors.CutStream):
        ask(behave)
    assert len(seen) == 1


def test_any_request_body_can_be_encoded() -> None:
    # Lone surrogates are replaced, and numbers of any size are sent, so that the server can refuse them.
    assert ask(reply_with("The aspects are none"), seed=2**70).sent[0]["seed"] == 2**70
    assert (
        encode_body({"model": "m\ud800", "n": [2**64, "é"]})
        == '{"model": "m\ufffd", "n": [18446744073709551616, "é"]}'.encode()
    )
    assert encode_body({"a": 1}) == b'{"a":1}'
