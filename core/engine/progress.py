"""Where a run stands: counters, rate and time left. Pure but for the times that are handed in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from core.debate.events import RunStatus
from core.debate.turns import Usage
from core.runs import RunRow, State, StopReason

RATE_WINDOW = 60.0
"""Seconds over which the rate is taken."""


@dataclass(slots=True)
class Progress:
    """Totals of a run over all its sessions, and the pace of this one. Times are seconds of a monotonic clock."""

    run_id: str
    documents: int
    verdicts: int
    unresolved: int
    failed: int
    calls: int
    cached_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    seconds_before: float
    started: float
    cached_tokens: int = 0
    in_flight: int = 0
    _ended: deque[float] = field(default_factory=deque)

    @classmethod
    def of(cls, run: RunRow, now: float) -> Progress:
        """The progress of a run that starts or goes on now."""
        return cls(
            run_id=run.run_id,
            documents=run.documents,
            verdicts=run.verdicts,
            unresolved=run.unresolved,
            failed=run.failed,
            calls=run.calls,
            cached_calls=run.cached_calls,
            prompt_tokens=run.prompt_tokens,
            completion_tokens=run.completion_tokens,
            cost_usd=run.cost_usd,
            seconds_before=run.seconds,
            started=now,
            cached_tokens=run.cached_tokens,
        )

    @property
    def decided(self) -> int:
        """Documents whose debate has ended in any way."""
        return self.verdicts + self.unresolved + self.failed

    def paid(self, usage: Usage, cost_usd: float | None) -> None:
        """Count a reply that was asked for now."""
        self.calls += 1
        self.cached_tokens += usage.cached_tokens
        self.billed(usage, cost_usd)

    def billed(self, usage: Usage, cost_usd: float | None) -> None:
        """Count tokens and dollars, whether or not there was a reply for them."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if self.cost_usd is not None:
            self.cost_usd = None if cost_usd is None else self.cost_usd + cost_usd

    def ended(self, status: str, now: float) -> None:
        """Count a debate that ended."""
        match status:
            case "verdict":
                self.verdicts += 1
            case "unresolved":
                self.unresolved += 1
            case _:
                self.failed += 1
        self._ended.append(now)

    def status(self, state: State, now: float, reason: StopReason) -> RunStatus:
        """The progress as an event."""
        while self._ended and self._ended[0] < now - RATE_WINDOW:
            self._ended.popleft()
        span = min(now - self.started, RATE_WINDOW)
        rate = len(self._ended) / span * 60 if span > 0 else 0.0
        left = self.documents - self.decided
        return RunStatus(
            run_id=self.run_id,
            state=state,
            documents=self.documents,
            verdicts=self.verdicts,
            unresolved=self.unresolved,
            failed=self.failed,
            in_flight=self.in_flight,
            calls=self.calls,
            cached_calls=self.cached_calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=self.cost_usd,
            seconds=self.seconds_before + now - self.started,
            rate=rate,
            eta_seconds=left / rate * 60 if rate > 0 else None,
            message=reason.message,
            cached_tokens=self.cached_tokens,
            stop_code=reason.code,
        )
