"""One debate under way, whoever drives it: the protocol's generator, and the place of each of its asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.annotations import Precedents
from core.debate import protocols
from core.debate.case import Case, conduct, interpret
from core.debate.turns import Ask, Reply, Step, Verdict
from core.documents import Document
from core.engine import long
from core.engine.keys import reply_key, request_hash
from core.engine.ports import Models, StoredReply, TurnStore
from core.errors import ContextTooLong
from core.runs import RunSettings, Seat


@dataclass(frozen=True, slots=True)
class Placed:
    """An ask in its place. ``turn`` counts the asks of the debate from 0; ``occurrence`` counts those among them that
    make the same request, in yield order."""

    document: Document
    turn: int
    ask: Ask
    seat: Seat
    request: str
    occurrence: int

    def key(self, retry: int) -> str:
        """The name of its reply in the turn store."""
        return reply_key(self.request, self.occurrence, retry)


@dataclass(frozen=True, slots=True)
class Found:
    """What the turn store has for an ask: the reply, or with ``stored`` None the key under which it is to be paid."""

    key: str
    stored: StoredReply | None = None
    reply: Reply = Reply()


class Debate:
    """The debate on one document. ``waiting`` are the asks it needs replies to; ``verdict`` is set when it has ended.

    Driving it anew with the same replies takes it to the same place: that is how a run is resumed.
    """

    def __init__(
        self, document: Document, settings: RunSettings, models: Models, precedents: Precedents | None = None
    ) -> None:
        self.document = document
        self._read = document
        self.waiting: tuple[Placed, ...] = ()
        self.verdict: Verdict | None = None
        self._settings = settings
        self._models = models
        self._precedents = precedents or {}
        self._seen: Counter[str] = Counter()
        self._turns = 0
        self._cuts = 0
        self._step = self._begun(document)
        self._advance(None)

    def hear(self, replies: Sequence[Reply]) -> None:
        """Send the replies to ``waiting``, in its order."""
        self._advance(tuple(replies))

    def close(self) -> None:
        """End it where it stands."""
        self._step.close()

    def _begun(self, document: Document) -> Step[Verdict]:
        return conduct(protocols.of(self._settings).debate, Case(document, self._settings, self._precedents))

    def _advance(self, replies: tuple[Reply, ...] | None) -> None:
        try:
            asks = next(self._step) if replies is None else self._step.send(replies)
        except StopIteration as end:
            self.waiting, self.verdict = (), None
            self._conclude(end.value)
        else:
            self.waiting = tuple(self._placed(ask) for ask in asks)

    def _conclude(self, verdict: Verdict) -> None:
        """Take the verdict, or begin anew on less of a document that did not fit, as the run was told."""
        on_long, fault = self._settings.handling.on_long, verdict.fault
        if fault is not None and fault.kind == ContextTooLong.kind and on_long != "fail":
            if on_long == "skip":
                verdict = long.skipped(verdict)
            elif (shorter := long.shortened(self._read, fault.message)) is not None and self._cuts < long.MOST_CUTS:
                self._cuts += 1
                self._read = shorter
                self._step = self._begun(shorter)
                self._advance(None)
                return
        if self._cuts and verdict.fault is None:
            verdict = replace(verdict, notes=(*verdict.notes, long.note_of_cut(self.document, self._read)))
        self.verdict = verdict

    def _placed(self, ask: Ask) -> Placed:
        seat = self._settings.seats[ask.role]
        salt = self._models.salt(seat, ask, self._settings)
        request = request_hash(seat, ask, salt, self._settings.iteration)
        placed = Placed(self._read, self._turns, ask, seat, request, self._seen[request])
        self._seen[request] += 1
        self._turns += 1
        return placed


async def look_up(store: TurnStore, placed: Placed, settings: RunSettings, retries: int) -> Found:
    """What the store has for an ask. A reply that could not be read is passed over once for each of the ``retries``
    that the run was asked for."""
    key = placed.key(retries)
    for retry in range(retries + 1):
        key = placed.key(retry)
        stored = await store.fetch(key) if store.known(key) else None
        if stored is None:
            break
        reply = heard(stored, placed, settings)
        if retry == retries or placed.ask.expects == "text" or reply.reading.readable:
            return Found(key, stored, reply)
    return Found(key)


def heard(stored: StoredReply, placed: Placed, settings: RunSettings) -> Reply:
    """The stored reply as the protocol hears it: read, its quotations located."""
    reply = Reply(
        text=stored.text,
        reasoning=stored.reasoning,
        finish="length" if stored.finish == "length" else "stop",
        usage=stored.usage,
    )
    return interpret(placed.ask, reply, settings.codebook, placed.document)
