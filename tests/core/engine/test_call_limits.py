"""Tests of the concurrency per server and of the budget."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from core import errors
from core.debate.turns import Request
from core.documents import Document
from core.engine import base_engine, call_limits, retries
from core.engine.call_limits import Budget, BudgetSpent, ServerLimiter
from core.llm.connections import Limits
from core.llm.quotas import Quota
from tests.core.engine.fakes import ROLE_MODEL, World, find_service, settings
from tests.core.simulated_time import run_in_simulated_time


def test_limit_of_concurrent_calls_is_kept_in_order_of_arrival() -> None:
    async def go() -> tuple[list[int], int]:
        limiter, order, active, most = ServerLimiter(8, Quota(Limits(at_once=3))), [], 0, 0

        async def call(number: int) -> None:
            nonlocal active, most
            async with limiter.call(1):
                order.append(number)
                active += 1
                most = max(most, active)
                await asyncio.sleep(0.001)
                active -= 1

        await asyncio.gather(*map(call, range(12)))
        return order, most

    assert asyncio.run(go()) == (list(range(12)), 3)


def test_cancelled_waiting_call_frees_its_slot() -> None:
    async def go() -> int:
        quota, active, most = Quota(Limits(at_once=1)), 0, 0
        limiter = ServerLimiter(1, quota)

        async def call(server: ServerLimiter) -> None:
            nonlocal active, most
            async with server.call(1):
                active += 1
                most = max(most, active)
                await asyncio.sleep(0.001)
                active -= 1

        async with limiter.call(1):
            waiting = [asyncio.create_task(call(limiter)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        waiting[1].cancel()  # at the moment when its slot became free
        async with asyncio.timeout(1):
            await waiting[2]
        await asyncio.gather(*(call(ServerLimiter(2, quota)) for _ in range(2)))
        return most

    assert asyncio.run(go()) == 1, "the quota has no more slots than before"


def test_call_that_must_be_the_only_one_waits_for_those_before_it_and_holds_those_behind_it() -> None:
    async def go() -> list[str]:
        limiter, log = ServerLimiter(3), []

        async def call(name: str, alone: bool = False) -> None:
            async with limiter.call(1, alone=alone):
                log.append(f"+{name}")
                await asyncio.sleep(1)
                log.append(f"-{name}")

        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(call(name))
            group.create_task(call("c", alone=True))
            cancelled = group.create_task(call("d", alone=True))
            for name in "ef":
                group.create_task(call(name))
            await asyncio.sleep(0.5)
            cancelled.cancel()
        return log

    assert run_in_simulated_time(go()) == ["+a", "+b", "-a", "-b", "+c", "-c", "+e", "+f", "-e", "-f"]


def test_calls_behind_a_cancelled_one_that_must_be_the_only_one_start_at_once() -> None:
    async def go() -> float:
        limiter = ServerLimiter(2)
        async with limiter.call(1):
            first = asyncio.create_task(limiter.call(1, alone=True).__aenter__())
            second = asyncio.create_task(limiter.call(1).__aenter__())
            await asyncio.sleep(1)
            first.cancel()
            await asyncio.wait_for(second, 5)
            return asyncio.get_running_loop().time()

    assert run_in_simulated_time(go()) == 1


def test_many_429s_reduce_concurrency_and_successes_restore_it() -> None:
    received: list[int | None] = []

    async def go() -> tuple[int, int]:
        limiter = ServerLimiter(64, on_change=received.append)
        async with AsyncExitStack() as stack:
            for _ in range(64):
                await stack.enter_async_context(limiter.call(1))
            for _ in range(60):  # the server accepts four calls at a time
                limiter.limited(None)
        reduced = limiter.at_once
        for _ in range(3000):
            limiter.succeeded()
        return reduced, limiter.at_once

    reduced, restored = asyncio.run(go())
    assert reduced <= 6
    assert restored == 64
    assert received[0] is not None
    assert received[0] < 64
    assert received[-2:] == [63, None]


def test_note_is_cleared_at_the_highest_concurrency_of_each_connection() -> None:
    world = World(limited=Limits(at_once=2))
    other = ROLE_MODEL.model_copy(update={"connection": "other", "base_url": "http://other"})
    run_settings = settings(concurrency=8)
    run_settings.role_models["judge"] = other
    live = world.run(world.work(run_settings))
    first, second = live.caller._limiter(ROLE_MODEL), live.caller._limiter(other)

    async def slow_down(limiter: ServerLimiter) -> None:
        for _ in range(call_limits.MIN_CALLS):
            limiter.limited(None)

    asyncio.run(slow_down(first))
    asyncio.run(slow_down(second))
    assert live.note == "fake is rate limited: 1 call at once; other is rate limited: 1 call at once"
    for _ in range(100):
        second.succeeded()
    assert live.note == "fake is rate limited: 1 call at once"
    for _ in range(100):
        first.succeeded()
    assert live.note == ""


def test_occasional_429_does_not_reduce_concurrency() -> None:
    async def go() -> int:
        limiter = ServerLimiter(64)
        for number in range(1000):
            async with limiter.call(1):
                if number % 20 == 0:
                    limiter.limited(0.01)
                else:
                    limiter.succeeded()
        return limiter.at_once

    assert asyncio.run(go()) == 64


def test_all_calls_wait_after_several_429s_in_a_row() -> None:
    async def go() -> float:
        limiter = ServerLimiter(4)
        for _ in range(call_limits.MAX_LIMITED_IN_A_ROW):
            limiter.limited(0.2)
        began = asyncio.get_running_loop().time()
        async with limiter.call(1):
            return asyncio.get_running_loop().time() - began

    assert run_in_simulated_time(go()) == pytest.approx(0.2)


def test_run_finishes_on_a_server_with_low_concurrency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_backoff", lambda _state: 0.02)
    monkeypatch.setattr(retries, "RATE_LIMIT_WAITS", (0.0,))
    monkeypatch.setattr(base_engine, "STATUS_SECONDS", 0.005)  # the run ends before the usual first status event
    world = World(delay=0.005)

    def four_at_a_time(ask: Request, document: Document, times: int) -> str | Exception:
        return find_service(ask, document, times) if world.at_once < 4 else errors.RateLimited("slow down")

    world.script = four_at_a_time
    work = world.work(settings("ecj", concurrency=32), 40)
    status = asyncio.run(world.run(work).run())
    assert (status.verdicts, status.failed) == (40, 0)
    notes = [event.message for event in world.events if getattr(event, "message", "")]
    assert any("rate limited" in note for note in notes)


def test_call_waits_until_reserved_budget_is_released() -> None:
    async def go() -> list[str]:
        budget, order = Budget(1.0, spent=0.1), []

        async def call(name: str, most: float, cost: float) -> None:
            async with budget.reserve(most) as settle:
                order.append(f"{name} in")
                await asyncio.sleep(0.01)
                settle(cost)
                order.append(f"{name} out")

        await asyncio.gather(call("a", 0.8, 0.2), call("b", 0.7, 0.1))
        assert budget.spent == pytest.approx(0.4)
        return order

    assert asyncio.run(go()) == ["a in", "a out", "b in", "b out"]


def test_remainder_of_float_sums_does_not_keep_a_call_waiting() -> None:
    async def go() -> None:
        budget = Budget(0.9)

        async def call(most: float) -> None:
            async with budget.reserve(most) as settle:
                await asyncio.sleep(0.01)
                settle(0.1)

        await asyncio.gather(call(0.1), call(0.2), call(0.3))  # 0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 > 0
        with pytest.raises(BudgetSpent):
            async with asyncio.timeout(5), budget.reserve(0.7):
                raise AssertionError("never in")

    asyncio.run(go())


def test_budget_is_spent_if_no_active_call_could_free_enough() -> None:
    async def go() -> None:
        budget = Budget(1.0)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(1.01):
                raise AssertionError("never in")
        async with budget.reserve(1.0) as settle:
            settle(0.0)
        assert budget.spent == 0.0

    asyncio.run(go())


def test_budget_allows_no_call_of_unknown_cost_and_none_after_one() -> None:
    async def go() -> None:
        budget = Budget(1.0)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(None):
                raise AssertionError("never in")
        async with budget.reserve(0.1) as settle:
            settle(None)  # the price was removed while the call was in flight
        for unlimited in (Budget(None), Budget(None, spent=None)):
            async with unlimited.reserve(None) as settle:
                settle(None)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(0.0):
                raise AssertionError("never in")

    asyncio.run(go())


@pytest.mark.parametrize("end", [ValueError(), asyncio.CancelledError()])
def test_failed_call_releases_its_reservation(end: BaseException) -> None:
    async def go() -> None:
        budget = Budget(1.0)
        with pytest.raises(type(end)):
            async with budget.reserve(0.9):
                raise end
        async with asyncio.timeout(1), budget.reserve(0.9) as settle:
            settle(0.9)
        assert budget.spent == pytest.approx(0.9)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(0.2):
                raise AssertionError("never in")

    asyncio.run(go())


def test_call_is_not_made_with_dollars_held_for_a_batch() -> None:
    async def go() -> None:
        budget = Budget(1.0)
        budget.held = 0.5
        async with budget.reserve(0.5):
            assert not budget.fits(0.1)
            assert budget.exceeded(0.1)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(0.6):
                pass

    asyncio.run(go())


def test_run_without_a_budget_has_no_limit() -> None:
    async def go() -> None:
        async with Budget(None).reserve(1e9) as settle:
            settle(1e9)

    asyncio.run(go())
