"""Tests of runs: counts, remaining work, resuming after a crash, retrying."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest

from core.debate.turns import ReplyError, Usage
from core.documents import Document
from core.errors import NoSuchRun, ProjectError, UsageError
from core.runs import RunDetails, StopReason
from core.store.project import Project
from tests.core.store.helpers import (
    flush,
    make_codebook,
    make_documents,
    make_reply,
    make_settings,
    make_turn,
    make_verdict,
    run_values,
    store_debate,
)
from tests.each_row import each_row

SETTINGS = make_settings(make_codebook(2), seed=7, params={"rounds": 2})
A, B = (label.id for label in SETTINGS.codebook.labels)
GOOD = {A: True, B: False}
OPEN = {A: True, B: None}


@pytest.fixture
def run_id(project):
    project.store.documents.add(make_documents(4))
    return project.store.runs.create(SETTINGS, project.store.documents.ids()).run_id


def debate(project, run_id, document_id, values=GOOD, **options):
    asyncio.run(store_debate(project, run_id, document_id, {"extractor": GOOD, "judge": None}, values, **options))


def test_new_run_is_queued_with_its_documents_in_order(project):
    runs = project.store.runs
    first = runs.create(SETTINGS, ["b", "a", "b"], rejected=3)
    second = runs.create(SETTINGS, ["a"], experiment_id=first.experiment_id)
    assert (first.run_id, second.run_id) == ("r0001", "r0002")
    assert (first.experiment_id, second.experiment_id) == ("r0001", "r0001")
    assert (first.state, first.documents, first.rejected) == ("queued", 2, 3)
    assert (first.turns, first.calls, first.cost_usd, first.seconds) == (0, 0, 0.0, 0.0)
    assert first.settings == SETTINGS
    assert abs(first.created_at - time.time()) < 60
    assert runs.document_ids("r0001") == ["b", "a"]
    assert runs.work("r0001").todo == ("b", "a")
    assert [run.run_id for run in runs.all()] == ["r0001", "r0002"]
    assert (runs.get("r9"), runs.document_ids("r9")) == (None, [])


def test_settings_of_a_run_are_parsed_once(project, run_id):
    runs = project.store.runs
    settings = runs.require(run_id).settings
    debate(project, run_id, "d0")
    assert runs.require(run_id).verdicts == 1
    assert runs.require(run_id).settings is runs.all()[0].settings is runs.settings(run_id) is settings


def test_run_as_it_was_last_read_is_not_counted_again(project, run_id):
    runs = project.store.runs
    debate(project, run_id, "d0")
    assert runs.get(run_id).verdicts == 1
    debate(project, run_id, "d1")
    assert (runs.last_read(run_id).verdicts, runs.last_read(run_id).settings) == (1, SETTINGS)
    assert (runs.get(run_id).verdicts, runs.last_read(run_id).verdicts) == (2, 2)
    with pytest.raises(NoSuchRun):
        runs.last_read("r9")


def test_run_without_documents_or_with_unknown_name_is_rejected(project):
    with pytest.raises(UsageError, match="at least one document"):
        project.store.runs.create(SETTINGS, [])
    with pytest.raises(UsageError, match="Run 'r7' does not exist"):
        project.store.runs.work("r7")


def test_calls_with_an_estimated_cost_are_counted(project, run_id):
    usage = Usage(10, 5, estimated=True)
    guessed, free = make_reply("k0", cost=0.5, run_id=run_id), make_reply("k1", cost=0.0, run_id=run_id)
    for reply in (replace(guessed, usage=usage), replace(free, usage=usage), make_reply("k2", run_id=run_id)):
        asyncio.run(project.replies.commit(reply))
    flush(project)
    assert project.store.runs.get(run_id).estimated_calls == 1


def test_counts_separate_paid_calls_from_cached_calls(project, run_id):
    async def turns():
        for number, (cached, cost) in enumerate([(False, 0.5), (False, 0.25), (True, 9.0)]):
            await project.replies.commit(make_reply(f"k{number}", cost=cost, run_id="r9" if cached else run_id))
            project.sink.turn(make_turn(run_id, "d0", number, "extractor", f"k{number}", cached=cached))
        await project.sink.verdict(make_verdict(run_id, "d0", GOOD))
        await project.sink.verdict(make_verdict(run_id, "d1", OPEN))
        await project.sink.verdict(make_verdict(run_id, "d2", OPEN, error=ReplyError("stalled", "silence")))

    asyncio.run(turns())
    flush(project)
    run = project.store.runs.get(run_id)
    assert (run.documents, run.verdicts, run.unresolved, run.failed) == (4, 1, 1, 1)
    assert (run.turns, run.calls, run.cached_calls) == (3, 2, 1)
    assert (run.prompt_tokens, run.completion_tokens, run.cost_usd) == (20, 10, 0.75)
    work = project.store.runs.work(run_id)
    assert (work.todo, work.run, work.retry_rounds) == (("d3",), run, {})
    assert project.store.runs.all() == [run]


def test_reply_used_by_several_turns_is_counted_once(project, run_id):
    """The process died after the run had paid for a reply, and before its turn was written."""

    def turn(document_id, key):
        return project.sink.turn(make_turn(run_id, document_id, 0, "extractor", key, cached=True))

    async def begin():
        await project.replies.commit(make_reply("earlier", run_id="r9"))
        await project.replies.commit(make_reply("k", cost=0.5, run_id=run_id))
        assert turn("d0", "earlier")

    async def resume():
        await project.sink.state(run_id, "running")
        replayed = [turn(*turn_keys) for turn_keys in [("d0", "earlier"), ("d1", "k"), ("d2", "k")]]
        assert replayed == [False, False, True], "True for new turns that reuse a reply"

    asyncio.run(begin())
    flush(project)
    run = project.store.runs.get(run_id)
    assert (run.turns, run.calls, run.cached_calls) == (1, 1, 1)
    asyncio.run(resume())
    flush(project)
    run = project.store.runs.get(run_id)
    assert (run.turns, run.calls, run.cached_calls, run.cost_usd) == (3, 1, 2, 0.5)


def test_replayed_turn_of_a_repeated_debate_is_not_counted_again(project, run_id):
    async def turn():
        await project.sink.state(run_id, "running")
        return project.sink.turn(make_turn(run_id, "d0", 0, "extractor", "k", cached=True))

    asyncio.run(project.replies.commit(make_reply("k", run_id="r9")))
    assert asyncio.run(turn())
    asyncio.run(project.sink.verdict(make_verdict(run_id, "d0", OPEN)))
    flush(project)
    project.store.runs.work(run_id, retry_unresolved=True)
    assert not asyncio.run(turn())
    flush(project)
    assert project.store.runs.get(run_id).cached_calls == 1


@pytest.mark.parametrize(("cached", "cost"), [(False, None), (True, 0.0)])
def test_cost_is_unknown_if_a_paid_reply_has_no_price(project, run_id, cached, cost):
    async def turn():
        await project.replies.commit(make_reply("k", cost=None, run_id="r9" if cached else run_id))
        project.sink.turn(make_turn(run_id, "d0", 0, "extractor", "k", cached=cached))

    asyncio.run(turn())
    flush(project)
    assert project.store.runs.get(run_id).cost_usd == cost


def test_state_stores_reason_message_and_time(project, run_id):
    async def states():
        await project.sink.state(run_id, "running")
        await project.sink.state(run_id, "paused", StopReason("user", "by you"), 2.5)

    asyncio.run(states())
    run = project.store.runs.get(run_id)
    assert (run.state, run.stop_code, run.message, run.seconds, run.finished_at) == (
        "paused",
        "user",
        "by you",
        2.5,
        None,
    )
    asyncio.run(project.sink.state(run_id, "done", seconds=1.5))
    run = project.store.runs.get(run_id)
    assert (run.state, run.stop_code, run.message, run.seconds) == ("done", "", "", 4.0)
    assert run.finished_at >= run.created_at


def test_active_run_is_paused_after_its_process_died(path):
    with Project(path) as project:
        for _ in range(3):
            project.store.runs.create(SETTINGS, ["a"])
        asyncio.run(project.sink.state("r0002", "running"))
        asyncio.run(project.sink.state("r0003", "done"))
    with Project(path) as project:
        assert [(run.state, run.message) for run in project.store.runs.all()] == [
            ("paused", "interrupted"),
            ("paused", "interrupted"),
            ("done", ""),
        ]


def test_resumed_run_skips_finished_documents(project, run_id):
    debate(project, run_id, "d0")
    debate(project, run_id, "d1", OPEN)
    debate(project, run_id, "d2", OPEN, error=ReplyError("stalled", "silence"))
    before = project.store.runs.get(run_id)
    debate(project, run_id, "d0", OPEN)
    assert project.store.runs.get(run_id) == before
    assert project.store.transcripts.verdict(run_id, "d0").verdict.status == "verdict"
    assert len(run_values(project, run_id)) == 2 + 2 * 1 + 3 * 2
    assert project.store.runs.work(run_id).todo == ("d3",)


def superseded(project, document_id):
    """Return of each stored turn on a document whether the document was debated again later."""
    return project._connection.column(
        "SELECT superseded FROM turns WHERE document_id = ? ORDER BY superseded", [document_id]
    )


def test_retrying_unresolved_documents_keeps_the_earlier_turns(project, run_id):
    for document_id, values in (("d0", GOOD), ("d1", OPEN), ("d2", OPEN)):
        debate(project, run_id, document_id, values)
    debate(project, run_id, "d3", OPEN, error=ReplyError("stalled", "silence"))
    work = project.store.runs.work(run_id, retry_unresolved=True)
    assert (work.todo, work.retry_rounds, work.run.calls) == (("d1", "d2"), {"d1": 1, "d2": 1}, 8)
    assert (work.run.verdicts, work.run.unresolved, work.run.failed) == (1, 0, 1)
    assert project.store.transcripts.of(run_id, ["d1"]) == []
    assert superseded(project, "d1") == [True, True]
    assert project.store.runs.work(run_id).retry_rounds == {"d1": 1, "d2": 1}

    debate(project, run_id, "d1", GOOD, retry=1)
    run = project.store.runs.get(run_id)
    assert (run.verdicts, run.unresolved, run.turns, run.calls, run.cost_usd) == (2, 0, 10, 10, 5.0)
    assert [turn.reply.key[-1] for turn in project.store.transcripts.of(run_id, ["d1"])] == ["1", "1"]
    assert superseded(project, "d1") == [False, False, True, True]
    # The first retry left no unresolved document, so the number of retries does not rise.
    assert project.store.runs.work(run_id, retry_unresolved=True).retry_rounds == {"d2": 1}


def test_documents_whose_replies_were_all_read_are_not_retried(project, run_id):
    tie = store_debate(project, run_id, "d0", {"extractor": GOOD, "judge": GOOD}, OPEN)
    asyncio.run(tie)
    debate(project, run_id, "d1", OPEN)
    assert project.store.runs.retryable(run_id) == {"failed": 0, "unresolved": 1}
    assert project.store.runs.work(run_id, retry_unresolved=True).todo == ("d1", "d2", "d3")


def test_documents_added_after_a_retry_were_not_retried(project, run_id):
    debate(project, run_id, "d0", OPEN)
    project.store.runs.work(run_id, retry_unresolved=True)
    project.store.runs.extend(run_id, ["later"])
    work = project.store.runs.work(run_id)
    assert (work.todo[-1], work.retry_rounds) == ("later", {"d0": 1})


def test_failed_retry_restores_the_verdict_with_its_turns_and_annotations(project, run_id):
    debate(project, run_id, "d0", OPEN)
    debate(project, run_id, "d1", OPEN)
    values = run_values(project, run_id)
    transcript = project.store.transcripts.of(run_id, ["d0"])
    bases = {project.store.annotations.basis()}
    for retry in (1, 2):
        assert project.store.runs.work(run_id, retry_unresolved=True).todo == ("d0", "d1", "d2", "d3")
        for document_id in ("d0", "d1"):
            debate(project, run_id, document_id, OPEN, error=ReplyError("stalled", "silence"), retry=retry)
        assert sorted(run_values(project, run_id)) == sorted(values)
        assert project.store.transcripts.of(run_id, ["d0"]) == transcript
        bases.add(project.store.annotations.basis())
    assert len(bases) == 3, "scores are not those of an earlier state"
    verdict = project.store.transcripts.verdict(run_id, "d0").verdict
    assert (verdict.status, verdict.values, verdict.reasons) == ("unresolved", OPEN, {B: "The retry failed: silence"})
    run = project.store.runs.get(run_id)
    assert (run.unresolved, run.failed) == (2, 0)


def half_retried(project, run_id):
    """Debate two documents without a decision, and retry them until the first one has a decision."""
    for document_id in ("d0", "d1"):
        debate(project, run_id, document_id, OPEN)
    before = run_values(project, run_id), project.store.transcripts.of(run_id, ["d1"])
    project.store.runs.work(run_id, retry_unresolved=True)
    debate(project, run_id, "d0", GOOD, retry=1)

    async def begin():
        await project.replies.commit(make_reply("begun", run_id=run_id))
        project.sink.turn(make_turn(run_id, "d1", 0, "extractor", "begun", values=GOOD))

    asyncio.run(begin())
    return before


@pytest.mark.parametrize("state", ["paused", "stopped", "failed"])
def test_verdicts_before_a_paused_retry_are_restored_until_it_continues(project, run_id, state):
    values, transcript = half_retried(project, run_id)
    (restored,) = asyncio.run(project.sink.state(run_id, state))
    assert (restored.document_id, restored.verdict.values) == ("d1", OPEN)
    of_d1 = [row for row in values if row[0] == "d1"]
    assert sorted(row for row in run_values(project, run_id) if row[0] == "d1") == sorted(of_d1)
    assert project.store.transcripts.of(run_id, ["d1"]) == transcript
    run = project.store.runs.get(run_id)
    assert (run.state, run.verdicts, run.unresolved) == (state, 1, 1)
    assert project.store.runs.paused_retries(run_id) == 1

    basis = project.store.annotations.basis()
    work = project.store.runs.work(run_id)
    assert (work.todo, work.retry_rounds, work.run.unresolved) == (("d1", "d2", "d3"), {"d1": 1}, 0)
    assert project.store.runs.paused_retries(run_id) == 0
    debate(project, run_id, "d1", GOOD, retry=1)
    assert project.store.runs.get(run_id).verdicts == 2
    assert asyncio.run(project.sink.state(run_id, state)) == []
    assert project.store.annotations.basis() != basis


def test_replaced_document_keeps_the_verdict_before_a_paused_retry(project, run_id):
    half_retried(project, run_id)
    asyncio.run(project.sink.state(run_id, "paused"))
    project.store.documents.replace_all([Document("z", {"text": "another"})])
    assert project.store.runs.paused_retries(run_id) == 0
    project.store.runs.work(run_id)
    assert project.store.runs.get(run_id).unresolved == 1


def test_verdicts_before_a_retry_are_restored_after_a_crash(project, run_id):
    values, _ = half_retried(project, run_id)
    flush(project)
    project.close()
    with Project(project.path) as again:
        of_d1 = [row for row in values if row[0] == "d1"]
        assert sorted(row for row in run_values(again, run_id) if row[0] == "d1") == sorted(of_d1)
        assert again.store.runs.get(run_id).unresolved == 1
        assert again.store.runs.work(run_id).todo == ("d1", "d2", "d3")


def test_replaced_documents_keep_their_verdicts_in_a_retry(project, run_id):
    for document_id, error in (("d0", None), ("d1", ReplyError("stalled", "silence"))):
        debate(project, run_id, document_id, OPEN, error=error)
    for document_id in ("d2", "d3"):
        debate(project, run_id, document_id)
    values = run_values(project, run_id)
    project.store.documents.replace_all([Document("z", {"text": "another"})])
    assert project.store.runs.retryable(run_id) == {"failed": 0, "unresolved": 0}
    work = project.store.runs.work(run_id, retry_unresolved=True, retry_failed=True)
    assert (work.todo, work.run.unresolved, work.run.failed) == ((), 1, 1)
    assert run_values(project, run_id) == values


def test_done_run_is_paused_while_its_documents_wait_to_be_retried(project, run_id):
    for document_id in ("d0", "d1", "d2", "d3"):
        debate(project, run_id, document_id, OPEN if document_id == "d3" else GOOD)
    asyncio.run(project.sink.state(run_id, "done"))
    project.store.runs.work(run_id, retry_failed=True)
    assert project.store.runs.get(run_id).state == "done", "no document failed"
    project.store.runs.work(run_id, retry_unresolved=True)
    run = project.store.runs.get(run_id)
    assert (run.state, run.stop_code, run.finished_at) == ("paused", "user", None)


def test_retrying_failed_documents_reuses_their_paid_turns(project, run_id):
    for document_id in ("d0", "d1", "d2"):
        debate(project, run_id, document_id)
    debate(project, run_id, "d3", OPEN, error=ReplyError("stalled", "silence"))
    assert project.store.runs.work(run_id, retry_unresolved=True).todo == ()
    work = project.store.runs.work(run_id, retry_failed=True)
    assert (work.todo, work.retry_rounds, work.run.failed) == (("d3",), {}, 0)
    debate(project, run_id, "d3")
    run = project.store.runs.get(run_id)
    assert (run.verdicts, run.failed, run.turns, run.calls, run.cached_calls) == (4, 0, 8, 8, 0)
    assert superseded(project, "d3") == [False, False]
    record = project.store.document_records.load(run_id, ["d3"])[0]
    assert record.roles == {"extractor": GOOD}
    assert record.values == GOOD


def test_unfinished_debate_starts_over_when_unresolved_are_retried(project, run_id):
    async def unfinished_debate():
        await project.replies.commit(make_reply("old"))
        project.sink.turn(make_turn(run_id, "d3", 0, "extractor", "old", values={A: True}))

    asyncio.run(unfinished_debate())
    debate(project, run_id, "d0", OPEN)
    assert project.store.runs.work(run_id, retry_unresolved=True).todo == ("d0", "d1", "d2", "d3")
    debate(project, run_id, "d3", retry=1)
    assert [turn.reply.key for turn in project.store.transcripts.of(run_id, ["d3"])] == [
        f"{run_id}/d3/extractor/1",
        f"{run_id}/d3/judge/1",
    ]


def test_concurrent_changes_record_what_they_replaced(project, run_id):
    changes = [
        *(partial(project.store.runs.raise_budget, run_id, float(budget)) for budget in range(1, 30)),
        *(partial(project.store.runs.describe, {run_id: RunDetails(note=str(note))}) for note in range(1, 30)),
    ]
    with ThreadPoolExecutor(8) as threads:
        for change in [threads.submit(change) for change in changes]:
            change.result()
    for kind in ("budget", "run"):
        events = project.store.events.all(kinds=[kind])[::-1]
        assert [event.before for event in events[1:]] == [event.after for event in events[:-1]]


def test_raised_budget_applies_from_the_next_start(project, run_id):
    assert project.store.runs.work(run_id).run.settings.budget_usd is None
    project.store.runs.raise_budget(run_id, 2.0)
    project.store.runs.raise_budget(run_id, 3.5)
    run = project.store.runs.require(run_id)
    assert (run.budget_usd, run.settings.budget_usd) == (3.5, None)
    assert project.store.runs.work(run_id).run.settings.budget_usd == 3.5
    assert [(event.before, event.after) for event in project.store.events.all(kinds=["budget"])] == [
        (2.0, 3.5),
        (None, 2.0),
    ]
    assert project.store.runs.latest_id() == run_id


@each_row(
    "change",
    [
        """UPDATE runs SET settings = '{"a": 1}'""",
        """INSERT INTO events (seq, act, unix_time, actor, kind, after, run_id, payload)
        VALUES (9, 9, 0, '', 'run', '{"pinned": 7}', 'r0001', '{}')""",
        "UPDATE runs SET settings = repeat('[', 5000)",
        "UPDATE codebook_versions SET body = '7'",
    ],
)
def test_project_whose_runs_or_codebook_cannot_be_read_is_not_opened(change: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign.duckdb"
    with Project(path) as project:
        project.store.documents.add(make_documents(1))
        project.store.codebooks.save(SETTINGS.codebook)
        project.store.runs.create(SETTINGS, project.store.documents.ids())
    with duckdb.connect(str(path)) as foreign:
        foreign.execute(change)
    with pytest.raises(ProjectError, match=r"changed by another program: .* cannot be read"):
        Project(path)
    path.rename(tmp_path / "closed.duckdb")
