"""The way to one server: how many calls at once, how many a minute, and how it narrows when the server says too many.

A lane that nobody limits costs a comparison. One lane for each address and run.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from aiolimiter import AsyncLimiter

from core.llm.limits import Limits

LIMITED_IN_A_ROW = 4
"""Calls turned away with no success between them, and no fewer than may go at once, after which all calls to that
server wait as long as it asked for. A 429 among successes delays its own call alone: stopping everybody for each would
cost far more than it spares."""

WINDOW, TOO_MANY = 20, 0.3
"""Of so many calls that ended last, the share turned away from which on fewer go at once. Below, 429s are noise that a
retry gets over, and narrowing for them would only slow the run."""

LEAST_SEEN = 8
NARROWED = 0.7
"""What is left of the calls in flight when the lane narrows. Up to there it widens by one for each round of calls that
succeed, beyond at a tenth of that: what was too many a moment ago may be too many still."""

FORGIVEN = 1.02
"""By what the width at which caution begins grows with each success, while none of the last calls was turned away."""

_SLICES = 10
"""A minute's allowance is handed out in so many parts, so that a burst exceeds it by a tenth at most."""


class ServerLimiter:
    """Calls to one server. ``most`` is the run's own concurrency; ``on_change`` hears how many may go at once now."""

    def __init__(self, limits: Limits, most: int, on_change: Callable[[int], None] = lambda _now: None) -> None:
        self._most = most if limits.at_once is None else min(most, limits.at_once)
        self._allowed = self._careful = float(self._most)
        self._on_change = on_change
        self._in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._until = 0.0
        self._in_a_row = 0
        self._seen: deque[bool] = deque(maxlen=WINDOW)
        self._requests = _limiter(limits.requests_per_minute)
        self._tokens = _limiter(limits.tokens_per_minute)

    @property
    def at_once(self) -> int:
        """Calls that may be in flight now."""
        return int(self._allowed)

    async def enter(self, tokens: int) -> None:
        """Return once a call of so many tokens, prompt and output limit together, may go. Each is left again."""
        await self._slot()
        try:
            loop = asyncio.get_running_loop()
            while (wait := self._until - loop.time()) > 0:
                await asyncio.sleep(wait)
            if self._requests is not None:
                await self._requests.acquire()
            while self._tokens is not None and tokens > 0:
                part = min(tokens, self._tokens.max_rate)
                await self._tokens.acquire(part)
                tokens -= int(part)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """A call has ended, however it did."""
        self._in_flight -= 1
        self._hand_over()

    def took(self) -> None:
        """The server took a call."""
        self._in_a_row = 0
        self._seen.append(False)
        if self._allowed < self._most:
            before = self.at_once
            if not any(self._seen):
                self._careful = min(self._most, self._careful * FORGIVEN)
            step = 1.0 if self._allowed < self._careful else 0.1
            self._allowed = min(self._most, self._allowed + step / self._allowed)
            self._changed(before)
            self._hand_over()

    def limited(self, seconds: float | None) -> None:
        """The server turned a call away, and asked to wait if it said for how long."""
        self._in_a_row += 1
        self._seen.append(True)
        if seconds and self._in_a_row >= max(LIMITED_IN_A_ROW, self.at_once):
            self._until = max(self._until, asyncio.get_running_loop().time() + seconds)
        if len(self._seen) >= LEAST_SEEN and sum(self._seen) >= TOO_MANY * len(self._seen):
            before = self.at_once
            self._allowed = self._careful = max(1.0, min(self._allowed, self._in_flight) * NARROWED)
            self._seen.clear()
            self._changed(before)

    def _changed(self, before: int) -> None:
        if self.at_once != before:
            self._on_change(self.at_once)

    async def _slot(self) -> None:
        if not self._queue and self._in_flight < self.at_once:
            self._in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # it was this one's turn already
            else:
                self._queue.remove(turn)
            raise

    def _hand_over(self) -> None:
        while self._queue and self._in_flight < self.at_once:
            turn = self._queue.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)


def _limiter(a_minute: int | None) -> AsyncLimiter | None:
    if a_minute is None:
        return None
    return AsyncLimiter(a_minute / _SLICES, 60 / _SLICES) if a_minute >= _SLICES else AsyncLimiter(1, 60 / a_minute)
