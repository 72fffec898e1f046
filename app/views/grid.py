"""The grid of documents: a checkbox for each label, and beside it what gold and each role say.

It shows what the store holds and is never fed with its own output. An edit comes back as one small entry
(number, document, column, value); see ``parts/grid.js`` for how quick edits survive slow answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.views import palette
from app.views.component import PARTS, _read
from core.codebook import Codebook, Label
from core.documents import Value
from core.studio.review import REASONS, Row

FONTS = {
    "Inter": ("inter-latin-opsz-normal.woff2", "100 900"),
    "Moot Text": ("source-serif-4-latin-opsz-normal.woff2", "200 900"),
    "JetBrains Mono": ("jetbrains-mono-latin-wght-normal.woff2", "100 800"),
}
TONES = {"failed": "wrong", "unresolved": "unres", "gold": "wrong", "unsupported": "wrong", "flipped": "unres"}
LINE = 30
HEAD = 54
WORDS = 240
"""Characters of a text that a row carries; the rest is shown below the grid."""


@dataclass(frozen=True, slots=True)
class GridEdit:
    """One edit: ``field`` is ``v_ITEM`` with the value as text, or ``_act`` with what to do (undo, redo, submit)."""

    number: int
    document_id: str
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class GridState:
    """What the grid says: its life (a new one after each page switch), edits in order, the row in focus, the rows
    that are ticked."""

    life: str = ""
    edits: tuple[GridEdit, ...] = ()
    focus: str | None = None
    selected: tuple[str, ...] = ()


def grid(
    rows: Sequence[Row],
    codebook: Codebook,
    roles: Mapping[str, str],
    *,
    acknowledged: str = "",
    focus: str | None = None,
    height: int = 480,
    on_told: Callable[[], None] | None = None,
    key: str = "grid",
) -> GridState:
    """Draw a page of documents. ``acknowledged`` is "life:number" of the last edit that the rows include.

    ``on_told`` is called before the next run of the script when the grid has something to say (``told``): also when
    that run is of another screen, because the person went on at once.
    """
    import pandas as pd
    from st_aggrid import AgGrid, JsCode

    dark = st.context.theme.type == "dark"
    shade = palette.palette(dark)
    frame = pd.DataFrame([_cells(row, codebook, roles, acknowledged) for row in rows])
    result = AgGrid(
        frame,
        gridOptions=_disarmed(_options(codebook, roles, shade, dark, focus, JsCode)),
        height=min(height, HEAD + LINE * max(len(rows), 2) + 3),
        data_return_mode="CUSTOM",
        custom_jscode_for_grid_return=JsCode("moot.collect"),
        should_grid_return=JsCode("moot.wanted"),
        update_on=["cellValueChanged", ("selectionChanged", 120), ("cellFocused", 180)],
        server_sync_strategy="server_wins",
        enable_enterprise_modules=False,
        allow_unsafe_jscode=True,
        show_toolbar=False,
        theme="streamlit",
        pro_assets=[{"js": _read(PARTS / "grid.js")}],
        callback=None if on_told is None else lambda _: on_told(),
        key=_key(key),
    )
    return _state(result.raw_data)


def told(key: str) -> GridState:
    """What the grid of this key said last, before it is drawn in this run."""
    return _state(st.session_state.get(_key(key)))


def parse(value: str, codebook: Codebook) -> Value:
    """The value that a cell's text stands for. ValueError when it is none."""
    match codebook.kind:
        case "multilabel":
            if value in ("1", "0"):
                return value == "1"
            raise ValueError(value)
        case "choice":
            return value
        case "rating":
            return int(value)


def _key(key: str) -> str:
    """Its style sheet is written once, so another theme is another grid."""
    return f"{key}-{st.context.theme.type or 'light'}"


def _state(raw: Any) -> GridState:
    if not isinstance(raw, dict) or not isinstance(raw.get("grid"), str):
        return GridState()
    edits = [
        GridEdit(int(one[0]), str(one[1]), str(one[2]), str(one[3]))
        for one in raw.get("edits") or ()
        if isinstance(one, list) and len(one) == 4
    ]
    focus = raw.get("row")
    return GridState(
        raw["grid"],
        tuple(edits),
        focus if isinstance(focus, str) else None,
        tuple(str(id) for id in raw.get("selected") or ()),
    )


