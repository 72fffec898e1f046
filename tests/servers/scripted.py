"""A chat server with scripted answers and failures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Behaviour = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


class ServerThread:
    """A server on a free local port, in a thread with its own event loop; a context manager."""

    def __init__(self) -> None:
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    async def start(self) -> Callable[[], Awaitable[object]]:
        """Start the server, set its port, and return the function that ends it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        end = self._loop.run_until_complete(self.start())
        self._loop.call_soon(self._ready.set)
        self._loop.run_forever()
        self._loop.run_until_complete(end())
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


class Scripted(ServerThread):
    """A chat server whose ``behave`` answers each request; requests are recorded."""

    def __init__(self, behave: Behaviour) -> None:
        super().__init__()
        self.behave = behave
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        """Paths of all requests; ``requests`` and ``headers`` are those of chat and embeddings only."""

    @property
    def url(self) -> str:
        """Base URL, as in the option --connection."""
        return f"http://127.0.0.1:{self.port}/v1"

    @web.middleware
    async def _record_path(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.paths.append(request.path)
        return await handler(request)

    async def _answer_other(self, request: web.Request) -> web.StreamResponse:
        return await self.behave(request, await request.json() if request.method == "POST" else {})

    async def _answer_chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return await self.behave(request, body)

    async def start(self) -> Callable[[], Awaitable[object]]:
        app = web.Application(middlewares=[self._record_path])
        for path in ("/v1/chat/completions", "/v1/embeddings", "/api/chat"):
            app.router.add_post(path, self._answer_chat)
        app.router.add_post("/api/show", self._answer_other)
        for path in ("/v1/models", "/api/v0/models", "/props", "/api/tags", "/api/ps"):
            app.router.add_get(path, self._answer_other)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        return runner.cleanup


def event(data: Any) -> bytes:
    """Return a server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def piece(text: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """Return a chunk of a streamed chat completion."""
    content = {"content": text} if text is not None else {}
    return {"choices": [{"index": 0, "delta": {**content, **delta}, "finish_reason": finish}]}


async def stream(
    request: web.Request, *events: bytes, drop: bool = False, kind: str = "text/event-stream", pause: float = 0.0
) -> web.StreamResponse:
    """Send these bytes as a stream, with a pause of so many seconds after each.

    With ``drop``, abort the connection instead of closing it.
    """
    response = web.StreamResponse(headers={"content-type": kind})
    await response.prepare(request)
    for data in events:
        await response.write(data)
        await asyncio.sleep(pause)
    if drop and request.transport is not None:
        request.transport.abort()
        return response
    await response.write_eof()
    return response


def sending(*events: bytes, drop: bool = False, kind: str = "text/event-stream", pause: float = 0.0) -> Behaviour:
    """Return a behaviour that sends these bytes as ``stream`` does."""

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return await stream(request, *events, drop=drop, kind=kind, pause=pause)

    return behave


def reply_with(text: str, finish: str = "stop") -> Behaviour:
    """Return a behaviour that streams this text word by word, with usage at the end."""

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        words = [event(piece(word)) for word in text.split(" ")[:1]] + [
            event(piece(" " + word)) for word in text.split(" ")[1:]
        ]
        usage = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}
        return await stream(request, *words, event(piece(finish=finish)), event(usage), event(b"[DONE]"))

    return behave


ECJ = {
    "extractor": "The aspects present in this review are: #Service",
    "critic": "I agree. The aspects present in this review are: #Service",
    "judge": "Final Decision: The present aspects are: Service",
}
"""Replies of the three roles that agree."""


def role_of(body: dict[str, Any]) -> str:
    """Return the ECJ role of a request; ``probe`` for the test request before a run."""
    head = body["messages"][0]["content"]
    if body["messages"][0]["role"] != "system":
        return "probe"
    return next((role for role in ("critic", "judge") if f"You are the {role}" in head), "extractor")


def last_message(body: dict[str, Any]) -> str:
    """Return the content of a request's last message."""
    return str(body["messages"][-1]["content"])


def debating(**replies: str | Behaviour) -> Behaviour:
    """Return a behaviour for ECJ debates in which each role has a text or its own behaviour."""
    lines: dict[str, str | Behaviour] = {"probe": "none", **ECJ, **replies}

    async def behave(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "messages" not in body:
            return web.json_response({"data": []}, status=404)
        line = lines[role_of(body)]
        return await (reply_with(line) if isinstance(line, str) else line)(request, body)

    return behave
