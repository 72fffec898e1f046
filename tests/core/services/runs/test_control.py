"""Tests of the queue, pauses, stops, budgets and details of runs with the built-in model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from core.documents import Document
from core.errors import UsageError
from core.llm.connections import Connection
from core.llm.prices import Price
from core.runs import EngineName, EngineSettings, RoleModel, RunDetails
from core.services.live_state import ClientCursor
from core.services.project_session import ProjectSession
from core.services.runs import control, planning
from core.services.workspace import Workspace
from tests.core.services.sessions import TEXTS, queue_runs, studio, until

SLOW = planning.Plan(pace=120.0, concurrency=1)


def test_unfinished_run_says_that_it_keeps_the_address_of_its_models(session: ProjectSession) -> None:
    old, new = (Connection(name="m", base_url=f"http://127.0.0.1:{port}/v1") for port in (9, 10))
    session.models.add(old)
    role_model = RoleModel(connection="m", model="mock")
    (run,) = queue_runs(session, planning.Plan(protocol="single", default_model=role_model))
    control.start_runs(session, [run])
    control.stop(session, run.run_id)
    until(lambda: not session.active_runs())
    assert control.run_overview(session, run.run_id).kept_addresses == ()
    session.models.add(new)
    (sentence,) = control.run_overview(session, run.run_id).kept_addresses
    assert sentence == (
        f"This run keeps the address {old.base_url} of 'm', because its paid replies belong to this address. "
        f"{new.base_url} is not used."
    )
    session.models.remove("m")
    assert control.run_overview(session, run.run_id).kept_addresses == ()
    with pytest.raises(UsageError, match=f"--connection m={old.base_url}"):
        control.resume(session, run.run_id)


def test_pausing_holds_the_queue_and_resuming_releases_it(session: ProjectSession) -> None:
    first, second = queue_runs(session, replace(SLOW, iterations=2))
    control.start_runs(session, [first, second])
    until(lambda: session.state(first.run_id) == "running")
    assert session.state(second.run_id) == "queued"
    assert [row.run_id for row in control.queued_runs(session)] == [second.run_id]
    control.pause(session, first.run_id)
    until(lambda: not session.active_runs())
    assert (session.state(first.run_id), session.state(second.run_id)) == ("paused", "paused")
    assert control.run_overview(session, first.run_id).stop_code == "user"
    on_hold = session.run(second.run_id)
    assert (on_hold.stop_code, on_hold.message) == ("on_hold", first.run_id)
    assert control.run_overview(session, first.run_id).siblings == 2
    planning.set_pace(session, 0)
    control.resume(session, first.run_id)
    until(lambda: session.state(second.run_id) == "done", 30)
    assert session.state(first.run_id) == "done"


def test_stopping_holds_the_queue_until_it_is_released(session: ProjectSession) -> None:
    first, second = queue_runs(session, replace(SLOW, iterations=2))
    control.start_runs(session, [first, second])
    until(lambda: session.state(first.run_id) == "running")
    control.stop(session, first.run_id)
    until(lambda: not session.active_runs())
    assert [row.run_id for row in control.runs_on_hold(session)] == [second.run_id]
    planning.set_pace(session, 0)
    control.start_runs(session, control.runs_on_hold(session))
    until(lambda: session.state(second.run_id) == "done", 30)
    assert session.state(first.run_id) == "stopped"
    assert control.runs_on_hold(session) == ()


def test_stopped_run_resumes_at_the_pace_set_meanwhile(session: ProjectSession) -> None:
    (run,) = queue_runs(session, replace(SLOW, pace=0.1))
    control.start_runs(session, [run])
    until(lambda: session.state(run.run_id) == "running")
    control.stop(session, run.run_id)
    until(lambda: not session.active_runs())
    planning.set_pace(session, 0)
    control.resume(session, run.run_id)
    until(lambda: session.state(run.run_id) == "done", 30)


def test_pending_pause_is_shown_while_calls_finish(session: ProjectSession) -> None:
    (run,) = queue_runs(session, replace(SLOW, pace=4.0))
    control.start_runs(session, [run])
    until(
        lambda: (live := session.live_run(run.run_id)) is not None and len(live.snapshot(ClientCursor())) > 1
    )  # otherwise no call is in flight
    control.pause(session, run.run_id)
    assert session.pending_state(run.run_id) == "paused"
    control.stop(session, run.run_id)
    until(lambda: not session.active_runs())
    assert session.pending_state(run.run_id) is None
    assert session.state(run.run_id) == "stopped"


def test_run_is_removed_from_the_queue(session: ProjectSession) -> None:
    first, second = queue_runs(session, replace(SLOW, iterations=2))
    control.start_runs(session, [first, second])
    until(lambda: session.state(first.run_id) == "running")
    session.stop(second.run_id)
    assert control.queued_runs(session) == ()
    assert session.state(second.run_id) == "stopped"
    until(lambda: session.state(first.run_id) == "done", 30)
    assert session.state(second.run_id) == "stopped"


def test_paused_run_can_be_stopped_and_finished_run_stays_done(session: ProjectSession) -> None:
    (run,) = queue_runs(session, SLOW)
    control.start_runs(session, [run])
    until(lambda: session.state(run.run_id) == "running")
    control.pause(session, run.run_id)
    until(lambda: not session.active_runs())
    control.stop(session, run.run_id)
    live = session.live_run(run.run_id)
    assert live is not None
    assert live.status is not None
    assert (session.state(run.run_id), live.status.state) == ("stopped", "stopped")
    (other,) = queue_runs(session)
    session.start_or_resume(other.run_id).result(30)
    control.pause(session, other.run_id)
    control.stop(session, other.run_id)
    assert session.state(other.run_id) == "done"


def test_interrupted_run_reports_its_progress(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, session):
        (run,) = queue_runs(session, SLOW)
        control.start_runs(session, [run])
        until(
            lambda: (
                (live := session.live_run(run.run_id)) is not None and live.status is not None and live.status.calls > 1
            )
        )
        path = session.path
        workspace.close()
    with_again(path, run.run_id)


def with_again(path: Path, run_id: str) -> None:
    workspace = Workspace()
    try:
        session = workspace.open(path)
        now = control.run_overview(session, run_id)
        assert (now.state, now.stop_code) == ("paused", "interrupted")
        last, talking = session.store.transcripts.last_reply(run_id)
        assert last is not None
        assert talking >= 1
        planning.set_pace(session, 0)
        control.resume(session, run_id)
        until(lambda: session.state(run_id) == "done", 30)
        row = session.store.runs.get(run_id)
        assert row is not None
        assert row.calls == 3 * row.documents  # no reply is requested twice
    finally:
        workspace.close()


def test_run_with_a_raised_budget_resumes(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(budget_usd=1.0))
    control.raise_budget(session, run.run_id, 2.5)
    assert session.run(run.run_id).budget_usd == 2.5
    until(lambda: session.state(run.run_id) == "done")


def test_budget_below_the_cost_so_far_is_refused(session: ProjectSession) -> None:
    (run,) = queue_runs(session, planning.Plan(budget_usd=1.0))
    with pytest.raises(UsageError, match="has already cost"):
        control.raise_budget(session, run.run_id, 0.0)


def test_run_with_a_budget_does_not_resume_without_prices(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = queue_runs(session, planning.Plan(budget_usd=1.0))
    monkeypatch.setattr(session.models, "highest_cost", lambda *_: None)
    with pytest.raises(UsageError, match=r"the budget of this run cannot be enforced.*--price builtin/lexical="):
        control.resume(session, run.run_id)
    assert session.state(run.run_id) == "queued"


@pytest.mark.parametrize(
    ("spent", "ended", "documents", "budget", "offer"),
    # 914 of 1,000 documents cost $2.99, so all cost 3.27; a third more is 4.36, which 4.50 (half as much again) covers.
    [(2.99, 914, 1000, 3.0, 4.5), (0.5, 10, 100, 0.5, 7.0), (0.0, 0, 10, 0.01, 0.02)],
)
def test_suggested_budget_depends_on_the_cost_so_far(
    session: ProjectSession, spent: float, ended: int, documents: int, budget: float, offer: float
) -> None:
    (run,) = queue_runs(session)
    row = run.model_copy(update={"cost_usd": spent, "verdicts": ended, "documents": documents, "budget_usd": budget})
    assert control.suggest_budget(session, row) == pytest.approx(offer)
    assert control.suggest_budget(session, row) > budget


def test_suggested_budget_pays_for_a_call(session: ProjectSession) -> None:
    role_model = RoleModel(connection="llamacpp", model="m")
    session.models.prices.user_prices["llamacpp/m"] = Price(prompt=0, completion=40)
    (run,) = queue_runs(session, planning.Plan(protocol="single", default_model=role_model, budget_usd=0.01))
    calls = run.settings.role_models["annotator"].sampling.output_limit * 40 / 1e6
    assert control.suggest_budget(session, run) >= 2 * calls, "a reply that was cut is asked for with twice the limit"
    row = run.model_copy(update={"cost_usd": 0.5})
    assert control.suggest_budget(session, row) >= 0.5 + 2 * calls
    session.models.remove("llamacpp")
    assert control.suggest_budget(session, run) == pytest.approx(0.02), "no price is known"


def test_active_run_has_no_stop_code(session: ProjectSession) -> None:
    (run,) = queue_runs(session)
    run = run.model_copy(update={"stop_code": "budget"})
    states = ("paused", "stopped", "failed", "queued", "running")
    assert {state: control.stop_code(run, state) for state in states} == {
        "paused": "budget",
        "stopped": "budget",
        "failed": "budget",
        "queued": "",
        "running": "",
    }


@pytest.mark.parametrize("engine", ["live", "batch"])
def test_documents_replaced_before_the_run_starts_fail(
    session: ProjectSession, engine: Literal["live", "batch"]
) -> None:
    (run,) = queue_runs(session, planning.Plan(engine=EngineSettings(name=engine)))
    session.store.documents.replace_all([Document("d0", {"text": TEXTS[0]})])
    status = session.start_or_resume(run.run_id).result(60)
    assert (status.state, status.documents, status.verdicts, status.failed) == ("done", 4, 1, 3)
    causes = session.store.transcripts.causes(run.run_id, "failed")
    assert causes == [("the document is no longer in the project", 3)]
    page = session.finished(run.run_id, query="", status="failed", offset=0, limit=9)
    assert {row.document_id for row in page.rows} == {"d1", "d2", "d3"}
    replay = session.replay(run.run_id, "d1")
    assert replay is not None
    assert replay.verdict is not None
    assert replay.verdict.verdict.status == "failed"


def test_rename_is_stored_and_can_be_undone(session: ProjectSession, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = queue_runs(session)
    monkeypatch.delattr(ProjectSession, "stop")  # it waits for other runs that are started or stopped
    changed = run.details.model_copy(update={"name": "Baseline", "tags": ("paper",), "pinned": True})
    act = control.change_details(session, {run.run_id: changed})
    assert session.store.runs.require(run.run_id).details == changed
    undo = control.undo_details(session, act)
    assert session.store.runs.require(run.run_id).details == run.details
    control.undo_details(session, undo)
    assert session.store.runs.require(run.run_id).details == changed, "the undo is undone"


def test_several_runs_are_deleted_and_restored_together(session: ProjectSession) -> None:
    first, second = (queue_runs(session)[0] for _ in range(2))
    deleted = {run.run_id: run.details.model_copy(update={"status": "deleted"}) for run in (first, second)}
    act = control.change_details(session, deleted)
    assert session.store.runs.all() == []
    assert session.store.runs.latest_id() is None
    assert session.store.runs.get(first.run_id) is not None, "a deleted run stays in the store"
    control.undo_details(session, act)
    assert [run.run_id for run in session.store.runs.all()] == [first.run_id, second.run_id]


def test_undo_keeps_later_changes(session: ProjectSession) -> None:
    first, second = (queue_runs(session)[0] for _ in range(2))
    deletion = control.change_details(session, {first.run_id: first.details.model_copy(update={"status": "deleted"})})
    note = control.change_details(session, {second.run_id: second.details.model_copy(update={"note": "good"})})
    control.undo_details(session, deletion)
    assert [run.details.note for run in session.store.runs.all()] == ["", "good"]
    control.change_details(session, {second.run_id: second.details.model_copy(update={"note": "better"})})
    with pytest.raises(UsageError, match="were changed again"):
        control.undo_details(session, note)
    assert session.store.runs.require(second.run_id).details.note == "better"


@pytest.mark.parametrize("state", ["running", "queued"])
def test_active_run_cannot_be_deleted(session: ProjectSession, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    (run,) = queue_runs(session)
    monkeypatch.setattr(type(session), "active_runs", lambda _: (run.run_id,))
    monkeypatch.setattr(type(session), "state", lambda *_: state)
    with pytest.raises(UsageError, match=f"'{run.title}' is {state}"):
        control.change_details(session, {run.run_id: RunDetails(status="deleted")})


@pytest.mark.parametrize(("engine", "state"), [("batch", "stopped"), ("live", "paused")])
def test_deleted_batch_run_is_stopped_so_that_its_batches_are_cancelled(
    session: ProjectSession, engine: EngineName, state: str
) -> None:
    run = queue_runs(session, planning.Plan(engine=EngineSettings(name=engine)))[0]
    asyncio.run(session.project.sink.state(run.run_id, "paused"))
    act = control.change_details(session, {run.run_id: RunDetails(status="deleted")})
    control.undo_details(session, act)
    assert session.run(run.run_id).state == state
