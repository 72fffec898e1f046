"""Tests of review plans: the number of reviews that a claim needs, and the status after reviews in a project."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from core.codebook import Codebook, Kind, Label, Scale
from core.documents import Document
from core.errors import ProjectError, UsageError
from core.runs import RunRow
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession
from core.services.review import actions, queue, review_plan, sampling_frames
from core.services.review.queue import QueueFilter
from core.services.review.review_plan import PlanStatus, ReviewPlan
from core.services.workspace import Workspace
from core.stats.arrays import is_right
from core.stats.intervals import Estimate, Interval
from tests.core.services.sessions import annotate, copy_project
from tests.core.store.helpers import make_settings, set_gold, store_debate, store_debates

BOOK = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))
CLEAN, STAFF = (label.id for label in BOOK.labels)
SHARE = ReviewPlan("share", CLEAN, 0.12, 0.1)


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a project and its run on 200 documents; in every fourth the word lists misread "a clean record".

    The true share of Clean is one half.
    """
    workspace = Workspace()
    path = tmp_path_factory.mktemp("plan") / "p.duckdb"
    session = workspace.open(path)
    texts = ["a clean bath", "the staff sang", "clean rooms and staff", "a clean record, we hear"]
    session.store.documents.add([Document(f"d{n:03}", {"text": f"{texts[n % 4]} {n}"}) for n in range(200)])
    session.store.codebooks.save(BOOK)
    run_id = annotate(session).run_id
    workspace.close()
    return path, run_id


@pytest.fixture
def world(annotated: tuple[Path, str], workspace: Workspace, tmp_path: Path) -> tuple[ProjectSession, RunRow]:
    """Return a copy of the annotated project and its run with a fixed date, which makes the draws reproducible."""
    path, run_id = annotated
    copy_project(path, tmp_path / "p.duckdb")
    session = workspace.open(tmp_path / "p.duckdb")
    return session, session.run(run_id).model_copy(update={"created_at": 1_763_000_000.0})


def _sizes(session: ProjectSession, run: RunRow, frame: int) -> dict[str, float]:
    sizes = annotation_arrays.frame_sizes(session, run, run.run_id, frame).tolist()
    return dict(zip(session.store.runs.document_ids(run.run_id), sizes, strict=True))


def _review(session: ProjectSession, run: RunRow, count: int) -> None:
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=count), actor="ada")
    records = [document for document in listed.sampling if int(document[1:]) % 4 == 3]
    if records:
        actions.edit(session, run.run_id, records, CLEAN, False, actions.Attribution("ada"))
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)


