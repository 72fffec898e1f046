"""Suggested codebook examples below the review, and the dialog that edits one."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.state import ReviewState, state
from app.widgets import codebook_versions
from app.widgets.alerts import error_boxes
from app.widgets.elements import button, remark
from app.widgets.labels import select_label, swatch_html
from core.codebook import Codebook
from core.errors import MootError
from core.formatting import format_count, plural
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, codebook_examples
from core.services.review.codebook_examples import PART_NAMES, CodebookExample, ExampleEffect


def draw_suggestion(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> bool:
    """Draw a suggestion from the focused or the last corrected document. Returns True if there is one.

    It stays while other documents are submitted, until it is added or dismissed, or another takes its place.
    """
    for candidate in dict.fromkeys(filter(None, (document_id, *state.review.corrected_documents))):
        record = actions.load_record(session, run, candidate, actor=actor)  # without a verdict while that is hidden
        if record is not None and (suggestions := codebook_examples.suggest_examples(session, run, record)):
            state.review.corrected_documents = (candidate,)
            _offer(session, run, suggestions, actor, elsewhere=candidate != document_id)
            return True
    ReviewState.corrected_documents.reset()
    return False


def _offer(
    session: ProjectSession,
    run: RunRow,
    suggestions: list[tuple[CodebookExample, ExampleEffect | None]],
    actor: str,
    *,
    elsewhere: bool,
) -> None:
    """Draw the first suggestion with words, else a button to choose words."""
    example, effect = next((suggestion for suggestion in suggestions if suggestion[1] is not None), suggestions[0])
    words = f"Your correction of {escape(example.document_id)} can be added as an example of its label."
    codebook = codebook_examples.extended_codebook(session, run)
    if effect is not None and codebook is not None:
        words = example_sentence(example, effect, codebook, more=len(suggestions) - 1, elsewhere=elsewhere)
    st.html(f'<div class="moot-example">{words}</div>', width="stretch")
    change, kind = ("Choose words", "secondary") if effect is None else ("Change words", "tertiary")
    button(change, "review-example-change", ReviewState.edited_example.set, example, type=kind)
    if effect is not None:
        add = f"Add as {PART_NAMES[example.part]}"
        button(add, "review-example-add", _keep, session, run, example, actor, icon="add")
    if elsewhere:
        button("Dismiss", "review-example-dismiss", ReviewState.corrected_documents.reset, type="tertiary")


def _keep(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    """Add an example to the codebook. The next page run shows the result."""
    try:
        version = codebook_examples.add_example(session, run, example, actor=actor)
    except MootError as error:
        state.review.example_saved = str(error)
    else:
        state.review.example_saved = f"Saved as version {version} of the codebook. New runs use it."


@st.dialog("Add as example", width="large")
def example_dialog(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    codebook = codebook_examples.extended_codebook(session, run) or run.settings.codebook
    edited = _example_form(example, codebook)
    if not edited.text.strip():
        remark("Type or paste words of the text to preview the change.", "q")
        return
    with error_boxes():
        _example_effect(codebook_examples.preview_example(session, run, edited))
        remark("This document is excluded from evaluations of runs whose codebook contains these words.", "q")
        if st.button("Add example", type="primary", key="new-example-keep"):
            _keep(session, run, edited, actor)
            st.rerun()


def _example_form(example: CodebookExample, codebook: Codebook) -> CodebookExample:
    key = f"new-example-{example.document_id}-{example.label_id}"
    left, right = st.columns(2)
    index = codebook.label_numbers.get(example.label_id, 0)
    with left:
        label_id = select_label(codebook, key=f"{key}-label", index=index)
    parts = list(PART_NAMES)
    part = right.selectbox(
        "Add as", parts, index=parts.index(example.part), format_func=PART_NAMES.__getitem__, key=f"{key}-part"
    )
    text = st.text_area("Words", example.text, height=80, key=f"{key}-words", placeholder="A short quote from the text")
    return CodebookExample(example.document_id, label_id, part, text or "")


def _example_effect(effect: ExampleEffect) -> None:
    codebook_versions.changes(effect.changes)
    matching, decisions = format_count(effect.matching, "reviewed document"), format_count(effect.stale, "decision")
    remark(
        f"{effect.net}. The words occur in {matching}. The change is saved as version {effect.version} of the "
        f"codebook. Review then marks {decisions} on this label that {plural(effect.stale, 'was', 'were')} made before."
    )


def example_sentence(
    example: CodebookExample, effect: ExampleEffect, codebook: Codebook, *, more: int, elsewhere: bool
) -> str:
    """Return a suggestion as HTML. ``more`` counts others; ``elsewhere`` is True if another document is in focus."""
    label = codebook.label(example.label_id)
    further = f" {format_count(more, 'more correction')} here." if more else ""
    source = f" of {escape(example.document_id)}" if elsewhere else ""
    return (
        f"<b>Suggested example</b> Add <q>{escape(example.text)}</q>{source} to the {PART_NAMES[example.part]}s of "
        f"{swatch_html(label.colour)}<b>{escape(label.name)}</b>. {effect.net}.{further}"
    )
