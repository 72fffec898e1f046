"""Limits on the calls of a run: concurrency per server, adapted to HTTP 429 (AIMD), and the budget in dollars."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeAlias

from core.llm.quotas import Quota
from core.runs import total_cost

MAX_LIMITED_IN_A_ROW = 4
"""Rejected calls in a row, and at least as many as may be in flight, after which all calls wait as the server asked.

A 429 among successes delays only its own call.
"""

WINDOW, MAX_REJECTED = 20, 0.3
"""The last calls that are considered, and the share of rejected ones from which the concurrency is reduced."""

MIN_CALLS = 8
DECREASE = 0.7
"""Factor on the calls in flight when the concurrency is reduced.

Up to that number it grows by one per round of successful calls, beyond it at a tenth of that speed.
"""

RECOVERY = 1.02
"""Growth per success of the concurrency at which the slow increase begins, while no recent call was rejected."""


class ServerLimiter:
    """Limiter of the calls of one run to one server.

    ``max_calls`` is the run's concurrency. Each call keeps all ``quotas``, which other runs may share. ``on_change``
    is called with the number of concurrent calls when it changes, and with None when it is back at its highest.
    """

    def __init__(
        self, max_calls: int, *quotas: Quota, on_change: Callable[[int | None], None] = lambda _now: None
    ) -> None:
        self._quotas = quotas
        self._max_calls = min([max_calls, *(quota.limits.at_once or max_calls for quota in quotas)])
        self._allowed = self._slow_from = float(self._max_calls)
        self._on_change = on_change
        self._in_flight = 0
        self._is_alone = False
        """True while a call is in flight that must be the only one."""
        self._queue: deque[tuple[asyncio.Future[None], bool]] = deque()
        """Waiting calls, with True for one that must be the only one in flight."""
        self._until = 0.0
        self._several_until = -math.inf
        """The end of the last call beside which others were in flight, on the clock of the event loop."""
        self._in_a_row = 0
        self._recent: deque[bool] = deque(maxlen=WINDOW)

    @property
    def at_once(self) -> int:
        """Number of calls that may be in flight now."""
        return int(self._allowed)

    @asynccontextmanager
    async def call(self, tokens: int, *, alone: bool = False) -> AsyncIterator[None]:
        """Wait until a call with so many tokens (prompt plus output limit) may start; the call is in the context.

        No other call is in flight beside one that is ``alone``.
        """
        await self._wait_for_slot(alone)
        try:
            loop = asyncio.get_running_loop()
            while (wait := self._until - loop.time()) > 0:
                await asyncio.sleep(wait)
            async with AsyncExitStack() as stack:
                for quota in self._quotas:
                    await stack.enter_async_context(quota.call(tokens))
                yield
        finally:
            self._free_slot()

    def had_several(self, since: float) -> bool:
        """Return True if several calls were in flight at once since this time on the clock of the event loop."""
        return self._in_flight > 1 or self._several_until >= since

    def succeeded(self) -> None:
        """Record a call that the server accepted."""
        self._in_a_row = 0
        self._recent.append(False)
        if self._allowed < self._max_calls:
            before = self.at_once
            if not any(self._recent):
                self._slow_from = min(self._max_calls, self._slow_from * RECOVERY)
            step = 1.0 if self._allowed < self._slow_from else 0.1
            self._allowed = min(self._max_calls, self._allowed + step / self._allowed)
            self._changed(before)
            self._start_waiting()

    def limited(self, seconds: float | None) -> None:
        """Record a call that the server rejected, with the seconds that the server asked to wait, None without any."""
        self._in_a_row += 1
        self._recent.append(True)
        if seconds and self._in_a_row >= max(MAX_LIMITED_IN_A_ROW, self.at_once):
            self._until = max(self._until, asyncio.get_running_loop().time() + seconds)
        if len(self._recent) >= MIN_CALLS and sum(self._recent) >= MAX_REJECTED * len(self._recent):
            before = self.at_once
            self._allowed = self._slow_from = max(1.0, min(self._allowed, self._in_flight) * DECREASE)
            self._recent.clear()
            self._changed(before)

    def _changed(self, before: int) -> None:
        if self.at_once != before:
            self._on_change(self.at_once if self.at_once < self._max_calls else None)

    async def _wait_for_slot(self, alone: bool) -> None:
        turn = asyncio.get_running_loop().create_future()
        waiting = turn, alone
        self._queue.append(waiting)
        self._start_waiting()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._free_slot()  # it was already given to this call
            elif waiting in self._queue:
                self._queue.remove(waiting)
                self._start_waiting()  # those behind a call that had to wait for the others
            raise

    def _free_slot(self) -> None:
        if self._in_flight > 1:
            self._several_until = asyncio.get_running_loop().time()
        self._in_flight -= 1
        self._is_alone &= self._in_flight > 0
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._queue:
            turn, alone = self._queue[0]
            if not turn.done():
                if self._in_flight >= (1 if alone or self._is_alone else self.at_once):
                    return
                self._in_flight += 1
                self._is_alone = alone
                turn.set_result(None)
            self._queue.popleft()


Settle: TypeAlias = Callable[[float | None], None]
"""Report the cost of a call in dollars, None for an unknown one."""


class BudgetSpent(Exception):
    """The budget allows no further call, so the run pauses."""


class Budget:
    """A ceiling in dollars: each call reserves its highest cost and settles its true cost.

    A ``ceiling`` of None allows every call. An unknown cost (None) fits below no ceiling, and a ceiling allows no call
    once the cost of an earlier one is unknown.
    """

    def __init__(self, ceiling: float | None, spent: float | None = 0.0) -> None:
        self.ceiling = math.inf if ceiling is None else ceiling
        self.spent = spent
        self.held = 0.0
        """Dollars reserved for requests in batches, whose replies no call can wait for."""
        self._reserved = 0.0
        self._in_flight = 0
        self._settled = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, max_cost: float | None) -> AsyncIterator[Settle]:
        """Reserve ``max_cost`` dollars for a call; the context's function settles the true cost.

        Waits while calls in flight may still leave enough. Raises BudgetSpent if nothing is in flight and the rest is
        too small.
        """
        async with self._settled:
            while not self.fits(max_cost):
                if not self._in_flight:
                    raise BudgetSpent
                await self._settled.wait()
            reserved = max_cost or 0.0
            self._reserved += reserved
            self._in_flight += 1
        try:
            yield self.pay
        finally:
            async with self._settled:
                self._in_flight -= 1
                # a sum of floats may keep a remainder
                self._reserved = self._reserved - reserved if self._in_flight else 0.0
                self._settled.notify_all()

    def fits(self, more: float | None) -> bool:
        """Return True if so many dollars can be spent in addition to all that are spent and reserved."""
        if self.ceiling == math.inf:
            return True
        total = total_cost((self.spent, self.held, self._reserved, more))
        return total is not None and total <= self.ceiling

    def exceeded(self, more: float) -> bool:
        """Return True if a call in flight that costs ``more`` dollars than it reserved exceeds the ceiling."""
        return more > 0 and not self.fits(more)

    def pay(self, cost: float | None) -> None:
        """Add the cost of a reply."""
        self.spent = total_cost((self.spent, cost))
