"""The models as the batch driver sees them: requests and rows instead of calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.debate.turns import Ask, Expect, Usage
from core.errors import ModelError
from core.llm import openai_chat, streams
from core.llm.batches import SHARE, BatchServer, HandBatches, OpenAIBatches, body_of
from core.llm.connections import Connection
from core.llm.failures import hide_key, redacted
from core.llm.models import ModelLibrary
from core.llm.reply import ModelReply, estimated
from core.runs import RunSettings, Seat


class BatchLibrary:
    """The engine's ``Batches`` port over all connections."""

    def __init__(self, library: ModelLibrary) -> None:
        self._library = library
        self._servers: dict[tuple[str, str], BatchServer] = {}
        self._keys: dict[str, str | None] = {}

    def batchable(self, seat: Seat) -> bool:
        """Whether the seat's connection speaks OpenAI's API."""
        return self._library.place(seat.connection).dialect == "openai"

    async def server(self, seat: Seat, folder: str) -> BatchServer:
        """Who takes the files for a seat: its connection's Batch API, or with ``folder`` files answered by hand."""
        place = self._place(seat)
        name = (folder or place.name, place.base_url)
        if name not in self._servers:
            if not folder:
                self._keys[place.base_url] = await self._library.key(place)
            self._servers[name] = (
                HandBatches(Path(folder).expanduser()) if folder else OpenAIBatches(place, self._keys[place.base_url])
            )
        return self._servers[name]

    def body(self, seat: Seat, ask: Ask, settings: RunSettings) -> Mapping[str, Any]:
        """The request of a live call, as the server is known to take it, not streamed."""
        request = self._library.request(self._place(seat), None, seat, ask, settings)
        known = self._library.capabilities.of(request.place, seat.model)
        refused = {*known.dropped, "stream", "stream_options"}
        optional = {name: value for name, value in openai_chat.optional(request).items() if name not in refused}
        return openai_chat.body(request, known, optional, request.schema_for(known))

    def reply(
        self, seat: Seat, row: Mapping[str, Any], settings: RunSettings, expects: Expect, prompt_characters: int
    ) -> ModelReply:
        """What a row says, at half the list price. Raises a ModelError."""
        place, key = self._place(seat), self._keys.get(seat.base_url)
        request = self._library.request(place, key, seat, Ask("", (), expects=expects), settings)
        growing = streams.Growing(lambda _text, _is_reasoning: None)
        try:
            openai_chat.take(body_of(row, seat), seat, growing)
            growing.finish = growing.finish or "stop"  # a row is whole, whether it says why it ends or not
            reply = growing.finished(request, ())
        except ModelError as error:
            error.billed = growing.billed(prompt_characters)
            hide_key(error, key)
            raise
        usage = reply.usage
        if usage.estimated:
            usage = estimated(prompt_characters, len(reply.text) + len(reply.reasoning))
        return replace(
            reply,
            text=redacted(reply.text, key),
            reasoning=redacted(reply.reasoning, key),
            usage=usage,
            cost_usd=self.cost(seat, usage),
        )

    def cost(self, seat: Seat, usage: Usage) -> float | None:
        """Dollars of a request in a batch, None when no price is known."""
        cost = self._library.cost(seat, usage)
        return None if cost is None else cost * SHARE

    async def close(self) -> None:
        """Close the connections to the servers."""
        servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            await server.close()

    def _place(self, seat: Seat) -> Connection:
        return self._library.place(seat.connection).model_copy(update={"base_url": seat.base_url})
