"""The way to a server: narrowed when it says too many, widened again, and nothing at all when it does not."""

from __future__ import annotations

import asyncio
import selectors
import time

import pytest

from core import errors
from core.debate.turns import Request
from core.documents import Document
from core.engine import engine, rate_limit, retries
from core.engine.rate_limit import ServerLimiter
from core.llm.connections import Limits
from tests.core.engine.fakes import World, agreeing, settings


def test_as_many_go_at_once_as_are_let_and_the_rest_in_their_order() -> None:
    async def go() -> tuple[list[int], int]:
        limiter, order, flying, most = ServerLimiter(Limits(at_once=3), 8), [], 0, 0

        async def call(number: int) -> None:
            nonlocal flying, most
            await limiter.enter(1)
            order.append(number)
            flying += 1
            most = max(most, flying)
            await asyncio.sleep(0.001)
            flying -= 1
            limiter.leave()

        await asyncio.gather(*map(call, range(12)))
        return order, most

    assert asyncio.run(go()) == (list(range(12)), 3)


def test_one_that_is_cancelled_while_it_waits_takes_nobodys_turn() -> None:
    async def go() -> None:
        limiter = ServerLimiter(Limits(), 1)
        await limiter.enter(1)
        waiting = [asyncio.create_task(limiter.enter(1)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        limiter.leave()
        waiting[1].cancel()  # it was its turn this very moment
        async with asyncio.timeout(1):
            await waiting[2]

    asyncio.run(go())


def test_many_429s_narrow_the_lane_and_successes_widen_it_again() -> None:
    heard: list[int] = []

    async def go() -> tuple[int, int]:
        limiter = ServerLimiter(Limits(), 64, heard.append)
        for _ in range(64):
            await limiter.enter(1)
        for _ in range(60):  # the server takes four at a time
            limiter.limited(None)
            limiter.leave()
        narrowed = limiter.at_once
        for _ in range(3000):
            limiter.succeeded()
        return narrowed, limiter.at_once

    narrowed, widened = asyncio.run(go())
    assert narrowed <= 6
    assert widened == 64
    assert heard[0] < 64
    assert heard[-1] == 64


def test_a_429_now_and_then_narrows_nothing() -> None:
    async def go() -> int:
        limiter = ServerLimiter(Limits(), 64)
        for number in range(1000):
            await limiter.enter(1)
            if number % 20 == 0:
                limiter.limited(0.01)
            else:
                limiter.succeeded()
            limiter.leave()
        return limiter.at_once

    assert asyncio.run(go()) == 64


def test_all_wait_when_several_in_a_row_were_told_to() -> None:
    async def go() -> float:
        limiter = ServerLimiter(Limits(), 4)
        for _ in range(rate_limit.MAX_LIMITED_IN_A_ROW):
            limiter.limited(0.2)
        began = time.monotonic()
        await limiter.enter(1)
        return time.monotonic() - began

    assert asyncio.run(go()) >= 0.15


class Hurried(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while anything is to do, and else jumps to what is due next: waiting takes no
    time, and times are exact however slow the machine is."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: Hurried) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.now += timeout or 0.0
        return super().select(0)


def test_a_minutes_requests_go_when_they_may() -> None:
    """120 a minute: twelve go at once, then two a second."""

    async def go() -> list[float]:
        limiter, loop, gone = ServerLimiter(Limits(requests_per_minute=120), 1000), asyncio.get_running_loop(), []

        async def call() -> None:
            await limiter.enter(1)
            gone.append(loop.time())
            limiter.leave()

        await asyncio.gather(*(call() for _ in range(15)))
        return gone

    with asyncio.Runner(loop_factory=Hurried) as runner:
        assert runner.run(go()) == pytest.approx([0.0] * 12 + [0.5, 1.0, 1.5], abs=0.01)


@pytest.mark.parametrize("limit", [Limits(requests_per_minute=600), Limits(tokens_per_minute=60_000)])
def test_a_minutes_allowance_is_spread(limit: Limits) -> None:
    """600 calls of 100 tokens a minute: sixty go at once, then ten a second."""

    async def go() -> int:
        limiter, gone = ServerLimiter(limit, 1000), 0

        async def call() -> None:
            nonlocal gone
            await limiter.enter(100)
            gone += 1

        calls = [asyncio.create_task(call()) for _ in range(100)]
        await asyncio.sleep(0.5)
        for one in calls:
            one.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return gone

    assert 60 <= asyncio.run(go()) <= 70


def test_a_run_behind_a_server_that_takes_few_at_once_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "MIN_WAIT", 0.01)
    monkeypatch.setattr(retries, "_backoff", lambda _state: 0.02)
    monkeypatch.setattr(engine, "STATUS_SECONDS", 0.005)  # the run is over before the usual first word on it
    world = World(slow=0.005)

    def few(ask: Request, document: Document, times: int) -> str | Exception:
        return agreeing(ask, document, times) if world.at_once < 4 else errors.RateLimited("slow down")

    world.script = few
    work = world.work(settings("ecj", concurrency=32), 40)
    status = asyncio.run(world.run(work).run())
    assert (status.verdicts, status.failed) == (40, 0)
    notes = [event.message for event in world.events if getattr(event, "message", "")]
    assert any("rate limited" in note for note in notes)
