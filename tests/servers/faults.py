"""Failures of chat servers as behaviours of ``Scripted``, each with a part of its remedy."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tests.servers.scripted import Behaviour, event, piece, sending


def answer(status: int, message: str = "no", **headers: str) -> Behaviour:
    """Return an error response whose message repeats the API key, as some servers do."""

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        text = f"{message} ({request.headers.get('authorization')})"
        return web.json_response({"error": {"message": text}}, status=status, headers=headers)

    return behave


def hanging(*events: bytes) -> Behaviour:
    """Return a behaviour that sends these events and then stays silent."""

    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        if events:
            await response.prepare(request)
            await response.write(b"".join(events))
        await asyncio.sleep(5)
        return response

    return behave


HALF = event(piece("half a"))
STOPPING: dict[str, tuple[Behaviour, str]] = {
    "unauthorised": (answer(401), "Check the key"),
    "no such model": (answer(404, "The model `m` does not exist"), "Choose a model that the server lists"),
}
"""Kind -> behaviour and remedy of failures that stop a run before it starts."""
OF_THE_DOCUMENT: dict[str, tuple[Behaviour, str]] = {
    "context too long": (answer(400, "maximum context length is 9 tokens"), "on_long"),
    "refused": (answer(400, "content_filter"), "another model"),
}
"""Kind -> behaviour and remedy of failures of single documents."""
LASTING: dict[str, tuple[Behaviour, str]] = {
    "rate limited": (answer(429, "slow down", **{"retry-after": "0"}), "Lower the calls at once"),
    "quota spent": (answer(429, "You exceeded your current quota"), "Add credit"),
    "server fault": (answer(503, "busy"), "The server may recover"),
    "bad request": (answer(418, "odd"), "parameter of the role"),
    "cut stream": (sending(HALF, drop=True), "proxy with a time limit"),
    "malformed stream": (sending(HALF, b'data: {"cho\n\n'), "ends in /v1"),
    "empty reply": (sending(event(piece(finish="stop"))), "other sampling"),
    "timed out": (hanging(), "silence"),
    "stalled": (hanging(HALF), "Fewer calls at once"),
}
"""Kind -> behaviour and remedy of failures that pause a run if they persist."""
