"""The live driver: many debates at once, each a generator; every reply committed before anything is built on it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from core.debate.turns import Reply, ReplyError
from core.documents import Document
from core.engine.debate import Placed, heard, look_up
from core.engine.engine import Engine
from core.engine.limits import BudgetSpent
from core.engine.model_calls import CallContext
from core.engine.ports import Ports, Work
from core.errors import ModelError

DEBATES_PER_SLOT = 2
"""Open debates for each call in flight, so that one whose verdict is being written holds no slot."""


class LiveEngine(Engine):
    """A run whose asks are streamed calls, as many at once as its concurrency allows."""

    def __init__(self, work: Work, ports: Ports) -> None:
        super().__init__(work, ports)
        self._caller = self._calls()

    async def _move(self) -> None:
        count = min(self.settings.concurrency * DEBATES_PER_SLOT, max(1, self.left))
        self._tasks = [asyncio.create_task(self._work_on()) for _ in range(count)]
        done, pending = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        failure = next((task.exception() for task in done if not task.cancelled() and task.exception()), None)
        if failure is not None:
            for worker in pending:
                worker.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if failure is not None:
            raise failure

    async def _work_on(self) -> None:
        while self.pending_state is None and (document := await self._next()) is not None:
            self.progress.in_flight += 1
            try:
                await self._hold(document)
            except BudgetSpent:
                self.pause_for_budget()
            except asyncio.CancelledError:
                if self.pending_state is None:
                    raise
            finally:
                self.progress.in_flight -= 1

    async def _hold(self, document: Document) -> None:
        """The debate on one document, to its verdict unless the run ends first."""
        debate = await self._debate(document)
        try:
            while debate.verdict is None and self.pending_state is None:
                debate.hear(await self._replies(debate.waiting))
            if debate.verdict is not None:
                await self._conclude(document, debate.verdict)
        finally:
            debate.close()

    async def _replies(self, waiting: Sequence[Placed]) -> Sequence[Reply]:
        """The replies to asks that go out together. Most go alone, and need no task of their own."""
        if len(waiting) == 1:
            return (await self._reply(waiting[0]),)
        return await asyncio.gather(*map(self._reply, waiting))

    async def _reply(self, placed: Placed) -> Reply:
        """The stored reply to an ask, else one that is paid for now; a fault as a reply."""
        found = await look_up(self.store, placed, self.settings, self.retries)
        stored, reply, cached = found.stored, found.reply, True
        if stored is None:
            place = CallContext(self.run_id, placed.document, placed.turn, placed.ask.role, placed.role_model)
            try:
                stored, cached = await self._caller.paid(found.key, placed.ask, place)
            except ModelError as error:
                return Reply(error=ReplyError(error.kind, str(error)))
            reply = heard(stored, placed, self.settings)
        self._turn(placed, reply, stored, cached=cached)
        return reply
