"""Events of a run, in one stream that the live page, the command line and the tests read.

Events are frozen and carry a literal ``kind``; ``Event`` is their union. ``to_json`` returns the form on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from core.runs import State, StopCode


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The start of a role's turn in the debate on one document.

    ``turn`` counts from 0 within the debate, ``round`` from 0 in protocols with rounds. ``replies_to`` are the roles
    whose replies the request contains, ``item`` the one label in question, if any.
    """

    run_id: str
    document_id: str
    turn: int
    role: str
    model: str
    cached: bool = False
    round: int = 0
    replies_to: tuple[str, ...] = ()
    item: str = ""
    kind: Literal["turn_started"] = "turn_started"


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of a turn, to be inserted at character ``offset``.

    Offset 0 in the middle of a turn means that the attempt before was cut off and the text starts again.
    """

    run_id: str
    document_id: str
    turn: int
    offset: int
    text: str
    reasoning: bool = False
    kind: Literal["delta"] = "delta"


@dataclass(frozen=True, slots=True)
class TurnWaiting:
    """A pause before another attempt at a turn: ``seconds`` until then, ``reason`` in words."""

    run_id: str
    document_id: str
    turn: int
    reason: str
    seconds: float
    kind: Literal["turn_waiting"] = "turn_waiting"


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The end of a turn, after its reply was committed. ``text`` is the whole reply.

    ``labels`` are the label ids that the role's own reply selects, None if it has no readable decision. ``values`` map
    each item to the reply's value. ``evidence`` rows are ``{item, quote, field, start, end, match}``. ``round``,
    ``replies_to`` and ``item`` are as in ``TurnStarted``.
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
    replies_to: tuple[str, ...] = ()
    item: str = ""
    values: Mapping[str, Any] | None = None
    kind: Literal["turn_done"] = "turn_done"


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """The end of a debate, after its verdict was committed. ``values`` maps label id to its value or None."""

    run_id: str
    document_id: str
    status: Literal["verdict", "unresolved", "failed"]
    values: Mapping[str, Any]
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""
    kind: Literal["verdict"] = "verdict"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state and the totals of a run, sent on every change of state and at most a few times a second in between.

    ``rate`` is documents per minute over the last minute. ``eta_seconds`` is None while unknown, ``cost_usd`` None if
    a price is unknown. ``cached_tokens`` are those of ``prompt_tokens`` that servers took from their prefix caches.
    ``reason`` is why the run is not running, ``message`` the same in words.
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
    """Return the event as plain data for JSON, ``kind`` included."""
    return asdict(event)
