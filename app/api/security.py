"""Access control of the studio's routes, and a middleware that protects all routes.

There are three checks, each against a different attacker. ``Host`` must name this machine (DNS rebinding). ``Origin``
must be the address of the studio (other web sites). The cookie must contain the start-up token (other accounts on this
machine, which can reach the port). The token is only in the address that is printed or opened at the start.
``/moot/enter`` exchanges the token for an HttpOnly cookie. Cookies ignore ports, so the cookie's name contains the
port. Two studios on one machine therefore do not log each other out.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

ENTER = "/moot/enter"
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
POLICY_VIOLATION = 1008
"""WebSocket close code of a refused connection."""


class Access:
    """Start-up token and the access checks of the studio's routes."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)

    @property
    def entrance(self) -> str:
        """Path and query of the address that sets the cookie."""
        return f"{ENTER}?token={self.token}"

    @property
    def ticket(self) -> str:
        """Proof for the live and review routes that can replace the cookie.

        Pages served by this process contain the ticket, so the plain address works, too. The ticket grants nothing
        else, and the token cannot be derived from it.
        """
        return hmac.new(self.token.encode(), b"live", "sha256").hexdigest()

    def is_token(self, token: str) -> bool:
        """Return True if this is the token, in constant time."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    def refusal(self, headers: Headers, cookies: Mapping[str, str], ticket: str = "") -> str:
        """Return the failed check of a request (host, origin or token), or an empty string if it is allowed."""
        host = headers.get("host", "")
        if not is_local(host):
            return "host"
        origin = urlsplit(headers.get("origin", ""))
        if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
            return "origin"
        has_cookie = self.is_token(cookies.get(cookie_name(host), ""))
        if has_cookie or hmac.compare_digest(ticket.encode(), self.ticket.encode()):
            return ""
        return "token"


def is_local(host: str) -> bool:
    """Return True if a Host header names this machine, with any port."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name = host
    return name.lower() in LOCAL_HOSTS


def cookie_name(host: str) -> str:
    """Return the cookie name for a host: ``moot_token`` and the port."""
    port = host.rpartition(":")[2]
    return f"moot_token_{port}" if port.isdigit() else "moot_token"


def routes(access: Access) -> list[BaseRoute]:
    """Return the route that exchanges the token for the cookie."""

    async def enter(request: Request) -> Response:
        host = request.headers.get("host", "")
        if not is_local(host) or not access.is_token(request.query_params.get("token", "")):
            return PlainTextResponse("Open the address that moot printed when it started.", 403)
        response = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        response.set_cookie(cookie_name(host), access.token, httponly=True, samesite="strict", path="/")
        return response

    return [Route(ENTER, enter)]


class Guard:
    """Middleware for all routes, including Streamlit's.

    It refuses foreign hosts. Its headers keep the page from loading or sending data elsewhere, even if a document were
    rendered as markup by mistake.
    """

    POLICY = (
        "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
        "style-src 'self' 'unsafe-inline'; connect-src 'self' data: blob:; frame-ancestors 'self'; "
        "form-action 'self'; base-uri 'self'; object-src 'none'"
    )

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif not is_local(Headers(scope=scope).get("host", "")):
            if scope["type"] == "websocket":
                await WebSocket(scope, receive, send).close(POLICY_VIOLATION)
            else:
                await PlainTextResponse("This studio answers on 127.0.0.1 only.", 421)(scope, receive, send)
        else:
            await self.app(scope, receive, self._with_headers(send))

    def _with_headers(self, send: Send) -> Send:
        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", self.POLICY)
                headers.setdefault("X-Frame-Options", "SAMEORIGIN")
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "no-referrer")
            await send(message)

        return sender
