"""Tests of accuracy estimates of a run from reviews in a project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.codebook import Codebook, Label, Scale
from core.documents import Document
from core.runs import RunRow
from core.services.evaluation.evaluation import evaluate
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, actions, queue
from core.services.review.queue import QueueFilter, ReviewSettings
from core.services.workspace import Workspace
from core.stats.intervals import Estimate
from core.store.project import Project
from tests.core.services.sample_world import build, session_on
from tests.core.services.sessions import annotate, decide
from tests.core.store.helpers import make_settings, store_debate, store_debates

BOOK = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))
CLEAN, STAFF = (label.id for label in BOOK.labels)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory):
    """Return a run on 48 documents; in every fourth the word lists take "a clean record" for cleanliness."""
    workspace = Workspace()
    session = workspace.open(tmp_path_factory.mktemp("proof") / "p.duckdb")
    texts = ["a clean bath", "the staff sang", "clean rooms and staff", "a clean record, we hear"]
    documents = [Document(f"d{n:02}", {"text": f"{texts[n % 4]} {n}"}) for n in range(48)]
    session.store.documents.add(documents)
    session.store.codebooks.save(BOOK)
    yield session, annotate(session).model_copy(update={"created_at": 1_763_000_000.0})  # makes the draws reproducible
    workspace.close()


def _review(session: ProjectSession, run: RunRow, count: int) -> None:
    """Review the next documents of the queue."""
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=count), actor="ada")
    wrong = [id for id in listed.sampling if int(id[1:]) % 4 == 3]  # the word lists are right on the others
    actions.edit(session, run.run_id, wrong, CLEAN, False, actions.Attribution("ada"))
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)


def test_accuracy_interval_narrows_to_certainty(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    queue.save_review_settings(session, ReviewSettings(even=0.5))
    empty = accuracy_estimate.estimate_accuracy(session, run)
    assert (empty.documents, empty.reviewed, empty.drawn, empty.has_interval) == (48, 0, 0, False)
    assert empty.needed_reviews() is None
    assert empty.missing == 5
    assert empty.labels[0].naive == pytest.approx(0.75)  # share by the word lists; the true share is 0.5
    _review(session, run, 24)
    result = accuracy_estimate.estimate_accuracy(session, run)
    assert result.reviewed == 24
    assert result.drawn == 24
    assert result.right.interval is not None
    assert 0.875 in result.right.interval  # 12 of 96 labels are wrong
    clean = result.labels[0]
    assert clean.powered.interval is not None
    assert clean.sampled.interval is not None
    assert 0.5 in clean.powered.interval
    assert clean.naive == pytest.approx(0.75)
    scored = evaluate(session, run, "reviewed")
    assert scored.scores["accuracy"] == result.right  # the scores use the same estimator
    assert scored.scores["macro_f1"] == result.f1
    assert scored.scores.labels[result.labels[0].name]["f1"] == result.labels[0].f1
    assert (scored.basis.design, scored.basis.units, scored.basis.population) == ("sample", result.drawn, 48)
    assert f"estimated for 48 documents from {result.drawn} random draws" in scored.describe_basis()
    assert (result.needed_reviews(0.01) or 0) > (result.needed_reviews(0.25) or 0)
    assert result.needed_reviews(2.0) == 0
    assert (result.needed_reviews(0.001) or 0) <= 24
    actions.set_status(session, run.run_id, ["d00"], "Discarded", actions.Attribution("ada"))
    discarded = accuracy_estimate.estimate_accuracy(session, run)
    assert (discarded.documents, discarded.drawn, discarded.discarded) == (48, 24, 1)
    assert discarded.labels[0].powered.interval is not None, "the verdicts still help"
    assert discarded.labels[0].sampled.interval is not None
    widths = [each.interval.high - each.interval.low for each in (clean.powered, discarded.labels[0].powered)]
    assert widths[1] < 1.2 * widths[0]
    basis = evaluate(session, run, "reviewed").describe_basis()
    assert "estimated for 48 documents without discarded ones from 24 random draws" in basis
    actions.undo(session, actions.Attribution("ada"))
    _review(session, run, 24)
    complete = accuracy_estimate.estimate_accuracy(session, run)
    assert (complete.reviewed, complete.right.value) == (48, pytest.approx(0.875))
    assert complete.right.interval is not None
    assert complete.right.interval.high - complete.right.interval.low < 1e-9
    assert evaluate(session, run, "reviewed").describe_basis().endswith("all are reviewed, so the scores are exact")
    assert complete.labels[0].powered.value == pytest.approx(0.5)


def test_documents_chosen_by_hand_are_excluded_from_the_estimate(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add([Document(f"d{n:02}", {"text": "clean"}) for n in range(20)])
    session.store.codebooks.save(BOOK)
    run = annotate(session)
    actions.submit(session, run.run_id, [f"d{n:02}" for n in range(10)])
    result = accuracy_estimate.estimate_accuracy(session, run)
    assert (result.reviewed, result.drawn, result.right.value) == (10, 0, None)
    scored = evaluate(session, run, "reviewed")
    assert (scored.n, scored.basis.design, scored.scores["accuracy"].interval) == (10, "by_hand", None)
    assert scored.basis.sentence == "not a random sample: no interval for the others"
    assert (scored.basis.units, scored.basis.population) == (10, 20)
    drawn = queue.list_queue(session, run, QueueFilter(sort="queue", size=2), actor=actions.default_reviewer()).sampling
    actions.submit(session, run.run_id, list(drawn), sampling=drawn)
    few = accuracy_estimate.estimate_accuracy(session, run)
    assert (few.drawn, few.missing, few.right) == (2, 3, Estimate()), "two draws tell nothing about the other documents"


def test_documents_that_the_queue_drew_for_another_reviewer_are_no_random_draws(project: Project) -> None:
    documents = [f"d{n:02}" for n in range(40)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run_id = project.store.runs.create(make_settings(BOOK), documents).run_id
    verdict = {CLEAN: True, STAFF: True}
    store_debates(store_debate(project, run_id, id, {"judge": None}, verdict) for id in documents)
    session = session_on(project)
    run, ada = session.run(run_id), actions.Attribution("ada")
    drawn = queue.list_queue(session, run, QueueFilter(sort="queue", size=20), actor="ada").sampling
    actions.submit(session, run_id, list(drawn), ada, sampling=drawn)
    actions.set_status(session, run_id, [next(id for id in documents if id not in drawn)], "Discarded", ada)
    decide(session, run_id, dict.fromkeys(list(drawn)[:6], verdict), actions.Attribution("ben"))
    for reference in ("reviewed", "reviewed@ada"):
        basis = evaluate(session, run, reference).basis
        assert (basis.design, basis.units, basis.discarded) == ("sample", 20, 1)
    chosen = evaluate(session, run, "reviewed@ben")
    assert (chosen.n, chosen.basis.design, chosen.basis.discarded) == (6, "by_hand", 0)
    assert chosen.scores["accuracy"].interval is None


def test_documents_reviewed_before_a_label_was_added_are_counted_apart(workspace: Workspace, tmp_path: Path) -> None:
    session = workspace.open(tmp_path / "p.duckdb")
    session.store.documents.add([Document(f"d{n:02}", {"text": "clean bar"}) for n in range(8)])
    session.store.codebooks.save(BOOK)
    actions.submit(session, annotate(session).run_id, ["d00", "d01", "d02"])
    more = BOOK.model_copy(update={"labels": (*BOOK.labels, Label(name="Bar", keywords=("bar",)))})
    session.store.codebooks.save(more)
    result = accuracy_estimate.estimate_accuracy(session, annotate(session))
    assert (result.documents, result.reviewed, result.undecided) == (8, 0, 3)


def test_accuracy_of_choices_is_per_label_and_of_ratings_by_scale() -> None:
    choice = Codebook(kind="choice", labels=(Label(name="A"), Label(name="B")))
    assert accuracy_estimate._expand(choice, np.array([[1.0], [0.0]])).tolist() == [[0, 1], [1, 0]]
    rating = Codebook(kind="rating", labels=(Label(name="Fluent"), Label(name="True", scale=Scale(min=0, max=2))))
    assert accuracy_estimate._expand(rating, np.array([[3.0, 0.0], [5.0, 1.0]])).tolist() == [[0.5, 0.0], [1.0, 0.5]]


def test_label_of_all_documents_but_the_discarded_has_a_share_of_one(project: Project) -> None:
    documents = [f"d{n:02}" for n in range(40)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(BOOK), documents)
    verdicts = {id: {CLEAN: True, STAFF: n % 8 == 0} for n, id in enumerate(documents)}
    store_debates(store_debate(project, run.run_id, id, {"judge": None}, verdict) for id, verdict in verdicts.items())
    session, ada = session_on(project), actions.Attribution("ada")
    finished = session.run(run.run_id)
    sampling = queue.list_queue(session, finished, QueueFilter(sort="queue", size=20), actor="ada").sampling
    actions.submit(session, run.run_id, list(sampling), ada, sampling=sampling)
    actions.set_status(session, run.run_id, [next(id for id in documents if id not in sampling)], "Discarded", ada)
    label = accuracy_estimate.estimate_accuracy(session, finished).labels[0]
    assert label.powered.value == pytest.approx(1.0)


def test_estimate_counts_the_documents_that_others_have_not_replaced(project: Project) -> None:
    session, run_id = session_on(project), build(project)
    counts = []
    for kept in (8, 3, 0):
        project.store.documents.replace_all([*project.store.documents.page(0, kept), Document("new", {"text": "New."})])
        estimate = accuracy_estimate.estimate_accuracy(session, session.run(run_id))
        counts.append(estimate.present)
    assert counts == [8, 3, 0]
    assert estimate.documents == 0


def test_rating_is_correct_if_it_is_less_than_a_point_off(project: Project) -> None:
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"),))
    documents = [f"d{n:02}" for n in range(12)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(codebook), documents)
    mean = {"c": 3.3}
    roles = {"extractor": mean, "critic": None, "judge": mean}
    store_debates(store_debate(project, run.run_id, id, roles, mean) for id in documents)
    session = session_on(project)
    finished = session.run(run.run_id)
    listed = queue.list_queue(session, finished, QueueFilter(sort="queue", size=12), actor="ada")
    ada = actions.Attribution("ada")
    actions.edit(session, run.run_id, documents[:2], "c", 5, ada)
    actions.edit(session, run.run_id, documents[2:8], "c", 4, ada)
    actions.submit(session, run.run_id, list(listed.sampling), ada, sampling=listed.sampling)
    result = accuracy_estimate.estimate_accuracy(session, finished)
    assert result.right.value == pytest.approx(10 / 12)
    assert evaluate(session, finished, "reviewed").scores["near"].value == pytest.approx(10 / 12)


def test_accuracy_of_ratings_is_that_of_the_scores(project: Project) -> None:
    codebook = Codebook(kind="rating", labels=(Label(name="Clarity", id="c"), Label(name="Depth", id="d")))
    documents = [f"d{n:02}" for n in range(40)]
    project.store.documents.add(Document(id, {"text": id}) for id in documents)
    run = project.store.runs.create(make_settings(codebook), documents)
    values = {id: {"c": 1.0 + n % 5, "d": 1.0 + n % 3} for n, id in enumerate(documents)}
    roles = {id: {"extractor": values[id], "critic": None, "judge": values[id]} for id in documents}
    store_debates(store_debate(project, run.run_id, id, roles[id], values[id]) for id in documents)
    session = session_on(project)
    finished = session.run(run.run_id)
    sampling = queue.list_queue(session, finished, QueueFilter(sort="queue", size=20), actor="ada").sampling
    ada = actions.Attribution("ada")
    actions.edit(session, run.run_id, list(sampling)[::3], "c", 2, ada)
    actions.submit(session, run.run_id, list(sampling), ada, sampling=sampling)
    near, right = (
        evaluate(session, finished, "reviewed").scores["near"],
        accuracy_estimate.estimate_accuracy(session, finished).right,
    )
    assert near.interval is not None
    assert right.interval is not None
    assert (right.value, right.interval.low, right.interval.high) == pytest.approx(
        (near.value, near.interval.low, near.interval.high)
    )
