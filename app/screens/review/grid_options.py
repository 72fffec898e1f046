"""Options of the document grid for AgGrid: columns, colours and style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.components import FOLDER, read
from app.widgets import palette
from core.codebook import Codebook, Label

FONTS = {
    "Inter": ("inter-latin-opsz-normal.woff2", "100 900"),
    "Moot Text": ("source-serif-4-latin-opsz-normal.woff2", "200 900"),
    "JetBrains Mono": ("jetbrains-mono-latin-wght-normal.woff2", "100 800"),
}
LINE = 30
SCROLLBAR = 10  # in pixels; without a width, the scrollbar covers the last row
GROUPS = 24
ROOMY, SHORT = 6, 7
"""Numbers of labels and of letters in a name up to which names are horizontal. Others are vertical, to be whole on a
small screen with the document beside the grid."""
SQUARES = 16
"""Maximum number of labels with a square each in a role's cell. With more labels, only present labels are shown."""


def head(codebook: Codebook) -> int:
    """Return the height of the grid's header in pixels."""
    return GROUPS + _names(codebook)


def _names(codebook: Codebook) -> int:
    if not _tight(codebook):
        return 28
    longest = max(len(label.name) for label in codebook.labels)
    return min(150, max(64, 26 + 6 * longest))


def _tight(codebook: Codebook) -> bool:
    long = any(len(label.name) > SHORT for label in codebook.labels)
    return codebook.kind != "choice" and (long or len(codebook.labels) > ROOMY)


def _widths(codebook: Codebook) -> tuple[int, int]:
    """Return the widths of the gold column and of each role's column in pixels."""
    count = len(codebook.labels)
    match codebook.kind:
        case "choice":
            longest = max((len(label.name) for label in codebook.labels), default=0)
            width = min(100, max(68, 14 + 6 * longest))
            return width, width
        case "rating":  # gold values may be means of several raters
            return min(150, max(68, 12 + 26 * count)), min(150, max(68, 16 + 13 * count))
        case "multilabel":
            squares = count * (7 if _tight(codebook) else 10)
            return (max(64, 8 + squares), max(68, 8 + squares)) if count <= SQUARES else (110, 110)


def options_of(
    codebook: Codebook,
    roles: Mapping[str, str],
    focus: str | None,
    client: Mapping[str, Any],
    js: Any,
    *,
    beside: bool = False,
) -> dict[str, Any]:
    """Return the grid's options.

    ``client`` has the address and the common fields of the requests that save edits. ``js`` marks a string as code.
    ``beside`` is True if the document is open beside the grid: it shows all values, so a narrow grid leaves them out.
    """
    shade = palette.colours()
    labels = [(f"v_{item}", _label_of(item, codebook)) for item in codebook.items]
    return {
        "columnDefs": _columns(codebook, roles, labels, shade, js, least_text=140 if beside else 80),
        "defaultColDef": {
            "sortable": False, "filter": False, "suppressMovable": True, "resizable": True,
            "suppressHeaderMenuButton": True, "suppressHeaderFilterButton": True,
            "suppressKeyboardEvent": js("moot.callback('handleKey')"),
        },
        "columnTypes": {
            "moot": {
                "valueGetter": js("moot.callback('getValue')"), "valueSetter": js("moot.callback('setValue')"),
                "cellRenderer": "box", "editable": False, "resizable": False,
                "cellClassRules": {"gold": js("moot.callback('isMarked', 'g')"),
                                   "disputed": js("moot.callback('isMarked', 'd')"),
                                   "edited": js("moot.callback('isMarked', 'e')")},
            }
        },
        "components": {
            "box": js("moot.renderer('drawDecision')"), "squares": js("moot.renderer('drawSquares')"),
            "badge": js("moot.renderer('drawBadge')"), "head": js("moot.renderer('drawHeader')"),
        },
        "context": {
            "focus": focus,
            "kind": codebook.kind,
            **client,
            "fields": [field for field, _ in labels],
            "values": {f"v_{item}": _values(codebook, item) for item in codebook.items},
            "boxes": codebook.kind == "multilabel",
            "all": len(codebook.labels) <= SQUARES,
            "optional": ["_quotes", *([*(f"r_{role}" for role in roles), "gold", "_reason"] if beside else [])],
            "label_names": {label.id: label.name for label in codebook.labels},
            "names": [label.name for label in codebook.labels],
            "colours": [shade[f"l{label.colour}"] for label in codebook.labels],
        },
        "getRowId": js("function(p){return p.data._id}"),
        "onCellClicked": js("moot.listener('handleClick')"),
        "onGridReady": js("moot.listener('start')"),
        "onFirstDataRendered": js("moot.listener('fitIds')"),
        "onGridSizeChanged": js("moot.listener('fitColumns')"),
        "rowSelection": {
            "mode": "multiRow", "checkboxes": True, "headerCheckbox": True, "enableClickSelection": False,
        },
        "selectionColumnDef": {"width": 32, "suppressHeaderMenuButton": True, "resizable": False, "pinned": "left"},
        "rowHeight": LINE,
        "scrollbarWidth": SCROLLBAR,
        "headerHeight": _names(codebook),
        "groupHeaderHeight": GROUPS,
        "tooltipShowDelay": 700,
        "suppressCellFocus": False,
        "animateRows": False,
        "suppressScrollOnNewData": True,
        "overlayNoRowsTemplate": "No document matches.",
    }  # fmt: skip


