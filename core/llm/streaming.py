"""Streamed responses: lines, their JSON, and the reply that grows from them."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import aiohttp
import orjson

from core import errors
from core.debate.turns import Reply, Usage
from core.formatting import as_sentence
from core.llm.failures import server_message
from core.llm.request import ModelRequest
from core.runs import MAX_TOKENS, RoleModel

END_OF_STREAM_SECONDS = 5.0
"""Longest wait for the usage and the end of a stream after its finish reason."""

COALESCE_SECONDS = 0.05
"""Interval in which pieces of a reply are read together; the browser is updated at the same rate."""

MAX_LINE = 8 * 1024 * 1024

_NO_FRAME = "the body is not framed as HTTP requires"

_CARRIAGE = re.compile(rb"\r(?!\Z)")
"""A final carriage return may be half of a CRLF."""


class Lines:
    """Async iterator over lists of complete lines of a response, without line ends; a list may be empty.

    Lines end with LF, CRLF or CR; the last line may have no end. A byte order mark at the start is removed. Pieces that
    arrive within ``COALESCE_SECONDS`` after a read are read together, because waking the task for each token costs
    more than reading it. With ``is_last``, when only the end of the stream is missing, a silence ends the iteration.

    Raises Runaway if a line exceeds ``MAX_LINE`` bytes, and aiohttp's errors if the connection breaks, after the
    complete lines. It is not a generator, because a generator that is left early costs the event loop a clean-up.
    """

    def __init__(self, response: aiohttp.ClientResponse, role_model: RoleModel) -> None:
        self._content = response.content
        self._connection = response.connection
        self._role_model = role_model
        self._rest = b""
        self._first = True
        self._waiter: asyncio.Future[None] | None = None
        self._quiet_until = 0.0
        self.is_last = False
        self._content.on_eof(self._wake)
        self._watch()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> list[bytes]:
        if chunk := await self._read():
            data = self._rest + chunk
            if b"\r" in data:
                data = _CARRIAGE.sub(b"\n", data.replace(b"\r\n", b"\n"))
            if self._first:
                data = data.removeprefix(codecs.BOM_UTF8)
            *complete, self._rest = data.split(b"\n")
            if len(self._rest) > MAX_LINE:
                raise errors.Runaway(f"{self._role_model.connection} sent a line of more than {MAX_LINE:,} bytes.")
            self._first = self._first and not complete
            return complete
        if not self._rest:
            raise StopAsyncIteration
        last, self._rest = self._rest, b""
        return [last.rstrip(b"\r")]

    async def _read(self) -> bytes:
        """Return all available bytes, waiting for the first; nothing at the end."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._quiet_until and not self._content.is_eof():
            self._waiter = loop.create_future()
            timer = loop.call_at(self._quiet_until, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
        if self._content.exception() is not None and (received := _bytes_before_break(self._content)):
            return received
        received = await self._next_bytes()
        self._quiet_until = loop.time() + COALESCE_SECONDS
        return received

    async def _next_bytes(self) -> bytes:
        try:
            async with asyncio.timeout(END_OF_STREAM_SECONDS if self.is_last else None):
                return await self._content.readany()
        except TimeoutError:
            if self.is_last:
                return b""
            raise
        except RuntimeError as error:
            raise aiohttp.ClientPayloadError(_NO_FRAME) from error

    def _watch(self) -> None:
        """End the wait if the connection is lost: aiohttp waits on after bytes that are not part of the body."""
        if self._content.is_eof() or self._content.exception() is not None:
            return
        if self._connection is None or self._connection.closed:
            self._content.set_exception(aiohttp.ClientPayloadError(_NO_FRAME))
            return
        asyncio.get_running_loop().call_later(END_OF_STREAM_SECONDS, self._watch)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _bytes_before_break(content: aiohttp.StreamReader) -> bytes:
    """Return the bytes before a broken connection; aiohttp (3.14) raises first and has no public access to them."""
    received = b"".join(content._buffer)[content._buffer_offset :]
    content._buffer.clear()
    return received


def decode(line: bytes, role_model: RoleModel) -> dict[str, Any]:
    """Return the JSON object in a line. Raises MalformedStream for anything else."""
    data = decode_or_none(line)
    if data is None:
        shown = server_message(line[:120].decode("utf-8", "replace").strip())
        raise errors.MalformedStream(as_sentence(f"{role_model.connection} sent something that is not JSON: {shown}"))
    return data


def decode_or_none(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object in a line, None for anything else."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        data = _decode_leniently(line)
    return data if isinstance(data, dict) else None


def _decode_leniently(line: bytes) -> Any:
    """Return JSON that orjson refuses, None for anything else.

    That is JSON with an escaped lone surrogate, which is valid, with Python's NaN or Infinity, and with invalid UTF-8,
    which is replaced as the standard for event streams requires.
    """
    text = line.decode("utf-8", "replace")
    try:
        if "\\ud" in text.lower() or "NaN" in text or "Infinity" in text:
            # The options read numbers that orjson refuses, and no others can be too large.
            return json.loads(text, parse_int=float, parse_constant=lambda _name: None)
        return orjson.loads(text)
    except (ValueError, RecursionError):
        return None


IDLE_SECONDS = 180.0
"""Longest wait for the next byte, the first included (a local server may read a long prompt for minutes)."""

REASONING_IDLE_SECONDS = 600.0
"""The same for reasoning models: OpenAI and others send nothing while a model reasons, and bill a cancelled call."""

CHARACTERS_PER_LIMIT = 16
"""Characters of text per token of the output limit after which a reply is a runaway; tokens have about 4."""
REASONING_FACTOR = 4
"""The same for reasoning, as a multiple: some servers do not count it against the limit."""
SPARE_CHARACTERS = 10_000
BYTES_PER_CHARACTER = 4
LOWEST_LOGPROB = -9999.0
"""Stands for a probability of zero, whose logarithm JSON cannot hold; OpenAI sends the same number."""
MIN_TOKENS_PER_SECOND, MIN_REPLY_SECONDS = 2.0, 600.0
"""Tokens per second of a slow server, and the seconds that every reply may take."""


def no_text_error(role_model: RoleModel, output_limit: int) -> errors.LengthLimit:
    """Return the error for a second reply that reached its output limit, in tokens, without any text."""
    return errors.LengthLimit(
        f"{role_model.spec} reached its output limit of {output_limit} tokens without writing any text."
    )


def reply_seconds(max_tokens: int) -> float:
    """Return the time in seconds that a reply may take by default."""
    return max(MIN_REPLY_SECONDS, max_tokens / MIN_TOKENS_PER_SECOND)


_AT_ITS_LIMIT = frozenset({
    "length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit",
    "model_context_window_exceeded",
})  # fmt: skip
_FILTERED = frozenset({
    "content_filter", "content_filtered", "safety", "sensitive", "recitation", "prohibited_content", "blocklist",
    "spii", "guardrail_intervened", "refusal",
})  # fmt: skip
_BROKEN = frozenset(
    {"abort", "aborted", "cancelled", "canceled", "network_error", "timeout", "insufficient_system_resource"}
)
"""Finish reasons of OpenAI, vLLM, Gemini, DeepSeek, Zhipu, Mistral, Bedrock, Claude and OpenRouter.

Any other reason is a normal end, unless it begins with "error".
"""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class ReplyBuilder:
    """Builder of the reply to a request from the pieces that are received."""

    request: ModelRequest
    on_delta: OnDelta
    prompt_characters: int
    """The length of the messages that were sent."""
    max_tokens: int = MAX_TOKENS
    """Bounds a stream without an end."""
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    has_deltas: bool = False
    """True if any text came in deltas."""
    has_choices: bool = False
    """True if any part of a reply came, even an empty one."""
    finish_reason: str = ""
    _tokens: list[tuple[bytes, float]] = field(default_factory=list)
    """The bytes and the log probability of each token."""
    served_model: str = ""
    usage: Usage | None = None
    stated_usd: float | None = None
    """The price of the reply in dollars, if the server states it."""
    _split: list[str] = field(default_factory=lambda: ["", ""])
    """The first halves of surrogate pairs that the server split, in the text and in the reasoning."""
    _lengths: list[int] = field(default_factory=lambda: [0, 0])
    """The characters of the text and of the reasoning so far."""
    _repetitions: list[int] = field(default_factory=lambda: [0, 0])
    """Pieces of the text and of the reasoning that repeated all before them and went on; -1 after any other piece."""
    _refused: int = 0
    """The characters of the refusal so far."""
    _received_at: float = field(default_factory=time.monotonic)
    _goes_on: bool = False
    """True if the last piece came after a finish reason."""
    _spelt: int = 0
    """The bytes of all tokens so far, and one for each token."""
    _lines: int = 0
    """The lines of the stream so far, with those that add nothing to the reply."""

    @property
    def _max_characters(self) -> int:
        return self.max_tokens * CHARACTERS_PER_LIMIT + SPARE_CHARACTERS

    def add(self, text: Any, reasoning: Any) -> None:
        """Add a piece; anything but a non-empty string is ignored. Raises Runaway far beyond the output limit."""
        for piece, is_reasoning in ((reasoning, True), (text, False)):
            if isinstance(piece, str) and (piece := self._join_surrogates(piece, is_reasoning)):
                self._goes_on = bool(self.finish_reason)
                news = self._forget_before(piece, is_reasoning)
                (self.reasoning if is_reasoning else self.text).append(piece)
                self._received_at = time.monotonic()
                self.on_delta(news, is_reasoning)
                self._lengths[is_reasoning] += len(piece)
                if self._lengths[is_reasoning] > self._max_characters * (REASONING_FACTOR if is_reasoning else 1):
                    raise errors.Runaway(
                        f"The reply exceeded {self._lengths[is_reasoning]:,} characters without an end, "
                        f"with an output limit of {self.max_tokens:,} tokens."
                    )

    def _forget_before(self, piece: str, is_reasoning: bool) -> str:
        """Remove the pieces before this one if it repeats them, and return its new part.

        DashScope and some proxies send all text so far in each piece. The text is certain to grow so after the second
        repetition: a model may write "1" and "10".
        """
        pieces = self.reasoning if is_reasoning else self.text
        if not pieces or self._repetitions[is_reasoning] < 0:
            return piece
        before = pieces[-1]
        if not piece.startswith(before):
            self._repetitions[is_reasoning] = -1
            return piece
        self._repetitions[is_reasoning] += len(piece) > len(before)
        if self._repetitions[is_reasoning] < 2:
            return piece
        pieces.clear()
        self._lengths[is_reasoning] = 0
        return piece[len(before) :]

    def forget_repeated(self, text: Any, *, is_reasoning: bool) -> None:
        """Remove the pieces that a whole reply repeats, as MiniMax sends it at the end of a stream.

        Without deltas, a text that begins with all pieces repeats them; any other one is a piece.
        """
        pieces = self.reasoning if is_reasoning else self.text
        if not isinstance(text, str) or not text.strip():
            return
        if self.has_deltas or text.lstrip().startswith(join_pieces(pieces).strip()):
            pieces.clear()
            self._lengths[is_reasoning] = 0

    def add_refusal(self, piece: Any) -> None:
        """Add a piece of the words in which the model declines. Raises Runaway if they do not end."""
        if piece:
            piece = piece if isinstance(piece, str) else server_message(piece)
            self.refusal.append(piece)
            self._received_at = time.monotonic()
            self._refused += len(piece)
            if self._refused > self._max_characters:
                raise errors.Runaway(f"The refusal exceeded {self._refused:,} characters without an end.")

    def _join_surrogates(self, piece: str, is_reasoning: bool) -> str:
        """Return the piece with surrogate pairs joined that the server split, as servers that count in UTF-16 do."""
        piece = self._split[is_reasoning] + piece
        self._split[is_reasoning] = ""
        if not _SURROGATE.search(piece):
            return piece
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._split[is_reasoning] = piece[:-1], piece[-1]
        return piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def add_logprobs(self, tokens: Any) -> None:
        """Add log probabilities: objects with ``token`` or ``bytes`` and ``logprob``. Raises Runaway for too many."""
        if not isinstance(tokens, list):
            return
        for token in tokens:
            logprob = token.get("logprob") if isinstance(token, dict) else None
            if isinstance(logprob, int | float) and not isinstance(logprob, bool):
                piece = _token_bytes(token)
                self._tokens.append((piece, min(max(LOWEST_LOGPROB, float(logprob)), 0.0)))
                self._spelt += len(piece) + 1
        if self._spelt > BYTES_PER_CHARACTER * (1 + REASONING_FACTOR) * self._max_characters:
            raise errors.Runaway("The reply has far more log probabilities than its output limit allows.")

    def _aligned(self, text: str) -> tuple[tuple[int, float], ...]:
        """Return position in ``text`` and log probability of each of its tokens; empty if they do not spell it."""
        written, spelt = text.encode("utf-8", "replace"), b"".join(piece for piece, _ in self._tokens)
        after = spelt[::-1].find(written[::-1])  # rfind would take quadratic time
        if not self._tokens or after < 0:
            return ()
        position = after + len(written) - len(spelt)
        places: list[tuple[int, float]] = []
        decoder, characters = codecs.getincrementaldecoder("utf-8")(), 0
        for piece, logprob in self._tokens:
            if 0 <= position < len(written):
                places.append((characters, logprob))
            characters += len(decoder.decode(written[max(position, 0) : max(position + len(piece), 0)]))
            position += len(piece)
        return tuple(places)

    @property
    def is_complete(self) -> bool:
        """True if only the usage and the end of the stream are missing; some servers give a reason with each piece."""
        return bool(self.finish_reason) and not self._goes_on

    def note_usage(self, usage: Usage) -> None:
        """Note reported tokens: the highest of each number, because some servers report them in parts."""
        if self.usage is not None:
            usage = Usage(*map(max, astuple(usage), astuple(self.usage)))
        self.usage = usage

    def note_price(self, dollars: float | None) -> None:
        """Note a price of the whole reply, if there is one: the highest, as with tokens."""
        if dollars is not None:
            self.stated_usd = max(dollars, self.stated_usd or 0.0)

    def note_finish(self, why: Any) -> None:
        """Note the finish reason, if there is one; some servers send a null as text."""
        if isinstance(why, str) and why.strip().casefold() not in ("", "null", "none"):
            self.finish_reason = server_message(why)

    def note_model(self, name: Any) -> None:
        """Note the server's name of the model; the first valid name counts."""
        if not self.served_model and isinstance(name, str):
            self.served_model = server_message(name)

    def count_lines(self, count: int) -> None:
        """Count lines that were read. Raises Stalled or TimedOut without text for too long, Runaway for too many."""
        self._lines += count
        if self._lines > (1 + REASONING_FACTOR) * self._max_characters:
            raise errors.Runaway(
                f"The reply exceeded {self._lines:,} lines without an end, "
                f"with an output limit of {self.max_tokens:,} tokens."
            )
        if time.monotonic() - self._received_at > self.request.idle_timeout:
            raise self.silence_error()

    def silence_error(self) -> errors.ModelError:
        """Return the error of a server that was silent for too long, before a reply or in the middle of one."""
        kind = errors.Stalled if self.text or self.reasoning else errors.TimedOut
        role_model, seconds = self.request.role_model, self.request.idle_timeout
        return kind(f"{role_model.model} at {role_model.connection} was silent for {seconds:.3g} s.")

    @property
    def _usage_so_far(self) -> Usage:
        """The tokens of the prompt and of the text so far: each as reported, else estimated by length."""
        estimate = estimate_usage(self.prompt_characters, sum(self._lengths) + self._refused)
        reported = self.usage
        if reported is None:
            return estimate
        prompt, completion = reported.prompt_tokens, reported.completion_tokens  # zeros mean unknown
        return replace(
            reported,
            prompt_tokens=prompt or estimate.prompt_tokens,
            completion_tokens=completion or estimate.completion_tokens,
            estimated=reported.estimated or not (prompt and completion),
        )

    @property
    def billed(self) -> tuple[int, int, int]:
        """The prompt, completion and cached tokens of a failed attempt; zeros if nothing was received."""
        if self.usage is None and not (self.text or self.reasoning or self.refusal):
            return 0, 0, 0
        usage = self._usage_so_far
        return usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens

    @property
    def so_far(self) -> str:
        """The text received so far."""
        return join_pieces(self.text)

    def build(self, refused_params: tuple[str, ...] = ()) -> Reply:
        """Return the complete reply.

        Raises Refused if the model declined or a content filter stopped the reply, CutStream without a finish reason,
        and EmptyReply. Raises LengthLimit if a plain-text reply reached its limit without text; where a decision is
        required, such a reply is unreadable.
        """
        role_model, role_request = self.request.role_model, self.request.role_request
        if self.refusal:
            refusal = server_message(join_pieces(self.refusal))
            raise errors.Refused(as_sentence(f"{role_model.model} declined: {refusal}"))
        if not self.finish_reason:
            raise errors.CutStream(f"{role_model.connection} closed the stream of {role_model.model} before the end.")
        why = self.finish_reason.casefold().partition(":")[0]  # Gemini: "content_filter: RECITATION"
        if why in _BROKEN or why.startswith("error"):
            raise errors.CutStream(
                f"{role_model.connection} broke off the reply of {role_model.model}: it gives '{why}' as the reason."
            )
        if why in _FILTERED:
            raise errors.Refused(f"{role_model.connection}: a content filter stopped {role_model.model}.")
        text, reasoning = self.so_far, join_pieces(self.reasoning)
        finish_reason: Literal["stop", "length"] = "length" if why in _AT_ITS_LIMIT else "stop"
        if not text.strip() and finish_reason == "length" and role_request.form == "text" and role_request.reask:
            raise no_text_error(role_model, role_request.output_limit(role_model))
        if not text.strip() and finish_reason == "stop":
            if reasoning.strip():
                raise errors.EmptyReply(
                    f"{role_model.model} at {role_model.connection} replied with reasoning and without any text.",
                    "The server may take the whole reply for reasoning. Switch reasoning off with the role's reasoning "
                    "effort 'none', or start the server so that it does not separate reasoning from text "
                    "(vLLM: no --reasoning-parser; llama.cpp: --reasoning-format none).",
                )
            raise errors.EmptyReply(f"{role_model.model} at {role_model.connection} replied without any text.")
        usage = self._usage_so_far
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=finish_reason,
            usage=usage,
            cost_usd=self.request.price(usage, self.stated_usd),
            refused_params=refused_params,
            served_model=self.served_model,
            token_logprobs=self._aligned(text),
        )


CHARACTERS_PER_TOKEN = 4
"""Estimate for servers that report no usage."""

MAX_TOKEN_COUNT = 10**9
"""Largest token count of a reply that is believed."""

OnDelta: TypeAlias = Callable[[str, bool], None]
"""Receiver of (text, is_reasoning) for every piece of a streamed reply."""


def ignore_delta(_text: str, _is_reasoning: bool) -> None:
    """Ignore a piece of a reply, where no page shows it."""


def join_pieces(pieces: list[str]) -> str:
    """Return the pieces as one text, which replaces them in the list, so that they are joined once."""
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return pieces[0] if pieces else ""


def _token_bytes(token: Mapping[str, Any]) -> bytes:
    byte_values = token.get("bytes")
    if isinstance(byte_values, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in byte_values):
        return bytes(byte_values)
    return str(token.get("token", "")).encode("utf-8", "replace")


def estimate_usage(prompt_characters: int, reply_characters: int) -> Usage:
    """Return token counts estimated from lengths in characters, marked as an estimate."""
    return Usage(
        prompt_tokens=-(-prompt_characters // CHARACTERS_PER_TOKEN),
        completion_tokens=-(-reply_characters // CHARACTERS_PER_TOKEN),
        estimated=True,
    )


def parse_token_count(value: Any) -> int:
    """Return a token count that a server reported, also as 12.0 or "12"; 0 for an impossible value."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= len(str(MAX_TOKEN_COUNT)):
        value = int(value)
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_TOKEN_COUNT
    return int(value) if valid else 0
