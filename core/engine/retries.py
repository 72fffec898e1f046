"""Retries of model calls with exponential backoff."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from core.errors import ModelError

T = TypeVar("T")

ATTEMPTS = 6
"""Attempts for one reply, the first included."""

MIN_WAIT, MAX_WAIT = 0.5, 30.0
"""Bounds of the exponential backoff in seconds, with full jitter."""

_backoff = wait_random_exponential(multiplier=MIN_WAIT, max=MAX_WAIT)


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    attempts: int = ATTEMPTS,
    on_wait: Callable[[str, float], None] = lambda _kind, _seconds: None,
) -> T:
    """Return the result of ``attempt``, repeated after retryable errors.

    Waits with exponential backoff and jitter, or as long as the server asked for. ``on_wait`` is called before each
    pause with the kind of the error and the seconds. Raises the last error unchanged.
    """
    try:
        return await attempt()  # the usual case; tenacity's loop would cost a fifth of a debate's processor time
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