def _cells(row: Row, codebook: Codebook, roles: Mapping[str, str], acknowledged: str) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "_id": row.document_id,
        "_text": " ".join(row.text[: 2 * WORDS].split())[:WORDS],
        "_quotes": f"{row.supported} of {row.quotes}" if row.quotes else "",
        "_reason": REASONS[row.reason] if row.reason else "",
        "_tone": TONES.get(row.reason or "", ""),
        "_why": ", ".join(REASONS[reason] for reason in row.reasons),
        "_status": row.status,
        "_act": "",
        "_ack": acknowledged,
        "gold": _squares(row.gold, codebook) if row.gold else "",
    }
    for role in roles:
        says = row.roles.get(role)
        cells[f"r_{role}"] = "?" if says is None else _squares(says, codebook)
    for item in codebook.items:
        marks = "g" * (item in row.wrong) + "d" * (item in row.disputed) + "e" * (item in row.edited)
        cells[f"v_{item}"] = _text(row.values.get(item))
        cells[f"m_{item}"] = marks
    return cells


def _text(value: Value | None) -> str:
    match value:
        case None:
            return "?"
        case bool():
            return "1" if value else "0"
        case _:
            return str(value)


def _squares(said: Mapping[str, Value | None], codebook: Codebook) -> str:
    """A character for each label: 1 present, 0 absent, ? not said; ``=`` and words where squares say too little."""
    if codebook.kind == "choice":
        chosen = said.get(codebook.items[0])
        return "=" + next((label.name for label in codebook.labels if label.id == chosen), "?")
    if codebook.kind == "rating":
        return "=" + " ".join("·" if said.get(item) is None else f"{said[item]}" for item in codebook.items)
    return "".join(_text(said.get(item)) for item in codebook.items)