def test_simulated_reviews_favour_documents_that_differ_from_later_gold(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    before = review_plan._simulation_input(session, run).signals.reason
    set_gold(session.store, {"d000": {"ann": {CLEAN: False}}})
    assert list(np.flatnonzero(review_plan._simulation_input(session, run).signals.reason != before)) == [0]


def test_plan_of_a_share_ends_with_a_claim(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    needed = review_plan.plan_reviews(session, run, SHARE, 0.5)
    finer = review_plan.plan_reviews(session, run, ReviewPlan("share", CLEAN, 0.06, 0.1), 0.5)
    assert needed is not None
    assert finer is not None
    assert 20 <= needed < finer <= 200
    new_plan = ReviewPlan("share", CLEAN, 0.12, 0.1, needed)
    review_plan.save_plan(session, run, new_plan)
    assert review_plan.current_plan(session, run) == new_plan
    assert review_plan.plan_status(session, run, new_plan).estimate.value is None
    status = review_plan.plan_status(session, run, new_plan)
    while not status.enough:
        _review(session, run, 15)
        status = review_plan.plan_status(session, run, new_plan)
    assert status.drawn < 200
    assert status.estimate.interval is not None
    assert 0.5 in status.estimate.interval
    assert status.estimate.interval.high - status.estimate.interval.low <= 0.24
    assert "of the 200 documents are about Clean (95% interval" in review_plan.describe_result(BOOK, status)
    assert review_plan.describe_claim(BOOK, new_plan) == "share of Clean within 12 points"
    review_plan.save_plan(session, run, None)
    assert review_plan.current_plan(session, run) is None


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_simulated_verdicts_are_wrong_as_often_as_expected(kind: Kind) -> None:
    codebook = Codebook(kind=kind, labels=tuple(Label(name=f"Label {n}") for n in range(4)))
    rng = np.random.default_rng(1)
    values = (rng.random((20_000, len(codebook.items))) < 0.05).astype(float)  # one value is much more frequent
    differs = rng.random(values.shape) < 0.3
    signals = sampling_frames.Signals(annotation_arrays.given_labels(codebook, values), differs, differs[:, 0])
    inputs = review_plan._SimulationInput(signals, values)
    for expected, ratio in ((0.1, 4), (0.4, 0.5 / (0.25 / 0.7))):  # at most half are wrong where a role differs
        truth = review_plan._simulate_truth(codebook, inputs, ReviewPlan("correct", "", 0.03, expected), rng)
        wrong = ~is_right(truth, values, kind=kind)
        assert wrong.mean() == pytest.approx(expected, abs=0.01)
        assert wrong[differs].mean() == pytest.approx(ratio * wrong[~differs].mean(), rel=0.2)


def test_queue_is_drawn_for_the_planned_label(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    queue.list_queue(session, run, QueueFilter(sort="queue"), actor="ada")
    review_plan.save_plan(session, run, ReviewPlan("f1", STAFF, 0.1, 0.1, 50))
    queue.list_queue(session, run, QueueFilter(sort="queue"), actor="ada")
    before, after = (_sizes(session, run, frame) for frame in (1, 2))
    assert after["d001"] / after["d000"] > before["d001"] / before["d000"], "only Staff affects the sizes"


def test_f1_is_tested_once_after_the_planned_number_of_reviews(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    needed = review_plan.plan_reviews(session, run, ReviewPlan("f1", CLEAN, 0.2, 0.1), 0.5)
    assert needed is not None
    assert needed <= 200
    new_plan = ReviewPlan("f1", CLEAN, 0.2, 0.1, 60)
    review_plan.save_plan(session, run, new_plan)
    _review(session, run, 40)
    assert not review_plan.plan_status(session, run, new_plan).enough
    _review(session, run, 20)
    status = review_plan.plan_status(session, run, new_plan)
    assert status.enough
    assert status.drawn == new_plan.reviews
    assert status.estimate.interval is not None
    assert 0.8 in status.estimate.interval  # 100 true positives and 50 false positives
    assert review_plan.describe_result(BOOK, status).startswith("F1 of Clean is 0.")
    _review(session, run, 20)
    assert review_plan.plan_status(session, run, new_plan) == status, "later reviews do not change the result"


def test_accepted_verdicts_are_tested_on_even_draws(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    assert review_plan.plan_reviews(session, run, ReviewPlan("error", "", 0.4, 0.2), 0.5) == 36
    loose = ReviewPlan("error", "", 0.45, 0.2, 120)
    _review(session, run, 20)  # reviews before the plan are drawn with unequal probabilities
    review_plan.save_plan(session, run, loose)
    assert review_plan.plan_status(session, run, loose).drawn == 0
    _review(session, run, loose.reviews)
    status = review_plan.plan_status(session, run, loose)
    assert status.drawn == loose.reviews
    assert status.enough
    assert "At most 45% of all verdicts are wrong" in review_plan.describe_result(BOOK, status)
    strict = review_plan.plan_status(session, run, ReviewPlan("error", "", 0.05, 0.01, 10))
    assert strict.accepted is None
    assert review_plan.describe_result(BOOK, strict) == "No verdicts can be accepted with an error of at most 5%."


def test_reviews_after_the_planned_number_do_not_accept_verdicts(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    planned = ReviewPlan("error", "", 0.35, 0.1, 30)
    review_plan.save_plan(session, run, planned)
    _review(session, run, planned.reviews)
    once = review_plan.plan_status(session, run, planned)
    assert once.enough
    assert once.drawn == planned.reviews
    assert review_plan.describe_result(BOOK, once).startswith("No verdicts can be accepted")  # a quarter is wrong
    _review(session, run, 20)
    assert review_plan.plan_status(session, run, planned) == once


def test_documents_reviewed_otherwise_are_not_accepted_by_random_draws(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    picked = [f"d{n:03}" for n in range(3, 160, 4)]  # 40 of the 50 wrong verdicts
    actions.edit(session, run.run_id, picked, CLEAN, False, actions.Attribution("ada"))
    actions.submit(session, run.run_id, picked, actions.Attribution("ada"))
    new_plan = ReviewPlan("error", "", 0.2, 0.05, 40)
    review_plan.save_plan(session, run, new_plan)
    _review(session, run, new_plan.reviews)
    status = review_plan.plan_status(session, run, new_plan)
    assert (status.accepted_documents, status.tested, status.population) == (160, 160, 200)
    assert review_plan.describe_result(BOOK, status) == (
        "At most 20% of all verdicts are wrong (95% confidence): 160 of the 160 documents that were not reviewed "
        "otherwise can be accepted."
    )
    left = [f"d{n:03}" for n in range(180, 200)]
    actions.submit(session, run.run_id, left, actions.Attribution("ada"))
    assert review_plan.plan_status(session, run, new_plan) == status, "later reviews do not change the result"


def test_all_documents_reviewed_give_the_exact_result(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    new_plan = ReviewPlan("f1", CLEAN, 0.2, 0.1, 60)
    review_plan.save_plan(session, run, new_plan)
    for _ in range(4):
        _review(session, run, 50)
    assert review_plan.plan_status(session, run, new_plan).estimate.value == pytest.approx(0.8)


def _other_run(session: ProjectSession) -> RunRow:
    """Return a run with worse word lists, in which "record" is a keyword of Staff."""
    worse = Codebook(labels=(BOOK.labels[0], Label(name="Staff", keywords=("staff", "record"))))
    session.store.codebooks.save(worse)
    return annotate(session)


def test_two_runs_are_compared_on_documents_where_they_differ(world: tuple[ProjectSession, RunRow]) -> None:
    # The first run is right on 12.5% more labels: on Staff in every fourth document.
    session, run = world
    other = _other_run(session)
    coarse, fine = (
        review_plan.plan_reviews(session, run, ReviewPlan("better", "", points, 0, other=other.run_id), 0.5)
        for points in (0.12, 0.06)
    )
    assert coarse is not None
    assert fine is not None
    assert 20 <= coarse < fine <= 200
    with pytest.raises(UsageError, match=r"differ on 12.5% of the labels"):
        review_plan.plan_reviews(session, run, ReviewPlan("better", "", 0.2, 0, other=other.run_id), 0.5)
    new_plan = ReviewPlan("better", "", 0.1, 0, coarse, other=other.run_id)
    review_plan.save_plan(session, run, new_plan)
    assert review_plan.current_plan(session, run) == new_plan
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=20), actor="ada")
    assert sum(int(document[1:]) % 4 == 3 for document in listed.sampling) > 12, (
        "documents on which the runs differ come first"
    )
    frame = session.store.sampling_frames.latest(run.run_id)
    assert frame is not None
    # With 10% of even draws, few are of errors that both runs share: macro F1 was covered in 59% of simulated studies.
    assert frame.basis["even"] == queue.review_settings(session).even
    status = review_plan.plan_status(session, run, new_plan)
    while not status.enough:
        _review(session, run, 15)
        status = review_plan.plan_status(session, run, new_plan)
    assert status.drawn < 100
    assert status.estimate.interval is not None
    assert 0.125 in status.estimate.interval
    assert status.estimate.interval.low > 0
    result = review_plan.describe_result(BOOK, status)
    assert result.startswith(f"{run.title} is better than {other.title}: +")
    assert "points of correct labels, 95% interval" in result
    assert other.run_id in review_plan.describe_claim(BOOK, new_plan)


def test_comparison_counts_the_documents_that_were_drawn_for_it(world: tuple[ProjectSession, RunRow]) -> None:
    # Evenly drawn documents seldom tell the runs apart: the mean of both kinds of draws would be less certain.
    session, run = world
    other = _other_run(session)
    new_plan = ReviewPlan("better", "", 0.1, 0, 40, other=other.run_id)
    _review(session, run, 30)
    review_plan.save_plan(session, run, new_plan)
    status = review_plan.plan_status(session, run, new_plan)
    assert (status.drawn, status.estimate) == (0, Estimate())
    _review(session, run, 25)
    status = review_plan.plan_status(session, run, new_plan)
    assert status.drawn == 25
    assert status.estimate.interval is not None
    assert 0.125 in status.estimate.interval


def test_discarded_documents_count_as_equal_in_a_comparison(world: tuple[ProjectSession, RunRow]) -> None:
    # The share of documents to discard is hardly known: few draws are of documents on which the runs are equal. In 65%
    # to 80% of simulated studies with 20% discards, all intervals of the difference among kept documents covered it.
    session, run = world
    other = _other_run(session)
    new_plan = ReviewPlan("better", "", 0.1, 0, 40, other=other.run_id)
    review_plan.save_plan(session, run, new_plan)
    drawn = queue.list_queue(session, run, QueueFilter(sort="queue", size=40), actor="ada").sampling
    _review(session, run, 40)
    before = review_plan.plan_status(session, run, new_plan)
    discarded = [document for document in drawn if int(document[1:]) % 4 != 3]  # the runs are equal there
    assert discarded
    actions.set_status(session, run.run_id, discarded, "Discarded", actions.Attribution("ada"))
    after = review_plan.plan_status(session, run, new_plan)
    assert (after.estimate, after.discarded) == (before.estimate, len(discarded))
    assert "; discarded documents count as equal." in review_plan.describe_result(BOOK, after)


def test_comparison_needs_another_run(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    with pytest.raises(UsageError, match="r0099"):
        review_plan.plan_reviews(session, run, ReviewPlan("better", "", 0.1, 0, other="r0099"), 0.5)


def test_expected_error_must_be_below_the_bound(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    with pytest.raises(UsageError, match="not below the bound"):
        review_plan.plan_reviews(session, run, ReviewPlan("error", "", 0.05, 0.05), 0.5)


def test_plan_on_a_rating_codebook_speaks_of_ratings() -> None:
    book = Codebook(kind="rating", labels=(Label(name="Fluency"),), scale=Scale(min=1, max=5))
    correct = ReviewPlan("correct", "", 0.05, 0.1)
    assert review_plan.describe_claim(book, correct) == "share of correct ratings within 5 points"
    assert "more correct ratings" in review_plan.describe_claim(
        book, ReviewPlan("better", "", 0.05, 0.1, other="r0001")
    )
    status = PlanStatus(correct, 10, 40, Estimate(0.8, Interval(0.7, 0.9)), enough=True, complete=False)
    assert "of the ratings of 40 documents are correct" in review_plan.describe_result(book, status)


RATED = Codebook(kind="rating", labels=(Label(name="Fluency", id="f"), Label(name="Clarity", id="c")))
TRUE_FLUENCY = (3, 4, 4, 3)
"""Reviewed ratings of fluency in turn. Clarity is always 2."""
FIRST_RUN, SECOND_RUN = (3.5, 3.01, 2.5, 4), (3.25, 5, 4.99, 3)
"""Verdicts on fluency in turn: two right and two wrong ones, and three right and one wrong."""


@pytest.fixture
def rated(workspace: Workspace, tmp_path: Path) -> tuple[ProjectSession, RunRow, RunRow]:
    """Return a project of 40 documents and its two runs, whose verdicts on clarity are half a point off.

    In the first run, a role differs from the wrong verdicts on fluency.
    """
    session = workspace.open(tmp_path / "rated.duckdb")
    ids = [f"d{n:02}" for n in range(40)]
    session.store.documents.add([Document(id, {"text": id}) for id in ids])
    session.store.codebooks.save(RATED)
    runs = []
    for fluency in (FIRST_RUN, SECOND_RUN):
        run = session.store.runs.create(make_settings(RATED, codebook_version=1), ids)
        verdicts = {id: {"f": fluency[n % 4], "c": 2.5} for n, id in enumerate(ids)}
        extracted = {id: {**values, "f": 1} if int(id[1:]) % 4 > 1 else values for id, values in verdicts.items()}
        store_debates(
            store_debate(session.project, run.run_id, id, {"extractor": extracted[id], "judge": values}, values)
            for id, values in verdicts.items()
        )
        runs.append(session.run(run.run_id).model_copy(update={"created_at": 1_763_000_000.0}))
    return session, runs[0], runs[1]


def _rate(session: ProjectSession, run: RunRow, count: int) -> None:
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=count), actor="ada")
    ada = actions.Attribution("ada")
    actions.edit(session, run.run_id, list(listed.sampling), "c", 2, ada)
    for value in set(TRUE_FLUENCY):
        documents = [id for id in listed.sampling if TRUE_FLUENCY[int(id[1:]) % 4] == value]
        actions.edit(session, run.run_id, documents, "f", value, ada)
    actions.submit(session, run.run_id, list(listed.sampling), ada, sampling=listed.sampling)


def _status_after(session: ProjectSession, run: RunRow, planned: ReviewPlan, count: int) -> review_plan.PlanStatus:
    """Return the status of a saved plan after this many reviews."""
    review_plan.save_plan(session, run, planned)
    _rate(session, run, count)
    return review_plan.plan_status(session, run, planned)


def test_rating_is_correct_if_less_than_one_point_off(rated: tuple[ProjectSession, RunRow, RunRow]) -> None:
    session, run, _ = rated
    _rate(session, run, 40)
    status = review_plan.plan_status(session, run, ReviewPlan("correct", "", 0.1, 0.1, 30))
    assert status.estimate == Estimate(0.75, Interval(0.75, 0.75)), "half of fluency and all of clarity"
    assert status.enough
    assert review_plan.describe_result(RATED, status).endswith("of 40 documents are correct."), "exact"
    # 3.5 for 3 and 3.01 for 4 are right; 2.5 for 4 and 4 for 3, a whole point off, are wrong.
    # None of the verdicts on which the roles agree is wrong, too few for a test of a sample, and half of all are.
    status = review_plan.plan_status(session, run, ReviewPlan("error", "", 0.01, 0.005, 30))
    assert (status.accepted, status.accepted_documents, status.drawn) == (2, 20, 40), "exact, as all are reviewed"
    assert "are wrong: 20 documents of 40" in review_plan.describe_result(RATED, status)
    assert review_plan.plan_status(session, run, ReviewPlan("error", "", 0.5, 0.005, 30)).accepted == 0


def test_run_without_errors_is_estimated_as_correct(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=60), actor="ada")
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    assert review_plan.plan_status(session, run, ReviewPlan("correct", "", 0.1, 0.1, 60)).estimate.value == 1.0


def test_interval_of_correct_ratings_contains_their_share(rated: tuple[ProjectSession, RunRow, RunRow]) -> None:
    session, run, _ = rated
    new_plan = ReviewPlan("correct", "", 0.3, 0.3, 30)
    status = _status_after(session, run, new_plan, 30)
    assert status.estimate.interval is not None
    assert 0.75 in status.estimate.interval
    assert "of the ratings of 40 documents are correct" in review_plan.describe_result(RATED, status)


def test_runs_of_ratings_are_compared_by_correct_ratings(rated: tuple[ProjectSession, RunRow, RunRow]) -> None:
    session, run, other = rated
    new_plan = ReviewPlan("better", "", 0.1, 0, 30, other=other.run_id)
    status = _status_after(session, run, new_plan, 40)
    # On fluency (1 0 -1 -1) / 2 in turn; 5 for 4 is wrong, 4.99 is right. Clarity does not differ.
    assert status.estimate.value == pytest.approx((0 + 1 - 1 - 1) / 2 / 4)
    assert review_plan.describe_result(RATED, status).startswith(
        f"{other.title} is better than {run.title}: +12.5 points"
    )


def test_accepted_ratings_have_no_dimension_that_is_one_point_off(rated: tuple[ProjectSession, RunRow, RunRow]) -> None:
    session, run, _ = rated
    new_plan = ReviewPlan("error", "", 0.3, 0.05, 30)
    status = _status_after(session, run, new_plan, 30)
    # All 20 verdicts on which the roles agree are right, although they are up to .99 points off; the others are wrong.
    assert (status.accepted, status.accepted_documents, status.estimate.value) == (2, 20, 0.0)
    assert review_plan.describe_result(RATED, status).endswith(
        "of verdicts on which all roles agree are wrong (95% confidence): 20 documents of 40 can be accepted."
    )


def test_claim_after_discards_is_about_the_documents_that_would_be_kept(world: tuple[ProjectSession, RunRow]) -> None:
    session, run = world
    ada = actions.Attribution("ada")
    _review(session, run, 60)
    before = review_plan.plan_status(session, run, SHARE)
    sampling = queue.list_queue(session, run, QueueFilter(sort="queue", size=20), actor="ada").sampling
    actions.set_status(session, run.run_id, list(sampling), "Discarded", ada, sampling=sampling)
    status = review_plan.plan_status(session, run, SHARE)
    assert (status.drawn, status.discarded, status.population) == (80, 20, 200)
    assert before.estimate.interval is not None
    assert status.estimate.interval is not None
    width = before.estimate.interval.high - before.estimate.interval.low
    assert status.estimate.interval.high - status.estimate.interval.low < 1.6 * width
    assert "of the 200 documents without discarded ones are about Clean" in review_plan.describe_result(BOOK, status)


def test_nothing_is_claimed_if_every_document_is_discarded(rated: tuple[ProjectSession, RunRow, RunRow]) -> None:
    session, run, _ = rated
    actions.set_status(session, run.run_id, [f"d{n:02}" for n in range(40)], "Discarded", actions.Attribution("ada"))
    status = review_plan.plan_status(session, run, ReviewPlan("error", "", 0.1, 0.02, reviews=10))
    assert (status.complete, status.discarded, status.drawn, status.enough) == (True, 40, 0, False)


@pytest.mark.parametrize("claim", ["share", "f1"])
def test_plan_for_a_label_that_ratings_do_not_have_is_an_error(
    claim: Literal["share", "f1"], rated: tuple[ProjectSession, RunRow, RunRow]
) -> None:
    session, run, _ = rated
    review_plan.save_plan(session, run, ReviewPlan(claim, "f", 0.05, 0.1))
    with pytest.raises(ProjectError, match="plan of a review"):
        review_plan.current_plan(session, run)


@pytest.mark.parametrize(
    "changed", [{"label": "unknown"}, {"points": "many"}, {"claim": "odd"}, {"claim": "correct", "label": "unknown"}]
)
def test_plan_that_another_program_changed_is_an_error(
    changed: dict[str, str], world: tuple[ProjectSession, RunRow]
) -> None:
    session, run = world
    plan = ReviewPlan("share", run.settings.codebook.labels[0].id, 0.05, 0.1)
    review_plan.save_plan(session, run, plan)
    assert review_plan.current_plan(session, run) == plan
    session.store.settings.set(review_plan._setting(run), {**asdict(plan), **changed})
    with pytest.raises(ProjectError, match="plan of a review"):
        review_plan.current_plan(session, run)
