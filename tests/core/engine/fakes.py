"""In-memory fakes for tests of the engine: stores, and a model whose replies come from a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.codebook import Codebook, Label
from core.debate import protocols
from core.debate.events import Event, VerdictReached
from core.debate.turns import Reply, Request, Turn, Usage
from core.documents import Document
from core.engine.interfaces import Dependencies, FailedAttempt, Work
from core.engine.live_engine import LiveEngine
from core.llm.connections import Limits
from core.llm.quotas import Quota
from core.llm.streaming import OnDelta
from core.runs import NOT_STOPPED, RoleModel, RunRow, RunSettings, State, StopReason

CODEBOOK = Codebook(name="t", unit="review", labels=(Label(name="Service"), Label(name="Price")))
ROLE_MODEL = RoleModel(connection="fake", model="m")

Script = Callable[[Request, Document, int], str | Exception]
"""Return the reply text or error for a request, a document and the number of earlier identical requests.

A text that ends with "..." was cut by its output limit.
"""


def settings(protocol: str = "ecj", **changes: object) -> RunSettings:
    """Return run settings with one model for all roles."""
    card = protocols.find(protocol)
    params = card.parse_params()
    return RunSettings(
        protocol=protocol,
        codebook=CODEBOOK,
        role_models={role.name: ROLE_MODEL for role in card.roles(params)},
        templates=card.load_templates(),
        params=params,
    ).model_copy(update=changes)


def find_service(ask: Request, document: Document, _times: int) -> str:
    """Answer Service in every role."""
    if ask.role == "judge":
        return "Final Decision: The present aspects are: Service"
    return "The aspects present in this review are: #Service"


@dataclass
class World:
    """Stores, models and events of a test. ``delay`` is the duration of a reply in seconds."""

    script: Script = find_service
    delay: float = 0.0
    price: float | None = 0.01
    """Cost of a reply, and of a token of a lost reply, in dollars."""
    max_output: int = 1_000_000
    """The highest output limit that is sent."""
    limited: Limits = field(default_factory=Limits)
    replies: dict[str, Reply] = field(default_factory=dict)
    calls: dict[str, tuple[object, asyncio.Future[Any]]] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    verdicts: dict[str, VerdictReached] = field(default_factory=dict)
    attempts: list[FailedAttempt] = field(default_factory=list)
    states: list[tuple[State, StopReason]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    requested: list[tuple[str, str]] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    max_concurrent: int = 0
    at_once: int = 0
    cancelled: int = 0

    def work(self, run_settings: RunSettings, count: int = 3, retry_rounds: Mapping[str, int] | None = None) -> Work:
        """Return the remaining work of a run over documents d0, d1, ..."""
        ids = tuple(f"d{index}" for index in range(count))
        statuses = [reached.verdict.status for reached in self.verdicts.values()]
        paid = [row for row in self.turns if not row.cached]
        run = RunRow(
            run_id="r1",
            experiment_id="r1",
            settings=run_settings,
            state="queued",
            created_at=0.0,
            documents=count,
            verdicts=statuses.count("verdict"),
            unresolved=statuses.count("unresolved"),
            failed=statuses.count("failed"),
            calls=len(paid),
        )
        return Work(run, tuple(id for id in ids if id not in self.verdicts), retry_rounds or {})

    def run(self, work: Work) -> LiveEngine:
        """Return a live engine that uses these fakes."""
        return LiveEngine(work, Dependencies(self.load, self, self, self, self.events.append))

    # Interfaces of the engine

    async def load(self, ids: Sequence[str]) -> Sequence[Document]:
        return [Document(id, {"text": f"Text of {id}. The staff were kind."}) for id in ids]

    async def ask(
        self,
        role_model: RoleModel,
        ask: Request,
        run_settings: RunSettings,
        document: Document,
        on_delta: OnDelta,
        *_: object,
    ) -> Reply:
        key = f"{document.id}/{ask.role}/{len(ask.messages)}"
        times = self.seen.get(key, 0)
        self.seen[key] = times + 1
        self.requested.append((document.id, ask.role))
        self.at_once += 1
        self.max_concurrent = max(self.max_concurrent, self.at_once)
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1
        answer = self.script(ask, document, times)
        if isinstance(answer, Exception):
            raise answer
        on_delta(answer, False)
        if answer.endswith("..."):
            return Reply(answer, finish_reason="length", usage=Usage(10, 5), cost_usd=self.price)
        return Reply(answer, usage=Usage(10, 5), cost_usd=self.price)

    def cost(self, role_model: RoleModel, usage: Usage, stated_usd: float | None = None) -> float | None:
        return self.price and self.price * (usage.prompt_tokens + usage.completion_tokens)

    def sent_limit(self, role_model: RoleModel, tokens: int) -> int:
        return min(tokens, self.max_output)

    highest_cost = cost

    def max_cost(self, role_model: RoleModel, ask: Request) -> float | None:
        return self.price

    def billed_model(self, role_model: RoleModel) -> RoleModel:
        return role_model

    def billed_models(self, run_settings: RunSettings) -> tuple[RoleModel, ...]:
        return tuple(run_settings.role_models.values())

    def quota(self, role_model: RoleModel) -> Quota:
        return Quota(self.limited)

    def salt(self, role_model: RoleModel, ask: Request, run_settings: RunSettings) -> Mapping[str, object]:
        return {}

    def contains(self, key: str) -> bool:
        return key in self.replies

    async def fetch(self, key: str) -> Reply | None:
        return self.replies.get(key)

    async def fetch_all(self, keys: Iterable[str]) -> Mapping[str, Reply]:
        return {key: self.replies[key] for key in keys if key in self.replies}

    async def commit(self, reply: Reply) -> None:
        await asyncio.sleep(0)
        self.replies.setdefault(reply.key, reply)

    def turn(self, turn: Turn) -> bool:
        assert turn.reply.key in self.replies, "a turn is recorded after its reply is committed"
        self.turns.append(turn)
        return turn.cached

    async def verdict(self, reached: VerdictReached) -> VerdictReached:
        assert reached.document_id not in self.verdicts, "a document has at most one verdict"
        self.verdicts[reached.document_id] = reached
        return reached

    def attempt(self, attempt: FailedAttempt) -> None:
        self.attempts.append(attempt)

    def add_seconds(self, run_id: str, seconds: float) -> None:
        self.seconds.append(seconds)

    async def state(
        self, run_id: str, state: State, halt: StopReason = NOT_STOPPED, seconds: float = 0.0
    ) -> Sequence[VerdictReached]:
        self.states.append((state, halt))
        self.seconds.append(seconds)
        return ()
