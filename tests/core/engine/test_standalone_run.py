"""Tests of requests without a run: replies are stored and paid for once, also after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from core import prompts
from core.debate.context import ask_with_retry
from core.debate.turns import Reply, Request
from core.documents import Document
from core.engine import retries
from core.engine.call_limits import BudgetSpent
from core.engine.standalone_run import Spent, run_standalone
from core.errors import EmptyReply, TimedOut, Unauthorised
from core.llm.connections import Limits
from core.llm.streaming import OnDelta
from core.prompts import Message
from core.runs import RoleModel, RunSettings
from tests.core.engine.fakes import World, settings


def steps() -> Generator[tuple[Request, ...], tuple[Reply, ...], str]:
    """Send two identical requests at once, then one with both replies."""
    same = Request("extractor", (Message("user", "same"),))
    first, second = yield (same, same)
    (last,) = yield (Request("judge", (Message("user", first.text + second.text),)),)
    return last.text


def drive(world: World, **options: object) -> tuple[str, Spent]:
    return asyncio.run(run_standalone(steps(), settings(), world, world, **options))  # type: ignore[arg-type]


def test_identical_requests_get_two_replies_and_a_repeat_is_free() -> None:
    world = World(lambda ask, _document, times: f"{ask.role}{times}")
    progress: list[tuple[int, int]] = []
    result, spent = drive(world, on_progress=lambda done, total: progress.append((done, total)))
    assert result == "judge0"
    assert len(world.replies) == 3
    assert (spent.requests, spent.calls) == (3, 3)
    assert spent.cost_usd == pytest.approx(0.03)
    assert progress[0] == (0, 2)
    assert progress[-1] == (3, 3)
    again, free = drive(world)
    assert (again, free.requests, free.calls, free.tokens, free.cost_usd) == (result, 3, 0, 0, 0.0)
    _, later = drive(world, occurrence=1)
    assert later.calls == 2, "the second of the identical requests is free, the others are new"


def test_tokens_of_attempts_without_a_reply_are_part_of_the_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_backoff", lambda _failed: 0.0)

    def empty_at_first(ask: Request, _document: Document, times: int) -> str | Exception:
        error = EmptyReply("not a word")
        error.billed = (30, 20, 10)
        return error if ask.role == "judge" and times == 0 else "fine"

    _, spent = drive(World(empty_at_first))
    assert (spent.requests, spent.calls) == (3, 3)
    assert (spent.prompt_tokens, spent.completion_tokens) == (3 * 10 + 30, 3 * 5 + 20)
    assert spent.cost_usd == pytest.approx(3 * 0.01 + 50 * 0.01)


def test_first_reply_of_reasoning_alone_is_asked_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_backoff", lambda _failed: 0.0)

    class Reasoning(World):
        async def ask(
            self,
            role_model: RoleModel,
            ask: Request,
            run: RunSettings,
            document: Document,
            on_delta: OnDelta,
            *more: object,
        ) -> Reply:
            on_delta("Hm.", True)
            return await super().ask(role_model, ask, run, document, on_delta, *more)

    world = Reasoning(lambda _ask, _document, times: EmptyReply("no text") if times == 0 else "fine")
    assert drive(world)[0] == "fine"


def test_replies_paid_before_a_failure_are_reused() -> None:
    world = World(lambda ask, _document, _times: Unauthorised("no", "") if ask.role == "judge" else "fine")
    with pytest.raises(Unauthorised):
        drive(world)
    assert len(world.replies) == 2
    world.script = lambda ask, _document, _times: "ruled" if ask.role == "judge" else "never asked"
    result, spent = drive(world)
    assert (result, spent.calls) == ("ruled", 1)


def test_limits_of_a_server_are_kept() -> None:
    world = World(lambda *_: "fine", delay=0.01, limited=Limits(at_once=1))
    drive(world)
    assert world.max_concurrent == 1


@pytest.mark.parametrize(("max_output", "calls"), [(256, 1), (1_000_000, 2)])
def test_cut_reply_is_asked_for_again_only_with_a_higher_limit(max_output: int, calls: int) -> None:
    world = World(lambda *_: "[1, 2...", max_output=max_output)
    request = Request("extractor", (Message("user", "List the numbers."),))
    step = ask_with_retry((request,), lambda _request, _reply: "no list", settings().templates[prompts.REASK])
    (reply,), spent = asyncio.run(run_standalone(step, settings(), world, world))
    assert reply.text == "[1, 2..."
    assert (spent.requests, spent.calls) == (2, calls)


def test_unknown_price_gives_unknown_cost() -> None:
    assert drive(World(lambda *_: "x", price=None))[1].cost_usd is None


def test_time_limit_ends_the_requests() -> None:
    world = World(delay=30.0)
    with pytest.raises(TimedOut, match=r"fake/m did not answer within 0\.2 seconds"):
        drive(world, seconds=0.2)
    assert world.cancelled == 2, "nothing more is paid for"


def test_other_timeout_error_passes_through_and_the_generator_is_closed() -> None:
    closed: list[bool] = []

    def watched() -> Generator[tuple[Request, ...], tuple[Reply, ...], str]:
        try:
            return (yield from steps())
        finally:
            closed.append(True)

    requests, world = watched(), World(lambda *_: TimeoutError("of the store"))
    with pytest.raises(TimeoutError, match="of the store"):
        asyncio.run(run_standalone(requests, settings(), world, world, seconds=60.0))
    assert closed == [True]


def test_calls_stop_at_the_budget_and_a_larger_one_pays_for_the_rest() -> None:
    world = World(lambda ask, _document, times: f"{ask.role}{times}")

    def run(budget: float) -> tuple[str, Spent]:
        return asyncio.run(run_standalone(steps(), settings(budget_usd=budget), world, world))

    with pytest.raises(BudgetSpent):
        run(0.025)
    assert len(world.replies) == 2
    result, spent = run(0.035)
    assert (result, spent.calls, len(world.replies)) == ("judge0", 1, 3)
