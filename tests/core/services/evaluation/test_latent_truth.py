"""Tests of the latent-truth reference: scores, comparisons, its warning, and the required three annotators."""

from __future__ import annotations

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import UsageError
from core.services.evaluation import latent_truth
from core.services.evaluation.evaluation import cell_documents, evaluate
from core.services.evaluation.reference import available_references, reference_names
from core.services.evaluation.run_comparison import comparison_report
from core.services.review import actions
from tests.core.services.sample_world import CODEBOOK, session_on, session_with_runs
from tests.core.store.helpers import make_settings, store_debate, store_debates


def test_latent_truth_of_three_runs_is_a_reference(project):
    # Two runs are correct everywhere, the third errs on d0 to d4; gold has one rater who agrees with the first two.
    gold = {f"d{n}": "a" if n % 2 else "b" for n in range(30)}
    session, runs = session_with_runs(project, gold, {}, {}, {f"d{n}": "ab" for n in range(5)})
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
    session, runs = session_with_runs(project, gold, {}, {f"d{n}": "" for n in range(12)})
    run = session.run(runs[0])
    before = latent_truth.refresh(session, CODEBOOK)
    assert before == ("r0001", "r0002", "rater gold")
    actions.submit(session, runs[0], ["d0"], actions.Attribution("ada"))
    assert latent_truth.refresh(session, CODEBOOK) == ("r0001", "r0002", "rater gold", "reviewer ada")
    assert evaluate(session, run, "latent").n == 12


def test_latent_truth_needs_three_annotators(project):
    session, runs = session_with_runs(project, {"d0": "a", "d1": "b"}, {})
    assert "latent" not in available_references(session, runs[0])
    result = evaluate(session, session.run(runs[0]), "latent")
    assert (result.n, result.basis.warning) == (0, latent_truth.warning(session, CODEBOOK))
    assert result.basis.warning.startswith("An estimated truth needs the labels of 3 raters, reviewers or runs.")
    with pytest.raises(UsageError, match="no reference"):
        reference_names("latent truth")


def test_values_that_the_codebook_does_not_allow_are_no_answers(project):
    ids = [f"d{n}" for n in range(6)]
    sport, politics, local = (Label(name=name, id=name[0]) for name in ("Sport", "Politics", "Local"))
    gold = {rater: {"label": "L"} for rater in ("ann", "bob")}
    project.store.documents.add(Document(id, {"text": id}, gold=gold) for id in ids)
    books = [Codebook(kind="choice", labels=labels) for labels in ((sport, politics), (local, politics, sport))]
    runs = [project.store.runs.create(make_settings(book), ids).run_id for book in (books[0], books[0], books[1])]
    for run, value in zip(runs, "SSL", strict=True):
        store_debates(store_debate(project, run, id, {"judge": {"label": value}}, {"label": value}) for id in ids)
    session = session_on(project)
    assert available_references(session, runs[0])["gold"] == 0
    assert available_references(session, runs[2])["latent"] == 6
    assert "latent" not in available_references(session, runs[0]), "the third verdict is of another codebook"
    for _ in range(2):  # the estimates of both codebooks are kept
        assert evaluate(session, session.run(runs[2]), "latent").n == 6
        assert evaluate(session, session.run(runs[0]), "latent").n == 0
    assert latent_truth.refresh(session, books[1]) == (*runs, "rater ann", "rater bob")
    assert latent_truth.refresh(session, books[0]) == ()