def _options(
    codebook: Codebook, roles: Mapping[str, str], shade: Mapping[str, str], dark: bool, focus: str | None, js: Any
) -> dict[str, Any]:
    labels = [(f"v_{item}", _label_of(item, codebook)) for item in codebook.items]
    squares = {
        "cellRenderer": "squares", "cellClass": "centre line", "headerClass": "centre line", "resizable": False,
    }  # fmt: skip
    wide = max(60, 16 + 9 * len(codebook.labels)) if codebook.kind == "multilabel" else 110
    columns: list[dict[str, Any]] = [
        {
            "headerName": "",
            "children": [
                {
                    "field": "_id", "colId": "_id", "headerName": "id", "width": 54,
                    "cellClass": "id", "cellClassRules": {"shown": js("moot.shown")},
                },
                {"field": "_text", "headerName": "text", "flex": 1, "minWidth": 140, "cellClass": "text",
                 "tooltipField": "_text"},
            ],
        },
        {
            "headerName": "Label, edit here",
            "headerClass": "line",
            "children": [
                {
                    "colId": field,
                    "headerName": label.name if label else "Label",
                    "type": "moot",
                    **({"flex": 0.16, "minWidth": 54, "maxWidth": 92} if label else {"width": 150}),
                    "headerComponentParams": {
                        "name": label.name if label else "Label",
                        "colour": shade[f"l{label.colour}"] if label else "",
                        "told": label.name if label else "Label",
                    },
                    "cellClass": "centre label line" if place == 0 else "centre label",
                    "headerClass": "centre line" if place == 0 else "centre",
                }
                for place, (field, label) in enumerate(labels)
            ],
        },
        {
            "headerName": "Truth",
            "headerClass": "centre line",
            "children": [{"field": "gold", "headerName": "gold", "width": wide, **squares}],
        },
        {
            "headerName": "What each role said" if len(roles) > 1 else "Said",
            "headerClass": "line",
            "children": [
                {
                    "field": f"r_{role}", "headerName": title, "width": max(wide, 66), **squares,
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
                {"field": "_quotes", "headerName": "quotes", "width": 58, "cellClass": "line", "headerClass": "line",
                 "cellClassRules": {"few": js("function(p){const [a,b]=String(p.value||'').split(' of ');"
                                              "return Boolean(b)&&a!==b}")}},
                {"field": "_reason", "headerName": "reason", "width": 112, "cellRenderer": "badge",
                 "tooltipField": "_why"},
                {"field": "_status", "headerName": "status", "width": 80,
                 "cellClassRules": {"quiet": js("function(p){return p.value==='Pending'}")}},
                {"field": "_act", "colId": "_act", "hide": True, "valueGetter": js("moot.get"),
                 "valueSetter": js("moot.set")},
            ],
        },
    ]  # fmt: skip
    head = {"headerComponent": "head"}
    for group in columns:
        for column in group["children"]:
            column.update(head)
            column.setdefault("headerComponentParams", {"name": column.get("headerName", "")})
    return {
        "columnDefs": columns,
        "defaultColDef": {
            "sortable": False, "filter": False, "suppressMovable": True, "resizable": True,
            "suppressHeaderMenuButton": True, "suppressHeaderFilterButton": True,
            "suppressKeyboardEvent": js("moot.ours"),
        },
        "columnTypes": {
            "moot": {
                "valueGetter": js("moot.get"), "valueSetter": js("moot.set"), "cellRenderer": "box", "editable": False,
                "resizable": False,
                "cellClassRules": {"gold": js("moot.flag('g')"), "split": js("moot.flag('d')"),
                                   "edited": js("moot.flag('e')")},
            }
        },
        "components": {
            "box": js("moot.Box"), "squares": js("moot.Squares"), "badge": js("moot.Badge"), "head": js("moot.Head"),
        },
        "context": {
            "css": _css(shade, dark),
            "focus": focus,
            "fields": [field for field, _ in labels],
            "values": _values(codebook),
            "words": {label.id: label.name for label in codebook.labels},
            "names": [label.name for label in codebook.labels],
            "colours": [shade[f"l{label.colour}"] for label in codebook.labels],
        },
        "getRowId": js("function(p){return p.data._id}"),
        "onCellClicked": js("moot.clicked"),
        "onCellKeyDown": js("moot.keyed"),
        "onGridReady": js("moot.ready"),
        "rowSelection": {
            "mode": "multiRow", "checkboxes": True, "headerCheckbox": True, "enableClickSelection": False,
        },
        "selectionColumnDef": {"width": 34, "suppressHeaderMenuButton": True, "resizable": False, "pinned": None},
        "rowHeight": LINE,
        "headerHeight": 28,
        "groupHeaderHeight": 24,
        "tooltipShowDelay": 700,
        "suppressCellFocus": False,
        "animateRows": False,
        "suppressScrollOnNewData": True,
        "overlayNoRowsTemplate": "No document matches.",
    }  # fmt: skip


def _disarmed(options: Any) -> Any:
    """The options with streamlit-aggrid's mark for code taken out of every text: a label's name is no script."""
    match options:
        case dict():
            return {name: _disarmed(value) for name, value in options.items()}
        case list():
            return [_disarmed(value) for value in options]
        case str():
            while "::JSCODE::" in options:
                options = options.replace("::JSCODE::", "")
            return options
        case _:
            return options


def _label_of(item: str, codebook: Codebook) -> Label | None:
    return None if codebook.kind == "choice" else codebook.label(item)


def _values(codebook: Codebook) -> list[str]:
    """What a click goes through, in order; from ``?`` it starts at the first."""
    if codebook.kind == "choice":
        return [label.id for label in codebook.labels]
    if codebook.kind == "rating" and codebook.scale is not None:
        return [str(value) for value in range(codebook.scale.min, codebook.scale.max + 1)]
    return ["1", "0"]


def _css(shade: Mapping[str, str], dark: bool) -> str:
    fonts = "".join(
        f'@font-face {{ font-family: "{name}"; src: url("/app/static/{file}"); font-weight: {weight}; }}'
        for name, (file, weight) in FONTS.items()
    )
    names = "; ".join(f"--{name}: {colour}" for name, colour in shade.items())
    look = _read(PARTS / "grid.css").replace("TICK", shade["bg"].replace("#", "%23"))
    return f":root {{ color-scheme: {'dark' if dark else 'light'}; --accent: {shade['bar']}; {names} }}{fonts}{look}"
