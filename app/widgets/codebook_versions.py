"""Versions of a codebook: list, comparison, restoring an older one, and the choice between drafts of two tabs.

Also accepted changes, to undo or to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.components import component
from app.state import Value, state
from app.widgets.alerts import error_notices, notice
from app.widgets.elements import button, line, remark
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.formatting import capitalised, format_count, format_effect
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.codebook import CodebookStatus
from core.services.codebooks.diff import LabelChange, Piece, compare, compare_lines
from core.services.lab import accepted_changes
from core.services.project_session import ProjectSession

_TEXT_DIFF = component("text_diff")
SAVE_HELP = "Saves a new version, which new runs use. Earlier runs keep theirs."
DRAFT = 0
"""Number of the draft among the versions."""
SHOWN_VERSIONS = 6  # versions in the table
KINDS = {"multilabel": "Multiple labels", "choice": "Single choice", "rating": "Ratings"}
FIELDS = {"kind": "label type", "unit": "document type"}
"""Names of fields on the page where they differ from those in the code."""
TAGS = {"same": "span", "added": "ins", "removed": "del"}
CLOSING = tuple(",.;:!?)]")


def version_rows(rows: Sequence[tuple[str, str, str]]) -> None:
    """Draw (version, note, time) of the latest versions as a small table."""
    more = len(rows) - SHOWN_VERSIONS
    body = "".join(
        f'<div class="moot-version"><b>{escape(number)}</b><span title="{escape(note)}">{escape(note)}</span>'
        f"<time>{escape(at)}</time></div>"
        for number, note, at in rows[:SHOWN_VERSIONS]
    )
    st.html(body + (f'<div class="moot-why">and {more:,} before</div>' if more > 0 else ""))


def note_field(note: Value[str], number: int, **widget: Any) -> None:
    """Draw the field for the note of the next version. ``widget`` are further arguments of ``st.text_input``."""
    st.text_input(f"Note for v{number}", key=note.key, persist_state="session", **widget)


def changes(label_changes: Sequence[LabelChange]) -> None:
    """Draw the changes of each label word by word. All values are escaped."""
    if not label_changes:
        line("No difference.", "q")
        return
    st.html(f'<div class="moot-diff">{"".join(map(_change, label_changes))}</div>')


def pieces(diff: Sequence[Piece]) -> str:
    """Return unchanged, added and removed text as HTML.

    Pieces are separated by a space, except before closing punctuation.
    """
    return "".join(
        f"{'' if text.startswith(CLOSING) else ' '}<{TAGS[op]}>{escape(text)}</{TAGS[op]}>" for op, text in diff
    ).lstrip()


def _change(change: LabelChange) -> str:
    note = "" if change.kind == "changed" else change.kind
    head = f"{swatch_html(change.colour)}{escape(change.name)}" if change.label_id else "Codebook"
    rows = ""
    for field in change.fields:
        shown = (
            [(op, KINDS[text]) for op, text in field.pieces if text in KINDS] if field.field == "kind" else field.pieces
        )
        rows += f"<dt>{escape(FIELDS.get(field.field, field.field))}</dt><dd>{pieces(shown)}</dd>"
    return f'<h3>{head}<small class="moot-why">{note}</small></h3><dl>{rows}</dl>'


def tab_status(session: ProjectSession) -> CodebookStatus:
    """Return the codebook in the editor of this tab, and remember that the page shows it."""
    status = codebooks.codebook_status(session)
    own = state.codebook.draft.show(status.codebook)
    return codebooks.codebook_status(session, own) if own is not None else status


def change_draft(session: ProjectSession, change: Callable[[], object]) -> bool:
    """Call a function that changes the draft. Return False if the user must choose between the drafts of two tabs."""
    if state.codebook.draft.own(codebooks.codebook_status(session).codebook) is not None:
        return False  # the page shows the choice now
    change()
    state.codebook.draft.expect_change()
    return True


def draft_choice(session: ProjectSession) -> None:
    """Draw the choice between the codebook of this tab and the draft that another tab has changed, if they differ."""
    status = codebooks.codebook_status(session)
    own = state.codebook.draft.own(status.codebook)

    def keep_own() -> None:
        if own is not None:
            codebooks.save_draft(session, own)
        state.codebook.draft.choose()
        state.note_saved("codebook")

    def use_other() -> None:
        state.codebook.draft.choose()
        state.codebook.forget_inputs()

    differences = partial(changes, compare(status.codebook, own)) if own is not None else None
    choice_of_drafts("codebook", differences, use_other=use_other, keep_own=keep_own)


def choice_of_drafts(
    what: str,
    draw_differences: Callable[[], None] | None,
    *,
    use_other: Callable[[], None],
    keep_own: Callable[[], None],
) -> None:
    """Draw the choice between the texts of two tabs for ``what``; nothing with None, if they do not differ."""
    with st.container(key="draft-choice"):  # always, so that the page below keeps its state
        if draw_differences is None:
            return
        text = "This page shows your text. It is not saved until you choose one of the two."
        notice("warn", f"The {what} was changed in another tab", text)
        with st.container(horizontal=True, gap="small"):
            button("Use the other tab's text", "draft-use-other", use_other)
            button("Keep mine", "draft-keep-own", keep_own)
        with st.expander("Differences from the other tab's text to yours"):
            draw_differences()


def text_difference(before: str, after: str, key: str) -> None:
    """Draw the difference of two texts line by line."""
    _TEXT_DIFF(key=key, data={"lines": [asdict(line) for line in compare_lines(before, after)]})


def comparison(
    versions: Sequence[codebooks.CodebookVersion], draft: Codebook | None, restore: Callable[[int], None]
) -> None:
    """Draw the comparison of two versions, and buttons that restore an older version. Used in a dialog."""
    books = ({DRAFT: draft} if draft is not None else {}) | {version.number: version.codebook for version in versions}
    names = {version.number: ", ".join(filter(None, (f"v{version.number}", version.note))) for version in versions}
    names[DRAFT] = "the draft"
    numbers = list(books)
    left, right = st.columns(2)
    after = left.selectbox("Changes in version", numbers, format_func=names.__getitem__, key="versions-after")
    older = [number for number in numbers if number != after] or numbers
    nearest = min(numbers.index(after), len(older) - 1)  # the version before, if there is one
    before = right.selectbox(
        "since", older, index=nearest, format_func=names.__getitem__, key=f"versions-before-{after}"
    )
    changes(compare(books[before], books[after]))
    restorable = [number for number in (after, before) if number not in (DRAFT, versions[0].number)] if versions else []
    help = "Save or discard the draft first" if draft is not None else "Saves it as a new version"
    with st.container(horizontal=True):
        for number in restorable:
            key = f"versions-restore-{number}"
            if st.button(f"Restore v{number}", key=key, disabled=draft is not None, help=help):
                restore(number)


def show_accepted_changes(session: ProjectSession) -> None:
    """Draw the accepted changes of the project, nothing without any. The line updates itself while a trial runs."""
    accepted_changes.try_when_due(session)
    accepted = accepted_changes.accepted(session)
    if accepted is None:
        return
    count = format_count(len(accepted.changes), "change")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="accepted-changes"):
        with st.container(width="stretch"):
            st.fragment(_outcome, run_every=0.5 if accepted.is_running else None)(
                session, was_running=accepted.is_running
            )
        undo = f"Undo {'it' if len(accepted.changes) == 1 else f'all {count}'}"
        help = (
            "Takes the accepted changes out of the draft and, as a new version, out of the saved codebook. Your other "
            "edits stay."
        )
        if button(undo, "accepted-changes-undo", icon="undo", type="tertiary", help=help):
            _undo(session)
            st.rerun()  # Review draws this line in a fragment, and the message is at the top of the page
        help = "Keeps them in the codebook and hides this line."
        keep = accepted_changes.keep
        button("Keep", "accepted-changes-keep", keep, session, icon="check", type="tertiary", help=help)


def _outcome(session: ProjectSession, *, was_running: bool) -> None:
    accepted = accepted_changes.accepted(session)
    if accepted is None or (was_running and not accepted.is_running):
        st.rerun()
    remark(sentence(accepted), is_status=True)


def sentence(accepted: accepted_changes.AcceptedChanges) -> Markup:
    """Return the outcome of the accepted changes."""
    head = Markup("<b>{}</b>").format(format_count(len(accepted.changes), "accepted change"))
    if accepted.is_running:
        return head + ", being tested on labelled documents."
    result = accepted.result
    if result is None:
        few = f", not tested: review {accepted_changes.MIN_REVIEWED} documents, and their effect is measured here."
        return head + few
    cells, pair = result.cells, result.comparison
    scored = advice = ""
    if pair.main.verdict == "worse":
        scored = f" {capitalised(pair.sentence)}"
        advice = Markup(' <span class="bad">Undo them, or change their words.</span>')
    elif cells.corrected:  # errors that led to a change are corrected by it: no test shows a gain on other documents
        scored = " Some of these documents led to the changes. Expect less on others."
    tested, left_out = f"all {format_count(result.labelled, 'labelled document')}", ""
    if result.labelled < accepted.labelled:
        tested = f"{result.labelled:,} of {format_count(accepted.labelled, 'labelled document')}"
        left_out = f" (at most {accepted_changes.MAX_DOCUMENTS}, without held-out ones and sources of examples)"
    effect = format_effect(cells.corrected, cells.regressed)
    return head + f". Word-list baseline on {tested}{left_out}: {effect}.{scored}" + advice


def _undo(session: ProjectSession) -> None:
    def undo() -> None:
        undone = accepted_changes.undo(session)
        pronoun = "it" if undone.changes == 1 else "them"
        saved = f"Codebook v{undone.version} was saved without {pronoun}. " if undone.version is not None else ""
        unsaved = "Your other unsaved changes stay in the draft." if codebooks.codebook_status(session).dirty else ""
        state.set_notice("ok", f"{format_count(undone.changes, 'change')} undone", saved + unsaved)

    with error_notices():
        if not change_draft(session, undo):
            state.set_notice("warn", "Not undone", "First choose between the texts of two tabs on the Codebook page.")
