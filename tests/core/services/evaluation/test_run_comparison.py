"""Tests of run comparisons: interval, adjusted test and sentence of each difference agree."""

from __future__ import annotations

import asyncio

import pytest

from core.codebook import Codebook, Kind, Label, Scale
from core.documents import Document
from core.errors import UsageError
from core.runs import RunDetails
from core.services.evaluation import run_comparison
from core.services.evaluation.evaluation import cost_of_run, evaluate
from core.services.evaluation.report import full_report
from core.services.evaluation.run_comparison import comparison_report, leaderboard, leaderboard_references
from core.services.review import sampling_frames
from core.services.runs import planning
from core.stats.comparison import Equivalence
from core.stats.intervals import Interval
from tests.core.services import sample_world
from tests.core.services.sample_world import both, session_with_runs
from tests.core.services.sessions import studio
from tests.core.store.helpers import make_settings, store_debate, store_debates


def test_one_rare_document_is_not_a_significant_difference(project):
    # Alpha is present once; only the second run finds it.
    gold = {f"d{n}": "b" for n in range(30)} | {"d30": "ab"}
    session, runs = session_with_runs(project, gold, {"d30": "b"}, {})
    report = comparison_report(session, runs, margin=0.02)
    rare = report["labels"]["Alpha"]
    assert (rare["difference"], rare["positives"], rare["verdict"]) == (1.0, 1, "unknown")
    assert rare["interval"][0] < 0 < rare["interval"][1] <= 1
    assert "better" not in rare["sentence"]
    assert rare["sentence"].endswith("; only 1 positive.")
    assert rare["mcnemar"]["p"] == 1.0
    assert report["main"]["verdict"] == "none"
    assert "better" not in report["sentence"]
    assert report["equivalence"]["equivalent"] is False
    assert full_report(session, session.run(runs[0]))["basis"] == {
        "design": "documents",
        "units": 31,
        "population": None,
        "discarded": 0,
        "complete": False,
        "warning": "",
        "shaped_by": 0,
    }


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("multilabel", "the reference has no positives."),
        ("choice", "no document has this label in the reference."),
        ("rating", "the reference has no ratings."),
    ],
)
def test_sentence_names_what_the_reference_lacks_for_a_label(project, kind: Kind, reason: str):
    book = Codebook(kind=kind, labels=(Label(name="Alpha", id="a"), Label(name="Beta", id="b")))
    verdict, gold = {
        "multilabel": ({"a": True, "b": True}, {"a": True, "b": False}),
        "choice": ({"label": "b"}, {"label": "a"}),
        "rating": ({"a": 1, "b": 2}, {"a": 1}),
    }[kind]
    documents = [f"d{n}" for n in range(10)]
    project.store.documents.add(Document(id, {"text": id}, gold={"gold": gold}) for id in documents)
    runs = []
    for wrong in (2, 0):
        runs.append(project.store.runs.create(make_settings(book), documents).run_id)
        store_debates(
            store_debate(project, runs[-1], id, {"judge": None}, verdict if position < wrong else {**verdict, **gold})
            for position, id in enumerate(documents)
        )
    found = comparison_report(sample_world.session_on(project), runs)
    assert (
        found["labels"]["Beta"]["sentence"] == f"Run {runs[0]} and Run {runs[1]} cannot be compared on Beta: {reason}"
    )


def test_significant_test_beside_a_wide_interval_is_named(project):
    # The second run finds Beta in 20 more documents; Alpha, present once, makes the interval of the mean wide.
    gold = {f"d{n}": "b" for n in range(30)} | {"d30": "a"}
    session, runs = session_with_runs(project, gold, {f"d{n}": "" for n in range(20)}, {})
    (pair,) = run_comparison.comparison(session, runs).pairs
    assert (pair.main.verdict, pair.main.difference.clear) == ("none", False)
    assert pair.main.p < 0.001
    assert pair.sentence.startswith("No significant difference between")
    assert pair.sentence.endswith(
        "Only the test is significant (p < 0.001); a clear difference needs test and interval."
    )


def test_test_that_contradicts_a_clear_interval_is_named(project):
    # The second run loses Alpha, present in five of ten documents: 2 of 32 permutations are as extreme, p = 0.06.
    gold = {f"d{n}": "ab" if n < 5 else "b" for n in range(10)}
    session, runs = session_with_runs(project, gold, {}, {f"d{n}": "b" for n in range(5)})
    (pair,) = run_comparison.comparison(session, runs).pairs
    assert (pair.main.verdict, pair.main.difference.clear) == ("none", True)
    assert pair.main.p == pytest.approx(2 / 32, abs=0.01)  # by random permutations
    assert "The test is not significant (p = 0.0" in pair.sentence
    assert pair.sentence.endswith("; a clear difference needs test and interval.")
    label = comparison_report(session, runs)["labels"]["Alpha"]["sentence"]
    assert label.endswith(" The test is not significant (p = 0.125); a clear difference needs test and interval.")


