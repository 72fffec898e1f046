"""Grid view of Review: many documents at once, and the focused document with its debate beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import context
from app.components import review_grid_loader
from app.screens.review.grid_options import ROW_HEIGHT, SCROLLBAR, css, grid_options, header_height, without_code
from app.state import reset_widgets, state
from app.widgets import layout
from app.widgets.document_drawer import document_drawer
from app.widgets.elements import button, choose, pagination
from app.widgets.labels import select_label
from core.codebook import Codebook
from core.documents import ReviewStatus, Value
from core.errors import UsageError
from core.formatting import format_count
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, browser_data, queue
from core.services.runs.configuration import role_titles

SMALL_SCREEN_HEIGHT = 474
"""Height of the grid in pixels on a small screen, so that the controls below it are in sight.

``app.css`` has the height on a large screen.
"""
SORT, SIZE, PAGE, DOCUMENT = "review-sort", "review-size", "review-page", "review-document-panel"
_LEGEND = (
    '<span><b style="background:var(--wrong-bg)"></b>differs from gold</span>'
    '<span><b style="background:var(--unres-bg)"></b>roles disagree</span>'
    '<span><b style="background:linear-gradient(225deg,var(--r-person) 32%,transparent 33%)"></b>edited by you</span>'
)
_KEYS = {
    "rating": "Digits rate the focused cell, − and + change it by one",
    "choice": "Space or 1 to 9 changes the label",
    "multilabel": "Space or 1 to 9 changes a label",
}
"""Words for the keys of the grid, by the kind of the codebook."""


def grid_view(
    session: ProjectSession,
    run: RunRow,
    actor: str,
    queue_filter: queue.QueueFilter,
    counters: DeltaGenerator,
    *,
    show_all: Callable[[], None],
) -> None:
    """Draw the documents that match ``queue_filter``, the counters and the focused one. ``show_all`` clears filters."""
    if isinstance(focus := _grid_state(run, actor).get("row"), str):
        state.review.document = focus
    widgets = st.session_state
    filters = replace(
        queue_filter, sort=widgets.get(SORT, "position"), number=widgets.get(PAGE, 1), size=widgets.get(SIZE, 50)
    )
    read_at = time.time()
    page = _with_edited(session, run, actor, filters.status, queue.review_page(session, run, filters, actor=actor))
    is_document_open = bool(page.rows and widgets.get(DOCUMENT, True))
    columns = st.columns([1.6, 1], gap="small") if is_document_open else [st.container()]
    with columns[0]:
        if page.rows:
            _grid(session, run, actor, page.rows, read_at, is_document_open=is_document_open)
        else:
            _no_documents(run, page, show_all, narrowed=queue_filter.narrowed)
        _controls_below(session, run, actor, page)
    attribution = actions.Attribution(actor)
    with counters:
        found, waiting = format_count(page.total, "document"), queue.open_count(session, run, actor=actor)
        words = f"{found} found, {waiting:,} of all" if queue_filter.narrowed else f"{found}, {waiting:,}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-acts"):
            not_ended = run.documents - run.ended
            debates = f", {format_count(not_ended, 'debate')} not ended" if not_ended else ""
            st.html(f'<div class="moot-legend"><span>{words} waiting{debates}</span></div>', width="content")
            message = escape(state.review.saved)
            st.html(f'<div class="moot-saved" role="status" title="{message}">{message}</div>', width="stretch")
            st.toggle("Document", True, key=DOCUMENT, persist_state="session", width="content")
            _button("Undo", lambda: actions.undo(session, attribution, shown_run=run.run_id), icon="undo")
            _button("Redo", lambda: actions.redo(session, attribution, shown_run=run.run_id), icon="redo")
    if is_document_open:
        with columns[1]:
            _detail(session, run, actor, page, filters)


def _with_edited(
    session: ProjectSession, run: RunRow, actor: str, status: ReviewStatus | None, page: queue.ReviewPage
) -> queue.ReviewPage:
    """Return the page with the focused row, which its first edit made a Draft, until the user leaves it.

    Otherwise, with a filter for Pending documents, the next key would act on the next row.
    """
    before, focused = state.review.rows, state.review.document
    ids = state.review.rows = tuple(row.document_id for row in page.rows)
    if status != "Pending" or focused not in before or focused in ids:
        return page
    rows = [row for row in queue.review_rows(session, run, [focused], actor=actor) if row.review_status == "Draft"]
    at = sum(id in ids for id in before[: before.index(focused)])
    state.review.rows = (*ids[:at], *(row.document_id for row in rows), *ids[at:])
    return replace(page, rows=(*page.rows[:at], *rows, *page.rows[at:]), total=page.total + len(rows))


def first_page() -> None:
    """Go back to the first page, of other rows."""
    reset_widgets(PAGE)
    state.review.rows = ()


FILTER: dict[str, Any] = {"on_change": first_page, "persist_state": "session"}
"""Arguments of a widget that filters or orders the documents."""


def _grid_key(run: RunRow, actor: str) -> str:
    return f"review-grid-{run.run_id}-{actor}"


def _button(label: str, act: Callable[[], actions.SavedAction | None], key: str = "", **widget: Any) -> None:
    """Draw a button for a review action. ``widget`` are further arguments of ``button``."""

    def clicked() -> None:
        saved = act()
        state.review.saved = f"✓ {saved.words}" if saved else f"Nothing to {label.lower()}"

    button(label, key or f"review-{label.lower()}", clicked, **widget)


def _no_documents(run: RunRow, page: queue.ReviewPage, show_all: Callable[[], None], *, narrowed: bool) -> None:
    """Show why no document is listed. ``narrowed`` is True if a filter may leave some out."""
    if page.total == 0 and not run.ended:
        layout.empty("No verdicts yet", "The run has not finished any document.", key="review-quiet")
        return
    if not narrowed:
        words = "Others have replaced them. Choose another run above, or start one on the new documents."
        layout.empty("The documents of this run are not in the project", words, key="review-gone")
        return
    words = "No document matches the search and the filters."
    if layout.empty("No documents found", words, action="Show all", sign="check", key="review-nothing"):
        show_all()
        st.rerun()


def _controls_below(session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage) -> None:
    _bulk(session, run, actor, {row.document_id for row in page.rows})
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-pager"):
        range_line = st.container(width="stretch")
        choose(st.selectbox, "Order", queue.SORTS, key=SORT, width=140, **FILTER)
        sizes = {size: f"{size} per page" for size in queue.PAGE_SIZES}
        size = choose(st.selectbox, "Rows per page", sizes, index=1, key=SIZE, width=120, **FILTER)
        pagination(page.pages, key=PAGE, width=min(86 + 34 * page.pages, 330))
    first = (page.number - 1) * size + 1
    with range_line:
        range_text = f"Rows {first:,} to {first + len(page.rows) - 1:,} of {page.total:,}" if page.rows else "No rows"
        st.html(f'<div class="moot-legend"><span>{range_text}</span></div>')
    keys = f"{_KEYS[run.settings.codebook.kind]}, Enter submits, Backspace undoes"
    st.html(f'<div class="moot-legend">{_LEGEND}<span class="wide">{keys}</span></div>')


def _bulk(session: ProjectSession, run: RunRow, actor: str, shown_ids: Set[str]) -> None:
    """Draw the actions for the selected rows. They apply to the rows that are selected at the time of the click."""

    def selected() -> list[str]:
        return [id for id in map(str, _grid_state(run, actor).get("selected") or ()) if id in shown_ids]

    def on_selected(act: Callable[[list[str]], actions.SavedAction]) -> actions.SavedAction:
        if not (ids := selected()):
            raise UsageError("No document is selected any more.", "Select rows in the grid.")
        return act(ids)

    document_ids = selected()
    if not document_ids:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-bulk"):
        st.html(f'<div class="moot-legend"><span>{len(document_ids)} selected</span></div>', width="content")
        item, value = _bulk_value(run.settings.codebook)
        count = format_count(len(document_ids), "document")
        run_id, by = run.run_id, actions.Attribution(actor)
        edit = partial(on_selected, lambda ids: actions.edit(session, run_id, ids, item, value, by))
        submit = partial(on_selected, lambda ids: actions.submit(session, run_id, ids, by))
        discard = partial(on_selected, lambda ids: actions.set_status(session, run_id, ids, "Discarded", by))
        _button(f"Set for {count}", edit, key="review-bulk-set")
        _button("Submit selected", submit, key="review-bulk-submit", type="primary")
        _button("Discard selected", discard, key="review-bulk-discard", type="tertiary")


def _bulk_value(codebook: Codebook) -> tuple[str, Value]:
    choice = codebook.kind == "choice"
    key = "review-bulk-label" if choice else "review-bulk-item"
    label = select_label(codebook, key=key, label_visibility="collapsed", width=170)
    if choice:
        return codebook.items[0], label
    values: Sequence[Value] = (True, False)
    if codebook.kind == "rating":
        values = codebook.scale_of(label).points
    titles = {value: codebook.value_name(value) for value in values}
    return label, choose(st.selectbox, "Value", titles, width=110, key="review-bulk-value")


def _detail(
    session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage, filters: queue.QueueFilter
) -> None:
    """Draw the focused document: text with evidence, debate, and history. ``page``, by ``filters``, must have rows."""
    document_id, first = state.review.document, page.rows[0].document_id
    if document_id and not queue.review_rows(session, run, [document_id], actor=actor):  # the document of another run
        document_id = state.review.document = first
    document_id = document_id or first
    record = actions.load_record(session, run, document_id, actor=actor)
    if record is None:
        return
    run_id, attribution, ids = run.run_id, actions.Attribution(actor), [document_id]
    focused = _grid_state(run, actor).get("row")

    def change(act: Callable[[], actions.SavedAction]) -> actions.SavedAction:
        """Act on the document, unless the user has already selected another row."""
        if _grid_state(run, actor).get("row") not in (focused, document_id):
            words = f"Document {document_id} was not changed, because you selected another row."
            raise UsageError(words, "The document of that row is shown now. Click again to change it.")
        return act()

    def set_status(status: ReviewStatus) -> actions.SavedAction:
        """Set the status. The document is a drawn one if it is the first of the queue at the time of the click."""
        rows = queue.review_page(session, run, replace(filters, number=1, size=1), actor=actor).rows
        sampling = {row.document_id: row.sampling for row in rows}
        return actions.set_status(session, run_id, ids, status, attribution, sampling=sampling)

    def own_button(label: str, act: Callable[[], actions.SavedAction], **widget: Any) -> None:
        """Draw a button of this document: with the same key, a click could run the callback of another document."""
        _button(label, partial(change, act), f"review-{label.lower()}-{document_id}", **widget)

    def to_focus() -> None:
        state.review.document = document_id  # a change of the view starts there
        state.review.view = "Focus"

    subtitle = f"no. {record.document.position + 1:,}, {record.review_status}"
    with layout.panel(document_id, subtitle, key="review-detail") as panel_header:
        with panel_header:
            is_submitted = record.review_status == "Submitted"
            own_button("Submit", partial(set_status, "Submitted"), type="primary", disabled=is_submitted)
            if record.review_status in actions.RESOLVED:
                own_button("Reopen", partial(set_status, "Draft"))
            if record.review_status != "Discarded":
                own_button("Discard", partial(set_status, "Discarded"), type="tertiary")
            if st.button("Open in Focus", type="tertiary", key="review-to-focus", on_click=to_focus):
                st.rerun()
        document_drawer(session, [run], run.settings.codebook, document=document_id, inline=True, key="review-drawer")


def _grid(
    session: ProjectSession,
    run: RunRow,
    actor: str,
    rows: Sequence[queue.ReviewRow],
    read_at: float,
    *,
    is_document_open: bool,
) -> None:
    """Draw the grid with a page of documents. ``read_at`` is a Unix time: the rows were read then or later."""
    import pandas as pd
    from st_aggrid import AgGrid, JsCode

    codebook, roles = run.settings.codebook, browser_data.speakers(rows, role_titles(run.settings))
    head = {"run": context.live_name(session, run.run_id), "actor": actor}
    height = header_height(codebook) + ROW_HEIGHT * max(len(rows), 2) + SCROLLBAR + 3
    with st.container(key="review-grid-tall" if height > SMALL_SCREEN_HEIGHT else None):
        AgGrid(
            pd.DataFrame([browser_data.grid_cells(row, codebook, roles, read_at) for row in rows]),
            gridOptions=without_code(
                grid_options(
                    codebook, roles, state.review.start_document, head, JsCode, is_document_open=is_document_open
                )
            ),
            height=min(SMALL_SCREEN_HEIGHT, height),
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
            key=_grid_key(run, actor),
        )


def _grid_state(run: RunRow, actor: str) -> Mapping[str, Any]:
    """Return the focused (``row``) and the ``selected`` documents that the grid has sent."""
    sent = st.session_state.get(_grid_key(run, actor))
    return sent if isinstance(sent, dict) else {}
