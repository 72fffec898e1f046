"""The grid of documents: a cell to decide in for each label, and beside it what gold and each role say.

It shows what the store holds and is never fed with its own output. An edit goes from the grid to the file by a route of
its own (``app.acts``); the page only hears afterwards that there was one, which row is in focus and what is ticked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import wiring
from app.components import review_grid_loader
from app.live import REVIEW
from app.views.review.grid_options import LINE, css, disarmed, head, options_of
from app.views.review.grid_rows import cells_of
from core.codebook import Codebook
from core.studio.reviewing.queue import Row


@dataclass(frozen=True, slots=True)
class GridState:
    """What the grid says: the row in focus, and the rows that are ticked."""

    focus: str | None = None
    selected: tuple[str, ...] = ()


def grid(
    rows: Sequence[Row],
    codebook: Codebook,
    roles: Mapping[str, str],
    *,
    run: str,
    actor: str,
    read_at: float,
    focus: str | None = None,
    height: int = 480,
    on_told: Callable[[], None] | None = None,
    key: str = "grid",
) -> GridState:
    """Draw a page of documents of ``run`` (the name that ``app.wiring.watched`` gives), decided by ``actor``,
    that were read from the file at ``read_at`` (Unix seconds) or later.

    ``on_told`` is called before the next run of the script when the grid has something to say (``told``): also when
    that run is of another screen, because the person went on at once.
    """
    import pandas as pd
    from st_aggrid import AgGrid, JsCode

    teller = {"address": f"{REVIEW}?ticket={wiring.access().ticket}", "head": {"run": run, "actor": actor}}
    frame = pd.DataFrame([cells_of(row, codebook, roles, read_at) for row in rows])
    result = AgGrid(
        frame,
        gridOptions=disarmed(options_of(codebook, roles, focus, teller, JsCode)),
        height=min(height, head(codebook) + LINE * max(len(rows), 2) + 3),
        data_return_mode="CUSTOM",
        custom_jscode_for_grid_return=JsCode("moot.callback('collect')"),
        should_grid_return=JsCode("moot.callback('wanted')"),
        update_on=["cellValueChanged", ("selectionChanged", 120), ("cellFocused", 350)],
        server_sync_strategy="server_wins",
        enable_enterprise_modules=False,
        allow_unsafe_jscode=True,
        show_toolbar=False,
        theme="streamlit",
        pro_assets=[{"js": review_grid_loader(), "css": css(codebook)}],
        callback=None if on_told is None else lambda _: on_told(),
        key=key,
    )
    return _state(result.raw_data)


def told(key: str) -> GridState:
    """What the grid of this key said last, before it is drawn in this run."""
    return _state(st.session_state.get(key))


def _state(raw: Any) -> GridState:
    if not isinstance(raw, dict):
        return GridState()
    focus = raw.get("row")
    return GridState(
        focus if isinstance(focus, str) else None,
        tuple(str(id) for id in raw.get("selected") or ()),
    )
