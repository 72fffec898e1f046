"""Tests of iterations, comparisons, error analysis and drift on four documents, counted by hand."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from html import unescape

import pytest

from core.codebook import Codebook, Label
from core.debate.turns import ReplyError
from core.documents import Document
from core.errors import UsageError
from core.runs import FIRST_CANARY, RunDetails, StopReason
from core.services.evaluation import (
    alt_test,
    annotation_arrays,
    error_analysis,
    evaluation,
    model_drift,
    repeated_runs,
    run_comparison,
)
from core.services.evaluation import report as html_report
from core.services.evaluation.coverage import Coverage
from core.services.evaluation.report import full_report
from core.services.evaluation.run_comparison import comparison_report
from core.services.review import actions
from core.stats import metrics
from core.stats.intervals import Estimate, wilson
from core.store.reviews import Decision, ReviewChange
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.store.helpers import make_settings, store_debate, store_debates

GOLD = {"d0": "a", "d1": "ab", "d2": "b", "d3": ""}
FIRST = {"d0": "a", "d1": "b", "d2": "ab", "d3": ""}  # errors: false negative A on d1, false positive A on d2
SECOND = {"d0": "a", "d1": "ab", "d2": "ab", "d3": "b"}  # errors: false positives A on d2 and B on d3


@pytest.fixture
def world(project):
    """Return a session and the ids of two iterations of one experiment."""
    texts = {"d0": "the room", "d1": "hidden fee one", "d2": "a bill", "d3": "short"}
    project.store.documents.add(
        Document(id, {"text": texts[id]}, gold={"gold": both(present)}) for id, present in GOLD.items()
    )
    runs = []
    for iteration, verdicts in enumerate((FIRST, SECOND)):
        settings = make_settings(sample_world.CODEBOOK, iteration=iteration)
        run = project.store.runs.create(settings, list(GOLD), experiment_id="e1").run_id

        store_debates(
            store_debate(
                project, run, id, {"extractor": both("ab"), "critic": both(present), "judge": None}, both(present)
            )
            for id, present in verdicts.items()
        )
        runs.append(run)
    session = sample_world.session_on(project)
    session.run_name = lambda id: f"Run {id}"
    session.project = project
    return session, runs


def test_mean_and_stability_over_iterations(world):
    session, (first, _) = world
    result = repeated_runs.repeats(session, session.store.runs.get(first))
    assert result is not None
    # Both iterations have 6 of 8 labels correct. d0 is right twice, d1 and d3 are inconsistent, d2 is wrong twice.
    assert result.measures["accuracy"].mean == 0.75
    assert result.measures["accuracy"].sd == 0
    assert result.stability.counts == {"right": 1, "inconsistent": 2, "wrong": 1, "unresolved": 0}
    report = full_report(session, session.run(first))
    assert report["iterations"]["runs"] == list(result.runs)
    assert report["iterations"]["labels"]["Alpha"]["n"] == 2
    assert report["calibration"]["why_not"].startswith("No certainty is available")


@pytest.mark.parametrize(("sizes", "reason"), [((20, 10), "incomplete"), ((10, 20), "waiting")])
def test_stopped_iteration_does_not_seem_to_vary(project, sizes, reason):
    # Both iterations answer alike: right on the first ten documents, wrong on the others, which one of them lacks.
    ids = [f"d{n:02}" for n in range(20)]
    project.store.documents.add(Document(id, {"text": id}, gold={"gold": both("ab")}) for id in ids)
    runs = []
    for iteration, size in enumerate(sizes):
        settings = make_settings(sample_world.CODEBOOK, iteration=iteration)
        run = project.store.runs.create(settings, ids, experiment_id="e1").run_id
        store_debates(
            store_debate(project, run, id, {"judge": None}, both("ab" if id in ids[:10] else "")) for id in ids[:size]
        )
        runs.append(run)
    session = sample_world.session_on(project)
    result = repeated_runs.repeats(session, session.store.runs.get(runs[0]))
    assert result is not None
    assert (result.measures["accuracy"].mean, result.measures["accuracy"].sd) == (1.0, 0.0)
    assert result.stability.counts == {"right": 10, "inconsistent": 0, "wrong": 0, "unresolved": 0}
    assert (result.counted.n, result.counted.left_out) == (10, {reason: 10})
    assert result.scored == Coverage(20, {"waiting": 10, "incomplete": 10}, runs=2, pooled=True)


def test_canary_runs_are_not_iterations_of_each_other(world):
    session, (first, second) = world
    canaries = []
    for number in (2, 3):
        settings = make_settings(sample_world.CODEBOOK, iteration=number)
        run = session.store.runs.create(settings, ["d0"], experiment_id=f"canary:{first}").run_id
        store_debates([store_debate(session.project, run, "d0", {"judge": None}, both("a"))])
        canaries.append(run)

    def siblings(run_id):
        return [row.run_id for row in repeated_runs.siblings(session, session.store.runs.get(run_id))]

    assert [siblings(run) for run in canaries] == [[run] for run in canaries]
    assert siblings(second) == [first, second]


def test_comparison_report_of_two_runs(world):
    session, runs = world
    result = comparison_report(session, runs)
    assert (result["documents"], result["shared"], result["same"], result["n"]) == (4, 4, 2, 4)
    assert result["accuracy"]["difference"] == 0
    assert result["mcnemar"]["only_first"] == 1  # d3
    assert result["mcnemar"]["only_second"] == 1  # d1
    counts = {name: result["outcomes"][name] for name in ("corrected", "regressed", "mixed", "right", "wrong")}
    assert counts == {"corrected": 1, "regressed": 1, "mixed": 0, "right": 1, "wrong": 1}
    assert result["outcomes"]["documents"] == {"corrected": ["d1"], "regressed": ["d3"], "mixed": []}
    assert (result["changes"]["total"]["corrected"], result["changes"]["total"]["regressed"]) == (1, 1)
    # F1 of Alpha rises from 1/2 to 4/5 (2 true positives, 1 false positive).
    assert result["labels"]["Alpha"]["difference"] == pytest.approx(0.3)
    assert result["labels"]["Alpha"]["sentence"].startswith(
        f"No significant difference between Run {runs[1]} and Run {runs[0]} on Alpha: +30.0"
    )
    assert [column["run_id"] for column in result["columns"]] == runs
    assert result["tests"]["welch"] is not None  # the iterations of one experiment


def check_differences(session, runs):
    """Check that each reported difference is the difference of two columns."""
    report = comparison_report(session, runs)
    first, *others = report["columns"]
    for column, pair in zip(others, report.get("pairs", [report]), strict=True):
        for metric in metrics.metrics(session.store.runs.get(runs[0]).settings.codebook.kind):
            before, after = first[metric.key], column[metric.key]
            difference = pair[metric.key]["difference"]
            expected = None if before is None or after is None else pytest.approx(after - before)
            assert difference == expected


def test_differences_equal_the_difference_of_the_columns(world):
    session, runs = world
    check_differences(session, runs)
    # A third run without a verdict on d0 leaves d0 out of every column and pair.
    third = session.store.runs.create(make_settings(sample_world.CODEBOOK), list(GOLD)).run_id

    store_debates(
        store_debate(session.project, third, id, {"judge": None}, both(present))
        for id, present in list(SECOND.items())[1:]
    )
    check_differences(session, [*runs, third])
    assert {column["n"] for column in comparison_report(session, [*runs, third])["columns"]} == {3}


def test_corrected_and_regressed_documents_are_listed(world):
    session, (first, second) = world
    compared = run_comparison.comparison(session, [first, second])
    result = run_comparison.outcomes(compared, compared.pairs[0])
    rows, total = run_comparison.outcome_page(session, result, ["corrected", "regressed"])
    assert total == 2
    assert [(row.document_id, row.outcome, row.corrected, row.regressed) for row in rows] == [
        ("d3", "regressed", (), ("Beta",)),
        ("d1", "corrected", ("Alpha",), ()),
    ]
    assert run_comparison.outcome_page(session, result, ["corrected", "regressed"], label="Alpha")[1] == 1


def test_identical_runs_on_few_documents_may_differ_on_others(world):
    session, (first, _) = world
    settings = make_settings(sample_world.CODEBOOK)
    identical = session.store.runs.create(settings, list(GOLD)).run_id

    store_debates(
        store_debate(session.project, identical, id, {"extractor": both("ab"), "judge": None}, both(present))
        for id, present in FIRST.items()
    )
    result = comparison_report(session, [first, identical])
    assert result["sentence"].startswith("No significant difference between ")
    assert "on 4 shared documents: 0.0 points macro F1, 95% interval −" in result["sentence"]
    assert result["mcnemar"]["p"] == 1.0
    assert result["same"] == 4
    several = comparison_report(session, [first, identical, world[1][1]])
    assert [pair["runs"] for pair in several["pairs"]] == [[first, identical], [first, world[1][1]]]
    assert several["cochran"]["df"] == 2


def test_same_run_or_disjoint_runs_cannot_be_compared(world, project):
    session, (first, _) = world
    with pytest.raises(UsageError, match="two or more different runs"):
        run_comparison.comparison(session, [first, first])
    project.store.documents.add([Document("x", {"text": "t"})])
    other = project.store.runs.create(make_settings(sample_world.CODEBOOK), ["x"]).run_id
    with pytest.raises(UsageError, match="no document in common"):
        run_comparison.comparison(session, [first, other])
    unrelated = project.store.runs.create(make_settings(), ["d0"]).run_id
    with pytest.raises(UsageError, match="have different labels"):
        run_comparison.comparison(session, [first, unrelated])


def test_error_analysis_of_a_label(world):
    session, (first, _) = world
    run = session.store.runs.get(first)
    session.store.reviews.record([Decision("d2", (ReviewChange("a", True, False),), "Submitted")], actor="kim")
    result = error_analysis.of_label(session, run, "a")
    assert (result.judged, result.wrong, result.iterations) == (4, 2, 2)
    assert [(side.side, side.wrong, side.consistent) for side in result.sides] == [
        ("false_negative", 1, 0),
        ("false_positive", 1, 1),
    ]
    assert [(band.low, band.high, band.n, band.wrong) for band in result.by_labels] == [
        (0, 0, 1, 0),
        (1, 1, 2, 1),
        (2, 2, 1, 1),
    ]
    second = session.store.runs.get(world[1][1])
    stale = second.model_copy(update={"turns": 0})  # the row as read before the last turns
    assert error_analysis.of_label(session, stale, "b") == error_analysis.of_label(session, second, "b")
    rows, total = error_analysis.documents(session, run, "a")
    assert [(row.document_id, row.side, row.times) for row in rows] == [
        ("d2", "false_positive", 2),
        ("d1", "false_negative", 1),
    ]
    assert total == 2
    assert [row.document_id for row in error_analysis.documents(session, run, "a", consistent=True)[0]] == ["d2"]
    assert [row.document_id for row in error_analysis.documents(session, run, "a", word="FEE")[0]] == ["d1"]
    named = run.model_copy(update={"details": RunDetails(name="Plain")})
    with pytest.raises(UsageError, match="The codebook of Plain has no label 'z'"):
        error_analysis.of_label(session, named, "z")
    with pytest.raises(UsageError, match="Plain does not have ratings"):
        evaluation.rating_confusion(session, named, "a")


def test_canary_run_leaves_out_documents_that_others_replaced(world):
    session, (first, _) = world
    run = session.store.runs.get(first)
    ids = session.store.runs.document_ids(first)
    session.store.documents.replace_all(session.store.documents.load(ids[1:]))
    assert session.store.runs.document_ids(model_drift.start_canary_run(session, run).run_id) == ids[1:]


def test_canary_run_repeats_documents_of_a_run(world, monkeypatch):
    monkeypatch.setattr(model_drift, "CANARIES", 3)
    session, (first, _) = world
    run = session.store.runs.get(first)
    again = model_drift.start_canary_run(session, run)
    assert again.experiment_id == f"canary:{first}"
    assert again.settings.iteration == FIRST_CANARY
    assert again.documents == 3
    ids = session.store.runs.document_ids(again.run_id)
    later = model_drift.start_canary_run(session, run)
    assert session.store.runs.document_ids(later.run_id) == ids, "the same documents every time"
    session.store.runs.describe({later.run_id: RunDetails(status="deleted")})
    after_deletion = model_drift.start_canary_run(session, run)
    assert after_deletion.settings.iteration > later.settings.iteration, "replies of deleted runs are kept"

    store_debates(
        store_debate(session.project, again.run_id, id, {"judge": None}, both(SECOND[id]), served_model="m-2026-11")
        for id in ids
    )
    assert annotation_arrays.ranked_runs(session)[0].run_id not in {
        row.run_id for row in model_drift.canary_runs(session, run)
    }
    drift = model_drift.drifts(session, run)[0]
    assert drift.documents == 3
    assert drift.counted == Coverage(3, {"not_sampled": 1})
    assert set(drift.changed) == {id for id in ids if FIRST[id] != SECOND[id]}
    assert drift.chance == Estimate(0.5, wilson(2, 4))  # d1 and d3 differ between the iterations
    assert "canaries have another verdict: 67% (21% to 94%); iterations at one time differ on 50%" in drift.sentence
    later_drifts = {days: replace(drift, days=days).sentence.split(" 2 of")[0] for days in (0.25, 30.4)}
    assert later_drifts == {0.25: "After 6 h", 30.4: "After 30 days"}
    assert drift.models == ()  # the first run recorded no model name of the server
    assert full_report(session, session.run(first))["drift"][0]["later"] == again.run_id
    monkeypatch.setattr(model_drift, "CANARIES", 1)
    third = model_drift.start_canary_run(session, session.store.runs.get(again.run_id))

    async def third_debates():
        (id,) = session.store.runs.document_ids(third.run_id)
        await store_debate(
            session.project, third.run_id, id, {"judge": None}, both(SECOND[id]), served_model="m-2027-01"
        )

    asyncio.run(third_debates())
    later = model_drift.drifts(session, session.store.runs.get(again.run_id))[0]
    assert later.models == ("judge: m-2026-11 → m-2027-01",)
    assert "The server reports another model: judge: m-2026-11 → m-2027-01." in later.sentence
    with pytest.raises(UsageError, match="Plain has no verdict to compare with"):
        model_drift.start_canary_run(
            session, session.store.runs.create(run.settings, ["d0"], details=RunDetails(name="Plain"))
        )


@pytest.mark.parametrize(("step", "apart"), [(0.25, 0.0), (0.5, 1 / 3), (1.0, 1.0)])
def test_ratings_less_than_a_point_apart_are_the_same_verdict(project, step, apart):
    """Three iterations rate 3, 3 + step and 3 + 2 step, and so does a canary run of the first."""
    book, ids = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),)), [f"d{n}" for n in range(6)]
    project.store.documents.add(Document(id, {"text": id}) for id in ids)
    session = sample_world.session_on(project)

    def store(run_id, rating):
        store_debates(store_debate(project, run_id, id, {"judge": None}, {"c": rating}) for id in ids)

    runs = [
        project.store.runs.create(make_settings(book, iteration=number), ids, experiment_id="e").run_id
        for number in range(3)
    ]
    for number, run_id in enumerate(runs):
        store(run_id, 3 + number * step)
    run = session.run(runs[0])
    store(model_drift.start_canary_run(session, run).run_id, 3 + step)
    (drift,) = model_drift.drifts(session, run)
    assert drift.share.value == float(step >= 1)
    assert drift.chance.value == pytest.approx(apart)
    compared = comparison_report(session, runs[:2])
    assert (compared["agreement"], compared["same"]) == (float(step < 1), 6 * (step < 1))


@pytest.mark.parametrize("failed", [2, 3])
def test_failed_canary_run_is_reported(world, failed, monkeypatch):
    monkeypatch.setattr(model_drift, "CANARIES", 3)
    session, (first, _) = world
    again = model_drift.start_canary_run(session, session.store.runs.get(first))
    (waiting,) = model_drift.drifts(session, session.store.runs.get(first))
    assert waiting.sentence == f"{again.run_id}: no canary has a verdict in both runs yet."

    async def debates():
        ids = session.store.runs.document_ids(again.run_id)
        for number, id in enumerate(ids):
            error = ReplyError("server fault", "500") if number < failed else None
            values = {} if error else both(FIRST[id])
            await store_debate(session.project, again.run_id, id, {}, values, error=error)
        await session.project.sink.state(again.run_id, "paused", StopReason("errors", "5 calls failed in a row."))

    asyncio.run(debates())
    (result,) = model_drift.drifts(session, session.store.runs.get(first))
    problem = f"{failed} of 3 canaries failed. The canary run paused. 5 calls failed in a row."
    if failed == 3:
        assert result.sentence == f"{again.run_id}: {problem}"
    else:
        words = r"After \d+ s 0 of 1 canaries have another verdict: 0% \(0% to 79%\); iterations"
        assert re.match(words, result.sentence)
        assert result.sentence.endswith(problem)


def test_alternative_annotator_test_needs_three_people(world):
    session, (first, _) = world
    test = alt_test.may_replace(session, session.store.runs.get(first))
    assert test.winning_rate is None
    assert "here one person did" in test.sentence
    assert "unweighted" not in alt_test.describe_coverage(session, session.store.runs.get(first))
    for name in ("ann", "bob", "cy"):
        for item in ("a", "b"):
            actions.edit(session, first, ["d0", "d1"], item, True, actions.Attribution(name))
        actions.submit(session, first, ["d0", "d1"], actions.Attribution(name))
    test = alt_test.may_replace(session, session.store.runs.get(first))
    assert [person.person for person in test.people] == ["ann", "bob", "cy"]
    assert "unweighted: the queue prefers" in alt_test.describe_coverage(session, session.store.runs.get(first))


def test_html_report_escapes_its_values(world):
    session, (first, _) = world
    page = html_report.html_report(session, session.run(first))
    assert page.startswith("<!doctype html>")
    assert "Effect of the debate" in page
    assert "2 iterations" in page
    assert re.search(r"accuracy</t[dh]><td>2</td><td>0.750</td><td>0.000</td><td>–</td>", page)  # equal iterations
    rows = re.findall("<tr>.*?</tr>", page)
    assert max(row.count("<th") for row in rows) <= 10  # a page of A4 cuts off wider tables
    assert all(f"<th>{metric.name}</th>" in unescape(page) for metric in metrics.metrics("multilabel", per_label=True))
    hostile = sample_world.CODEBOOK.model_copy(update={"name": "<script>alert(1)</script>"})
    run = session.store.runs.create(make_settings(hostile), ["d0"]).run_id
    assert "<script>" not in html_report.html_report(session, session.run(run))
