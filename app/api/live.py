"""Own HTTP and WebSocket routes: debate events to the browser, and who may have them.

Three locks, each against somebody else. ``Host`` must name this machine (DNS rebinding), ``Origin`` must be this very
address (other web sites), and the cookie must hold the start-up token (other accounts of this machine, who can reach
the port). The token is only in the address that is printed or opened at the start; ``/moot/enter`` turns it into an
HttpOnly cookie. Cookies know no ports, so its name carries the port: two studios side by side do not lock each other
out. Without a launcher (``streamlit run``) a token is made up and the address printed.

``/moot/live`` speaks JSON. The browser sends ``watch`` whenever it connects or looks elsewhere, with cursors of the
text that it has; it gets one ``snapshot`` and from then on ``batch`` messages, twenty a second while something moves.
What is sent is the difference to what this connection was sent before (``core.services.live_run``), so a slow socket
makes fewer and larger messages and holds up nobody.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from core.services.live_run import (
    ClientCursor,
    Cursor,
    DocumentText,
    FinishedPage,
    Json,
    LiveRunState,
    Replay,
    told_from_store,
)

ENTER = "/moot/enter"
LIVE = "/moot/live"
REVIEW = "/moot/review"
HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
TICK = 0.05
"""Seconds between two batches for the debate in focus; tiles follow every second one."""
IDLE = 0.25
"""Seconds between two looks while the run stands still."""
LOOK_AGAIN = 40
"""Beats between two looks whether the run's board is still the same."""
LONGEST_MESSAGE = 65_536
PAGE = 50

BAD_MESSAGE = 1008


class LiveSource(Protocol):
    """What the live routes need of the running studio. Methods that may read the store are called in a thread."""

    def live_run(self, run_id: str) -> LiveRunState | None:
        """The run's board. Of a run that does not move, one with only its status published. None: no such run."""

    def document(self, run_id: str, document_id: str) -> DocumentText | None:
        """A document's text."""

    def replay(self, run_id: str, document_id: str) -> Replay | None:
        """The stored debate, None when there is none."""

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        """Debates that have ended, newest first. ``query`` is looked for in ids and texts; ``status`` may be empty."""


class Access:
    """Who may use the own routes."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)

    @property
    def entrance(self) -> str:
        """Path and query of the address that lets a browser in."""
        return f"{ENTER}?token={self.token}"

    def knows(self, token: str) -> bool:
        """Whether this is the token; takes as long for a near miss as for a far one."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def ticket(self) -> str:
        """What a page that this process has served shows at the live route instead of the cookie, so that the plain
        address works too. It opens nothing else and does not tell the token."""
        return hmac.new(self.token.encode(), b"live", "sha256").hexdigest()

    def refusal(self, headers: Headers, cookies: Mapping[str, str], ticket: str = "") -> str:
        """Why a request may not come in, empty when it may."""
        host = headers.get("host", "")
        if not local(host):
            return "host"
        origin = urlsplit(headers.get("origin", ""))
        if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
            return "origin"
        if self.knows(cookies.get(cookie_name(host), "")) or hmac.compare_digest(ticket.encode(), self.ticket.encode()):
            return ""
        return "token"


def local(host: str) -> bool:
    """Whether a Host header names this machine, whatever the port."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name = host
    return name.lower() in HOSTS


def cookie_name(host: str) -> str:
    """The cookie's name at this address: ``moot_token`` and the port."""
    port = host.rpartition(":")[2]
    return f"moot_token_{port}" if port.isdigit() else "moot_token"


class Guard:
    """Middleware around everything, Streamlit's own routes included: refuses foreign hosts and adds the headers that
    keep the page from loading or sending anything elsewhere, even if a text were ever taken for markup."""

    POLICY = (
        "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
        "style-src 'self' 'unsafe-inline'; connect-src 'self' data: blob:; frame-ancestors 'self'; "
        "form-action 'self'; base-uri 'self'; object-src 'none'"
    )

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif not local(Headers(scope=scope).get("host", "")):
            if scope["type"] == "websocket":
                await WebSocket(scope, receive, send).close(BAD_MESSAGE)
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


def routes(source: Callable[[], LiveSource | None], access: Access) -> list[BaseRoute]:
    """The own routes, for ``st.App(routes=...)``. ``source`` finds the running studio at each request."""

    async def enter(request: Request) -> Response:
        host = request.headers.get("host", "")
        if not local(host) or not access.knows(request.query_params.get("token", "")):
            return PlainTextResponse("Open the address that moot printed when it started.", 403)
        answer = RedirectResponse("/", 303, headers={"Cache-Control": "no-store"})
        answer.set_cookie(cookie_name(host), access.token, httponly=True, samesite="strict", path="/")
        return answer

    async def live(socket: WebSocket) -> None:
        refusal = access.refusal(socket.headers, socket.cookies, socket.query_params.get("ticket", ""))
        if refusal == "token":
            # Accepted and closed at once, so that the page can tell "no ticket" from "no server".
            await socket.accept()
            await socket.close(4401, "open the address that moot printed")
        elif refusal:
            await socket.close(BAD_MESSAGE, refusal)
        else:
            await socket.accept()
            await _Connection(socket, source).serve()

    return [Route(ENTER, enter), WebSocketRoute(LIVE, live)]


