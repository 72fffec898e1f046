"""One debate in progress, on any engine: the protocol's generator, its pending turns, and the keys of their replies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from core.debate import protocols
from core.debate.context import DebateContext, parse_reply, run_protocol
from core.debate.turns import Reply, ReplyError, Request, Step, Turn, Verdict
from core.documents import Document, Precedents, storable
from core.engine.interfaces import Fetch
from core.engine.truncation import MAX_CUTS, describe_cut, skipped_verdict, too_long_verdict, truncate
from core.errors import ContextTooLong
from core.hashing import digest
from core.llm.model_library import ModelLibrary
from core.llm.streaming import no_text_error
from core.runs import RoleModel, RunSettings, Sampling


def request_hash(models: ModelLibrary, request: Request, settings: RunSettings) -> str:
    """Return the hash of a request, before any fallback for what a server refuses."""
    role_model = settings.role_models[request.role]
    return digest(
        {
            "base_url": role_model.base_url,
            "model": role_model.model,
            "sampling": _hashed_sampling(role_model.sampling),
            "messages": [[message.role, message.content] for message in request.messages],
            "form": request.form,
            "iteration": settings.iteration,
            "salt": dict(models.salt(role_model, request, settings)),
            **({"limit_factor": request.limit_factor} if request.limit_factor > 1 else {}),
        }
    )


@lru_cache(maxsize=64)
def _hashed_sampling(sampling: Sampling) -> dict[str, object]:
    """Return the sampling parameters that belong in the hash of a request, which contains its own schema."""
    return sampling.model_dump(mode="json", exclude={"json_schema", "default_limit"})


def paid_reply(reply: Reply, key: str, *, run_id: str, seconds: float = 0.0, output_limit: int = 0) -> Reply:
    """Return a model's reply as the store keeps it. Its text is made storable, so that a replay renders the same."""
    return replace(
        reply,
        text=storable(reply.text),
        reasoning=storable(reply.reasoning),
        key=key,
        run_id=run_id,
        seconds=seconds,
        unix_time=time.time(),
        output_limit=output_limit,
    )


def equal_replies(
    requests: Sequence[Request],
    answered: Sequence[tuple[Request, Reply]],
    settings: RunSettings,
    models: ModelLibrary,
) -> dict[int, Reply]:
    """Return, by place among requests, the replies that were cut and whose limit cannot be raised any further.

    ``answered`` are the last requests that were sent. A plain-text reply without text is an error, as the reply to a
    request with a raised limit would be.
    """
    unused, equal = list(answered), {}
    for index, request in enumerate(requests):
        role_model = settings.role_models[request.role]
        for number, (earlier, reply) in enumerate(unused):
            if (
                request.limit_factor > earlier.limit_factor
                and replace(request, limit_factor=earlier.limit_factor, reask=earlier.reask, kept=earlier.kept)
                == earlier
                and 0 < models.sent_limit(role_model, request.output_limit(role_model)) <= reply.output_limit
            ):
                if request.form == "text" and not reply.text.strip():
                    error = no_text_error(role_model, reply.output_limit)
                    reply = Reply(error=ReplyError(error.kind, str(error)))
                equal[index] = reply
                del unused[number]
                break
    return equal


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """A request in its place in a debate.

    ``turn`` counts the requests of the debate from 0. ``occurrence`` counts the requests with the same hash in the
    debate, in yield order, so that three annotators on one model do not share a reply.
    """

    document: Document
    turn: int
    request: Request
    role_model: RoleModel
    hash: str
    occurrence: int
    output_limit: int = 0
    """The output limit in tokens that is sent, 0 for none: a server may allow less than the request's."""
    equal: Reply | None = None
    """The earlier reply to the same request if it was cut and its limit cannot be raised: nothing is sent."""

    def key(self, retry_round: int, *output_limit: int) -> str:
        """Return the key of the reply in the store, with the output limit if a smaller one has cut the stored reply."""
        return digest([self.hash, self.occurrence, retry_round, *output_limit])

    def started(self, run_id: str, *, cached: bool = False) -> Turn:
        """Return the turn before its reply."""
        request = self.request
        return Turn(
            run_id=run_id,
            document_id=self.document.id,
            turn=self.turn,
            role=request.role,
            role_model=self.role_model,
            messages=request.messages,
            form=request.form,
            reask=request.reask,
            round=request.round,
            replies_to=request.replies_to,
            item=request.item,
            cached=cached,
        )

    def finished(self, run_id: str, reply: Reply, items: Sequence[str], *, cached: bool) -> Turn:
        """Return the turn with its reply; ``items`` are those of the run's codebook."""
        request, reading = self.request, reply.reading
        answered_items = (request.item,) if request.item else items
        gives_values = reading.readable and not request.is_auxiliary
        values = {item: reading.values.get(item) for item in answered_items} if gives_values else None
        return replace(self.started(run_id, cached=cached), reply=reply, values=values)


