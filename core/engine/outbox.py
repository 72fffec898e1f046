"""Requests on their way into files: one series of files for each model at a server, each within the limits of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from core.engine.jobs import Job
from core.llm.batches import MOST_BYTES
from core.runs import Seat

Send = Callable[[Job, Path], Awaitable[None]]
Name = Callable[[], Awaitable[str]]


@dataclass(slots=True)
class _Box:
    mark: str
    seat: Seat
    path: Path
    file: IO[bytes]
    keys: list[str] = field(default_factory=list)
    size: int = 0


class Outbox:
    """Gathers requests and sends each file off when it is full, the rest on ``flush``.

    A file carries another name until it is complete, so that nobody answers a part of it.
    """

    def __init__(self, folder: Path, run_id: str, most: int, name: Name, send: Send) -> None:
        self._folder = folder
        self._run_id = run_id
        self._most = most
        self._name = name
        self._send = send
        self._boxes: dict[tuple[str, str, str], _Box] = {}

    async def add(self, key: str, seat: Seat, line: bytes) -> None:
        """Take one request."""
        series = (seat.connection, seat.base_url, seat.model)
        box = self._boxes.get(series)
        if box is not None and (len(box.keys) >= self._most or box.size + len(line) > MOST_BYTES):
            await self._close(self._boxes.pop(series))
            box = None
        if box is None:
            mark = await self._name()
            path = self._folder / f"{mark}.part"
            bare = Seat(connection=seat.connection, model=seat.model, base_url=seat.base_url)
            box = self._boxes[series] = _Box(mark, bare, path, path.open("wb"))
        box.file.write(line)
        box.keys.append(key)
        box.size += len(line)

    async def flush(self) -> None:
        """Send off what has gathered."""
        while self._boxes:
            await self._close(self._boxes.popitem()[1])

    def drop(self) -> None:
        """Throw away what has gathered: nobody has been told of it."""
        for box in self._boxes.values():
            box.file.close()
            box.path.unlink(missing_ok=True)
        self._boxes.clear()

    async def _close(self, box: _Box) -> None:
        box.file.close()
        await self._send(Job(box.mark, self._run_id, box.seat, tuple(box.keys)), box.path)
