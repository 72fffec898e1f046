"""What the rooms share: their css, links from one room to another, widgets that show a stored value."""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import APP


def styles() -> None:
    """The css of the Models and Run rooms. Call once at the top of a screen."""
    st.html(f"<style>{(APP / 'static' / 'rooms.css').read_text('utf-8')}</style>")


def prepare_styles() -> None:
    """Add the css of Home, Data, Codebook, Personas and Lab. Call once at the top of a page."""
    css = "".join((APP / "static" / name).read_text("utf-8") for name in ("rooms.css", "prepare.css"))
    st.html(f"<style>{css}</style>")


def report_to(bar: DeltaGenerator) -> Callable[[float, str], None]:
    """Return a progress callback of services (share from 0 to 1, current step) that draws on a progress bar."""

    def report(share: float, step: str) -> None:
        bar.progress(min(1.0, share), step)

    return report


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
