"""Own components: their html, css and js are read from ``views/parts`` once, at import.

A component lives in a shadow root that sees no style sheet of the page, so each is given the tokens and the shared
classes with its own; likewise the shared functions come before its own script.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

APP = Path(__file__).parent.parent
PARTS = Path(__file__).parent / "parts"


@cache
def read(path: Path) -> str:
    """A shipped text file, read once."""
    return path.read_text(encoding="utf-8")


def tokens() -> str:
    """The design tokens as css."""
    return read(APP / "static" / "tokens.css")


def component(name: str, *shared: str) -> ComponentRenderer:
    """The component ``name`` from ``parts/NAME.html``, ``.css`` and ``.js`` (the last two may be missing), after the
    further scripts that it shares with others."""
    css, js = PARTS / f"{name}.css", PARTS / f"{name}.js"
    return st.components.v2.component(
        f"moot_{name}",
        html=read(PARTS / f"{name}.html"),
        css="\n".join([tokens(), read(PARTS / "common.css"), read(css) if css.exists() else ""]),
        js="\n".join(read(PARTS / f"{each}.js") for each in ("common", *shared, name)) if js.exists() else None,
    )
