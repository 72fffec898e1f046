"""One ask of a scripted server through the library, as the engine makes it."""

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
from core.llm.connections import Dialect, connection
from core.llm.models import ModelLibrary
from core.prompts.messages import Message
from core.runs import Handling, RoleModel, RunSettings, Sampling
from tests.servers.scripted import Behaviour, Scripted

BOOK = Codebook(unit="review", labels=(Label(name="Service"), Label(name="Food")))
MESSAGES = (Message("system", "You label."), Message("user", "Text."))


@dataclass
class Told:
    """What came of it: the replies, what is known of the model then, and all that the server was sent."""

    replies: list[Reply] = field(default_factory=list)
    known: ModelCapabilities = field(default_factory=ModelCapabilities)
    sent: list[dict[str, Any]] = field(default_factory=list)

    @property
    def reply(self) -> Reply:
        """The last reply."""
        return self.replies[-1]


def ask(
    behave: Behaviour,
    *,
    dialect: Dialect = "openai",
    times: int = 1,
    book: Codebook = BOOK,
    form: ReplyForm = "labels",
    retry: int = 0,
    limit_factor: int = 1,
    silence: float | None = None,
    before: Callable[[ModelCapabilities], None] = lambda _known: None,
    **sampling: Any,
) -> Told:
    """Ask a server that behaves so, the same ``times`` times; ``before`` prepares what is known of it."""

    async def go(server: Scripted) -> Told:
        url = server.url if dialect == "openai" else server.url.removesuffix("/v1")
        models = ModelLibrary([connection("local", url, dialect)])
        role_model = models.resolve(RoleModel(connection="local", model="m", sampling=Sampling(**sampling)))
        handling = Handling(silence=silence)
        settings = RunSettings(
            protocol="single", codebook=book, role_models={"annotator": role_model}, templates={}, handling=handling
        )
        request = Request("annotator", MESSAGES, form=form, retry=retry, limit_factor=limit_factor)
        told = Told(known=models.capabilities.of(models.place("local"), "m"), sent=server.requests)
        before(told.known)
        try:
            for _ in range(times):
                document = Document("1", {"text": "Text."})
                told.replies.append(await models.ask(role_model, request, settings, document, lambda *_: None))
            return told
        finally:
            await models.close()

    with Scripted(behave) as server:
        return asyncio.run(go(server))


def refusing(then: Behaviour, *rules: tuple[Callable[[dict[str, Any]], object], int, Any]) -> Behaviour:
    """A server that answers with a status and a body where a request is such, and else goes on to ``then``."""

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        for fits, status, said in rules:
            if fits(body):
                return web.json_response(said, status=status)
        return await then(request, body)

    return behave
