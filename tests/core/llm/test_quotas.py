"""Tests of quotas: requests and tokens per minute, and calls at once."""

from __future__ import annotations

import asyncio

import pytest

from core.llm.connections import Connection, Limits
from core.llm.model_library import ModelLibrary
from core.llm.quotas import Quota
from core.runs import RoleModel
from tests.core.simulated_time import run_in_simulated_time


def test_requests_per_minute_are_spread_over_the_minute() -> None:
    # 120 per minute: twelve calls start at once, then two per second.
    async def go() -> list[float]:
        quota, loop, started = Quota(Limits(requests_per_minute=120)), asyncio.get_running_loop(), []

        async def call() -> None:
            async with quota.call(1):
                started.append(loop.time())

        await asyncio.gather(*(call() for _ in range(15)))
        return started

    assert run_in_simulated_time(go()) == pytest.approx([0.0] * 12 + [0.5, 1.0, 1.5], abs=0.01)


@pytest.mark.parametrize("limit", [Limits(requests_per_minute=600), Limits(tokens_per_minute=60_000)])
def test_tokens_per_minute_are_spread_over_the_minute(limit: Limits) -> None:
    # 600 calls of 100 tokens per minute: sixty calls start at once, then ten per second.
    async def go() -> int:
        quota, started = Quota(limit), 0

        async def call() -> None:
            nonlocal started
            async with quota.call(100):
                started += 1

        calls = [asyncio.create_task(call()) for _ in range(100)]
        await asyncio.sleep(0.55)
        for charged in calls:
            charged.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return started

    assert run_in_simulated_time(go()) == 65


def test_calls_at_once_wait_for_a_free_slot() -> None:
    async def go() -> list[float]:
        quota, loop, started = Quota(Limits(at_once=2)), asyncio.get_running_loop(), []

        async def call() -> None:
            async with quota.call(1):
                started.append(loop.time())
                await asyncio.sleep(1)

        calls = [asyncio.create_task(call()) for _ in range(5)]
        await asyncio.sleep(0.5)
        calls[2].cancel()  # it waits, and takes no slot with it
        await asyncio.gather(*calls, return_exceptions=True)
        return started

    assert run_in_simulated_time(go()) == pytest.approx([0.0, 0.0, 1.0, 1.0])


def test_connections_at_one_address_share_one_quota() -> None:
    models = ModelLibrary([Connection(name=name, base_url="http://127.0.0.1:9/v1") for name in ("one", "two")])
    models.own_limits = {"one": Limits(at_once=3), "two": Limits(at_once=5, requests_per_minute=60)}
    first, second = (models.quota(models.resolve(RoleModel(connection=name, model="m"))) for name in ("one", "two"))
    assert first is second
    assert first.limits == Limits(at_once=3, requests_per_minute=60)
    models.own_limits = {}
    assert models.quota(models.resolve(RoleModel(connection="one", model="m"))).limits.empty
