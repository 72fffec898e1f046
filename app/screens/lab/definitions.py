"""Left side of the Lab for definitions: label fields, versions, and suggestions from errors and from a model."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from html import escape

import streamlit as st

from app import context
from app.screens.lab.prompt import note_field, version_history
from app.state import LabState, state, with_default
from app.widgets import codebook_versions, label_editor
from app.widgets.alerts import error_boxes
from app.widgets.elements import (
    button,
    discard_popover,
    fold,
    heading,
    icon_button,
    job_progress,
    line,
    literal,
    running_job,
    saved,
    segments,
)
from app.widgets.labels import pick, select_label, swatch_html
from app.widgets.layout import panel
from app.widgets.run_picker import run_words
from core.codebook import Label
from core.errors import MootError
from core.formatting import format_count, format_price
from core.services.background_jobs import OnStep
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.codebook import CodebookStatus
from core.services.evaluation import annotation_arrays
from core.services.lab import history, suggestions
from core.services.project_session import ProjectSession
from core.services.runs.planning import Plan

VIEWS = {"edit": "Edit", "diff": "Diff", "suggestions": "Suggestions"}
LATEST = "Latest test or run"
NO_LABELS = "No labels yet. Add one on the Codebook page."
PARTS = {
    "keywords": "add keyword",
    "include": "include as an example",
    "exclude": "exclude as an example",
    "less": "remove keyword",
}


def definitions(session: ProjectSession, plan: Plan) -> None:
    status = codebook_versions.tab_status(session)
    version = f"v{status.saved.number if status.saved else 0}"
    subtitle = f"{version} against the draft, {format_count(status.count, 'change')}" if status.dirty else version
    with panel("Definitions", subtitle, key="lab-definitions") as head:
        with head:
            view = segments("View", VIEWS, key=with_default("lab_definitions_view", "edit"), persist_state="session")
        codebook_versions.draft_choice(session)
        if view == "diff":
            codebook_versions.changes(status.changes)
        elif view == "suggestions":
            _suggestions(session, plan, status)
        else:
            _editor(session, status)
        version_history(
            session,
            history.codebook_history(session),
            opened="" if status.dirty else version,
            key="lab-versions-definitions",
            on_open=partial(_open_version, session),
            use="Restore",
            on_use=partial(_restore, session),
            drops_draft=("open", "use"),
        )
        _foot(session, status)


def _editor(session: ProjectSession, status: CodebookStatus) -> None:
    fields = label_editor.Fields(session, "lab")
    book = status.codebook
    if not book.labels:
        line(NO_LABELS, "q")
        return
    label_id = state.lab.label if state.lab.label in {label.id for label in book.labels} else None
    state.lab.label = pick(book, key="lab-label", default=label_id)
    label_editor.label_fields(fields, book, book.label(state.lab.label))
    guideline = fields.bind("book-guideline", book.guideline, lambda old, typed: codebooks.change(old, guideline=typed))
    with st.expander("Guideline for all labels"):
        st.text_area("Guideline for all labels", **guideline, height=120, label_visibility="collapsed")


def _foot(session: ProjectSession, status: CodebookStatus) -> None:
    if not status.dirty:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="lab-foot"):
        with st.container(width="stretch"):
            saved(state.saved_at.get("codebook"), "Draft saved")
        back = f"Reset to v{status.saved.number}" if status.saved else "Reset"
        discard_popover({back: label_editor.Fields(session, "lab").discard})
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="lab-save"):
        note_field(status.next_version)


def save_button(session: ProjectSession) -> None:
    status = codebook_versions.tab_status(session)
    title = f"Save as v{status.next_version}"
    kind = "primary" if status.dirty else "secondary"
    button(
        title,
        "lab-save-definitions",
        _save,
        session,
        type=kind,
        disabled=not status.dirty,
        help=codebook_versions.SAVE_HELP,
    )


def _save(session: ProjectSession) -> None:
    if label_editor.Fields(session, "lab").save(state.lab.note):
        LabState.note.reset()


def _restore(session: ProjectSession, name: str) -> None:
    def restore() -> None:
        version = codebooks.restore(session, int(name.removeprefix("v")))
        state.codebook.forget_inputs()
        state.set_notice("ok", f"{name} is the newest again, as v{version}")

    codebook_versions.change_draft(session, restore)


def _open_version(session: ProjectSession, name: str) -> None:
    old = next(version for version in codebooks.history(session) if f"v{version.number}" == name)
    label_editor.Fields(session, "lab").apply(lambda _: old.codebook)
    state.codebook.forget_inputs()


# -- suggestions


def _suggestions(session: ProjectSession, plan: Plan, status: CodebookStatus) -> None:
    heading("From the errors")
    run_id = _errors_of(session)
    codebook_versions.show_accepted_changes(session)
    suggested = suggestions.suggest_changes(session, run_id)
    if not suggested:
        line(
            "No suggestions. Test a change on labelled documents first. Suggestions need errors that have something "
            "in common.",
            "q",
        )
    fold(suggested, partial(_suggestion, session, status))
    heading("From a language model")
    _rewrite(session, plan, status, run_id)


def _errors_of(session: ProjectSession) -> str | None:
    """Draw the choice of the run whose errors are used. Returns None for the latest trial or run."""
    runs = {run.run_id: run for run in annotation_arrays.ranked_runs(session) if run.verdicts}
    if not runs:
        return None
    if state.lab.errors_run not in runs:
        LabState.errors_run.reset()
    return st.selectbox(
        "Errors of",
        [None, *runs],
        key=with_default(LabState.errors_run.key, None),
        width=320,
        placeholder=LATEST,
        format_func=lambda id: LATEST if id is None else run_words(runs[id]),
    )


def _suggestion(session: ProjectSession, status: CodebookStatus, suggestion: suggestions.Suggestion) -> None:
    label = status.codebook.label(suggestion.label_id)
    key = f"lab-suggestion-{suggestion.name}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=key):
        st.html(
            f'<div class="moot-line">{swatch_html(label.colour)} <b>{escape(label.name)}</b>: {PARTS[suggestion.part]} '
            f'<span class="moot-ev q moot-l{label.colour}">“{escape(suggestion.text)}”</span>'
            f'<div class="moot-why">{escape(suggestion.why)}</div></div>'
        )
        icon_button("check", "Accept", f"lab-take-{suggestion.name}", _take, session, suggestion)
        icon_button("close", "Dismiss", f"lab-leave-{suggestion.name}", suggestions.dismiss, session, suggestion)


def _take(session: ProjectSession, suggestion: suggestions.Suggestion) -> None:
    try:
        if codebook_versions.change_draft(session, partial(suggestions.accept, session, suggestion)):
            state.note_saved("codebook")
    except KeyError:
        state.set_notice("warn", "The label no longer exists", "It was deleted in another tab.")


def _rewrite(session: ProjectSession, plan: Plan, status: CodebookStatus, run_id: str | None) -> None:
    role_model = suggestions.rewrite_model(plan)
    if role_model is None:
        line(
            "Choose a language model on the Models page to propose new definitions. "
            "The built-in model cannot write them.",
            "q",
        )
        return
    if not status.codebook.labels:
        line(NO_LABELS, "q")
        return
    rewrite = _shared_rewrite(session)
    if job := running_job(session, suggestions.REWRITE_JOB, partial(setattr, rewrite, "proposal")):
        job_progress(job, "lab-rewrite")
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        label_id = select_label(status.codebook, key="lab-rewrite-label", width=220)
        name = literal(role_model.spec)
        pressed = st.button("Propose a rewrite", icon=":material/edit_note:", key="lab-rewrite", help=f"Asks {name}")
    if pressed:
        rewrite.proposal = None

        def start(_report: OnStep) -> Future[suggestions.Proposal]:
            return suggestions.propose_rewrite(session, plan, label_id, run_id=run_id)

        with error_boxes():
            session.start_job(suggestions.REWRITE_JOB, start, f"{name} is writing")
            st.rerun()
    proposal = rewrite.proposal
    if proposal is not None and proposal.before.id in status.codebook.label_names:  # it may be deleted meanwhile
        _proposal(session, proposal, status.codebook.label(proposal.before.id), run_id)


def _shared_rewrite(session: ProjectSession) -> suggestions.Rewrite:
    return context.workspace().shared(suggestions.Rewrite, session.path)


def _proposal(session: ProjectSession, proposal: suggestions.Proposal, label: Label, run_id: str | None) -> None:
    """Draw the proposed fields of a label. Fields edited since cannot be accepted: the edits would be lost."""
    changes = proposal.changes
    cost = "reused" if proposal.cached else format_price(proposal.cost_usd)
    st.html(
        f'<div class="moot-line"><b>{escape(proposal.before.name)}</b>, {escape(proposal.spec)}, {cost}'
        f'<div class="moot-why">{escape(proposal.why)}</div></div>'
    )
    if not changes:
        line("All changes are decided.", "q")
    for part, change in changes.items():
        effect = suggestions.field_effect(session, proposal, part, run_id)
        pays = effect is None or effect.pays
        is_edited = getattr(label, part) != getattr(proposal.before, part)
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"lab-proposed-{part}"):
            why = f'<div class="moot-why">{escape(str(effect))}</div>' if effect is not None else ""
            words = f"<dt>{escape(change.field)}</dt><dd>{codebook_versions.pieces(change.pieces)}{why}</dd>"
            st.html(f'<div class="moot-diff"><dl>{words}</dl></div>')
            help = "You have edited this field since. Propose a rewrite again." if is_edited else None
            accept, kind = ("Accept", "secondary") if pays else ("Accept anyway", "tertiary")
            accept_field = partial(_accept_field, session, proposal, part)
            button(accept, f"lab-take-{part}", accept_field, type=kind, disabled=is_edited, help=help)
            button("Dismiss", f"lab-leave-{part}", _dismiss_field, session, proposal, part, type="tertiary")


def _dismiss_field(session: ProjectSession, proposal: suggestions.Proposal, part: str) -> None:
    _shared_rewrite(session).proposal = suggestions.dismiss_field(proposal, part)


def _accept_field(session: ProjectSession, proposal: suggestions.Proposal, part: str) -> None:
    def accept() -> None:
        _shared_rewrite(session).proposal = suggestions.accept_field(session, proposal, part)

    try:
        if codebook_versions.change_draft(session, accept):
            state.note_saved("codebook")
    except (MootError, KeyError) as error:
        state.set_notice("error", "The change could not be applied", str(error))
