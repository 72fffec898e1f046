"""Middleware around every HTTP and WebSocket route of the studio, Streamlit's own included, and the page itself."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs

import streamlit as st
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from app.api.access import ENTER, Access, cookie_name, starting_frame
from app.components import CACHED, review_grid_loader

POLICY_VIOLATION = 1008
"""WebSocket close code of a refused connection."""
_HASHED = re.compile(r"/component/.*\.[0-9a-f]{8,}\.[a-z0-9]+")
"""Path of a file of the grid whose name contains a hash of the content. Without its header, the browser would load and
compile five megabytes of script each time the grid opens."""
_MAX_FORM_BYTES = 1024
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Moot</title>
<style>:root {{color-scheme: light dark; background: light-dark(#FFFFFF, #101318); color: light-dark(#1A1F28, #E6E9EE)}}
body {{font: 16px/1.5 "Inter", system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1rem;
  overflow-wrap: anywhere}}
h1 {{font-size: 24px}} svg {{display: block; width: 68px}} a {{color: light-dark(#2A5BB5, #8DB2FF)}}</style>
{logo}<h1>{title}</h1><p>{text}</p>"""
_FORM = f"""<form method="post" action="{ENTER}"><label>Token <input name="token" type="password" required></label>
<button>Open</button></form>"""
_REFUSALS = {
    "host": (421, "Wrong address", "This studio answers on 127.0.0.1 only.", ""),
    "origin": (403, "Refused", "Another web page sent this request. Open the address that moot printed instead.", ""),
    "token": (
        403,
        "This browser has no access yet",
        "Open the address that moot printed when it started, or paste the token from the end of that address.",
        _FORM,
    ),
}


class _WrongAddress(StringConvertor):
    """Part of a route that matches an address of neither a file nor one of Streamlit's own routes."""

    regex = r"(?!_stcore/|media/)[^.]+"


register_url_convertor("wrong_address", _WrongAddress())


class Guard:
    """Middleware for all routes. It refuses requests and exchanges the token for the cookie.

    Its headers keep the page from running a script in markup and from loading or sending data elsewhere, even if a
    document were rendered as markup by mistake.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        send = self._with_headers(send, scope["path"])
        refusal = self.access.refusal(connection)
        if scope["type"] == "websocket" and refusal:
            await WebSocket(scope, receive, send).close(POLICY_VIOLATION, refusal)
        elif scope["type"] == "http" and scope["path"] == ENTER and refusal != "host":
            await (await self._enter(Request(scope, receive)))(scope, receive, send)
        elif refusal:
            await _refuse(refusal)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _enter(self, request: Request) -> Response:
        """Exchange the token for the cookie. The redirect keeps the token out of the history of the tab."""
        token = request.query_params.get("token", "")
        if request.method == "POST":
            body = b""
            with suppress(ClientDisconnect):
                async for part in request.stream():
                    body += part[: _MAX_FORM_BYTES - len(body)]
            token = parse_qs(body.decode(errors="replace")).get("token", [""])[0].strip()
        if not self.access.is_token(token):
            return _refuse("token")
        response = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        # Lax, because the first page follows a file or a link in a terminal. Origin is checked for all that changes.
        host = request.headers.get("host", "")
        response.set_cookie(cookie_name(host), self.access.cookie, httponly=True, samesite="lax", path="/")
        return response

    def _with_headers(self, send: Send, path: str) -> Send:
        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", _policy(path.startswith("/component/")))
                headers.setdefault("X-Frame-Options", "SAMEORIGIN")
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
                # A page that opens the studio in a window cannot send messages to it or count its frames.
                headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
                headers.setdefault("Referrer-Policy", "no-referrer")
                if message["status"] == 200 and _HASHED.fullmatch(path):
                    headers["Cache-Control"] = CACHED
            await send(message)

        return sender


def page_routes(names: Collection[str]) -> list[BaseRoute]:
    """Return routes that serve the studio's page at the addresses of these pages, and of the home page only at ``/``.

    Without these routes, Streamlit looks for its server below the address of the page first, which the browser reports
    as errors, and the page stays white until Streamlit's scripts are loaded. An address below a page, such as
    ``/evaluate/r0001``, leads to the page: Streamlit's scripts cannot be loaded from there. A wrong one leads to Home.
    """

    async def home(_request: Request) -> Response:
        return RedirectResponse("/")

    async def page(_request: Request) -> Response:
        return HTMLResponse(_page(), headers={"Cache-Control": "no-cache"})

    async def below(request: Request) -> Response:
        return RedirectResponse("/" + request.url.path.split("/")[1])

    return [
        Route("/", page),
        *(Route(f"/{name}", home if name == "home" else page) for name in names),
        *(Route(f"/{name}/{{rest:path}}", below) for name in names),
        Route("/{rest:wrong_address}", home),
    ]


@cache
def _page() -> str:
    """Return Streamlit's page with the address of its server, and with the frame of the studio until it is drawn."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    page = page.replace("<head>", "<head><script>window.__streamlit = {BACKEND_BASE_URL: location.origin}</script>", 1)
    page = page.replace("<title>Streamlit</title>", "<title>Moot</title>", 1)
    return page.replace('<div id="root"></div>', f'<div id="root">{starting_frame()}</div>', 1)


@cache
def _policy(is_grid: bool) -> str:
    """Return the content security policy of the page, or of the frame that Streamlit draws the grid in.

    Scripts come from this server, and inline ones are named by their hashes. Streamlit loads components from ``blob:``
    and uses WebAssembly. The grid turns text into code, because its options contain functions as text.
    """
    inline = [review_grid_loader()] if is_grid else re.findall(r"<script>(.*?)</script>", _page(), re.DOTALL)
    hashes = (b64encode(sha256(script.encode()).digest()).decode() for script in inline)
    scripts = ("'unsafe-eval'" if is_grid else "blob: 'wasm-unsafe-eval'", *(f"'sha256-{digest}'" for digest in hashes))
    return (
        f"default-src 'self' data: blob:; script-src 'self' {' '.join(scripts)}; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self' data: blob:; frame-ancestors 'self'; form-action 'self'; base-uri 'self'; "
        "object-src 'none'"
    )


def _refuse(refusal: str) -> Response:
    """Return a page with the reason below the logo."""
    status, title, text, end = _REFUSALS[refusal]
    page = _PAGE.format(logo=_logo(), title=title, text=text) + end
    return HTMLResponse(page, status, headers={"Cache-Control": "no-store"})


@cache
def _logo() -> str:
    """Return the logo as SVG. A browser without access could not load its file."""
    return (Path(__file__).parents[1] / "static" / "logo-wordmark.svg").read_text(encoding="utf-8")
