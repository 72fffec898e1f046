"""Events of a run: one stream that the live page, the command line and the tests read.

``Event`` is the union of all events. ``core.services.live_state`` makes the form for the browser.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self, TypeAlias

from core.debate.turns import Turn, Verdict
from core.runs import RunRow, State, StopCode


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The start of a turn, whose reply is still empty."""

    turn: Turn


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


@dataclass(frozen=True, slots=True)
class TurnWaiting:
    """A failed attempt at a turn, for ``reason`` in words. The next attempt is in ``seconds``; 0 after the last one."""

    run_id: str
    document_id: str
    turn: int
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TurnDone:
    """The end of a turn, after its reply was committed."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """The end of a debate at ``unix_time``: the event for the browser and the row in the store."""

    run_id: str
    document_id: str
    verdict: Verdict
    unix_time: float = 0.0


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state and the totals of a run, sent on every change of state and at most a few times a second in between."""

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
    """None if a price is unknown."""
    seconds: float
    rate: float
    """Documents per minute over the last minute."""
    eta_seconds: float | None
    """None while unknown."""
    message: str = ""
    """The reason why the run is not running, in words."""
    cached_tokens: int = 0
    """The prompt tokens that servers took from their prefix caches."""
    stop_code: StopCode = ""
    """The same reason as a code."""
    estimated_calls: int = 0
    """Paid calls whose cost is estimated, because the server reported no tokens."""

    @classmethod
    def from_run(cls, run: RunRow) -> Self:
        """Return the status of a stored run."""
        shared = {field.name: getattr(run, field.name) for field in fields(cls) if field.name in RunRow.model_fields}
        return cls(**shared, in_flight=0, rate=0.0, eta_seconds=None)

    @property
    def ended(self) -> int:
        """Number of documents whose debate has ended in any way."""
        return self.verdicts + self.unresolved + self.failed


Event: TypeAlias = TurnStarted | Delta | TurnWaiting | TurnDone | VerdictReached | RunStatus
