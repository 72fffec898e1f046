"""Helpers that send requests to a scripted server through the model library, as the engine does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from core.codebook import Codebook, Label
from core.debate.turns import Reply, ReplyForm, Request
from core.documents import Document
from core.llm.capabilities import ModelCapabilities
from core.llm.connections import Dialect, parse_connection
from core.llm.model_library import ModelLibrary
from core.llm.request import ModelRequest
from core.llm.streaming import OnDelta, ignore_delta
from core.prompts import Message
from core.runs import ErrorHandling, RoleModel, RunSettings, Sampling
from tests.servers.scripted import Behaviour, Scripted

BOOK = Codebook(unit="review", labels=(Label(name="Service"), Label(name="Food")))
ROLE_MODEL = RoleModel(connection="local", model="m", base_url="http://127.0.0.1:9/v1")
REQUEST = ModelRequest(
    connection=parse_connection("local", ROLE_MODEL.base_url),
    key=None,
    role_model=ROLE_MODEL,
    role_request=Request("annotator", (Message("user", "Text."),)),
    seed=None,
    schema=None,
    idle_timeout=1.0,
    reply_timeout=60.0,
    price=lambda _usage, _stated_usd: None,
)
MESSAGES = (Message("system", "You label."), Message("user", "Text."))


@dataclass
class CallOutcome:
    """The replies, the capabilities known afterwards, and all bodies that the server received."""

    capabilities: ModelCapabilities
    replies: list[Reply] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reply(self) -> Reply:
        """Return the last reply."""
        return self.replies[-1]


def ask_at(
    url: str,
    dialect: Dialect = "openai",
    *,
    times: int = 1,
    form: ReplyForm = "labels",
    reask: int = 0,
    limit_factor: int = 1,
    silence: float | None = None,
    deadline: float | None = None,
    before: Callable[[ModelCapabilities], None] = lambda _capabilities: None,
    on_delta: OnDelta = ignore_delta,
    messages: tuple[Message, ...] = MESSAGES,
    **sampling: Any,
) -> CallOutcome:
    """Send the same request ``times`` times to the server at this address; ``before`` sets up its capabilities."""

    async def go() -> CallOutcome:
        models = ModelLibrary([parse_connection("local", url, dialect)])
        role_model = models.resolve(RoleModel(connection="local", model="m", sampling=Sampling(**sampling)))
        handling = ErrorHandling(silence=silence, deadline=deadline)
        settings = RunSettings(
            protocol="single", codebook=BOOK, role_models={"annotator": role_model}, templates={}, handling=handling
        )
        request = Request("annotator", messages, form=form, reask=reask, limit_factor=limit_factor)
        outcome = CallOutcome(models.capabilities.get(models.connection("local"), "m"))
        before(outcome.capabilities)
        try:
            for _ in range(times):
                document = Document("1", {"text": "Text."})
                outcome.replies.append(await models.ask(role_model, request, settings, document, on_delta))
            return outcome
        finally:
            await models.close()

    return asyncio.run(go())


def ask(behave: Behaviour, dialect: Dialect = "openai", **options: Any) -> CallOutcome:
    """Send requests to a server with this behaviour; ``options`` are those of ``ask_at``."""
    with Scripted(behave) as server:
        outcome = ask_at(server.url if dialect == "openai" else server.url.removesuffix("/v1"), dialect, **options)
        outcome.sent = server.requests
        return outcome


def refusing(then: Behaviour, *rules: tuple[Callable[[dict[str, Any]], object], int, Any]) -> Behaviour:
    """Answer with the status and body of the first rule that matches the request, otherwise as ``then``."""

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        for matches, status, reply in rules:
            if matches(body):
                return web.json_response(reply, status=status)
        return await then(request, body)

    return behave
