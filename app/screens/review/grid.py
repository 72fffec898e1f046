"""Grid view of Review: many documents at once, and the focused document with its debate beside them.

The second half are the options of AgGrid: columns, colours and style sheet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import context
from app.api.review import REVIEW, cells_of, speakers
from app.components import FOLDER, read, review_grid_loader
from app.state import ReviewState, reset_widgets, state
from app.widgets import layout, palette
from app.widgets.alerts import notice
from app.widgets.document_drawer import document_drawer
from app.widgets.elements import pagination
from app.widgets.labels import select_label
from core.codebook import Codebook, Label
from core.documents import Value
from core.errors import MootError
from core.formatting import format_count
from core.runs import RunRow
from core.services.project_session import ProjectSession
from core.services.review import actions, queue
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
    '<span class="wide">Space or 1 to 9 changes a label, Enter submits, Backspace undoes</span>'
)


def grid_view(
    session: ProjectSession,
    run: RunRow,
    actor: str,
    queue_filter: queue.QueueFilter,
    counters: DeltaGenerator,
    *,
    show_all: Callable[[], None],
) -> None:
    """Draw a page of the documents that match ``queue_filter``, the counters, and the focused document.

    ``show_all`` clears the filters.
    """
    _note_grid_state(_grid_key(run, actor))
    widgets = st.session_state
    filters = replace(
        queue_filter, sort=widgets.get(SORT, "position"), number=widgets.get(PAGE, 1), size=widgets.get(SIZE, 50)
    )
    read_at = time.time()
    page = queue.review_page(session, run, filters, actor=actor)
    problem = ReviewState.problem.pop()
    if problem is not None:
        notice("error", *problem)
    is_document_open = page.rows and widgets.get(DOCUMENT, True)
    left, right = st.columns([1.6, 1], gap="small") if is_document_open else (st.container(), None)
    with left:
        if page.rows:
            _grid(session, run, actor, page.rows, read_at, is_document_open=bool(is_document_open))
        else:
            _no_documents(run, page, show_all)
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
            _button("Undo", lambda: actions.undo(session, attribution, shown_run=run.run_id), icon=":material/undo:")
            _button("Redo", lambda: actions.redo(session, attribution, shown_run=run.run_id), icon=":material/redo:")
    if right is not None:
        with right:
            _detail(session, run, actor, page)


def first_page() -> None:
    """Go back to the first page."""
    reset_widgets(PAGE)


def _grid_key(run: RunRow, actor: str) -> str:
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


def _no_documents(run: RunRow, page: queue.ReviewPage, show_all: Callable[[], None]) -> None:
    if page.total == 0 and not run.ended:
        layout.empty("No verdicts yet", "The run has not finished any document.", key="review-quiet")
        return
    words = "No document matches the search and the filters."
    if layout.empty("No documents found", words, action="Show all", sign="check", key="review-nothing"):
        show_all()
        st.rerun()


def _controls_below(session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage) -> None:
    """Draw the controls below the grid: bulk actions, row range, order and pages."""
    shown_ids = {row.document_id for row in page.rows}
    _bulk(session, run, actor, [id for id in state.review.selected if id in shown_ids])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-pager"):
        range_line = st.container(width="stretch")
        st.selectbox(
            "Order",
            list(queue.SORTS),
            format_func=lambda sort: queue.SORTS[sort],
            label_visibility="collapsed",
            key=SORT,
            width=140,
            on_change=first_page,
        )
        size = st.selectbox(
            "Rows per page",
            queue.PAGE_SIZES,
            index=1,
            format_func=lambda size: f"{size} per page",
            label_visibility="collapsed",
            key=SIZE,
            width=120,
            on_change=first_page,
        )
        pagination(page.pages, key=PAGE, width=min(86 + 34 * page.pages, 330))
    first = (page.number - 1) * size + 1
    with range_line:
        range_text = f"Rows {first:,} to {first + len(page.rows) - 1:,} of {page.total:,}" if page.rows else "No rows"
        st.html(f'<div class="moot-legend"><span>{range_text}</span></div>')
    st.html(f'<div class="moot-legend">{_LEGEND}</div>')


def _bulk(session: ProjectSession, run: RunRow, actor: str, document_ids: Sequence[str]) -> None:
    """Draw the actions for the selected rows."""
    if not document_ids:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-bulk"):
        st.html(f'<div class="moot-legend"><span>{len(document_ids)} selected</span></div>', width="content")
        item, value = _bulk_value(run.settings.codebook)
        count = format_count(len(document_ids), "document")
        run_id, attribution = run.run_id, actions.Attribution(actor)
        edit = partial(actions.edit, session, run_id, document_ids, item, value, attribution)
        discard = partial(actions.set_status, session, run_id, document_ids, "Discarded", attribution)
        _button(f"Set for {count}", edit, key="review-bulk-set")
        _button(
            "Submit selected",
            partial(actions.submit, session, run_id, document_ids, attribution),
            key="review-bulk-submit",
            type="primary",
        )
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
    value = st.selectbox(
        "Value",
        values,
        format_func=codebook.value_name,
        label_visibility="collapsed",
        width=110,
        key="review-bulk-value",
    )
    return label, value


def _detail(session: ProjectSession, run: RunRow, actor: str, page: queue.ReviewPage) -> None:
    """Draw the focused document: text with evidence, debate, and history. The page must have rows."""
    document_id, first = state.review.document, page.rows[0]
    if document_id and not queue.review_rows(session, run, [document_id], actor=actor):  # the document of another run
        document_id = state.review.document = first.document_id
    document_id = document_id or first.document_id
    record = actions.load_record(session, run, document_id, actor=actor)
    if record is None:
        return
    run_id, attribution = run.run_id, actions.Attribution(actor)
    sampling = first.sampling if first.document_id == document_id else None
    set_status = partial(actions.set_status, session, run_id, [document_id], by=attribution)

    def to_focus() -> None:
        state.review.document = document_id  # a change of the view starts there
        state.review.view = "Focus"

    subtitle = f"row {record.document.position + 1:,}, {record.review_status}"
    with layout.panel(document_id, subtitle, key="review-detail") as panel_header:
        with panel_header:
            submit = partial(actions.submit, session, run_id, [document_id], attribution, sampling=sampling)
            _button("Submit", submit, type="primary", disabled=record.review_status == "Submitted")
            if record.review_status in actions.RESOLVED:
                _button("Reopen", partial(set_status, "Draft"))
            if record.review_status != "Discarded":
                _button("Discard", partial(set_status, "Discarded"), type="tertiary")
            if st.button("Open in Focus", type="tertiary", key="review-to-focus", on_click=to_focus):
                st.rerun()
        document_drawer(
            session, [run], run.settings.codebook, document=document_id, inline=True, actions=(), key="review-drawer"
        )


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

    codebook, roles = run.settings.codebook, speakers(rows, role_titles(run.settings))
    client = {"address": REVIEW, "head": {"run": context.live_name(session, run.run_id), "actor": actor}}
    height = header_height(codebook) + ROW_HEIGHT * max(len(rows), 2) + SCROLLBAR + 3
    with st.container(key="review-grid-tall" if height > SMALL_SCREEN_HEIGHT else None):
        AgGrid(
            pd.DataFrame([cells_of(row, codebook, roles, read_at) for row in rows]),
            gridOptions=without_code(
                grid_options(
                    codebook, roles, state.review.start_document, client, JsCode, is_document_open=is_document_open
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


def _note_grid_state(key: str) -> None:
    """Store the focused and the selected documents of the grid with this key, before the grid is drawn."""
    sent = st.session_state.get(key)
    grid_state = sent if isinstance(sent, dict) else {}
    state.review.selected = tuple(str(id) for id in grid_state.get("selected") or ())
    if isinstance(focus := grid_state.get("row"), str):
        state.review.document = focus


FONTS = {
    "Inter": ("inter-latin-opsz-normal.woff2", "100 900"),
    "Moot Text": ("source-serif-4-latin-opsz-normal.woff2", "200 900"),
    "JetBrains Mono": ("jetbrains-mono-latin-wght-normal.woff2", "100 800"),
}
ROW_HEIGHT = 30
SCROLLBAR = 10  # in pixels; without a width, the scrollbar covers the last row
GROUP_HEADER_HEIGHT = 24
MAX_HORIZONTAL_NAMES, LONGEST_HORIZONTAL_NAME = 6, 7
"""Numbers of labels and of letters in a name up to which names are horizontal. Others are vertical, to be whole on a
small screen with the document beside the grid."""
SQUARES = 16
"""Maximum number of labels with a square each in a role's cell. With more labels, only present labels are shown."""


