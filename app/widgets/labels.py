"""Labels by swatch and name, as html with every value escaped: colour never stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

from app.widgets.palette import colours, role_token
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


def tile_html(role: str, title: str, *, small: bool = False) -> str:
    """The tile with the first letter of the role's title."""
    token = role_token(role)
    return (
        f'<span class="moot-tile{" s" if small else ""}" title="{escape(title, quote=True)}" '
        f'style="background:var(--r-{token}-bg);color:var(--r-{token})">{escape(title[:1].upper())}</span>'
    )


def role_html(role: str, title: str, does: str = "") -> str:
    """Tile, title and what the role is there for."""
    more = f"<small>{escape(does)}</small>" if does else ""
    return f'<div class="moot-role">{tile_html(role, title)}<span>{escape(title)}{more}</span></div>'
