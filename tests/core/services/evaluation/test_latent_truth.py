"""Tests of the latent-truth reference: scores, comparisons, its warning, and the required three annotators."""

from __future__ import annotations

import asyncio

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import UsageError
from core.runs import RoleModel
from core.services.evaluation import latent_truth
from core.services.evaluation.evaluation import cell_documents, evaluate
from core.services.evaluation.reference import available_references, reference_names
from core.services.evaluation.run_comparison import comparison_report
from core.services.review import actions
from tests.core.services.sample_world import CODEBOOK, both, session_on, session_with_runs
from tests.core.services.sessions import decide
from tests.core.store.helpers import ROLES, make_settings, store_debate, store_debates

MODELS = ("builtin/lexical", "openai/gpt", "local/llama")


def test_latent_truth_of_three_runs_is_a_reference(project):
    # Two runs are correct everywhere, the third errs on d0 to d4; gold has one rater who agrees with the first two.
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(30)}
    session, runs = session_with_runs(project, gold, {}, {}, {f"d{n}": "ab" for n in range(5)}, models=MODELS)
    references = available_references(session, runs[2])
    assert references["latent"] == 30
    assert list(references)[-1] == "latent"
    result = evaluate(session, session.run(runs[2]), "latent")
    assert (result.n, result.excluded) == (30, 0)
    counts = result.scores.counts
    assert (counts["Alpha"].fp, counts["Beta"].fp) == (3, 2)
    assert evaluate(session, session.run(runs[0]), "latent").scores.main.value == 1
    assert "r0001, r0002, r0003 and rater gold" in result.describe_basis()
    assert "share errors confirm each other" in result.basis.warning
    assert [
        row.document_id for row in cell_documents(session, session.run(runs[2]), "a", "fp", reference="latent")
    ] == ["d0", "d2", "d4"]
    report = comparison_report(session, runs[1:], "latent")
    assert report["n"] == 30
    assert report["reports"][0]["basis"]["warning"] == latent_truth.warning(session, CODEBOOK)


def test_later_answers_change_the_latent_truth(project):
    gold = {f"d{n}": "a" for n in range(12)}
    session, runs = session_with_runs(project, gold, {}, {f"d{n}": "" for n in range(12)}, models=MODELS[:2])
    run = session.run(runs[0])
    before = latent_truth.refresh(session, CODEBOOK)
    assert before == ("r0001", "r0002", "rater gold")
    actions.submit(session, runs[0], ["d0"], actions.Attribution("ada"))
    assert latent_truth.refresh(session, CODEBOOK) == ("r0001", "r0002", "rater gold", "reviewer ada")
    assert evaluate(session, run, "latent").n == 12


def test_runs_that_share_a_model_are_one_annotator(project):
    # Four runs of the word list err on d0 to d4, the rater and the reviewer do not. As four annotators the runs
    # outvote people; as one they do not: 55 of the 60 labels of each run are right.
    right = {f"d{n}": "a" if n % 2 else "b" for n in range(30)}
    errors = {f"d{n}": "ab" for n in range(5)}
    session, runs = session_with_runs(project, right, errors, errors, errors, errors)
    decide(session, runs[0], {id: both(present) for id, present in right.items()}, actions.Attribution("ann"))
    assert latent_truth.refresh(session, CODEBOOK) == (runs[3], "rater gold", "reviewer ann")
    for run in (runs[0], runs[3]):
        assert evaluate(session, session.run(run), "latent").scores["accuracy"].value == pytest.approx(55 / 60)


