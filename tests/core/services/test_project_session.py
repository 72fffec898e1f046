"""Tests of an open project: documents, stored turns, finished debates, and the status of a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from core.debate.events import Event, TurnDone, VerdictReached
from core.debate.turns import Reply, Turn
from core.engine.base_engine import Engine
from core.engine.interfaces import BatchJob, Publish, Work
from core.errors import ProjectError, WorkStopped
from core.runs import EngineSettings, RoleModel, RunDetails
from core.services import project_session
from core.services.live_state import ClientCursor, status_of
from core.services.project_session import KEPT_LIVE_RUNS, PAUSED, ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace
from tests.core.services.sessions import BOOK, annotate, pause_with_open_batch, queue_runs, studio, until
from tests.each_row import each_row
from tests.servers.running import batch_server, configure, stats


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProjectSession, str, list[Event]]]:
    """Return the session and id of a finished run with its published events."""
    with studio(tmp_path_factory.mktemp("watch")) as (_, session):
        events: list[Event] = []
        session.listen(events.append)
        (run,) = queue_runs(session)
        session.start_or_resume(run.run_id).result(30)
        yield session, run.run_id, events


def test_document_shows_its_source(recorded_run: tuple[ProjectSession, str, list[Event]]) -> None:
    session, _, _ = recorded_run
    result = session.document("d1")
    assert result is not None
    assert (result.id, dict(result.fields)) == ("d1", {"text": "Friendly staff, dirty bath."})
    assert result.note == "reviews.csv, no. 2"
    assert session.document("nobody") is None


def test_stored_turns_equal_the_published_turns(recorded_run: tuple[ProjectSession, str, list[Event]]) -> None:
    session, run_id, events = recorded_run
    replay = session.replay(run_id, "d1")
    assert replay is not None
    done = (event.turn for event in events if isinstance(event, TurnDone))
    live = sorted((turn for turn in done if turn.document_id == "d1"), key=lambda turn: turn.turn)
    assert [turn.role for turn in replay.turns] == ["extractor", "critic", "judge"]
    for stored, published in zip(replay.turns, live, strict=True):
        assert stored == published
    assert replay.verdict == next(e for e in events if isinstance(e, VerdictReached) and e.document_id == "d1")
    assert session.replay(run_id, "nobody") is None


def test_finished_debates_come_newest_first_in_pages(recorded_run: tuple[ProjectSession, str, list[Event]]) -> None:
    session, run_id, _ = recorded_run
    page = session.finished(run_id, query="", status="", offset=0, limit=3)
    rest = session.finished(run_id, query="", status="", offset=3, limit=3)
    assert (page.total, len(page.rows), rest.total, len(rest.rows)) == (4, 3, 4, 1)
    assert {row.document_id for row in (*page.rows, *rest.rows)} == {"d0", "d1", "d2", "d3"}
    service = BOOK.labels[1].id
    result = session.finished(run_id, query="FRIENDLY", status="verdict", offset=0, limit=9)
    assert [(row.document_id, row.values[service], row.text_start) for row in result.rows] == [
        ("d1", True, "Friendly staff, dirty bath.")
    ]
    assert session.finished(run_id, query="", status="failed", offset=0, limit=9).total == 0
    assert session.finished(run_id, query="' OR 1=1 --", status="", offset=0, limit=9).total == 0


def test_latest_run_and_its_save_time_are_reported(recorded_run: tuple[ProjectSession, str, list[Event]]) -> None:
    session, run_id, _ = recorded_run
    assert session.latest_run() == run_id
    assert session.run_name(run_id) == session.run(run_id).title == "ECJ, word-list baseline"
    session.store.runs.describe({run_id: RunDetails()})
    assert session.run_name(run_id) == session.run(run_id).title == f"Run {run_id}"
    assert session.saved_at() is not None


def test_stored_status_equals_the_last_published_status(
    recorded_run: tuple[ProjectSession, str, list[Event]],
) -> None:
    session, run_id, _ = recorded_run
    row = session.store.runs.get(run_id)
    live = session.live_run(run_id)
    assert row is not None
    assert live is not None
    assert live.status is not None
    stored = status_of(row)
    for name in ("state", "documents", "verdicts", "unresolved", "failed", "calls", "cached_calls", "cost_usd"):
        assert getattr(stored, name) == getattr(live.status, name), name


def test_browser_gets_no_settings_with_a_status(recorded_run: tuple[ProjectSession, str, list[Event]]) -> None:
    session, run_id, _ = recorded_run
    live = session.live_run(run_id)
    assert live is not None
    sent = next(event for event in live.snapshot(ClientCursor()) if event["kind"] == "run_status")
    assert {"state": "done", "failed": 0, "in_flight": 0}.items() <= sent.items()
    assert not {"settings", "details"} & sent.keys()


def test_paused_run_shows_its_open_debates_after_a_restart(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session)
        turn = Turn(
            run.run_id, "d1", 0, "extractor", run.settings.role_models["extractor"], reply=Reply("Clean.", key="k1")
        )
        asyncio.run(session.project.replies.commit(turn.reply))
        session.project.sink.turn(turn)
        asyncio.run(session.project.sink.state(run.run_id, "paused", PAUSED))
        live_run = session.live_run(run.run_id)
        assert live_run is not None
        tiles = [event for event in live_run.snapshot(ClientCursor()) if event["kind"] == "tile"]
        assert [(tile["document_id"], tile["tail"], tile["waiting"]) for tile in tiles] == [("d1", "Clean.", "paused")]


def test_failed_copy_of_a_project_can_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    obstacle = tmp_path / "home" / "hotel-recovered.duckdb"
    obstacle.parent.mkdir()
    obstacle.symlink_to(tmp_path / "missing" / "file")
    with studio(tmp_path) as (workspace, session):
        with pytest.raises(ProjectError, match="No copy"):
            workspace.rescue(session)
        obstacle.unlink()
        copy = workspace.rescue(session)
        assert copy.path == obstacle
        assert workspace.models.classifiers == [copy.trainer.find]


def test_project_is_closed_after_a_failed_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hotel-recovered.duckdb").symlink_to(tmp_path / "missing" / "file")
    with studio(tmp_path) as (workspace, session):
        with pytest.raises(ProjectError, match="No copy"):
            workspace.rescue(session)
        workspace.close_project(session.path)
        assert workspace.sessions() == ()


def test_project_without_runs_has_no_latest_run(tmp_path: Path) -> None:
    with studio(tmp_path, documents=1) as (_, session):
        assert session.latest_run() is None
        assert session.live_run("r0001") is None
        assert session.finished("r0001", query="", status="", offset=0, limit=9).total == 0


def test_pages_do_not_wait_for_the_start_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session, planning.Plan(pace=120.0, concurrency=1))
        make_engine, reached, released = session._make_engine, threading.Event(), threading.Event()

        def make_slowly(work: Work, publish: Publish) -> Engine:
            reached.set()
            assert released.wait(30)
            return make_engine(work, publish)

        monkeypatch.setattr(session, "_make_engine", make_slowly)
        start = threading.Thread(target=session.start_or_resume, args=(run.run_id,))
        start.start()
        assert reached.wait(30)
        looking = threading.Thread(target=session.active_runs, daemon=True)
        looking.start()
        looking.join(5)
        waited = looking.is_alive()
        stop = threading.Thread(target=session.stop, args=(run.run_id,))
        stop.start()
        released.set()
        for thread in (start, stop, looking):
            thread.join(30)
        until(lambda: not session.active_runs())
        assert not waited
        assert session.state(run.run_id) == "stopped", "a run can be stopped while it is started"


def test_resuming_a_finished_run_reports_it_and_leaves_it_unchanged(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session)
        first = session.start_or_resume(run.run_id).result(30)
        before, events = session.run(run.run_id), list[Event]()
        session.listen(events.append)
        again = session.start_or_resume(run.run_id, retry_failed=True).result(30)
        assert session.run(run.run_id) == before
        assert (again.state, again.seconds, events) == ("done", before.seconds, [again])
        assert again.verdicts == first.verdicts


def test_ended_runs_are_released_from_memory(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        runs = queue_runs(session, planning.Plan(protocol="single", iterations=KEPT_LIVE_RUNS + 1))
        trial = session.store.runs.create(runs[0].settings, session.store.documents.ids(), purpose="lab")
        ids = [row.run_id for row in (*runs, trial)]
        futures = [session.start_or_resume(run_id) for run_id in ids]
        for future in futures:
            assert future.result(60).state == "done"
        assert session._engines == {}
        assert list(session._live_runs) == ids[1:-1]
        assert [session.state(run_id) for run_id in ids] == ["done"] * len(ids)
        assert all(session.live_run(run_id) is not None for run_id in ids)


def test_workspace_creates_shared_state_once(workspace: Workspace) -> None:
    created: list[object] = []

    class Counted:
        def __init__(self) -> None:
            created.append(self)

    assert workspace.shared(Counted) is workspace.shared(Counted)
    assert len(created) == 1


@each_row(("seconds", "paid"), [(0.3, 2), (30.0, 0)])
def test_closing_waits_some_seconds_for_calls_in_flight(tmp_path: Path, seconds: float, paid: int) -> None:
    calls = []

    async def ask(*_: object) -> Reply:
        calls.append(1)
        await asyncio.sleep(seconds)
        return Reply("Cleanliness")

    (tmp_path / str(paid)).mkdir()
    with studio(tmp_path / str(paid)) as (workspace, session), pytest.MonkeyPatch.context() as patch:
        patch.setattr(project_session, "CLOSING_SECONDS", 5.0 if paid else 0.1)
        patch.setattr(workspace.models, "ask", ask)
        workspace.use_connection("mine", "http://127.0.0.1:9/v1")
        model = RoleModel(connection="mine", model="m")
        (run,) = queue_runs(session, planning.Plan(protocol="single", default_model=model, concurrency=2))
        session.start_or_resume(run.run_id)
        until(lambda: len(calls) == 2)
        workspace.close_project(session.path)
        stored = workspace.open(session.path).run(run.run_id)
        assert (stored.state, stored.stop_code, stored.calls) == ("paused", "interrupted", paid)


def test_closing_stops_the_jobs_of_the_pages(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, session):
        session.start_job("a model works", lambda _: session.engine.submit(asyncio.sleep(60)), "Waiting")
        assert session.activity == "a model works"
        session.start_job("a model works", lambda _: pytest.fail("the job is started twice"), "Waiting")
        workspace.close_project(session.path)
        assert session.activity == ""
        with pytest.raises(WorkStopped):
            session.jobs["a model works"].result()


def test_closing_ignores_a_cancelled_run(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, session):
        (run,) = queue_runs(session, planning.Plan(pace=1.0, concurrency=1))
        future = session.start_or_resume(run.run_id)
        until(lambda: session.state(run.run_id) == "running")
        future.cancel()
        workspace.close_project(session.path)
        assert workspace.open(session.path).state(run.run_id) == "paused"


def test_run_that_left_the_queue_while_it_was_waited_for_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio(tmp_path) as (_, session):
        (run,) = queue_runs(session)
        session._futures[run.run_id] = unqueued = Future()
        unqueued.cancel()
        monkeypatch.setattr(session, "pending_state", lambda _run_id: "paused")
        assert session.start_or_resume(run.run_id).result(30).state == "done"


def test_stopping_a_paused_batch_run_cancels_its_batches(tmp_path: Path) -> None:
    with batch_server() as server, studio(tmp_path) as (workspace, session):
        configure(server, hold=True)
        workspace.use_connection("mine", f"{server}/v1")
        run = pause_with_open_batch(session, server)
        assert stats(server)["statuses"] == ["in_progress"], "its replies are collected when the run resumes"
        session.stop(run.run_id)
        assert (session.state(run.run_id), stats(server)["statuses"]) == ("stopped", ["cancelled"])


def test_stopping_says_that_an_unreachable_server_may_bill_a_batch(tmp_path: Path) -> None:
    with studio(tmp_path) as (workspace, session):
        with batch_server() as server:
            configure(server, hold=True)
            workspace.use_connection("mine", f"{server}/v1")
            run = pause_with_open_batch(session, server)
        session.stop(run.run_id)
        row = session.run(run.run_id)
        assert (row.state, row.stop_code) == ("stopped", "errors")
        assert "1 batch at mine could not be cancelled." in row.message
        live_run = session.live_run(run.run_id)
        assert live_run is not None
        assert live_run.status is not None
        assert live_run.status.message == row.message


def test_batches_of_several_runs_are_cancelled_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.engine.batch_engine.CANCELLING_SECONDS", 0.5)
    all_begun = asyncio.Barrier(4)
    cancelled: list[str] = []

    async def cancel(_server: object, remote: str) -> None:
        await all_begun.wait()
        cancelled.append(remote)

    monkeypatch.setattr("core.llm.batch_servers.OpenAIBatches.cancel", cancel)
    with studio(tmp_path) as (workspace, session):
        workspace.use_connection("mine", "http://127.0.0.1:9/v1")
        model = session.models.resolve(RoleModel(connection="mine", model="m"))
        plan = planning.Plan(protocol="single", default_model=model, engine=EngineSettings(name="batch"), iterations=2)
        runs = [run.run_id for run in queue_runs(session, plan)]
        jobs = session.project.jobs
        for name, run_id in zip("abcd", (*runs, *runs), strict=True):
            asyncio.run(jobs.begin(BatchJob(name, run_id, model, (name,))))
            asyncio.run(jobs.submitted(name, f"batch {name}"))
        session.stop(*runs)
        assert [session.state(run_id) for run_id in runs] == ["stopped", "stopped"]
    assert sorted(cancelled) == ["batch a", "batch b", "batch c", "batch d"]


def test_run_goes_on_if_a_listener_fails(tmp_path: Path) -> None:
    with studio(tmp_path) as (_, session):
        session.listen(lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
        assert annotate(session).state == "done"