class Debate:
    """The debate on one document: ``pending`` are the turns whose replies it needs; ``verdict`` is set at its end."""

    def __init__(
        self, document: Document, settings: RunSettings, models: ModelLibrary, precedents: Precedents | None = None
    ) -> None:
        self.document = document
        self._debated_document = document
        self.pending: tuple[PendingTurn, ...] = ()
        self.verdict: Verdict | None = None
        self._settings = settings
        self._models = models
        self._precedents = precedents or {}
        self._occurrences: Counter[str] = Counter()
        self._turns = 0
        self._cuts = 0
        self._step = self._start(document)
        self._advance(None)

    def send(self, replies: Sequence[Reply]) -> None:
        """Send the replies to the pending turns, in their order."""
        answered = list(zip((pending.request for pending in self.pending), replies, strict=True))
        self._advance(tuple(replies), answered)

    def close(self) -> None:
        """Close the generator."""
        self._step.close()

    def _start(self, document: Document) -> Step[Verdict]:
        return run_protocol(
            protocols.for_settings(self._settings).debate, DebateContext(document, self._settings, self._precedents)
        )

    def _advance(self, replies: tuple[Reply, ...] | None, answered: Sequence[tuple[Request, Reply]] = ()) -> None:
        """Send replies to the generator and take its next requests; ``answered`` are the last ones that were sent."""
        try:
            requests = next(self._step) if replies is None else self._step.send(replies)
        except StopIteration as end:
            longest = max((pending.request.characters for pending in self.pending), default=0)
            self.pending, self.verdict = (), None
            self._conclude(end.value, longest)
        else:
            equal = equal_replies(requests, answered, self._settings, self._models)
            self.pending = tuple(
                self._pending_turn(request, equal.get(index)) for index, request in enumerate(requests)
            )

    def _conclude(self, verdict: Verdict, prompt_characters: int) -> None:
        """Set the verdict, or debate a shortened document again if it did not fit and the settings say so.

        ``prompt_characters`` is the length of the longest prompt of the last step.
        """
        on_long, error = self._settings.handling.on_long, verdict.error
        if error is not None and error.kind == ContextTooLong.kind and on_long != "fail":
            if on_long == "skip":
                verdict = skipped_verdict(verdict)
            else:
                shorter = truncate(self._debated_document, error.message, prompt_characters)
                if shorter is not None and self._cuts < MAX_CUTS:
                    self._cuts += 1
                    self._debated_document = shorter
                    self._step = self._start(shorter)
                    self._advance(None)
                    return
                verdict = too_long_verdict(verdict, error)
        if self._cuts and verdict.error is None:
            verdict = replace(verdict, notes=(*verdict.notes, describe_cut(self.document, self._debated_document)))
        self.verdict = verdict

    def _pending_turn(self, request: Request, equal: Reply | None) -> PendingTurn:
        role_model = self._settings.role_models[request.role]
        hash = request_hash(self._models, request, self._settings)
        limit = self._models.sent_limit(role_model, request.output_limit(role_model))
        occurrence = self._occurrences[hash]
        pending = PendingTurn(self._debated_document, self._turns, request, role_model, hash, occurrence, limit, equal)
        self._occurrences[hash] += 1
        self._turns += 1
        return pending


async def find_reply(
    fetch: Fetch, pending: PendingTurn, settings: RunSettings, retry_rounds: Mapping[str, int]
) -> tuple[str, Reply | None]:
    """Return the key of a pending turn's reply and the stored reply, parsed; None if it has to be paid for.

    The turn's ``equal`` reply stands in for a missing one only: a second one may have been stored before the limit of
    the server was known. A reply that was cut by a smaller limit than would be sent now is passed over. An unreadable
    one is passed over as often as its document was retried, by ``retry_rounds``, and if a later retry has a readable
    one: a rerun gives the same verdicts as a run that was retried.
    """
    unreadable: tuple[str, Reply] | None = None
    retry_round = 0
    while True:
        key = pending.key(retry_round)
        stored = await fetch(key)
        if stored is not None and stored.finish_reason == "length" and 0 < stored.output_limit < pending.output_limit:
            key = pending.key(retry_round, pending.request.output_limit(pending.role_model))
            stored = await fetch(key)
        if stored is None:
            return unreadable or (key, pending.equal)
        reply = read_reply(stored, pending, settings)
        if pending.request.form == "text" or reply.reading.readable:
            return key, reply
        if retry_round >= retry_rounds.get(pending.document.id, 0) and unreadable is None:
            unreadable = key, reply
        retry_round += 1


def read_reply(reply: Reply, pending: PendingTurn, settings: RunSettings) -> Reply:
    """Return a stored reply with its reading and its located quotes."""
    return parse_reply(pending.request, reply, settings.codebook, pending.document)
