"""Chat completions as OpenAI defined them and many servers speak them: one streamed request, one reply."""

from __future__ import annotations

from typing import Any

import aiohttp

from core import errors
from core.debate.turns import Ask, Usage
from core.llm import prices, streams
from core.llm.capabilities import Capabilities
from core.llm.connections import Connection
from core.llm.failures import from_event, plain
from core.llm.reply import ModelReply, OnDelta, count
from core.runs import Seat


async def ask(
    session: aiohttp.ClientSession,
    place: Connection,
    key: str | None,
    seat: Seat,
    request: Ask,
    seed: int | None,
    capabilities: Capabilities,
    on_delta: OnDelta,
) -> ModelReply:
    """Send one ask. A parameter that the server refuses is dropped once, remembered for this server and model, and
    named in the reply's ``dropped``. Raises a ModelError."""
    known = capabilities.of(place, seat.model)
    url = f"{place.base_url}/chat/completions"
    headers = {"authorization": f"Bearer {key}"} if key else {}
    while True:
        growing = streams.Growing(on_delta)
        body = known.applied(_body(seat, request, seed))
        try:
            async with streams.post(session, url, body, headers, seat, growing) as response:
                await _receive(response, seat, growing)
                return growing.finished(
                    seat,
                    sum(len(message.content) for message in request.messages),
                    lambda usage: prices.cost(place, seat.model, usage),
                    tuple(sorted(known.dropped)),
                )
        except errors.BadRequest as error:
            if not known.learn(error.message, body):
                raise
        except errors.ModelError as error:
            error.partial = growing.so_far
            raise


def _body(seat: Seat, request: Ask, seed: int | None) -> dict[str, Any]:
    sampling = seat.sampling
    optional = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": seed,
        "reasoning_effort": sampling.reasoning_effort,
    }
    return {
        "model": seat.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": sampling.max_tokens,
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _receive(response: aiohttp.ClientResponse, seat: Seat, growing: streams.Growing) -> None:
    if response.content_type == "application/json":
        _take(streams.decoded(await response.read(), seat), seat, growing)
        return
    async for lines in streams.Lines(response, seat):
        for line in lines:
            if not line.startswith(b"data:"):
                growing.wait(seat)  # some servers send comments for as long as what is behind them does not answer
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                growing.finish = growing.finish or "stop"
                return
            if data:
                _take(streams.decoded(data, seat), seat, growing)


def _take(event: dict[str, Any], seat: Seat, growing: streams.Growing) -> None:
    """One event of a stream, or a whole reply that was not streamed: they differ in ``delta`` and ``message``."""
    if event.get("error") or event.get("object") == "error":
        raise from_event(event.get("error") or event, seat)
    if isinstance(event.get("usage"), dict):
        growing.usage = _usage(event["usage"])
    choices = event.get("choices")
    if not isinstance(choices, list):
        return
    for choice in choices:
        if not isinstance(choice, dict):
            raise errors.MalformedStream(f"{seat.connection} sent a choice that is not an object.", "")
        part = choice.get("delta") or choice.get("message") or {}
        if isinstance(part, dict):
            growing.add(part.get("content"), part.get("reasoning_content") or part.get("reasoning"))
            if part.get("refusal"):
                raise errors.Refused(f"{seat.model} declined: {plain(part['refusal'])}", "Another model may take it.")
        if choice.get("finish_reason"):
            growing.finish = str(choice["finish_reason"])


def _usage(data: dict[str, Any]) -> Usage:
    prompt = data.get("prompt_tokens_details") or {}
    completion = data.get("completion_tokens_details") or {}
    return Usage(
        prompt_tokens=count(data.get("prompt_tokens")),
        completion_tokens=count(data.get("completion_tokens")),
        cached_tokens=count(prompt.get("cached_tokens")) if isinstance(prompt, dict) else 0,
        reasoning_tokens=count(completion.get("reasoning_tokens")) if isinstance(completion, dict) else 0,
    )
