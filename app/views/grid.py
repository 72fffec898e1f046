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
from app.views.component import PARTS, read
from app.views.grid_options import HEAD, LINE, disarmed, options_of
from app.views.grid_rows import cells_of
from core.codebook import Codebook
from core.documents import Value
from core.studio.queue import Row


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
    frame = pd.DataFrame([cells_of(row, codebook, roles, acknowledged) for row in rows])
    result = AgGrid(
        frame,
        gridOptions=disarmed(options_of(codebook, roles, shade, dark, focus, JsCode)),
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
        pro_assets=[{"js": read(PARTS / "grid.js")}],
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
