"""Small elements of several pages: headings, lines of text, save times, progress."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st
from markupsafe import Markup, escape
from streamlit.delta_generator import DeltaGenerator

from app.state import reset_widgets
from app.widgets.alerts import error_notices
from core.formatting import format_clock
from core.services.background_jobs import Job
from core.services.project_session import ProjectSession

T = TypeVar("T")

JOB_WAIT = 0.4
"""Seconds that a page waits for a job before it shows a progress bar."""
MAX_INLINE = 3
"""Most columns of a table with intervals on the line of their values."""
MAX_UNFOLDED = 5
"""Most items of a list that are in sight without a click."""
MAX_COLUMNS = 7
"""Most columns of a table that has any interval on the line of its value."""


def running_job(session: ProjectSession, name: str, finish: Callable[[Any], None]) -> Job[Any] | None:
    """Return the job of this name that is running, None without one.

    If it has ended, pass its result to ``finish``, or show its error at the top, and rerun the page.
    """
    job = session.jobs.get(name)
    if job is not None and job.wait(JOB_WAIT):
        session.jobs.pop(name, None)  # another tab may have done it meanwhile
        with error_notices():
            finish(job.result())
        st.rerun()
    return job


@st.fragment(run_every=0.5)
def job_progress(job: Job[Any], key: str) -> None:
    """Draw the progress of a job, and a button that stops it if it can be stopped. Rerun the page when the job ends."""
    if job.wait(0.0):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(job.share, job.step, width="stretch")
        if job.can_stop:
            button("Stop", f"{key}-stop", job.stop, icon="stop")


def saved(at: float | None, verb: str = "Saved") -> None:
    """Draw the time of the last save. Draws nothing for None."""
    if at is not None:
        st.html(f'<span class="moot-saved">✓ {verb} {format_clock(at)}</span>')


def line(text: str, tone: str = "", *, width: int | Literal["stretch", "content"] = "stretch") -> None:
    """Draw a line of small text, escaped unless it is Markup; nothing for an empty one."""
    if text:
        st.html(f'<div class="moot-line {tone}">{escape(text)}</div>', width=width)


def remark(text: str, tone: str = "", *, is_status: bool = False, **data: object) -> None:
    """Draw a paragraph of small text, escaped unless it is Markup.

    Screen readers announce a changed status. ``data`` become data attributes of the element.
    """
    attributes = [' role="status"'] if is_status else []
    attributes += [f' data-{name}="{escape(value)}"' for name, value in data.items()]
    st.html(f'<div class="moot-remark {tone}"{"".join(attributes)}>{escape(text)}</div>')


def sentences(*lines: str) -> None:
    """Draw sentences as a paragraph of lines, escaped unless they are Markup."""
    st.html(f'<div class="moot-sentences">{"".join(f"<span>{escape(words)}</span>" for words in lines)}</div>')


def choose(widget: Callable[..., Any], label: str, options: Iterable[Any], **further: Any) -> Any:
    """Draw a widget without a visible label and return what is chosen. ``further`` are further arguments of it.

    A mapping has the titles of its options as values.
    """
    if isinstance(options, Mapping):
        further["format_func"] = options.__getitem__
    return widget(label, list(options), label_visibility="collapsed", **further)


def segments(label: str, options: Iterable[T], **widget: Any) -> T:
    """Draw a segmented control as ``choose`` and return the selected option; one is always selected."""
    selected: T = choose(st.segmented_control, label, options, required=True, **widget)
    return selected


def fold(items: Sequence[T], draw: Callable[[T], None]) -> None:
    """Draw the first items of a list, best first, and the others in an expander."""
    for item in items[:MAX_UNFOLDED]:
        draw(item)
    if more := items[MAX_UNFOLDED:]:
        with st.expander("More"):  # the browser closes an expander whose label changes
            for item in more:
                draw(item)


def page_number(pages: int, *, key: str) -> int:
    """Return the page of a list that the user chose, from 1. A page that no longer exists becomes the last one."""
    return min(int(st.session_state.get(key, 1)), max(1, pages))


def pagination(pages: int, *, key: str, width: int | Literal["content"] = "content") -> None:
    """Draw the pages of a list, nothing for a single one. The page is that of ``page_number``."""
    number = page_number(pages, key=key)
    if st.session_state.get(key, number) != number:
        reset_widgets(key)  # setting the value would be a second default beside that of the widget
    if pages > 1:
        st.pagination(pages, default=number, key=key, width=width)


def button(
    label: str, key: str, action: Callable[..., None] | None = None, *args: Any, icon: str = "", **widget: Any
) -> bool:
    """Draw a button and return True if it was pressed.

    A click calls ``action`` with ``args``, before the page is drawn again. ``icon`` is the name of a Material symbol.
    ``widget`` are further arguments of ``st.button``.
    """
    symbol = f":material/{icon}:" if icon else None
    return st.button(label, key=key, icon=symbol, on_click=action, args=args, **widget)


def icon_button(icon: str, help: str, key: str, action: Callable[..., None], *args: Any, **widget: Any) -> None:
    """Draw a ``button`` with only an icon. Its accessible name is ``help``, its key begins with "icon-"."""
    button(help, f"icon-{key}", action, *args, icon=icon, help=help, type="tertiary", **widget)


def adding_field(label: str, key: str, add: Callable[[str], None], **widget: Any) -> None:
    """Draw a text field that passes its text to ``add`` and is then empty. After an error, the text stays.

    ``widget`` are further arguments of ``st.text_input``.
    """

    def changed() -> None:
        if text := st.session_state.get(key, "").strip():
            add(text)
        st.session_state[key] = ""

    st.text_input(label, key=key, on_change=changed, **widget)


def icon_popover(icon: str, help: str, key: str) -> DeltaGenerator:
    """Draw a button with only an icon, as ``icon_button``, that opens a popover, and return the popover."""
    return st.popover(help, icon=f":material/{icon}:", help=help, key=f"icon-{key}", type="tertiary")


def discard_popover(discards: Mapping[str, Callable[[], None]]) -> None:
    """Draw a button that opens a popover with a button for each way to discard the draft, by its label."""
    with st.popover("Discard"):
        line("All changes of the draft will be lost.")
        for number, (label, discard) in enumerate(discards.items(), 1):
            button(label, f"draft-discard-{number}", discard, type="primary")


def download(label: str, content: Any, file_name: str, *, icon: str = "download", **widget: Any) -> None:
    """Draw a button that downloads a file without a rerun of the page.

    ``content`` is text, bytes, or a function that returns either and is called by a click. ``icon`` is the name of a
    Material symbol. ``widget`` are further arguments of ``st.download_button``.
    """
    media_type = mimetypes.guess_type(file_name)[0] or "application/octet-stream"
    st.download_button(label, content, file_name, media_type, on_click="ignore", icon=f":material/{icon}:", **widget)


_REPLACED = re.compile(r"(?<!\S)[<>~-](?=(?:->|[->=])(?!\S))|:(?=streamlit:)")
"""The start of what Streamlit replaces even if it is escaped: arrows, dashes and comparisons, and its logo."""


def literal(text: str) -> str:
    """Return a text for a label of Streamlit, which reads Markdown, so that it is shown as it is.

    For names, options and words that come from a model, a file or another person.
    """
    text = _REPLACED.sub("\\g<0>\u2060", " ".join(text.split()))  # a word joiner, which is invisible
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)


def heading(text: str) -> None:
    st.html(f'<h2 class="moot-h2">{escape(text)}</h2>')


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[str] = (), wide: str = "") -> None:
    """Draw a table of texts, escaped unless they are Markup. It scrolls if it is too wide.

    The first column and those whose heads are in ``text`` are aligned left, the others are numbers and aligned right.
    ``wide`` names a table that may be too wide, so that the keyboard can scroll it. With many columns or intervals, all
    intervals are below their values.

    Streamlit's own table is not used, because spreadsheets run formulas in the cells that it downloads.
    """
    intervals = sum(any("moot-interval" in cell for cell in column) for column in zip(*rows, strict=True))
    is_wide = intervals > MAX_INLINE or (intervals > 0 and len(heads) > MAX_COLUMNS)
    sides = [' class="text"' if head in text else "" for head in heads]

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{side}>{escape(cell)}</{tag}>" for side, cell in zip(sides, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    kind = "moot-table wrap wide" if is_wide else "moot-table wrap"
    region = Markup(' tabindex="0" role="region" aria-label="{}"').format(wide) if wide else ""
    st.html(
        f'<div class="moot-scroll"{region}><table class="{kind}"><thead><tr>{cells("th", heads)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def field_name(name: str, note: str = "", end: str = "") -> None:
    """Draw the name of a field, with a note beside it and a text at the end of the line."""
    st.html(
        f'<div class="moot-fieldname">{escape(name)}{f"<small>{escape(note)}</small>" if note else ""}'
        f"{f'<span class=end>{escape(end)}</span>' if end else ''}</div>"
    )


def facts(rows: Iterable[tuple[str, str]], *, text: bool = False) -> None:
    """Draw a table of names and values: numbers, which are aligned right, or ``text``."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    st.html(f'<table class="moot-facts{" text" if text else ""}">{lines}</table>')
