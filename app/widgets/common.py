"""What the rooms share: their css, links from one room to another, widgets that show a stored value."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from app.components import APP


def styles() -> None:
    """The css of the Models and Run rooms. Call once at the top of a screen."""
    st.html(f"<style>{(APP / 'static' / 'rooms.css').read_text('utf-8')}</style>")


def saved(at: float | None) -> None:
    """When the page was last saved."""
    if at is not None:
        st.html(f'<span class="moot-saved">✓ Saved {time.strftime("%H:%M:%S", time.localtime(at))}</span>')


def line(text: str, tone: str = "") -> None:
    """A line of small text, escaped."""
    st.html(f'<div class="moot-line {tone}">{escape(text)}</div>')


def heading(text: str) -> None:
    """The heading of a card."""
    st.html(f'<h2 class="moot-h2">{escape(text)}</h2>')


def money(dollars: float | None) -> str:
    """Dollars with as many digits as say something."""
    if dollars is None:
        return "price unknown"
    if dollars == 0:
        return "free"
    if dollars < 0.01:
        return "under $0.01"
    return f"${dollars:,.2f}"
