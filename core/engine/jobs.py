"""Files of requests that are out at a server, as the store remembers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.debate.turns import ReplyForm, Request, Usage
from core.llm.batches import BatchServer
from core.llm.reply import ModelReply
from core.runs import RoleModel, RunSettings


@dataclass(frozen=True, slots=True)
class Job:
    """One file of requests. ``mark`` is our name of it, ``remote`` the server's (empty until it is known), ``keys`` are
    the names of its replies in the turn store. A seat's sampling is no part of it: each request brings its own."""

    mark: str
    run_id: str
    role_model: RoleModel
    keys: tuple[str, ...]
    remote: str = ""


class Jobs(Protocol):
    """Which requests are out, so that none is handed over twice, whatever becomes of this process."""

    async def out(self) -> Sequence[Job]:
        """All that have not been collected, of every run."""

    async def count(self, run_id: str) -> int:
        """How many a run has ever had."""

    async def begin(self, job: Job) -> None:
        """Return once it is on disk that these requests are about to go out."""

    async def went(self, mark: str, remote: str) -> None:
        """Return once the server's name of the job is on disk."""

    async def over(self, mark: str, outcome: str) -> None:
        """Return once it is on disk that nothing more is expected of it."""


class Batches(Protocol):
    """What the batch driver needs of the models: who takes files, what a request looks like, what a row says."""

    def batchable(self, role_model: RoleModel) -> bool:
        """Whether requests to this seat can go by the file."""

    async def server(self, role_model: RoleModel, folder: str) -> BatchServer:
        """Who takes the files for a seat: its connection's Batch API, or with ``folder`` files answered by hand."""

    def body(self, role_model: RoleModel, ask: Request, settings: RunSettings) -> Mapping[str, Any]:
        """The request for an ask."""

    def reply(
        self,
        role_model: RoleModel,
        row: Mapping[str, Any],
        settings: RunSettings,
        form: ReplyForm,
        prompt_characters: int,
    ) -> ModelReply:
        """What a row of an output file says, at what a batch costs. Raises a ModelError."""

    def cost(self, role_model: RoleModel, usage: Usage) -> float | None:
        """Dollars of a request in a batch, None when no price is known."""

    async def close(self) -> None:
        """Let go of the servers."""
