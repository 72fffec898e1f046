"""Repeat a call after errors that may pass, with exponential backoff."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.errors import EmptyReply, ModelError, RateLimited, TimedOut

T = TypeVar("T")

ATTEMPTS = 6
"""Attempts for one reply, the first included."""

SILENT_ATTEMPTS = 2
"""Attempts for one reply in which the model sends no text for minutes, or ends without any, which is billed."""

MIN_WAIT, MAX_WAIT = 0.5, 30.0
"""Bounds of the exponential backoff in seconds, with full jitter."""

RATE_LIMIT_WAITS = (0.5, 2.0, 8.0, 20.0, 30.0)
"""Seconds to wait after each HTTP 429 that states no wait: together a minute, the period of most rate limits."""

STATED_WAITS = 3
"""HTTP 429 after which a wait that a server states no longer counts if it is shorter: Azure may state 20 ms."""


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    attempts: int = ATTEMPTS,
    on_wait: Callable[[str, float], None] = lambda _kind, _seconds: None,
    sleep: Callable[[float], Awaitable[None]] | None = None,
    seconds: float = math.inf,
) -> T:
    """Return the result of ``attempt``, repeated after retryable errors.

    Waits with exponential backoff and jitter, or as long as the server asked for, or after HTTP 429 without a stated
    wait, or after several of them, at least as in ``RATE_LIMIT_WAITS``. ``on_wait`` is called before each pause with
    the kind of the error and the seconds. ``sleep`` is used in place of ``asyncio.sleep``. Raises the last error
    unchanged, also if the next attempt would begin more than ``seconds`` after the first one.
    """
    number, silent, limited, end = 1, 0, 0, time.monotonic() + seconds
    while True:
        try:
            return await attempt()
        except ModelError as error:
            silent += isinstance(error, EmptyReply | TimedOut)
            limited += isinstance(error, RateLimited)
            if not error.retryable or number >= attempts or silent >= SILENT_ATTEMPTS:
                raise
            stated = error.retry_after
            if isinstance(error, RateLimited) and (stated is None or limited > STATED_WAITS):
                stated = max(stated or 0.0, RATE_LIMIT_WAITS[min(limited, len(RATE_LIMIT_WAITS)) - 1])
            wait = _backoff(number) if stated is None else stated + _backoff(number) / 4
            if time.monotonic() + wait > end:
                raise
            on_wait(error.kind, wait)
        await (sleep or asyncio.sleep)(wait)
        number += 1


def _backoff(failed: int) -> float:
    """Return the seconds to wait after this many failed attempts."""
    return random.uniform(0.0, min(MAX_WAIT, MIN_WAIT * 2 ** (failed - 1)))
