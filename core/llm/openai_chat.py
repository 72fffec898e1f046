"""Chat completions as defined by OpenAI and offered by many servers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from core import errors
from core.debate.turns import Usage
from core.llm import http, streaming
from core.llm.capabilities import ModelCapabilities
from core.llm.failures import from_event, from_status
from core.llm.request import NAME, ModelRequest, Schema

PATH = "/chat/completions"
TICKS_PER_USD = 1e10
"""xAI states prices in ticks."""


def optional(request: ModelRequest) -> dict[str, Any]:
    """Return the parameters that a server may refuse."""
    effort = request.role_model.sampling.reasoning_effort
    params = {**request.sampling, **({"reasoning_effort": effort} if effort else {}), **request.extra_params}
    return {**params, "stream": True, "stream_options": {"include_usage": True}}


def body(
    request: ModelRequest, capabilities: ModelCapabilities, optional: Mapping[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """Return the body of the request."""
    parameters = {"model": request.role_model.model, "messages": request.messages(capabilities, schema), **optional}
    if "stream" not in parameters:
        parameters.pop("stream_options", None)
    if capabilities.limit:
        parameters[capabilities.limit] = capabilities.limited(request.output_limit)
    if schema is not None:
        named_schema = {"name": NAME, "strict": True, "schema": schema}
        parameters["response_format"] = {"type": "json_schema", "json_schema": named_schema}
    return parameters


async def receive(response: aiohttp.ClientResponse, builder: streaming.ReplyBuilder) -> None:
    """Read the reply to its end, streamed or whole."""
    role_model = builder.request.role_model
    events = _Events(builder, is_whole=response.content_type in ("application/json", "text/html"))
    reading = streaming.Lines(response, role_model)
    async for lines in reading:
        for line in lines:
            if line.startswith(b"data:") and line[5:].strip() == b"[DONE]":
                events.take_buffered()
                if events.message and not builder.finish_reason:
                    raise _described_error(events.message, response, builder)
                builder.finish_reason = builder.finish_reason or "stop"
                await http.drain(response)
                return
            events.read(line)
        reading.is_last = builder.is_complete
        builder.count_lines(len(lines))  # some servers send comments while their backend does not answer
    body = bytes(events.buffered) or events.stray
    events.take_buffered()
    if (body and not builder.has_choices) or (events.message and not builder.finish_reason):
        raise _described_error(body or events.message, response, builder)
    if body and events.is_whole:
        builder.finish_reason = builder.finish_reason or "stop"  # a whole reply is complete even without it


def _described_error(
    body: bytes, response: aiohttp.ClientResponse, builder: streaming.ReplyBuilder
) -> errors.ModelError:
    """Return the error that a JSON body describes. Raises MalformedStream for other bodies."""
    role_model = builder.request.role_model
    code = str(streaming.decode(body, role_model).get("code"))  # some servers put the status there
    status = int(code) if re.fullmatch(r"[45]\d\d", code) else response.status
    return from_status(status, body, response.headers, role_model)


@dataclass(slots=True)
class _Events:
    """The events of a reply, from its lines."""

    builder: streaming.ReplyBuilder
    is_whole: bool
    """True if the content type is that of JSON, or HTML, which some web frameworks send by default."""
    buffered: bytearray = field(default_factory=bytearray)
    """Lines of an event that is not complete."""
    is_error: bool = False
    stray: bytes = b""
    """The first line that is not a field."""
    message: bytes = b""
    """An event with a message in place of choices, or that is no JSON: an error, or a sign of life in a whole reply."""

    def read(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._read_data(line[5:].strip())
        elif line and not line.startswith(b":"):
            self._read_other(line)
        elif not line:
            if not self.is_whole:
                self.take_buffered()
            self.is_error = False

    def take_buffered(self) -> None:
        data = bytes(self.buffered).strip()
        self.buffered.clear()
        if data.startswith(b"{") or b"\n" in data:
            take(streaming.decode(data, self.builder.request.role_model), self.builder, is_error=self.is_error)
        else:
            self.message = self.message or data

    def _read_data(self, data: bytes) -> None:
        # An event may span several lines. A complete event is used at once, because some servers do not send the
        # blank line after it.
        event = None if self.buffered else streaming.decode_or_none(data)
        if event is not None:
            take(event, self.builder, is_error=self.is_error)
            self.is_error = False
            if not event.get("choices") and (event.get("message") or event.get("detail")):
                self.message = data
        elif data and self.is_error and not (self.buffered or data.startswith(b"{")):
            raise from_event(data.decode("utf-8", "replace"), self.builder.request.role_model)
        elif data:
            self._buffer(data)

    def _read_other(self, line: bytes) -> None:
        """Read another field, or plain JSON, which some servers send when they do not stream or when they fail."""
        name, colon, value = line.partition(b":")
        if name == b"error":
            words = streaming.decode_or_none(value) or value.decode("utf-8", "replace").strip()
            raise from_event(words, self.builder.request.role_model)
        if colon and name in (b"event", b"id", b"retry"):
            self.is_error = value.strip() == b"error" if name == b"event" else self.is_error
        elif self.is_whole or self.buffered or line.startswith(b"{"):
            self._buffer(line)
        self.stray = self.stray or (b"" if colon else line)

    def _buffer(self, data: bytes) -> None:
        self.buffered += data + b"\n"
        if len(self.buffered) > streaming.MAX_LINE:
            connection = self.builder.request.role_model.connection
            raise errors.Runaway(f"{connection} sent an event of more than {streaming.MAX_LINE:,} bytes.")


def take(event: dict[str, Any], builder: streaming.ReplyBuilder, *, is_error: bool = False) -> None:
    """Add one event of a stream to the reply, or a whole reply. An event that ``is_error`` may lack this key."""
    role_model = builder.request.role_model
    if "choices" not in event and isinstance(event.get("data"), dict):
        event = event["data"]  # Cline
    if not event.get("choices"):  # otherwise fields such as error_code may say that all is well
        is_error |= any(value and name.startswith("error_") for name, value in event.items())
    if (is_error and event) or event.get("error") or event.get("object") == "error":
        raise from_event(event.get("error") or event, role_model)
    builder.note_model(event.get("model"))
    _note_usage(event, builder)
    choices = event.get("choices")
    if not isinstance(choices, list):
        return
    builder.has_choices = True
    for choice in choices:
        if not isinstance(choice, dict):
            raise errors.MalformedStream(f"{role_model.connection} sent a choice that is not an object.", "")
        if choice.get("index"):
            continue  # a second reply that was not requested
        _note_usage(choice, builder)  # Moonshot puts it there
        part = choice.get("delta") or choice.get("message") or {}
        if isinstance(part, dict):
            text, inner_thought = _parts(part.get("content", choice.get("text")))
            thought = part.get("reasoning_content") or part.get("reasoning") or inner_thought
            if part is not choice.get("message"):
                builder.has_deltas |= isinstance(text, str) and bool(text.strip())
            else:
                builder.forget_repeated(text, is_reasoning=False)
                builder.forget_repeated(thought, is_reasoning=True)
            builder.add(text, thought)
            builder.add_refusal(part.get("refusal"))
        logprobs = choice.get("logprobs")
        builder.add_logprobs(logprobs.get("content") if isinstance(logprobs, dict) else logprobs)
        if choice.get("error"):
            raise from_event(choice["error"], role_model)
        builder.note_finish(choice.get("finish_reason"))


def _parts(content: Any) -> tuple[Any, str]:
    """Return text and reasoning of a content: a text, a part, or a list of strings, {type, text}, {type, thinking}.

    A number stands for its digits: Cloudflare sends the text "1" so.
    """
    if isinstance(content, int | float):
        return json.dumps(content), ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return content, ""
    pieces = {"text": "", "thinking": ""}
    for part in content:
        if isinstance(part, str):
            pieces["text"] += part
        elif isinstance(part, dict):
            thought, text = _parts(part.get("thinking"))[0], part.get("text")
            pieces["thinking"] += thought if isinstance(thought, str) else ""
            pieces["text"] += text if isinstance(text, str) else ""
    return pieces["text"], pieces["thinking"]


def _note_usage(part: dict[str, Any], builder: streaming.ReplyBuilder) -> None:
    if isinstance(part.get("usage"), dict):
        builder.note_usage(_usage(part["usage"]))
        builder.note_price(stated_usd(part["usage"]))


def stated_usd(usage: dict[str, Any]) -> float | None:
    """Return the price of a reply in dollars that its usage states, None without one.

    To a user with a key of the provider's own, OpenRouter states only its fee as the cost.
    """
    cost, details, ticks = usage.get("cost"), usage.get("cost_details"), _dollars(usage.get("cost_in_usd_ticks"))
    if usage.get("is_byok") is True:
        upstream = _dollars(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
        return None if upstream is None else upstream + (_dollars(cost) or 0.0)
    stated = (
        _dollars(cost.get("total_cost") if isinstance(cost, dict) else cost),  # Perplexity gives its parts, too
        _dollars(usage.get("estimated_cost")),  # DeepInfra
        None if ticks is None else ticks / TICKS_PER_USD,
    )
    return next((dollars for dollars in stated if dollars is not None), None)


def _dollars(amount: Any) -> float | None:
    """Return an amount that is neither negative nor infinite, None for anything else."""
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    return float(amount) if is_number and 0 <= amount < math.inf else None


def _usage(data: dict[str, Any]) -> Usage:
    """Return the reported tokens. Some servers, such as xAI, count those of the reasoning in the total only.

    A server that reports more cached tokens than tokens of the prompt has left the cached ones out of the prompt.
    """

    def count(*path: str) -> int:
        value: Any = data
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return streaming.parse_token_count(value)

    prompt_tokens = count("prompt_tokens") or count("input_tokens")  # mlx-vlm
    completion_tokens, total = count("completion_tokens") or count("output_tokens"), count("total_tokens")
    cached_tokens = max(
        count("prompt_tokens_details", "cached_tokens"),
        count("cached_tokens"),  # Moonshot
        count("prompt_cache_hit_tokens"),  # DeepSeek
    )
    if cached_tokens > prompt_tokens > 0:
        prompt_tokens += cached_tokens
    return Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=max(completion_tokens, total - prompt_tokens) if prompt_tokens else completion_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=count("completion_tokens_details", "reasoning_tokens"),
        written_tokens=count("prompt_tokens_details", "cache_write_tokens"),
    )
