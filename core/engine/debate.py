"""One debate under way, whoever drives it: the protocol's generator, and the place of each of its asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.annotations import Precedents
from core.debate import protocols
from core.debate.context import DebateContext, parse_reply, run_protocol
from core.debate.turns import Reply, Request, Step, Verdict
from core.documents import Document
from core.engine.keys import reply_key, request_hash
from core.engine.ports import Models, StoredReply, TurnStore
from core.errors import ContextTooLong
from core.runs import RoleModel, RunSettings


@dataclass(frozen=True, slots=True)
class Placed:
    """An ask in its place. ``turn`` counts the asks of the debate from 0; ``occurrence`` counts those among them that
    make the same request, in yield order."""

    document: Document
    turn: int
    ask: Request
    role_model: RoleModel
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
        return run_protocol(
            protocols.of(self._settings).debate, DebateContext(document, self._settings, self._precedents)
        )

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
        on_long, fault = self._settings.handling.on_long, verdict.error
        if fault is not None and fault.kind == ContextTooLong.kind and on_long != "fail":
            if on_long == "skip":
                verdict = skipped(verdict)
            elif (shorter := shortened(self._read, fault.message)) is not None and self._cuts < MOST_CUTS:
                self._cuts += 1
                self._read = shorter
                self._step = self._begun(shorter)
                self._advance(None)
                return
        if self._cuts and verdict.error is None:
            verdict = replace(verdict, notes=(*verdict.notes, note_of_cut(self.document, self._read)))
        self.verdict = verdict

    def _placed(self, ask: Request) -> Placed:
        role_model = self._settings.role_models[ask.role]
        salt = self._models.salt(role_model, ask, self._settings)
        request = request_hash(role_model, ask, salt, self._settings.iteration)
        placed = Placed(self._read, self._turns, ask, role_model, request, self._seen[request])
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
        if retry == retries or placed.ask.form == "text" or reply.reading.readable:
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
    return parse_reply(placed.ask, reply, settings.codebook, placed.document)


MOST_CUTS = 6
"""Tries to make a document fit, each shorter than the one before."""

MARGIN = 0.92
"""What is kept of the share that should fit: prompts hold more than the document, and later roles hear more."""

HALF = 0.5
"""The share that is kept when the server does not say how much would fit."""

_SHORTEST = 200
"""Characters below which there is nothing left to cut."""

_NUMBER = re.compile(r"\d{2,9}")
_CONTEXT = re.compile(
    r"(?:context|maximum|length|size|limit|allowed)\D{0,40}?(\d{2,9})|(\d{2,9})\s(?:tokens\s)?(?:maximum|max|limit)",
    re.IGNORECASE,
)


def share_that_fits(message: str) -> float:
    """The share of a prompt that would fit by a server's words: its context over what was asked for, with a margin. A
    half where the words do not hold two such numbers. Between 0.1 and ``MARGIN``."""
    words = message.partition(": ")[2] or message  # without the names of connection and model
    context = _CONTEXT.search(words)
    asked = max((int(number) for number in _NUMBER.findall(words)), default=0)
    most = int(context[1] or context[2]) if context is not None else 0
    return min(MARGIN, max(0.1, most / asked * MARGIN)) if 0 < most < asked else HALF


def shortened(document: Document, message: str) -> Document | None:
    """The document with the longest of its texts cut at its end to what the server's message leaves room for; None when
    there is nothing to cut. What is kept stands where it stood, so that evidence still points into the whole."""
    fields: Mapping[str, str] = document.fields
    name = max(fields, key=lambda one: len(fields[one]))
    text = fields[name]
    keep = int(len(text) * share_that_fits(message))
    if keep < _SHORTEST:
        return None
    return replace(document, fields={**fields, name: text[:keep]})


def note_of_cut(whole: Document, cut: Document) -> str:
    """What a reader should know of a verdict on a document that was cut."""
    before = sum(map(len, whole.fields.values()))
    after = sum(map(len, cut.fields.values()))
    return f"the text was cut to its first {after:,} of {before:,} characters, to fit the model's context"


def skipped(verdict: Verdict) -> Verdict:
    """The verdict on a document that is left to a person: nothing failed, and nothing was decided."""
    reason = "too long for the model's context: skipped, as this run was told to"
    return replace(verdict, error=None, reasons=dict.fromkeys(verdict.values, reason))
