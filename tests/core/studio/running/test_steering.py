"""The queue, pauses, stops and budgets of real runs with the built-in model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import UsageError
from core.studio.desk import Desk
from core.studio.running import runs, steering
from core.studio.workspace import Workspace
from tests.core.studio.desks import make, studio, until

SLOW = runs.Plan(pace=120.0, concurrency=1)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with studio(tmp_path) as (_, opened):
        yield opened


def test_pausing_holds_the_queue_back_and_going_on_lets_it_go(desk: Desk) -> None:
    first, second = make(desk, replace(SLOW, iterations=2))
    steering.start(desk, [first, second])
    until(lambda: desk.state(first.run_id) == "running")
    assert desk.state(second.run_id) == "queued"
    assert [row.run_id for row in steering.queue(desk)] == [second.run_id]
    steering.pause(desk, first.run_id)
    until(lambda: not desk.under_way())
    assert (desk.state(first.run_id), desk.state(second.run_id)) == ("paused", "paused")
    assert steering.standing(desk, first.run_id).why == "you"
    assert steering.standing(desk, second.run_id).why == "held"
    assert steering.standing(desk, first.run_id).siblings == 2
    steering.go_on(desk, first.run_id)
    until(lambda: desk.state(second.run_id) == "done", 30)
    assert desk.state(first.run_id) == "done"


def test_stopping_holds_the_queue_back_until_it_is_released(desk: Desk) -> None:
    first, second = make(desk, replace(SLOW, iterations=2))
    steering.start(desk, [first, second])
    until(lambda: desk.state(first.run_id) == "running")
    steering.stop(desk, first.run_id)
    until(lambda: not desk.under_way())
    assert [row.run_id for row in steering.held(desk)] == [second.run_id]
    steering.release(desk)
    until(lambda: desk.state(second.run_id) == "done", 30)
    assert desk.state(first.run_id) == "stopped"
    assert steering.held(desk) == ()


def test_a_pause_shows_before_the_calls_in_flight_have_ended(desk: Desk) -> None:
    (run,) = make(desk, replace(SLOW, pace=4.0))
    steering.start(desk, [run])
    until(lambda: (board := desk.board(run.run_id)) is not None and board.holds("d0"))  # else nothing is in flight
    steering.pause(desk, run.run_id)
    assert desk.ending(run.run_id) == "paused"
    steering.stop(desk, run.run_id)
    until(lambda: not desk.under_way())
    assert desk.ending(run.run_id) is None
    assert desk.state(run.run_id) == "stopped"


def test_a_run_is_taken_out_of_the_queue(desk: Desk) -> None:
    first, second = make(desk, replace(SLOW, iterations=2))
    steering.start(desk, [first, second])
    until(lambda: desk.state(first.run_id) == "running")
    steering.take_out(desk, second.run_id)
    assert steering.queue(desk) == ()
    assert desk.state(second.run_id) == "stopped"
    until(lambda: desk.state(first.run_id) == "done", 30)
    assert desk.state(second.run_id) == "stopped"


def test_a_paused_run_is_stopped_where_it_stands_and_a_done_one_stays_done(desk: Desk) -> None:
    (run,) = make(desk, SLOW)
    steering.start(desk, [run])
    until(lambda: desk.state(run.run_id) == "running")
    steering.pause(desk, run.run_id)
    until(lambda: not desk.under_way())
    steering.stop(desk, run.run_id)
    board = desk.board(run.run_id)
    assert board is not None
    assert board.status is not None
    assert (desk.state(run.run_id), board.status.state) == ("stopped", "stopped")
    (other,) = make(desk)
    desk.go(other.run_id).result(30)
    steering.pause(desk, other.run_id)
    steering.stop(desk, other.run_id)
    assert desk.state(other.run_id) == "done"


def test_an_interrupted_run_says_how_far_it_came(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, desk):
        (run,) = make(desk, SLOW)
        steering.start(desk, [run])
        until(
            lambda: (
                (board := desk.board(run.run_id)) is not None and board.status is not None and board.status.calls > 1
            )
        )
        path = desk.path
        workspace.close()
    with_again(path, run.run_id)


def with_again(path: Path, run_id: str) -> None:
    workspace = Workspace()
    try:
        desk = workspace.open(path)
        now = steering.standing(desk, run_id)
        assert (now.state, now.why) == ("paused", "interrupted")
        last, talking = desk.store.ended.last_reply(run_id)
        assert last is not None
        assert talking >= 1
        steering.go_on(desk, run_id)
        until(lambda: desk.state(run_id) == "done", 30)
        row = desk.store.runs.get(run_id)
        assert row is not None
        assert row.calls == 3 * row.documents  # no reply was paid twice
    finally:
        workspace.close()


def test_a_raised_budget_counts_from_the_next_start_on(desk: Desk) -> None:
    (run,) = make(desk, runs.Plan(budget_usd=1.0))
    assert run.budget_usd == 1.0
    steering.raise_budget(desk, run.run_id, 2.5)
    row = desk.store.runs.get(run.run_id)
    assert row is not None
    assert row.budget_usd == 2.5
    assert row.settings.budget_usd == 1.0  # what the run was started with stays as it was
    work = desk.store.runs.work(run.run_id)
    assert work.run.settings.budget_usd == 2.5
    until(lambda: desk.state(run.run_id) == "done")


def test_a_budget_that_is_spent_already_is_refused(desk: Desk) -> None:
    (run,) = make(desk, runs.Plan(budget_usd=1.0))
    with pytest.raises(UsageError, match="spent already"):
        steering.raise_budget(desk, run.run_id, 0.0)


@pytest.mark.parametrize(
    ("spent", "ended", "documents", "budget", "offer"),
    # 914 of 1,000 for $2.99: the whole costs 3.27, a third more is 4.36; half as much again is 4.50
    [(2.99, 914, 1000, 3.0, 4.5), (0.5, 10, 100, 0.5, 7.0), (0.0, 0, 10, 0.01, 0.02)],
)
def test_the_budget_to_offer(desk: Desk, spent: float, ended: int, documents: int, budget: float, offer: float) -> None:
    (run,) = make(desk)
    row = run.model_copy(update={"cost_usd": spent, "verdicts": ended, "documents": documents, "budget_usd": budget})
    assert steering.next_budget(row) == pytest.approx(offer)
    assert steering.next_budget(row) > budget


def test_why_a_run_stands_still_is_no_word_of_one_that_moves(desk: Desk) -> None:
    (run,) = make(desk)
    run = run.model_copy(update={"reason": "budget"})
    assert {state: steering.why(run, state) for state in ("paused", "stopped", "failed", "queued", "running")} == {
        "paused": "budget", "stopped": "budget", "failed": "budget", "queued": "", "running": ""
    }  # fmt: skip
