"""A Ray worker: debates a block of documents like a live run.

Each process writes its replies to a file of the shared folder, and each failed attempt to a file that is deleted when
it is merged.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter

from core.debate.events import VerdictReached
from core.debate.turns import Reply, Turn, Usage, decode_reply, encode_reply
from core.documents import Document, Precedent, Precedents, Value
from core.engine.interfaces import Dependencies, EmbedTexts, FailedAttempt, Work
from core.engine.live_engine import LiveEngine
from core.files import atomic_write
from core.llm.capabilities import Capabilities
from core.llm.connections import Connection, Limits
from core.llm.model_library import ModelLibrary
from core.llm.prices import Price, Prices
from core.runs import RunRow, RunSettings

ATTEMPTS = "attempts"
"""Folder in a job's folder with the failed attempts that are not merged yet."""
STOP = "stop.txt"
"""File in a job's folder that makes all workers start no further block; it contains the reason."""


class _WorkerSink:
    """The ``RunSink`` of a worker. It keeps verdicts and failed attempts; all else follows from the replies."""

    def __init__(self, attempts: Path) -> None:
        self._attempts = attempts
        self.ended: dict[str, VerdictReached] = {}

    def turn(self, turn: Turn) -> bool:
        return turn.cached

    async def verdict(self, reached: VerdictReached) -> VerdictReached:
        self.ended[reached.document_id] = reached
        return reached

    def attempt(self, attempt: FailedAttempt) -> None:
        """Write a failed attempt to the shared folder, because the provider may have billed it."""
        with atomic_write(self._attempts / f"{uuid.uuid4().hex}.json") as file:
            file.write(json.dumps(asdict(attempt)).encode())  # unlike orjson, json takes lone surrogates

    def add_seconds(self, run_id: str, seconds: float) -> None:
        """Do nothing."""

    async def state(self, *_: object, **__: object) -> Sequence[VerdictReached]:
        """Do nothing."""
        return ()


class DebateWorker:
    """A worker, created once in each process and called with one block of the table after another.

    Its concurrency and its rate limits are its share of those of the run.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        job = orjson.loads((self._folder / "job.json").read_bytes())
        settings = RunSettings.model_validate(job["settings"])
        workers, handling = int(job["workers"]), settings.handling
        slots = max(1, math.ceil(settings.concurrency / workers))
        rates = {name: getattr(handling, name) for name in ("requests_per_minute", "tokens_per_minute")}
        share = handling.model_copy(update=Limits(**rates).divided(workers).model_dump(include=set(rates)))
        self._run = RunRow(
            run_id=job["run_id"],
            experiment_id=job["run_id"],
            settings=settings.model_copy(update={"concurrency": slots, "handling": share}),
            state="running",
            created_at=0.0,
            documents=0,
        )
        self._retry_rounds: Mapping[str, int] = job["retry_rounds"]
        self._connections = [Connection.model_validate(fields) for fields in job["connections"]]
        self._limits = {name: Limits.model_validate(limits).divided(workers) for name, limits in job["limits"].items()}
        self._prices = Prices()
        self._prices.user_prices |= {spec: Price.model_validate(fields) for spec, fields in job["prices"].items()}
        self._prices.passed_on |= {(address, model) for address, model in job["passed_on"]}
        self._capabilities = Capabilities()
        self._capabilities.recall(job["capabilities"])
        self._store = FolderReplyStore(self._folder / "replies")

    def __call__(self, block: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Debate a block of (id, case) and return (id, status, error, message, capabilities).

        Status, error and message are empty if a document is not done. The capabilities are all that this worker knows.
        """
        ids = [str(id) for id in block["id"]]
        ended: dict[str, VerdictReached] = {}
        if not (self._folder / STOP).exists():
            cases = {id: decode_case(str(text)) for id, text in zip(ids, block["case"], strict=True)}
            self._store.refresh()
            ended = asyncio.run(self._debate(cases))
        rows = [ended.get(id) for id in ids]
        errors = [row.verdict.error if row else None for row in rows]
        return {
            "id": ids,
            "status": [row.verdict.status if row else "" for row in rows],
            "error": [error.kind if error else "" for error in errors],
            "message": [error.message if error else "" for error in errors],
            "capabilities": [orjson.dumps(self._capabilities.to_json()).decode()] * len(ids),
        }

    async def _debate(self, cases: Mapping[str, tuple[Document, Precedents]]) -> dict[str, VerdictReached]:
        async def load(ids: Sequence[str]) -> Sequence[Document]:
            return [cases[id][0] for id in ids]

        async def precedents(document: Document, _embed: EmbedTexts) -> Precedents:
            return cases[document.id][1]

        sink = _WorkerSink(self._folder / ATTEMPTS)
        models = ModelLibrary(self._connections)
        models.own_limits |= self._limits
        models.prices, models.capabilities = self._prices, self._capabilities
        dependencies = Dependencies(load, models, self._store, sink, lambda _event: None, precedents)
        run = self._run.model_copy(update={"documents": len(cases)})
        try:
            status = await LiveEngine(Work(run, tuple(cases), self._retry_rounds), dependencies).run()
        finally:
            await models.close()
        if status.state != "done":
            (self._folder / STOP).write_text(status.message, encoding="utf-8")
        return sink.ended


