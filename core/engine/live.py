"""The live driver: many debates at once, each a generator; every reply committed before anything is built on it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.annotations import VERDICT, Annotation
from core.debate import protocols
from core.debate.case import Case, conduct, interpret
from core.debate.events import RunState, RunStatus, TurnDone, TurnStarted, VerdictReached
from core.debate.turns import Ask, Fault, Reply, Verdict
from core.documents import Document
from core.engine.calls import Caller, Place
from core.engine.keys import reply_key, request_hash
from core.engine.limits import EQUAL_FAILURES, Budget, BudgetSpent, FailureStreak
from core.engine.ports import Documents, Models, Publish, Sink, StoredReply, TurnRow, TurnStore, VerdictRow, Work
from core.engine.progress import Progress
from core.errors import ModelError
from core.runs import Seat

DEBATES_PER_SLOT = 2
"""Open debates for each call in flight, so that one that waits for its commit holds no slot."""

STATUS_SECONDS = 0.25
LOADED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _Heard:
    """A reply with what the record of its turn needs."""

    reply: Reply
    stored: StoredReply
    cached: bool


class LiveRun:
    """One run in motion. ``run()`` drives it to an end; ``pause`` and ``stop`` may be called from the same loop.

    Pausing lets calls in flight end and commits them; stopping cancels them. Both leave the rest of the documents to
    be done when the run is resumed, which replays each debate from its stored replies.
    """

    def __init__(
        self, work: Work, documents: Documents, models: Models, store: TurnStore, sink: Sink, publish: Publish
    ) -> None:
        self._work = work
        self._settings = work.run.settings
        self._documents = documents
        self._models = models
        self._sink = sink
        self._publish = publish
        self._protocol = protocols.find(work.run.settings.protocol)
        self._progress = Progress.of(work.run, time.monotonic())
        self._budget = Budget(work.run.settings.budget_usd, work.run.cost_usd or 0.0)
        self._caller = Caller(
            settings=work.run.settings,
            models=models,
            store=store,
            sink=sink,
            publish=publish,
            budget=self._budget,
            on_paid=self._progress.paid,
            slots=asyncio.Semaphore(work.run.settings.concurrency),
        )
        self._todo = deque(work.todo)
        self._resumed = work.run.calls > 0
        self._loaded: deque[Document] = deque()
        self._loading = asyncio.Lock()
        self._streak = FailureStreak()
        self._held: list[VerdictRow] = []
        self._ending: tuple[RunState, str] | None = None
        self._workers: list[asyncio.Task[None]] = []

    @property
    def run_id(self) -> str:
        """The run this drives."""
        return self._work.run.run_id

    @property
    def ending(self) -> RunState | None:
        """The state it has been told to end in, None while it goes on."""
        return self._ending[0] if self._ending else None

    def pause(self, message: str = "") -> None:
        """Start no further call; what is in flight ends and is kept."""
        self._end("paused", message)

    def stop(self, message: str = "") -> None:
        """Cancel what is in flight; what is committed is kept."""
        self._end("stopped", message)
        self._cancel()

    def interrupt(self) -> None:
        """Cancel what is in flight and leave the run paused: Moot is closing."""
        self._end("paused", "interrupted")
        self._cancel()

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()

    async def run(self) -> RunStatus:
        """Drive the run until it is done, paused or stopped; gives where it stands then.

        An error of the store or of Moot itself ends the run as ``failed`` and is raised.
        """
        began = self._progress.started = time.monotonic()
        await self._sink.state(self.run_id, "running")
        ticker = asyncio.create_task(self._tick())
        try:
            count = min(self._settings.concurrency * DEBATES_PER_SLOT, max(1, len(self._todo)))
            self._workers = [asyncio.create_task(self._work_on()) for _ in range(count)]
            await self._until_all_end()
        except BaseException as error:
            self._ending = ("failed", str(error)) if isinstance(error, Exception) else ("paused", "interrupted")
            raise
        finally:
            ticker.cancel()
            await asyncio.gather(ticker, return_exceptions=True)
            state, message = self._ending or ("done", "")
            if state == "done":
                await self._commit_held()
            with contextlib.suppress(Exception):  # the error that ended the run must not be hidden by a second one
                await self._sink.state(self.run_id, state, message, time.monotonic() - began)
            self._progress.in_flight = 0
            status = self._progress.status(state, time.monotonic(), message)
            self._publish(status)
        return status

    async def _until_all_end(self) -> None:
        done, pending = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        failure = next((task.exception() for task in done if not task.cancelled() and task.exception()), None)
        if failure is not None:
            for worker in pending:
                worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        if failure is not None:
            raise failure

    def _end(self, state: RunState, message: str) -> None:
        if self._ending is None or state == "stopped":
            self._ending = (state, message)

    async def _work_on(self) -> None:
        while self._ending is None and (document := await self._next()) is not None:
            self._progress.in_flight += 1
            try:
                await self._debate(document)
            except BudgetSpent:
                ceiling = self._settings.budget_usd
                self._end("paused", f"the budget of ${ceiling:g} is spent")
            except asyncio.CancelledError:
                if self._ending is None:
                    raise
            finally:
                self._progress.in_flight -= 1

    async def _next(self) -> Document | None:
        async with self._loading:
            if not self._loaded and self._todo:
                ids = [self._todo.popleft() for _ in range(min(LOADED_AT_ONCE, len(self._todo)))]
                self._loaded.extend(await self._documents(ids))
            return self._loaded.popleft() if self._loaded else None

    async def _debate(self, document: Document) -> None:
        records: list[asyncio.Task[None]] = []
        try:
            verdict = await self._converse(document, records)
            await asyncio.gather(*records)
            if verdict is not None:
                await self._conclude(document, verdict)
        finally:
            await asyncio.gather(*records, return_exceptions=True)  # cancelled or not, none is left behind

    async def _converse(self, document: Document, records: list[asyncio.Task[None]]) -> Verdict | None:
        """The debate on one document; None when the run ends first. The rows of its turns are written meanwhile: what
        must be on disk before the next ask is the reply, and that is."""
        iteration = self._settings.iteration
        step = conduct(self._protocol.debate, Case(document, self._settings))
        seen: Counter[str] = Counter()
        turn = 0
        try:
            asks = next(step)
            while self._ending is None:
                placed = []
                for ask in asks:
                    seat = self._settings.seats[ask.role]
                    request = request_hash(seat, ask, self._models.salt(seat, ask, self._settings), iteration)
                    placed.append((ask, seat, request, seen[request], turn))
                    seen[request] += 1
                    turn += 1
                heard = await asyncio.gather(*(self._hear(document, records, *place) for place in placed))
                asks = step.send(tuple(heard))
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
        finally:
            step.close()
        return None

    async def _hear(
        self,
        document: Document,
        records: list[asyncio.Task[None]],
        ask: Ask,
        seat: Seat,
        request: str,
        occurrence: int,
        turn: int,
    ) -> Reply:
        place = Place(self.run_id, document, turn, ask.role, seat)
        try:
            heard = await self._reply(place, ask, request, occurrence)
        except ModelError as error:
            return Reply(fault=Fault(error.kind, str(error)))
        reply, stored = heard.reply, heard.stored
        if heard.cached:
            self._progress.cached_calls += stored.run_id != self.run_id or not self._resumed
            self._publish(TurnStarted(self.run_id, document.id, turn, ask.role, seat.model, cached=True))
        records.append(asyncio.create_task(self._sink.turn(self._turn_row(place, ask, heard, stored))))
        self._publish(
            TurnDone(
                run_id=self.run_id,
                document_id=document.id,
                turn=turn,
                role=ask.role,
                model=seat.model,
                text=reply.text,
                labels=reply.reading.present if reply.reading.readable else None,
                evidence=tuple(_evidence(reply)),
                prompt_tokens=reply.usage.prompt_tokens,
                completion_tokens=reply.usage.completion_tokens,
                cost_usd=stored.cost_usd,
                seconds=stored.seconds,
                cached=heard.cached,
                problem=reply.reading.problem if ask.expects != "text" else "",
                reasoning=reply.reasoning,
            )
        )
        return reply

    async def _reply(self, place: Place, ask: Ask, request: str, occurrence: int) -> _Heard:
        """The stored reply if there is one that can be read, else one that is paid for now. A reply that could not be
        read is passed over once for each time that the run was asked to retry."""
        for retry in range(self._work.retry + 1):
            key = reply_key(request, occurrence, retry)
            stored = await self._caller.stored(key)
            if stored is None:
                stored, shared = await self._caller.paid(key, ask, place)
                return _Heard(self._interpreted(stored, ask, place), stored, cached=shared)
            reply = self._interpreted(stored, ask, place)
            if retry == self._work.retry or ask.expects == "text" or reply.reading.readable:
                return _Heard(reply, stored, cached=True)
        raise AssertionError("unreachable: the last retry returns")  # pragma: no cover

    def _interpreted(self, stored: StoredReply, ask: Ask, place: Place) -> Reply:
        reply = Reply(
            text=stored.text,
            reasoning=stored.reasoning,
            finish="length" if stored.finish == "length" else "stop",
            usage=stored.usage,
        )
        return interpret(ask, reply, self._settings.codebook, place.document)

    def _turn_row(self, place: Place, ask: Ask, heard: _Heard, stored: StoredReply) -> TurnRow:
        reading = heard.reply.reading
        items = self._settings.codebook.items if reading.readable else ()
        return TurnRow(
            run_id=place.run_id,
            document_id=place.document.id,
            turn=place.turn,
            role=place.role,
            retry=ask.retry,
            key=stored.key,
            seat=place.seat,
            messages=tuple({"role": message.role, "content": message.content} for message in ask.messages),
            cached=heard.cached,
            reading={
                "values": dict(reading.values),
                "undecided": dict(reading.undecided),
                "unknown": list(reading.unknown),
                "problem": reading.problem,
            },
            evidence=tuple(_evidence(heard.reply)),
            annotations=tuple(
                Annotation(
                    place.document.id, item, reading.values.get(item), place.role, reading.undecided.get(item, "")
                )
                for item in items
            ),
        )

    async def _conclude(self, document: Document, verdict: Verdict) -> None:
        row = VerdictRow(
            run_id=self.run_id,
            document_id=document.id,
            status=verdict.status,
            verdict=verdict,
            at=time.time(),
            annotations=tuple(
                Annotation(document.id, item, value, VERDICT, verdict.reasons.get(item, ""))
                for item, value in verdict.values.items()
            ),
        )
        if self._streak.saw(verdict.fault.kind if verdict.fault else None):
            self._held.clear()  # these documents are not failed but undone: the fault is the provider's
            fault = verdict.fault or Fault("provider", "")
            self.pause(f"{EQUAL_FAILURES} documents in a row met the same fault: {fault.message}")
            return
        if verdict.fault is not None and self._streak.length:
            self._held.append(row)
            return
        await self._commit_held()
        await self._commit(row)

    async def _commit_held(self) -> None:
        held, self._held = self._held, []
        for row in held:
            await self._commit(row)

    async def _commit(self, row: VerdictRow) -> None:
        await self._sink.verdict(row)
        self._progress.ended(row.status, time.monotonic())
        verdict = row.verdict
        self._publish(
            VerdictReached(
                run_id=self.run_id,
                document_id=row.document_id,
                status=verdict.status,
                values=verdict.values,
                reasons=verdict.reasons,
                notes=verdict.notes,
                fault=verdict.fault.message if verdict.fault else "",
            )
        )

    async def _tick(self) -> None:
        while True:
            self._publish(self._progress.status("running", time.monotonic()))
            await asyncio.sleep(STATUS_SECONDS)


def _evidence(reply: Reply) -> list[Mapping[str, Any]]:
    return [
        {
            "item": found.item,
            "quote": found.quote,
            "field": found.field,
            "start": found.start,
            "end": found.end,
            "match": found.match,
        }
        for found in reply.evidence
    ]