def _columns(
    codebook: Codebook,
    roles: Mapping[str, str],
    labels: list[tuple[str, Label | None]],
    shade: Mapping[str, str],
    js: Any,
    *,
    least_text: int,
) -> list[dict[str, Any]]:
    """Return the groups of columns: document, labels, gold, a column for each role, and status.

    ``least_text`` is the least width of the text in pixels.
    """
    squares = {
        "cellRenderer": "squares", "cellClass": "centre line", "headerClass": "centre line", "resizable": False,
    }  # fmt: skip
    tight, (reference, role_width) = _tight(codebook), _widths(codebook)
    least = 36 if codebook.kind == "rating" else 30  # means have two decimals
    label_width = {"minWidth": least, "maxWidth": 56} if tight else {"minWidth": 54, "maxWidth": 92}
    upright = " upright" if tight else ""
    columns: list[dict[str, Any]] = [
        {
            "headerName": "",
            "children": [
                {
                    "field": "_id", "colId": "_id", "headerName": "id", "minWidth": 54, "maxWidth": 112,
                    "pinned": "left", "tooltipField": "_id", "valueFormatter": js("moot.callback('shortenId')"),
                    "cellClass": "id",
                    "cellClassRules": {"focused": js("moot.callback('isFocused')")},
                },
                {"field": "_text", "headerName": "text", "flex": 1, "minWidth": least_text, "cellClass": "text",
                 "tooltipField": "_text"},
            ],
        },
        {
            "headerName": "Current labels",
            "headerClass": "line",
            "children": [
                {
                    "colId": field,
                    "headerName": label.name if label else "Label",
                    "type": "moot",
                    **({"flex": 0.3, **label_width} if label else {"width": max(118, role_width + 26)}),
                    "headerComponentParams": {
                        "name": label.name if label else "Label",
                        "colour": shade[f"l{label.colour}"] if label else "",
                        "title": label.name if label else "Label",
                    },
                    "cellClass": "centre label line" if place == 0 else "centre label",
                    "headerClass": f"centre line{upright}" if place == 0 else f"centre{upright}",
                }
                for place, (field, label) in enumerate(labels)
            ],
        },
        {
            "headerName": "",
            "headerClass": "centre line",
            "children": [{"field": "gold", "headerName": "gold", "width": reference, **squares}],
        },
        {
            "headerName": "Labels by role",
            "headerClass": "line",
            "children": [
                {
                    "field": f"r_{role}", "headerName": title, "width": role_width, **squares,
                    "headerComponentParams": {"name": title, "ink": palette.role_colour(role, shade)},
                    **({} if place == 0 else {"cellClass": "centre", "headerClass": "centre"}),
                }
                for place, (role, title) in enumerate(roles.items())
            ],
        },
        {
            "headerName": "",
            "headerClass": "line",
            "children": [
                {"field": "_quotes", "headerName": "quotes", "width": 70, "cellClass": "line", "headerClass": "line",
                 "cellClassRules": {"wrong": js("moot.callback('hasUnsupportedQuotes')")}},
                {"field": "_reason", "headerName": "reason", "width": 120, "cellRenderer": "badge",
                 "tooltipField": "_why"},
                {"field": "_status", "headerName": "status", "width": 82, "pinned": "right",
                 "cellClassRules": {"muted": js("moot.callback('isPending')")}},
                {"field": "_revision", "colId": "_revision", "hide": True,
                 "valueGetter": js("moot.callback('getValue')"), "valueSetter": js("moot.callback('setValue')")},
            ],
        },
    ]  # fmt: skip
    for group in columns:
        for column in group["children"]:
            column["headerComponent"] = "head"
            column.setdefault("headerComponentParams", {"name": column.get("headerName", "")})
    return columns


def disarmed(options: Any) -> Any:
    """Return the options without streamlit-aggrid's code marker, so that label names are never executed."""
    match options:
        case dict():
            return {name: disarmed(value) for name, value in options.items()}
        case list():
            return [disarmed(value) for value in options]
        case str():
            while "::JSCODE::" in options:
                options = options.replace("::JSCODE::", "")
            return options
        case _:
            return options


def _label_of(item: str, codebook: Codebook) -> Label | None:
    return None if codebook.kind == "choice" else codebook.label(item)


def _values(codebook: Codebook, item: str) -> list[str]:
    """Return the values of an item that a click cycles through. From ``?``, a click selects the first value."""
    if codebook.kind == "choice":
        return [label.id for label in codebook.labels]
    if codebook.kind == "rating":
        return [str(point) for point in codebook.scale_of(item).points]
    return ["1", "0"]


def css(codebook: Codebook) -> str:
    """Return the style sheet of the grid's frame, which does not inherit the styles of the page."""
    fonts = "".join(
        f'@font-face {{ font-family: "{name}"; src: url("/app/static/{file}"); font-weight: {weight}; }}'
        for name, (file, weight) in FONTS.items()
    )
    names = "; ".join(f"--{name}: {colour}" for name, colour in palette.colours().items())
    return f":root {{ {names}; --upright: {_names(codebook)}px }}{fonts}{read(FOLDER / 'review_grid.css')}"
