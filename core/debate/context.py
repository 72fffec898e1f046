"""A case: one document before one codebook, and how a protocol asks about it.

A protocol is a function ``DebateContext -> Step[Verdict]``. It reads like the algorithm in its paper; asking, asking
again when a reply could not be read, and giving up on a provider fault live here, once for all protocols.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from core import prompts
from core.annotations import Precedent, Precedents
from core.codebook import CHOICE_ITEM, Codebook, Kind
from core.debate import evidence
from core.debate.reading import parse
from core.debate.reading.markers import spoken
from core.debate.turns import AttributedReply, Reply, ReplyError, ReplyForm, Request, Step, T, Verdict, family
from core.documents import Document, Value
from core.hashing import digest
from core.prompts.messages import Message
from core.runs import RunSettings

Protocol: TypeAlias = "Callable[[DebateContext], Step[Verdict]]"
Heard: TypeAlias = Reply | Sequence[AttributedReply]
"""What a role is told of others: one reply, or who said what in which round."""

FORMS: Mapping[Kind, ReplyForm] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}
"""The form of a decision on each kind of codebook."""


class _GaveUp(Exception):
    """A reply that a protocol cannot do without has a fault. Never leaves ``conduct``."""

    def __init__(self, fault: ReplyError) -> None:
        self.error = fault


@dataclass(frozen=True)
class DebateContext:
    """One document in one run, as a protocol sees it. ``item`` narrows it to one label or dimension, ``left_out`` is a
    label that it is without."""

    document: Document
    settings: RunSettings
    precedents: Precedents = field(default_factory=dict)
    item: str = ""
    left_out: str = ""

    @cached_property
    def codebook(self) -> Codebook:
        """The codebook the run was started with, or the part of it that the case is narrowed to."""
        whole = self.settings.codebook
        if self.item:
            return whole.only(self.item)
        return whole.without(self.left_out) if self.left_out else whole

    @property
    def form(self) -> ReplyForm:
        """What a reply that decides must hold."""
        return FORMS[self.settings.codebook.kind]

    @property
    def params(self) -> Mapping[str, Any]:
        """The protocol's parameters, parsed: a value for each that its card declares."""
        return self.settings.params

    @cached_property
    def rng(self) -> random.Random:
        """Randomness that is the same whenever this document of this run is debated again."""
        return random.Random(digest([self.settings.seed, self.settings.iteration, self.document.id]))

    def about(self, item: str) -> DebateContext:
        """This case narrowed to one label or dimension."""
        return replace(self, item=item)

    def without(self, label_id: str) -> DebateContext:
        """This case before the codebook without one label; the whole codebook for an empty id."""
        return replace(self, left_out=label_id)

    def nearest(self, item: str, value: Value, most: int) -> tuple[Precedent, ...]:
        """At most this many precedents in which the item has this value, the most similar first. Empty where there are
        none; the document itself is never among them."""
        found = self.precedents.get((item, value), ())
        return tuple(one for one in found if one.document_id != self.document.id)[: max(0, most)]

    def ask(
        self,
        role: str,
        *,
        template: str = "",
        form: ReplyForm = "text",
        round: int = 0,
        replies_to: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        **heard: Heard,
    ) -> Step[Reply]:
        """Ask one role, who has heard the given replies; a reply without the decision it owes is asked for once more.

        Gives the last reply, whose ``reading.problem`` tells whether it can be read. A fault ends the debate.
        """
        ask = self.compose(role, template=template, form=form, round=round, replies_to=replies_to, extra=extra, **heard)
        (reply,) = yield from self.ask_all((ask,))
        return self.needed(reply)

    def ask_all(self, asks: Iterable[Request]) -> Step[tuple[Reply, ...]]:
        """Ask in parallel; replies come in the order of the asks. Those that cannot be read are asked for once more,
        again in parallel. Faults are handed to the protocol as replies."""
        asked = tuple(asks)
        if not asked:
            return ()
        replies = list((yield asked))
        again = [i for i, (ask, reply) in enumerate(zip(asked, replies, strict=True)) if owes_decision(ask, reply)]
        if again:
            seconds = yield tuple(self._again(asked[i], replies[i]) for i in again)
            for i, second in zip(again, seconds, strict=True):
                replies[i] = second
        return tuple(replies)

    def needed(self, reply: Reply) -> Reply:
        """The reply, when the debate cannot go on without it: a fault in it ends the debate as ``failed``."""
        if reply.error is not None:
            raise _GaveUp(reply.error)
        return reply

    def compose(
        self,
        role: str,
        *,
        template: str = "",
        form: ReplyForm = "text",
        round: int = 0,
        replies_to: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        **heard: Heard,
    ) -> Request:
        """The ask for a role who has heard the given replies, rendered from the run's frozen templates.

        ``template`` is that of the role's family when it is not given; ``extra`` are further variables of it, which
        must be delimited already where they hold foreign words.
        """
        values = prompts.variables(self.codebook, self.document, self.settings.templates)
        for name, words in heard.items():
            values[name] = _told(words)
        values |= extra or {}
        return Request(
            role=role,
            messages=prompts.render(self.settings.templates[template or family(role)], values),
            inputs={**heard, **(extra or {})},
            form=form,
            round=round,
            replies_to=tuple(dict.fromkeys(replies_to)),
            item=self.item,
            without=self.left_out,
        )

    def verdict(self, ruling: Reply, *, among: tuple[Reply, ...] = ()) -> Verdict:
        """The verdict that ``ruling`` holds.

        With ``among``, what none of these replies names cannot be decided for: a label is left absent and noted, a
        choice is unresolved; ratings stand as they are. The rule needs to know what was named, so it is not applied
        when the first of them could not be read.
        """
        reading = ruling.reading
        if not reading.readable:
            return self.unresolved(reading.problem)
        values: dict[str, Value | None] = {item: reading.values.get(item) for item in self.codebook.items}
        reasons = {
            item: reading.undecided.get(item, "the decision does not mention it")
            for item, value in values.items()
            if value is None
        }
        notes = [f"'{name}' is not in the codebook" for name in reading.unknown]
        if among and among[0].reading.readable:
            self._keep_to(self._named(among), values, reasons, notes)
        return Verdict(values=values, reasons=reasons, notes=tuple(notes))

    def merged(self, parts: Mapping[str, Verdict]) -> Verdict:
        """One verdict from those on single labels, by item; a fault in one of them is the whole's."""
        values: dict[str, Value | None] = {item: part.values.get(item) for item, part in parts.items()}
        reasons = {item: part.reasons[item] for item, part in parts.items() if item in part.reasons}
        notes = dict.fromkeys(note for part in parts.values() for note in part.notes)
        fault = next((part.error for part in parts.values() if part.error is not None), None)
        if fault is not None:
            return self.failed(fault)
        return Verdict(values=values, reasons=reasons, notes=tuple(notes))

    def unresolved(self, reason: str) -> Verdict:
        """A verdict in which nothing could be read."""
        items = self.codebook.items
        return Verdict(values=dict.fromkeys(items), reasons=dict.fromkeys(items, reason))

    def failed(self, fault: ReplyError) -> Verdict:
        """A verdict after a provider fault."""
        return replace(self.unresolved(fault.message), error=fault)

    def _keep_to(
        self, named: frozenset[str], values: dict[str, Value | None], reasons: dict[str, str], notes: list[str]
    ) -> None:
        match self.codebook.kind:
            case "multilabel":
                for item in [item for item, value in values.items() if value is True and item not in named]:
                    values[item] = False
                    notes.append(f"'{self.codebook.label(item).name}' was named by neither analysis, left out")
            case "choice":
                chosen = values[CHOICE_ITEM]
                if isinstance(chosen, str) and chosen not in named:
                    values[CHOICE_ITEM] = None
                    reasons[CHOICE_ITEM] = f"'{self.codebook.label(chosen).name}' was named by neither analysis"
            case "rating":
                pass

    def _named(self, analyses: Iterable[Reply]) -> frozenset[str]:
        """What the analyses name: their lists or choices, and for one without a decision every label that its text
        mentions."""
        return frozenset().union(*(self._names(reply) for reply in analyses))

    def _names(self, reply: Reply) -> Iterable[str]:
        if not reply.reading.readable:
            return parse.mentions(reply.text, self.codebook)
        return reply.reading.selected

    def _again(self, ask: Request, reply: Reply) -> Request:
        request = prompts.render_text(self.settings.templates[prompts.REASK], {"problem": reply.reading.problem})
        said = (Message("assistant", reply.text),) if reply.text.strip() else ()
        return replace(ask, messages=(*ask.messages, *said, Message("user", request)), retry=ask.retry + 1)


