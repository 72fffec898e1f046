"""Tests of chat requests: any bytes from a server become a reply or a ModelError without the key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from core import errors
from core.debate.turns import Reply
from core.llm import ollama_chat, openai_chat, streaming
from core.llm.connections import Dialect
from core.llm.failures import from_event, from_status, parse_error_body, redacted
from core.llm.model_library import ModelLibrary
from core.runs import ErrorHandling, RoleModel, RunSettings
from tests.core.llm import asking
from tests.core.llm.asking import BOOK, REQUEST, ROLE_MODEL
from tests.linear_time import check_linear_time
from tests.servers.scripted import Behaviour, Scripted, event, piece, sending, stream

KEY = "sk-secret-Zx81kq0Pw7"
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def ask(behave: Behaviour, dialect: Dialect = "openai", **options: Any) -> Reply:
    return asking.ask(behave, dialect, **options).reply


def test_characters_split_over_two_events_are_joined() -> None:
    received: list[str] = []
    halves = [event(b'{"choices": [{"delta": {"content": "%s"}}]}' % half) for half in (rb"a \ud83d", rb"\uDE00 b")]
    last = event(rb'{"choices": [{"delta": {"content": "\udc00 c \ud83d"}, "finish_reason": "stop"}]}')
    reply = ask(sending(*halves, last), on_delta=lambda text, _: received.append(text))
    assert reply.text == "".join(received) == "a \U0001f600 b\ufffd c "


def test_other_line_ends_and_missing_spaces_are_accepted() -> None:
    data = json.dumps(piece("né", finish="stop"), ensure_ascii=False).encode()
    at = data.index("é".encode()) + 1  # in the middle of a character
    parts = [
        b": waiting\r\n\r\n",
        b"event: message\r\nid: 3\r\ndata:" + data[:at],
        data[at:] + b"\r\n\r\ndata:[DONE]",
    ]
    assert ask(sending(*parts)).text == "né"


def test_quick_chunks_are_coalesced_and_flushed_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "COALESCE_SECONDS", 60)
    events = [event(piece(word)) for word in "one two three".split()]
    readings: list[list[bytes]] = []
    is_first_read = threading.Event()

    async def behave(request: web.ModelRequest, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(events[0])
        await asyncio.to_thread(is_first_read.wait, 30)  # a busy client would read all events together
        for data in events[1:]:
            await response.write(data)
            await asyncio.sleep(0.01)
        return response

    async def go(server: Scripted) -> None:
        address = f"{server.url}/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(address, json={}) as response:
            async with asyncio.timeout(30):
                async for some in streaming.Lines(response, ROLE_MODEL):
                    readings.append(some)
                    is_first_read.set()

    with Scripted(behave) as server:
        asyncio.run(go(server))
    assert len(readings) == 2
    assert [line for some in readings for line in some if line] == [data.strip() for data in events]


def test_bytes_received_before_a_broken_connection_are_read() -> None:
    # aiohttp raises the connection error before it returns bytes that were received earlier.
    whole = event(piece("a")), event(piece("b", finish="stop")), event(b"[DONE]")
    assert ask(sending(*whole, drop=True, pause=0.01)).text == "ab"
    with pytest.raises(errors.CutStream) as caught:
        ask(sending(*(event(piece(text)) for text in "abc"), drop=True, pause=0.01))
    assert caught.value.partial == "abc"


@pytest.mark.parametrize(("field", "limit"), [("content", 160), ("reasoning", 640)])
def test_runaway_reply_is_cut_off_and_not_retried(monkeypatch: pytest.MonkeyPatch, field: str, limit: int) -> None:
    monkeypatch.setattr(streaming, "SPARE_CHARACTERS", 0)
    chunk = b'{"choices":[{"delta":{"%s":"on and on "}}]}' % field.encode()
    with pytest.raises(errors.Runaway, match="without an end, with an output limit of 10 tokens") as caught:
        ask(sending(*[event(chunk)] * 500), max_tokens=10)
    assert not caught.value.retryable
    assert caught.value.billed[1] <= limit / 4 + 10
    ask(sending(*[event(chunk)] * (limit // 10 - 1), event(piece("end", finish="stop"))), max_tokens=11)


@pytest.mark.parametrize("part", [event(piece("a")), b": ping\n\n", b"d"], ids=["characters", "comments", "bytes"])
def test_endless_reply_is_stopped_at_the_deadline(part: bytes) -> None:
    with pytest.raises(errors.Runaway, match="did not end within 1 seconds") as caught:
        ask(sending(*[part] * 500, pause=0.02), deadline=1.0)
    assert not caught.value.retryable


def test_default_deadline_grows_with_the_output_limit() -> None:
    assert streaming.reply_seconds(100) == 600
    assert streaming.reply_seconds(8192) == 4096


def test_reasoning_model_may_be_silent_for_longer() -> None:
    models = ModelLibrary()
    settings = RunSettings(protocol="single", codebook=BOOK, role_models={}, templates={})
    plain, reasoning = (models.resolve(RoleModel.parse(f"openai/{name}")) for name in ("gpt-4.1", "gpt-5.2"))
    limits = [
        models.build_request(None, model, REQUEST.role_request, settings).idle_timeout for model in (plain, reasoning)
    ]
    assert limits == [180, 600]
    settings = settings.model_copy(update={"handling": ErrorHandling(silence=20)})
    assert models.build_request(None, reasoning, REQUEST.role_request, settings).idle_timeout == 20


def test_keep_alive_comments_do_not_reset_the_silence_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "IDLE_SECONDS", 0.3)
    pings = [b": PROCESSING\n\n"] * 40
    with pytest.raises(errors.TimedOut):
        ask(sending(*pings, pause=0.05))
    with pytest.raises(errors.Stalled) as caught:
        ask(sending(event(piece("half")), *pings, pause=0.05))
    assert caught.value.partial == "half"
    monkeypatch.setattr(streaming, "IDLE_SECONDS", 30.0)  # a busy machine may pause for more than a second
    assert ask(sending(*pings[:3], event(piece("yes", finish="stop")), pause=0.05)).text == "yes"


@pytest.mark.parametrize("count", ["many", -3, 2**40, 10**30, None, [1], True, 1.5])
def test_invalid_token_counts_are_ignored(count: Any) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": count}}
    reply = ask(sending(event(piece("yes", finish="stop")), event(usage)))
    assert reply.usage.completion_tokens in (0, 1)
    line = {"message": {"content": "yes"}, "done": True, "eval_count": count, "prompt_eval_count": count}
    reply = ask(sending(json.dumps(line).encode()), "ollama")
    assert reply.usage.completion_tokens in (0, 1)


@pytest.mark.parametrize(
    ("prompt", "completion", "tokens", "estimated"),
    [
        (100, 3, (100, 3), False),
        ("100", 3.0, (100, 3), False),
        (0, 3, (4, 3), True),
        (None, "3", (4, 3), True),
        (100, -1, (100, 1), True),
        (-5, 2**40, (4, 1), True),
    ],
)
def test_each_missing_token_count_is_estimated(
    prompt: Any, completion: Any, tokens: tuple[int, int], estimated: bool
) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}
    counted = ask(sending(event(piece("yes", finish="stop")), event(usage))).usage
    assert (counted.prompt_tokens, counted.completion_tokens, counted.estimated) == (*tokens, estimated)


def retry_after(headers: dict[str, str]) -> float | None:
    error = from_status(429, b"", headers, ROLE_MODEL)
    assert isinstance(error, errors.RateLimited)
    return error.retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("nan", None), ("-5", 0.0), ("soon", None), ("", None)],
)
def test_retry_after_accepts_plausible_seconds_only(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds
    if seconds != 7.0:
        assert retry_after({"retry-after": "7", "retry-after-ms": value}) == (7.0 if seconds is None else seconds)


def test_wait_beyond_the_longest_one_is_reported_and_not_retried() -> None:
    later = ("1e6", "inf", "1e400", "Sun, 21 Oct 2095 07:28:00 GMT")
    for value, is_longer in (("7", False), ("300", False), *((value, True) for value in later)):
        for status in (429, 503):
            error = from_status(status, b"", {"retry-after": value}, ROLE_MODEL)
            assert error.retryable is not is_longer
            assert ("longer than the 300 s that Moot waits at most." in error.message) is is_longer
    assert from_status(502, b"", {"retry-after": "inf"}, ROLE_MODEL).retry_after == 300.0
    told = from_status(400, b"too hot", {"retry-after": "1e10"}, ROLE_MODEL)
    assert "longer" not in told.message
    assert not from_status(429, b"", {"x-ratelimit-reset": "1e10"}, ROLE_MODEL).retryable
    fault = from_status(503, b"", {"x-ratelimit-reset": "1e10"}, ROLE_MODEL)
    assert (fault.retryable, fault.retry_after) == (True, None), "the reset of a quota is no wait after a fault"


def test_retry_after_can_be_a_date_with_or_without_a_zone() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=60)
    for value in (format_datetime(moment, usegmt=True), format_datetime(moment).replace("+0000", "-0000")):
        assert 50 < (retry_after({"retry-after": value}) or 0) <= 60


@given(JUNK | st.fixed_dictionaries({}, optional=dict.fromkeys(("choices", "usage", "error", "message", "done"), JUNK)))
@settings(max_examples=150, deadline=None)
def test_any_event_is_read_or_raises_a_model_error(data: Any) -> None:
    for take in (openai_chat.take, ollama_chat.take):
        builder = streaming.ReplyBuilder(REQUEST, lambda *_: None, 0)
        with contextlib.suppress(errors.ModelError):
            take(streaming.decode(json.dumps(data).encode(), ROLE_MODEL), builder)
            builder.build()


@given(st.integers(300, 599), st.binary(max_size=40) | JUNK.map(lambda data: json.dumps(data).encode()))
@settings(max_examples=150, deadline=None)
def test_any_error_body_gives_a_model_error(status: int, body: bytes) -> None:
    assert isinstance(from_status(status, body, {}, ROLE_MODEL), errors.ModelError)
    with contextlib.suppress(ValueError):
        data = json.loads(body, parse_constant=lambda _: None)
        assert isinstance(from_event(data, ROLE_MODEL), errors.ModelError)


def test_html_reply_raises_an_error_about_the_address() -> None:
    async def page(_request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(text="<!doctype html><p>Welcome", content_type="text/html")

    for dialect in ("openai", "ollama"):
        with pytest.raises(errors.MalformedStream, match="ends in /v1"):
            ask(page, dialect)  # type: ignore[arg-type]


@pytest.mark.parametrize("type", ["text/html", "application/json", "text/plain"])
@pytest.mark.parametrize("content", ["#Food", ["#", "Food"]], ids=["text", "list of strings"])
def test_whole_reply_is_read_whatever_its_content_type_and_as_created(type: str, content: object) -> None:
    async def created(_request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        held = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
        return web.Response(text=json.dumps(held, indent=1), content_type=type, status=201)

    assert ask(created).text == "#Food"


def test_error_object_with_status_200_is_an_error() -> None:
    async def vllm(_request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({"object": "error", "message": "maximum context length is 9", "code": 400})

    with pytest.raises(errors.ContextTooLong):
        ask(vllm)


def test_error_event_is_not_called_an_answer_with_a_status() -> None:
    with pytest.raises(errors.ContextTooLong, match="stopped in mid-stream: maximum context length is 9"):
        ask(sending(event({"error": {"message": "maximum context length is 9"}})))


def test_address_of_a_page_on_rate_limits_is_not_a_rate_limit() -> None:
    message = "maximum context length is 9, see https://example.org/rate-limits"
    assert isinstance(from_event({"message": message}, ROLE_MODEL), errors.ContextTooLong)


def test_error_body_without_an_end_is_read_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.llm.http.END_OF_STREAM_SECONDS", 0.2)

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(status=400)
        await response.prepare(request)
        await response.write(b"Bad max_speed")
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.02)
        return response

    with pytest.raises(errors.BadRequest, match=r"answered 400 for .*: Bad max_speed"):
        ask(behave)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "Country, region, or territory not supported"),
        (400, "User location is not supported for the API use."),
        (403, "This service is unavailable in your country."),
    ],
)
def test_refused_region_is_not_blamed_on_the_key(status: int, words: str) -> None:
    error = from_status(status, json.dumps({"error": {"message": words}}).encode(), {}, ROLE_MODEL)
    assert isinstance(error, errors.Unauthorised)
    assert "region" in error.remedy
    assert "key" not in error.remedy


def test_white_space_in_a_pasted_key_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", f" {KEY[:9]}\n  {KEY[9:]}\r\n")

    async def behave(request: web.ModelRequest, _body: dict[str, Any]) -> web.StreamResponse:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        return await stream(request, event(piece("yes", finish="stop")))

    assert ask(behave).text == "yes"


def test_server_messages_lose_control_characters() -> None:
    body = rb'{"error": {"message": "one\n\u001b[2Jtwo \udc00 three"}}'
    half = event(b'{"error": {"message": "\\u001b[2J \\udc00", "code": 500}}')
    assert "\x1b" not in str(from_status(500, body.replace(rb" \udc00", b""), {}, ROLE_MODEL))
    for behave in (sending(half), sending(event(rb'{"choices": [{"delta": {"refusal": "\ud83d no"}}]}'))):
        with pytest.raises(errors.ModelError) as caught:
            ask(behave)
        assert str(caught.value).encode().decode().isprintable()


def test_complete_and_truncated_keys_are_redacted_and_placeholders_are_not() -> None:
    assert redacted(f"a {KEY}, {KEY}b {KEY[:15]}", KEY) == "a [key], [key]b [key]"
    assert redacted("sk-secret is the beginning of many", KEY) == "sk-secret is the beginning of many"
    assert redacted("none of it, to none", "none") == "none of it, to none"
    assert redacted("?key=ab/cd%2Bef%3D%3D, ab%2Fcd%2Bef%3D%3D", "ab/cd+ef==") == "?key=[key], [key]"
    assert redacted("", KEY) == ""
    assert redacted("as it was", None) == "as it was"


def test_key_that_is_echoed_again_and_again_is_redacted_in_linear_time() -> None:
    def redact_keys(size: int) -> None:
        assert redacted(KEY * size, KEY) == "[key]" * size

    check_linear_time(redact_keys, 20_000)


@pytest.mark.parametrize("piece", [b"<", b"<script>", b"<style></script>"])
def test_unclosed_markup_of_an_error_page_is_removed_in_linear_time(piece: bytes) -> None:
    def parse_pieces(size: int) -> None:
        assert parse_error_body(b"<p>Too busy</p>" + piece * size)[0] == "Too busy"

    check_linear_time(parse_pieces, 60_000 // len(piece))


def test_echoed_key_is_redacted_everywhere_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", KEY)
    received: list[str] = []
    with pytest.raises(errors.ServerFault) as caught:
        ask(
            sending(event(piece(f"so far {KEY}")), event({"error": {"message": f"bad key {KEY}"}})),
            on_delta=lambda text, _: received.append(text),
        )
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + error.partial + "".join(received)
    assert error.partial == "so far [key]"
    assert KEY not in shown


def test_key_that_is_echoed_as_the_name_of_the_model_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", KEY)
    reply = ask(sending(event({**piece("yes", finish="stop"), "model": f"m-{KEY}"})))
    assert reply.served_model == "m-[key]"


@pytest.mark.parametrize("size", [1, 5, 12, 18])
def test_key_that_is_echoed_in_pieces_is_not_streamed(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", KEY)
    text = f"so {KEY}, ask for sk-secret or {KEY[:15]} now: no."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    received: list[str] = []
    events = [*(event(piece(each)) for each in pieces), event(piece(finish="stop"))]
    reply = ask(sending(*events), on_delta=lambda text, _: received.append(text))
    assert "".join(received) == reply.text == "so [key], ask for sk-secret or [key] now: no."
