"""From an ask to a reply: the turn store first, else one paid call, shared by all that wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from core.debate.events import Delta, TurnStarted, TurnWaiting
from core.debate.turns import Request, Usage
from core.documents import Document
from core.engine.limits import Budget, Settle, retried
from core.engine.ports import AttemptRow, Models, Publish, Sink, StoredReply, TurnStore
from core.engine.rate_limit import ServerLimiter
from core.engine.serialize import stored_reply
from core.errors import ModelError, RateLimited
from core.llm.reply import CHARACTERS_PER_TOKEN, ModelReply, estimated
from core.runs import RoleModel, RunSettings

FLUSH_SECONDS = 0.05
"""Deltas are handed to the screen in batches, 20 times a second."""

CUT = "cancelled"
"""The kind of a try that was stopped while it spoke."""


@dataclass(slots=True)
class _Flight:
    """A call under way and how many debates wait for it."""

    task: asyncio.Task[StoredReply]
    waiters: int = 0


@dataclass(frozen=True, slots=True)
class CallContext:
    """Where in a run a call is made: for events and for the record of failed tries."""

    run_id: str
    document: Document
    turn: int
    role: str
    role_model: RoleModel


class DeltaBatcher:
    """Hands on what debates say, all of it together in batches: one timer serves every call in flight."""

    def __init__(self, publish: Publish) -> None:
        self.publish = publish
        self._full: set[StreamBuffer] = set()
        self._timer: asyncio.TimerHandle | None = None

    def expect(self, words: StreamBuffer) -> None:
        """Flush these words with the next batch."""
        self._full.add(words)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def _flush(self) -> None:
        full, self._full, self._timer = self._full, set(), None
        for words in full:
            words.flush()


class StreamBuffer:
    """Collects what is said in a turn until it is shown."""

    def __init__(self, place: CallContext, screen: DeltaBatcher) -> None:
        self._place = place
        self._screen = screen
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._sent = [0, 0]
        self._said: list[str] = []

    @property
    def said(self) -> str:
        """All that came in this try, reasoning included."""
        return "".join(self._said)

    def __call__(self, text: str, is_reasoning: bool) -> None:
        """Take one piece."""
        self._said.append(text)
        pieces = self._reasoning if is_reasoning else self._text
        if not pieces:
            self._screen.expect(self)
        pieces.append(text)

    def flush(self) -> None:
        """Publish what has gathered."""
        for index, pieces in enumerate((self._text, self._reasoning)):
            if pieces:
                text = "".join(pieces)
                pieces.clear()
                place = self._place
                self._screen.publish(
                    Delta(place.run_id, place.document.id, place.turn, self._sent[index], text, reasoning=index == 1)
                )
                self._sent[index] += len(text)

    def end(self) -> None:
        """The reply is whole: what was said is no longer a try that may be cut."""
        self.flush()
        self._said.clear()

    def restart(self) -> None:
        """Forget a try that was cut; the next delta starts at offset 0 again."""
        self.flush()
        self._said.clear()
        self._sent = [0, 0]


@dataclass(slots=True)
class ModelCaller:
    """Answers asks for one run. ``on_paid`` hears of every reply that was asked for now, ``on_lost`` of the tokens and
    dollars of every try that came to none."""

    settings: RunSettings
    models: Models
    store: TurnStore
    sink: Sink
    publish: Publish
    budget: Budget
    on_paid: Callable[[ModelReply], None]
    on_lost: Callable[[Usage, float | None], None]
    slots: asyncio.Semaphore
    on_lane: Callable[[RoleModel, int], None] = lambda _role_model, _at_once: None
    """Hears how many calls a server gets at once, when that changes."""
    _flights: dict[str, _Flight] = field(default_factory=dict)
    _lanes: dict[str, ServerLimiter] = field(default_factory=dict)

    _screen: DeltaBatcher = field(init=False)

    def __post_init__(self) -> None:
        self._screen = DeltaBatcher(self.publish)

    async def paid(self, key: str, ask: Request, place: CallContext) -> tuple[StoredReply, bool]:
        """The reply of a call made now, committed, and whether it was another debate that made it. Debates that want
        the same key share the call, which is cancelled only when the last of them goes. Raises ModelError, BudgetSpent.
        """
        flight = self._flights.get(key)
        shared = flight is not None
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(self._call(key, ask, place)))
            flight.task.add_done_callback(lambda _: self._flights.pop(key, None))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task), shared
        finally:
            flight.waiters -= 1
            if flight.waiters == 0 and not flight.task.done():
                flight.task.cancel()
                await asyncio.gather(flight.task, return_exceptions=True)

    async def _call(self, key: str, ask: Request, place: CallContext) -> StoredReply:
        words = StreamBuffer(place, self._screen)

        def waits(kind: str, seconds: float) -> None:
            self.publish(TurnWaiting(place.run_id, place.document.id, place.turn, kind, seconds))

        return await retried(lambda: self._attempt(key, ask, place, words), on_wait=waits)

    async def _attempt(self, key: str, ask: Request, place: CallContext, words: StreamBuffer) -> StoredReply:
        lane = self._lane(place.role_model)
        prompt = sum(len(message.content) for message in ask.messages) // CHARACTERS_PER_TOKEN
        await lane.enter(
            prompt + place.role_model.sampling.max_tokens
        )  # as providers count a request before it is answered
        try:
            async with self.slots, self.budget.reserve(self.models.dearest(place.role_model, ask)) as settle:
                began = time.monotonic()
                self.publish(
                    TurnStarted(
                        place.run_id, place.document.id, place.turn, place.role, place.role_model.model,
                        round=ask.round, replies_to=ask.replies_to, item=ask.item,
                    )
                )  # fmt: skip
                reply = await self._asked(key, ask, place, words, settle)
                seconds = time.monotonic() - began
                stored = stored_reply(key, reply, seconds=seconds, at=time.time(), run_id=place.run_id)
                await self.store.commit(stored)
                words.end()
                self.on_paid(reply)
        except ModelError as error:
            if isinstance(error, RateLimited):
                lane.limited(error.retry_after)
            words.restart()
            raise
        finally:
            lane.leave()
        lane.took()
        return stored

    async def _asked(
        self, key: str, ask: Request, place: CallContext, words: StreamBuffer, settle: Settle
    ) -> ModelReply:
        """The model's reply. A try that comes to none is recorded with what it was billed all the same."""
        began = time.monotonic()

        def lost(kind: str, message: str, text: str, usage: Usage) -> None:
            cost = self.models.cost(place.role_model, usage)
            settle(cost)
            self.on_lost(usage, cost)
            self.sink.attempt(
                AttemptRow(
                    run_id=place.run_id,
                    document_id=place.document.id,
                    role=place.role,
                    key=key,
                    kind=kind,
                    message=message,
                    text=text,
                    usage=usage,
                    cost_usd=cost,
                    seconds=time.monotonic() - began,
                    at=time.time(),
                )
            )

        try:
            reply = await self.models.ask(place.role_model, ask, self.settings, ask.document or place.document, words)
        except ModelError as error:
            lost(error.kind, error.message, error.partial, Usage(*error.billed, estimated=True))
            raise
        except asyncio.CancelledError:
            words.flush()
            if words.said:  # what the server had written by then was billed, most likely
                prompt = sum(len(message.content) for message in ask.messages)
                lost(CUT, "stopped while it spoke", words.said, estimated(prompt, len(words.said)))
            raise
        settle(reply.cost_usd)
        return reply

    def _lane(self, role_model: RoleModel) -> ServerLimiter:
        lane = self._lanes.get(role_model.base_url)
        if lane is None:
            own = self.settings.handling
            limits = self.models.limits(role_model).and_also(own.requests_per_minute, own.tokens_per_minute)
            lane = self._lanes[role_model.base_url] = ServerLimiter(
                limits, self.settings.concurrency, lambda now: self.on_lane(role_model, now)
            )
        return lane
