"""A bordered part of a screen with a head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.views import palette


@contextmanager
def panel(title: str, sub: str = "", *, note: str = "", counted: str = "", key: str) -> Iterator[DeltaGenerator]:
    """Draw what follows in a frame; gives the container on the right of its head. ``counted`` tells how many documents
    it stands on and which are left out. All words are escaped."""
    with st.container(border=True, key=key, gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-head"):
            st.html(
                f'<div class="moot-panel"><h2>{escape(title)}</h2><span>{escape(sub)}</span>'
                f'<span class="end">{escape(note)}</span>{_counted(counted)}</div>',
                width="stretch",
            )
            head = st.container(horizontal=True, width="content", horizontal_alignment="right", gap="small")
        yield head


def counted(words: str) -> None:
    """The same line as in a head, for a chart that is one of several in its panel."""
    st.html(f'<div class="moot-panel">{_counted(words)}</div>')


def _counted(words: str) -> str:
    return f'<span class="n">{escape(words)}</span>' if words else ""


def role_legend(roles: Mapping[str, str]) -> None:
    """The triangles that stand for roles in a chart."""
    words = "".join(
        f'<span><i style="color:{palette.role_colour(role, palette.colours())}">▲</i> {escape(title.lower())}</span>'
        for role, title in roles.items()
    )
    if words:
        st.html(f'<div class="moot-legend">{words}</div>', width="content")
