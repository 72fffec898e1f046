"""The base of all engines: start and end a run, record its turns and verdicts, and publish its progress."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.debate.events import RunStatus, TurnDone, TurnStarted, VerdictReached
from core.debate.turns import Reply, ReplyError, Usage, Verdict
from core.documents import Document, Precedents
from core.engine.call_limits import Budget, BudgetSpent
from core.engine.event_loop import gather_all
from core.engine.interfaces import Dependencies, Work
from core.engine.model_calls import ModelCaller, PaidCall
from core.engine.pending_turns import Debate, PendingTurn, find_reply, read_reply
from core.errors import ContextTooLong, ModelError, ProjectError, Refused
from core.formatting import format_count, format_money
from core.runs import NOT_STOPPED, State, StopReason, total_cost

STATUS_SECONDS = 0.25
TIME_SECONDS = 10.0
"""Interval at which the time of a run is stored, so that a run whose process dies keeps its time."""
SUSPENDED_SECONDS = 10.0
"""Seconds without a status after which the process was suspended, by a terminal or a sleeping computer."""
OUT_OF_BUDGET = "may not cover another call"
UNKNOWN_COST = "the cost so far is unknown, because some replies have no price"
INTERRUPTED = StopReason("interrupted", "interrupted")
LOADED_AT_ONCE = 64
MISSING = ReplyError("missing document", "the document is no longer in the project")
_DOCUMENT_ERRORS = frozenset({ContextTooLong.kind, Refused.kind})

RATE_WINDOW, RATE_DEBATES = 60.0, 5
"""The rate rests on at least so many seconds and finished debates: a debate of a slow model takes minutes."""
EQUAL_FAILURES, FAILURES = 5, 15
"""Provider errors on consecutive documents that pause a run: of one kind, and of any kind."""


@dataclass(slots=True)
class RunTotals:
    """Totals of a run over all its sessions, and the rate of this one.

    The seconds of ``so_far`` are those of earlier sessions; ``started`` is the time of a monotonic clock, later by the
    time in which the process was suspended. Without ``priced``, the cost is unknown until a server states it.
    """

    so_far: RunStatus
    priced: bool
    started: float = 0.0
    in_flight: int = 0
    _ended_at: deque[float] = field(default_factory=deque)
    _window_start: float = 0.0

    def add(self, **counts: int) -> None:
        """Add to counts, by their names in ``RunStatus``."""
        sums = {name: getattr(self.so_far, name) + count for name, count in counts.items()}
        self.so_far = self.so_far.model_copy(update=sums)

    def paid(self, reply: Reply) -> None:
        """Count a new reply. A vector is not a call."""
        self.add(
            calls=int(reply.finish_reason != "vector"),
            cached_tokens=reply.usage.cached_tokens,
            estimated_calls=int(reply.usage.estimated and bool(reply.cost_usd)),
        )
        self.billed(reply.usage, reply.cost_usd)

    def billed(self, usage: Usage, cost_usd: float | None) -> None:
        """Count tokens and dollars, with or without a reply."""
        self.add(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
        self.so_far = self.so_far.model_copy(update={"cost_usd": total_cost((self.so_far.cost_usd, cost_usd))})

    def conclude(self, status: str, now: float) -> None:
        """Count a finished debate."""
        self.add(**{{"verdict": "verdicts", "unresolved": "unresolved"}.get(status, "failed"): 1})
        self._ended_at.append(now)

    def leave_out(self, seconds: float, now: float) -> None:
        """Leave out the last seconds, in which the process was suspended."""
        self.started += seconds
        self._ended_at = deque(min(ended + seconds, now) for ended in self._ended_at)
        self._window_start = min(self._window_start + seconds, now)

    def status(self, state: State, now: float, reason: StopReason) -> RunStatus:
        """Return the totals as an event."""
        while len(self._ended_at) > RATE_DEBATES and self._ended_at[0] <= now - RATE_WINDOW:
            self._window_start = self._ended_at.popleft()
        span = now - max(self.started, self._window_start)
        rate = len(self._ended_at) / span * 60 if span > 0 else 0.0
        so_far = self.so_far
        current: dict[str, Any] = {
            "state": state,
            "in_flight": self.in_flight,
            "cost_usd": so_far.cost_usd if self.priced or so_far.calls or state != "running" else None,
            "seconds": so_far.seconds + now - self.started,
            "rate": rate,
            "eta_seconds": (so_far.documents - so_far.ended) / rate * 60 if rate > 0 else None,
            "message": reason.message,
            "stop_code": reason.code,
        }
        return so_far.model_copy(update=current)


class Engine(ABC):
    """The execution of one run. ``pause`` and ``stop`` may be called from the loop that runs it.

    Pausing lets calls in flight end and commits their replies; stopping cancels them. Both leave the remaining
    documents for a later session, which replays each debate from its stored replies.
    """

    def __init__(self, work: Work, dependencies: Dependencies) -> None:
        self.settings = work.run.settings
        self.retry_rounds = work.retry_rounds
        self.dependencies = dependencies
        self.store = dependencies.store
        self.sink = dependencies.sink
        self.publish = dependencies.publish
        models = dependencies.models
        priced = all(models.cost(model, Usage()) is not None for model in models.billed_models(self.settings))
        self.totals = RunTotals(RunStatus(**dict(work.run)), priced)
        self.budget = Budget(self.settings.budget_usd, work.run.cost_usd)
        self.note = ""
        """Reason for a wait, shown with the status of the run."""
        self._limited: dict[str, int] = {}
        """Calls at once by connection, for those whose server has reduced them."""
        self.run_id = work.run.run_id
        self.caller = ModelCaller(
            settings=self.settings,
            models=models,
            store=self.store,
            budget=self.budget,
            on_paid=self.totals.paid,
            on_billed=self.totals.billed,
            run_id=self.run_id,
            publish=self.publish,
            record_attempt=self.sink.attempt,
            on_limit=self._note_limit,
        )
        """Caller for models that are called one request at a time."""
        self._todo = deque(work.todo)
        self._loaded: deque[Document] = deque()
        self._loading = asyncio.Lock()
        self._missing: set[str] = set()
        self._held: list[VerdictReached] = []
        """Verdicts of the consecutive documents that failed by an error of the provider."""
        self._pending: tuple[State, StopReason] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._timed_until = 0.0

    @property
    def pending_state(self) -> State | None:
        """The state in which the run was requested to end, None without a request."""
        return self._pending[0] if self._pending else None

    def pause(self, reason: StopReason) -> None:
        """Start no further call, not even one that waits for a rate limit. Calls in flight end and are kept."""
        if self._pending is None:
            self._pending = ("paused", reason)
        self.caller.pause()

    def stop(self, reason: StopReason) -> None:
        """Cancel calls in flight; committed replies are kept."""
        self._pending = ("stopped", reason)
        self._cancel()

    def interrupt(self) -> None:
        """Cancel calls in flight and leave the run paused, because Moot is closing."""
        self.pause(INTERRUPTED)
        self._cancel()

    def pause_for_budget(self) -> None:
        """Pause the run because its budget allows no further call, or cannot be enforced."""
        budget = format_money(self.settings.budget_usd)  # calls in flight still add to the costs
        models = self.dependencies.models
        billed = models.billed_models(self.settings)
        unpriced = [model.spec for model in billed if models.highest_cost(model, Usage()) is None]
        if unpriced:
            reason = f"the price of {unpriced[0]} is unknown, so the budget of {budget} cannot be enforced"
            self.pause(StopReason("errors", reason))
        elif self.budget.spent is None:
            reason = f"{UNKNOWN_COST}, so the budget of {budget} cannot be enforced"
            self.pause(StopReason("errors", f"{reason}; a new run reuses the replies without cost"))
        else:
            self.pause(StopReason("budget", f"the rest of the budget of {budget} {OUT_OF_BUDGET}"))

    async def run(self) -> RunStatus:
        """Execute the run until it is done, paused or stopped, and return its status.

        An error of Moot itself ends the run as ``failed`` and is raised. A full disk, and files that are gone or cannot
        be written, pause the run.
        """
        self.totals.started = self._timed_until = time.monotonic()
        await self.sink.state(self.run_id, "running")
        ticker = asyncio.create_task(self._tick())
        try:
            await self._execute()
            if self.totals.so_far.ended + len(self._held) == self.totals.so_far.documents:
                self._pending = None  # the last calls in flight finished the run
            if self._pending is None:
                await self._commit_held()
        except BudgetSpent:
            self.pause_for_budget()
        except (ProjectError, OSError) as problem:
            self._pending = ("paused", StopReason("errors", str(problem)))
        except BaseException as error:
            failed = isinstance(error, Exception)
            self._pending = ("failed", StopReason("errors", str(error))) if failed else ("paused", INTERRUPTED)
            raise
        finally:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)
            state, reason = self._pending or ("done", NOT_STOPPED)
            with contextlib.suppress(Exception):  # a second error must not hide the one that ended the run
                for restored in await self.sink.state(self.run_id, state, reason, self._untimed_seconds()):
                    self._count(restored)
            self.totals.in_flight = 0
            status = self.totals.status(state, time.monotonic(), reason)
            self.publish(status)
        return status

    @abstractmethod
    async def _execute(self) -> None:
        """Debate the remaining documents; return when none are left or the run is requested to end."""

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _next(self) -> Document | None:
        """Return the next document to debate, None if there is none."""
        async with self._loading:
            while not self._loaded and self._todo:
                ids = [self._todo.popleft() for _ in range(min(LOADED_AT_ONCE, len(self._todo)))]
                self._loaded.extend(await self._load(ids))
            return self._loaded.popleft() if self._loaded else None

    async def _load(self, ids: Sequence[str]) -> Sequence[Document]:
        """Return the documents with these ids; those that the project no longer has fail once."""
        documents = await self.dependencies.load_documents(ids)
        missing = set(ids) - {document.id for document in documents} - self._missing
        self._missing |= missing
        verdict = self._failed_verdict(MISSING)
        await gather_all(self._commit(VerdictReached(self.run_id, id, verdict, time.time())) for id in missing)
        return documents

    async def _debate(
        self, document: Document, answer: Callable[[PendingTurn], Awaitable[Reply | str]]
    ) -> list[tuple[str, PendingTurn]]:
        """Debate to the verdict, or return the turns without a reply, each with its key.

        ``answer`` returns the reply to a turn, or the key of a reply that comes later.
        """
        examples = await self._find_examples(document)
        if examples is None:
            return []
        debate = Debate(document, self.settings, self.dependencies.models, examples)
        try:
            while debate.verdict is None:
                answers = await gather_all(map(answer, debate.pending))
                pairs = zip(answers, debate.pending, strict=True)
                if missing := [(key, pending) for key, pending in pairs if isinstance(key, str)]:
                    return missing
                debate.send([reply for reply in answers if isinstance(reply, Reply)])
            await self._conclude(document, debate.verdict)
        finally:
            debate.close()
        return []

    async def _find_examples(self, document: Document) -> Precedents | None:
        """Return the examples for a document; None if it failed by an error of a server, or if the run ends first."""
        try:
            return await self.dependencies.find_examples(document, self.caller.embed)
        except ModelError as error:
            await self._conclude(document, self._failed_verdict(ReplyError(error.kind, str(error))))
        except asyncio.CancelledError:  # a pause cancels the calls that wait
            if self.pending_state is None:
                raise
        return None

    def _failed_verdict(self, error: ReplyError) -> Verdict:
        items = self.settings.codebook.items
        return Verdict(dict.fromkeys(items), dict.fromkeys(items, error.message), error=error)

    def _note_limit(self, connection: str, at_once: int | None) -> None:
        """Show how far the rate limits of servers have slowed the run."""
        self._limited.pop(connection, None)
        if at_once is not None:
            self._limited[connection] = at_once
        self.note = "; ".join(
            f"{name} is rate limited: {format_count(count, 'call')} at once" for name, count in self._limited.items()
        )

    def _record_turn(self, pending: PendingTurn, reply: Reply, *, cached: bool) -> None:
        """Publish and store a finished turn, unless it has the reply of an earlier turn."""
        if reply is pending.equal:
            return
        cached = cached or reply.run_id != self.run_id
        if cached:
            self.publish(TurnStarted(pending.started(self.run_id, cached=True)))
        turn = pending.finished(self.run_id, reply, self.settings.codebook.items, cached=cached)
        self.publish(TurnDone(turn))
        self.totals.add(cached_calls=self.sink.turn(turn))

    async def _conclude(self, document: Document, verdict: Verdict) -> None:
        """Commit a verdict.

        Verdicts that failed by a provider error are held until another debate succeeds. After too many in a row the
        run pauses, and their documents and those that fail later count as not debated. Errors of the document (too
        long, refused) neither count nor end the row, and unreadable replies are not errors.
        """
        reached = VerdictReached(self.run_id, document.id, verdict, time.time())
        error = verdict.error
        if error is not None and error.kind not in _DOCUMENT_ERRORS:
            if self._pending is not None and self._pending[1].code == "errors":
                return  # its calls were in flight when the run paused
            self._held.append(reached)
            if problem := self._repeated_failure(error):
                self._held.clear()
                self.pause(StopReason("errors", problem))
            return
        if error is None:
            await self._commit_held()
        await self._commit(reached)

    def _repeated_failure(self, error: ReplyError) -> str:
        """Return why the failures in a row, up to this one, pause the run; empty if they do not."""
        last_held = [held.verdict.error for held in self._held[-EQUAL_FAILURES:]]
        if len(last_held) == EQUAL_FAILURES and all(held and held.kind == error.kind for held in last_held):
            return f"{EQUAL_FAILURES} documents in a row met the same error: {error.message}"
        if len(self._held) >= FAILURES:
            return f"{FAILURES} documents in a row failed, the last with: {error.message}"
        return ""

    async def _commit_held(self) -> None:
        held, self._held = self._held, []
        for reached in held:
            await self._commit(reached)

    async def _commit(self, reached: VerdictReached) -> None:
        writing = asyncio.ensure_future(self.sink.verdict(reached))
        try:
            await asyncio.shield(writing)
        finally:  # a stop does not cancel the write: the verdict counts as the store returns it
            self._count(await writing)

    def _count(self, reached: VerdictReached) -> None:
        self.totals.conclude(reached.verdict.status, time.monotonic())
        self.publish(reached)

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            now = time.monotonic()
            if (suspended := now - last) > SUSPENDED_SECONDS:
                self.totals.leave_out(suspended, now)
                self._timed_until += suspended
            last = now
            self.publish(self.totals.status("running", now, StopReason("", self.note)))
            if now - self._timed_until >= TIME_SECONDS:
                self.sink.add_seconds(self.run_id, self._untimed_seconds())
            await asyncio.sleep(STATUS_SECONDS)

    def _untimed_seconds(self) -> float:
        """Return the seconds since the last call, or since the start, to be added to the stored time of the run."""
        before, self._timed_until = self._timed_until, time.monotonic()
        return self._timed_until - before


class ReplayingEngine(Engine):
    """A run whose replies arrive long after their requests were sent, or from other processes."""

    def __init__(self, work: Work, dependencies: Dependencies) -> None:
        super().__init__(work, dependencies)
        self._fresh: set[str] = set()
        """Keys of replies that arrived in this session and that no debate has used."""
        self._errors: dict[str, ReplyError] = {}
        """By key, errors that outlasted the attempts."""
        self._recorded: set[tuple[str, str]] = set()

    async def _answer(self, pending: PendingTurn) -> Reply | str:
        """Return the reply to a request, or the key of the missing reply."""
        key, reply = await find_reply(self._fetch, pending, self.settings, self.retry_rounds)
        cached = key not in self._fresh
        if reply is None:
            if (error := self._errors.get(key)) is not None:
                return Reply(error=error)
            try:
                called = await self._call_now(key, pending)
            except ModelError as failed:
                error = self._errors[key] = ReplyError(failed.kind, str(failed))
                return Reply(error=error)
            if called is None:
                return key
            cached = called.is_shared
            reply = read_reply(called.reply, pending, self.settings)
        self._fresh.discard(reply.key)
        if (reply.key, pending.document.id) not in self._recorded:
            self._recorded.add((reply.key, pending.document.id))
            self._record_turn(pending, reply, cached=cached)
        return reply

    async def _fetch(self, key: str) -> Reply | None:
        """Return the stored reply with this key, or None."""
        return await self.store.fetch(key)

    async def _call_now(self, _key: str, _pending: PendingTurn) -> PaidCall | None:
        """Return the call of a role model that is asked at once; None for one whose replies come later."""
        return None
