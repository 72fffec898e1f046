"""The head of a screen: title, badge, one line about it, and buttons on the right."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.views.notice import Tone, badge_html


def header(
    title: str, sub: str = "", *, badge: str = "", tone: Tone = "", dot: bool = False, key: str = "header"
) -> DeltaGenerator:
    """Draw the head and return the container for the buttons on its right: ``with header("Run 14"): st.button(...)``.

    Never call st.title besides. All values are escaped.
    """
    with st.container(horizontal=True, vertical_alignment="center", key=key, gap="small"):
        st.html(
            f'<div class="moot-head"><h1>{escape(title)}</h1>{badge_html(badge, tone, dot=dot) if badge else ""}'
            f'<span class="sub" title="{escape(sub)}">{escape(sub)}</span></div>',
            width="stretch",
        )
        return st.container(
            horizontal=True, width="content", horizontal_alignment="right", vertical_alignment="center", gap="small"
        )
