"""A reply store in a folder: each process writes its own file, so that workers on many machines share replies.

Failed attempts are files of their own, which are deleted when they are merged into the project.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from core.debate.turns import Reply, Usage
from core.engine.interfaces import FailedAttempt

_STORED = tuple(name for name in Reply.__dataclass_fields__ if name not in ("error", "reading", "evidence"))
"""Fields of a stored reply; the others are parsed from its text."""
_ADAPTER = TypeAdapter(Reply)


class ReplyLogReader:
    """Reader of the replies that arrive in a folder, file by file, each line once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offsets: dict[Path, int] = {}

    def new_replies(self) -> Iterator[Reply]:
        """Yield replies written since the last call. An incomplete line is left for the next call."""
        for path in sorted(self._folder.glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._offsets[path] = self._offsets.get(path, 0) + len(line)
                    yield decode(line)


class FolderReplyStore:
    """A ``ReplyStore`` in a folder that all workers share, so that no reply is paid for twice."""

    def __init__(self, folder: Path) -> None:
        self._reader = ReplyLogReader(folder)
        self._own = folder / f"{uuid.uuid4().hex}.jsonl"
        self._replies: dict[str, Reply] = {}

    def refresh(self) -> None:
        """Read the replies that other workers have written."""
        self._replies |= {reply.key: reply for reply in self._reader.new_replies()}

    def contains(self, key: str) -> bool:
        """Return True if a reply with this key is known."""
        return key in self._replies

    async def fetch(self, key: str) -> Reply | None:
        """Return the reply, or None."""
        return self._replies.get(key)

    async def commit(self, reply: Reply) -> None:
        """Return once the reply is on disk."""
        if reply.key not in self._replies:
            await asyncio.to_thread(append_replies, self._own, reply)
            self._replies[reply.key] = reply


def append_replies(path: Path, *replies: Reply) -> None:
    """Append replies to a file and sync it to disk."""
    with path.open("ab") as file:
        file.write(b"".join(map(encode, replies)))
        file.flush()
        os.fsync(file.fileno())


def write_attempt(folder: Path, attempt: FailedAttempt) -> None:
    """Write a failed attempt to a folder. Its file has another name until it is complete."""
    part = folder / f"{uuid.uuid4().hex}.part"
    part.write_text(json.dumps(asdict(attempt)), encoding="utf-8")  # unlike orjson, json takes lone surrogates
    part.rename(part.with_suffix(".json"))


def take_attempts(folder: Path) -> list[FailedAttempt]:
    """Return the failed attempts in a folder and delete their files, so that each is billed once."""
    taken = []
    for path in folder.glob("*.json"):
        fields = json.loads(path.read_bytes())
        taken.append(FailedAttempt(**fields | {"usage": Usage(**fields["usage"])}))
        path.unlink()
    return sorted(taken, key=lambda attempt: attempt.unix_time)


def encode(reply: Reply) -> bytes:
    """Return a reply as a line of JSON."""
    fields = {name: getattr(reply, name) for name in _STORED}
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate, in text that was not made storable
        return json.dumps({**fields, "usage": asdict(reply.usage)}).encode() + b"\n"


def decode(line: bytes) -> Reply:
    """Return the reply in a line of JSON. Raises ValueError for anything else."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        fields = json.loads(line)
    if not isinstance(fields, dict) or fields.keys() != set(_STORED):
        raise ValueError("not a stored reply")
    return _ADAPTER.validate_python(fields)
