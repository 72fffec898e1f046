"""One question with its options: one click each, after a minimum reading time that is shown."""

from __future__ import annotations

import time

import streamlit as st

from app.state import state
from app.widgets.alerts import error_notices
from app.widgets.common import line, literal
from core.authors.questions import ABSTENTIONS, AUTHOR, Abstention, Question
from core.formatting import format_count
from core.services.authors import writing_desk as desks
from core.services.session import ProjectSession

TICK = 0.5
"""Seconds between redraws while the reading time runs."""


def ask(session: ProjectSession, question: Question, by: str, group: str = AUTHOR) -> None:
    """Draw a question. The buttons wake when the reading time is over; the service checks the time as well."""
    shown_at = state.authors.note_shown(f"{question.id} {by}")
    reading = desks.load_settings(session).reading_seconds
    if time.time() - shown_at < reading:
        _count_down(session, question, by, group, shown_at, reading)
    else:
        _draw(session, question, by, group, shown_at, 0.0)


@st.fragment(run_every=TICK)
def _count_down(
    session: ProjectSession, question: Question, by: str, group: str, shown_at: float, reading: float
) -> None:
    left = reading - (time.time() - shown_at)
    if left <= 0:
        st.rerun()
    _draw(session, question, by, group, shown_at, left)


def _draw(session: ProjectSession, question: Question, by: str, group: str, shown_at: float, left: float) -> None:
    def give(choice: str | None = None, abstention: Abstention | None = None, declined: bool = False) -> None:
        with error_notices():
            desks.answer(
                session, question.id, by, choice=choice, abstention=abstention, declined=declined,
                seconds=time.time() - shown_at, group=group,
            )  # fmt: skip

    key = f"authors-{question.id}"
    st.text(question.text)
    waiting = left > 0
    for number, option in enumerate(question.options, start=1):
        st.button(
            literal(option), key=f"{key}-{number}", width="stretch", disabled=waiting, shortcut=str(number),
            on_click=give, args=(option,),
        )  # fmt: skip
    if not question.options:
        word_key = f"{key}-word"
        st.text_input("Your answer in one word", key=word_key, max_chars=40)
        st.button(
            "Answer", key=f"{key}-answer", type="primary", disabled=waiting,
            on_click=lambda: give(str(st.session_state.get(word_key, ""))),
        )  # fmt: skip
    with st.container(horizontal=True, gap="small"):
        for place, abstention in enumerate(ABSTENTIONS, start=len(question.options) + 1):
            st.button(
                abstention.capitalize(), key=f"{key}-{place}", disabled=waiting, shortcut=str(place),
                on_click=give, kwargs={"abstention": abstention},
            )  # fmt: skip
        st.button("Not now", key=f"{key}-later", type="tertiary", on_click=give, kwargs={"declined": True})
    if waiting:
        line(f"Take your time to read. You can answer in {format_count(int(left) + 1, 'second')}.")
    elif question.options:
        line(f"Keys 1 to {len(question.options) + 2} answer.")
