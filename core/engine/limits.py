"""What holds a run back: retries, a budget, and a stop after too many equal failures in a row."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from core.errors import ContextTooLong, ModelError, Refused

T = TypeVar("T")
Settle: TypeAlias = Callable[[float | None], None]
"""Says what a call did cost, in dollars; None counts as 0."""

ATTEMPTS = 6
"""Tries for one reply, the first included."""

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds between which the exponential backoff moves, with full jitter."""

EQUAL_FAILURES = 5
"""Provider faults of one kind on as many documents in a row that pause a run."""

_OF_THE_DOCUMENT = frozenset({ContextTooLong.kind, Refused.kind})

_backoff = wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)


async def retried(
    attempt: Callable[[], Awaitable[T]],
    attempts: int = ATTEMPTS,
    on_wait: Callable[[str, float], None] = lambda _kind, _seconds: None,
) -> T:
    """What ``attempt`` gives, tried again when that may help, with exponential backoff and jitter, or after as long as
    the server asked for. ``on_wait`` hears of every pause: the kind of the error and the seconds. The last error is
    raised as it is."""
    try:
        return await attempt()  # nearly always all; tenacity's loop costs a fifth of what a debate costs besides
    except ModelError as error:
        failed = error
    async for again in _retrying(attempts, on_wait):
        with again:
            if again.retry_state.attempt_number == 1:
                raise failed
            return await attempt()
    raise AssertionError("unreachable: the loop raises the last error")  # pragma: no cover


def _retrying(attempts: int, on_wait: Callable[[str, float], None]) -> AsyncRetrying:
    def waits(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        on_wait(getattr(error, "kind", ""), state.next_action.sleep if state.next_action else 0.0)

    return AsyncRetrying(
        stop=stop_after_attempt(attempts),
        wait=_wait,
        retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
        before_sleep=waits,
        reraise=True,
    )


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ModelError) else None
    return _backoff(state) if asked is None else asked + _backoff(state) / 4


@dataclass(slots=True)
class FailureStreak:
    """Counts equal provider faults on documents in a row; any debate that ends without a fault breaks the streak.

    Faults that belong to the document (too long, refused) neither count nor break it; unreadable replies are no faults.
    """

    kind: str = ""
    length: int = 0

    def saw(self, fault_kind: str | None) -> bool:
        """Note how a debate ended; True when the run should pause."""
        if fault_kind in _OF_THE_DOCUMENT:
            return False
        if fault_kind is None:
            self.kind, self.length = "", 0
            return False
        self.length = self.length + 1 if fault_kind == self.kind else 1
        self.kind = fault_kind
        return self.length >= EQUAL_FAILURES


class BudgetSpent(Exception):
    """No further call may start: the run pauses."""


class Budget:
    """A ceiling in dollars that holds while calls are in flight: each reserves the most it can cost and settles for
    what it did cost. ``ceiling`` None admits everything."""

    def __init__(self, ceiling: float | None, spent: float = 0.0) -> None:
        self.ceiling = ceiling
        self.spent = spent
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def reserve(self, most: float) -> AsyncIterator[Settle]:
        """Hold ``most`` dollars for a call; call what is given with the true cost.

        Waits while calls under way may still leave enough; raises BudgetSpent when nothing is under way and it does
        not suffice.
        """
        if self.ceiling is None:
            yield lambda _cost: None
            return
        async with self._settled:
            while self.spent + self._reserved + most > self.ceiling:
                if self._reserved <= 0:
                    raise BudgetSpent
                await self._settled.wait()
            self._reserved += most
        try:
            yield self._pay
        finally:
            async with self._settled:
                self._reserved = max(0.0, self._reserved - most)
                self._settled.notify_all()

    def _pay(self, cost: float | None) -> None:
        self.spent += cost or 0.0
