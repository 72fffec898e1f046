"""One request in either API: sent as the server is known to take it, and again without what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import aiohttp

from core import errors
from core.debate.turns import Reply
from core.llm import streaming
from core.llm.capabilities import Known
from core.llm.reply import OnDelta
from core.llm.request import ModelRequest
from core.llm.schemas import Schema
from core.runs import RoleModel


class Dialect(Protocol):
    """What ``openai_chat`` and ``ollama_chat`` each know of their API."""

    PATH: str

    def optional(self, request: ModelRequest) -> dict[str, Any]:
        """The parameters that a server may refuse, as they are meant."""

    def body(
        self, request: ModelRequest, known: Known, optional: Mapping[str, Any], schema: Schema | None
    ) -> dict[str, Any]:
        """What goes out; ``optional`` and ``schema`` hold what the server is not known to refuse."""

    async def receive(
        self, response: aiohttp.ClientResponse, role_model: RoleModel, builder: streaming.ReplyBuilder
    ) -> None:
        """Read the reply to its end."""


async def ask(
    session: aiohttp.ClientSession, dialect: Dialect, request: ModelRequest, known: Known, on_delta: OnDelta
) -> Reply:
    """Send one ask. What the server refuses is left out once, remembered in ``known``, and named in the reply's
    ``dropped``. Raises a ModelError."""
    refused: dict[str, Any] | None = None
    refusal: errors.ModelError | None = None
    while True:
        meant = dialect.optional(request)
        schema = request.schema_for(known)
        optional = {name: value for name, value in meant.items() if name not in known.dropped}
        body = dialect.body(request, known, optional, schema)
        if refusal is not None and body == refused:  # a lesson that changes nothing would be learned for ever
            raise refusal
        builder = streaming.ReplyBuilder(on_delta, request.silence)
        try:
            reply = await _exchange(session, dialect, request, body, builder, request.unsent(known, meant))
        except errors.BadRequest as error:
            if not known.learn(error.said, request.sent(body, schema)):
                raise
            refused, refusal = body, error
        except errors.ServerFault as error:
            refused, refusal = body, error
            if known.learn_system(error.said, request.sent(body, schema)):
                continue
            if schema is None or known.schema:
                raise
            return await _without_schema(session, dialect, request, known, on_delta, error)
        else:
            if schema is not None:
                known.took_schema(schema == request.schema)
            return reply


async def _exchange(
    session: aiohttp.ClientSession,
    dialect: Dialect,
    request: ModelRequest,
    body: dict[str, Any],
    builder: streaming.ReplyBuilder,
    unsent: tuple[str, ...],
) -> Reply:
    """One request and its reply. A ModelError tells what had come before it, and what that was billed."""
    url = f"{request.place.base_url}{dialect.PATH}"
    try:
        try:
            async with streaming.post(session, url, body, request, builder) as response:
                await dialect.receive(response, request.role_model, builder)
        except (errors.CutStream, errors.Stalled, errors.MalformedStream):
            if not builder.finish:  # otherwise the reply is complete and only the usage or the last line is missing
                raise
        return builder.build(request, unsent)
    except errors.ModelError as error:
        error.partial = builder.so_far
        error.billed = builder.billed(request.characters)
        raise


async def _without_schema(
    session: aiohttp.ClientSession,
    dialect: Dialect,
    request: ModelRequest,
    known: Known,
    on_delta: OnDelta,
    fault: errors.ServerFault,
) -> Reply:
    """A server that never took a schema broke on one: a weak one may not know what it is. Whether that was it shows
    when the same goes out without; otherwise the fault is what it was, and nothing is concluded."""
    try:
        tried = replace(known, dropped=set(known.dropped), schema="none")
        reply = await ask(session, dialect, request, tried, on_delta)
    except errors.ModelError:
        raise fault from None
    known.without_schema()
    return reply
