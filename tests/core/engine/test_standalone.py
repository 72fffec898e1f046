"""A generator of asks without a run: stored, paid for once, and not again after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from core.debate.turns import Reply, Request
from core.engine import standalone
from core.errors import Unauthorised
from core.prompts.messages import Message
from tests.core.engine.fakes import World, settings


def talk() -> Generator[tuple[Request, ...], tuple[Reply, ...], str]:
    """Two at once who are asked the very same, then one that hears both."""
    same = Request("extractor", (Message("user", "same"),))
    one, two = yield (same, same)
    (last,) = yield (Request("judge", (Message("user", one.text + two.text),)),)
    return last.text


def drive(world: World, **options: object) -> tuple[str, standalone.Spent]:
    return asyncio.run(standalone.drive(talk(), settings(), world, world, **options))  # type: ignore[arg-type]


def test_equal_asks_are_two_replies_and_a_second_time_costs_nothing() -> None:
    world = World(lambda ask, _document, times: f"{ask.role}{times}")
    told: list[tuple[int, int]] = []
    made, spent = drive(world, on_progress=lambda done, asked: told.append((done, asked)))
    assert made == "judge0"
    assert len(world.replies) == 3
    assert (spent.requests, spent.calls) == (3, 3)
    assert spent.cost_usd == pytest.approx(0.03)
    assert told[0] == (0, 2)
    assert told[-1] == (3, 3)
    again, free = drive(world)
    assert (again, free.requests, free.calls, free.cost_usd) == (made, 3, 0, 0.0)


def test_what_was_paid_before_a_failure_is_not_paid_again() -> None:
    world = World(lambda ask, _document, _times: Unauthorised("no", "") if ask.role == "judge" else "fine")
    with pytest.raises(Unauthorised):
        drive(world)
    assert len(world.replies) == 2
    world.script = lambda ask, _document, _times: "ruled" if ask.role == "judge" else "never asked"
    made, spent = drive(world)
    assert (made, spent.calls) == ("ruled", 1)


def test_an_unknown_price_is_unknown() -> None:
    assert drive(World(lambda *_: "x", price=None))[1].cost_usd is None
