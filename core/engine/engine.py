"""What every driver of a run has in common: starting, being told to end, recording turns and verdicts, saying so."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field

from core.debate.events import RunStatus, TurnStarted
from core.debate.turns import Reply, ReplyError, Usage, Verdict
from core.documents import Document
from core.engine import serialize
from core.engine.debate import Debate, Placed
from core.engine.limits import EQUAL_FAILURES, Budget, FailureStreak
from core.engine.model_calls import ModelCaller
from core.engine.ports import Ports, StoredReply, VerdictRow, Work
from core.runs import NOT_STOPPED, RoleModel, RunRow, State, StopReason

STATUS_SECONDS = 0.25
OUT_OF_BUDGET = "what is left may not pay for a further call"
INTERRUPTED = StopReason("interrupted", "interrupted")
LOADED_AT_ONCE = 64


class Engine(ABC):
    """One run in motion. ``run()`` drives it to an end; ``pause`` and ``stop`` may be called from the same loop.

    Pausing lets calls in flight end and commits them; stopping cancels them. Both leave the rest of the documents to
    be done when the run is resumed, which replays each debate from its stored replies.
    """

    def __init__(self, work: Work, ports: Ports) -> None:
        self.settings = work.run.settings
        self.retries = work.retry
        self.ports = ports
        self.store = ports.store
        self.sink = ports.sink
        self.publish = ports.publish
        self.progress = Progress.of(work.run, time.monotonic())
        self.budget = Budget(self.settings.budget_usd, work.run.cost_usd or 0.0)
        self.note = ""
        """What the run is waiting for, in words; shown with its status."""
        self._run_id = work.run.run_id
        self._resumed = work.run.calls > 0
        self._todo = deque(work.todo)
        self._loaded: deque[Document] = deque()
        self._loading = asyncio.Lock()
        self._streak = FailureStreak()
        self._held: list[VerdictRow] = []
        self._ending: tuple[State, StopReason] | None = None
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def run_id(self) -> str:
        """The run this drives."""
        return self._run_id

    @property
    def pending_state(self) -> State | None:
        """The state it has been told to end in, None while it goes on."""
        return self._ending[0] if self._ending else None

    @property
    def left(self) -> int:
        """Documents whose debates have not been begun."""
        return len(self._todo) + len(self._loaded)

    def pause(self, reason: StopReason) -> None:
        """Start no further call; what is in flight ends and is kept."""
        if self._ending is None:
            self._ending = ("paused", reason)

    def stop(self, reason: StopReason) -> None:
        """Cancel what is in flight; what is committed is kept."""
        self._ending = ("stopped", reason)
        self._cancel()

    def interrupt(self) -> None:
        """Cancel what is in flight and leave the run paused: Moot is closing."""
        self.pause(INTERRUPTED)
        self._cancel()

    def pause_for_budget(self) -> None:
        """No call may start any more: the run's ceiling is reached."""
        self.pause(StopReason("budget", f"the budget of ${self.settings.budget_usd:g} is spent; {OUT_OF_BUDGET}"))

    async def run(self) -> RunStatus:
        """Drive the run until it is done, paused or stopped; gives where it stands then.

        An error of the store or of Moot itself ends the run as ``failed`` and is raised.
        """
        began = self.progress.started = time.monotonic()
        await self.sink.state(self.run_id, "running")
        ticker = asyncio.create_task(self._tick())
        try:
            await self._move()
        except BaseException as error:
            failed = isinstance(error, Exception)
            self._ending = ("failed", StopReason("errors", str(error))) if failed else ("paused", INTERRUPTED)
            raise
        finally:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)
            state, reason = self._ending or ("done", NOT_STOPPED)
            if state == "done":
                await self._commit_held()
            with contextlib.suppress(Exception):  # the error that ended the run must not be hidden by a second one
                await self.sink.state(self.run_id, state, reason, time.monotonic() - began)
            self.progress.in_flight = 0
            status = self.progress.status(state, time.monotonic(), reason)
            self.publish(status)
        return status

    @abstractmethod
    async def _move(self) -> None:
        """Debate what is left, and return when nothing is or the run is told to end."""

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _next(self) -> Document | None:
        """The next document whose debate is to begin, None when there is none."""
        async with self._loading:
            if not self._loaded and self._todo:
                ids = [self._todo.popleft() for _ in range(min(LOADED_AT_ONCE, len(self._todo)))]
                self._loaded.extend(await self.ports.documents(ids))
            return self._loaded.popleft() if self._loaded else None

    async def _debate(self, document: Document) -> Debate:
        return Debate(document, self.settings, self.ports.models, await self.ports.library(document))

    def _calls(self) -> ModelCaller:
        """Who makes the calls of a run that are made one by one."""
        return ModelCaller(
            settings=self.settings,
            models=self.ports.models,
            store=self.store,
            sink=self.sink,
            publish=self.publish,
            budget=self.budget,
            on_paid=lambda reply: self.progress.paid(reply.usage, reply.cost_usd),
            on_lost=self.progress.billed,
            slots=asyncio.Semaphore(self.settings.concurrency),
            on_lane=self._note_lane,
        )

    def _note_lane(self, role_model: RoleModel, at_once: int) -> None:
        """Say how far a server that turns calls away has slowed the run."""
        narrowed = at_once < self.settings.concurrency
        self.note = f"{role_model.connection} is rate limited: {at_once} calls at once" if narrowed else ""

    def _turn(self, placed: Placed, reply: Reply, stored: StoredReply, *, cached: bool) -> None:
        """Show a turn that has ended, and have it written."""
        if cached:
            self.progress.cached_calls += stored.run_id != self.run_id or not self._resumed
            ask = placed.ask
            self.publish(
                TurnStarted(
                    self.run_id, placed.document.id, placed.turn, ask.role, placed.role_model.model, cached=True,
                    round=ask.round, replies_to=ask.replies_to, item=ask.item,
                )
            )  # fmt: skip
        self.publish(serialize.turn_done(self.run_id, placed, reply, stored, cached=cached))
        self.sink.turn(serialize.turn_row(self.run_id, placed, reply, stored, self.settings.codebook, cached=cached))

    async def _conclude(self, document: Document, verdict: Verdict) -> None:
        """Write a verdict. Equal faults of the provider are held back until another debate ends well; when there are
        too many in a row, their documents are not failed but undone, and the run pauses."""
        row = serialize.verdict_row(self.run_id, document, verdict, at=time.time())
        if self._streak.saw(verdict.error.kind if verdict.error else None):
            self._held.clear()
            fault = verdict.error or ReplyError("provider", "")
            self.pause(StopReason("errors", f"{EQUAL_FAILURES} documents in a row met the same fault: {fault.message}"))
            return
        if verdict.error is not None and self._streak.length:
            self._held.append(row)
            return
        await self._commit_held()
        await self._commit(row)

    async def _commit_held(self) -> None:
        held, self._held = self._held, []
        for row in held:
            await self._commit(row)

    async def _commit(self, row: VerdictRow) -> None:
        await self.sink.verdict(row)
        self.progress.ended(row.status, time.monotonic())
        self.publish(serialize.verdict_reached(row))

    async def _tick(self) -> None:
        while True:
            self.publish(self.progress.status("running", time.monotonic(), StopReason("", self.note)))
            await asyncio.sleep(STATUS_SECONDS)


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
