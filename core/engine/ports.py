"""What the engine needs from the world: a place for replies, a place for verdicts, models to ask. The store and the
llm package implement these; tests bring their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from core.annotations import Annotation, Precedents
from core.debate.events import Event
from core.debate.turns import Request, Usage, Verdict
from core.documents import Document
from core.llm.limits import Limits
from core.llm.reply import ModelReply, OnDelta
from core.runs import NOT_STOPPED, RoleModel, RunRow, RunSettings, State, StopReason


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply in the turn store under its request's hash. Faults never get here.

    ``dropped`` are the parameters that the server refused and that went unsent.
    """

    key: str
    text: str
    reasoning: str
    finish: str
    usage: Usage
    cost_usd: float | None
    seconds: float
    at: float
    """Unix seconds when the reply ended."""
    dropped: tuple[str, ...] = ()
    run_id: str = ""
    """The run that paid for it."""
    served: str = ""
    """What the server called the model."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of one debate: which reply was heard, in what place. ``cached`` when it was not paid for by this run."""

    run_id: str
    document_id: str
    turn: int
    role: str
    retry: int
    key: str
    role_model: RoleModel
    messages: tuple[Mapping[str, str], ...]
    cached: bool
    reading: Mapping[str, object]
    evidence: tuple[Mapping[str, object], ...]
    annotations: tuple[Annotation, ...] = ()
    """What the role's own list says, one row an item; empty when it gave none."""
    round: int = 0
    replies_to: tuple[str, ...] = ()
    item: str = ""
    """As in ``Ask``: the round, the roles that were heard, the one label it is about."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """A try that failed. ``usage`` and ``cost_usd`` are what it was billed all the same, as far as that is known."""

    run_id: str
    document_id: str
    role: str
    key: str
    kind: str
    message: str
    text: str
    usage: Usage
    cost_usd: float | None
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """How the debate on one document ended."""

    run_id: str
    document_id: str
    status: str
    verdict: Verdict
    at: float
    annotations: tuple[Annotation, ...] = ()


class TurnStore(Protocol):
    """Replies by request hash. Safe to call from the engine's loop: nothing here blocks it."""

    def known(self, key: str) -> bool:
        """Whether a reply with this key is committed. From memory."""

    async def fetch(self, key: str) -> StoredReply | None:
        """The committed reply, or None."""

    async def commit(self, reply: StoredReply) -> None:
        """Return once the reply outlives this process. A key that is already there is left as it was. Who is cancelled
        meanwhile leaves it written or unwritten, never half."""


class Sink(Protocol):
    """Where a run leaves what it did, in order."""

    def turn(self, row: TurnRow) -> None:
        """Queue the turn. If it cannot be written, the verdict or the state that follows raises."""

    async def verdict(self, row: VerdictRow) -> None:
        """Return once the verdict, and the turns of its debate, are on disk. A second verdict for the same document of
        the run is ignored."""

    def attempt(self, row: AttemptRow) -> None:
        """Queue a failed try; not waited for."""

    async def state(self, run_id: str, state: State, reason: StopReason = NOT_STOPPED, seconds: float = 0.0) -> None:
        """Return once the run's state, and all that was queued before, is on disk. ``seconds`` of work are added to the
        run's own."""


class Models(Protocol):
    """Whoever can be asked."""

    async def ask(
        self, role_model: RoleModel, ask: Request, settings: RunSettings, document: Document, on_delta: OnDelta
    ) -> ModelReply:
        """One request, one reply; raises a ModelError. No retries in here."""

    def cost(self, role_model: RoleModel, usage: Usage) -> float | None:
        """Dollars for these tokens, None when no price is known."""

    def dearest(self, role_model: RoleModel, ask: Request) -> float:
        """The most in dollars that this ask can cost; 0 where nothing is paid or no price is known."""

    def limits(self, role_model: RoleModel) -> Limits:
        """What the seat's connection may be asked."""

    def salt(self, role_model: RoleModel, ask: Request, settings: RunSettings) -> Mapping[str, object]:
        """What besides the messages decides the reply and so belongs in the key (the built-in's version, say)."""


Publish: TypeAlias = Callable[[Event], None]
"""Where events go. Must not block."""

Documents: TypeAlias = Callable[[Sequence[str]], Awaitable[Sequence[Document]]]
"""Load documents by id, in the order asked for."""


Library: TypeAlias = Callable[[Document], Awaitable[Precedents]]
"""Find the precedents for a document, from the pool that is frozen in the run. A driver awaits it before a debate
begins and hands what it gives to the ``Case``, so that protocols look nothing up themselves."""


async def no_precedents(_document: Document) -> Precedents:
    """The library of a run that shows none."""
    return {}


@dataclass(frozen=True, slots=True)
class Work:
    """A run as the engine gets it: where it stands, and the ids still to do."""

    run: RunRow
    todo: tuple[str, ...]
    retry: int = 0
    """Raised by one each time unresolved documents are asked again, so that the same bad text is not served."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything that a driver needs of the world besides its work."""

    documents: Documents
    models: Models
    store: TurnStore
    sink: Sink
    publish: Publish
    library: Library = no_precedents