def test_independent_runs_are_the_latest_finished_ones_without_a_common_model(project):
    models = ("builtin/lexical", "openai/gpt", "builtin/lexical@minilm", "local/gpt", "local/llama")
    session, runs = session_with_runs(project, {"d0": "a"}, *[{}] * len(models), models=models)
    assert latent_truth.independent_runs(session, CODEBOOK) == [runs[2], runs[3], runs[4]]
    asyncio.run(project.sink.state(runs[3], "paused"))
    assert latent_truth.independent_runs(session, CODEBOOK) == [runs[1], runs[2], runs[4]]
    mixed = {"extractor": "local/llama", "critic": "local/llama", "judge": "local/qwen"}
    settings = make_settings(CODEBOOK, role_models={role: RoleModel.parse(spec) for role, spec in mixed.items()})
    latest = project.store.runs.create(settings, ["d0"]).run_id
    store_debates([store_debate(project, latest, "d0", {"judge": None}, both("a"))])
    assert latent_truth.independent_runs(session, CODEBOOK) == [runs[1], runs[2], runs[4]]
    asyncio.run(project.sink.state(latest, "done"))
    assert latent_truth.independent_runs(session, CODEBOOK) == [runs[1], runs[2], latest]
    other = Codebook(labels=(Label(name="Gamma"),))
    assert latent_truth.independent_runs(session, other) == []


def test_independent_run_is_the_one_with_most_documents_of_its_model(project):
    session, (full, other) = session_with_runs(project, {"d0": "a", "d1": "b"}, {}, {}, models=MODELS[:2])
    settings = session.run(full).settings
    pilot = project.store.runs.create(settings, ["d0"]).run_id
    store_debates([store_debate(project, pilot, "d0", {"judge": None}, both("a"))])
    asyncio.run(project.sink.state(pilot, "done"))
    assert latent_truth.independent_runs(session, CODEBOOK) == [full, other]


def test_latent_truth_changes_when_a_run_finishes(project):
    session, runs = session_with_runs(project, {f"d{n}": "a" for n in range(4)}, {}, {}, models=MODELS[:2])
    asyncio.run(project.sink.state(runs[1], "running"))
    run = session.run(runs[0])
    assert evaluate(session, run, "latent").n == 0
    asyncio.run(project.sink.state(runs[1], "done"))
    assert evaluate(session, run, "latent").n == 4


def test_latent_truth_needs_three_annotators(project):
    session, runs = session_with_runs(project, {"d0": "a", "d1": "b"}, {})
    assert "latent" not in available_references(session, runs[0])
    result = evaluate(session, session.run(runs[0]), "latent")
    assert (result.n, result.basis.warning) == (0, latent_truth.warning(session, CODEBOOK))
    assert result.basis.warning == (
        "An estimated truth needs the labels of 3 independent annotators on the same documents (raters, reviewers, and "
        "finished runs without a common model); this project has r0001 and rater gold."
    )
    with pytest.raises(UsageError, match="no reference"):
        reference_names("latent truth")


def test_values_that_the_codebook_does_not_allow_are_no_answers(project):
    ids = [f"d{n}" for n in range(6)]
    sport, politics, local = (Label(name=name, id=name[0]) for name in ("Sport", "Politics", "Local"))
    gold = {rater: {"label": "L"} for rater in ("ann", "bob")}
    project.store.documents.add(Document(id, {"text": id}, gold=gold) for id in ids)
    books = [Codebook(kind="choice", labels=labels) for labels in ((sport, politics), (local, politics, sport))]
    runs = []
    for book, model, value in zip((books[0], books[0], books[1]), MODELS, "SSL", strict=True):
        settings = make_settings(book, role_models=dict.fromkeys(ROLES, RoleModel.parse(model)))
        runs.append(project.store.runs.create(settings, ids).run_id)
        store_debates(store_debate(project, runs[-1], id, {"judge": {"label": value}}, {"label": value}) for id in ids)
        asyncio.run(project.sink.state(runs[-1], "done"))
    session = session_on(project)
    assert available_references(session, runs[0])["gold"] == 0
    assert available_references(session, runs[2])["latent"] == 6
    assert "latent" not in available_references(session, runs[0]), "the third verdict is of another codebook"
    for _ in range(2):  # the estimates of both codebooks are kept
        assert evaluate(session, session.run(runs[2]), "latent").n == 6
        assert evaluate(session, session.run(runs[0]), "latent").n == 0
    assert latent_truth.refresh(session, books[1]) == (*runs, "rater ann", "rater bob")
    assert latent_truth.refresh(session, books[0]) == ()
