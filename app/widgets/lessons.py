"""Accepted lessons: the outcome of their trial, and the buttons that undo all of them or keep them."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.state import state
from app.widgets.alerts import error_notices
from core.formatting import format_count, format_effect, format_points
from core.services.codebooks import codebook as codebooks
from core.services.lab import lessons
from core.services.lab.lessons import AcceptedLessons
from core.services.project_session import ProjectSession
from core.stats.intervals import format_interval


def accepted_lessons(session: ProjectSession) -> None:
    """Draw the accepted lessons of the project, nothing without any. The line updates itself while a trial runs."""
    lessons.try_when_due(session)
    found = lessons.accepted(session)
    if found is None:
        return
    count = format_count(len(found.lessons), "lesson")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="accepted-lessons"):
        with st.container(width="stretch"):
            st.fragment(_outcome, run_every=0.5 if found.is_running else None)(session, was_running=found.is_running)
        undo = f"Undo {'it' if len(found.lessons) == 1 else f'all {count}'}"
        if st.button(undo, type="tertiary", icon=":material/undo:", key="lessons-undo",
                     help="Takes the accepted lessons out of the draft and, as a new version, out of the saved "
                     "codebook. Your other edits stay."):  # fmt: skip
            _undo(session)
            st.rerun()  # Review draws this line in a fragment, and the message is at the top of the page
        st.button("Keep", type="tertiary", icon=":material/check:", key="lessons-keep", on_click=lessons.keep,
                  args=(session,), help="Keeps them in the codebook and hides this line.")  # fmt: skip


def _outcome(session: ProjectSession, *, was_running: bool) -> None:
    found = lessons.accepted(session)
    if found is None or (was_running and not found.is_running):
        st.rerun()
    st.html(f'<div class="moot-remark" role="status">{sentence(found)}</div>')


def sentence(found: AcceptedLessons) -> str:
    """Return the outcome of the accepted lessons as HTML."""
    head = f"<b>{format_count(len(found.lessons), 'accepted lesson')}</b>"
    if found.is_running:
        return f"{head}, being tested on labelled documents."
    result = found.result
    if result is None:
        return f"{head}, not tested: review {lessons.MIN_REVIEWED} documents, and their effect is measured here."
    fixed, broken = (sum(getattr(label, name) for label in result.labels) for name in ("fixed", "broken"))
    change, interval = result.change.value, result.change.interval
    f1 = ""
    if change is not None and (fixed or broken):
        f1 = f", {found.measure} {format_points(change)} points"
        if interval is not None and interval.low != interval.high:
            f1 += f" ({format_interval(interval, 'points', named=True)})"
    if result.left_out and (fixed or broken):
        f1 += f"; {found.measure} leaves out {format_count(result.left_out, 'document')} without a verdict"
    advice = ""
    if (fixed or broken) and not result.change.clear:
        advice = f" No significant difference in {found.measure}."
    elif (change or 0.0) < 0:
        advice = ' <span class="bad">Undo them, or change their words.</span>'
    tested, left_out = f"all {format_count(result.n, 'labelled document')}", ""
    if result.n < found.labelled:
        tested = f"{result.n:,} of {format_count(found.labelled, 'labelled document')}"
        left_out = f" (at most {lessons.MAX_DOCUMENTS}, without held-out ones and sources of examples)"
    return f"{head}. Word-list baseline on {tested}{left_out}: {format_effect(fixed, broken)}{escape(f1)}.{advice}"


def _undo(session: ProjectSession) -> None:
    with error_notices():
        undone = lessons.undo(session)
        pronoun = "it" if undone.lessons == 1 else "them"
        saved = f"Codebook v{undone.version} was saved without {pronoun}. " if undone.version is not None else ""
        others = "Your other unsaved changes stay in the draft." if codebooks.codebook_status(session).dirty else ""
        state.set_notice("ok", f"{format_count(undone.lessons, 'lesson')} undone", saved + others)
