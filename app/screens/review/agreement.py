"""The People view of Review: how far several people agree, and a decision where they don't."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.state import state
from app.widgets import empty_state, highlighted_text, layout
from core.codebook import Codebook
from core.errors import MootError
from core.runs import RunRow
from core.services.review import agreement as use
from core.services.review import quotes, review
from core.services.session import ProjectSession

PAGE, SHOW = "review-people-page", "review-people-show"
SIZE = 10
"""Disputes on a page."""


def people(session: ProjectSession, run: RunRow, actor: str) -> None:
    """Draw it."""
    found = use.panel(session, run)
    if found.documents == 0:
        others = ", ".join(f"{name} ({count:,})" for name, count in found.people.items()) or "nobody yet"
        empty_state.empty(
            "No document has two readers yet",
            f"Submitted so far by: {others}. A second reader takes a name of their own under Settings, and "
            "“second reading” among the filters shows them what others have submitted.",
            sign="lines",
            key="people-none",
        )
        return
    codebook = run.settings.codebook
    _numbers(found, codebook)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show = st.segmented_control(
            "Show", ("To decide", "Decided"), default="To decide", label_visibility="collapsed", key=SHOW, required=True
        )
        left = f"{len(found.open):,} of {len(found.disputes):,} disputes to decide"
        st.html(f'<div class="moot-legend"><span>{left}</span></div>')
    disputes = found.open if show == "To decide" else tuple(d for d in found.disputes if d.decided is not None)
    if not disputes:
        empty_state.empty(
            "Nothing to decide here", "Where people differ, it comes here.", sign="check", key="people-done"
        )
        return
    pages = -(-len(disputes) // SIZE)
    number = min(st.session_state.get(PAGE, 1), pages)
    for dispute in disputes[(number - 1) * SIZE : number * SIZE]:
        _dispute(session, run, dispute, actor)
    if pages > 1:
        st.session_state[PAGE] = number
        st.pagination(pages, key=PAGE)


def _numbers(found: use.Panel, codebook: Codebook) -> None:
    def share(value: float | None, form: str) -> str:
        return "undefined" if value is None else format(value, form)

    names = ", ".join(f"{name} ({count:,})" for name, count in found.people.items())
    item = "Dimension" if codebook.kind == "rating" else "Label"
    kappa = "Cohen's kappa" if len(found.people) == 2 else "Fleiss' kappa"
    lines = "".join(
        f'<tr><td class="l">{escape(review.item_name(codebook, one.item))}</td><td>{one.n:,}</td>'
        f'<td><span class="moot-badge {_tone(one.same)}">{share(one.same, ".0%")}</span></td>'
        f"<td>{share(one.kappa, '.2f')}</td><td>{share(one.alpha, '.2f')}</td></tr>"
        for one in found.items
    )
    sub = f"{found.documents:,} document{'' if found.documents == 1 else 's'} with two readers or more: {names}"
    with layout.panel("Agreement", sub, key="people-agree"):
        st.html(
            f'<table class="moot-table"><tr><th class="l">{item}</th><th>documents</th><th>all say the same</th>'
            f"<th>{escape(kappa)}</th><th>Krippendorff's alpha</th></tr>{lines}</table>"
        )


def _tone(same: float | None) -> str:
    if same is None:
        return ""
    return "right" if same >= 0.9 else "unres" if same >= 0.7 else "wrong"


def _dispute(session: ProjectSession, run: RunRow, dispute: use.Dispute, actor: str) -> None:
    """One dispute: the text, and a button for each value with who says it."""
    codebook = run.settings.codebook
    known = review.dossier(session, run, dispute.document_id)
    key = f"dispute-{dispute.document_id}-{dispute.item}"
    note = ""
    if dispute.decided is not None:
        note = f"{review.value_word(codebook, dispute.decided)}, decided by {dispute.by}"
    title = f"{dispute.document_id}: {review.item_name(codebook, dispute.item)}"
    with layout.panel(title, note=note, key=key) as head:
        with head:
            for value in dict.fromkeys(dispute.said.values()):
                who = ", ".join(name for name, said in dispute.said.items() if said == value)
                st.button(
                    f"{review.value_word(codebook, value)} ({who})",
                    key=f"{key}-{value}",
                    type="primary" if value == dispute.decided else "secondary",
                    on_click=_decide,
                    args=(session, run, dispute, value, actor),
                )
            if dispute.decided is not None:
                st.button(
                    "Open again", key=f"{key}-open", type="tertiary", on_click=_decide,
                    args=(session, run, dispute, None, actor),
                )  # fmt: skip
        if known is not None:
            told = quotes.all_of(known)
            if codebook.kind != "choice":
                told = tuple(quote for quote in told if quote.item == dispute.item)
            highlighted_text.marked_text(
                known.document.fields, codebook, told, small=True, height=220, key=f"{key}-text"
            )


def _decide(session: ProjectSession, run: RunRow, dispute: use.Dispute, value: object, actor: str) -> None:
    try:
        use.decide(session, run, dispute.document_id, dispute.item, value, actor=actor)  # type: ignore[arg-type]
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
