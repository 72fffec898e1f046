"""Suggestion to add a correction to the codebook as an example or keyword, with a preview of its effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from app.widgets import codebook_versions
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.formatting import format_count
from core.services.review.codebook_examples import PART_NAMES, CodebookExample, Effect, Part

_WHERE: Mapping[Part, str] = {
    "include": "to the include examples of",
    "exclude": "to the exclude examples of",
    "keywords": "to the keywords of",
}


def card(
    example: CodebookExample,
    effect: Effect,
    codebook: Codebook,
    *,
    on_add: Callable[[], None],
    on_change: Callable[[], None],
    more: int = 0,
    elsewhere: bool = False,
    key: str = "teach",
) -> None:
    """Draw a suggested example into a horizontal container, with buttons to add or change it.

    ``more`` counts further suggestions. ``elsewhere`` is True when another document is in focus.
    """
    st.html(f'<div class="moot-example">{_sentence(example, effect, codebook, more, elsewhere)}</div>', width="stretch")
    st.button("Change words", type="tertiary", on_click=on_change, key=f"{key}-change")
    st.button(f"Add as {PART_NAMES[example.part]}", icon=":material/add:", on_click=on_add, key=f"{key}-add")


def nothing(words: str, *, on_change: Callable[[], None], key: str = "teach") -> None:
    """Draw the suggestion for a correction for which no words were found."""
    st.html(f'<div class="moot-example">{escape(words)}</div>', width="stretch")
    st.button("Choose words", on_click=on_change, key=f"{key}-change")


def form(example: CodebookExample, codebook: Codebook, *, key: str = "teach-form") -> CodebookExample:
    """Draw the choice of label, part and words, and return the resulting example."""
    names = {label.id: label.name for label in codebook.labels}
    left, right = st.columns(2)
    labels = list(names)
    label_id = left.selectbox(
        "Label", labels, index=labels.index(example.label_id) if example.label_id in names else 0,
        format_func=names.__getitem__, key=f"{key}-label",
    )  # fmt: skip
    parts = list(PART_NAMES)
    part = right.selectbox(
        "Add as", parts, index=parts.index(example.part), format_func=PART_NAMES.__getitem__, key=f"{key}-part"
    )
    text = st.text_area("Words", example.text, height=80, key=f"{key}-words", placeholder="A short quote from the text")
    return CodebookExample(example.document_id, label_id, part, text or "")


def effect(found: Effect) -> None:
    """Draw the effect of an example: the diff and the affected documents."""
    codebook_versions.changes(found.changes)
    st.html(f'<div class="moot-remark">{_touched(found)} It is saved as version {found.version} of the codebook.</div>')


def _sentence(example: CodebookExample, found: Effect, codebook: Codebook, more: int, elsewhere: bool) -> str:
    label = codebook.label(example.label_id)
    others = f" {format_count(more, 'more correction')} here." if more else ""
    source = f" of {escape(example.document_id)}" if elsewhere else ""
    return (
        f"<b>Suggested example</b> Add <q>{escape(example.text)}</q>{source} {_WHERE[example.part]} "
        f"{swatch_html(label.colour)}<b>{escape(label.name)}</b>. {_touched(found)}{others}"
    )


def _touched(found: Effect) -> str:
    if not found.touched:
        return "Affects no reviewed document."
    words = f"Affects {format_count(found.touched, 'reviewed document')}"
    return f"{words}, {found.matching:,} of which contain{'s' if found.matching == 1 else ''} the words. {found.net}."
