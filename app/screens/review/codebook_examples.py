"""Make it count: a correction as an example or keyword of its label, in one click, with what that would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from app.widgets import codebook_versions
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.services.review.codebook_examples import PARTS, CodebookExample, Effect, Part

_WHERE: Mapping[Part, str] = {
    "include": "to what counts as",
    "exclude": "to what does not count as",
    "keywords": "to the keywords of",
}


def card(
    lesson: CodebookExample,
    effect: Effect,
    codebook: Codebook,
    *,
    on_teach: Callable[[], None],
    on_change: Callable[[], None],
    more: int = 0,
    elsewhere: bool = False,
    key: str = "teach",
) -> None:
    """Into a horizontal container: the words, where they would go, what that touches; one button keeps it, another
    opens the words to be changed. ``more`` is how many further corrections could teach something, ``elsewhere`` says
    that another document is in focus by now."""
    st.html(f'<div class="moot-teach">{_sentence(lesson, effect, codebook, more, elsewhere)}</div>', width="stretch")
    st.button("Change words", type="tertiary", on_click=on_change, key=f"{key}-change")
    st.button(f"Add as {PARTS[lesson.part]}", icon=":material/add:", on_click=on_teach, key=f"{key}-add")


def nothing(words: str, *, on_change: Callable[[], None], key: str = "teach") -> None:
    """The same where there are no words to suggest."""
    st.html(f'<div class="moot-teach">{escape(words)}</div>', width="stretch")
    st.button("Choose words", on_click=on_change, key=f"{key}-change")


def form(lesson: CodebookExample, codebook: Codebook, *, key: str = "teach-form") -> CodebookExample:
    """Label, part and words to choose; gives the lesson as it stands."""
    names = {label.id: label.name for label in codebook.labels}
    left, right = st.columns(2)
    labels = list(names)
    label_id = left.selectbox(
        "Label", labels, index=labels.index(lesson.label_id) if lesson.label_id in names else 0,
        format_func=names.__getitem__, key=f"{key}-label",
    )  # fmt: skip
    parts = list(PARTS)
    part = right.selectbox(
        "Becomes its", parts, index=parts.index(lesson.part), format_func=PARTS.__getitem__, key=f"{key}-part"
    )
    text = st.text_area(
        "Words", lesson.text, height=80, key=f"{key}-words", placeholder="A short piece of the text, in its own words"
    )
    return CodebookExample(lesson.document_id, label_id, part, text or "")


def effect(found: Effect) -> None:
    """What a lesson would do: the diff, and the documents it touches."""
    codebook_versions.changes(found.changes)
    st.html(f'<div class="moot-proof">{_touched(found)} It becomes version {found.version} of the codebook.</div>')


def _sentence(lesson: CodebookExample, found: Effect, codebook: Codebook, more: int, elsewhere: bool) -> str:
    label = codebook.label(lesson.label_id)
    others = f" {more} more correction{'' if more == 1 else 's'} here." if more else ""
    source = f" of {escape(lesson.document_id)}" if elsewhere else ""
    return (
        f"<b>Make it count</b> Add <q>{escape(lesson.text)}</q>{source} {_WHERE[lesson.part]} "
        f"{swatch_html(label.colour)}<b>{escape(label.name)}</b>. {_touched(found)}{others}"
    )


def _touched(found: Effect) -> str:
    if not found.touched:
        return "No reviewed document is touched."
    words = f"Touches {found.touched:,} reviewed document{'' if found.touched == 1 else 's'}"
    return f"{words}, {found.matching:,} of which hold{'s' if found.matching == 1 else ''} the words."