def test_sentence_names_documents_that_a_run_left_undecided(project):
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(10)}
    session, runs = session_with_runs(project, gold, {}, {"d0": "?", "d1": "?", "d2": ""})
    (pair,) = run_comparison.comparison(session, runs).pairs
    assert (pair.scores.n, pair.scores.excluded) == (8, 2)
    assert "on 8 of 10 shared documents" in pair.sentence


def test_outcomes_of_three_runs_use_the_documents_of_the_scores(project):
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(10)}
    session, runs = session_with_runs(project, gold, {}, {"d1": "b", "d3": "b", "d4": "ab"}, {"d3": "?", "d5": "?"})
    compared = run_comparison.comparison(session, runs)
    for pair in compared.pairs:
        assert sum(run_comparison.outcomes(compared, pair).counts.values()) == pair.scores.n == 8
    listed = comparison_report(session, runs)["pairs"][0]["outcomes"]["documents"]
    assert listed == {"corrected": [], "regressed": ["d1", "d4"], "mixed": []}, "without d3, which the third left open"


def test_pairs_of_three_runs_have_the_documents_of_all(project):
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(10)}
    session, runs = session_with_runs(project, gold, {}, {"d1": "b", "d9": "b"})
    short = project.store.runs.create(make_settings(sample_world.CODEBOOK), list(gold)[:6]).run_id
    store_debates(store_debate(project, short, id, {"judge": both(gold[id])}, both(gold[id])) for id in list(gold)[:6])
    first, second = comparison_report(session, [*runs, short])["pairs"]
    assert [first[key] for key in ("documents", "shared", "same", "n")] == [6, 6, 5, 6]
    assert [second[key] for key in ("documents", "shared", "same", "n")] == [6, 6, 6, 6]


def test_runs_with_other_labels_or_scales_are_not_compared(project):
    labels = (Label(name="Clarity", id="c"), Label(name="Depth", id="d"))
    ratings = Codebook(kind="rating", labels=labels, scale=Scale(min=1, max=5))
    project.store.documents.add([Document("d", {"text": "t"})])

    def different(codebook: Codebook) -> str:
        runs = [project.store.runs.create(make_settings(book), ["d"]).run_id for book in (ratings, codebook)]
        with pytest.raises(UsageError) as raised:
            run_comparison.comparison(sample_world.session_on(project), runs)
        return raised.value.message.partition(" have ")[2]

    assert different(ratings.model_copy(update={"scale": Scale(min=1, max=10)})) == "different scales."
    assert different(ratings.model_copy(update={"labels": labels[:1]})) == "different labels."


def test_labels_may_have_another_order_in_another_run(project):
    gold = {f"d{n}": "a" if n % 3 else "b" for n in range(10)}
    session, (first, second) = session_with_runs(project, gold, {"d1": "b"}, {"d2": "ab", "d4": ""})
    reordered = sample_world.CODEBOOK.model_copy(update={"labels": sample_world.CODEBOOK.labels[::-1]})
    other = project.store.runs.create(make_settings(reordered), list(gold)).run_id
    verdicts = {id: both({"d2": "ab", "d4": ""}.get(id, present)) for id, present in gold.items()}
    store_debates(store_debate(project, other, id, {"judge": values}, values) for id, values in verdicts.items())
    as_before, in_order = (comparison_report(session, [first, run]) for run in (second, other))
    for key in ("outcomes", "same", "macro_f1", "mcnemar"):
        assert in_order[key] == as_before[key], key
    aligned, expected = (
        sampling_frames.aligned_verdicts(session, session.run(first), session.run(run)) for run in (other, second)
    )
    assert aligned.tolist() == expected.tolist()


def test_clear_difference_is_better_in_interval_test_and_sentence(project):
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(60)}
    session, runs = session_with_runs(project, gold, {f"d{n}": "" for n in range(20)}, {})
    found = comparison_report(session, runs)
    assert found["main"]["verdict"] == "better"
    assert found["main"]["adjusted"] < 0.05
    assert found["sentence"].startswith(f"Run {runs[1]} is better on 60 shared documents: +")
    project.store.runs.describe({runs[1]: RunDetails(name="ECJ, 60 documents")})
    named = comparison_report(sample_world.session_on(project), runs)
    assert named["sentence"].startswith("“ECJ, 60 documents” is better on 60 shared documents: +")
    for label in found["labels"].values():
        assert (label["verdict"], label["p_adjusted"] < 0.05, label["interval"][0] > 0) == ("better", True, True)


def test_dependent_documents_are_tested_as_groups(project):
    # All differences are in one group: significant for independent documents, not for groups.
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(60)}
    groups = {id: "chat" if int(id[1:]) < 20 else f"g{int(id[1:]) // 4}" for id in gold}
    session, runs = session_with_runs(project, gold, {f"d{n}": "" for n in range(20)}, {}, groups=groups)
    result = comparison_report(session, runs)
    assert result["mcnemar"]["groups"] == 11
    assert result["mcnemar"]["p"] == 1.0
    assert result["main"]["verdict"] == "none"
    assert "better" not in result["sentence"]
    report = full_report(session, session.run(runs[0]))
    assert (report["basis"]["design"], report["basis"]["units"]) == ("groups", 11)
    assert report["intervals"]["micro"]["f1"][1] - report["intervals"]["micro"]["f1"][0] > 0.3


