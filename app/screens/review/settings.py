"""Review settings: reviewer, order of the queue, blind review, and a report on blind review."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app.state import ReviewState, state
from app.widgets.common import facts
from core.formatting import format_percent
from core.runs import RunRow
from core.services.review import agreement, queue, review
from core.services.review.agreement import Share
from core.services.session import ProjectSession
from core.stats.intervals import format_interval
from core.stats.sampling import MIN_EVEN

EVEN, BLIND = "review-even", "review-blind"


def popover(session: ProjectSession, run: RunRow) -> None:
    """Draw the settings button of the header and its popover."""
    with st.popover("Settings", icon=":material/tune:", key="review-settings"):
        st.text_input(
            "Reviewing as", key=ReviewState.reviewer.key, placeholder=review.default_reviewer(),
            help="Each reviewer has a separate queue and separate decisions. A second reviewer enters another name.",
            persist_state="session",
        )  # fmt: skip
        settings = queue.review_settings(session)
        even = st.slider(
            "Uniform random draws, %", round(MIN_EVEN * 100), 100, round(settings.even * 100), 5, key=EVEN,
            help="The queue draws documents at random. In this part of the draws every document has the same chance. "
            "The others favour documents with a review reason and rare labels. Estimates take both into account.",
        )  # fmt: skip
        blind = st.toggle(
            "Blind review", settings.blind, key=f"{BLIND}-{settings.blind}",
            help="Hides the verdict until you have decided.",
        )  # fmt: skip
        wanted = replace(settings, even=even / 100, blind=blind)
        if wanted != settings:
            queue.save_review_settings(session, wanted, actor=state.review.actor(review.default_reviewer()))
            st.rerun()
        _blind_report(session, run)


def _blind_report(session: ProjectSession, run: RunRow) -> None:
    report = agreement.blind_report(session, run)
    if not report.changed.n:
        st.caption("No blind decisions in this run yet.")
        return
    facts(
        [
            ("Changed after the reveal", _words(report.changed)),
            ("Agreement with the verdict, blind", _words(report.blind)),
            ("Agreement with the verdict, not blind", _words(report.shown)),
            ("Changes towards the verdict", f"{report.towards} of {report.changed.count}"),
        ]
    )


def _words(share: Share) -> str:
    found = share.share
    if found.value is None:
        return "none"
    interval = f" ({format_interval(found.interval, 'percent')})" if found.interval else ""
    return f"{format_percent(found.value)} of {share.n:,}{interval}"
