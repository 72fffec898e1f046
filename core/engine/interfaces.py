"""Interfaces of the engine: a store for replies, a sink for what a run does, and a record of batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from core.debate.events import Event, VerdictReached
from core.debate.turns import Reply, Turn, Usage
from core.documents import Document, Precedents
from core.runs import NOT_STOPPED, RoleModel, RunRow, State, StopReason

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from core.llm.model_library import ModelLibrary


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A model call that failed. ``usage`` and ``cost_usd`` are what the provider billed for it, as far as known."""

    run_id: str
    document_id: str
    role: str
    key: str
    kind: str
    message: str
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    text: str = ""
    seconds: float = 0.0
    unix_time: float = field(default_factory=time.time)


class ReplyStore(Protocol):
    """Paid replies by the hash of their request. Safe to call from the engine's loop: no method blocks it."""

    calls: dict[str, tuple[object, asyncio.Future[Any]]]
    """Calls under way by key, of all runs that use this store, each with its caller. They are made in one loop."""

    def contains(self, key: str) -> bool:
        """Return True if a reply with this key is committed; from memory."""

    async def fetch(self, key: str) -> Reply | None:
        """Return the committed reply, or None."""

    async def fetch_all(self, keys: Iterable[str]) -> Mapping[str, Reply]:
        """Return the committed replies with these keys by key; those that do not exist are left out."""

    async def commit(self, reply: Reply) -> None:
        """Return once the reply outlives this process.

        A key that exists is left unchanged. A cancelled commit leaves the reply written or unwritten, never in part.
        """


class RunSink(Protocol):
    """The record of a run, written in order."""

    def turn(self, turn: Turn) -> bool:
        """Queue a turn; return True if it is new and reuses a reply that was paid for another turn.

        If it cannot be written, the next verdict or state raises.
        """

    async def verdict(self, reached: VerdictReached) -> VerdictReached:
        """Return the verdict once it and the turns of its debate are on disk.

        If a retry of an unresolved document failed, restore and return the verdict before the retry. A second verdict
        for the same document of the run is ignored.
        """

    def attempt(self, attempt: FailedAttempt) -> None:
        """Queue a failed attempt, without waiting for it."""

    def add_seconds(self, run_id: str, seconds: float) -> None:
        """Add to the run's time, without waiting for it."""

    async def state(
        self, run_id: str, state: State, reason: StopReason = NOT_STOPPED, seconds: float = 0.0
    ) -> Sequence[VerdictReached]:
        """Return once the run's state, and everything queued before, is on disk. Add ``seconds`` to the run's time.

        If the run is paused, stopped or failed, restore and return the verdicts before retries that have not ended.
        """


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A file of requests at a server.

    ``name`` is our name of the file, ``remote_id`` the server's (empty until it is known), ``keys`` are the keys of its
    replies. The role model carries no sampling: each request has its own.
    """

    name: str
    run_id: str
    role_model: RoleModel
    keys: tuple[str, ...]
    remote_id: str = ""


class BatchJobs(Protocol):
    """Record of submitted batches, so that no request is submitted twice, even after a crash."""

    async def open_jobs(self, folder: str) -> Sequence[BatchJob]:
        """Return the open jobs of all runs whose ``batch_dir`` names this folder, oldest first."""

    async def begin(self, job: BatchJob) -> None:
        """Return once it is on disk that this job is about to be submitted."""

    async def submitted(self, name: str, remote_id: str) -> None:
        """Return once the server's id of the job is on disk."""

    async def close_job(self, name: str, outcome: str) -> None:
        """Return once it is on disk that no more replies are expected."""


Fetch: TypeAlias = Callable[[str], Awaitable[Reply | None]]
"""Return the committed reply with this key, or None."""

Publish: TypeAlias = Callable[[Event], None]
"""Receiver of events. Must not block."""

LoadDocuments: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Document]]]
"""Load documents by id, in the order given."""


EmbedTexts: TypeAlias = "Callable[[RoleModel, Sequence[str]], Awaitable[npt.NDArray[np.float32]]]"
"""Return the vectors of texts by a model of a server, each of length 1. Raises ModelError and BudgetSpent."""

FindExamples: TypeAlias = Callable[[Document, EmbedTexts], Awaitable[Precedents]]
"""Find the labelled examples for a document, in the pool that is frozen in the run, before its debate begins."""


async def no_examples(_document: Document, _embed: EmbedTexts | None = None) -> Precedents:
    """Return no examples, for a run that shows none."""
    return {}


@dataclass(frozen=True, slots=True)
class Work:
    """A run as the engine gets it, with the ids of the remaining documents.

    ``retry_rounds`` counts the retries of unresolved documents by id, so that the same bad reply is not reused. Other
    documents are left out.
    """

    run: RunRow
    todo: tuple[str, ...]
    retry_rounds: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything that an engine needs in addition to its work."""

    load_documents: LoadDocuments
    models: ModelLibrary
    store: ReplyStore
    sink: RunSink
    publish: Publish
    find_examples: FindExamples = no_examples
