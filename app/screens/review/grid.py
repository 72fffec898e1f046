"""Grid view of Review: many documents at once, and the focused document with its debate beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import context
from app.api.review import REVIEW, cells_of, speakers
from app.components import review_grid_loader
from app.screens.review.grid_options import LINE, SCROLLBAR, css, disarmed, head, options_of
from app.state import ReviewState, reset_widgets, state
from app.widgets import layout
from app.widgets.alerts import notice
from app.widgets.common import pagination
from app.widgets.document_drawer import document_drawer
from app.widgets.empty_state import empty
from app.widgets.labels import select_label
from core.codebook import Codebook
from core.documents import Value
from core.errors import MootError
from core.formatting import format_count
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, queue
from core.services.review.queue import ReviewRow
from core.services.runs.configuration import role_titles

HEIGHT = 474  # of the grid in pixels on a small screen; keeps the controls below it visible (app.css: on a large one)
SORT, SIZE, PAGE, DOCUMENT = "review-sort", "review-size", "review-page", "review-document-panel"
_LEGEND = (
    '<span><b style="background:var(--wrong-bg)"></b>differs from gold</span>'
    '<span><b style="background:var(--unres-bg)"></b>roles disagree</span>'
    '<span><b style="background:linear-gradient(225deg,var(--r-person) 32%,transparent 33%)"></b>edited by you</span>'
    '<span class="wide">Space or 1 to 9 changes a label, Enter submits, Backspace undoes</span>'
)


def grid_view(
    session: ProjectSession,
    run: RunRow,
    actor: str,
    wanted: queue.QueueFilter,
    counters: DeltaGenerator,
    *,
    show_all: Callable[[], None],
) -> None:
    """Draw a page of the documents that match ``wanted``, the counters, and the focused document.

    ``show_all`` clears the filters.
    """
    _note_grid_state(_key(run, actor))
    kept = st.session_state
    here = replace(wanted, sort=kept.get(SORT, "position"), number=kept.get(PAGE, 1), size=kept.get(SIZE, 50))
    read_at = time.time()
    page = queue.review_page(session, run, here, actor=actor)
    problem = ReviewState.problem.pop()
    if problem is not None:
        notice("error", *problem)
    beside = page.rows and kept.get(DOCUMENT, True)
    left, right = st.columns([1.6, 1], gap="small") if beside else (st.container(), None)
    with left:
        if page.rows:
            _grid(session, run, actor, page.rows, read_at, beside=bool(beside))
        else:
            _nothing(run, page, show_all)
        _under(session, run, actor, page)
    by = actions.By(actor)
    with counters:
        found = format_count(page.total, "document")
        waiting = queue.open_count(session, run, actor=actor)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-acts"):
            st.html(f'<div class="moot-legend"><span>{found}, {waiting:,} to review</span></div>', width="stretch")
            words = state.review.saved
            st.html(f'<div class="moot-saved" role="status">{escape(words)}</div>', width=124)
            st.toggle("Document", True, key=DOCUMENT, persist_state="session", width="content")
            _button("Undo", lambda: actions.undo(session, by), icon=":material/undo:", shortcut="Ctrl+Z")
            _button("Redo", lambda: actions.redo(session, by), icon=":material/redo:", shortcut="Ctrl+Shift+Z")
    if right is not None:
        with right:
            _detail(session, run, actor, page)


def first_page() -> None:
    """Go back to the first page."""
    reset_widgets(PAGE)


def _key(run: RunRow, actor: str) -> str:
    return f"review-grid-{run.run_id}-{actor}"


def _button(label: str, act: Callable[[], actions.SavedAction | None], **widget: Any) -> None:
    """Draw a button for a review action. The action runs before the page is drawn again.

    ``widget`` are further arguments of ``st.button``.
    """

    def clicked() -> None:
        try:
            saved = act()
        except MootError as error:
            state.review.problem = (error.message, error.remedy)
        else:
            state.review.saved = f"✓ {saved.words}" if saved else f"Nothing to {label.lower()}"

    st.button(label, on_click=clicked, **{"key": f"review-{label.lower()}", **widget})


def _nothing(run: RunRow, page: queue.ReviewPage, show_all: Callable[[], None]) -> None:
    if page.total == 0 and not run.ended:
        empty("No verdicts yet", "The run has not finished any document.", key="review-quiet")
        return
    shows_all = empty(
        "No documents found", "No document matches the search and the filters.", action="Show all", sign="check",
        key="review-nothing",
    )  # fmt: skip
    if shows_all:
        show_all()
        st.rerun()


def _under(session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage) -> None:
    """Draw the controls below the grid: bulk actions, row range, order and pages."""
    here = {row.document_id for row in page.rows}
    _bulk(session, run, actor, [id for id in state.review.selected if id in here])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-pager"):
        words = st.container(width="stretch")
        st.selectbox(
            "Order", list(queue.SORTS), format_func=lambda sort: queue.SORTS[sort], label_visibility="collapsed",
            key=SORT, width=140, on_change=first_page,
        )  # fmt: skip
        size = st.selectbox(
            "Rows per page", queue.PAGE_SIZES, index=1, format_func=lambda size: f"{size} per page",
            label_visibility="collapsed", key=SIZE, width=120, on_change=first_page,
        )  # fmt: skip
        pagination(page.pages, key=PAGE, width=min(86 + 34 * page.pages, 330))
    first = (page.number - 1) * size + 1
    with words:
        shown = f"Rows {first:,} to {first + len(page.rows) - 1:,} of {page.total:,}" if page.rows else "No rows"
        st.html(f'<div class="moot-legend"><span>{shown}</span></div>')
    st.html(f'<div class="moot-legend">{_LEGEND}</div>')


def _bulk(session: ProjectSession, run: RunRow, actor: str, chosen: Sequence[str]) -> None:
    """Draw the actions for the selected rows."""
    if not chosen:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-bulk"):
        st.html(f'<div class="moot-legend"><span>{len(chosen)} selected</span></div>', width="content")
        item, value = _bulk_value(run.settings.codebook)
        count = format_count(len(chosen), "document")
        run_id, by = run.run_id, actions.By(actor)
        _button(
            f"Set for {count}",
            lambda: actions.edit(session, run_id, chosen, item, value, by),
            key="review-bulk-set",
        )
        _button(
            "Submit selected",
            lambda: actions.submit(session, run_id, chosen, by),
            key="review-bulk-submit",
            type="primary",
        )
        _button(
            "Discard selected",
            lambda: actions.set_status(session, run_id, chosen, "Discarded", by),
            key="review-bulk-discard",
            type="tertiary",
        )


def _bulk_value(codebook: Codebook) -> tuple[str, Value]:
    choice = codebook.kind == "choice"
    key = "review-bulk-label" if choice else "review-bulk-item"
    label = select_label(codebook, key=key, label_visibility="collapsed", width=170)
    if choice:
        return codebook.items[0], label
    values: Sequence[Value] = (True, False)
    if codebook.kind == "rating":
        values = codebook.scale_of(label).points
    value = st.selectbox(
        "Value", values, format_func=lambda value: actions.value_name(codebook, value), label_visibility="collapsed",
        width=110, key="review-bulk-value",
    )  # fmt: skip
    return label, value


def _detail(session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage) -> None:
    """Draw the focused document: text with evidence, debate, and history."""
    shown = state.review.document
    known = actions.load_record(session, run, shown, actor=actor) if shown else None
    if known is None and page.rows:  # no focused document yet, or the document of another run
        shown = page.rows[0].document_id
        known = actions.load_record(session, run, shown, actor=actor)
    if shown is None or known is None:
        return
    run_id, by = run.run_id, actions.By(actor)
    with layout.panel(
        shown, f"row {known.document.position + 1:,}, {known.review_status}", key="review-detail"
    ) as head:
        with head:
            _button(
                "Submit",
                lambda: actions.submit(session, run_id, [shown], by),
                type="primary",
                disabled=known.review_status == "Submitted",
            )
            settled = known.review_status in actions.RESOLVED
            if settled:
                _button("Reopen", lambda: actions.set_status(session, run_id, [shown], "Draft", by))
            if known.review_status != "Discarded":
                _button(
                    "Discard", lambda: actions.set_status(session, run_id, [shown], "Discarded", by),
                    type="tertiary",
                )  # fmt: skip
            if st.button("Open in Focus", type="tertiary", key="review-to-focus", on_click=_to_focus, args=(shown,)):
                st.rerun()
        document_drawer(
            session, [run], run.settings.codebook, document=shown, inline=True, actions=(), key="review-drawer"
        )


def _to_focus(document: str) -> None:
    state.review.start_document = document
    state.review.view = "Focus"


def _grid(
    session: ProjectSession, run: RunRow, actor: str, rows: Sequence[ReviewRow], read_at: float, *, beside: bool
) -> None:
    """Draw the grid with a page of documents. ``read_at`` is a Unix time: the rows were read then or later."""
    import pandas as pd
    from st_aggrid import AgGrid, JsCode

    codebook, roles = run.settings.codebook, speakers(rows, role_titles(run.settings))
    client = {"address": REVIEW, "head": {"run": context.live_name(session, run.run_id), "actor": actor}}
    height = head(codebook) + LINE * max(len(rows), 2) + SCROLLBAR + 3
    with st.container(key="review-grid-tall" if height > HEIGHT else None):
        AgGrid(
            pd.DataFrame([cells_of(row, codebook, roles, read_at) for row in rows]),
            gridOptions=disarmed(
                options_of(codebook, roles, state.review.start_document, client, JsCode, beside=beside)
            ),
            height=min(HEIGHT, height),
            data_return_mode="CUSTOM",
            custom_jscode_for_grid_return=JsCode("moot.callback('collectState')"),
            should_grid_return=JsCode("moot.callback('shouldReturn')"),
            update_on=["cellValueChanged", ("selectionChanged", 120), ("cellFocused", 350)],
            server_sync_strategy="server_wins",
            enable_enterprise_modules=False,
            allow_unsafe_jscode=True,
            show_toolbar=False,
            theme="streamlit",
            pro_assets=[{"js": review_grid_loader(), "css": css(codebook)}],
            key=_key(run, actor),
        )


def _note_grid_state(key: str) -> None:
    """Store the focused and the selected documents of the grid with this key, before the grid is drawn."""
    sent = st.session_state.get(key)
    found = sent if isinstance(sent, dict) else {}
    state.review.selected = tuple(str(id) for id in found.get("selected") or ())
    if isinstance(focus := found.get("row"), str):
        state.review.document = focus