def header_height(codebook: Codebook) -> int:
    """Return the height of the grid's header in pixels."""
    return GROUP_HEADER_HEIGHT + _names_height(codebook)


def _names_height(codebook: Codebook) -> int:
    if not _has_vertical_names(codebook):
        return 28
    longest = max(len(label.name) for label in codebook.labels)
    return min(150, max(64, 26 + 6 * longest))


def _has_vertical_names(codebook: Codebook) -> bool:
    long = any(len(label.name) > LONGEST_HORIZONTAL_NAME for label in codebook.labels)
    return codebook.kind != "choice" and (long or len(codebook.labels) > MAX_HORIZONTAL_NAMES)


def _widths(codebook: Codebook) -> tuple[int, int]:
    """Return the widths of the gold column and of each role's column in pixels."""
    count = len(codebook.labels)
    match codebook.kind:
        case "choice":
            width = min(100, max(68, 14 + 6 * max(len(label.name) for label in codebook.labels)))
            return width, width
        case "rating":  # gold values may be means of several raters
            return min(150, max(68, 12 + 26 * count)), min(150, max(68, 16 + 13 * count))
        case "multilabel":
            squares = count * (7 if _has_vertical_names(codebook) else 10)
            return (max(64, 8 + squares), max(68, 8 + squares)) if count <= SQUARES else (110, 110)