def _told(words: Heard) -> str:
    """What others said as a prompt shows it: delimited, without their thinking."""
    if isinstance(words, Reply):
        return prompts.delimited(spoken(words.text), "analysis")
    rounds = max((said.round for said in words), default=0)
    lines: list[str] = []
    heading = -1
    for said in words:
        if rounds and said.round != heading:
            heading = said.round
            lines.append(f"Round {heading + 1}:")
        lines.append(f"{said.speaker}:\n{prompts.delimited(spoken(said.reply.text), 'analysis')}")
    return "\n\n".join(lines)


def owes_decision(ask: Request, reply: Reply) -> bool:
    """Whether the reply lacks the decision that the ask expects and may be asked for again."""
    return ask.form != "text" and reply.error is None and not reply.reading.readable and ask.retry == 0


def conduct(protocol: Protocol, case: DebateContext) -> Step[Verdict]:
    """A protocol on a case, to its verdict; a fault in a reply it cannot do without makes the verdict ``failed``."""
    try:
        return (yield from protocol(case))
    except _GaveUp as gave_up:
        return case.failed(gave_up.error)


def interpret(ask: Request, reply: Reply, codebook: Codebook, document: Document) -> Reply:
    """The reply with its reading and evidence. Drivers call this on every reply before they send it on.

    Where the ask is about a part of the codebook the reply is read as if there were no other labels; evidence is looked
    for in the document under debate alone, so words on a precedent offer none.
    """
    if reply.error is not None:
        return reply
    codebook = ask.narrow(codebook)
    reading = parse.read(reply.text, reading_form(ask, codebook), codebook, finish=reply.finish)
    quotes = evidence.gather(reply.text, codebook, document.fields) if ask.document is None else ()
    return replace(reply, reading=reading, evidence=quotes)


def reading_form(ask: Request, codebook: Codebook) -> ReplyForm:
    """What to look for in a reply: what the ask expects, and for plain text the codebook's own form, as a list in it is
    welcome."""
    return ask.form if ask.form != "text" else FORMS[codebook.kind]


def together(*steps: Step[T]) -> Step[tuple[T, ...]]:
    """Child protocols in parallel, stage by stage: the asks of all that still speak go out as one, results come back in
    the order of the steps."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Request, ...]] = {}

    def advance(index: int, replies: tuple[Reply, ...] | None) -> None:
        waiting.pop(index, None)
        try:
            waiting[index] = next(steps[index]) if replies is None else steps[index].send(replies)
        except StopIteration as end:
            results[index] = end.value

    for index in range(len(steps)):
        advance(index, None)
    while waiting:
        stage = dict(waiting)
        replies = iter((yield tuple(ask for asks in stage.values() for ask in asks)))
        for index, asks in stage.items():
            advance(index, tuple(next(replies) for _ in asks))
    return tuple(results[index] for index in range(len(steps)))
