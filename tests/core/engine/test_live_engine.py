"""Tests of the live engine: committed replies, shared calls, limits, pauses and stops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core import errors
from core.debate.events import Delta, RunStatus, TurnDone, TurnStarted, TurnWaiting, VerdictReached
from core.debate.turns import Reply, Request, Verdict
from core.documents import Document, Precedents
from core.engine import base_engine, model_calls, retries
from core.engine.base_engine import LOADED_AT_ONCE, MISSING, OUT_OF_BUDGET, RunTotals
from core.engine.pending_turns import Debate
from core.errors import EmptyReply, LengthLimit, StorageFull
from core.llm.connections import Limits
from core.llm.quotas import Quota
from core.llm.streaming import OnDelta
from core.runs import NOT_STOPPED, RoleModel, RunSettings, Sampling, State, StopReason
from tests.core.engine.fakes import CODEBOOK, ROLE_MODEL, World, find_service, settings
from tests.core.simulated_time import run_in_simulated_time

NOW = StopReason("user", "now")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_backoff", lambda _state: 0.0)


def drive(world: World, *, pause: float | None = None, stop: float | None = None, **changes: object) -> RunStatus:
    """Run documents; pause or stop the run after so many seconds."""

    async def run() -> RunStatus:
        engine = world.run(world.work(changes.pop("settings", None) or settings(), **changes))
        for seconds, end in ((pause, engine.pause), (stop, engine.stop)):
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, end, NOW)
        return await asyncio.wait_for(engine.run(), 60)

    return asyncio.run(run())


def run_both(world: World, first: RunSettings, second: RunSettings) -> tuple[RunStatus, RunStatus]:
    """Run a document with both settings at the same time, with the same store of replies."""

    async def run() -> tuple[RunStatus, RunStatus]:
        lab = replace(world, verdicts={})
        return await asyncio.gather(world.run(world.work(first, 1)).run(), lab.run(lab.work(second, 1)).run())

    return asyncio.run(run())


def test_every_document_gets_one_verdict_and_each_reply_is_committed_first() -> None:
    world = World()
    status = drive(world, count=5)
    assert (status.state, status.verdicts, status.calls) == ("done", 5, 15)
    service, price = world.verdicts["d0"].verdict.values.values()
    assert (service, price) == (True, False)
    assert [row.role for row in world.turns if row.document_id == "d3"] == ["extractor", "critic", "judge"]
    assert world.states == [("running", NOT_STOPPED), ("done", NOT_STOPPED)]
    assert status.cost_usd == pytest.approx(0.15)


def test_unknown_price_is_said_before_the_first_call() -> None:
    world = World(price=None)
    drive(world)
    first = next(event for event in world.events if isinstance(event, RunStatus))
    assert (first.state, first.calls, first.cost_usd) == ("running", 0, None)


def test_events_describe_each_turn_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_calls, "FLUSH_SECONDS", 60.0)
    world = World()
    drive(world, count=1)
    kinds = [type(event) for event in world.events if not isinstance(event, RunStatus)]
    assert kinds == [TurnStarted, TurnDone] * 3 + [VerdictReached]  # a reply that comes soon needs no delta
    assert isinstance(world.events[-1], RunStatus)


def test_text_is_published_while_a_reply_is_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thinking(World):
        async def ask(self, role_model, ask, run_settings, document, on_delta, *_):
            on_delta("Hm. ", True)
            await asyncio.sleep(0.01)
            return await super().ask(role_model, ask, run_settings, document, on_delta)

    monkeypatch.setattr(model_calls, "FLUSH_SECONDS", 0.0)
    world = Thinking()
    drive(world, count=1)
    kinds = [type(event) for event in world.events if not isinstance(event, RunStatus)]
    assert kinds == [TurnStarted, Delta, TurnDone] * 3 + [VerdictReached]
    assert [event.text for event in world.events if isinstance(event, Delta)] == ["Hm. "] * 3


def test_repeated_run_uses_stored_replies_only() -> None:
    world = World()
    drive(world)
    world.verdicts.clear()
    world.turns.clear()
    status = drive(world)
    assert (status.calls, status.cached_calls, status.verdicts) == (0, 9, 3)


def test_concurrency_limits_calls_in_flight() -> None:
    world = World(delay=0.01)
    drive(world, count=20, settings=settings(concurrency=4))
    assert world.max_concurrent == 4


def test_runs_share_the_quota_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(delay=0.001)
    quota = Quota(Limits(at_once=2))
    monkeypatch.setattr(world, "quota", lambda _role_model: quota)

    work = world.work(settings(), 16)

    async def both() -> None:
        parts = (replace(work, todo=todo) for todo in (work.todo[:8], work.todo[8:]))
        await asyncio.gather(*(world.run(part).run() for part in parts))

    asyncio.run(both())
    assert world.max_concurrent == 2


def test_identical_documents_share_one_call() -> None:
    world = World(delay=0.01)
    original = world.load

    async def same_text(ids):
        return [Document(id, {"text": "Same."}) for id in ids]

    world.load = same_text
    status = drive(world, count=4)
    assert original is not None
    assert (status.verdicts, status.calls, status.cached_calls) == (4, 3, 9)


def test_failed_call_is_recorded_for_every_document_that_shares_it() -> None:
    world = World(delay=0.01, script=lambda *_: errors.BadRequest("no", ""))

    async def same_text(ids: Sequence[str]) -> list[Document]:
        return [Document(id, {"text": "Same."}) for id in ids]

    world.load = same_text  # type: ignore[method-assign]
    assert drive(world, count=3).failed == 3
    assert len(world.requested) == 1
    assert {attempt.document_id for attempt in world.attempts} == {"d0", "d1", "d2"}
    assert len({attempt.key for attempt in world.attempts}) == 1
    assert [attempt.cost_usd for attempt in world.attempts][1:] == [0.0, 0.0]


def test_runs_at_the_same_time_share_a_call() -> None:
    world = World(delay=0.01)
    first, second = run_both(world, settings(), settings())
    assert [role for _, role in world.requested] == ["extractor", "critic", "judge"]
    assert (first.calls + second.calls, first.verdicts, second.verdicts) == (3, 1, 1)


def test_budget_that_is_spent_does_not_stop_another_run() -> None:
    world = World(delay=0.01, price=1.0)
    limited, free = run_both(world, settings(budget_usd=2.5), settings())
    assert (limited.state, limited.calls, free.state, free.calls) == ("paused", 2, "done", 1)


def test_shared_call_that_fails_is_repeated_by_another_run() -> None:
    def fail_first(ask: Request, document: Document, times: int) -> str | Exception:
        return find_service(ask, document, times) if times or ask.role != "extractor" else errors.Runaway("Too long.")

    world = World(fail_first, delay=0.01)
    both = run_both(world, settings(), settings())
    assert [(status.failed, status.verdicts) for status in both] == [(1, 0), (0, 1)]


def test_pause_does_not_wait_for_the_call_of_another_run() -> None:
    world = World(delay=60.0)

    async def pause_second() -> RunStatus:
        first, second = (each.run(each.work(settings(), 1)) for each in (world, replace(world, verdicts={})))
        running = asyncio.create_task(first.run())
        async with asyncio.timeout(10):
            while not world.requested:
                await asyncio.sleep(0.01)
            waiting = asyncio.create_task(second.run())
            await asyncio.sleep(0.05)
            second.pause(StopReason("user", "paused"))
            status = await waiting
        first.stop(StopReason("user", "stopped"))
        await running
        return status

    assert asyncio.run(pause_second()).state == "paused"
    assert len(world.requested) == 1


def test_debate_repeats_a_shared_call_that_was_cancelled() -> None:
    world = World(delay=0.01)

    async def cancel_first() -> tuple[str, bool]:
        run = world.run(world.work(settings()))
        (pending,) = Debate(Document("d0", {"text": "Same."}), run.settings, world).pending
        first, second = (asyncio.create_task(run.caller.call("key", pending)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        reply, shared = await second
        return reply.text, shared

    assert asyncio.run(cancel_first()) == ("The aspects present in this review are: #Service", False)
    assert (len(world.requested), world.cancelled) == (2, 1)


def test_document_is_unresolved_after_two_unreadable_replies() -> None:
    def unreadable_judge(ask: Request, document: Document, times: int) -> str:
        return "On balance, hard to say." if ask.role == "judge" else find_service(ask, document, times)

    world = World(script=unreadable_judge)
    status = drive(world, count=1)
    assert (status.unresolved, status.verdicts, status.failed) == (1, 0, 0)
    assert [role for _, role in world.requested] == ["extractor", "critic", "judge", "judge"]
    verdict = world.verdicts["d0"].verdict
    assert set(verdict.values.values()) == {None}
    assert all("decision" in reason for reason in verdict.reasons.values())


def test_retrying_unresolved_documents_repeats_unreadable_requests_only() -> None:
    replies = iter(["mumble", "mumble", "Final Decision: The present aspects are: Price, Service"])

    def readable_later(ask: Request, document: Document, times: int) -> str:
        return next(replies) if ask.role == "judge" else find_service(ask, document, times)

    world = World(script=readable_later)
    drive(world, count=1)
    world.verdicts.clear()
    world.requested.clear()
    status = drive(world, count=1, retry_rounds={"d0": 1})
    assert status.verdicts == 1
    assert world.requested == [("d0", "judge")]
    world.verdicts.clear()
    status = drive(world, count=1)
    assert status.verdicts == 1, "a rerun uses the reply to the retry"
    assert world.requested == [("d0", "judge")]


def test_unreadable_reply_is_requested_again_for_retried_documents_only() -> None:
    world = World(script=lambda ask, *more: "mumble" if ask.role == "judge" else find_service(ask, *more))
    drive(world, count=2)
    world.verdicts.clear()
    world.requested.clear()
    drive(world, count=2, retry_rounds={"d0": 1})
    assert set(world.requested) == {("d0", "judge")}


def test_reply_cut_by_a_smaller_output_limit_is_requested_again_once() -> None:
    def cut_first(ask: Request, document: Document, times: int) -> str:
        return "I think ..." if ask.role == "judge" and times < 2 else find_service(ask, document, times)

    world = World(script=cut_first)
    assert drive(world, count=1).unresolved == 1
    for limit, requested in ((1024, []), (8192, [("d0", "judge")]), (8192, []), (512, [])):
        sampling = Sampling(default_limit=limit)
        role_models = dict.fromkeys(settings().role_models, ROLE_MODEL.model_copy(update={"sampling": sampling}))
        world.verdicts.clear()
        world.requested.clear()
        status = drive(world, count=1, settings=settings(role_models=role_models))
        assert (world.requested, status.verdicts) == (requested, int(limit == 8192))


@pytest.mark.parametrize(("allowed", "requested"), [(1024, 1), (700, 1), (1500, 2)])
def test_cut_reply_is_requested_again_only_with_a_higher_limit_than_was_sent(allowed: int, requested: int) -> None:
    world = World(script=lambda *_: "I think ...", max_output=allowed)  # the request has a limit of 1024
    assert drive(world, count=1, settings=settings("single")).unresolved == 1
    assert len(world.requested) == len(world.replies) == requested
    assert max(reply.output_limit for reply in world.replies.values()) == allowed
    (reason, *_) = world.verdicts["d0"].verdict.reasons.values()
    assert f"({allowed:,} tokens" in reason
    world.verdicts.clear()
    world.requested.clear()
    drive(world, count=1, settings=settings("single"))
    assert world.requested == []
    world.verdicts.clear()
    world.max_output = 4096  # the server restarts with a larger context
    world.script = find_service
    assert drive(world, count=1, settings=settings("single")).verdicts == 1


def test_cut_reply_with_the_highest_limit_keeps_its_place_among_others() -> None:
    def cut_one(ask: Request, document: Document, times: int) -> str:
        if ask.role == "annotator_b":
            return "I think ..."
        return "mumble" if times == 0 else find_service(ask, document, times)

    world = World(script=cut_one, max_output=1024)
    drive(world, count=1, settings=settings("discussion", concurrency=1))
    asked = [(turn.role, turn.reask) for turn in world.turns if turn.round == 0]
    assert ("annotator_b", 1) not in asked
    assert ("annotator_a", 1) in asked
    by_role = {turn.role: turn.reply.text for turn in world.turns if turn.round == 0}
    assert by_role["annotator_b"] == "I think ..."


def test_replay_uses_a_stored_reply_although_its_limit_could_not_be_raised_by_now() -> None:
    def learn_limit(ask: Request, document: Document, times: int) -> str:
        if ask.limit_factor == 1:
            return "I think ..."
        world.max_output = 1024  # as a refusal of the raised limit teaches
        return find_service(ask, document, times)

    world = World(script=learn_limit)
    for _ in range(2):
        world.verdicts.clear()
        assert drive(world, count=1, settings=settings("single")).verdicts == 1
    assert len(world.requested) == 2
    assert [(turn.turn, turn.reask) for turn in world.turns] == [(0, 0), (1, 1)] * 2


@pytest.mark.parametrize("allowed", [1024, 4096])
def test_plain_text_role_that_reaches_the_highest_limit_without_text_fails_the_document(allowed: int) -> None:
    class Silent(World):
        async def ask(self, role_model: RoleModel, ask: Request, *others: Any) -> Reply:
            reply = await super().ask(role_model, ask, *others)
            if ask.role != "critic":
                return reply
            if ask.reask:  # as a client raises it
                raise LengthLimit("no text")
            return replace(reply, text="", finish_reason="length")

    world = Silent(max_output=allowed)  # the request has a limit of 1024
    assert drive(world, count=1, settings=settings("ecj")).failed == 1
    error = world.verdicts["d0"].verdict.error
    assert error is not None
    assert error.kind == LengthLimit.kind
    assert [role for _, role in world.requested] == ["extractor", "critic", "critic"][: 2 + (allowed > 1024)]


def test_persistent_fault_is_retried_and_then_fails_the_document() -> None:
    def failing(ask: Request, document: Document, times: int) -> str | Exception:
        if document.id == "d1":
            return errors.ServerFault("boom", "")
        return find_service(ask, document, times)

    world = World(script=failing)
    status = drive(world)
    assert (status.verdicts, status.failed) == (2, 1)
    assert len(world.attempts) == retries.ATTEMPTS
    assert world.verdicts["d1"].verdict.error is not None
    waits = [event for event in world.events if isinstance(event, TurnWaiting)]
    assert [(wait.reason, wait.seconds) for wait in waits] == [("server fault", 0.0)] * retries.ATTEMPTS


def test_transient_fault_is_retried_successfully() -> None:
    def flaky(ask: Request, document: Document, times: int) -> str | Exception:
        return errors.CutStream("cut", "") if times == 0 else find_service(ask, document, times)

    world = World(script=flaky)
    status = drive(world)
    assert (status.verdicts, status.failed) == (3, 0)
    assert len(world.attempts) == 9


@pytest.mark.parametrize(
    ("kinds", "most"),
    [
        ([errors.Unauthorised], base_engine.EQUAL_FAILURES),
        ([errors.ServerFault, errors.CutStream, errors.RateLimited], base_engine.FAILURES),
    ],
)
def test_provider_faults_on_consecutive_documents_pause_the_run(
    kinds: list[type[errors.ModelError]], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.engine.retries.MAX_WAIT", 0.0)
    monkeypatch.setattr("core.engine.retries.RATE_LIMIT_WAITS", (0.0,))

    def fail(ask: Request, document: Document, times: int) -> Exception:
        return kinds[int(document.id[1:]) % len(kinds)]("it is down", "")

    world = World(script=fail)
    status = drive(world, count=30, settings=settings(concurrency=1))
    assert status.state == "paused"
    assert world.states[-1][1].code == "errors"
    assert f"{most} documents in a row" in status.message
    assert "it is down" in status.message
    assert world.verdicts == {}
    assert len({document for document, _ in world.requested}) <= most + 2


def test_documents_in_flight_that_fail_after_the_pause_are_not_debated_either() -> None:
    world = World(script=lambda *_: "Final Decision: The present aspects are: Service")
    ask = world.ask
    last = base_engine.EQUAL_FAILURES + 2

    async def fail_all_but_the_last(
        role_model: RoleModel,
        request: Request,
        run_settings: RunSettings,
        document: Document,
        on_delta: OnDelta,
        *_: object,
    ) -> Reply:
        number = int(document.id[1:])
        for _ in range(50 * (number + 1)):  # one after another, however slow the machine is
            await asyncio.sleep(0)
        if number < last:
            raise errors.Unauthorised("the key is wrong", "")
        return await ask(role_model, request, run_settings, document, on_delta)

    world.ask = fail_all_but_the_last
    status = drive(world, count=last + 1, settings=settings("single", concurrency=last + 1))
    assert (status.state, status.verdicts, status.failed) == ("paused", 1, 0)


def test_server_that_does_not_compare_texts_fails_documents_as_one_that_does_not_answer() -> None:
    world = World()
    asked: list[str] = []

    async def find_examples(document: Document, _embed: object) -> Precedents:
        asked.append(document.id)
        if len(asked) in (2, 3):
            raise errors.ServerFault("it is busy", "")
        return {}

    engine = world.run(world.work(settings(concurrency=1), count=4))
    engine.dependencies = replace(engine.dependencies, find_examples=find_examples)
    assert asyncio.run(engine.run()).state == "done"
    assert [world.verdicts[f"d{n}"].verdict.status for n in range(4)] == ["verdict", "failed", "failed", "verdict"]
    assert world.verdicts["d1"].verdict.error.kind == "server fault"


def test_unreadable_replies_never_pause_a_run() -> None:
    world = World(script=lambda ask, document, times: "mumble")
    status = drive(world, count=12)
    assert (status.state, status.unresolved, status.failed) == ("done", 12, 0)
    assert len(world.requested) == 5 * 12, "extractor and judge are asked once more"
    assert {reply.text for reply in world.replies.values()} == {"mumble"}


def test_document_that_is_too_long_does_not_stop_the_run() -> None:
    world = World(script=lambda ask, document, times: errors.ContextTooLong("9 > 8", ""))
    status = drive(world, count=8)
    assert (status.state, status.failed) == ("done", 8)


def test_document_that_fills_a_shared_context_alone_is_too_long() -> None:
    def answer(ask: Request, document: Document, times: int) -> str | Exception:
        if document.id != "d3":
            return find_service(ask, document, times)
        full = errors.ContextTooLong("Context size has been exceeded.")
        full.server_text = full.message
        return full

    world = World(answer, delay=2.0)
    run_settings = settings("single", concurrency=4)
    status = run_in_simulated_time(world.run(world.work(run_settings, count=60)).run())
    assert (status.state, status.verdicts, status.failed) == ("done", 59, 1)
    error = world.verdicts["d3"].verdict.error
    assert error is not None
    assert error.kind == errors.ContextTooLong.kind
    assert [attempt.kind for attempt in world.attempts] == ["rate limited", "rate limited", errors.ContextTooLong.kind]


def test_spent_budget_pauses_without_overspending() -> None:
    world = World(delay=0.001)
    status = drive(world, count=50, settings=settings(budget_usd=0.205, concurrency=16))
    assert status.state == "paused"
    assert world.states[-1][1].code == "budget"
    assert "budget" in status.message
    assert status.cost_usd == pytest.approx(0.20)


def test_pause_finishes_calls_in_flight_and_resuming_repeats_none() -> None:
    world = World(delay=0.02)
    status = drive(world, count=30, pause=0.05)
    assert (status.state, status.message) == ("paused", "now")
    assert world.cancelled == 0
    assert len(world.replies) == len(world.requested)
    status = drive(world, count=30)
    assert (status.state, status.verdicts) == ("done", 30)
    assert len(world.requested) == 90


def test_run_with_a_budget_pauses_once_its_price_is_unknown() -> None:
    def forget_price(ask: Request, document: Document, times: int) -> str:
        if len(world.requested) == 4:
            world.price = None
        return find_service(ask, document, times)

    world = World(forget_price, price=0.01)
    limited = settings("single", budget_usd=1.0, concurrency=1)
    status = drive(world, count=9, settings=limited)
    assert (status.state, status.calls, status.cost_usd) == ("paused", 4, None)
    assert status.message == "the price of fake/m is unknown, so the budget of $1.00 cannot be enforced"
    assert world.states[-1][1].code == "errors"
    world.price = 0.01
    work = world.work(limited, count=9)
    resumed = asyncio.run(world.run(replace(work, run=work.run.model_copy(update={"cost_usd": None}))).run())
    assert (resumed.state, resumed.calls) == ("paused", 4), "the cost so far is unknown"
    assert "because some replies have no price" in resumed.message


def test_calls_that_wait_for_the_budget_are_not_made_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(delay=0.05, price=0.001)
    monkeypatch.setattr(world, "max_cost", lambda *_: 0.4)
    status = drive(world, count=12, settings=settings("single", budget_usd=1.0, concurrency=6), pause=0.02)
    assert (status.state, status.stop_code) == ("paused", "user")
    assert len(world.requested) == 2


def test_time_of_a_run_is_stored_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_engine, "STATUS_SECONDS", 0.01)
    monkeypatch.setattr(base_engine, "TIME_SECONDS", 0.0)
    world = World(delay=0.02)
    status = drive(world, count=10)
    *before_the_end, at_the_end = world.seconds
    assert sum(before_the_end) > at_the_end
    assert sum(world.seconds) == pytest.approx(status.seconds, abs=0.1)


def test_time_in_which_the_process_was_suspended_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_engine, "STATUS_SECONDS", 0.005)
    monkeypatch.setattr(base_engine, "SUSPENDED_SECONDS", 0.5)

    def suspend(_ask: object, document: Document, _times: int) -> str:
        if document.id == "d5":
            time.sleep(0.6)
        return "Final Decision: The present aspects are: none"

    world = World(delay=0.01, script=suspend)
    status = drive(world, count=20)
    assert status.seconds < 1.5
    assert sum(world.seconds) == pytest.approx(status.seconds, abs=0.1)
    assert status.rate == pytest.approx(60 * status.ended / status.seconds, rel=0.01)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_pause_waits_for_no_rate_limit_and_failed_documents_are_debated_later(concurrency: int) -> None:
    world = World(script=lambda *_: errors.RateLimited("slow down", retry_after=300.0))
    status = drive(world, count=12, settings=settings(concurrency=concurrency), pause=0.1)
    assert (status.state, status.message, status.ended) == ("paused", "now", 0)
    attempts = len(world.requested)
    world.script = find_service
    assert drive(world, count=12).verdicts == 12
    assert len(world.requested) == attempts + 36


def test_run_paused_during_its_last_call_is_done() -> None:
    world = World()

    async def paused() -> RunStatus:
        live = world.run(world.work(settings(), count=1))
        publish = live.publish

        def pause_at_judge(event: object) -> None:
            publish(event)
            if isinstance(event, TurnStarted) and event.turn.role == "judge":
                live.pause(NOW)

        live.publish = pause_at_judge
        return await live.run()

    status = asyncio.run(paused())
    assert (status.state, status.verdicts, status.message) == ("done", 1, "")
    assert world.states[-1] == ("done", NOT_STOPPED)


def test_stop_cancels_calls_in_flight() -> None:
    world = World(delay=5.0)
    status = drive(world, count=9, settings=settings(concurrency=3), stop=0.05)
    assert status.state == "stopped"
    assert world.cancelled == 3
    assert world.states[-1] == ("stopped", NOW)


def test_verdict_that_is_being_written_when_the_run_stops_is_counted() -> None:
    world = World()
    write = world.verdict
    live = world.run(world.work(settings(concurrency=1), count=9))

    async def stop_while_writing(reached: VerdictReached) -> VerdictReached:
        live.stop(NOW)
        await asyncio.sleep(0.01)
        return await write(reached)

    world.verdict = stop_while_writing
    status = asyncio.run(live.run())
    assert (status.state, status.verdicts, len(world.verdicts)) == ("stopped", 1, 1)


@pytest.mark.parametrize("error", [errors.StorageFull("disk full", "free some space"), OSError(28, "disk full")])
def test_full_disk_pauses_the_run(error: Exception) -> None:
    world = World()

    async def full(row: object) -> None:
        raise error

    world.verdict = full
    drive(world)
    assert world.states[-1] == ("paused", StopReason("errors", str(error)))


def test_calls_in_flight_end_when_the_disk_is_full() -> None:
    refused = []

    class Full(World):
        async def ask(self, role_model, ask, run_settings, document, on_delta, *_) -> Reply:
            self.delay = 0.0 if document.id == "d0" else 0.2
            return await super().ask(role_model, ask, run_settings, document, on_delta)

        async def commit(self, reply: Reply) -> None:
            refused.append(reply)
            raise StorageFull("The disk is full.", "Free some space.")

    world = Full()
    assert drive(world, count=9).state == "paused"
    assert (world.cancelled, len(refused)) == (0, len(world.requested))


def test_cancelled_partial_reply_is_recorded_as_billed() -> None:
    world = World()

    async def stream_and_wait(role_model, ask, run_settings, document, on_delta, *_: object):
        on_delta("The aspects are ", False)
        await asyncio.sleep(60)

    world.ask = stream_and_wait
    assert drive(world, count=4, settings=settings(concurrency=2), stop=0.05).state == "stopped"
    assert [(row.kind, row.text) for row in world.attempts] == [("cancelled", "The aspects are ")] * 2
    assert all(row.usage.prompt_tokens > 0 and row.usage.estimated for row in world.attempts)


def test_empty_reply_is_billed_and_retried() -> None:
    def empty_at_first(ask: Request, document: Document, times: int) -> str | Exception:
        if ask.role == "critic" and times == 0:
            error = EmptyReply("not a word")
            error.billed = (30, 20, 10)
            return error
        return find_service(ask, document, times)

    world = World(empty_at_first)
    status = drive(world, count=1)
    assert (status.verdicts, status.calls) == (1, 3)
    assert (status.prompt_tokens, status.completion_tokens) == (3 * 10 + 30, 3 * 5 + 20)
    assert status.cost_usd == pytest.approx(3 * 0.01 + 50 * 0.01)
    (lost,) = world.attempts
    assert (lost.kind, lost.usage.prompt_tokens, lost.cost_usd) == ("empty reply", 30, pytest.approx(0.5))
    assert lost.usage.cached_tokens == 10, "cheaper tokens are billed as such"


def test_empty_replies_count_against_the_budget() -> None:
    def empty(_ask: Request, _document: Document, _times: int) -> Exception:
        error = EmptyReply("not a word")
        error.billed = (30, 20, 10)
        return error

    world = World(empty)
    status = drive(world, count=4, settings=settings(budget_usd=1.2, concurrency=1))
    assert status.state == "paused"
    assert status.message.endswith(OUT_OF_BUDGET)
    assert len(world.attempts) == 3  # half a dollar each; a call starts if at least one cent is left
    assert status.cost_usd == pytest.approx(1.5)


def test_reply_that_exceeds_the_budget_is_stopped_while_streaming() -> None:
    world = World(lambda _ask, _document, _times: "on and on " * 1000)
    status = drive(world, count=4, settings=settings(budget_usd=1.0, concurrency=1))
    assert status.state == "paused"
    assert status.message.endswith(OUT_OF_BUDGET)
    (attempt,) = world.attempts
    assert (attempt.kind, len(attempt.text)) == ("budget", 10_000)
    assert not world.replies


def test_parallel_call_is_kept_when_the_other_one_spends_the_budget() -> None:
    class Slower(World):
        async def ask(self, role_model: RoleModel, ask: Request, *more: Any) -> Reply:
            if ask.role != "annotator_a":
                await asyncio.sleep(0.05)
            return await super().ask(role_model, ask, *more)

    world = Slower(lambda ask, *_: "on and on " * 1000 if ask.role == "annotator_a" else find_service(ask, *_))
    status = drive(world, count=1, settings=settings("discussion", budget_usd=1.0, concurrency=2))
    assert (status.state, status.message.endswith(OUT_OF_BUDGET)) == ("paused", True)
    assert [attempt.kind for attempt in world.attempts] == ["budget"]
    assert {turn.role for turn in world.turns} == {"annotator_b"}
    assert world.at_once == 0


def test_documents_deleted_since_the_start_fail() -> None:
    class Deleted(World):
        async def load(self, ids: Sequence[str]) -> Sequence[Document]:
            return [document for document in await super().load(ids) if int(document.id[1:]) >= 2 * LOADED_AT_ONCE]

    world = Deleted()
    status = drive(world, count=2 * LOADED_AT_ONCE + 3, settings=settings(concurrency=1))
    assert (status.state, status.verdicts, status.failed) == ("done", 3, 2 * LOADED_AT_ONCE)
    failed = world.verdicts["d0"].verdict
    assert (failed.status, failed.error) == ("failed", MISSING)
    assert set(failed.values) == set(CODEBOOK.items)


def test_document_that_is_missing_twice_fails_once() -> None:
    class Deleted(World):
        async def load(self, ids: Sequence[str]) -> Sequence[Document]:
            return []

    world = Deleted()
    engine = world.run(world.work(settings(), count=1))

    async def load_twice() -> None:
        for _ in range(2):
            assert not await engine._load(["d0"])

    asyncio.run(load_twice())
    assert (engine.totals.so_far.failed, list(world.verdicts)) == (1, ["d0"])


def test_full_disk_at_the_last_held_verdict_pauses_the_run() -> None:
    class Full(World):
        async def verdict(self, reached: VerdictReached) -> VerdictReached:
            raise StorageFull("The disk is full.", "Free some space.")

    world = Full(lambda *_: errors.ServerFault("no"))
    status = drive(world, count=1)
    assert status.state == "paused"
    assert world.states[-1][0] == "paused"
    assert isinstance(world.events[-1], RunStatus)


def test_verdict_that_is_restored_while_the_run_is_stopped_counts_as_restored() -> None:
    class Restoring(World):
        async def verdict(self, reached: VerdictReached) -> VerdictReached:
            engine.stop(StopReason("user", "by you"))
            await asyncio.sleep(0.01)
            return await super().verdict(replace(reached, verdict=replace(reached.verdict, error=None)))

    world = Restoring(lambda *_: errors.Refused("no"))
    engine = world.run(world.work(settings(), count=1))
    status = asyncio.run(engine.run())
    assert (status.unresolved, status.failed) == (1, 0)
    assert [event.verdict.error for event in world.events if isinstance(event, VerdictReached)] == [None]


def test_verdicts_that_are_restored_when_the_run_pauses_are_counted() -> None:
    class Restoring(World):
        async def state(self, run_id: str, state: State, *rest: Any) -> Sequence[VerdictReached]:
            await super().state(run_id, state, *rest)
            verdict = Verdict(dict.fromkeys(CODEBOOK.items))
            return (
                [VerdictReached(run_id, f"d{index}", verdict, 0.0) for index in range(5)] if state == "paused" else ()
            )

    status = drive(Restoring(lambda *_: errors.ServerFault("no")), count=5)
    assert (status.state, status.unresolved, status.failed) == ("paused", 5, 0)


def test_runaway_reply_is_not_retried() -> None:
    world = World(lambda _ask, _document, _times: errors.Runaway("The reply did not end."))
    status = drive(world, count=1)
    assert (status.state, status.failed) == ("done", 1)
    assert len(world.requested) == len(set(world.requested))


def test_time_left_of_a_slow_model_rests_on_its_last_debates() -> None:
    totals = RunTotals(RunStatus(**dict(World().work(settings(), count=100).run)), priced=True)
    for minute in range(3, 31, 3):
        totals.conclude("verdict", minute * 60.0)
    for seconds in (0.0, 60.0, 120.0):  # however long ago the last debate ended
        status = totals.status("running", 1800.0 + seconds, NOT_STOPPED)
        assert 90 * 180 * 0.9 < (status.eta_seconds or 0.0) < 90 * 180 * 1.2