_CASE = TypeAdapter(tuple[Document, tuple[tuple[str, Value, tuple[Precedent, ...]], ...]])


def encode_case(document: Document, examples: Precedents) -> str:
    """Return a document and its examples as JSON for the table, without gold, which no model may see."""
    rows = tuple((*key, shown) for key, shown in examples.items())
    return _CASE.dump_json((replace(document, source={}, gold={}), rows)).decode()


def decode_case(text: str) -> tuple[Document, Precedents]:
    """Return the document and the examples from the JSON that ``encode_case`` made."""
    document, rows = _CASE.validate_json(text)
    return document, {(item, value): shown for item, value, shown in rows}


class ReplyLogReader:
    """Reader of the replies that arrive in a folder, file by file, each line once.

    ``offsets`` are the bytes read so far by name of a file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.offsets: dict[str, int] = {}

    def new_replies(self) -> Iterator[Reply]:
        """Yield replies written since the last call.

        An incomplete last line is left for the next call. Any other one, which a full disk or the end of its process
        has cut off, is skipped.
        """
        for path in sorted(self._folder.glob("*.jsonl")):
            with path.open("rb") as file:
                file.seek(self.offsets.get(path.name, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self.offsets[path.name] = self.offsets.get(path.name, 0) + len(line)
                    with suppress(ValueError):
                        yield decode_reply(line)


class FolderReplyStore:
    """A ``ReplyStore`` in a folder that all workers share, so that no reply is paid for twice."""

    def __init__(self, folder: Path) -> None:
        self._reader = ReplyLogReader(folder)
        self._path = folder / f"{uuid.uuid4().hex}.jsonl"
        self.calls: dict[str, tuple[object, asyncio.Future[Any]]] = {}
        self._replies: dict[str, Reply] = {}

    def refresh(self) -> None:
        """Read the replies that other workers have written."""
        self._replies |= {reply.key: reply for reply in self._reader.new_replies()}

    def contains(self, key: str) -> bool:
        return key in self._replies

    async def fetch(self, key: str) -> Reply | None:
        return self._replies.get(key)

    async def fetch_all(self, keys: Iterable[str]) -> Mapping[str, Reply]:
        return {key: self._replies[key] for key in keys if key in self._replies}

    async def commit(self, reply: Reply) -> None:
        if reply.key not in self._replies:
            await asyncio.to_thread(append_replies, self._path, reply)
            self._replies[reply.key] = reply


def append_replies(path: Path, *replies: Reply) -> None:
    """Append replies to a file and sync it to disk."""
    with path.open("ab") as file:
        file.write(b"\n" + b"".join(map(encode_reply, replies)))  # the last line may have been cut off
        file.flush()
        os.fsync(file.fileno())


def take_attempts(folder: Path) -> list[FailedAttempt]:
    """Return the failed attempts in a folder and delete their files, so that each is billed once."""
    attempts = []
    for path in folder.glob("*.json"):
        fields = json.loads(path.read_bytes())
        attempts.append(FailedAttempt(**fields | {"usage": Usage(**fields["usage"])}))
        path.unlink()
    return sorted(attempts, key=lambda attempt: attempt.unix_time)
