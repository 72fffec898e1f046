"""What happens in a run, as one stream. The board, the command line and the tests all read this and nothing else.

Events are frozen and carry a literal ``kind``; ``Event`` is their union. ``to_json`` is the form on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from core.runs import State, StopCode


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A role begins to speak in the debate on one document. ``turn`` counts from 0 within the debate, ``round`` from 0
    where a protocol goes round; ``answers`` are the roles it has heard, ``item`` the one label it is about, if any."""

    run_id: str
    document_id: str
    turn: int
    role: str
    model: str
    cached: bool = False
    round: int = 0
    answers: tuple[str, ...] = ()
    item: str = ""
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of a turn, to be put at character ``offset``. Offset 0 in mid-turn means that the try before was cut
    and the text starts again."""

    run_id: str
    document_id: str
    turn: int
    offset: int
    text: str
    reasoning: bool = False
    kind: Literal["delta"] = "delta"


@dataclass(frozen=True, slots=True)
class TurnWaiting:
    """A turn is not speaking: it waits before another try. ``seconds`` until then, ``reason`` in words."""

    run_id: str
    document_id: str
    turn: int
    reason: str
    seconds: float
    kind: Literal["turn_waiting"] = "turn_waiting"


@dataclass(frozen=True, slots=True)
class TurnDone:
    """A turn has ended and its reply is committed. ``text`` is the whole reply.

    ``labels`` are the label ids that the role's own list names or chooses (None: it gave no readable one), ``values``
    are what it says of each item; ``evidence`` rows have the fields of ``Evidence``. ``round``, ``answers`` and
    ``item`` are as in ``TurnStarted``.
    """

    run_id: str
    document_id: str
    turn: int
    role: str
    model: str
    text: str
    labels: tuple[str, ...] | None
    evidence: tuple[Mapping[str, Any], ...]
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    seconds: float
    cached: bool
    problem: str = ""
    reasoning: str = ""
    round: int = 0
    answers: tuple[str, ...] = ()
    item: str = ""
    values: Mapping[str, Any] | None = None
    kind: Literal["turn_done"] = "turn_done"


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """A debate has ended and its verdict is committed. ``values`` maps label id to its value or None."""

    run_id: str
    document_id: str
    status: Literal["verdict", "unresolved", "failed"]
    values: Mapping[str, Any]
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: str = ""
    kind: Literal["verdict"] = "verdict"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a run stands. Sent on every change of state and at most a few times a second while it moves.

    ``rate`` is documents a minute over the last minute, ``eta_seconds`` None while unknown; ``cost_usd`` None when a
    price is unknown. ``cached_tokens`` are those of ``prompt_tokens`` that servers took from their prefix caches.
    ``reason`` is why it stands, ``message`` the words for that.
    """

    run_id: str
    state: State
    documents: int
    verdicts: int
    unresolved: int
    failed: int
    in_flight: int
    calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    seconds: float
    rate: float
    eta_seconds: float | None
    message: str = ""
    cached_tokens: int = 0
    stop_code: StopCode = ""
    kind: Literal["run_status"] = "run_status"


Event: TypeAlias = TurnStarted | Delta | TurnWaiting | TurnDone | VerdictReached | RunStatus


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain data for JSON, ``kind`` included."""
    return asdict(event)
