"""Tests of the panels below the review: accuracy estimate, suggested examples, classifier."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app.screens.review import accuracy, progress
from app.screens.review.accuracy import accuracy_sentence
from app.screens.review.agreement import _observed_html
from app.screens.review.progress import plan_sentence
from app.state import ReviewState
from app.widgets import codebook_versions
from core.codebook import Codebook, Kind, Label
from core.documents import Document
from core.services.evaluation import annotation_arrays
from core.services.lab import accepted_changes
from core.services.lab.accepted_changes import AcceptedChanges
from core.services.lab.trials import effect_of_change
from core.services.project_session import ProjectSession
from core.services.review import actions, queue, review_plan
from core.services.review.accuracy_estimate import AccuracyEstimate
from core.services.review.queue import QueueFilter
from core.services.review.review_plan import ReviewPlan
from core.services.runs import planning
from core.services.workspace import Workspace
from core.stats.comparison import Side
from core.stats.intervals import Estimate, Interval
from core.stats.sampling import WeightedSample
from tests.app.studio import HOSTILE, html, studio
from tests.core.services.sessions import annotate

pytestmark = pytest.mark.usefixtures("training")

BOOK = Codebook(labels=(Label(name="Price <b>", keywords=("fee",)), Label(name="Staff", keywords=("staff",))))
PRICE = BOOK.labels[0].id
NONE = Estimate()


def _accepted_changes_sentence(corrected: int, regressed: int, labelled: int = 40, undecided: int = 0) -> str:
    """Return the sentence on a trial of 40 documents; half of them have the label Staff."""
    reference = np.array([[0, n % 2] for n in range(40)], dtype=np.float64)
    before, after = reference.copy(), reference.copy()
    before[:corrected, 1] = 1 - before[:corrected, 1]
    after[corrected : corrected + regressed, 1] = 1 - after[corrected : corrected + regressed, 1]
    after[40 - undecided :] = np.nan
    documents = [f"d{n}" for n in range(40)]
    sides = [Side(name, name, values) for name, values in zip(accepted_changes.NAMES, (before, after), strict=True)]
    result = effect_of_change(documents, reference, *sides, BOOK)
    return codebook_versions.sentence(AcceptedChanges((), labelled, result=result))


def test_accepted_changes_are_advised_against_only_after_a_significant_loss() -> None:
    loss = _accepted_changes_sentence(1, 12)
    assert (
        "on all 40 labelled documents: corrects 1 error, introduces 12. The codebook with the accepted changes is"
        in loss
    )
    assert "Undo them" in loss
    assert "Undo them" not in _accepted_changes_sentence(1, 2)


def test_accepted_changes_claim_no_gain_from_the_documents_that_led_to_them() -> None:
    gain = _accepted_changes_sentence(14, 0)
    assert "better" not in gain
    assert gain.endswith("Some of these documents led to the changes. Expect less on others.")
    assert "Expect less" not in _accepted_changes_sentence(0, 0)


def test_accepted_changes_state_which_labelled_documents_were_not_used() -> None:
    sentence = _accepted_changes_sentence(14, 0, labelled=800)
    assert "on 40 of 800 labelled documents (at most 500, without held-out ones and sources of examples): " in sentence


def test_accepted_changes_state_which_documents_the_score_leaves_out() -> None:
    assert "on 38 of 40 shared documents: " in _accepted_changes_sentence(1, 12, undecided=2)


def _estimate(**fields: object) -> AccuracyEstimate:
    known: dict[str, object] = {
        "documents": 400,
        "present": 400,
        "reviewed": 0,
        "drawn": 0,
        "discarded": 0,
        "learned_from": 0,
        "right": NONE,
        "f1": NONE,
        "labels": (),
        "sample": WeightedSample(np.full(12, 1 / 400), 400),
    }
    return AccuracyEstimate(**(known | fields))  # type: ignore[arg-type]


def test_accuracy_sentence_names_the_next_step() -> None:
    assert "No document has a verdict" in accuracy_sentence(_estimate(documents=0), "multilabel")
    assert "The documents of this run were replaced" in accuracy_sentence(
        _estimate(documents=0, present=0), "multilabel"
    )
    trained = _estimate(documents=0, learned_from=9)
    assert "were used as examples or for training" in accuracy_sentence(trained, "multilabel")
    nothing_kept = _estimate(reviewed=400, discarded=400)
    assert accuracy_sentence(nothing_kept, "multilabel") == "All documents with a verdict are discarded."
    assert "Submit 5 more documents in the order of the queue" in accuracy_sentence(_estimate(), "multilabel")
    assert "Not counted: 34 documents" in accuracy_sentence(_estimate(undecided=34), "multilabel")
    assert "Submit 1 more document in the order" in accuracy_sentence(_estimate(drawn=4), "multilabel")
    assert "Review more of the queue" in accuracy_sentence(_estimate(drawn=9), "multilabel")
    known = Estimate(0.918, Interval(0.874, 0.95))
    sentence = accuracy_sentence(_estimate(reviewed=60, drawn=12, right=known), "multilabel")
    assert "<b>91.8%</b> of labels are correct, 95% interval 87.4% to 95.0%" in sentence
    assert "Review about 7 more for a width of 6 points" in sentence
    assert "All 400 documents with a verdict are reviewed" in accuracy_sentence(_estimate(reviewed=400), "multilabel")
    assert "All 400 documents with a verdict are reviewed" in accuracy_sentence(
        _estimate(reviewed=400, right=known), "multilabel"
    )
    assert "of ratings are correct" in accuracy_sentence(_estimate(reviewed=400, right=known), "rating")


@pytest.mark.parametrize(("kind", "name"), [("rating", "Ratings correct"), ("choice", "Labels correct")])
def test_share_of_correct_values_is_named_like_the_values(kind: Kind, name: str) -> None:
    assert accuracy._metrics(_estimate(), kind)[0].name == name


@pytest.mark.parametrize(("reviewed", "drawn"), [(60, 12), (400, 400)])
def test_accuracy_sentence_names_reviewed_documents_that_may_have_shaped_the_version(reviewed: int, drawn: int) -> None:
    known = Estimate(0.918, Interval(0.874, 0.95))
    estimate = _estimate(reviewed=reviewed, drawn=drawn, right=known, shaped_by=9)
    assert f" {estimate.caveat}." in accuracy_sentence(estimate, "multilabel")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProjectSession]:
    with studio(tmp_path, monkeypatch) as workspace:
        session = workspace.open(tmp_path / "p.duckdb")
        texts = [f"A fee again, {HOSTILE}", *(f"The staff sang {n}" for n in range(8))]
        session.store.documents.add([Document(f"d{n}", {"text": text}) for n, text in enumerate(texts)])
        version = session.store.codebooks.save(BOOK)
        settings = planning.build_settings(planning.Plan(protocol="single"), BOOK, version, session.models)
        (run,) = planning.create_runs(session, settings, session.store.documents.ids())
        session.start_or_resume(run.run_id).result(60)
        yield session


def _page() -> None:
    from app import context
    from app.screens.review import progress
    from core.services.evaluation import annotation_arrays

    (session,) = context.workspace().sessions()
    progress.draw(session, annotation_arrays.ranked_runs(session)[0], "d0", "ada")  # type: ignore[arg-type]


def test_adds_a_correction_as_an_example_in_one_click(session: ProjectSession) -> None:
    run = annotation_arrays.ranked_runs(session)[0]
    at = AppTest.from_function(_page, default_timeout=60).run()
    assert "Suggested example" not in html(at)
    actions.edit(session, run.run_id, ["d0"], PRICE, False, actions.Attribution("ada"))
    at.run()
    assert "Price &lt;b&gt;" in html(at)
    assert "<img" not in html(at)
    assert "for a first estimate of the accuracy" in html(at)  # below the suggestion
    next(button for button in at.button if button.label == "Add as exclude example").click().run()
    assert not at.exception
    latest = session.store.codebooks.latest()
    assert latest is not None
    assert latest.number == 2
    assert session.store.events.all(kinds=["codebook"])[0].actor == "ada"
    assert latest.codebook.label(PRICE).exclude[0].startswith("A fee again")
    assert "Saved as version 2 of the codebook" in html(at)
    assert "for a first estimate of the accuracy" in html(at)
    at.run()
    assert "Suggested example" not in html(at)  # no further suggestion


def test_suggested_example_stays_until_it_is_dismissed(session: ProjectSession) -> None:
    def page() -> None:
        from app import context
        from app.screens.review import progress
        from core.services.evaluation import annotation_arrays

        (session,) = context.workspace().sessions()
        progress.draw(session, annotation_arrays.ranked_runs(session)[0], "d3", "ada")  # type: ignore[arg-type]

    run = annotation_arrays.ranked_runs(session)[0]
    actions.edit(session, run.run_id, ["d0"], PRICE, False, actions.Attribution("ada"))
    actions.submit(session, run.run_id, ["d1", "d2"])
    at = AppTest.from_function(page, default_timeout=60)
    key = ReviewState.corrected_documents.key
    at.session_state[key] = ("d0",)
    assert "Suggested example" in html(at.run())
    at.session_state[key] = ("d2", "d1", "d0")  # two more documents without a correction are submitted
    assert "Suggested example" in html(at.run())
    assert at.session_state[key] == ("d0",)
    at.button(key="review-example-dismiss").click().run()
    assert not at.exception
    assert "Suggested example" not in html(at)


def test_accuracy_estimate_and_classifier(session: ProjectSession) -> None:
    run = annotation_arrays.ranked_runs(session)[0]
    at = AppTest.from_function(_page, default_timeout=60).run()
    next(button for button in at.button if button.label == "Accuracy and classifier").click().run()
    assert "Submit 5 more documents to train it." in html(at)
    assert "No learning curve yet" in html(at)
    actions.submit(session, run.run_id, [f"d{n}" for n in range(9)], actions.Attribution("ada"))
    session.trainer.wait(60)
    at.run()
    next(button for button in at.button if button.label == "Accuracy and classifier").click().run()
    shown = html(at)
    assert "Trained on 9 documents with codebook version 1" in shown
    assert "of half of them changes it by" in shown
    assert "harder than most" not in shown  # all documents are reviewed
    assert "more review" not in shown
    assert "No learning curve yet" not in shown
    assert "The band is the 95% interval." in shown
    assert '<th scope="col">documents</th>' in shown  # the table behind the chart
    assert "<td>7</td><td>1.0</td>" in shown  # five folds leave 7 of 9 documents to train on
    assert "Combined estimate" in shown
    assert "All documents with a verdict are reviewed, so the estimates are exact." in shown
    assert "100.0% to 100.0%" not in shown
    assert "Price &lt;b&gt;" in shown


def _buttons_page() -> None:
    from app import context
    from app.screens.review import progress

    progress._classifier_buttons(context.workspace().sessions()[0])  # type: ignore[arg-type]


def test_run_of_the_classifier_is_shown_although_a_new_run_was_being_set_up(
    session: ProjectSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, opened = annotation_arrays.ranked_runs(session)[0], []
    actions.submit(session, run.run_id, [f"d{n}" for n in range(9)], actions.Attribution("ada"))
    session.trainer.wait(60)
    monkeypatch.setattr(progress, "open_page", opened.append)
    at = AppTest.from_function(_buttons_page, default_timeout=60)
    at.session_state["run_setup_open"] = True
    at.run().button(key="classifier-annotate").click().run()
    assert (opened, at.session_state["run_id"]) == (["run"], "r0002")
    assert not at.session_state["run_setup_open"]


def _import_page() -> None:
    from app import context
    from app.screens.review import progress

    progress._imported_classifier(context.workspace().sessions()[0])  # type: ignore[arg-type]


def test_refuses_a_file_that_is_not_a_classifier(session: ProjectSession) -> None:
    at = AppTest.from_function(_import_page, default_timeout=60).run()
    at.file_uploader(key="classifier-import").set_value(("odd.skops", b"nothing", "application/zip")).run()
    assert "odd.skops is not a classifier file." in html(at)
    assert session.store.classifiers.load() is None


def test_plan_of_a_completed_review_asks_for_no_more_reviews(session: ProjectSession) -> None:
    run = annotation_arrays.ranked_runs(session)[0]
    actions.submit(session, run.run_id, session.store.documents.ids(), actions.Attribution("ada"))
    at = AppTest.from_function(_page, default_timeout=60).run()
    at.button(key="review-plan-open").click().run()
    assert (
        "All 9 documents with a verdict are reviewed: <b>100.0%</b> of labels are correct. No plan is needed."
        in html(at)
    )
    assert "plan-start" not in {button.key for button in at.button}
    review_plan.save_plan(session, run, review_plan.ReviewPlan("correct", "", 0.1, 0.1, 25))
    at = AppTest.from_function(_page, default_timeout=60).run()
    at.button(key="review-plan-open").click().run()
    at.button(key="plan-end").click().run()
    assert review_plan.current_plan(session, run) is None


def test_agreement_without_an_interval_has_no_brackets() -> None:
    assert "()" not in _observed_html(Estimate(2 / 3))  # all documents are of one group
    assert "(50% to 80%)" in _observed_html(Estimate(2 / 3, Interval(0.5, 0.8)))


def test_f1_without_interval_after_the_planned_reviews_asks_for_another_plan(tmp_path: Path) -> None:
    workspace = Workspace()
    session = workspace.open(tmp_path / "p.duckdb")
    book = Codebook(labels=(Label(name="Clean", keywords=("clean",)), Label(name="Staff", keywords=("staff",))))
    session.store.documents.add([Document(f"d{n}", {"text": f"a clean bath {n}"}) for n in range(40)])
    session.store.codebooks.save(book)
    run = annotate(session)
    new_plan = ReviewPlan("f1", book.labels[1].id, 0.1, 0.1, 20)  # no document is about Staff
    review_plan.save_plan(session, run, new_plan)
    assert "0 reviewed, about 20 more" in plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    listed = queue.list_queue(session, run, QueueFilter(sort="queue", size=25), actor="ada")
    actions.submit(session, run.run_id, list(listed.sampling), actions.Attribution("ada"), sampling=listed.sampling)
    result = plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    assert "20 reviewed, too few for an interval: plan again with a smaller margin of error." in result
    actions.submit(session, run.run_id, session.store.documents.ids(), actions.Attribution("ada"))
    result = plan_sentence(run, review_plan.plan_status(session, run, new_plan))
    assert result.strip() == "Plan: F1 of Staff within 0.10. All 40 documents with a verdict are reviewed."
    workspace.close()
