"""The lines of a response, and the JSON in them."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import re
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import aiohttp
import orjson
from aiohttp.http_exceptions import ContentEncodingError

from core import errors
from core.debate.turns import Reply, Usage
from core.llm.failures import ADDRESS_REMEDY, from_status, plain
from core.llm.reply import OnDelta, estimated
from core.llm.request import ModelRequest, packed
from core.runs import RoleModel

LAST_SECONDS = 5.0
"""How long a stream that has said why it ends may still take for what it used and for its own end."""

COMPANY_SECONDS = 0.05
"""How long a piece of a reply that comes hard on another waits for more: what the screen waits between two looks."""

MAX_LINE = 8 * 1024 * 1024

_CARRIAGE = re.compile(rb"\r(?!\Z)")
"""The last one may be half of a CRLF."""


class Lines:
    """The lines of a response without their ends, in lists: those that each reading completes, perhaps none. The last
    line may lack its end, which is LF, CRLF or CR alone; a byte order mark before the first line is left out.

    A piece that follows another within ``COMPANY_SECONDS`` waits until then for the next ones, or until the response
    ends: to wake the task of a call for each token costs more than to read the token. The first piece waits for nobody.

    After ``last()`` a silence is the end of it: some servers never close a stream.

    Raises MalformedStream when a line exceeds ``MAX_LINE`` bytes, and what aiohttp raises when the connection breaks,
    after the lines that had come. An iterator and no generator, as one that is left early makes the event loop tidy up
    after each reply.
    """

    def __init__(self, response: aiohttp.ClientResponse, role_model: RoleModel) -> None:
        self._content = response.content
        self._role_model = role_model
        self._rest = b""
        self._first = True
        self._waiter: asyncio.Future[None] | None = None
        self._quiet_until = 0.0
        self._last = False
        self._content.on_eof(self._wake)

    def __aiter__(self) -> Lines:
        return self

    def last(self) -> None:
        """All was said; only what says so may be missing."""
        self._last = True

    async def __anext__(self) -> list[bytes]:
        if chunk := await self._read():
            said = self._rest + chunk
            if b"\r" in said:
                said = _CARRIAGE.sub(b"\n", said.replace(b"\r\n", b"\n"))
            if self._first:
                said = said.removeprefix(codecs.BOM_UTF8)
            *complete, self._rest = said.split(b"\n")
            if len(self._rest) > MAX_LINE:
                raise errors.MalformedStream(
                    f"{self._role_model.connection} sent a line of more than {MAX_LINE} bytes."
                )
            self._first = self._first and not complete
            return complete
        if not self._rest:
            raise StopAsyncIteration
        last, self._rest = self._rest, b""
        return [last.rstrip(b"\r")]

    async def _read(self) -> bytes:
        """All bytes that are there, once there are any; none at the end."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._quiet_until and not self._content.is_eof():
            self._waiter = loop.create_future()
            timer = loop.call_at(self._quiet_until, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
        if self._content.exception() is not None and (came := _before_the_break(self._content)):
            return came
        came = await (self._final() if self._last else self._content.readany())
        self._quiet_until = loop.time() + COMPANY_SECONDS
        return came

    async def _final(self) -> bytes:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                return await self._content.readany()
        return b""

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _before_the_break(content: aiohttp.StreamReader) -> bytes:
    """What came before the connection broke; aiohttp raises the break first and has no public way to the rest."""
    came = b"".join(content._buffer)[content._buffer_offset :]
    content._buffer.clear()
    return came


def decoded(line: bytes, role_model: RoleModel) -> dict[str, Any]:
    """A JSON object out of a line; MalformedStream for anything else."""
    data = maybe(line)
    if data is None:
        shown = line[:120].decode("utf-8", "replace")
        raise errors.MalformedStream(f"{role_model.connection} sent something that is not JSON: {shown}")
    return data


def maybe(line: bytes) -> dict[str, Any] | None:
    """A JSON object out of a line; None for anything else."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        data = _with_halves(line)
    return data if isinstance(data, dict) else None


def _with_halves(line: bytes) -> Any:
    """JSON with what orjson refuses: half a character escaped on its own, which is valid, and bytes that are no UTF-8,
    which are replaced, as those who read event streams are to do. None for anything else."""
    try:
        if b"\\ud" in line.lower():
            return json.loads(line.decode("utf-8", "replace"))
        return orjson.loads(line.decode("utf-8", "replace")) if not _is_utf8(line) else None
    except (ValueError, RecursionError):
        return None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 180.0
"""Longest wait for the next byte, the first one included (a local server may read a long prompt for minutes)."""

END_SECONDS = 0.05
"""How long the end of a response may take after the end of what it says."""

MAX_REPLY = 4_000_000
"""Characters after which a reply is taken for one without an end, whatever limit the server was given."""

_AT_ITS_LIMIT = frozenset({"length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit"})
_FILTERED = frozenset(
    {
        "content_filter",
        "content_filtered",
        "safety",
        "sensitive",
        "recitation",
        "prohibited_content",
        "blocklist",
        "spii",
    }
)
_BROKEN = frozenset(
    {"error", "abort", "aborted", "cancelled", "canceled", "network_error", "timeout", "insufficient_system_resource"}
)
"""Why a reply ended, in the words of OpenAI, vLLM, Gemini, DeepSeek, Zhipu, Mistral and OpenRouter. All else is its own
end."""

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class ReplyBuilder:
    """A reply as it comes in."""

    on_delta: OnDelta
    silence: float = SILENCE_SECONDS
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finish: str = ""
    logprobs: bool = False
    served: str = ""
    usage: Usage | None = None
    _halves: list[str] = field(default_factory=lambda: ["", ""])
    _length: int = 0
    _heard_at: float = field(default_factory=time.monotonic)

    def add(self, text: Any, reasoning: Any) -> None:
        """One piece; what is not a non-empty string is ignored. MalformedStream when there is no end to them."""
        for piece, is_reasoning in ((reasoning, True), (text, False)):
            if isinstance(piece, str) and (piece := self._mended(piece, is_reasoning)):
                (self.reasoning if is_reasoning else self.text).append(piece)
                self._heard_at = time.monotonic()
                self.on_delta(piece, is_reasoning)
                self._length += len(piece)
        if self._length > MAX_REPLY:
            raise errors.MalformedStream(
                f"A reply of more than {MAX_REPLY} characters came, and no end of it.",
                "The server does not keep to the limit of tokens that it is given.",
            )

    def _mended(self, piece: str, is_reasoning: bool) -> str:
        """The piece, with characters made whole that a server cut in two, as those that count in UTF-16 do."""
        piece = self._halves[is_reasoning] + piece
        self._halves[is_reasoning] = ""
        if not _HALF.search(piece):
            return piece
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._halves[is_reasoning] = piece[:-1], piece[-1]
        return piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def ended(self, why: Any) -> None:
        """Why the reply ended, if it did: some servers spell out that it did not."""
        if isinstance(why, str) and why.strip().casefold() not in ("", "null", "none"):
            self.finish = plain(why)

    def told_model(self, name: Any) -> None:
        """What the server calls the model that answers; the first name that is one counts."""
        if not self.served and isinstance(name, str):
            self.served = plain(name)

    def wait(self, role_model: RoleModel) -> None:
        """Something came. Raises Stalled or TimedOut when there were only signs of life for too long: comments, or
        events without a word."""
        if time.monotonic() - self._heard_at > self.silence:
            raise _timed_out(role_model, self)

    def spent(self, prompt_characters: int) -> Usage:
        """Tokens of the prompt and of what has come: as the server told, else by their length."""
        told = self.usage
        if told is not None and (told.prompt_tokens or told.completion_tokens):  # zeros alone tell nothing
            return told
        return estimated(prompt_characters, sum(map(len, self.text)) + sum(map(len, self.reasoning)))

    def billed(self, prompt_characters: int) -> tuple[int, int]:
        """``spent`` as (prompt, reply) for a try that fails; zeros while nothing has come."""
        if self.usage is None and not self.text and not self.reasoning:
            return 0, 0
        usage = self.spent(prompt_characters)
        return usage.prompt_tokens, usage.completion_tokens

    @property
    def so_far(self) -> str:
        """The text until now."""
        return "".join(self.text)

    def finished(self, request: ModelRequest, dropped: tuple[str, ...]) -> Reply:
        """The whole reply.

        Raises CutStream when the server never said that it was done, Refused when a filter stopped it, EmptyReply, and
        LengthLimit when the limit was reached before a word was said by one who may just speak: where a decision is
        owed, that is a reply that cannot be read.
        """
        role_model = request.role_model
        if not self.finish:
            raise errors.CutStream(f"{role_model.connection} closed the stream of {role_model.model} before the end.")
        why = self.finish.casefold()
        if why in _BROKEN:
            raise errors.CutStream(
                f"{role_model.connection} broke off the reply of {role_model.model}: it gives '{why}' as the reason."
            )
        if why in _FILTERED:
            raise errors.Refused(f"{role_model.connection}: a content filter stopped {role_model.model}.")
        text, reasoning = self.so_far, "".join(self.reasoning)
        finish: Literal["stop", "length"] = "length" if why in _AT_ITS_LIMIT else "stop"
        if not text.strip() and finish == "length" and request.ask.form == "text":
            limit = role_model.sampling.max_tokens
            raise errors.LengthLimit(
                f"{role_model.spec} reached its output limit of {limit} tokens before it said a word."
            )
        if not text.strip() and finish == "stop":
            raise errors.EmptyReply(f"{role_model.model} at {role_model.connection} answered without a word.")
        usage = self.spent(request.characters)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish=finish,
            usage=usage,
            cost_usd=request.price(usage),
            dropped=dropped,
            served=self.served,
            logprobs=self.logprobs,
        )


@contextlib.asynccontextmanager
async def post(
    session: aiohttp.ClientSession,
    url: str,
    body: dict[str, Any],
    request: ModelRequest,
    growing: ReplyBuilder,
) -> AsyncIterator[aiohttp.ClientResponse]:
    """POST as JSON and give the response once it is 200; every way in which this fails is raised as its ModelError."""
    role_model = request.role_model
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=request.silence)
    kinds = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
    try:
        sent = await _sent(
            session,
            url,
            data=packed(body),
            headers={**kinds, **request.headers},
            timeout=timeout,
            allow_redirects=False,
        )
        async with sent as response:
            if response.status != 200:
                raise from_status(response.status, await beginning(response, 65536), response.headers, role_model)
            if response.content_type == "text/html":
                raise errors.MalformedStream(f"{role_model.connection} sent a web page, not a reply.", ADDRESS_REMEDY)
            yield response
    except aiohttp.ServerTimeoutError as error:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            raise errors.Unreachable(
                f"{role_model.connection} at {role_model.base_url} "
                f"did not accept a connection within {CONNECT_SECONDS:.0f} s."
            ) from error
        raise _timed_out(role_model, growing) from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise errors.OtherProtocol(
            f"{role_model.connection} at {role_model.base_url} "
            f"shows a certificate that is not trusted ({_why(error)}).",
            "Have the server use one that is, or name the file of who signed it in SSL_CERT_FILE.",
        ) from error
    except (aiohttp.ClientConnectorError, ssl.SSLError, aiohttp.InvalidURL) as error:
        raise errors.Unreachable(
            f"{role_model.connection} at {role_model.base_url} cannot be reached ({_short(error)})."
        ) from error
    except aiohttp.ClientResponseError as error:
        raise errors.MalformedStream(
            f"{role_model.connection} sent what is not HTTP ({plain(error.message)})."
        ) from error
    except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError) as error:
        if isinstance(error.__cause__, ContentEncodingError):
            said = plain(error.__cause__.message)
            raise errors.MalformedStream(
                f"{role_model.connection} sent what cannot be unpacked ({said}).", ""
            ) from error
        raise errors.CutStream(
            f"{role_model.connection} closed the connection on {role_model.model} ({_short(error)})."
        ) from error


def noting_reuse() -> aiohttp.TraceConfig:
    """For the session that ``post`` is given: has each request know whether its connection had served another."""

    async def noted(_session: aiohttp.ClientSession, context: SimpleNamespace, _told: object) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(noted)
    return config


async def _sent(session: aiohttp.ClientSession, url: str, **options: Any) -> aiohttp.ClientResponse:
    """The response to a POST, on another connection if the first had been closed: a server may do that after any reply
    (llama.cpp does after each stream, whatever its headers say), and it shows only when the next request goes out."""
    while True:
        way = SimpleNamespace(reused=False)
        try:
            return await session.post(url, trace_request_ctx=way, **options)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not way.reused:
                raise


async def beginning(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, up to ``most`` bytes of it: what has come when it breaks off."""
    read = bytearray()
    with contextlib.suppress(aiohttp.ClientPayloadError, aiohttp.ClientConnectionError):
        while len(read) < most and (piece := await response.content.read(most - len(read))):
            read += piece
    return bytes(read)


async def read_out(response: aiohttp.ClientResponse) -> None:
    """Read a response that has said all to its end, if that comes at once: many servers send it on its own, and only a
    connection that was read to the end serves the next call."""
    if response.content.at_eof():
        return
    with contextlib.suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(END_SECONDS):
            while await response.content.readany():
                pass


def _timed_out(role_model: RoleModel, growing: ReplyBuilder) -> errors.ModelError:
    kind = errors.Stalled if growing.text or growing.reasoning else errors.TimedOut
    return kind(f"{role_model.model} at {role_model.connection} was silent for {growing.silence:.3g} s.")


def _why(error: aiohttp.ClientConnectorCertificateError) -> str:
    inner = error.certificate_error
    return plain(getattr(inner, "verify_message", "") or inner)


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]
