"""Left side of the Lab for definitions: label fields, suggestions and versions."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from app.screens.lab import components, suggestions
from app.state import LabState, state, with_default
from app.widgets import label_editor
from app.widgets.codebook_versions import changes
from app.widgets.highlighted_text import highlighted_text
from app.widgets.label_editor import Fields
from app.widgets.layout import panel
from core.documents import Document
from core.errors import MootError
from core.runs import RunRow
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.codebook import CodebookStatus
from core.services.data.overview import format_gold
from core.services.lab import history
from core.services.review import review
from core.services.runs.planning import Plan
from core.services.session import ProjectSession

VIEWS = {"edit": "Edit", "diff": "Diff", "suggestions": "Suggestions"}
VERSIONS = "lab-versions-definitions"


def definitions(session: ProjectSession, plan: Plan) -> None:
    """Draw the definitions panel."""
    now = codebooks.standing(session)
    count = now.count
    told = f"v{now.saved.version if now.saved else 0}"
    if now.dirty:
        told += f" against the draft, {count} change{'' if count == 1 else 's'}"
    with panel("Definitions", told, key="lab-definitions") as head:
        with head:
            view = st.segmented_control(
                "View", list(VIEWS), format_func=VIEWS.__getitem__, label_visibility="collapsed", required=True,
                key=with_default(LabState.definitions_view.key, "edit"),
            )  # fmt: skip
        if view == "diff":
            changes(now.changes)
        elif view == "suggestions":
            suggestions.suggestions(session, plan, now)
        else:
            _editor(session, now)
        components.version_history(
            history.codebook_history(session), kind=now.codebook.kind, opened="" if now.dirty else told,
            promotable=True, key=VERSIONS, on_open=lambda: _restore(session, "open"),
            on_promote=lambda: _restore(session, "promote"),
        )  # fmt: skip
        _foot(session, now)


def _editor(session: ProjectSession, now: CodebookStatus) -> None:
    fields = Fields(session)
    book = now.codebook
    names = {label.id: label.name for label in book.labels}
    if not names:
        st.html('<div class="moot-line q">No labels yet. Add one on the Codebook page.</div>')
        return
    if state.lab.label not in names:
        LabState.label.reset()
    label_id = st.pills(
        "Label", list(names), format_func=names.__getitem__, label_visibility="collapsed", required=True,
        key=with_default(LabState.label.key, next(iter(names))),
    )  # fmt: skip
    label_editor.label_fields(fields, book, book.label(label_id or next(iter(names))))
    guideline = fields.bind("book-guideline", book.guideline, lambda old, typed: codebooks.change(old, guideline=typed))
    with st.expander("Guideline for all labels"):
        st.text_area("Guideline for all labels", **guideline, height=120, label_visibility="collapsed")


def _foot(session: ProjectSession, now: CodebookStatus) -> None:
    if not now.dirty:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="lab-foot"):
        at = state.codebook.draft_saved_at
        saved = f"✓ Draft saved {time.strftime('%H:%M:%S', time.localtime(at))}" if at else ""
        st.html(f'<span class="moot-saved">{saved}</span>', width="stretch")
        back = f"Reset to v{now.saved.version}" if now.saved else "Reset"
        st.button(back, type="tertiary", key="lab-discard", on_click=codebooks.discard, args=(session,))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="lab-save"):
        number = now.next_version
        st.text_input(
            f"Note for v{number}", key=LabState.note.key, label_visibility="collapsed",
            placeholder=f"Note for v{number}: what changed, in a few words",
        )  # fmt: skip


def promote_button(session: ProjectSession) -> None:
    """Draw the button that saves the draft as the version for new runs."""
    now = codebooks.standing(session)
    name = f"draft as v{now.next_version}" if now.dirty else f"v{now.saved.version if now.saved else 0}"
    st.button(
        f"Promote {name}", type="primary", disabled=not now.dirty, key="lab-promote", on_click=_promoted,
        args=(session,),
        help="Use it in new runs" if now.dirty else "This is already the project's default",
    )  # fmt: skip


def _promoted(session: ProjectSession) -> None:
    try:
        version = codebooks.save(session, codebooks.standing(session).codebook, state.lab.note)
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)
        return
    LabState.note.reset()
    state.set_notice("ok", f"Definitions v{version} are the project's default", "New runs use this version.")


def _restore(session: ProjectSession, trigger: str) -> None:
    name = (st.session_state.get(VERSIONS) or {}).get(trigger)
    if not name:
        return
    number = int(str(name).removeprefix("v"))
    try:
        if trigger == "promote":
            made = codebooks.restore(session, number)
            state.set_notice("ok", f"v{number} is the project's default again, as v{made}")
        else:
            old = next(each for each in codebooks.history(session) if each.version == number)
            codebooks.keep(session, old.codebook)
            state.codebook.note_draft_saved()
    except MootError as error:
        state.set_notice("error", error.message, error.remedy)


def document(session: ProjectSession, before: RunRow, after: RunRow, shown: Document) -> None:
    """Draw a document with the evidence of the later debate and its gold labels."""
    run = after if review.load_record(session, after, shown.id) is not None else before
    known = review.load_record(session, run, shown.id)
    evidence = [quote for quotes in known.evidence.values() for quote in quotes] if known is not None else []
    highlighted_text(shown.fields, run.settings.codebook, evidence, height=190, small=True, key=f"lab-text-{shown.id}")
    if shown.gold:
        gold = ", ".join(format_gold(shown, run.settings.codebook)) or "none"
        st.html(f'<div class="moot-line">Gold: <b>{escape(gold)}</b></div>')
