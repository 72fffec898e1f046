"""WebSocket route that sends debate events to the browser.

``/moot/live`` uses JSON messages. The browser sends ``watch`` when it connects or shows another run or document, with
cursors of the text that it has. The server answers with one ``snapshot``. It then sends ``batch`` messages, up to
twenty per second while the run is active. Each batch is the difference to the messages already sent on this connection
(``core.services.live_state``). A slow socket therefore gets fewer and larger messages and blocks no other connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from app.api.middleware import POLICY_VIOLATION
from core.errors import MootError
from core.services.live_state import ClientCursor, LiveRunState, TextCursor, debate_events
from core.services.project_session import ProjectSession

LIVE = "/moot/live"
TICK = 0.05
"""Seconds between two batches for the debate in focus. Tiles are sent with every second batch."""
IDLE = 0.25
"""Seconds between two checks while the run is not active."""
LOOK_AGAIN = 40
"""Number of ticks between two checks for a replaced live state of the run."""
MAX_MESSAGE_CHARACTERS = 1_048_576
"""Characters of a message; enough for the cursors of a debate with 40,000 turns."""
PAGE = 50
MAX_OFFSET = 2**63 - 1
"""Largest offset that the database accepts."""


FindRun: TypeAlias = Callable[[str], tuple[ProjectSession | None, str]]
"""Function from the browser's name of a run to the open project and the run id.

The project is None if it is not open.
"""


def routes(find: FindRun) -> list[BaseRoute]:
    """Return the route, for ``st.App(routes=...)``."""

    async def live(socket: WebSocket) -> None:
        await socket.accept()
        await _Connection(socket, find).serve()

    return [WebSocketRoute(LIVE, live)]


@dataclass(frozen=True, slots=True)
class _Watch:
    run: str
    focus: str | None = None
    instance: str = ""
    cursors: dict[int, TextCursor] = field(default_factory=dict)


_WATCH = TypeAdapter(_Watch)


class _Connection:
    """WebSocket connection of one tab. Only the last request of each type is stored."""

    def __init__(self, socket: WebSocket, find: FindRun) -> None:
        self._socket = socket
        self._find = find
        self._asked = asyncio.Event()
        self._watch: _Watch | None = None
        self._search: dict[str, Any] | None = None
        self._run = ""
        self._live_run: LiveRunState | None = None
        self._view = ClientCursor()

    async def serve(self) -> None:
        receiving = asyncio.create_task(self._receive())
        sending = asyncio.create_task(self._send_updates())
        try:
            await asyncio.wait({receiving, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (receiving, sending):
                task.cancel()
            for task in (receiving, sending):
                # MootError: the project cannot be read, as when the studio stops. The browser connects again.
                with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, MootError):
                    await task

    async def _receive(self) -> None:
        while True:
            try:
                text = await self._socket.receive_text()  # KeyError for a binary message
                if len(text) > MAX_MESSAGE_CHARACTERS:
                    raise ValueError("too long")
                self._take(json.loads(text))
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
                await self._socket.close(POLICY_VIOLATION, "not a message of this protocol")
                return
            self._asked.set()

    def _take(self, message: Any) -> None:
        match message:
            case {"type": "watch"}:
                self._watch = _WATCH.validate_python(message)
            case {"type": "finished"}:
                self._search = {
                    "query": str(message.get("query", ""))[:200],
                    "status": str(message.get("status", ""))[:20],
                    "offset": min(max(0, int(message.get("offset", 0))), MAX_OFFSET),
                }
            case _:
                raise ValueError("type")

    async def _send_updates(self) -> None:
        beat = 0
        while True:
            if self._asked.is_set():
                self._asked.clear()
                await self._answer()
            beat += 1
            if self._run and beat % LOOK_AGAIN == 0:
                await self._look_again()
            wait = IDLE
            if (live_run := self._live_run) is not None:
                if events := live_run.changes(self._view, tiles=beat % 2 == 0):
                    await self._send("batch", events=events)
                if live_run.status is not None and live_run.status.state in ("running", "queued"):
                    wait = TICK
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), wait)

    async def _look_again(self) -> None:
        """Send a new snapshot if the project was closed, or opened again, since the last one."""
        session, run_id = self._find(self._run)
        live_run = await run_in_threadpool(session.live_run, run_id) if session else None
        if live_run is not self._live_run:
            await self._start(_Watch(self._run, self._view.focus))

    async def _answer(self) -> None:
        if watch := self._watch:
            self._watch = None
            await self._start(watch)
        if search := self._search:
            self._search = None
            session, run_id = self._find(self._run)
            if session is not None and self._run:
                page = await run_in_threadpool(session.finished, run_id, **search, limit=PAGE)
                await self._send("finished", **search, total=page.total, rows=[asdict(row) for row in page.rows])

    async def _start(self, watch: _Watch) -> None:
        session, run_id = self._find(watch.run)
        live_run = await run_in_threadpool(session.live_run, run_id) if session else None
        self._run, self._live_run, self._view = watch.run, live_run, ClientCursor(watch.focus)
        if session is None or live_run is None:
            await self._send("gone")
            return
        document = None
        if watch.focus is not None:
            document = await run_in_threadpool(session.document, watch.focus)
        if watch.instance == live_run.token:
            self._view.cursors = watch.cursors
        events = live_run.snapshot(self._view)
        if watch.focus is not None and not live_run.has_ended(watch.focus):
            # A debate of a resumed run has only its replayed turns in memory.
            replay = await run_in_threadpool(session.replay, run_id, watch.focus)
            if replay is not None:
                document = replay.document
                events += debate_events(replay, self._view.cursors)
        shown = document and {"id": document.id, "fields": dict(document.fields), "note": document.note}
        await self._send("snapshot", instance=live_run.token, document=shown, events=events)

    async def _send(self, kind: str, **content: Any) -> None:
        # Use json instead of orjson: json escapes lone surrogates, which can occur in model replies.
        await self._socket.send_text(json.dumps({"type": kind, **content}, separators=(",", ":"), default=str))
