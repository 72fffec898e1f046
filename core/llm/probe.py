"""Capabilities of a model by a few short requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from core.codebook import Codebook, Label
from core.debate.turns import Reply, Request
from core.documents import Document
from core.errors import ModelError
from core.llm.capabilities import ModelCapabilities
from core.prompts import Message
from core.runs import Sampling

WORDS = Request("annotator", (Message("user", "Write eight words that have nothing to do with each other."),))
DOCUMENT = Document("probe", {"text": "It rained all day."})
BOOK = Codebook(name="probe", labels=(Label(name="Weather", keywords=("rain", "sun")), Label(name="Food")))
WEATHER = Request(
    "annotator",
    (
        Message(
            "user",
            "Does this text speak about the weather? Answer with this line alone: "
            f"The aspects present in this text are: #Weather (or: none)\n\n{DOCUMENT.text}",
        ),
    ),
    form="labels",
)
"""A question about ``DOCUMENT`` with the labels of ``BOOK``, which the built-in model can answer, too."""
TOKENS = 400
"""Enough for a model that reasons before it writes eight words."""

Send = Callable[[Request, Sampling, Mapping[str, Any]], Awaitable[Reply]]
"""Function of (request, sampling, further parameters) that returns the reply; raises ModelError."""


async def probe_capabilities(send: Send, capabilities: ModelCapabilities) -> None:
    """Probe seed, log probabilities and schema with four or five requests, and record them in ``capabilities``.

    It learns from refusals by itself. Other failures leave a capability unknown.
    """
    in_schema = Sampling(json_schema="on", max_tokens=TOKENS)
    free = Sampling(temperature=1.0, seed=7, max_tokens=TOKENS)
    first, second, with_logprobs, with_schema = await asyncio.gather(
        _tried(send, WORDS, free, {}),
        _tried(send, WORDS, free, {}),
        _tried(send, WORDS, free, {"logprobs": True}),
        _tried(send, WEATHER, in_schema, {}),
    )
    if with_schema is not None and not capabilities.schema:
        with_schema = await _tried(send, WEATHER, in_schema, {})
    if "seed" in capabilities.refused_params:
        capabilities.seed = False
    elif first is not None and second is not None:
        capabilities.seed = first.text == second.text
    if with_logprobs is not None and with_logprobs.text:
        capabilities.logprobs = bool(with_logprobs.token_logprobs)
    if with_schema is not None and capabilities.schema in ("full", "plain") and not _is_object(with_schema):
        capabilities.schema = "ignored"
    replies = [reply for reply in (first, second, with_logprobs, with_schema) if reply is not None]
    if replies and capabilities.reasons is None:
        capabilities.reasons = any(reply.reasoning for reply in replies)


async def _tried(send: Send, request: Request, sampling: Sampling, extra_params: Mapping[str, Any]) -> Reply | None:
    try:
        return await send(request, sampling, extra_params)
    except ModelError:
        return None


def _is_object(reply: Reply) -> bool:
    """Return True if the reply is a JSON object, or the beginning of one if the output limit cut it off."""
    text = reply.text.strip()
    if reply.finish_reason == "length":
        return text.startswith("{")
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False
