"""Area below the review: its status, and the dialogs of the plan and of accuracy and classifier."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NoReturn

import streamlit as st
from markupsafe import Markup

from app.pages import open_page
from app.screens.review.accuracy import accuracy_details, accuracy_sentence
from app.screens.review.codebook_examples import draw_suggestion, example_dialog
from app.state import ReviewState, state
from app.widgets import charts, codebook_versions
from app.widgets.alerts import error_box, error_boxes
from app.widgets.elements import button, download, remark
from app.widgets.labels import select_label
from app.widgets.layout import empty, panel
from app.widgets.metric_tables import estimate_data
from core.codebook import are_comparable
from core.errors import MootError
from core.formatting import format_count, format_signed
from core.runs import RunRow
from core.services import classifier
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, agreement, queue, review_plan
from core.services.review.review_plan import CLAIMS, Claim, PlanStatus, ReviewPlan
from core.stats.intervals import format_interval


def draw(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> None:
    """Draw an example suggested from the focused document, if there is one, and the state of the review."""
    example = ReviewState.edited_example.pop()
    if example is not None:
        example_dialog(session, run, example, actor)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-progress"):
        added = ReviewState.example_saved.pop()
        if added:
            remark(added, is_status=True)
        is_beside_buttons = not added and not draw_suggestion(session, run, document_id, actor)
        if is_beside_buttons:
            with st.container(width="stretch"):
                _status(session, run)
        if count := len(agreement.agreement_report(session, run).open):
            resolve = f"Resolve {format_count(count, 'disagreement')}"
            show = partial(ReviewState.view.set, "Agreement")
            help = "Decide the labels on which reviewers disagree."
            button(resolve, "review-resolve", show, icon="balance", type="tertiary", help=help)
        help = "State what you want to claim, and see how many reviews it takes."
        if button("Plan", "review-plan-open", icon="flag", type="tertiary", help=help):
            plan_dialog(session, run, actor)
        help = "Accuracy of each label, and whether more review improves the classifier"
        if button("Accuracy and classifier", "review-accuracy-open", icon="monitoring", type="tertiary", help=help):
            _accuracy_dialog(session, run)
    if not is_beside_buttons:
        _status(session, run)
    codebook_versions.show_accepted_changes(session)


def _status(session: ProjectSession, run: RunRow) -> None:
    """Draw the state of the plan, without a plan the accuracy estimate."""
    current = review_plan.current_plan(session, run)
    if current is not None:
        remark(plan_sentence(run, review_plan.plan_status(session, run, current)), is_status=True, plan="")
    else:
        estimate = accuracy_estimate.estimate_accuracy(session, run)
        remark(accuracy_sentence(estimate, run.settings.codebook.kind), is_status=True)


@st.dialog("Accuracy and classifier", width="large")
def _accuracy_dialog(session: ProjectSession, run: RunRow) -> None:
    with st.spinner("Estimating the accuracy"):
        estimate = accuracy_estimate.estimate_accuracy(session, run)
    accuracy_details(estimate, run.settings.codebook.kind)
    with panel("Classifier", "trained on your decisions, not a language model", key="accuracy-classifier"):
        status = classifier.status(session)
        left, right = st.columns(2, gap="medium")
        with left:
            _classifier_status(status)
        with right:
            _learning_curve(status)
        if status.ready:
            _classifier_buttons(session)
        with st.expander("Import a classifier"):
            _imported_classifier(session)


def _imported_classifier(session: ProjectSession) -> None:
    """Draw the import of a classifier file from another project, and the button that runs the classifier."""
    upload = st.file_uploader("A .skops file that Moot exported", type=["skops"], key="classifier-import")
    if upload is None:
        return
    with error_boxes():
        with st.spinner("Reading the classifier"):
            imported = classifier.import_classifier(session, upload.getvalue(), upload.name)
        known, unknown = ", ".join(imported.known), ", ".join(imported.unknown)
        missing = f" Not trained on {unknown}: these stay unresolved." if unknown else ""
        remark(
            f"Trained on {imported.documents:,} documents of another project. Labels: {known}.{missing} The classifier "
            "of this project stays unchanged."
        )
        if st.button("Annotate all documents with it", icon=":material/play_arrow:", key="classifier-import-annotate"):
            _watch(classifier.annotate_with_imported(session, imported))


def _watch(run: RunRow) -> NoReturn:
    """Open a run on the Run page, also if a new one was being set up there."""
    state.run_id = run.run_id
    state.run.show_setup(False)
    open_page("run")


def _classifier_buttons(session: ProjectSession) -> None:
    with st.container(horizontal=True, gap="small"):
        help = "Starts a free local run. Compare it on Evaluate."
        if button("Annotate all documents", "classifier-annotate", icon="play_arrow", help=help):
            _watch(classifier.annotate(session))
        download(
            "Classifier file",
            lambda: classifier.load(session).body,
            f"{session.name}-classifier{classifier.SUFFIX}",
            type="tertiary",
            key="classifier-file",
            help="A skops file: contains no code and no pickle",
        )
        download(
            "Model card",
            lambda: classifier.load(session).card,
            f"{session.name}-classifier.md",
            type="tertiary",
            icon="description",
            key="classifier-card",
            help="Training data and performance",
        )


def _classifier_status(status: classifier.ClassifierStatus) -> None:
    words = "Not trained yet."
    if status.ready:
        score = "not available" if status.score.value is None else f"{status.score.value:.3f}"
        span = f", {format_interval(status.score.interval, named=True)}" if status.score.interval else ""
        words = (
            f"Trained on {status.documents:,} documents with codebook version {status.version}. Cross-validated "
            f"{status.measure} {score}{span}, on {status.tested:,} of them."
            f"{'' if status.complete else ' Reviewed documents are harder than most.'}{_gain(status)}"
            f"{' Training on your latest decisions.' if status.is_training else ''}"
        )
    elif status.is_training:
        words = "The first training is running."
    elif status.missing:
        words = f"Submit {format_count(status.missing, 'more document')} to train it."
    remark(words)
    if status.error:
        remark(Markup('<span class="bad">{}</span>').format(status.error))
    if status.curve:
        remark(
            "The learning curve shows the score on the same held-out documents by number of training documents, from "
            "none on. The band is the 95% interval.",
            "q",
        )


def _learning_curve(status: classifier.ClassifierStatus) -> None:
    """Draw the classifier's score by the number of training documents, an empty state while it is not known."""
    rows = [{"documents": point.documents, **estimate_data(point.score, "score")} for point in status.curve]
    if not rows:
        text = "It shows how the score on held-out documents changes with the number of reviewed documents."
        empty("No learning curve yet", text, sign="bars", key="learning-curve")
        return
    charts.draw(charts.learning_curve(rows, status.measure), rows, key="learning-curve", title="Learning curve")


