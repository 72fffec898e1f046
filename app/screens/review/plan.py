"""Plan of the review: its state in one sentence, and the dialog that starts or ends it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st
from markupsafe import Markup

from app.screens.review.accuracy import accuracy_sentence
from app.widgets.alerts import error_box
from app.widgets.elements import button, remark
from app.widgets.labels import select_label
from core.codebook import are_comparable
from core.errors import MootError
from core.runs import RunRow
from core.services.evaluation import annotation_arrays
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, queue, review_plan
from core.services.review.review_plan import CLAIMS, Claim, PlanStatus, ReviewPlan

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
    """Draw the dialog: the current plan, the fields of another one, and the buttons that start or end a plan."""
    current = review_plan.current_plan(session, run)
    if current is not None:
        remark(plan_sentence(run, review_plan.plan_status(session, run, current)))
    estimate = accuracy_estimate.estimate_accuracy(session, run)
    if not estimate.complete:
        new_plan = _new_plan(session, run)
    else:
        new_plan = None
        if current is None:
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
    """Return when the reviewer may stop, as a sentence."""
    if claim == "better":
        return " Documents on which the runs differ come first. You may stop as soon as one run is better."
    if claim in ("share", "correct"):
        return " You may stop as soon as the interval is narrow enough: it is valid at any time."
    return " The result is computed once, after this number of reviews."