def grid_options(
    codebook: Codebook,
    roles: Mapping[str, str],
    focus: str | None,
    client: Mapping[str, Any],
    js: Any,
    *,
    is_document_open: bool = False,
) -> dict[str, Any]:
    """Return the grid's options.

    ``client`` has the address and the common fields of the requests that save edits. ``js`` marks a string as code.
    ``is_document_open`` is True if the document is open beside the grid: it shows all values, so a narrow grid leaves
    them out.
    """
    shades = palette.colours()
    labels: list[tuple[str, Label | None]] = [
        (f"v_{item}", None if codebook.kind == "choice" else codebook.label(item)) for item in codebook.items
    ]
    shown_in_document = [*(f"r_{role}" for role in roles), "gold", "_reason"]
    return {
        "columnDefs": _columns(codebook, roles, labels, shades, js, least_text=140 if is_document_open else 80),
        **_cell_options(js),
        "context": {
            "focus": focus,
            "kind": codebook.kind,
            **client,
            "fields": [field for field, _ in labels],
            "values": {f"v_{item}": _values(codebook, item) for item in codebook.items},
            "boxes": codebook.kind == "multilabel",
            "all": len(codebook.labels) <= SQUARES,
            "optional": ["_quotes", *shown_in_document] if is_document_open else ["_quotes"],
            "label_names": codebook.label_names,
            "names": list(codebook.names),
            "colours": [shades[f"l{label.colour}"] for label in codebook.labels],
        },
        "getRowId": js("function(p){return p.data._id}"),
        "onCellClicked": js("moot.listener('handleClick')"),
        "onGridReady": js("moot.listener('start')"),
        "onFirstDataRendered": js("moot.listener('fitIds')"),
        "onGridSizeChanged": js("moot.listener('fitColumns')"),
        "onRowDataUpdated": js("moot.listener('keepFocus')"),
        "rowHeight": ROW_HEIGHT,
        "scrollbarWidth": SCROLLBAR,
        "headerHeight": _names_height(codebook),
        "groupHeaderHeight": GROUP_HEADER_HEIGHT,
        "tooltipShowDelay": 700,
        "suppressCellFocus": False,
        "animateRows": False,
        "suppressScrollOnNewData": True,
        "overlayNoRowsTemplate": "No document matches.",
    }


