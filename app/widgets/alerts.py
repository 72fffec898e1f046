"""Message boxes and badges. All values are escaped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Literal, TypeAlias

import streamlit as st

from app.state import NoticeKind, state
from core.errors import MootError, NothingChanged, WorkStopped
from core.formatting import join_names, plural

if TYPE_CHECKING:
    from core.services.models import Probe

Tone: TypeAlias = Literal["right", "wrong", "unres", "stale", "run", ""]
STATE_TONES: dict[str, Tone] = {
    "running": "run",
    "paused": "unres",
    "done": "right",
    "stopped": "unres",
    "failed": "wrong",
}
"""Tones of the states of runs and sweeps."""


def notice(kind: NoticeKind, head: str, text: str = "") -> None:
    """Draw a message box. ``head`` is the event, ``text`` the place and the next step."""
    role = "alert" if kind == "error" else "status"
    # The icon is a CSS mask in app.css, because st.html removes SVG.
    st.html(
        f'<div class="moot-notice {kind}" role="{role}"><i></i><b>{escape(head)}</b>'
        f"{f'<p>{escape(text)}</p>' if text else ''}</div>"
    )


def error_box(error: MootError) -> None:
    """Draw the message and the remedy of an error. Errors that are not mistakes are drawn as information."""
    notice(_kind(error), error.message, error.remedy)


def error_notice(error: MootError) -> None:
    """Show an error at the top of the page after the next rerun."""
    state.set_notice(_kind(error), error.message, error.remedy)


def _kind(error: MootError) -> NoticeKind:
    return "info" if isinstance(error, NothingChanged | WorkStopped) else "error"


@contextmanager
def error_boxes() -> Iterator[None]:
    """Draw the error that ends the block, if it is a MootError."""
    try:
        yield
    except MootError as error:
        error_box(error)


@contextmanager
def error_notices() -> Iterator[None]:
    """Show the error that ends the block at the top after the next rerun, if it is a MootError."""
    try:
        yield
    except MootError as error:
        error_notice(error)


def badge_html(text: str, tone: Tone = "", *, dot: bool = False) -> str:
    return f'<span class="moot-badge {tone}">{"<span class=dot></span>" if dot else ""}{escape(text)}</span>'


def probe_notice(probe: Probe, who: str = "") -> None:
    """Draw the result of a test request as a message box.

    ``who`` names the tested roles. By default, the model is named.
    """
    name = who or probe.role_model.spec
    count = len(probe.roles) if who else 1
    if probe.error is not None:
        notice("error" if probe.stops else "warn", f"{name}: {probe.error.kind}", str(probe.error))
        return
    dropped = (
        f" {join_names(probe.refused_params)} is not supported as set, and is left out." if probe.refused_params else ""
    )
    if probe.in_format:
        time = f"The reply in the expected format took {probe.seconds:.1f} s."
        notice("ok", f"{name} {plural(count, 'is', 'are')} ready", time + dropped)
    else:
        reply = f', "{probe.beginning}",' if probe.beginning else ""
        notice(
            "warn",
            f"{name} {plural(count, 'replies', 'reply')}, but not in the expected format",
            f"The reply{reply} took {probe.seconds:.1f} s. You can start a run; unreadable replies stay unresolved."
            f"{dropped}",
        )
