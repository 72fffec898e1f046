"""Area below the review: its status, and the buttons that open the plan, the accuracy and the classifier."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.screens.review.accuracy import accuracy_details, accuracy_sentence
from app.screens.review.classifier import classifier_buttons, classifier_status, imported_classifier, learning_curve
from app.screens.review.codebook_examples import draw_suggestion, example_dialog
from app.screens.review.plan import plan_dialog, plan_sentence
from app.state import ReviewState
from app.widgets import codebook_versions
from core.formatting import format_count
from core.runs import RunRow
from core.services import classifier
from core.services.project_session import ProjectSession
from core.services.review import accuracy_estimate, agreement, review_plan


def draw(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> None:
    """Draw the lines below the review: a suggested example, if there is one, and the accuracy estimate.

    ``document_id`` is the focused document.
    """
    example = ReviewState.edited_example.pop()
    if example is not None:
        example_dialog(session, run, example, actor)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-progress"):
        added = ReviewState.example_saved.pop()
        if added:
            st.html(f'<div class="moot-remark" role="status">{escape(added)}</div>', width="stretch")
        is_beside_buttons = not added and not draw_suggestion(session, run, document_id, actor)
        if is_beside_buttons:
            with st.container(width="stretch"):
                _status(session, run)
        if count := len(agreement.agreement_report(session, run).open):
            st.button(
                f"Resolve {format_count(count, 'disagreement')}",
                type="tertiary",
                icon=":material/balance:",
                key="review-resolve",
                on_click=ReviewState.view.set,
                args=("Agreement",),
                help="Decide the labels on which reviewers disagree.",
            )
        if st.button(
            "Plan",
            type="tertiary",
            icon=":material/flag:",
            key="review-plan-open",
            help="State what you want to claim, and see how many reviews it takes.",
        ):
            plan_dialog(session, run, actor)
        if st.button(
            "Accuracy and classifier",
            type="tertiary",
            icon=":material/monitoring:",
            key="review-accuracy-open",
            help="Accuracy of each label, and whether more review improves the classifier",
        ):
            _accuracy_dialog(session, run)
    if not is_beside_buttons:
        _status(session, run)
    codebook_versions.show_accepted_changes(session)


def _status(session: ProjectSession, run: RunRow) -> None:
    """Draw the state of the plan, without a plan the accuracy estimate."""
    current = review_plan.current_plan(session, run)
    if current is not None:
        words = plan_sentence(run, review_plan.plan_status(session, run, current))
        st.html(f'<div class="moot-remark" role="status" data-plan>{words}</div>')
    else:
        words = accuracy_sentence(accuracy_estimate.estimate_accuracy(session, run), run.settings.codebook.kind)
        st.html(f'<div class="moot-remark" role="status">{words}</div>')


@st.dialog("Accuracy and classifier", width="large")
def _accuracy_dialog(session: ProjectSession, run: RunRow) -> None:
    with st.spinner("Estimating the accuracy"):
        estimate = accuracy_estimate.estimate_accuracy(session, run)
    accuracy_details(estimate, run.settings.codebook.kind)
    with st.container(border=True, key="accuracy-classifier", gap="small"):
        status = classifier.status(session)
        st.html(
            '<div class="moot-panel"><h2>Classifier</h2>'
            "<span>trained on your decisions, not a language model</span></div>"
        )
        left, right = st.columns(2, gap="medium")
        with left:
            classifier_status(status)
        with right:
            learning_curve(status)
        if status.ready:
            classifier_buttons(session)
        with st.expander("Import a classifier"):
            imported_classifier(session)