def _cell_options(js: Any) -> dict[str, Any]:
    """Return how cells of all columns are drawn, edited and selected."""
    return {
        "defaultColDef": {
            "sortable": False,
            "filter": False,
            "suppressMovable": True,
            "resizable": True,
            "suppressHeaderMenuButton": True,
            "suppressHeaderFilterButton": True,
            "suppressKeyboardEvent": js("moot.callback('handleKey')"),
        },
        "columnTypes": {
            "moot": {
                "valueGetter": js("moot.callback('getValue')"),
                "valueSetter": js("moot.callback('setValue')"),
                "cellRenderer": "box",
                "editable": False,
                "resizable": False,
                "cellClassRules": {
                    "gold": js("moot.callback('isMarked', 'g')"),
                    "disputed": js("moot.callback('isMarked', 'd')"),
                    "edited": js("moot.callback('isMarked', 'e')"),
                },
            }
        },
        "components": {
            "box": js("moot.renderer('drawDecision')"),
            "squares": js("moot.renderer('drawSquares')"),
            "badge": js("moot.renderer('drawBadge')"),
            "head": js("moot.renderer('drawHeader')"),
        },
        "rowSelection": {
            "mode": "multiRow",
            "checkboxes": True,
            "headerCheckbox": True,
            "enableClickSelection": False,
        },
        "selectionColumnDef": {"width": 32, "suppressHeaderMenuButton": True, "resizable": False, "pinned": "left"},
    }


_SQUARES: dict[str, Any] = {
    "cellRenderer": "squares",
    "cellClass": "centre line",
    "headerClass": "centre line",
    "resizable": False,
}
"""Options of a column with a square for each label."""


def _columns(
    codebook: Codebook,
    roles: Mapping[str, str],
    labels: list[tuple[str, Label | None]],
    shades: Mapping[str, str],
    js: Any,
    *,
    least_text: int,
) -> list[dict[str, Any]]:
    """Return the groups of columns: document, labels, gold, a column for each role, and status.

    ``least_text`` is the least width of the text in pixels.
    """
    gold_width, role_width = _widths(codebook)
    groups = (
        ("", None, _document_columns(js, least_text)),
        ("Current labels", "line", _label_columns(codebook, labels, shades)),
        ("", "centre line", [{"field": "gold", "headerName": "gold", "width": gold_width, **_SQUARES}]),
        ("Labels by role", "line", _role_columns(roles, role_width, shades)),
        ("", "line", _status_columns(js)),
    )
    for _, _, columns in groups:
        for column in columns:
            column["headerComponent"] = "head"
            params = column.get("headerComponentParams", {})
            column["headerComponentParams"] = {"name": column.get("headerName", ""), **params}
    return [{"headerName": name, "headerClass": css, "children": columns} for name, css, columns in groups]


def _document_columns(js: Any, least_text: int) -> list[dict[str, Any]]:
    return [
        {
            "field": "_id",
            "colId": "_id",
            "headerName": "id",
            "minWidth": 54,
            "maxWidth": 112,
            "pinned": "left",
            "tooltipField": "_id",
            "valueFormatter": js("moot.callback('shortenId')"),
            "cellClass": "id",
            "cellClassRules": {"focused": js("moot.callback('isFocused')")},
        },
        {
            "field": "_text",
            "headerName": "text",
            "flex": 1,
            "minWidth": least_text,
            "cellClass": "text",
            "tooltipField": "_text",
        },
    ]


