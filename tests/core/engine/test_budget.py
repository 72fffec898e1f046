"""A budget is a ceiling, also while calls are in flight."""

from __future__ import annotations

import asyncio

import pytest

from core.engine.budget import Budget, BudgetSpent


def test_calls_wait_for_what_others_have_reserved_and_go_when_it_is_given_back() -> None:
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


def test_it_is_spent_when_nothing_under_way_could_leave_enough() -> None:
    async def go() -> None:
        budget = Budget(1.0)
        with pytest.raises(BudgetSpent):
            async with budget.reserve(1.01):
                raise AssertionError("never in")
        async with budget.reserve(1.0) as settle:
            settle(None)  # a price that is not known counts as nothing
        assert budget.spent == 0.0

    asyncio.run(go())


@pytest.mark.parametrize("end", [ValueError(), asyncio.CancelledError()])
def test_a_call_that_fails_gives_back_what_it_reserved(end: BaseException) -> None:
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


def test_without_a_ceiling_everything_goes() -> None:
    async def go() -> None:
        async with Budget(None).reserve(1e9) as settle:
            settle(1e9)

    asyncio.run(go())
