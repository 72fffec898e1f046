"""The lines of a response, and the JSON in them."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import re
from typing import Any

import aiohttp
import orjson

from core import errors
from core.runs import Seat

LAST_SECONDS = 5.0
"""How long a stream that has said why it ends may still take for what it used and for its own end."""

COMPANY_SECONDS = 0.05
"""How long a piece of a reply that comes hard on another waits for more: what the screen waits between two looks."""

MAX_LINE = 8 * 1024 * 1024

_CARRIAGE = re.compile(rb"\r(?!\Z)")
"""The last one may be half of a CRLF."""


class Lines:
    """The lines of a response without their ends, in lists: those that each reading completes, perhaps none. The last
    line may lack its end, which is LF, CRLF or CR alone; a byte order mark before the first line is left out.

    A piece that follows another within ``COMPANY_SECONDS`` waits until then for the next ones, or until the response
    ends: to wake the task of a call for each token costs more than to read the token. The first piece waits for nobody.

    After ``last()`` a silence is the end of it: some servers never close a stream.

    Raises MalformedStream when a line exceeds ``MAX_LINE`` bytes, and what aiohttp raises when the connection breaks,
    after the lines that had come. An iterator and no generator, as one that is left early makes the event loop tidy up
    after each reply.
    """

    def __init__(self, response: aiohttp.ClientResponse, seat: Seat) -> None:
        self._content = response.content
        self._seat = seat
        self._rest = b""
        self._first = True
        self._waiter: asyncio.Future[None] | None = None
        self._quiet_until = 0.0
        self._last = False
        self._content.on_eof(self._wake)

    def __aiter__(self) -> Lines:
        return self

    def last(self) -> None:
        """All was said; only what says so may be missing."""
        self._last = True

    async def __anext__(self) -> list[bytes]:
        if chunk := await self._read():
            said = self._rest + chunk
            if b"\r" in said:
                said = _CARRIAGE.sub(b"\n", said.replace(b"\r\n", b"\n"))
            if self._first:
                said = said.removeprefix(codecs.BOM_UTF8)
            *complete, self._rest = said.split(b"\n")
            if len(self._rest) > MAX_LINE:
                raise errors.MalformedStream(f"{self._seat.connection} sent a line of more than {MAX_LINE} bytes.")
            self._first = self._first and not complete
            return complete
        if not self._rest:
            raise StopAsyncIteration
        last, self._rest = self._rest, b""
        return [last.rstrip(b"\r")]

    async def _read(self) -> bytes:
        """All bytes that are there, once there are any; none at the end."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._quiet_until and not self._content.is_eof():
            self._waiter = loop.create_future()
            timer = loop.call_at(self._quiet_until, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
        if self._content.exception() is not None and (came := _before_the_break(self._content)):
            return came
        came = await (self._final() if self._last else self._content.readany())
        self._quiet_until = loop.time() + COMPANY_SECONDS
        return came

    async def _final(self) -> bytes:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                return await self._content.readany()
        return b""

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _before_the_break(content: aiohttp.StreamReader) -> bytes:
    """What came before the connection broke; aiohttp raises the break first and has no public way to the rest."""
    came = b"".join(content._buffer)[content._buffer_offset :]
    content._buffer.clear()
    return came


def decoded(line: bytes, seat: Seat) -> dict[str, Any]:
    """A JSON object out of a line; MalformedStream for anything else."""
    data = maybe(line)
    if data is None:
        shown = line[:120].decode("utf-8", "replace")
        raise errors.MalformedStream(f"{seat.connection} sent something that is not JSON: {shown}")
    return data


def maybe(line: bytes) -> dict[str, Any] | None:
    """A JSON object out of a line; None for anything else."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        data = _with_halves(line)
    return data if isinstance(data, dict) else None


def _with_halves(line: bytes) -> Any:
    """JSON with what orjson refuses: half a character escaped on its own, which is valid, and bytes that are no UTF-8,
    which are replaced, as those who read event streams are to do. None for anything else."""
    try:
        if b"\\ud" in line.lower():
            return json.loads(line.decode("utf-8", "replace"))
        return orjson.loads(line.decode("utf-8", "replace")) if not _is_utf8(line) else None
    except (ValueError, RecursionError):
        return None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
