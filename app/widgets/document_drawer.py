"""Lists of documents, and the drawer that shows one of them: text, annotations, debates, history and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import context
from app.components import component, reported
from app.state import state
from app.widgets.labels import label_data, role_data
from core.codebook import Codebook
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.runs.configuration import role_titles

_DRAWER = component("document_drawer")
ACTIONS = {"review": "Correct in Review", "lab": "Test in Lab"}
"""Buttons of the drawer on other pages: the page that opens, and the text."""


def document_drawer(
    session: ProjectSession,
    runs: Sequence[RunRow],
    codebook: Codebook,
    *,
    titles: Mapping[str, str] = {},
    document: str | None = None,
    request: str = "",
    inline: bool = False,
    key: str,
) -> None:
    """Draw the drawer, which opens when a list of documents is clicked. Closed, it takes no room.

    It shows what ``runs`` decided about the document; ``titles`` are other names of runs by run id. ``document`` opens
    at once, again for each new ``request``. An ``inline`` drawer is part of the page and shows ``document`` only.
    """
    shown = [
        {
            "id": run.run_id,
            "live": context.live_name(session, run.run_id),
            "title": titles.get(run.run_id, run.title),
            "roles": role_data(role_titles(run.settings)),
        }
        for run in runs
    ]
    actions = [] if inline or not runs else [act for act in ACTIONS if act != state.page]
    _DRAWER(
        key=key,
        data={
            "project": context.live_name(session, ""),
            "runs": shown,
            "actor": state.review.actor,
            "labels": label_data(codebook),
            "kind": codebook.kind,
            "inline": inline,
            "document": document,
            "request": request,
            "actions": [{"act": act, "text": ACTIONS[act]} for act in actions],
        },
        on_act_change=lambda: _act(key, runs),
    )


def _act(key: str, runs: Sequence[RunRow]) -> None:
    """Open another page at the document of the drawer."""
    pressed = reported(key, "act")
    if not pressed or not pressed["document"]:
        return
    state.next_page = pressed["act"]
    if pressed["act"] == "review":
        state.run_id = runs[-1].run_id
        state.review.requested_document = str(pressed["document"])
    else:
        state.lab.requested_document = str(pressed["document"])


_DOCUMENT_LIST = component("document_list")
LIST_HEIGHT, LIST_ROW = 480, 31
"""Largest height of a list and height of a row in pixels, as in its style sheet."""
DOCUMENTS_PER_PAGE = 50
"""Number of documents that a page lists at a time."""


def document_list(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    note: str,
    heading: str = "",
    roles: Mapping[str, str] = {},
    listing: str = "",
    key: str,
) -> None:
    """Draw a list of documents, which open in the page's ``document_drawer``.

    Each row is ``{id, excerpt, role, note, corrected, regressed}``; only ``id`` and ``excerpt`` are required. ``role``
    or ``note`` is shown in a column with this ``heading``. ``corrected`` and ``regressed`` are label names.
    ``listing`` is the name of the list in the drawer (default: ``title``).
    """
    height = min(LIST_HEIGHT, LIST_ROW * (len(rows) + 1))
    st.html(f"<style>.st-key-{key} {{ min-height: {height}px; }}</style>")  # its rows come later: no jump
    _DOCUMENT_LIST(
        key=key,
        data={
            "rows": rows,
            "title": title,
            "note": note,
            "heading": heading,
            "roles": role_data(roles),
            "listing": listing or title,
        },
    )


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, for a list."""
    return " ".join(text[:300].split())[:200]
