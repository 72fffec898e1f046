"""Tests of the repetition of failed calls."""

from __future__ import annotations

import asyncio

import pytest

from core.engine import retries
from core.errors import CutStream, EmptyReply, ModelError, RateLimited, TimedOut


def failed_attempts(monkeypatch: pytest.MonkeyPatch, error: ModelError) -> list[float]:
    """Return the waits between the attempts of a call that always raises this error."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def attempt() -> None:
        raise error

    monkeypatch.setattr(retries.asyncio, "sleep", sleep)
    with pytest.raises(type(error)):
        asyncio.run(retries.with_retries(attempt))
    return waits


def test_rate_limit_without_stated_wait_is_retried_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = failed_attempts(monkeypatch, RateLimited("slow down"))
    assert len(waits) == retries.ATTEMPTS - 1
    assert 60 <= sum(waits) <= 65
    assert waits[0] < 1


@pytest.mark.parametrize("seconds", [0.02, 3.0])
def test_stated_wait_is_kept_until_it_proves_too_short(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = failed_attempts(monkeypatch, RateLimited("slow down", retry_after=seconds))
    assert all(seconds <= wait <= seconds + 2 for wait in waits[:3])
    assert sum(waits) >= 50


@pytest.mark.parametrize("stated", [None, 0.02])
def test_other_errors_do_not_lengthen_the_wait_after_a_rate_limit(stated: float | None) -> None:
    failures = iter([*[CutStream("cut")] * 3, RateLimited("slow down", retry_after=stated)])
    waits: list[float] = []

    async def attempt() -> str:
        for failure in failures:
            raise failure
        return "reply"

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    assert asyncio.run(retries.with_retries(attempt, sleep=sleep)) == "reply"
    assert waits[-1] <= 2, "the wait after a first rate limit, and jitter"


def test_stated_wait_that_is_long_enough_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = failed_attempts(monkeypatch, RateLimited("slow down", retry_after=40.0))
    assert all(40 <= wait <= 45 for wait in waits)


def test_empty_reply_and_silent_server_are_requested_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(failed_attempts(monkeypatch, EmptyReply("no text"))) == 1
    assert len(failed_attempts(monkeypatch, TimedOut("silent for 600 s"))) == 1
    assert len(failed_attempts(monkeypatch, CutStream("cut"))) == retries.ATTEMPTS - 1


def test_silence_after_rate_limits_is_requested_once_more() -> None:
    failures = iter([RateLimited("busy"), RateLimited("busy"), TimedOut("silent"), RateLimited("busy")])

    async def attempt() -> str:
        for failure in failures:
            raise failure
        return "reply"

    async def no_wait(_seconds: float) -> None:
        pass

    assert asyncio.run(retries.with_retries(attempt, sleep=no_wait)) == "reply"
