"""A turn store in files that several processes write, each its own: so workers on many machines share what was paid."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from core.debate.turns import Usage
from core.engine.ports import StoredReply


class Journal:
    """Reads the replies that come into a folder, file by file, each line once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def news(self) -> Iterator[StoredReply]:
        """Replies that were written since the last look. A line without its end is left for the next."""
        for path in sorted(self._folder.glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(line)
                    yield decoded(line)


class JournalStore:
    """The TurnStore over a folder that all workers see: what any of them paid for, none pays for again."""

    def __init__(self, folder: Path) -> None:
        self._journal = Journal(folder)
        self._own = folder / f"{uuid.uuid4().hex}.jsonl"
        self._replies: dict[str, StoredReply] = {}

    def refresh(self) -> None:
        """Take in what others have written."""
        self._replies |= {reply.key: reply for reply in self._journal.news()}

    def known(self, key: str) -> bool:
        """Whether a reply with this key was seen."""
        return key in self._replies

    async def fetch(self, key: str) -> StoredReply | None:
        """The reply, or None."""
        return self._replies.get(key)

    async def commit(self, reply: StoredReply) -> None:
        """Return once the reply is on disk."""
        if reply.key not in self._replies:
            await asyncio.to_thread(write, self._own, reply)
            self._replies[reply.key] = reply


def write(path: Path, *replies: StoredReply) -> None:
    """Append replies to a file and see them to the disk."""
    with path.open("ab") as file:
        file.write(b"".join(map(encoded, replies)))
        file.flush()
        os.fsync(file.fileno())


def encoded(reply: StoredReply) -> bytes:
    """A reply as a line of JSON, its end included."""
    try:
        return orjson.dumps(reply, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # half a character, from where the text was not made storable
        return json.dumps(asdict(reply)).encode() + b"\n"


def decoded(line: bytes) -> StoredReply:
    """The reply of such a line. Raises ValueError, TypeError or KeyError for anything else."""
    try:
        data: dict[str, Any] = orjson.loads(line)
    except orjson.JSONDecodeError:
        data = json.loads(line)
    return StoredReply(**{**data, "usage": Usage(**data["usage"]), "dropped": tuple(data["dropped"])})