def _label_columns(
    codebook: Codebook, labels: list[tuple[str, Label | None]], shades: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return a column for each label, or the only column of a choice."""
    is_vertical, (_, role_width) = _has_vertical_names(codebook), _widths(codebook)
    least = 36 if codebook.kind == "rating" else 30  # means have two decimals
    label_width = {"minWidth": least, "maxWidth": 56} if is_vertical else {"minWidth": 54, "maxWidth": 92}
    upright = " upright" if is_vertical else ""
    return [
        {
            "colId": field,
            "headerName": label.name if label else "Label",
            "type": "moot",
            **({"flex": 0.3, **label_width} if label else {"width": max(118, role_width + 26)}),
            "headerComponentParams": {"colour": shades[f"l{label.colour}"]} if label else {},
            "cellClass": "centre label line" if index == 0 else "centre label",
            "headerClass": f"centre line{upright}" if index == 0 else f"centre{upright}",
        }
        for index, (field, label) in enumerate(labels)
    ]


def _role_columns(roles: Mapping[str, str], width: int, shades: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "field": f"r_{role}",
            "headerName": title,
            "width": width,
            **_SQUARES,
            "headerComponentParams": {"ink": palette.role_colour(role, shades)},
            **({} if index == 0 else {"cellClass": "centre", "headerClass": "centre"}),
        }
        for index, (role, title) in enumerate(roles.items())
    ]


def _status_columns(js: Any) -> list[dict[str, Any]]:
    """Return the columns for quotes, reason and status, and a hidden one for the revision."""
    return [
        {
            "field": "_quotes",
            "headerName": "quotes",
            "width": 70,
            "cellClass": "line",
            "headerClass": "line",
            "cellClassRules": {"wrong": js("moot.callback('hasUnsupportedQuotes')")},
        },
        {"field": "_reason", "headerName": "reason", "width": 128, "cellRenderer": "badge", "tooltipField": "_why"},
        {
            "field": "_status",
            "headerName": "status",
            "width": 82,
            "pinned": "right",
            "valueGetter": js("moot.callback('getValue')"),
            "cellClassRules": {"muted": js("moot.callback('isPending')")},
        },
        {
            "field": "_revision",
            "colId": "_revision",
            "hide": True,
            "valueGetter": js("moot.callback('getValue')"),
            "valueSetter": js("moot.callback('setValue')"),
        },
    ]


def without_code(options: Any) -> Any:
    """Return the options without streamlit-aggrid's code marker, so that label names are never executed."""
    match options:
        case dict():
            return {name: without_code(value) for name, value in options.items()}
        case list():
            return [without_code(value) for value in options]
        case str():
            while "::JSCODE::" in options:
                options = options.replace("::JSCODE::", "")
            return options
        case _:
            return options


def _values(codebook: Codebook, item: str) -> list[str]:
    """Return the values of an item that a click cycles through. From ``?``, a click selects the first value."""
    match codebook.kind:
        case "choice":
            return [label.id for label in codebook.labels]
        case "rating":
            return [str(point) for point in codebook.scale_of(item).points]
        case "multilabel":
            return ["1", "0"]


def css(codebook: Codebook) -> str:
    """Return the style sheet of the grid's frame, which does not inherit the styles of the page."""
    fonts = "".join(
        f'@font-face {{ font-family: "{name}"; src: url("/app/static/{file}"); font-weight: {weight}; }}'
        for name, (file, weight) in FONTS.items()
    )
    names = "; ".join(f"--{name}: {colour}" for name, colour in palette.colours().items())
    return f":root {{ {names}; --upright: {_names_height(codebook)}px }}{fonts}{read(FOLDER / 'review_grid.css')}"
