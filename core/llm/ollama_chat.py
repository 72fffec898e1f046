"""Ollama's own chat API: newline-delimited JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp

from core import errors
from core.debate.turns import Usage
from core.llm import http, streaming
from core.llm.capabilities import ModelCapabilities
from core.llm.failures import from_event
from core.llm.request import ModelRequest, Schema

PATH = "/api/chat"

CONTEXT_MARGIN = 512
"""Tokens of context requested beyond prompt and limit, because Ollama silently truncates a prompt that does not fit."""

MIN_CONTEXT = 4096
_BYTES_PER_TOKEN = 3
"""A cautious estimate, because too little context loses the beginning of the prompt; one token per CJK character."""
_MAX_CHARACTERS_PER_TOKEN = 8
"""Highest average number of characters per token in any text, to detect prompts that cannot fit."""


def optional(request: ModelRequest) -> dict[str, Any]:
    """Return the parameters that a server may refuse; the lowest efforts switch thinking off."""
    effort = request.role_model.sampling.reasoning_effort
    thinking = {"think": effort not in ("none", "minimal") and effort} if effort else {}
    return {**request.sampling, **thinking, **request.extra_params}


def body(
    request: ModelRequest, capabilities: ModelCapabilities, optional: Mapping[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """Return the body of the request."""
    limit = capabilities.limited(request.output_limit)
    parameters: dict[str, Any] = {
        "model": request.role_model.model,
        "messages": request.messages(capabilities, schema),
        "stream": True,
        "truncate": False,  # newer versions then report a prompt that does not fit; others truncate it silently
        "options": {
            "num_predict": limit,
            "num_ctx": _context(request, limit, capabilities),
            **{name: optional[name] for name in request.sampling if name in optional},
        },
    }
    if "think" in optional:
        parameters["think"] = optional["think"]
    if schema is not None:
        parameters["format"] = schema
    parameters |= {name: optional[name] for name in request.extra_params if name in optional}
    return parameters


async def receive(response: aiohttp.ClientResponse, builder: streaming.ReplyBuilder) -> None:
    """Read the reply to its end."""
    role_model = builder.request.role_model
    async for lines in streaming.Lines(response, role_model):
        for line in filter(bytes.strip, lines):
            take(streaming.decode(line, role_model), builder)
            if builder.finish_reason:
                await http.drain(response)
                return
        builder.count_lines(len(lines))


def _context(request: ModelRequest, limit: int, capabilities: ModelCapabilities) -> int:
    """Return the context to request in tokens: a power of two, at most the model's. Raises ContextTooLong.

    It never shrinks, because Ollama reloads the model whenever the context changes.
    """
    least = request.role_request.characters // _MAX_CHARACTERS_PER_TOKEN
    if capabilities.context is not None and least > capabilities.context:
        model = request.role_model.model
        raise errors.ContextTooLong(
            f"The prompt for {model} has at least {least} tokens, its context has {capabilities.context} tokens."
        )
    bytes_sent = sum(len(message.content.encode(errors="replace")) for message in request.role_request.messages)
    needed = bytes_sent // _BYTES_PER_TOKEN + limit + CONTEXT_MARGIN
    capabilities.num_ctx = max(capabilities.num_ctx, MIN_CONTEXT, 1 << (needed - 1).bit_length())
    return capabilities.num_ctx if capabilities.context is None else min(capabilities.num_ctx, capabilities.context)


def take(event: dict[str, Any], builder: streaming.ReplyBuilder) -> None:
    role_model = builder.request.role_model
    if event.get("error"):
        raise from_event(event["error"], role_model)
    message = event.get("message") or {}
    if not isinstance(message, dict):
        raise errors.MalformedStream(f"{role_model.connection} sent a message that is not an object.", "")
    builder.note_model(event.get("model"))
    builder.add(message.get("content", event.get("response")), message.get("thinking"))  # some proxies: "response"
    builder.add_logprobs(event.get("logprobs"))
    if event.get("done"):
        builder.finish_reason = str(event.get("done_reason") or "stop")
        builder.usage = Usage(
            prompt_tokens=streaming.parse_token_count(event.get("prompt_eval_count")),
            completion_tokens=streaming.parse_token_count(event.get("eval_count")),
            estimated=event.get("eval_count") is None,
        )