@pytest.mark.parametrize(("documents", "equivalent"), [(1, False), (100, False), (200, True)])
def test_equal_runs_are_equivalent_only_on_enough_documents(project, documents, equivalent):
    # If one in fifty documents differs, 149 documents are needed to see one with a probability of 95%.
    gold = {f"d{n}": "b" for n in range(documents)}
    session, runs = session_with_runs(project, gold, {}, {})
    result = comparison_report(session, runs, margin=0.02)["equivalence"]
    assert (result["equivalent"], result["non_inferior"]) == (equivalent, equivalent)
    assert result["interval"] == pytest.approx([0.05 ** (1 / documents) - 1, 1 - 0.05 ** (1 / documents)])


@pytest.mark.parametrize(
    ("low", "high", "equivalent", "non_inferior"),
    [(-0.01, 0.01, True, True), (-0.01, 0.05, False, True), (-0.05, 0.01, False, False)],
)
def test_equivalence_and_non_inferiority_within_a_margin(low, high, equivalent, non_inferior):
    result = Equivalence(0.02, Interval(low, high, 0.9))
    assert (result.equivalent, result.non_inferior) == (equivalent, non_inferior)
    assert "2.0 points" in result.sentence
    unknown = Equivalence(0.02, None)
    assert unknown.sentence == "A margin of 2.0 points cannot be tested: the difference has no interval."
    assert not unknown.equivalent


def test_iterations_are_compared_on_the_shared_documents(project):
    # Both systems are right on the first ten documents, except on one in the second iteration. Only the first system
    # also has ten others, on which it is always wrong.
    ids = [f"d{n}" for n in range(20)]
    project.store.documents.add(Document(id, {"text": id}, gold={"gold": both("ab")}) for id in ids)
    first_runs = []
    for documents in (ids, ids[:10]):
        first = None
        for iteration in range(2):
            settings = make_settings(sample_world.CODEBOOK, iteration=iteration)
            run = project.store.runs.create(settings, documents, experiment_id=first).run_id
            first = first or run
            wrong = {*ids[10:], *ids[:iteration]}
            verdicts = {id: both("" if id in wrong else "ab") for id in documents}
            store_debates(store_debate(project, run, id, {"judge": None}, values) for id, values in verdicts.items())
        first_runs.append(first)
    tests = comparison_report(sample_world.session_on(project), first_runs)["tests"]
    assert tests["welch"]["difference"] == 0.0
    assert tests["welch"]["mean_first"] == pytest.approx(100 * (1 + 18 / 19) / 2)


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


def test_pilot_with_a_high_score_ranks_below_runs_of_more_documents(session, project, run_id):
    pilot = session.store.runs.create(session.run(run_id).settings, ["d0"]).run_id
    asyncio.run(store_debate(project, pilot, "d0", {"judge": both("a")}, both("a")))
    rows = {row.run.run_id: row for row in leaderboard(session)}
    assert rows[pilot].rank_score.value > rows[run_id].rank_score.value
    assert list(rows) == [run_id, pilot]


def test_costs_are_compared_in_one_unit(session, project, run_id, monkeypatch):
    other = session.store.runs.create(session.run(run_id).settings, ["d0"]).run_id
    asyncio.run(store_debate(project, other, "d0", {"judge": both("a")}, both("a")))
    dollars = {run_id: 0.1, other: None}
    monkeypatch.setattr(
        "core.services.evaluation.run_comparison.cost_of_run",
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


def test_references_of_runs_of_the_same_documents_are_read_once(session, run_id, monkeypatch):
    again = session.store.runs.create(session.run(run_id).settings, session.store.runs.document_ids(run_id)).run_id
    fewer = session.store.runs.create(session.run(run_id).settings, session.store.runs.document_ids(run_id)[:2]).run_id
    read: list[str] = []
    available = run_comparison.available_references
    monkeypatch.setattr(run_comparison, "available_references", lambda _, id: read.append(id) or available(_, id))
    assert leaderboard_references(session)["gold"] == available(session, run_id)["gold"] > 0
    assert len(read) == 2
    assert fewer in read
    assert {run_id, again} & {*read}


def test_full_price_includes_cached_replies(tmp_path):
    with studio(tmp_path) as (_, session):
        settings = planning.build_settings(planning.Plan(), make_settings().codebook, 1, session.models)
        one, two = (planning.create_runs(session, settings, ["d0", "d1"])[0].run_id for _ in range(2))
        for run_id in (one, two):
            session.start_or_resume(run_id).result(60)
        first, second = map(session.store.runs.require, (one, two))
        assert (first.calls, second.calls, second.prompt_tokens) == (6, 0, 0)
        assert cost_of_run(session, second)["tokens"] == cost_of_run(session, first)["tokens"] > 0
