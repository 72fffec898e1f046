"""What a Ray worker does with a block of documents: debate them as a live run does, each reply kept in the journal."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from core.annotations import Precedent, Precedents
from core.documents import Document
from core.engine.live import LiveEngine
from core.engine.ports import AttemptRow, Ports, TurnRow, VerdictRow, Work
from core.engine.reply_log import JournalStore
from core.llm.connections import Connection
from core.llm.models import ModelLibrary
from core.runs import NOT_STOPPED, RunRow, RunSettings, State, StopReason

STOP = "stop.txt"
"""The file in a job's folder that tells all workers to take up no further block, and why."""


class _Verdicts:
    """The Sink of a worker: nothing but how each debate ended, as the rest follows from the replies."""

    def __init__(self) -> None:
        self.ended: dict[str, VerdictRow] = {}

    def turn(self, row: TurnRow) -> None:
        """Left out."""

    async def verdict(self, row: VerdictRow) -> None:
        """Kept."""
        self.ended[row.document_id] = row

    def attempt(self, row: AttemptRow) -> None:
        """Left out."""

    async def state(self, run_id: str, state: State, reason: StopReason = NOT_STOPPED, seconds: float = 0.0) -> None:
        """Left out."""


class Debater:
    """Made once in each worker process; called with one block of the table after another."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        told = orjson.loads((self._folder / "job.json").read_bytes())
        settings = RunSettings.model_validate(told["settings"])
        slots = max(1, math.ceil(settings.concurrency / told["workers"]))
        self._run = RunRow(
            run_id=told["run_id"],
            experiment_id=told["run_id"],
            settings=settings.model_copy(update={"concurrency": slots}),
            state="running",
            created_at=0.0,
            documents=0,
        )
        self._retry = int(told["retry"])
        self._connections = [Connection.model_validate(one) for one in told["connections"]]
        self._store = JournalStore(self._folder / "replies")

    def __call__(self, block: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """(id, document, precedents) in, (id, status, fault, message) out; status is empty for one that is not done."""
        ids = [str(one) for one in block["id"]]
        ended: dict[str, VerdictRow] = {}
        if not (self._folder / STOP).exists():
            documents = {id: _document(id, str(one)) for id, one in zip(ids, block["document"], strict=True)}
            shown = {id: precedents_of(str(one)) for id, one in zip(ids, block["precedents"], strict=True)}
            self._store.refresh()
            ended = asyncio.run(self._debate(documents, shown))
        rows = [ended.get(id) for id in ids]
        faults = [row.verdict.error if row else None for row in rows]
        return {
            "id": ids,
            "status": [row.status if row else "" for row in rows],
            "error": [fault.kind if fault else "" for fault in faults],
            "message": [fault.message if fault else "" for fault in faults],
        }

    async def _debate(
        self, documents: Mapping[str, Document], shown: Mapping[str, Precedents]
    ) -> dict[str, VerdictRow]:
        async def load(ids: Sequence[str]) -> Sequence[Document]:
            return [documents[id] for id in ids]

        async def precedents(document: Document) -> Precedents:
            return shown[document.id]

        sink = _Verdicts()
        models = ModelLibrary(self._connections)
        ports = Ports(load, models, self._store, sink, lambda _event: None, precedents)
        run = self._run.model_copy(update={"documents": len(documents)})
        try:
            status = await LiveEngine(Work(run, tuple(documents), self._retry), ports).run()
        finally:
            await models.close()
        if status.state != "done":
            (self._folder / STOP).write_text(status.message, encoding="utf-8")
        return sink.ended


def document_text(document: Document) -> str:
    """A document as the table holds it; without gold, which no model may see."""
    return orjson.dumps({"fields": dict(document.fields), "position": document.position}).decode()


def precedents_text(precedents: Precedents) -> str:
    """Precedents as the table holds them."""
    rows = [
        [item, value, [[one.document_id, one.text, dict(one.values)] for one in found]]
        for (item, value), found in precedents.items()
    ]
    return orjson.dumps(rows).decode()


def precedents_of(text: str) -> Precedents:
    """What ``precedents_text`` was given."""
    return {
        (item, value): tuple(Precedent(id, words, values) for id, words, values in found)
        for item, value, found in orjson.loads(text)
    }


def _document(id: str, text: str) -> Document:
    told = orjson.loads(text)
    return Document(id, told["fields"], told["position"])
