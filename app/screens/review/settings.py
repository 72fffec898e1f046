"""How a project is reviewed: by whom, with how many random audits, whether blind first. And what that shows."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import streamlit as st

from app.state import ReviewState, state
from core.runs import RunRow
from core.services.review import agreement, queue, review
from core.services.review.agreement import Share
from core.services.session import ProjectSession

AUDIT, BLIND = "review-audit", "review-blind"


def popover(session: ProjectSession, run: RunRow) -> None:
    """The button in the head of the screen, and what opens below it."""
    with st.popover("Settings", icon=":material/tune:", key="review-manner"):
        st.text_input(
            "Reviewing as", key=ReviewState.reviewer.key, placeholder=review.reviewer(),
            help="Each name has a queue and decisions of its own. A second reader takes another name.",
            persist_state="session",
        )  # fmt: skip
        manner = queue.manner(session)
        share = st.slider(
            "Random audits, % of what comes", 0, 100, round(manner.share * 100), 5, key=AUDIT,
            help="Drawn at random among all that wait. Without them, what you review says nothing of the rest.",
        )  # fmt: skip
        blind = st.toggle(
            "Blind first", manner.blind, key=f"{BLIND}-{manner.blind}",
            help="The verdict is hidden until you have decided, then shown.",
        )  # fmt: skip
        wanted = replace(manner, share=share / 100, blind=blind)
        if wanted != manner:
            queue.set_manner(session, wanted, actor=state.review.actor(review.reviewer()))
            st.rerun()
        _blind_report(session, run)


def _blind_report(session: ProjectSession, run: RunRow) -> None:
    report = agreement.blind_report(session, run)
    if not report.changed.n:
        st.caption("Nothing was decided blind in this run yet.")
        return
    rows = [
        ("Changed after the reveal", report.changed),
        ("Agree with the verdict, decided blind", report.blind),
        ("Agree with the verdict, decided in sight of it", report.shown),
    ]
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(_words(share))}</td></tr>" for name, share in rows)
    st.html(
        f'<table class="moot-facts">{cells}<tr><td>Changes towards the verdict</td>'
        f"<td>{report.towards} of {report.changed.count}</td></tr></table>"
    )


def _words(share: Share) -> str:
    if share.value is None or share.interval is None:
        return "none yet"
    low, high = share.interval.low, share.interval.high
    return f"{share.value:.0%} of {share.n:,} ({low:.0%} to {high:.0%})"
