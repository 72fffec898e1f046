"""Events of a run: one stream that the live page, the command line and the tests read.

``Event`` is the union of all events. ``core.services.live_state`` makes the form for the browser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from core.debate.turns import Turn, Verdict
from core.runs import RunRow


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


class RunStatus(RunRow):
    """The state and the totals of a run, sent on every change of state and at most a few times a second in between."""

    in_flight: int = 0
    rate: float = 0.0
    """Documents per minute over the last minute."""
    eta_seconds: float | None = None
    """None while unknown."""


Event: TypeAlias = TurnStarted | Delta | TurnWaiting | TurnDone | VerdictReached | RunStatus
