"""Tests of the coverage of scores, counted by hand on the eight documents of ``sample_world``."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from core.documents import Document
from core.runs import Prepass
from core.services.document_samples import fixed_sample
from core.services.evaluation import (
    ambiguity,
    coverage,
    debate_effect,
    error_analysis,
    evaluation,
    reference,
    run_comparison,
)
from core.services.evaluation.coverage import Coverage
from core.services.review import accuracy_estimate, actions, agreement
from core.services.runs import rerun
from core.stats.intervals import wilson
from tests.core.services import sample_world
from tests.core.services.sample_world import both
from tests.core.services.sessions import decide
from tests.core.store.helpers import make_settings, store_debate, store_debates


def test_coverage_of_a_run_matches_its_scores(session, run):
    result = coverage.of_run(session, run)
    assert result == Coverage(4, {"unresolved": 1, "failed": 1, "waiting": 1, "no_reference": 1})
    report = evaluation.evaluate(session, run)
    assert (report.n, report.excluded, report.coverage) == (4, 3, result)
    description = "n = 4 documents; excluded: 1 unresolved, 1 failed, 1 not debated yet; not counted: 1 without gold"
    assert result.describe() == description


def test_coverage_is_that_of_the_annotator(session, run):
    critic = evaluation.evaluate(session, run, annotator="critic")  # no list on d3
    assert critic.coverage.left_out == {"unresolved": 1, "failed": 1, "waiting": 1, "incomplete": 1, "no_reference": 1}
    assert (critic.coverage.n, critic.coverage.n + critic.excluded) == (critic.n, 7)
    decide(session, run.run_id, {"d5": {}, "d6": {"a": True, "b": False}}, actions.Attribution("ann"))
    reviewer = evaluation.evaluate(
        session, run, annotator="reviewed@ann"
    )  # d6 has a review, although its debate failed
    assert reviewer.coverage.left_out == {"incomplete": 6, "no_reference": 1}, "the debate of the run is no reason"
    assert (reviewer.coverage.n, reviewer.excluded) == (reviewer.n, 6)


def test_coverage_depends_on_the_reference(session, run):
    result = coverage.of_run(session, run, "reviewed")
    assert result == Coverage(0, {"no_reference": 8})  # without reviews no debate counts as missing
    assert result.describe("reviewed") == "n = 0 documents; not counted: 8 without a review"
    assert result.describe("reviewed@Ann").endswith("8 without a review by Ann")


def test_coverage_of_one_label_is_that_of_its_scores(session, run):
    # d4 is unresolved on Alpha and resolved on Beta, and counts for neither.
    labels = evaluation.evaluate(session, run).scores.labels
    for label, name in (("a", "Alpha"), ("b", "Beta")):
        errors = error_analysis.of_label(session, run, label)
        expected = Coverage(4, {"unresolved": 1, "failed": 1, "waiting": 1, "no_reference": 1})
        assert errors.counted == coverage.on_item(session, run, label) == expected
        assert errors.judged == labels[name].n == 4


def test_coverage_of_a_debate_matches_its_flip_table(session, run):
    flip_table = debate_effect.debate_effect(session, run).flip_table
    result = coverage.of_debate(session, run)
    assert flip_table is not None
    assert result.n == flip_table.documents
    assert sum(result.left_out.values()) == flip_table.excluded + 1  # plus d5, which has no gold


def test_full_coverage_is_described_by_the_number_only():
    assert Coverage(1, {}).describe() == "n = 1 document"
    assert Coverage(800, {}, runs=3).describe() == "n = 800 documents in each of 3 runs"
    assert Coverage(2400, {}, runs=3, pooled=True).describe() == "n = 2,400 verdicts of 3 runs"


@pytest.fixture
def second(project, run):
    """Return a second run: no debate on d0; verdicts on d1 to d3 and on d8, which the first run lacks."""

    project.store.documents.add([Document("d8", {"text": "eight"}, gold={"gold": both("a")})])
    new_run = project.store.runs.create(make_settings(sample_world.CODEBOOK), ["d0", "d1", "d2", "d3", "d8"])

    async def debates():
        for id, present in {"d1": "ab", "d2": "b", "d3": "", "d8": "a"}.items():
            lists = {"extractor": both("ab"), "critic": both(present), "judge": None}
            await store_debate(project, new_run.run_id, id, lists, both(present))

    asyncio.run(debates())
    return project.store.runs.get(new_run.run_id)


def test_shared_coverage_of_two_runs(session, run, second):
    result = coverage.of_shared(session, [run, second])
    # Shared are d1, d2, d3; d0 has no debate in the second run, and d4 to d8 are in one run only, d5 without gold.
    assert result == Coverage(3, {"waiting": 1, "one_run_only": 4, "no_reference": 1})
    pair = run_comparison.comparison(session, [run.run_id, second.run_id]).pairs[0]
    assert (pair.scores.n, pair.scores.excluded) == (3, 1)
    assert result.describe() == (
        "n = 3 documents; excluded: 1 not debated yet, 4 in one run only; not counted: 1 without gold"
    )


def test_coverage_of_pooled_runs_is_summed(session, run, second):
    result = coverage.merge([coverage.of_run(session, run), coverage.of_run(session, second)])
    assert result == Coverage(8, {"unresolved": 1, "failed": 1, "waiting": 2, "no_reference": 1}, runs=2, pooled=True)


def test_coverage_of_equal_runs_is_that_of_each_run(session, run):
    result = coverage.of_run(session, run)
    merged = coverage.merge([result, result])
    assert (merged.n, merged.runs) == (result.n, 2)
    assert f"n = {result.n} documents in each of 2 runs" in merged.describe()


def test_mask_restricts_the_coverage(session, run):
    mask = np.array([True, False, False, False, False, False, False, False])
    assert coverage.of_documents(session, run, "gold", mask) == Coverage(
        1, {"unresolved": 1, "failed": 1, "waiting": 1, "incomplete": 3, "no_reference": 1}
    )


def test_additional_reasons_do_not_hide_missing_references(session, run):
    mask, everything = np.zeros(8, dtype=bool), np.ones(8, dtype=bool)
    # A document without a reference is reported as such and not as left out of a sample.
    assert coverage.of_documents(session, run, "gold", mask, {"not_sampled": everything}) == Coverage(
        0, {"not_sampled": 7, "no_reference": 1}
    )


def test_coverage_of_a_rerun_on_some_documents(project, session, run):
    later = project.store.runs.create(run.settings, ["d0", "d1", "d4", "d5", "d2"])

    store_debates(
        store_debate(project, later.run_id, id, {"judge": None}, both(present))
        for id, present in {"d0": "a", "d1": "a", "d4": "a", "d5": "b"}.items()
    )
    # Counted are d0, d1, d5 (gold is not needed). d4 was unresolved in the first run, d2 waits in the rerun, and d3, d6
    # and d7 are not in the rerun.
    again = project.store.runs.get(later.run_id)
    assert coverage.of_rerun(session, run, again) == Coverage(3, {"unresolved": 1, "waiting": 1, "not_sampled": 3})


def test_document_without_a_readable_vote_is_ambiguous(project, session):
    settings = make_settings(sample_world.CODEBOOK, params={"method": "vote", "k": 2})
    vote = project.store.runs.create(settings.model_copy(update={"protocol": "single"}), ["d0", "d1", "d2"])

    async def debates():
        await store_debate(project, vote.run_id, "d0", {"one": both("a"), "two": both("a")}, both("a"))
        await store_debate(project, vote.run_id, "d1", {"one": None, "two": None}, {"a": None, "b": None})

    asyncio.run(debates())
    result = ambiguity.difference_rates(session, vote.run_id)
    assert set(result) == {"d0", "d1"}, "d2 waits"
    assert result["d1"] == 0


def test_canary_run_of_a_prepass_is_not_a_prepass_to_choose(project, session):
    settings = make_settings(sample_world.CODEBOOK, params={"method": "vote", "k": 2})
    settings = settings.model_copy(update={"protocol": "single"})
    vote = project.store.runs.create(settings, ["d0", "d1"]).run_id
    canary = project.store.runs.create(settings, ["d0"], experiment_id=f"canary:{vote}").run_id
    for run_id in (vote, canary):
        asyncio.run(project.sink.state(run_id, "done"))
    assert ambiguity.prepasses(session) == [vote]


def test_coverage_by_ambiguity_counts_shared_documents(project, session, run):
    settings = make_settings(sample_world.CODEBOOK, params={"method": "vote", "k": 2})
    vote = project.store.runs.create(settings.model_copy(update={"protocol": "single"}), ["d0", "d1", "d4", "d5"])

    async def debates():
        for id, second in {"d0": "a", "d1": "", "d4": "a", "d5": "ab"}.items():
            votes = {"one": both("a"), "two": both(second)}
            await store_debate(project, vote.run_id, id, votes, both("a"))

    asyncio.run(debates())
    report = ambiguity.scores_by_ambiguity(session, run.run_id, vote.run_id, 0.5)
    # d1 and d5 are ambiguous. d5 has no gold and d4 no verdict on Alpha, so each part has one scored document.
    parts = [report[name] for name in ("ambiguous", "normal")]
    assert [(part.documents, part.scores.n) for part in parts] == [(2, 1), (2, 1)]
    # One of two labels of d1 is right, both of d0: one independent unit each.
    assert [part.scores["accuracy"].interval for part in parts] == [wilson(0.5, 1), wilson(1, 1)]
    json_report = ambiguity.to_json(report)
    assert json_report["normal"]["scores"]["intervals"]["accuracy"] == pytest.approx([0.2065, 1.0], abs=1e-4)
    result = ambiguity.coverage_by_ambiguity(session, run, vote.run_id)
    assert result == Coverage(2, {"unresolved": 1, "not_voted_on": 4, "no_reference": 1})
    # No document is reviewed, so the reviewed reference scores none.
    reviewed = ambiguity.scores_by_ambiguity(session, run.run_id, vote.run_id, 0.5, reference="reviewed")
    assert reviewed["ambiguous"].scores.n == 0
    assert ambiguity.coverage_by_ambiguity(session, run, vote.run_id, "reviewed").n == 0


def test_agreement_of_judges_is_given_for_ambiguous_and_normal_documents(project, session):
    settings = make_settings(sample_world.CODEBOOK, params={"method": "vote", "k": 2})
    vote = project.store.runs.create(settings.model_copy(update={"protocol": "single"}), ["d0", "d1"])
    court = project.store.runs.create(make_settings(sample_world.CODEBOOK), ["d0", "d1", "d2"])

    async def debates():
        for id, second in {"d0": "a", "d1": "b"}.items():
            await store_debate(project, vote.run_id, id, {"one": both("a"), "two": both(second)}, both("a"))
            rulings = {"judge_1": both("a"), "judge_2": both(second)}
            await store_debate(project, court.run_id, id, rulings, both("a"))
        await store_debate(project, court.run_id, "d2", {"judge_1": both("a"), "judge_2": both("b")}, both("a"))

    asyncio.run(debates())
    parts = ambiguity.scores_by_ambiguity(session, court.run_id, vote.run_id, 0.5)
    agreement = {name: part["agreement"] for name, part in ambiguity.to_json(parts).items()}
    (ambiguous,), (normal,) = agreement["ambiguous"], agreement["normal"]
    assert (ambiguous["with_majority"], normal["with_majority"]) == (0.5, 1.0)
    assert [(pair["agents"], pair["share"]) for pair in ambiguous["consecutive"]] == [(["judge_1", "judge_2"], 0.0)]
    assert [pair["share"] for pair in normal["consecutive"]] == [1.0]


def test_rerun_of_ambiguous_documents_uses_the_same_documents(project, session, run):
    settings = make_settings(sample_world.CODEBOOK, params={"method": "vote", "k": 2})
    vote = project.store.runs.create(settings.model_copy(update={"protocol": "single"}), ["d0", "d1", "d4", "d5"])

    async def debates():
        for id, second in {"d0": "a", "d1": "", "d4": "a", "d5": "ab"}.items():
            await store_debate(project, vote.run_id, id, {"one": both("a"), "two": both(second)}, both("a"))
        await project.sink.state(vote.run_id, "done")

    asyncio.run(debates())

    prepass = Prepass(ambiguous=vote.run_id, theta=0.5)

    def plan_of(documents, prepass=prepass):
        later = project.store.runs.create(run.settings.model_copy(update={"prepass": prepass}), documents)
        return ambiguity.with_documents_of(session, rerun.plan_from_run(later), later)

    for documents, limit in ((["d1", "d5"], None), (["d1"], 1), (fixed_sample(["d1", "d5"], 1), 1)):
        plan = plan_of(documents)
        assert (plan.ambiguous, plan.theta, plan.limit) == (vote.run_id, 0.5, limit)
    assert ambiguity.select_documents(session, plan_of(["d1", "d5"])) == ["d1", "d5"]
    assert plan_of(["d1", "d4"], Prepass(ambiguous=vote.run_id, theta=0.1)).theta == 0.1
    # documents that happen to be ambiguous, the first ones, a pilot, and all documents
    everything = project.store.documents.ids()
    for documents, limit in (
        (["d1", "d5"], 2),
        (["d0", "d1"], 2),
        (fixed_sample(everything, 3), 3),
        (everything, None),
    ):
        plan = plan_of(documents, Prepass())
        assert (plan.ambiguous, plan.limit) == ("", limit)


def test_rerun_of_all_documents_includes_those_imported_later(project, session, run):
    ids = project.store.documents.ids()
    full, pilot = (project.store.runs.create(run.settings, documents) for documents in (ids, ids[:2]))
    project.store.documents.add([Document("later", {"text": "later"})], file_name="later.csv")
    limits = [ambiguity.with_documents_of(session, rerun.plan_from_run(row), row).limit for row in (full, pilot)]
    assert limits == [None, 2]
    project.store.documents.replace_all(
        [Document(id, {"text": id}) for id in [*ids, "later"]], file_name="corrected.csv"
    )
    assert ambiguity.with_documents_of(session, rerun.plan_from_run(pilot), pilot).limit == 2


def test_charts_name_the_ties_of_raters_as_the_scores_do(project):
    values = {"d0": ("a", "a"), "d1": ("a", "b")}  # d1 has gold, but no majority
    project.store.documents.add(
        Document(id, {"text": id}, gold={"ann": both(ann), "ben": both(ben)}) for id, (ann, ben) in values.items()
    )
    run_ids = [project.store.runs.create(make_settings(sample_world.CODEBOOK), [*values]).run_id for _ in range(2)]

    async def debates() -> None:
        for run_id in run_ids:
            for id in values:
                await store_debate(project, run_id, id, {"judge": both("a")}, both("a"))

    asyncio.run(debates())
    session = sample_world.session_on(project)
    run, other = map(project.store.runs.get, run_ids)
    words = "n = 1 document; not counted: 1 without gold or with a tie"
    charts = [
        coverage.of_run(session, run),
        coverage.of_debate(session, run),
        coverage.of_shared(session, [run, other]),
        coverage.on_item(session, run, "a"),
    ]
    assert evaluation.evaluate(session, run).coverage.describe() == words
    assert [chart.describe() for chart in charts] == [words] * len(charts)
    pooled = coverage.merge([charts[0], Coverage(3, {})])
    assert pooled.describe() == "n = 4 verdicts of 2 runs; not counted: 1 without gold or with a tie"
    assert coverage.of_run(session, run, "gold@ann").describe("gold@ann") == "n = 2 documents"


def test_documents_with_a_reference_of_other_labels_only_are_named(project):
    gold = {"d0": both("a"), "d1": {"a": True}, "d2": {"b": False}, "d3": {"a": False}}
    project.store.documents.add(Document(id, {"text": id}, gold={"gold": values}) for id, values in gold.items())
    run_id = project.store.runs.create(make_settings(sample_world.CODEBOOK), list(gold)).run_id

    store_debates(store_debate(project, run_id, id, {"judge": None}, both("a")) for id in gold)
    session = sample_world.session_on(project)
    run = project.store.runs.get(run_id)
    errors = error_analysis.of_label(session, run, "a")
    assert errors.counted == coverage.on_item(session, run, "a") == Coverage(3, {"no_label_reference": 1})
    assert errors.counted.describe() == "n = 3 documents; not counted: 1 without gold of this label"
    assert evaluation.evaluate(session, run).describe_coverage() == "n = 4 documents; n by label: 2 to 3"


def test_documents_that_others_replaced_count_nowhere(project, session, run, second):
    wanted, values = ["d0", "d1", "d2", "d3", "d5"], both("b")
    for name in ("ann", "bob"):
        decide(session, run.run_id, dict.fromkeys(wanted, values), actions.Attribution(name))
    references = ("gold", "reviewed", "reviewed@ann", f"run:{second.run_id}", "latent", "reviewed+gold")

    def measured(name: str) -> tuple[int, int]:
        report = evaluation.evaluate(session, run, name)
        assert report.coverage.n == report.n
        return report.n, reference.available_references(session, run.run_id).get(name, report.n)

    before = {name: measured(name) for name in references}
    assert before["reviewed"] == (5, 5)
    price = debate_effect.debate_effect(session, run, "reviewed").prices["critic"].cost_usd
    documents = project.store.documents.load(project.store.documents.ids())
    project.store.documents.replace_all(document for document in documents if document.id in ("d1", "d5", "d6"))
    assert {name: measured(name)[0] for name in references} == {
        "gold": 1, "reviewed": 2, "reviewed@ann": 2, f"run:{second.run_id}": 1, "latent": 2, "reviewed+gold": 2,
    }  # fmt: skip
    counts = reference.available_references(session, run.run_id)
    others = {"reviewed": 2, "reviewed@ann": 2, "reviewed@bob": 2, f"run:{second.run_id}": 1, "latent": 2}
    assert counts == {"gold": 2, **others}  # the debate on d6 failed
    reviewed = evaluation.evaluate(session, run, "reviewed")
    assert reviewed.coverage == Coverage(2, {"no_reference": 1, "removed": 5})
    assert reviewed.coverage.describe("reviewed") == (
        "n = 2 documents; not counted: 1 without a review, 5 not in the project any more"
    )
    estimate = accuracy_estimate.estimate_accuracy(session, run)
    assert (estimate.documents, estimate.reviewed, estimate.learned_from) == (2, 2, 0)
    assert agreement.agreement_report(session, run).reviewers == {"ann": 2, "bob": 2}
    assert agreement.agreement_report(session, run).documents == 2
    effect = debate_effect.debate_effect(session, run, "reviewed")
    assert effect.flip_table.whole.total.n == 4
    assert effect.prices["critic"].cost_usd == 2 / 5 * price
    assert coverage.of_shared(session, [run, second], "reviewed") == Coverage(
        1, {"one_run_only": 1, "no_reference": 1, "removed": 6}
    )
    project.store.documents.replace_all(documents)
    assert {name: measured(name) for name in references if name != "latent"} == {
        name: numbers for name, numbers in before.items() if name != "latent"
    }, "the file was imported again"
