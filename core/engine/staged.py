"""What drivers share that make no call while a debate waits: each debate is driven anew from the stored replies."""

from __future__ import annotations

import asyncio

from core.debate.turns import Reply, ReplyError
from core.documents import Document
from core.engine.debate import Placed, heard, look_up
from core.engine.engine import Engine
from core.engine.ports import Ports, StoredReply, Work
from core.errors import ModelError


class ReplayingEngine(Engine):
    """A run whose replies come back long after their asks went out, or from elsewhere."""

    def __init__(self, work: Work, ports: Ports) -> None:
        super().__init__(work, ports)
        self._fresh: set[str] = set()
        """Keys of replies that came in this session and that no debate has heard yet."""
        self._faults: dict[str, ReplyError] = {}
        """By key, faults that outlasted the tries."""
        self._recorded: set[tuple[str, str]] = set()

    async def _replay(self, document: Document) -> list[tuple[str, Placed]]:
        """The debate on a document, from its beginning to its verdict or to the asks that have no reply: those, each
        with the key under which it is missing."""
        debate = await self._debate(document)
        try:
            while debate.verdict is None:
                answers = await asyncio.gather(*(self._answer(placed) for placed in debate.waiting))
                wanted = [
                    (answer, placed)
                    for answer, placed in zip(answers, debate.waiting, strict=True)
                    if isinstance(answer, str)
                ]
                if wanted:
                    return wanted
                debate.hear([answer for answer in answers if isinstance(answer, Reply)])
            await self._conclude(document, debate.verdict)
        finally:
            debate.close()
        return []

    async def _answer(self, placed: Placed) -> Reply | str:
        """The reply to an ask, or the key under which it is missing."""
        found = await look_up(self.store, placed, self.settings, self.retries)
        stored, reply, cached = found.stored, found.reply, found.key not in self._fresh
        if stored is None:
            if (fault := self._faults.get(found.key)) is not None:
                return Reply(error=fault)
            try:
                asked = await self._ask_now(found.key, placed)
            except ModelError as error:
                fault = self._faults[found.key] = ReplyError(error.kind, str(error))
                return Reply(error=fault)
            if asked is None:
                return found.key
            stored, cached = asked
            reply = heard(stored, placed, self.settings)
        self._heard(stored)
        self._fresh.discard(stored.key)
        if (stored.key, placed.document.id) not in self._recorded:
            self._recorded.add((stored.key, placed.document.id))
            self._turn(placed, reply, stored, cached=cached)
        return reply

    def _heard(self, _stored: StoredReply) -> None:
        """A stored reply was heard; nothing to do where nobody else needs it."""

    async def _ask_now(self, _key: str, _placed: Placed) -> tuple[StoredReply, bool] | None:
        """A reply that can be had at once, and whether another debate paid for it; None where it cannot."""
        return None
