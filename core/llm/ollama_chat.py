"""Ollama's own chat API: newline-delimited JSON, one streamed request, one reply."""

from __future__ import annotations

from typing import Any

import aiohttp

from core import errors
from core.debate.turns import Ask, Usage
from core.llm import prices, streams
from core.llm.connections import Connection
from core.llm.failures import from_event
from core.llm.reply import ModelReply, OnDelta, count
from core.runs import Seat

CONTEXT_MARGIN = 512
"""Tokens of context asked for beyond prompt and limit, as Ollama cuts a prompt that does not fit without a word."""


async def ask(
    session: aiohttp.ClientSession,
    place: Connection,
    key: str | None,
    seat: Seat,
    request: Ask,
    seed: int | None,
    on_delta: OnDelta,
) -> ModelReply:
    """Send one ask. Raises a ModelError."""
    growing = streams.Growing(on_delta)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    body = _body(seat, request, seed)
    async with streams.post(session, f"{place.base_url}/api/chat", body, headers, seat, growing) as response:
        async for lines in streams.Lines(response, seat):
            for line in filter(bytes.strip, lines):
                _take(streams.decoded(line, seat), seat, growing)
        return growing.finished(
            seat,
            sum(len(message.content) for message in request.messages),
            lambda usage: prices.cost(place, seat.model, usage),
            (),
        )


def _body(seat: Seat, request: Ask, seed: int | None) -> dict[str, Any]:
    sampling = seat.sampling
    characters = sum(len(message.content) for message in request.messages)
    needed = characters // 3 + sampling.max_tokens + CONTEXT_MARGIN
    options: dict[str, Any] = {"num_predict": sampling.max_tokens, "num_ctx": max(4096, -(-needed // 1024) * 1024)}
    optional = {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": seed}
    options |= {name: value for name, value in optional.items() if value is not None}
    return {
        "model": seat.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "options": options,
    }


def _take(event: dict[str, Any], seat: Seat, growing: streams.Growing) -> None:
    if event.get("error"):
        raise from_event(event["error"], seat)
    message = event.get("message") or {}
    if not isinstance(message, dict):
        raise errors.MalformedStream(f"{seat.connection} sent a message that is not an object.", "")
    growing.add(message.get("content"), message.get("thinking"))
    if event.get("done"):
        growing.finish = str(event.get("done_reason") or "stop")
        growing.usage = Usage(
            prompt_tokens=count(event.get("prompt_eval_count")),
            completion_tokens=count(event.get("eval_count")),
            estimated=event.get("eval_count") is None,
        )