def _gain(status: classifier.ClassifierStatus) -> str:
    """Return a sentence about the effect of more training documents, empty without an estimate."""
    interval = status.gain.interval
    if status.gain.value is None or interval is None:
        return ""
    advice = " It is not certain that more review improves it."
    if interval.low > 0:
        advice = " More review is likely to improve it."
    return (
        f" Training on all of these documents instead of half of them changes it by {format_signed(status.gain.value)} "
        f"({format_interval(interval, named=True)}).{'' if status.complete else advice}"
    )


DEFAULTS: dict[Claim, tuple[int, int]] = {
    "share": (5, 10),
    "correct": (3, 10),
    "f1": (10, 10),
    "better": (2, 0),
    "error": (10, 3),
}
"""Precision (or bound) and expected error of each claim in percent."""


def plan_sentence(run: RunRow, status: PlanStatus) -> str:
    """Return the state of a plan and the next step, with Markup."""
    codebook, current = run.settings.codebook, status.plan
    result = review_plan.describe_result(codebook, status)
    if status.enough:
        return Markup("<b>Enough reviews.</b> {}").format(result)
    claim = review_plan.describe_claim(codebook, current)
    if status.complete:
        return f"Plan: {claim}. All {status.population:,} documents with a verdict are reviewed. {result}"
    remaining = current.reviews - status.drawn
    more = f"about {remaining:,} more" if remaining > 0 else "more, as there are more errors than expected"
    if current.claim == "f1" and remaining <= 0:
        more = "too few for an interval: plan again with a smaller margin of error"
    return f"Plan: {claim}. {status.drawn:,} reviewed, {more}. {result}"