@dataclass(slots=True)
class _Watch:
    run: str
    focus: str | None
    life: str
    cursors: dict[int, Cursor] = field(default_factory=dict)


@dataclass(slots=True)
class _Search:
    query: str
    status: str
    offset: int


class _Connection:
    """One tab. What the browser asked for last is all that is remembered of its asking."""

    def __init__(self, socket: WebSocket, source: Callable[[], LiveSource | None]) -> None:
        self._socket = socket
        self._source = source
        self._asked = asyncio.Event()
        self._watch: _Watch | None = None
        self._search: _Search | None = None
        self._run = ""
        self._board: LiveRunState | None = None
        self._view = ClientCursor()

    async def serve(self) -> None:
        listening = asyncio.create_task(self._listen())
        sending = asyncio.create_task(self._speak())
        try:
            await asyncio.wait({listening, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, sending):
                task.cancel()
            for task in (listening, sending):
                with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                    await task

    async def _listen(self) -> None:
        while True:
            text = await self._socket.receive_text()
            try:
                if len(text) > LONGEST_MESSAGE:
                    raise ValueError("too long")
                self._take(json.loads(text))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                await self._socket.close(BAD_MESSAGE, "not a message of this protocol")
                return
            self._asked.set()

    def _take(self, message: Any) -> None:
        match message:
            case {"type": "watch", "run": str(run)}:
                focus = message.get("focus")
                if not (focus is None or isinstance(focus, str)):
                    raise ValueError("focus")
                self._watch = _Watch(run, focus, str(message.get("board", "")), _cursors(message.get("cursors"), focus))
            case {"type": "finished"}:
                self._search = _Search(
                    str(message.get("query", ""))[:200],
                    str(message.get("status", ""))[:20],
                    max(0, int(message.get("offset", 0))),
                )
            case _:
                raise ValueError("type")

    async def _speak(self) -> None:
        beat = 0
        while True:
            if self._asked.is_set():
                self._asked.clear()
                await self._answer()
            beat += 1
            if self._run and beat % LOOK_AGAIN == 0:
                await self._look_again()
            board = self._board
            if board is not None:
                events = board.changes(self._view, wall=beat % 2 == 0)
                if events:
                    await self._send("batch", events=events)
            moving = board is not None and board.status is not None and board.status.state in ("running", "queued")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), TICK if moving else IDLE)

    async def _look_again(self) -> None:
        """A project that was closed and opened again has another board, with other revisions."""
        studio = self._source()
        board = await run_in_threadpool(studio.live_run, self._run) if studio else None
        if board is not None and board is not self._board:
            self._board = board
            self._view.cursors.clear()
            await self._send("snapshot", board=board.token, run=self._run, events=board.snapshot(self._view))

    async def _answer(self) -> None:
        studio = self._source()
        if watch := self._watch:
            self._watch = None
            await self._start(studio, watch)
        if search := self._search:
            self._search = None
            if studio is not None and self._run:
                page = await run_in_threadpool(
                    studio.finished,
                    self._run,
                    query=search.query,
                    status=search.status,
                    offset=search.offset,
                    limit=PAGE,
                )
                await self._send(
                    "finished",
                    query=search.query,
                    status=search.status,
                    offset=search.offset,
                    total=page.total,
                    rows=[
                        {"document_id": row.id, "status": row.status, "values": dict(row.values), "words": row.words}
                        for row in page.rows
                    ],
                )

    async def _start(self, studio: LiveSource | None, watch: _Watch) -> None:
        board = await run_in_threadpool(studio.live_run, watch.run) if studio else None
        self._run, self._board = watch.run, board
        if studio is None or board is None:
            await self._send("gone", run=watch.run)
            return
        document = None
        if watch.focus is not None:
            document = await run_in_threadpool(studio.document, watch.run, watch.focus)
        self._view = ClientCursor(watch.focus, watch.cursors if watch.life == board.token else {})
        events = board.snapshot(self._view)
        if watch.focus is not None and not board.holds(watch.focus):
            replay = await run_in_threadpool(studio.replay, watch.run, watch.focus)
            if replay is not None:
                document = replay.document
                events += told_from_store(replay)
        await self._send(
            "snapshot",
            board=board.token,
            run=watch.run,
            focus=watch.focus,
            document=None if document is None else _document(document),
            events=events,
        )

    async def _send(self, kind: str, **content: Any) -> None:
        # json and not orjson: it escapes lone surrogates, which a model may well utter.
        await self._socket.send_text(json.dumps({"type": kind, **content}, separators=(",", ":"), default=str))


def _document(document: DocumentText) -> Json:
    return {"id": document.id, "fields": dict(document.fields), "note": document.note}


def _cursors(raw: Any, focus: str | None) -> dict[int, Cursor]:
    """The cursors of the debate in focus, from ``{"DOC/turn": [try, offset]}``; a bare number is an offset in try 0."""
    cursors: dict[int, Cursor] = {}
    for name, value in _items(raw):
        document, _, turn = name.rpartition("/")
        if document != focus:
            continue
        tries, offset = value if isinstance(value, list) else (0, value)
        cursors[int(turn)] = (int(tries), max(0, int(offset)))
    return cursors


def _items(raw: Any) -> Iterable[tuple[str, Any]]:
    if raw is None:
        return ()
    if not isinstance(raw, dict) or len(raw) > 1000:
        raise ValueError("cursors")
    return raw.items()
