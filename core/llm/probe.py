"""Probe the capabilities of a model at a server with a few short requests, at a higher cost than a run's preflight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from core.codebook import Codebook, Label
from core.debate.turns import Reply, Request
from core.errors import ModelError
from core.llm.capabilities import ModelCapabilities
from core.prompts.messages import Message
from core.runs import Sampling

WORDS = Request("annotator", (Message("user", "Write eight words that have nothing to do with each other."),))
RAIN = Request(
    "annotator",
    (Message("user", "Does this text speak about the weather? Name it if so.\n\nIt rained all day."),),
    form="labels",
)
BOOK = Codebook(name="probe", labels=(Label(name="Weather"), Label(name="Food")))
TOKENS = 400
"""Enough for a model that reasons before it writes eight words."""

Send = Callable[[Request, Sampling, Mapping[str, Any]], Awaitable[Reply]]
"""Function of (request, sampling, further parameters) that returns the reply; raises ModelError."""


async def examine(send: Send, known: ModelCapabilities) -> None:
    """Probe seed, log probabilities and schema, and record the results in ``known``.

    ``known`` learns from refusals by itself. Other failures leave a capability unknown. Sends at most four requests.
    """
    free = Sampling(temperature=1.0, seed=7, max_tokens=TOKENS)
    first, again, odds, held = await asyncio.gather(
        _tried(send, WORDS, free, {}),
        _tried(send, WORDS, free, {}),
        _tried(send, WORDS, free, {"logprobs": True}),
        _tried(send, RAIN, Sampling(json_schema="on", max_tokens=TOKENS), {}),
    )
    if "seed" in known.dropped:
        known.seed = False
    elif first is not None and again is not None:
        known.seed = first.text == again.text
    if odds is not None:
        known.logprobs = odds.logprobs
    if held is not None and known.schema in ("full", "plain") and not _is_object(held):
        known.schema = "ignored"
    replies = [reply for reply in (first, again, odds, held) if reply is not None]
    if replies and known.reasons is None:
        known.reasons = any(reply.reasoning for reply in replies)


async def _tried(send: Send, ask: Request, sampling: Sampling, more: Mapping[str, Any]) -> Reply | None:
    try:
        return await send(ask, sampling, more)
    except ModelError:
        return None


def _is_object(reply: Reply) -> bool:
    """Return True if the reply is a JSON object, or the beginning of one if the output limit cut it off."""
    text = reply.text.strip()
    if reply.finish == "length":
        return text.startswith("{")
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False
