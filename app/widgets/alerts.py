"""Boxes that say what happened, where, and what to do; and short badges. All values are escaped."""

from __future__ import annotations

from html import escape
from typing import Literal, TypeAlias

import streamlit as st

from core.errors import MootError, NothingChanged

Tone: TypeAlias = Literal["right", "wrong", "unres", "stale", "run", ""]

KINDS = ("error", "warn", "ok", "info")


def notice(kind: str, head: str, text: str = "") -> None:
    """A box: ``kind`` is error, warn, ok or info; ``head`` says what, ``text`` where and what to do."""
    kind = kind if kind in KINDS else "info"
    role = "alert" if kind == "error" else "status"
    # The icon is a css mask in views.css: st.html lets no svg through.
    st.html(
        f'<div class="moot-notice {kind}" role="{role}"><i></i><b>{escape(head)}</b>'
        f"{f'<p>{escape(text)}</p>' if text else ''}</div>"
    )


def error_box(error: MootError) -> None:
    """A MootError as a box: the message, and below what to do; in an error's red only where something went wrong."""
    notice("info" if isinstance(error, NothingChanged) else "error", error.message, error.remedy)


def badge_html(text: str, tone: Tone = "", *, dot: bool = False) -> str:
    """A small badge as html, for own html around it."""
    return f'<span class="moot-badge {tone}">{"<span class=dot></span>" if dot else ""}{escape(text)}</span>'


def raw_text(text: str) -> None:
    """A model's own words in a grey box: escaped, wrapped, scrolling when long."""
    st.html(f'<div class="moot-raw">{escape(text)}</div>')
