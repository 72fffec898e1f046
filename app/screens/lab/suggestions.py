"""Suggestions for definitions, from errors and from a model. The user accepts or dismisses each."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.state import LabState, state, with_default
from app.widgets.alerts import error_box
from app.widgets.codebook_versions import pieces
from app.widgets.common import heading
from app.widgets.labels import swatch_html
from app.widgets.run_picker import run_words
from core.errors import MootError
from core.formatting import format_price
from core.services.codebooks.codebook import CodebookStatus
from core.services.lab import rewrite
from core.services.lab import suggestions as suggesting
from core.services.lab.rewrite import Proposal
from core.services.lab.suggestions import Suggestion
from core.services.runs.planning import Plan
from core.services.session import ProjectSession

PARTS = {
    "keywords": "add keyword", "include": "include as an example", "exclude": "exclude as an example",
    "less": "remove keyword",
}  # fmt: skip


def suggestions(session: ProjectSession, plan: Plan, now: CodebookStatus) -> None:
    """Draw the suggestions from errors, and below them a model's rewrite of one label."""
    heading("From the errors")
    run_id = _errors_of(session)
    found = suggesting.suggest_changes(session, run_id)
    if not found:
        st.html(
            '<div class="moot-line q">No suggestions. Test a change on labelled documents first. Suggestions need '
            "errors that have something in common.</div>"
        )
    for one in found:
        _suggestion(session, now, one)
    heading("From a language model")
    _rewrite(session, plan, now, run_id)


def _errors_of(session: ProjectSession) -> str | None:
    """Draw the choice of the run whose errors are used. Returns None for the latest trial or run."""
    known = {row.run_id: row for row in reversed(session.runs()) if row.verdicts}
    if not known:
        return None
    if state.lab.errors_run not in known:
        LabState.errors_run.reset()
    return st.selectbox(
        "Errors of", [None, *known], key=with_default(LabState.errors_run.key, None), width=320,
        format_func=lambda id: "Latest test or run" if id is None else run_words(known[id]),
    )  # fmt: skip


def _suggestion(session: ProjectSession, now: CodebookStatus, one: Suggestion) -> None:
    label = now.codebook.label(one.label_id)
    words = f"“{escape(one.text)}”"
    said, act = st.columns([4, 1.5], vertical_alignment="center", gap="small")
    with said:
        st.html(
            f'<div class="moot-line">{swatch_html(label.colour)} <b>{escape(label.name)}</b>: {PARTS[one.part]} '
            f'<span class="moot-ev q moot-l{label.colour}">{words}</span>'
            f'<div class="moot-why">{escape(one.why)}</div></div>',
        )
    with act, st.container(horizontal=True, gap="small", horizontal_alignment="right"):
        st.button("Accept", key=f"lab-take-{one.name}", on_click=_take, args=(session, one))
        st.button(
            "Dismiss", key=f"lab-leave-{one.name}", type="tertiary", on_click=suggesting.dismiss, args=(session, one)
        )


def _take(session: ProjectSession, one: Suggestion) -> None:
    try:
        suggesting.accept(session, one)
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
        return
    except KeyError:
        state.set_notice("warn", "The label no longer exists", "It was deleted in another tab.")
        return
    state.codebook.note_draft_saved()


def _rewrite(session: ProjectSession, plan: Plan, now: CodebookStatus, run_id: str | None) -> None:
    role_model = rewrite.rewrite_model(plan)
    if role_model is None:
        st.html(
            '<div class="moot-line q">Choose a language model on the Models page to propose new definitions. '
            "The built-in model cannot write them.</div>"
        )
        return
    names = {label.id: label.name for label in now.codebook.labels}
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        label_id = st.selectbox("Label", list(names), format_func=names.__getitem__, key="lab-rewrite-label", width=220)
        asked = st.button(
            "Propose a rewrite", icon=":material/edit_note:", key="lab-rewrite", help=f"Asks {role_model.spec}"
        )
    if asked and label_id is not None:
        state.lab.proposal = None
        try:
            with st.spinner(f"{role_model.spec} is writing"):
                state.lab.proposal = rewrite.propose_rewrite(session, plan, label_id, run_id=run_id)
        except MootError as error:
            error_box(error)
        except TimeoutError:
            error_box(MootError(f"{role_model.spec} did not answer within two minutes.", "Try again."))
    proposal: Proposal | None = state.lab.proposal
    if proposal is not None:
        _proposal(session, proposal)


def _proposal(session: ProjectSession, proposal: Proposal) -> None:
    changes = proposal.changes
    cost = "reused" if proposal.cached else format_price(proposal.cost_usd)
    st.html(
        f'<div class="moot-line"><b>{escape(proposal.before.name)}</b>, {escape(proposal.spec)}, {cost}'
        f'<div class="moot-why">{escape(proposal.why)}</div></div>'
    )
    if not changes:
        st.html('<div class="moot-line q">All changes are decided.</div>')
    for part, change in changes.items():
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"lab-proposed-{part}"):
            st.html(
                f'<div class="moot-diff"><dl><dt>{escape(change.field)}</dt><dd>{pieces(change.pieces)}</dd></dl></div>'
            )
            st.button("Accept", key=f"lab-take-{part}", on_click=_decide, args=(session, proposal, part, True))
            st.button(
                "Dismiss",
                key=f"lab-leave-{part}",
                type="tertiary",
                on_click=_decide,
                args=(session, proposal, part, False),
            )


def _decide(session: ProjectSession, proposal: Proposal, part: str, taken: bool) -> None:
    if not taken:
        state.lab.proposal = rewrite.dismiss_field(proposal, part)
        return
    try:
        state.lab.proposal = rewrite.accept_field(session, proposal, part)
    except (MootError, KeyError) as error:
        state.set_notice("error", "The change could not be applied", str(error))
        return
    state.codebook.note_draft_saved()
