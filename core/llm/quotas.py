"""Quotas: limits on the calls to a server. A call waits until it keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from aiolimiter import AsyncLimiter

from core.llm.connections import Limits

_SLICES = 10
"""Parts of a minute's quota, so that a burst exceeds it by a tenth at most."""


class Quota:
    """Limits shared by all calls that enter it. Without limits, no call waits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._slots = nullcontext() if limits.at_once is None else asyncio.Semaphore(limits.at_once)
        self._requests = _limiter(limits.requests_per_minute)
        self._tokens = _limiter(limits.tokens_per_minute)

    @asynccontextmanager
    async def call(self, tokens: int) -> AsyncIterator[None]:
        """Wait until a call with so many tokens (prompt plus output limit) may start; the call is in the context."""
        async with self._slots:
            if self._requests is not None:
                await self._requests.acquire()
            while self._tokens is not None and tokens > 0:
                part = min(tokens, self._tokens.max_rate)
                await self._tokens.acquire(part)
                tokens -= int(part)
            yield


def _limiter(a_minute: int | None) -> AsyncLimiter | None:
    if a_minute is None:
        return None
    return AsyncLimiter(a_minute / _SLICES, 60 / _SLICES) if a_minute >= _SLICES else AsyncLimiter(1, 60 / a_minute)