@st.dialog("Plan the review", width="large")
def plan_dialog(session: ProjectSession, run: RunRow, actor: str) -> None:
    current = review_plan.current_plan(session, run)
    if current is not None:
        remark(plan_sentence(run, review_plan.plan_status(session, run, current)))
    estimate = accuracy_estimate.estimate_accuracy(session, run)
    new_plan = None if estimate.complete else _new_plan(session, run)
    if estimate.complete and current is None:
        remark(Markup("{} No plan is needed.").format(accuracy_sentence(estimate, run.settings.codebook.kind)))
    save = partial(review_plan.save_plan, session, run, actor=actor)
    with st.container(horizontal=True, gap="small"):
        if new_plan and button("Start this plan", "plan-start", save, new_plan, type="primary"):
            st.rerun()
        if current and button("End the current plan", "plan-end", save, None):
            st.rerun()


def _new_plan(session: ProjectSession, run: RunRow) -> ReviewPlan | None:
    """Draw the fields of a plan and its number of reviews, and return the plan; None if it is impossible."""
    claim_plan = _claim_fields(session, run)
    try:
        with st.spinner("Simulating reviews"):
            needed = review_plan.plan_reviews(session, run, claim_plan, queue.review_settings(session).even)
    except MootError as error:
        error_box(error)
        return None
    if needed is None:
        remark("More reviews are needed than there are documents. Allow more points.")
        return None
    reviews = "random reviews" if claim_plan.claim == "error" else "reviews of the queue in its order"
    looks = _stopping_rule(claim_plan.claim)
    remark(Markup("About <b>{:,}</b> {}.{}").format(needed, reviews, looks), needed=needed)
    return replace(claim_plan, reviews=needed)


def _claim_fields(session: ProjectSession, run: RunRow) -> ReviewPlan:
    """Draw the fields of a plan in two columns, and return the plan without its number of reviews."""
    codebook = run.settings.codebook
    other_runs = [
        row
        for row in annotation_arrays.ranked_runs(session)
        if row.run_id != run.run_id and row.verdicts and are_comparable(codebook, row.settings.codebook)
    ]
    impossible = {"share", "f1"} if codebook.kind == "rating" else set()
    claims = [name for name in CLAIMS if name not in impossible and (name != "better" or other_runs)]
    left, right = st.columns(2)
    values = review_plan.values_noun(codebook.kind)
    titled = {name: CLAIMS[name].format(values=values) for name in claims}
    claim: Claim = left.selectbox("Claim", claims, format_func=titled.__getitem__, key="plan-claim")
    label = ""
    if claim in ("share", "f1"):
        with right:
            label = select_label(codebook, key="plan-label")
    other = ""
    if claim == "better":
        runs = {row.run_id: row.title for row in other_runs}
        other = right.selectbox("Compared with", list(runs), format_func=lambda id: runs[id], key="plan-other")
    points, expected = DEFAULTS[claim]
    titles = {
        "error": "Upper limit for wrong accepted verdicts, %",
        "better": f"Difference in correct {values} to detect, points",
    }
    title = titles.get(claim, "Margin of error, points")
    points = left.number_input(title, 1, 40, points, key=f"plan-points-{claim}")
    if claim != "better":
        expected = right.number_input(
            f"Expected share of wrong {'verdicts' if claim == 'error' else values}, %",
            0,
            45,
            expected,
            key=f"plan-expected-{claim}",
            help="Your guess. It affects the planned number of reviews, not the validity of the result.",
        )
    return ReviewPlan(claim, label, points / 100, expected / 100, other=other)


def _stopping_rule(claim: Claim) -> str:
    if claim == "better":
        return " Documents on which the runs differ come first. You may stop as soon as one run is better."
    if claim in ("share", "correct"):
        return " You may stop as soon as the interval is narrow enough: it is valid at any time."
    return " The result is computed once, after this number of reviews."
