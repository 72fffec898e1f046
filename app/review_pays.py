"""Below the review: what it proves so far, what a correction could teach, and the student."""

from __future__ import annotations

import streamlit as st

from app import state
from app.views import proof as proof_view
from app.views import teach, welcome
from app.views.notice import error_box
from core.errors import MootError
from core.runs import RunRow
from core.studio import definitions, review, student, teaching
from core.studio import proof as proofs
from core.studio.desk import Desk
from core.studio.teaching import Lesson


def pays(desk: Desk, run: RunRow, document_id: str | None, actor: str) -> None:
    """The two lines below the review; ``document_id`` is the one in focus."""
    with st.container(key="review-pays", gap="small"):
        if document_id is not None:
            _teach(desk, run, document_id, actor)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-proof"):
            found = proofs.proof(desk, run)
            with st.container(width="stretch"):
                proof_view.line(found)
            if st.button("What it proves", type="tertiary", icon=":material/monitoring:", key="review-proof-open"):
                _proof(desk, run)


def _teach(desk: Desk, run: RunRow, document_id: str, actor: str) -> None:
    """The first correction of the document that has words to suggest; without one, a way to choose some."""
    asked = state.words_to_change()
    if asked is not None:
        _words(desk, run, asked, actor)
    found = review.dossier(desk, run, document_id)
    if found is None or not found.reviews:
        return
    codebook = definitions.shown(desk, run.settings.codebook)
    lessons = teaching.open_lessons(desk, run, found)
    offered = next(((lesson, effect) for lesson, effect in lessons if effect is not None), None)
    if offered is not None:
        lesson, effect = offered
        teach.card(
            lesson,
            effect,
            codebook,
            on_teach=lambda: _keep(desk, run, lesson, actor),
            on_change=lambda: state.change_words(lesson),
            more=len(lessons) - 1,
            key="review-teach",
        )
    elif lessons:
        teach.nothing(
            "Your correction can become an example of its label: choose the words.",
            on_change=lambda: state.change_words(lessons[0][0]),
            key="review-teach",
        )


def _keep(desk: Desk, run: RunRow, lesson: Lesson, actor: str) -> None:
    try:
        version = teaching.teach(desk, run, lesson, actor=actor)
    except MootError as error:
        state.note_problem(error.message, error.remedy)
    else:
        st.toast(f"Kept as version {version} of the codebook.", icon=":material/check:")


@st.dialog("Make it count", width="large")
def _words(desk: Desk, run: RunRow, lesson: Lesson, actor: str) -> None:
    welcome.styles()
    chosen = teach.form(lesson, definitions.shown(desk, run.settings.codebook))
    if not chosen.text.strip():
        st.html(
            '<div class="moot-proof q">Type or paste some words of the text: what it would change is shown here.</div>'
        )
        return
    try:
        found = teaching.effect(desk, run, chosen)
    except MootError as error:
        error_box(error)
        return
    teach.effect(found)
    st.html('<div class="moot-proof q">This document is left out of evaluations of runs that know these words.</div>')
    if st.button("Keep", type="primary", key="teach-keep"):
        _keep(desk, run, chosen, actor)
        st.rerun()


@st.dialog("What the review proves", width="large")
def _proof(desk: Desk, run: RunRow) -> None:
    proof_view.details(proofs.proof(desk, run), run.settings.codebook.kind)
    with st.container(border=True, key="proof-student", gap="small"):
        found = student.standing(desk)
        st.html(
            '<div class="moot-panel"><h2>Student</h2><span>learns from what you decide, no language model</span></div>'
        )
        proof_view.student(found)
        if found.ready:
            _student_buttons(desk)


def _student_buttons(desk: Desk) -> None:
    with st.container(horizontal=True, gap="small"):
        if st.button("Annotate all documents", icon=":material/play_arrow:", key="student-annotate",
                     help="A run of its own, free and on this machine. Evaluate compares it."):  # fmt: skip
            made = student.annotate(desk)
            state.look_at_run(made.run_id)
            st.switch_page("screens/run.py")
        st.download_button(
            "Student file", lambda: student.body(desk), f"{desk.name}-student{student.SUFFIX}", on_click="ignore",
            type="tertiary", icon=":material/download:", key="student-file", help="skops: holds no code, no pickle",
        )  # fmt: skip
        st.download_button(
            "Card", lambda: student.card(desk), f"{desk.name}-student.md", "text/markdown", on_click="ignore",
            type="tertiary", icon=":material/description:", key="student-card",
            help="What it was taught on and how well it does",
        )  # fmt: skip
