"""A case: one document before one codebook, and how a protocol asks about it.

A protocol is a function ``Case -> Step[Verdict]``. It reads like the algorithm in its paper; asking, asking again when
a reply could not be read, and giving up on a provider fault live here, once for all protocols.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from core import prompts
from core.codebook import Codebook
from core.debate import evidence, parsing
from core.debate.turns import Ask, Expect, Fault, Message, Reply, Step, T, Verdict
from core.documents import Document, Value
from core.hashing import digest
from core.runs import RunSettings

Protocol: TypeAlias = "Callable[[Case], Step[Verdict]]"


class _GaveUp(Exception):
    """A reply that a protocol cannot do without has a fault. Never leaves ``conduct``."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


@dataclass(frozen=True)
class Case:
    """One document in one run, as a protocol sees it."""

    document: Document
    settings: RunSettings

    @property
    def codebook(self) -> Codebook:
        """The codebook the run was started with."""
        return self.settings.codebook

    @cached_property
    def rng(self) -> random.Random:
        """Randomness that is the same whenever this document of this run is debated again."""
        return random.Random(digest([self.settings.seed, self.settings.iteration, self.document.id]))

    def ask(self, role: str, *, expects: Expect = "text", **heard: Reply) -> Step[Reply]:
        """Ask one role, who has heard the given replies; a reply without the decision it owes is asked for once more.

        Gives the last reply, whose ``reading.problem`` tells whether it can be read. A fault ends the debate.
        """
        (reply,) = yield from self.ask_all((self.compose(role, expects=expects, **heard),))
        if reply.fault is not None:
            raise _GaveUp(reply.fault)
        return reply

    def ask_all(self, asks: Iterable[Ask]) -> Step[tuple[Reply, ...]]:
        """Ask in parallel; replies come in the order of the asks. Those that cannot be read are asked for once more,
        again in parallel. Faults are handed to the protocol as replies."""
        asked = tuple(asks)
        replies = list((yield asked))
        again = [i for i, (ask, reply) in enumerate(zip(asked, replies, strict=True)) if owes_decision(ask, reply)]
        if again:
            seconds = yield tuple(self._again(asked[i], replies[i]) for i in again)
            for i, second in zip(again, seconds, strict=True):
                replies[i] = second
        return tuple(replies)

    def compose(self, role: str, *, expects: Expect = "text", **heard: Reply) -> Ask:
        """The ask for a role who has heard the given replies, rendered from the run's frozen templates."""
        values: dict[str, Any] = prompts.variables(self.codebook, self.document)
        values["definitions"] = prompts.definitions(self.settings.templates[prompts.DEFINITIONS], self.codebook)
        for name, reply in heard.items():
            values[name] = prompts.delimited(reply.text, "analysis")
        messages = prompts.render(self.settings.templates[role], values)
        return Ask(role=role, messages=messages, inputs=heard, expects=expects)

    def verdict(self, ruling: Reply, *, among: tuple[Reply, ...] = ()) -> Verdict:
        """The verdict that ``ruling`` holds.

        With ``among``, a label that none of these replies names cannot become present: it is left absent and noted.
        The rule needs to know what was named, so it is not applied when the first of them could not be read.
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
            named = self._named(among)
            for item in [item for item, value in values.items() if value is True and item not in named]:
                values[item] = False
                notes.append(f"'{self.codebook.label(item).name}' was named by neither analysis, left out")
        return Verdict(values=values, reasons=reasons, notes=tuple(notes))

    def unresolved(self, reason: str) -> Verdict:
        """A verdict in which nothing could be read."""
        items = self.codebook.items
        return Verdict(values=dict.fromkeys(items), reasons=dict.fromkeys(items, reason))

    def failed(self, fault: Fault) -> Verdict:
        """A verdict after a provider fault."""
        return replace(self.unresolved(fault.message), fault=fault)

    def _named(self, analyses: Iterable[Reply]) -> frozenset[str]:
        """What the analyses name: their lists, and for one without a list every label that its text mentions."""
        return frozenset().union(
            *(
                reply.reading.present if reply.reading.readable else parsing.mentions(reply.text, self.codebook)
                for reply in analyses
            )
        )

    def _again(self, ask: Ask, reply: Reply) -> Ask:
        request = prompts.render_text(self.settings.templates[prompts.REASK], {"problem": reply.reading.problem})
        said = (Message("assistant", reply.text),) if reply.text.strip() else ()
        return replace(ask, messages=(*ask.messages, *said, Message("user", request)), retry=ask.retry + 1)


def owes_decision(ask: Ask, reply: Reply) -> bool:
    """Whether the reply lacks the decision that the ask expects and may be asked for again."""
    return ask.expects != "text" and reply.fault is None and not reply.reading.readable and ask.retry == 0


def conduct(protocol: Protocol, case: Case) -> Step[Verdict]:
    """A protocol on a case, to its verdict; a fault in a reply it cannot do without makes the verdict ``failed``."""
    try:
        return (yield from protocol(case))
    except _GaveUp as gave_up:
        return case.failed(gave_up.fault)


def interpret(ask: Ask, reply: Reply, codebook: Codebook, document: Document) -> Reply:
    """The reply with its reading and evidence. Drivers call this on every reply before they send it on."""
    if reply.fault is not None:
        return reply
    reading = parsing.read(reply.text, reading_form(ask, codebook), codebook, finish=reply.finish)
    return replace(reply, reading=reading, evidence=evidence.gather(reply.text, codebook, document.fields))


def reading_form(ask: Ask, codebook: Codebook) -> Expect:
    """What to look for in a reply: what the ask expects, and for plain text the codebook's own form, as a list in it is
    welcome."""
    if ask.expects != "text":
        return ask.expects
    forms: Mapping[str, Expect] = {"multilabel": "labels", "choice": "choice", "rating": "ratings"}
    return forms[codebook.kind]


def together(*steps: Step[T]) -> Step[tuple[T, ...]]:
    """Child protocols in parallel, stage by stage: the asks of all that still speak go out as one, results come back in
    the order of the steps."""
    results: dict[int, T] = {}
    waiting: dict[int, tuple[Ask, ...]] = {}

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
