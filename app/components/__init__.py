"""Custom components and the HTML, CSS and JavaScript that they consist of.

A component is drawn in a shadow root, which does not see the style sheets of the page. So each component gets the
design tokens and the shared classes together with its own CSS. Likewise the shared functions come before its script.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

FOLDER = Path(__file__).parent
APP = FOLDER.parent


@cache
def read(path: Path) -> str:
    """Return the content of a shipped text file."""
    return path.read_text(encoding="utf-8")


def tokens() -> str:
    """Return the design tokens as CSS."""
    return read(APP / "static" / "tokens.css")


def component(name: str, *shared: str) -> ComponentRenderer:
    """Declare the component ``name`` from ``NAME.html``, ``NAME.css`` and ``NAME.js``. The last two may be missing.

    ``shared`` names further scripts that come before the component's own script.
    """
    css, js = FOLDER / f"{name}.css", FOLDER / f"{name}.js"
    return st.components.v2.component(
        f"moot_{name}",
        html=read(FOLDER / f"{name}.html"),
        css="\n".join([tokens(), read(FOLDER / "common.css"), read(css) if css.exists() else ""]),
        js="\n".join(read(FOLDER / f"{each}.js") for each in ("common", *shared, name)) if js.exists() else None,
    )
