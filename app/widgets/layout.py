"""Page headers, panels, legends and empty states, and the query parameters of the address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Literal, TypeAlias

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import context
from app.components import component
from app.pages import PageName, open_page
from app.widgets import palette
from app.widgets.alerts import Tone, badge_html
from core.services import guided_path

_URL_PARAMETERS = component("url_parameters")


def write_url(page: str = "", **named: str | None) -> None:
    """Set query parameters of the address, and remove those that are None. Draws nothing on screen.

    A page switch clears the address. Elements on every page therefore pass ``page``, so that the script runs again on
    the next page. ``st.query_params`` would add an entry to the browser history, and the back button would only undo
    that entry.
    """
    name = "-".join(named)
    with st.container(key=f"unseen-{name}"):
        _URL_PARAMETERS(key=f"url-{name}", data={"page": page, "parameters": named})


def header(
    title: str, subtitle: str = "", *, badge: str = "", tone: Tone = "", dot: bool = False, key: str = "header"
) -> DeltaGenerator:
    """Draw the header of a page and return the container for the buttons on its right.

    Use ``with header("Run 14"): st.button(...)``, and no st.title on the page. All values are escaped.
    """
    return _head(
        f'<div class="moot-head"><h1>{escape(title)}</h1>{badge_html(badge, tone, dot=dot) if badge else ""}'
        f'<span class="sub" title="{escape(subtitle)}">{escape(subtitle)}</span></div>',
        key,
    )


def _head(html: str, key: str) -> DeltaGenerator:
    """Draw HTML in a row, and return the container on its right."""
    with st.container(horizontal=True, vertical_alignment="center", key=key, gap="small"):
        st.html(html, width="stretch")
        return st.container(
            horizontal=True, width="content", horizontal_alignment="right", vertical_alignment="center", gap="small"
        )


@contextmanager
def panel(
    title: str, subtitle: str = "", *, note: str = "", counted: str = "", help: str = "", key: str
) -> Iterator[DeltaGenerator]:
    """Draw the elements of the ``with`` block in a frame, and yield the container on the right of its header.

    ``counted`` describes the included and excluded documents. ``help`` is Markdown behind an icon. All other texts are
    escaped.
    """
    with st.container(border=True, key=key, gap="small"):
        head = _head(
            f'<div class="moot-panel"><h2>{escape(title)}</h2><span>{escape(subtitle)}</span>'
            f'<span class="end">{escape(note)}</span>{_counted(counted)}</div>',
            f"{'help-' if help else ''}{key}-head",
        )
        if help:
            head.markdown("", help=help, width="content")
        yield head


def counted(words: str) -> None:
    """Draw the line of included documents for a chart that shares its panel with other charts."""
    st.html(f'<div class="moot-panel">{_counted(words)}</div>')


def _counted(words: str) -> str:
    return f'<span class="n">{escape(words)}</span>' if words else ""


def role_legend(roles: Mapping[str, str]) -> None:
    """Draw the legend of the triangles that mark roles in a chart."""
    words = "".join(
        f'<span><i style="color:{palette.role_colour(role)}">▲</i> {escape(title.lower())}</span>'
        for role, title in roles.items()
    )
    if words:
        st.html(f'<div class="moot-legend">{words}</div>', width="content")


Sign: TypeAlias = Literal["rings", "check", "bars", "lines"]


def empty(
    head: str, text: str, pages: Mapping[str, PageName] = {}, *, action: str = "", sign: Sign = "rings", key: str
) -> bool:
    """Draw an empty state and return True if its ``action`` was pressed.

    ``pages`` are the labels of buttons and the page that each opens; the button of ``action`` follows them. The first
    button is the primary one, unless it opens a page and the project has a next step: the button of that step, at the
    end of the page, is the primary one then. ``sign`` is rings (no verdicts), check (nothing to review), bars (nothing
    to compare) or lines (no data).
    """
    with st.container(key=f"{key}-empty", gap="small"):
        st.html(f'<div class="moot-empty"><i class="{sign}"></i><b>{escape(head)}</b><p>{escape(text)}</p></div>')
        labels = [*pages, action] if action else list(pages)
        if not labels:
            return False
        with st.container(horizontal=True, gap="small"):
            session = context.current_project()
            has_next_step = session is not None and guided_path.overview(session).next is not None
            for number, label in enumerate(labels):
                is_main = not number and (label == action or not has_next_step)
                if st.button(label, type="primary" if is_main else "secondary", key=f"{key}-{number}"):
                    if label in pages:
                        open_page(pages[label])
                    return True
    return False


def empty_page(title: str, head: str, text: str, pages: Mapping[str, PageName] = {}, *, sign: Sign) -> None:
    """Draw a page that lacks what it shows: its header and an empty state."""
    header(title)
    empty(head, text, pages, sign=sign, key="none")
