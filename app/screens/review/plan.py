"""Plan of a review: a dialog to state the claim and its precision, and a line that says when the reviews are enough."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st

from app.widgets.alerts import error_box
from app.widgets.labels import select_label
from core.errors import MootError
from core.runs import RunRow
from core.services.evaluation import compare, run_data
from core.services.project_session import ProjectSession
from core.services.review import plan, queue
from core.services.review.plan import CLAIMS, Claim, Plan, PlanStatus

DEFAULTS: dict[Claim, tuple[int, int]] = {
    "share": (5, 10), "correct": (3, 10), "f1": (10, 10), "better": (2, 0), "error": (10, 3),
}  # fmt: skip
"""Precision (or bound) and expected error of each claim in percent."""


def sentence(run: RunRow, status: PlanStatus) -> str:
    """Return the state of a plan and the next step as HTML."""
    codebook, current = run.settings.codebook, status.plan
    result = escape(plan.describe_result(codebook, status))
    if status.enough:
        return f"<b>Enough reviews.</b> {result}"
    claim = escape(plan.describe_claim(codebook, current))
    left = current.reviews - status.drawn
    more = f"about {left:,} more" if left > 0 else "more, as there are more errors than expected"
    if current.claim == "f1" and left <= 0:
        more = "too few for an interval: plan again with a smaller margin of error"
    return f"Plan: {claim}. {status.drawn:,} reviewed, {more}. {result}"


@st.dialog("Plan the review", width="large")
def dialog(session: ProjectSession, run: RunRow, actor: str) -> None:
    """Draw the dialog: claim, label, precision, the number of reviews, and the start of the plan."""
    current = plan.current_plan(session, run)
    if current is not None:
        st.html(f'<div class="moot-remark">{sentence(run, plan.plan_status(session, run, current))}</div>')
    wanted = _claim_fields(session, run)
    try:
        with st.spinner("Simulating reviews"):
            needed = plan.plan_reviews(session, run, wanted, queue.review_settings(session).even)
    except MootError as error:
        error_box(error)
        return
    if needed is None:
        st.html('<div class="moot-remark">More reviews are needed than there are documents. Allow more points.</div>')
        return
    how = "random reviews" if wanted.claim == "error" else "reviews of the queue in its order"
    looks = _looks(wanted.claim)
    st.html(f'<div class="moot-remark" data-needed="{needed}">About <b>{needed:,}</b> {how}.{looks}</div>')
    with st.container(horizontal=True, gap="small"):
        made = replace(wanted, reviews=needed)
        save = partial(plan.save_plan, session, run, actor=actor)
        if st.button("Start this plan", type="primary", key="plan-start", on_click=save, args=(made,)):
            st.rerun()
        if current is not None and st.button("End the current plan", key="plan-end", on_click=save, args=(None,)):
            st.rerun()


def _claim_fields(session: ProjectSession, run: RunRow) -> Plan:
    """Draw the fields of a plan in two columns, and return the plan without its number of reviews."""
    codebook = run.settings.codebook
    others = [
        one for one in run_data.ranked_runs(session)
        if one.run_id != run.run_id and one.verdicts and compare.are_comparable(codebook, one.settings.codebook)
    ]  # fmt: skip
    impossible = {"share", "f1"} if codebook.kind == "rating" else set()
    known = [name for name in CLAIMS if name not in impossible and (name != "better" or others)]
    left, right = st.columns(2)
    values = plan.values_noun(codebook)
    titled = {name: CLAIMS[name].format(values=values) for name in known}
    claim: Claim = left.selectbox("Claim", known, format_func=titled.__getitem__, key="plan-claim")
    label = ""
    if claim in ("share", "f1"):
        with right:
            label = select_label(codebook, key="plan-label")
    other = ""
    if claim == "better":
        runs = {one.run_id: one.title for one in others}
        other = right.selectbox("Compared with", list(runs), format_func=lambda id: runs[id], key="plan-other")
    points, expected = DEFAULTS[claim]
    titles = {
        "error": "Upper limit for wrong accepted verdicts, %",
        "better": f"Difference in correct {values} to detect, points",
    }
    title = titles.get(claim, "Margin of error, points")
    points = left.number_input(title, 1, 40, points, key=f"plan-points-{claim}")
    expected = 0 if claim == "better" else right.number_input(
        f"Expected share of wrong {values}, %" if claim != "error" else "Expected share of wrong verdicts, %",
        0, 45, expected, key=f"plan-expected-{claim}",
        help="Your guess. It affects the planned number of reviews, not the validity of the result.",
    )  # fmt: skip
    return Plan(claim, label, points / 100, expected / 100, other=other)


def _looks(claim: Claim) -> str:
    if claim == "better":
        return " Documents on which the runs differ come first. You may stop as soon as one run is better."
    if claim in ("share", "correct"):
        return " You may stop as soon as the interval is narrow enough: it is valid at any time."
    return " The result is computed once, after this number of reviews."
