"""Tests of budgets."""

from __future__ import annotations

import asyncio

import pytest

from core.engine.budget import Budget, BudgetSpent


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
            settle(None)  # an unknown cost counts as zero
        assert budget.spent == 0.0

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
