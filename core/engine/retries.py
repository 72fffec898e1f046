"""Retries of model calls with exponential backoff."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.errors import ModelError

T = TypeVar("T")

ATTEMPTS = 6
"""Attempts for one reply, the first included."""

MIN_WAIT, MAX_WAIT = 0.5, 30.0
"""Bounds of the exponential backoff in seconds, with full jitter."""


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    attempts: int = ATTEMPTS,
    on_wait: Callable[[str, float], None] = lambda _kind, _seconds: None,
) -> T:
    """Return the result of ``attempt``, repeated after retryable errors.

    Waits with exponential backoff and jitter, or as long as the server asked for. ``on_wait`` is called before each
    pause with the kind of the error and the seconds. Raises the last error unchanged.
    """
    number = 1
    while True:
        try:
            return await attempt()
        except ModelError as error:
            if not error.retryable or number == attempts:
                raise
            wait = _backoff(number) if error.retry_after is None else error.retry_after + _backoff(number) / 4
            on_wait(error.kind, wait)
        await asyncio.sleep(wait)
        number += 1


def _backoff(failed: int) -> float:
    """Return the seconds to wait after this many failed attempts."""
    return random.uniform(0.0, min(MAX_WAIT, MIN_WAIT * 2 ** (failed - 1)))
