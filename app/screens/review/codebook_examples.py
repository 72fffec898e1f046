"""Suggestion to add a correction to the codebook as an example or keyword, with a preview of its effect."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from app.widgets import codebook_versions
from app.widgets.labels import select_label, swatch_html
from core.codebook import Codebook
from core.formatting import format_count, plural
from core.services.review.codebook_examples import PART_NAMES, CodebookExample, Effect, Part

_WHERE: Mapping[Part, str] = {
    "include": "to the include examples of",
    "exclude": "to the exclude examples of",
    "keywords": "to the keywords of",
}


def form(example: CodebookExample, codebook: Codebook) -> CodebookExample:
    """Draw the choice of label, part and words, and return the resulting example."""
    left, right = st.columns(2)
    place = next((place for place, label in enumerate(codebook.labels) if label.id == example.label_id), 0)
    with left:
        label_id = select_label(codebook, key="teach-form-label", index=place)
    parts = list(PART_NAMES)
    part = right.selectbox(
        "Add as", parts, index=parts.index(example.part), format_func=PART_NAMES.__getitem__, key="teach-form-part"
    )
    text = st.text_area(
        "Words", example.text, height=80, key="teach-form-words", placeholder="A short quote from the text"
    )
    return CodebookExample(example.document_id, label_id, part, text or "")


def effect(found: Effect) -> None:
    """Draw the effect of an example: the diff and the affected documents."""
    codebook_versions.changes(found.changes)
    matching, decisions = format_count(found.matching, "reviewed document"), format_count(found.stale, "decision")
    words = (
        f"{found.net}. The words occur in {matching}. The change is saved as version {found.version} of the codebook. "
        f"Review then marks {decisions} on this label that {plural(found.stale, 'was', 'were')} made before."
    )
    st.html(f'<div class="moot-remark">{escape(words)}</div>')


def sentence(example: CodebookExample, found: Effect, codebook: Codebook, *, more: int, elsewhere: bool) -> str:
    """Return a suggested example as HTML.

    ``more`` counts further suggestions. ``elsewhere`` is True when another document is in focus.
    """
    label = codebook.label(example.label_id)
    others = f" {format_count(more, 'more correction')} here." if more else ""
    source = f" of {escape(example.document_id)}" if elsewhere else ""
    return (
        f"<b>Suggested example</b> Add <q>{escape(example.text)}</q>{source} {_WHERE[example.part]} "
        f"{swatch_html(label.colour)}<b>{escape(label.name)}</b>. {found.net}.{others}"
    )
