"""Access control of the studio: one middleware around every HTTP and WebSocket route, Streamlit's own included.

There are three checks, each against a different attacker. ``Host`` must name this machine (DNS rebinding). ``Origin``
must be the address of the studio (other web pages, also those of other ports). The cookie must be the one that the
start-up token was exchanged for (other accounts on this machine, which can reach the port). Cookies ignore ports, so
the cookie's name contains the port. Two studios on one machine therefore do not log each other out.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from app.components import review_grid_loader

ENTER = "/moot/enter"
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
POLICY_VIOLATION = 1008
"""WebSocket close code of a refused connection."""
_LONGEST_FORM = 1024
_PAGE = """<!doctype html><meta charset="utf-8"><title>Moot</title>
<style>body {{font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto; padding: 0 1rem}}</style>
<h1>{title}</h1><p>{text}</p>"""
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
_HANDOVER = """<!doctype html><meta charset="utf-8"><title>Moot</title>
<form method="post" action="{address}"><input type="hidden" name="token" value="{token}">
<button>Open Moot</button></form>
<script>document.forms[0].submit()</script>
"""


class Access:
    """Start-up token and the access checks of the studio."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.cookie = hmac.new(self.token.encode(), b"cookie", "sha256").hexdigest()
        """Value of the cookie. The token cannot be derived from it."""

    @property
    def entrance(self) -> str:
        """Path and query of the address that sets the cookie."""
        return f"{ENTER}?token={self.token}"

    def handover(self, url: str) -> str:
        """Return a page that exchanges the token without an address that contains it.

        A browser opens this page from a file that only its user can read. The token is then neither in the browser's
        command line nor in its history.
        """
        return _HANDOVER.format(address=f"{url}{ENTER}", token=self.token)

    def is_token(self, token: str) -> bool:
        """Return True if this is the token, in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    def refusal(self, connection: HTTPConnection) -> str:
        """Return the failed check of a request (host, origin or token), or an empty string if it is allowed."""
        host = connection.headers.get("host", "")
        if not is_local(host):
            return "host"
        if not hmac.compare_digest(connection.cookies.get(cookie_name(host), "").encode(), self.cookie.encode()):
            return "token"
        return "" if _is_same_origin(connection, host) else "origin"


def is_local(host: str) -> bool:
    """Return True if a Host header names this machine, with any port."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name = host
    return name.lower() in LOCAL_HOSTS


def cookie_name(host: str) -> str:
    """Return the cookie name for a host: ``moot_session`` and the port."""
    port = host.rpartition(":")[2]
    return f"moot_session_{port}" if port.isdigit() else "moot_session"


def _is_same_origin(connection: HTTPConnection, host: str) -> bool:
    """Return True if a page of the studio sent the request.

    A browser sends ``Origin`` with every WebSocket and with every request that can change something, so there it is
    required. Elsewhere ``Sec-Fetch-Site`` tells a page of the studio from another one, which may only link to it.
    """
    scheme = "https" if connection.scope["scheme"] in ("https", "wss") else "http"
    origin = connection.headers.get("origin")
    if origin is not None:
        return origin.lower() == f"{scheme}://{host}".lower()
    if connection.scope["type"] == "websocket" or connection.scope["method"] not in ("GET", "HEAD"):
        return False
    if connection.headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    return connection.headers.get("sec-fetch-dest") == "document"


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
        if scope["type"] == "websocket":
            if refusal:
                await WebSocket(scope, receive, send).close(POLICY_VIOLATION, refusal)
            else:
                await self.app(scope, receive, send)
        elif scope["path"] == ENTER and refusal != "host":
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
            async for part in request.stream():
                body += part[: _LONGEST_FORM - len(body)]
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
                headers.setdefault("Referrer-Policy", "no-referrer")
            await send(message)

        return sender


def page_routes(names: Iterable[str]) -> list[BaseRoute]:
    """Return routes that serve Streamlit's page at the addresses of these pages, and of the home page only at ``/``.

    Without them, Streamlit looks for its server below the address of the page first, which the browser reports as
    errors.
    """

    async def home(_request: Request) -> Response:
        return RedirectResponse("/")

    async def page(_request: Request) -> Response:
        return HTMLResponse(_page(), headers={"Cache-Control": "no-cache"})

    return [Route(f"/{name}", home if name == "home" else page) for name in names]


@cache
def _page() -> str:
    """Return Streamlit's page with the address of its server."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return page.replace("<head>", "<head><script>window.__streamlit = {BACKEND_BASE_URL: location.origin}</script>", 1)


@cache
def _policy(is_grid: bool) -> str:
    """Return the content security policy of the page, or of the frame that Streamlit draws the grid in.

    Scripts come from this server, and inline ones are named by their hashes. Streamlit loads components from ``blob:``
    and uses WebAssembly. The grid turns text into code, because its options contain functions as text.
    """
    inline = [review_grid_loader()] if is_grid else re.findall(r"<script>(.*?)</script>", _page(), re.DOTALL)
    hashes = (b64encode(sha256(script.encode()).digest()).decode() for script in inline)
    scripts = ("'unsafe-eval'" if is_grid else "blob: 'wasm-unsafe-eval'", *(f"'sha256-{each}'" for each in hashes))
    return (
        f"default-src 'self' data: blob:; script-src 'self' {' '.join(scripts)}; style-src 'self' 'unsafe-inline'; "
        "connect-src 'self' data: blob:; frame-ancestors 'self'; form-action 'self'; base-uri 'self'; "
        "object-src 'none'"
    )


def _refuse(refusal: str) -> Response:
    status, title, text, form = _REFUSALS[refusal]
    return HTMLResponse(_PAGE.format(title=title, text=text) + form, status, headers={"Cache-Control": "no-store"})
