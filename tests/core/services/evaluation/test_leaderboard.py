"""Tests of the leaderboard: rank, cost at full price, coverage, listed runs."""

from __future__ import annotations

import asyncio

from core.runs import RunDetails
from core.services.evaluation.evaluation import cost_of_run, evaluate
from core.services.evaluation.leaderboard import leaderboard, leaderboard_references
from core.services.runs import planning
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.services.sessions import studio
from tests.core.store.helpers import make_settings, store_debate


def test_row_has_the_scores_of_the_evaluation(session, run_id):
    (row,) = leaderboard(session)
    report = evaluate(session, row.run, "gold")
    assert row.report == report
    assert row.main == report.scores.main
    assert row.rank_score == report.strict["macro_f1"]
    assert row.configuration["Protocol"] == "ECJ"
    assert row.metric.name == "Macro F1"


def test_runs_are_ranked_by_score_with_pinned_runs_first(session, run_id):
    runs = session.store.runs
    empty = runs.create(make_settings(sample_world.CODEBOOK), ["d0"])
    assert [row.run.run_id for row in leaderboard(session)] == [run_id, empty.run_id]
    runs.describe({empty.run_id: RunDetails(pinned=True)})
    assert [row.run.run_id for row in leaderboard(session)] == [empty.run_id, run_id]
    assert leaderboard(session)[0].main is None


def test_run_is_efficient_among_the_runs_of_the_same_documents(session, project, run_id):
    settings, ids = session.run(run_id).settings, session.store.runs.document_ids(run_id)
    sample = session.store.runs.create(settings, ["d0"]).run_id
    asyncio.run(store_debate(project, sample, "d0", {"judge": both("a")}, both("a")))
    again = session.store.runs.create(settings, ids[::-1]).run_id
    sets = session.store.runs.document_sets()
    assert sets[again] == sets[run_id] != sets[sample]
    rows = {row.run.run_id: row for row in leaderboard(session)}
    assert rows[sample].main.value > rows[run_id].main.value
    assert not rows[run_id].efficient, "the run of the same documents has no score yet"
    assert not rows[sample].efficient, "no other run debated its documents"
    asyncio.run(store_debate(project, again, "d0", {"judge": both("a")}, both("a")))
    rows = {row.run.run_id: row for row in leaderboard(session)}
    assert rows[run_id].efficient, "the better run debated other documents"


def test_run_with_few_verdicts_ranks_by_its_strict_score(session, project, run_id):
    few = session.store.runs.create(session.run(run_id).settings, session.store.runs.document_ids(run_id)).run_id
    asyncio.run(store_debate(project, few, "d0", {"judge": both("a")}, both("a")))
    rows = {row.run.run_id: row for row in leaderboard(session)}
    assert rows[few].main.value > rows[run_id].main.value
    assert list(rows) == [run_id, few]


def test_costs_are_compared_in_one_unit(session, project, run_id, monkeypatch):
    other = session.store.runs.create(session.run(run_id).settings, ["d0"]).run_id
    asyncio.run(store_debate(project, other, "d0", {"judge": both("a")}, both("a")))
    dollars = {run_id: 0.1, other: None}
    monkeypatch.setattr(
        "core.services.evaluation.leaderboard.cost_of_run",
        lambda _, run: {"usd_per_verdict": dollars[run.run_id], "tokens_per_verdict": 9.0},
    )
    assert [row.unit for row in leaderboard(session)] == ["tokens", "tokens"]


def test_archived_runs_are_listed_and_deleted_runs_are_not(session, run_id):
    session.store.runs.describe({run_id: RunDetails(status="archived")})
    assert [row.run.run_id for row in leaderboard(session)] == [run_id]
    session.store.runs.describe({run_id: RunDetails(status="deleted")})
    assert leaderboard(session) == ()


def test_references_of_the_leaderboard_exclude_runs(session, run_id):
    assert leaderboard_references(session)["gold"] > 0
    assert not [name for name in leaderboard_references(session) if name.startswith("run:")]


def test_full_price_includes_cached_replies(tmp_path):
    with studio(tmp_path) as (_, session):
        settings = planning.build_settings(planning.Plan(), make_settings().codebook, 1, session.models)
        one, two = (planning.create_runs(session, settings, ["d0", "d1"])[0].run_id for _ in range(2))
        for run_id in (one, two):
            session.start_or_resume(run_id).result(60)
        first, second = map(session.store.runs.require, (one, two))
        assert (first.calls, second.calls, second.prompt_tokens) == (6, 0, 0)
        assert cost_of_run(session, second)["tokens"] == cost_of_run(session, first)["tokens"] > 0
