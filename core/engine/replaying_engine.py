"""The base of engines that make no call while a debate waits: each debate is replayed from the stored replies."""

from __future__ import annotations

from core.debate.turns import Reply, ReplyError
from core.documents import Document
from core.engine.base_engine import Engine
from core.engine.debate_runner import PendingTurn, look_up, read_reply
from core.engine.event_loop import gather_all
from core.engine.interfaces import Dependencies, Work
from core.engine.model_calls import PaidCall
from core.errors import ModelError


class ReplayingEngine(Engine):
    """A run whose replies arrive long after their requests were sent, or from other processes."""

    def __init__(self, work: Work, dependencies: Dependencies) -> None:
        super().__init__(work, dependencies)
        self._fresh: set[str] = set()
        """Keys of replies that arrived in this session and that no debate has used."""
        self._errors: dict[str, ReplyError] = {}
        """By key, errors that outlasted the attempts."""
        self._recorded: set[tuple[str, str]] = set()

    async def _replay(self, document: Document) -> list[tuple[str, PendingTurn]]:
        """Replay a debate to its verdict, or return the turns without a reply, each with its key."""
        debate = await self._debate(document)
        try:
            while debate.verdict is None:
                answers = await gather_all(self._answer(pending) for pending in debate.pending)
                missing = [
                    (answer, pending)
                    for answer, pending in zip(answers, debate.pending, strict=True)
                    if isinstance(answer, str)
                ]
                if missing:
                    return missing
                debate.send([answer for answer in answers if isinstance(answer, Reply)])
            await self._conclude(document, debate.verdict)
        finally:
            debate.close()
        return []

    async def _answer(self, pending: PendingTurn) -> Reply | str:
        """Return the reply to a request, or the key of the missing reply."""
        key, reply = await look_up(self.store, pending, self.settings, self.retries)
        cached = key not in self._fresh
        if reply is None:
            if (error := self._errors.get(key)) is not None:
                return Reply(error=error)
            try:
                called = await self._call_now(key, pending)
            except ModelError as failed:
                error = self._errors[key] = ReplyError(failed.kind, str(failed))
                return Reply(error=error)
            if called is None:
                return key
            cached = called.is_shared
            reply = read_reply(called.reply, pending, self.settings)
        self._used(reply)
        self._fresh.discard(reply.key)
        if (reply.key, pending.document.id) not in self._recorded:
            self._recorded.add((reply.key, pending.document.id))
            self._record_turn(pending, reply, cached=cached)
        return reply

    def _used(self, _reply: Reply) -> None:
        """Note that a debate used a stored reply; for engines whose workers need it."""

    async def _call_now(self, _key: str, _pending: PendingTurn) -> PaidCall | None:
        """Return the call of a role model that is asked at once; None for one whose replies come later."""
        return None
