"""The browser's part of charts, fetched while nothing else is to do: the first chart would wait for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st


@cache
def _address() -> str:
    """Where this Streamlit (checked: 1.67) has it, empty when it is elsewhere."""
    static = Path(st.__file__).parent / "static"
    found = next(static.glob("static/js/ArrowVegaLiteChart.*.js"), None)
    return "" if found is None else found.relative_to(static).as_posix()


def fetch() -> None:
    """Have the browser fetch it when it is idle. Draws nothing, and does nothing where it is not found."""
    if _address():
        script = f'import(new URL("{_address()}", document.baseURI).href).catch(() => null)'
        st.html(f"<script>requestIdleCallback(() => {script})</script>", unsafe_allow_javascript=True)
