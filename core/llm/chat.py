"""Send a request in either API, adapted to the server, and again without the parameters that it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import aiohttp

from core import errors
from core.debate.turns import Reply
from core.llm import streaming
from core.llm.capabilities import ModelCapabilities
from core.llm.request import ModelRequest, Schema
from core.llm.streaming import OnDelta
from core.runs import RoleModel


class ChatAPI(Protocol):
    """Interface of an API: ``openai_chat`` and ``ollama_chat``."""

    PATH: str

    def optional(self, request: ModelRequest) -> dict[str, Any]:
        """Return the parameters that a server may refuse."""

    def body(
        self, request: ModelRequest, capabilities: ModelCapabilities, optional: Mapping[str, Any], schema: Schema | None
    ) -> dict[str, Any]:
        """Return the body; ``optional`` and ``schema`` leave out what the server is known to refuse."""

    async def receive(
        self, response: aiohttp.ClientResponse, role_model: RoleModel, builder: streaming.ReplyBuilder
    ) -> None:
        """Read the reply to its end."""


async def ask(
    session: aiohttp.ClientSession,
    api: ChatAPI,
    request: ModelRequest,
    capabilities: ModelCapabilities,
    on_delta: OnDelta,
) -> Reply:
    """Send a request and return its reply.

    Refused parameters are left out once, remembered in ``capabilities``, and named in the reply. Raises ModelError.
    """
    refused: dict[str, Any] | None = None
    refusal: errors.ModelError | None = None
    while True:
        optional_params = api.optional(request)
        schema = request.schema_for(capabilities)
        optional = {name: value for name, value in optional_params.items() if name not in capabilities.refused_params}
        body = api.body(request, capabilities, optional, schema)
        if refusal is not None and body == refused:  # learning that changes nothing would repeat forever
            raise refusal
        builder = streaming.ReplyBuilder(on_delta, request.silence, request.output_limit)
        try:
            reply = await _exchange(session, api, request, body, builder, request.unsent(capabilities, optional_params))
        except errors.BadRequest as error:
            if not capabilities.learn(error.server_text, request.sent(body, schema)):
                raise
            refused, refusal = body, error
        except errors.ContextTooLong as error:
            if not capabilities.learn_context(error.server_text, body):
                raise
            refused, refusal = body, error
        except errors.ServerFault as error:
            refused, refusal = body, error
            if capabilities.learn_system(error.server_text, request.sent(body, schema)):
                continue
            if schema is None or capabilities.schema:
                raise
            return await _without_schema(session, api, request, capabilities, on_delta, error)
        else:
            if schema is not None:
                capabilities.took_schema(schema == request.schema)
            _check_whole(reply, request, body, capabilities)
            return reply


SPARE_TOKENS = 8
"""Tokens that a server may leave free between a shortened prompt and the output limit, as Xinference does."""


def _check_whole(reply: Reply, request: ModelRequest, body: Mapping[str, Any], capabilities: ModelCapabilities) -> None:
    """Raise ContextTooLong if the read prompt ends exactly where the output limit begins.

    Some servers drop the beginning of a prompt that does not fit, with the instructions, and report only the rest.
    """
    usage, limit = reply.usage, body.get(capabilities.limit)
    if capabilities.context is None or usage.estimated or not isinstance(limit, int):
        return
    if 0 <= capabilities.context - limit - usage.prompt_tokens <= SPARE_TOKENS:
        error = errors.ContextTooLong(
            f"{request.connection.name} read only the end of a prompt of at least {usage.prompt_tokens + 1} tokens, "
            f"because {request.role_model.model} has a context of {capabilities.context} tokens and may write {limit}."
        )
        error.billed = usage.prompt_tokens, usage.completion_tokens
        raise error


async def _exchange(
    session: aiohttp.ClientSession,
    api: ChatAPI,
    request: ModelRequest,
    body: dict[str, Any],
    builder: streaming.ReplyBuilder,
    unsent: tuple[str, ...],
) -> Reply:
    """Make one exchange. A ModelError carries the text received before it, and what was billed."""
    url = f"{request.connection.base_url}{api.PATH}"
    try:
        clock = asyncio.timeout(request.deadline)
        try:
            async with clock, streaming.post(session, url, body, request, builder) as response:
                await api.receive(response, request.role_model, builder)
        except TimeoutError:
            if not clock.expired():
                raise
            raise errors.Runaway(f"The reply did not end within {request.deadline:,.0f} seconds.") from None
        except (errors.CutStream, errors.Stalled, errors.MalformedStream):
            if not builder.finish_reason:  # otherwise only the usage or the last line is missing
                raise
        return builder.build(request, unsent)
    except errors.ModelError as error:
        error.partial = builder.so_far
        error.billed = builder.billed(request.role_request.characters)
        raise


async def _without_schema(
    session: aiohttp.ClientSession,
    api: ChatAPI,
    request: ModelRequest,
    capabilities: ModelCapabilities,
    on_delta: OnDelta,
    fault: errors.ServerFault,
) -> Reply:
    """Repeat a request without a schema after a server error.

    A weak server may not support schemas. If the repetition succeeds, the schema was the cause; otherwise the original
    error is raised and nothing is learned.
    """
    try:
        tried = replace(capabilities, refused_params=set(capabilities.refused_params), schema="none")
        reply = await ask(session, api, request, tried, on_delta)
    except errors.ModelError:
        raise fault from None
    capabilities.without_schema()
    return reply
