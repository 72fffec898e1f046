"""Versions of a codebook: list, comparison, and restoring an older version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from app.widgets.elements import line
from app.widgets.labels import swatch_html
from core.codebook import Codebook
from core.services.codebooks.codebook import CodebookVersion
from core.services.codebooks.diff import LabelChange, Piece, compare

DRAFT = 0
"""Number of the draft among the versions."""
SHOWN = 6  # versions in the table
TAGS = {"same": "span", "added": "ins", "removed": "del"}
CLOSING = tuple(",.;:!?)]")


def version_rows(rows: Sequence[tuple[str, str, str]]) -> None:
    """Draw (version, note, time) of the latest versions as a small table."""
    more = len(rows) - SHOWN
    body = "".join(
        f'<div class="moot-version"><b>{escape(number)}</b><span>{escape(note)}</span><time>{escape(at)}</time></div>'
        for number, note, at in rows[:SHOWN]
    )
    st.html(body + (f'<div class="moot-why">and {more:,} before</div>' if more > 0 else ""))


def changes(found: Sequence[LabelChange]) -> None:
    """Draw the changes of each label word by word. All values are escaped."""
    if not found:
        line("No difference.", "q")
        return
    st.html(f'<div class="moot-diff">{"".join(map(_change, found))}</div>')


def pieces(found: Sequence[Piece]) -> str:
    """Return unchanged, added and removed text as HTML.

    Pieces are separated by a space, except before closing punctuation.
    """
    return "".join(
        f"{'' if text.startswith(CLOSING) else ' '}<{TAGS[op]}>{escape(text)}</{TAGS[op]}>" for op, text in found
    ).lstrip()


def _change(change: LabelChange) -> str:
    what = "" if change.what == "changed" else change.what
    head = f"{swatch_html(change.colour)}{escape(change.name)}" if change.label_id else "Codebook"
    rows = "".join(f"<dt>{escape(field.field)}</dt><dd>{pieces(field.pieces)}</dd>" for field in change.fields)
    return f'<h3>{head}<small class="moot-why">{what}</small></h3><dl>{rows}</dl>'


def comparison(versions: Sequence[CodebookVersion], draft: Codebook | None, restore: Callable[[int], None]) -> None:
    """Draw the comparison of two versions, and buttons that restore an older version. Used in a dialog."""
    books = ({DRAFT: draft} if draft is not None else {}) | {each.version: each.codebook for each in versions}
    names = {each.version: ", ".join(filter(None, (f"v{each.version}", each.note))) for each in versions}
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
    chosen = [number for number in (after, before) if number not in (DRAFT, versions[0].version)] if versions else []
    help = "Save or discard the draft first" if draft is not None else "Saves it as a new version"
    with st.container(horizontal=True):
        for number in chosen:
            key = f"versions-restore-{number}"
            if st.button(f"Restore v{number}", key=key, disabled=draft is not None, help=help):
                restore(number)
