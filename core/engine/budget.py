"""The budget of a run: a ceiling in dollars that holds while calls are in flight."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

Settle: TypeAlias = Callable[[float | None], None]
"""Report the cost of a call in dollars; None counts as 0."""


class BudgetSpent(Exception):
    """The budget allows no further call, so the run pauses."""


class Budget:
    """A ceiling in dollars: each call reserves its highest cost and settles its true cost.

    A ``ceiling`` of None allows every call.
    """

    def __init__(self, ceiling: float | None, spent: float = 0.0) -> None:
        self.ceiling = math.inf if ceiling is None else ceiling
        self.spent = spent
        self.held = 0.0
        """Dollars reserved for requests in batches, whose replies no call can wait for."""
        self._reserved = 0.0
        self._in_flight = 0
        self._settled = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, max_cost: float) -> AsyncIterator[Settle]:
        """Reserve ``max_cost`` dollars for a call; the context's function settles the true cost.

        Waits while calls in flight may still leave enough. Raises BudgetSpent if nothing is in flight and the rest is
        too small.
        """
        async with self._settled:
            while not self.fits(max_cost):
                if not self._in_flight:
                    raise BudgetSpent
                await self._settled.wait()
            self._reserved += max_cost
            self._in_flight += 1
        try:
            yield self._pay
        finally:
            async with self._settled:
                self._in_flight -= 1
                # a sum of floats may keep a remainder
                self._reserved = self._reserved - max_cost if self._in_flight else 0.0
                self._settled.notify_all()

    def fits(self, more: float) -> bool:
        """Return True if so many dollars can be spent in addition to all that are spent and reserved."""
        return self.spent + self.held + self._reserved + more <= self.ceiling

    def exceeded(self, more: float) -> bool:
        """Return True if a call in flight that costs ``more`` dollars than it reserved exceeds the ceiling."""
        return more > 0 and not self.fits(more)

    def _pay(self, cost: float | None) -> None:
        self.spent += cost or 0.0
