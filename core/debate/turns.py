"""Ask, Reply, Reading, Verdict: the values that a debate is made of. No I/O, no clock."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from core.annotations import Evidence
from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Document, Value
from core.prompts.messages import Message

_MEMBER = re.compile(r"^(?P<family>.+)_(?:[a-z]|\d{1,3})$")


def family(role: str) -> str:
    """Return the family of a role: ``annotator`` of ``annotator_b``, ``judge`` of ``judge_2``; else the role itself.

    Members of a family share their templates and can be given a model with one word.
    """
    match = _MEMBER.match(role)
    return match["family"] if match else role


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a protocol. ``does`` says in a few words what the role is for, ``group`` which group it belongs to."""

    name: str
    title: str
    does: str
    group: str = ""

    @property
    def family(self) -> str:
        """The role's family; its own name when it has none."""
        return family(self.name)


Expect: TypeAlias = Literal["text", "labels", "choice", "ratings"]
"""What a reply must hold. ``text`` can always be read; a list in it is welcome but optional."""

DecisionPath: TypeAlias = Literal["", "short", "audited", "full"]
"""How far an adaptive debate went: decided on what was said first; debated in full although it could have been decided
so, to see what is lost; debated in full as it had to be."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that a protocol makes of a role.

    ``messages`` is what a language model gets; ``inputs`` are the structured values they were rendered from, which the
    built-in model reads instead. ``retry`` is 1 for the second try after an unreadable reply.

    ``round`` counts from 0 where a protocol goes round; ``answers`` are the roles whose words it has heard; ``item`` is
    the one label (or dimension) that it is about, empty for the whole codebook; ``without`` is a label that it leaves
    out. ``sample`` tells several samples of one request apart for servers that take a seed. ``document`` is set when
    the ask is about another document than the one under debate (a precedent). ``assigned`` is set when the answer that
    is spoken for was given to the role. None of these is part of the request.
    """

    role: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    expects: Expect = "text"
    retry: int = 0
    round: int = 0
    answers: tuple[str, ...] = ()
    item: str = ""
    without: str = ""
    sample: int = 0
    document: Document | None = None
    assigned: bool = False

    @property
    def aside(self) -> bool:
        """Whether the reply is nobody's own view of the document under debate before the whole codebook or one label
        of it: nothing is annotated by it."""
        return self.document is not None or bool(self.without) or self.assigned

    def narrowed(self, codebook: Codebook) -> Codebook:
        """The part of the run's codebook that the reply is read with."""
        if self.item:
            return codebook.only(self.item)
        return codebook.without(self.without) if self.without else codebook


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply. ``cached_tokens`` are the prompt tokens that the server took from its prefix cache and
    ``reasoning_tokens`` are part of ``completion_tokens``. ``estimated`` is set when the server reported nothing."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A provider error that outlasted the retries, as a value: ``kind`` is ``ModelError.kind``."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a parser made of a reply.

    ``values`` maps item (label id; ``"label"`` for a choice) to its value and holds an entry for each item that could
    be read; ``undecided`` maps the items that the agent itself left open to the reason. ``unknown`` are names that are
    not in the codebook, reported and never mapped to a near one. ``problem`` says why nothing could be read; it is
    empty when the reading counts.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    undecided: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    problem: str = ""

    @property
    def readable(self) -> bool:
        """Whether the reply held a decision."""
        return not self.problem

    @property
    def present(self) -> tuple[str, ...]:
        """Items whose value is True, in codebook order."""
        return tuple(item for item, value in self.values.items() if value is True)

    @property
    def named(self) -> tuple[str, ...]:
        """The ids of the labels that it names: those present, or the one chosen. Ratings name none."""
        chosen = self.values.get(CHOICE_ITEM)
        return (chosen,) if isinstance(chosen, str) else self.present


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to an ask: text or a fault, never an exception.

    ``finish`` is ``length`` when the output limit cut the text. ``reading`` and ``evidence`` are made from the text by
    this project's parsers and can be made again at no cost.
    """

    text: str = ""
    reasoning: str = ""
    finish: Literal["stop", "length"] = "stop"
    usage: Usage = Usage()
    fault: Fault | None = None
    reading: Reading = Reading()
    evidence: tuple[Evidence, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether there is no text because the provider failed."""
        return self.fault is not None


@dataclass(frozen=True, slots=True)
class Statement:
    """A reply as others hear it: who said it, under the name that they know the speaker by, and in which round."""

    role: str
    speaker: str
    reply: Reply
    round: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a debate ends in.

    ``values`` has an entry for every item of the codebook, None where it could not be read, with the reason in
    ``reasons``. ``notes`` report what a reader should know (a name outside the codebook, a label the judge added).
    ``course`` is empty where every debate of the run is full length.
    """

    values: Mapping[str, Value | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: Fault | None = None
    course: DecisionPath = ""

    @property
    def status(self) -> Literal["verdict", "unresolved", "failed"]:
        """``verdict`` when every item has a value, ``failed`` after a fault, else ``unresolved``."""
        if self.fault is not None:
            return "failed"
        return "unresolved" if any(value is None for value in self.values.values()) else "verdict"


T = TypeVar("T")
Step: TypeAlias = Generator[tuple[Ask, ...], tuple[Reply, ...], T]
"""A protocol in motion: yields asks that may run in parallel, is sent their replies in the same order, returns T."""
