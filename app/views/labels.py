"""Labels by swatch and name, as html with every value escaped: colour never stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

from app.views.palette import colours
from core.codebook import COLOURS, Codebook, Label


def colour(number: int) -> str:
    """Label colour 1 to 8 for charts, in both themes."""
    return colours()[f"l{(number - 1) % COLOURS + 1}"]


def swatch_html(number: int) -> str:
    """The square of a label colour."""
    return f'<span class="moot-swatch moot-l{number}"></span>'


def tag_html(name: str, number: int = 0, *, absent: bool = False) -> str:
    """A label's tag. ``absent`` draws the outline of a label that was dropped."""
    return f'<span class="moot-tag moot-l{number}{" no" if absent else ""}"><i></i>{escape(name)}</span>'


def tags(labels: Iterable[Label], *, absent: bool = False) -> None:
    """A row of tags."""
    st.html(f'<div class="moot-tags">{"".join(tag_html(x.name, x.colour, absent=absent) for x in labels)}</div>')


def pick(codebook: Codebook, *, key: str) -> str:
    """Pills of all labels, one of which is always picked (the first to begin with); gives its id."""
    names = {label.id: label.name for label in codebook.labels}
    chosen: str = st.pills(
        "dimension" if codebook.kind == "rating" else "label",
        list(names),
        default=next(iter(names)),
        format_func=names.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=key,
    )
    return chosen
