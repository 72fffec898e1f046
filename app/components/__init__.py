"""Custom components, written in CSS and JavaScript.

Style sheets of the page do not apply in the shadow root of a component. So each component gets the design tokens and
the shared classes together with its own CSS.

The scripts are ES modules that import each other. Streamlit loads the script of a component from a ``blob:`` address,
where imports by path fail. So the script for Streamlit only loads the module from ``/moot/components/HASH/``, a route
of this app. The address contains a hash of all modules, so the browser can cache them until one of them changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from core.codebook import COLOURS

if TYPE_CHECKING:
    from starlette.requests import Request
    from streamlit.components.v2.bidi_component import ComponentResult

FOLDER = Path(__file__).parent
APP = FOLDER.parent
ADDRESS = "/moot/components"
CACHED = "private, max-age=31536000, immutable"
"""Header Cache-Control of a file whose address contains a hash of the content."""
ROLES = ("extractor", "critic", "judge", "advocate", "panelist", "person")
"""Roles with a colour of their own in the design tokens."""
_LOADER = """
const address = new URL({address!r}, location.origin).href;
export default async (component) => (await import(address)).default({{ ...component, data: component.data?.[0] }});
"""


@cache
def read(path: Path) -> str:
    """Return the content of a shipped text file."""
    return path.read_text(encoding="utf-8")


def tokens() -> str:
    return read(APP / "static" / "tokens.css")


def colour_classes(prefix: str = "") -> str:
    """Return, as CSS, the classes that set the colours of labels (``l1`` to ``l8``) and of roles (``critic``)."""
    labels = (
        f".{prefix}l{n} {{ --label: var(--l{n}); --label-bg: var(--l{n}-bg); --label-text: var(--l{n}-tx); }}"
        for n in range(1, COLOURS + 1)
    )
    roles = (f".{prefix}{role} {{ --role: var(--r-{role}); --role-bg: var(--r-{role}-bg); }}" for role in ROLES)
    return "\n".join([*labels, *roles])


def component(name: str) -> Callable[..., ComponentResult]:
    """Declare the component ``name``, which consists of ``NAME.js`` and, if it has a style, ``NAME.css``.

    The component draws into an element with the class ``name``, in which dashes replace the underscores. ``data`` is
    JSON. Streamlit looks for data frames in a dictionary, for which it imports pandas, but not in a list.
    """
    css = FOLDER / f"{name}.css"
    mount = st.components.v2.component(
        f"moot_{name}",
        html=f'<div class="moot {name.replace("_", "-")}"></div>',
        css="\n".join([tokens(), colour_classes(), read(FOLDER / "common.css"), read(css) if css.exists() else ""]),
        js=_LOADER.format(address=module_address(name)),
    )

    def draw(*, data: object = None, **options: Any) -> ComponentResult:
        return mount(data=[data], **options)

    return draw


def reported(key: str, name: str) -> Any:
    """Return what the component with this key reported under a name, or None.

    A component may report while the page drops it, for example if the user opens another view. Its callback then runs,
    although the session no longer has its key.
    """
    return (st.session_state.get(key) or {}).get(name)


def module_address(name: str) -> str:
    """Return the path, within this app, of the module ``name``."""
    return f"{ADDRESS}/{_version()}/{name}.js"


def review_grid_loader() -> str:
    """Return the classic script that loads ``review_grid.js`` into the frame of the review grid."""
    return read(FOLDER / "review_grid_loader.js").replace("MODULE_ADDRESS", module_address("review_grid"))


def routes() -> list[BaseRoute]:
    """Return the route that serves the modules.

    The route needs no token, because the modules contain only public code. Other web sites cannot load them.
    """

    async def module(request: Request) -> Response:
        script = _modules().get(request.path_params["name"])
        if script is None or request.path_params["version"] != _version():
            return PlainTextResponse("This module does not exist. Reload the page.", 404)
        headers = {"Cache-Control": CACHED, "Cross-Origin-Resource-Policy": "same-origin"}
        return Response(script, media_type="text/javascript", headers=headers)

    return [Route(f"{ADDRESS}/{{version}}/{{name}}", module)]


@cache
def _modules() -> dict[str, str]:
    return {path.name: read(path) for path in sorted(FOLDER.glob("*.js"))}


@cache
def _version() -> str:
    digest = hashlib.sha256()
    for name, script in _modules().items():
        digest.update(f"{name}\0{script}\0".encode())
    return digest.hexdigest()[:16]
