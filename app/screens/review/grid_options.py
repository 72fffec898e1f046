"""Options of AgGrid for the grid of Review: columns, sizes, colours and style sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.components import FOLDER, read
from app.widgets import palette
from core.codebook import Codebook, Label

FONTS = {
    "Inter": ("inter-latin-opsz-normal.woff2", "100 900"),
    "Moot Text": ("source-serif-4-latin-opsz-normal.woff2", "200 900"),
    "JetBrains Mono": ("jetbrains-mono-latin-wght-normal.woff2", "100 800"),
}
ROW_HEIGHT = 30
SCROLLBAR = 10
"""In pixels; without a width, the scrollbar covers the last row."""
GROUP_HEADER_HEIGHT = 24
MAX_HORIZONTAL_NAMES, MAX_HORIZONTAL_NAME_CHARACTERS = 6, 7
"""Numbers of labels and of letters in a name up to which names are horizontal. Others are vertical, to be whole on a
small screen with the document beside the grid."""
MAX_SQUARES = 16
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
    long = any(len(label.name) > MAX_HORIZONTAL_NAME_CHARACTERS for label in codebook.labels)
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
            return (max(64, 8 + squares), max(68, 8 + squares)) if count <= MAX_SQUARES else (110, 110)


def grid_options(
    codebook: Codebook,
    roles: Mapping[str, str],
    focus: str | None,
    head: Mapping[str, str],
    js: Any,
    *,
    is_document_open: bool,
) -> dict[str, Any]:
    """Return the grid's options.

    ``head`` has the common fields of the requests that save edits. ``js`` marks a string as code.
    ``is_document_open`` is True if the document is open beside the grid: it shows all values, so a narrow grid leaves
    them out.
    """
    shades = palette.colours()
    shown_in_document = [*(f"r_{role}" for role in roles), "gold", "_reason"]
    return {
        "columnDefs": _columns(codebook, roles, js, min_text_width=140 if is_document_open else 80),
        **_cell_options(js),
        "context": {
            "focus": focus,
            "kind": codebook.kind,
            "head": head,
            "fields": [f"v_{item}" for item in codebook.items],
            "values": {f"v_{item}": _values(codebook, item) for item in codebook.items},
            "boxes": codebook.kind == "multilabel",
            "all": len(codebook.labels) <= MAX_SQUARES,
            "optional": ["_quotes", *shown_in_document] if is_document_open else ["_quotes"],
            "label_names": codebook.label_names,
            "names": list(codebook.names),
            "colours": [shades[f"l{label.colour}"] for label in codebook.labels],
        },
        "getRowId": js("function(p){return p.data._id}"),
        "onCellClicked": js("moot.listener('handleClick')"),
        "onCellFocused": js("moot.listener('noteFocus')"),
        "onGridReady": js("moot.listener('start')"),
        "onFirstDataRendered": js("moot.listener('fitIds')"),
        "onGridSizeChanged": js("moot.listener('fitColumns')"),
        "onRowDataUpdated": js("moot.listener('keepFocus')"),
        "rowHeight": ROW_HEIGHT,
        "scrollbarWidth": SCROLLBAR,
        "headerHeight": _names_height(codebook),
        "groupHeaderHeight": GROUP_HEADER_HEIGHT,
        "tooltipShowDelay": 700,
        "animateRows": False,
        "suppressScrollOnNewData": True,
    }


def _cell_options(js: Any) -> dict[str, Any]:
    return {
        "defaultColDef": {
            "sortable": False,
            "filter": False,
            "suppressMovable": True,
            "resizable": True,
            "suppressHeaderMenuButton": True,
            "suppressHeaderFilterButton": True,
            "headerComponent": "head",
            "suppressKeyboardEvent": js("moot.callback('handleKey')"),
        },
        "columnTypes": {
            "moot": {
                "valueGetter": js("moot.callback('getValue')"),
                "valueSetter": js("moot.callback('setValue')"),
                "cellRenderer": "box",
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
        "rowSelection": {"mode": "multiRow", "checkboxes": True, "headerCheckbox": True, "enableClickSelection": False},
        "selectionColumnDef": {"width": 32, "suppressHeaderMenuButton": True, "resizable": False, "pinned": "left"},
    }


_SQUARES_COLUMN: dict[str, Any] = {
    "cellRenderer": "squares",
    "cellClass": "centre line",
    "headerClass": "centre line",
    "resizable": False,
}
"""Options of a column with a square for each label."""


def _columns(codebook: Codebook, roles: Mapping[str, str], js: Any, *, min_text_width: int) -> list[dict[str, Any]]:
    """Return the groups of columns. ``min_text_width`` is the least width of the text in pixels."""
    gold_width, role_width = _widths(codebook)
    gold = {"field": "gold", "headerName": "gold", "width": gold_width, **_SQUARES_COLUMN}
    return [
        {"headerName": "", "children": _document_columns(js, min_text_width)},
        {"headerName": "Current labels", "headerClass": "line", "children": _label_columns(codebook)},
        {"headerName": "", "headerClass": "centre line", "children": [gold]},
        {"headerName": "By role", "headerClass": "line", "children": _role_columns(roles, role_width)},
        {"headerName": "", "headerClass": "line", "children": _status_columns(js)},
    ]


def _document_columns(js: Any, min_text_width: int) -> list[dict[str, Any]]:
    return [
        {
            "field": "_id",
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
            "minWidth": min_text_width,
            "cellClass": "text",
            "tooltipField": "_text",
        },
    ]


def _label_columns(codebook: Codebook) -> list[dict[str, Any]]:
    """Return a column for each label, or the only column of a choice."""
    labels: Sequence[Label | None] = (None,) if codebook.kind == "choice" else codebook.labels
    is_vertical, (_, role_width) = _has_vertical_names(codebook), _widths(codebook)
    least = 36 if codebook.kind == "rating" else 30  # means have two decimals
    label_width = {"minWidth": least, "maxWidth": 56} if is_vertical else {"minWidth": 54, "maxWidth": 92}
    upright = " upright" if is_vertical else ""
    return [
        {
            "colId": f"v_{item}",
            "headerName": label.name if label else "Label",
            "type": "moot",
            **({"flex": 0.3, **label_width} if label else {"width": max(118, role_width + 26)}),
            "headerComponentParams": {"colour": palette.colours()[f"l{label.colour}"]} if label else {},
            "cellClass": "centre label line" if index == 0 else "centre label",
            "headerClass": f"centre line{upright}" if index == 0 else f"centre{upright}",
        }
        for index, (item, label) in enumerate(zip(codebook.items, labels, strict=True))
    ]


def _role_columns(roles: Mapping[str, str], width: int) -> list[dict[str, Any]]:
    return [
        {
            "field": f"r_{role}",
            "headerName": title,
            "width": width,
            **_SQUARES_COLUMN,
            "headerComponentParams": {"ink": palette.role_colour(role)},
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
            return list(codebook.label_names)
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
