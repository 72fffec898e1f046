"""Access control of the studio: the start-up token, its cookie, and the page that the browser opens first.

There are three checks, each against a different attacker. ``Host`` must name this machine (DNS rebinding). ``Origin``
must be the address of the studio (other web pages, also those of other ports). The cookie must be the one that the
start-up token was exchanged for (other accounts on this machine, which can reach the port). Cookies ignore ports, so
the cookie's name contains the port. Two studios on one machine therefore do not log each other out.

The launcher imports this module before it opens the browser, so nothing slow is imported here.
"""

from __future__ import annotations

import hmac
import secrets
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

ENTER = "/moot/enter"
LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HANDOVER = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Moot</title>
{frame}<form method="post" action="{address}"><input type="hidden" name="token" value="{token}">
<noscript><button>Open Moot</button></noscript></form>
<script>requestAnimationFrame(() => setTimeout(() => document.forms[0].submit()))</script></html>
"""


@cache
def starting_frame() -> str:
    """Return the HTML of the studio's frame while it is starting. It is drawn before any other file is loaded."""
    return (Path(__file__).parents[1] / "static" / "starting.html").read_text(encoding="utf-8")


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
        command line nor in its history. The page shows the frame of the studio until the server answers, which may be
        after the page is opened. It first draws the frame and then sends the form.
        """
        return _HANDOVER.format(frame=starting_frame(), address=f"{url}{ENTER}", token=self.token)

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


@cache
def process_access() -> Access:
    return Access()
