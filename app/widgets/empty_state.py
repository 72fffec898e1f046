"""Empty states: a drawing, the missing content, and the next step."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Literal, TypeAlias

import streamlit as st

from app import context
from app.pages import PageName, open_page
from app.widgets import layout
from core.services import guided_path

Sign: TypeAlias = Literal["rings", "check", "bars", "lines"]


def empty(
    head: str, text: str, pages: Mapping[str, PageName] = {}, *, action: str = "", sign: Sign = "rings", key: str
) -> bool:
    """Draw an empty state and return True if its ``action`` was pressed.

    ``pages`` are the labels of further buttons and the page that each opens. The first button of all is the primary
    one, unless the project has a next step, which is the primary button at the end of the page. ``sign`` is rings (no
    verdicts), check (nothing to review), bars (nothing to compare) or lines (no data).
    """
    with st.container(key=f"{key}-empty", gap="small"):
        st.html(f'<div class="moot-empty"><i class="{sign}"></i><b>{escape(head)}</b><p>{escape(text)}</p></div>')
        labels = [action, *pages] if action else list(pages)
        if not labels:
            return False
        with st.container(horizontal=True, gap="small"):
            session = context.current_project()
            has_next_step = session is not None and guided_path.overview(session).next is not None
            for number, label in enumerate(labels):
                is_main = not number and (bool(action) or not has_next_step)
                if st.button(label, type="primary" if is_main else "secondary", key=f"{key}-{number}"):
                    if label in pages:
                        open_page(pages[label])
                    return True
    return False


def empty_page(title: str, head: str, text: str, pages: Mapping[str, PageName], *, sign: Sign = "rings") -> None:
    """Draw a page that lacks what it shows: its header and an empty state."""
    layout.header(title)
    empty(head, text, pages, sign=sign, key="none")
