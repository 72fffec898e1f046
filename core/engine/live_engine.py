"""The live engine: many debates at once with streamed calls; every reply is committed before anything builds on it."""

from __future__ import annotations

import asyncio

from core.debate.turns import Reply, ReplyError
from core.engine.base_engine import Engine
from core.engine.call_limits import BudgetSpent
from core.engine.pending_turns import PendingTurn, find_reply, read_reply
from core.errors import ModelError, ProjectError
from core.runs import StopReason

DEBATES_PER_SLOT = 2
"""Open debates per call in flight, so that a debate whose verdict is being written holds no slot."""
BUILTIN_DEBATES = 256
"""Open debates of an unpaced run with built-in models only, which mostly wait for commits."""


class LiveEngine(Engine):
    """A run with streamed calls, as many at once as its concurrency allows."""

    async def _execute(self) -> None:
        count = self.settings.concurrency * DEBATES_PER_SLOT
        if not self.settings.pace and self.settings.is_builtin:
            count = max(count, BUILTIN_DEBATES)
        count = min(count, max(1, len(self._todo)))
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks = [group.create_task(self._debate_documents()) for _ in range(count)]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _debate_documents(self) -> None:
        while self.pending_state is None and (document := await self._next()) is not None:
            self.totals.in_flight += 1
            try:
                await self._debate(document, self._reply)
            except BudgetSpent:
                self.pause_for_budget()
            except (ProjectError, OSError) as problem:  # the store keeps the replies of calls in flight
                self.pause(StopReason("errors", str(problem)))
            except asyncio.CancelledError:
                if self.pending_state is None:
                    raise
            finally:
                self.totals.in_flight -= 1

    async def _reply(self, pending: PendingTurn) -> Reply:
        """Return the stored reply to a request, else a new one; a provider error as a reply."""
        key, reply = await find_reply(self.store.fetch, pending, self.settings, self.retry_rounds)
        cached = True
        if reply is None:
            try:
                reply, cached = await self.caller.call(key, pending)
            except ModelError as error:
                return Reply(error=ReplyError(error.kind, str(error)))
            reply = read_reply(reply, pending, self.settings)
        self._record_turn(pending, reply, cached=cached)
        return reply
