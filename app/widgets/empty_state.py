"""Empty states: a drawing, the missing content, and the next step."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal, TypeAlias

import streamlit as st

Sign: TypeAlias = Literal["rings", "check", "bars", "lines"]


def empty(head: str, text: str, buttons: Sequence[str] = (), *, sign: Sign = "rings", key: str) -> str | None:
    """Draw an empty state and return the label of the button that was pressed, else None.

    The first button is the primary button. ``sign`` is rings (no verdicts), check (nothing to review), bars (nothing to
    compare) or lines (no data).
    """
    pressed = None
    with st.container(key=f"{key}-empty", gap="small"):
        st.html(f'<div class="moot-empty"><i class="{sign}"></i><b>{escape(head)}</b><p>{escape(text)}</p></div>')
        if buttons:
            with st.container(horizontal=True, gap="small"):
                for number, label in enumerate(buttons):
                    if st.button(label, type="secondary" if number else "primary", key=f"{key}-{number}"):
                        pressed = label
    return pressed
