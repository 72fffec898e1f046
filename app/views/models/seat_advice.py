"""What a project's own runs have shown of each model, and who should sit where by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

import streamlit as st

from app.views.rooms import heading, line
from core.debate.roles import Role
from core.studio.evaluation.advice import Wanted
from core.studio.running import seats
from core.studio.running.runs import Plan
from core.studio.running.seats import Advice, Record

_DID: Mapping[Wanted, tuple[str, str]] = {
    "recall": ("missed least", "recall"),
    "precision": ("named least in vain", "precision"),
    "f1": ("did best in both", "F1"),
}


def advice(plan: Plan, known: Sequence[Record], roles: Sequence[Role], save: Callable[[Plan], None]) -> None:
    """The models' records, the advice that follows from them, and the button that takes it. Nothing without records."""
    if not known:
        return
    with st.container(border=True, key="advice"):
        heading("What your runs have shown")
        st.html(_table(known))
        given = seats.advice(known, roles)
        if not given:
            line(_why_none(known, roles), "q xs")
            return
        st.html("".join(f'<div class="moot-line">{_words(one)}</div>' for one in given))
        fits = all(plan.seat(one.role.name).spec == one.record.spec for one in given)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                "Seat them so",
                key="take-advice",
                disabled=fits,
                on_click=lambda: save(seats.advised(plan, given)),
                help="Moves the models; how each seat samples stays",
            )
            line("They sit so already." if fits else "Advice from your own gold, on your own texts.", "q xs")


def _words(one: Advice) -> str:
    did, name = _DID[one.wants]
    return (
        f"<b>{escape(one.role.title)}</b>: <code>{escape(one.record.spec)}</code> {did} "
        f"({name} {one.value:.2f} on {one.record.n:,} documents)"
    )


def _why_none(known: Sequence[Record], roles: Sequence[Role]) -> str:
    if len(roles) < 2:
        return "One seat is for the model that does best."
    if len(known) < 2:
        return "One model has spoken first so far. Let another do so, on its own or as extractor, to compare them."
    return f"Advice needs two models with {seats.LEAST_DOCUMENTS} documents with gold each."


def _table(known: Sequence[Record]) -> str:
    rows = "".join(
        f"<tr><td>{escape(record.spec)}</td><td>{record.runs}</td><td>{record.n:,}</td><td>{record.recall:.2f}</td>"
        f"<td>{record.precision:.2f}</td><td>{record.f1:.2f}</td></tr>"
        for record in known
    )
    heads = "<th>Model, speaking first</th><th>Runs</th><th>Documents</th><th>Recall</th><th>Precision</th><th>F1</th>"
    return f'<table class="moot-sum"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
