"""Values of a debate: Role, Request, Reply, Reading, Turn, Verdict. No I/O, no clock. Stored replies are JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import orjson
from pydantic import TypeAdapter

from core.codebook import CHOICE_ITEM, Codebook
from core.documents import Document, Evidence, Value, is_number
from core.prompts import Message
from core.runs import RoleModel

_FAMILY_MEMBER = re.compile(r"^(?P<family>.+)_(?:[a-z]|\d{1,3})$")


@lru_cache(maxsize=256)
def family(role: str) -> str:
    """Return the family of a role: ``annotator`` for ``annotator_b``, ``judge`` for ``judge_2``, else the role itself.

    Members of a family share their templates and can be given a model with one word.
    """
    match = _FAMILY_MEMBER.match(role)
    return match["family"] if match else role


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a protocol. ``description`` is what the role does in a few words, ``group`` is its group of roles.

    ``votes`` is False if its decision is only compared with that of another member of its family.
    """

    name: str
    title: str
    description: str
    group: str = ""
    votes: bool = True

    @property
    def family(self) -> str:
        """The role's family; the role's own name if it has no family."""
        return family(self.name)


ReplyForm: TypeAlias = Literal["text", "labels", "choice", "ratings"]
"""The decision that a reply must contain. ``text`` needs no decision; one in it is read but optional."""

DecisionPath: TypeAlias = Literal["", "short", "audited", "full"]
"""Length of an adaptive debate: ``short`` is decided on the first replies, ``full`` is debated because it had to be.

``audited`` could have been short and was debated in full, to measure what a short debate loses.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a protocol to a role.

    The text that is sent to a language model is that of the ``messages``.
    """

    role: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The values that the messages were rendered from. The built-in model reads these."""
    form: ReplyForm = "text"
    """The decision that the reply must contain."""
    reask: int = 0
    """1 for the second attempt after an unreadable reply."""
    kept: Mapping[str, Value] = field(default_factory=dict)
    """Ratings of the first reply, which count if the second neither repeats them nor leaves them open."""
    round: int = 0
    """The number of the round, from 0, in protocols with rounds."""
    replies_to: tuple[str, ...] = ()
    """The roles whose replies the messages contain."""
    item: str = ""
    """The one label or dimension in question, empty for the whole codebook."""
    excluded_label: str = ""
    """A label that the request leaves out."""
    limit_factor: int = 1
    """Multiplies the output limit of the role's model, after a reply that was cut by it."""
    sample: int = 0
    """The number of one of several samples of a request, for servers that accept a seed."""
    document: Document | None = None
    """The document in question if it is not the debated one but a precedent."""
    assigned: bool = False
    """True if the role was given the position that it argues for."""
    answer_only: bool = False
    """True if the reply has no reasons, so that a JSON reply has no place for them either."""

    @property
    def characters(self) -> int:
        """Length of the messages in characters."""
        return sum(len(message.content) for message in self.messages)

    def output_limit(self, role_model: RoleModel) -> int:
        """Return the output limit of this request in tokens."""
        return role_model.sampling.output_limit * self.limit_factor

    @property
    def is_auxiliary(self) -> bool:
        """True if the reply is not the role's own view of this document and codebook, so it gives no annotations."""
        return self.document is not None or bool(self.excluded_label) or self.assigned

    def narrow(self, codebook: Codebook) -> Codebook:
        """Return the part of the run's codebook that the reply is read with."""
        return codebook.part(self.item, self.excluded_label)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply.

    ``cached_tokens`` are the prompt tokens that the server took from its prefix cache. ``reasoning_tokens`` are part
    of ``completion_tokens``. ``estimated`` is set if the server reported no usage. ``written_tokens`` are the prompt
    tokens that the server stored in its cache; they matter for the price alone and are not kept.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    written_tokens: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ReplyError:
    """A provider error that outlasted the retries, as a value: ``kind`` is ``ModelError.kind``."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The parsed decision of a reply."""

    values: Mapping[str, Value] = field(default_factory=dict)
    """The value of each item that could be read (a label id; ``"label"`` for a choice)."""
    undecided: Mapping[str, str] = field(default_factory=dict)
    """The reason why an item has no value, by item."""
    unknown: tuple[str, ...] = ()
    """Names that are not in the codebook. They are reported and never mapped to a similar name."""
    problem: str = ""
    """The reason why the reply could not be read, empty if the reading counts."""
    missing: tuple[str, ...] = ()
    """Ratings that are not in the reply and that the role did not leave open itself."""
    start: int = field(default=0, compare=False)
    """The position in the reply's text from which on the decision is stated."""
    certainty: Mapping[str, float] = field(default_factory=dict, compare=False)
    """The probability (0 to 1) that the model gave to the words of its decision, by item; empty if unknown."""

    @property
    def readable(self) -> bool:
        """True if the reply contains a decision."""
        return not self.problem

    @property
    def present(self) -> tuple[str, ...]:
        """Items whose value is True, in codebook order."""
        return tuple(item for item, value in self.values.items() if value is True)

    @property
    def selected(self) -> tuple[str, ...]:
        """Ids of the labels that the reply selects: those present, or the chosen one. Empty for ratings."""
        label_id = self.values.get(CHOICE_ITEM)
        return (label_id,) if isinstance(label_id, str) else self.present


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a request: text or an error, never an exception.

    A client returns the fields up to ``token_logprobs``, the engine adds the next five, and the store keeps all of
    these. Errors are never stored. ``reading`` and ``evidence`` are parsed from the text and can be parsed again at no
    cost.
    """

    text: str = ""
    reasoning: str = ""
    finish_reason: Literal["stop", "length", "vector"] = "stop"
    """``length`` if the output limit cut the text; ``vector`` for the embedding of another text, which no turn has."""
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None if the price is unknown."""
    refused_params: tuple[str, ...] = ()
    """Parameters that the server refused and that were not sent."""
    served_model: str = ""
    """The server's own name of the model, which may change behind one configured name; empty if not reported."""
    token_logprobs: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    """The position in the text and the log probability of each token, if the server reports them."""
    key: str = ""
    """The hash of the request."""
    run_id: str = ""
    """The run that paid for the reply."""
    seconds: float = 0.0
    unix_time: float = 0.0
    """The end of the reply."""
    output_limit: int = 0
    """The output limit of the request in tokens, 0 if unknown."""
    error: ReplyError | None = None
    reading: Reading = Reading()
    evidence: tuple[Evidence, ...] = ()

    @property
    def readable(self) -> bool:
        """True if there is text and it contains a decision."""
        return self.error is None and self.reading.readable


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply in its place in a debate: the event for the browser, the row in the store, and what pages show.

    ``messages``, ``form``, ``reask``, ``round``, ``replies_to`` and ``item`` are as in ``Request``.
    """

    run_id: str
    document_id: str
    turn: int
    """The number of the turn in the debate, from 0."""
    role: str
    role_model: RoleModel
    messages: tuple[Message, ...] = ()
    form: ReplyForm = "text"
    reask: int = 0
    round: int = 0
    replies_to: tuple[str, ...] = ()
    item: str = ""
    cached: bool = False
    """True if the reply was paid for another turn or run."""
    reply: Reply = Reply()
    """Empty for a turn that has only started."""
    values: Mapping[str, Value | None] | None = None
    """The value of each item that the role's own decision is about, None if the role left the item open.

    None if the turn gives no annotations.
    """

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Ids of the labels that the role's own decision selects; None for ratings, and if it gave or chose none."""
        if self.values is None or self.form == "ratings" or any(map(is_number, self.values.values())):
            return None
        selected = self.reply.reading.selected
        return selected or None if CHOICE_ITEM in self.values else selected

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The quotes of the reply; in a choice, for the label that the role chose."""
        return quotes_of_choice(self.reply.evidence, self.values or {})

    @property
    def decided(self) -> dict[str, Value] | None:
        """The values without open items, None if the turn gives no annotations."""
        if self.values is None:
            return None
        return {item: value for item, value in self.values.items() if value is not None}

    @property
    def problem(self) -> str:
        """The reason why a reply that needs a decision could not be read; else empty."""
        return self.reply.reading.problem if self.form != "text" else ""


def quotes_of_choice(quotes: Iterable[Evidence], values: Mapping[str, Value | None]) -> tuple[Evidence, ...]:
    """Return quotes with the chosen label as their item, if ``values`` have one and the quotes are for a choice."""
    chosen = values.get(CHOICE_ITEM)
    if not isinstance(chosen, str):
        return tuple(quotes)
    return tuple(replace(quote, item=chosen) if quote.item == CHOICE_ITEM else quote for quote in quotes)


@dataclass(frozen=True, slots=True)
class AttributedReply:
    """A reply as other roles see it: with its role, the displayed name of the speaker, and the round."""

    role: str
    speaker: str
    reply: Reply
    round: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a debate."""

    values: Mapping[str, Value | None]
    """The value of every item of the codebook, None if it could not be read."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reason why an item has no value, by item."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader, such as a name outside the codebook or a label that the judge added."""
    error: ReplyError | None = None
    path: DecisionPath = ""
    """Empty if all debates of the run have full length."""

    @property
    def status(self) -> Literal["verdict", "unresolved", "failed"]:
        """``failed`` after an error, ``verdict`` if every item has a value, else ``unresolved``."""
        if self.error is not None:
            return "failed"
        return "unresolved" if any(value is None for value in self.values.values()) else "verdict"


T = TypeVar("T")
Step: TypeAlias = Generator[tuple[Request, ...], tuple[Reply, ...], T]
"""A running protocol: yields requests that may run in parallel, receives their replies in that order, returns T."""


_STORED = tuple(name for name in Reply.__dataclass_fields__ if name not in ("error", "reading", "evidence"))
"""Fields of a stored reply; the others are parsed from its text."""
_ADAPTER = TypeAdapter(Reply)


def encode_reply(reply: Reply) -> bytes:
    """Return a reply as a line of JSON."""
    fields = {name: getattr(reply, name) for name in _STORED}
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate, in text that was not made storable
        return json.dumps({**fields, "usage": asdict(reply.usage)}).encode() + b"\n"


def decode_reply(line: bytes) -> Reply:
    """Return the reply in a line of JSON. Raises ValueError for anything else."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        fields = json.loads(line)
    if not isinstance(fields, dict) or {*fields, "output_limit"} != set(_STORED):  # which older lines lack
        raise ValueError("not a stored reply")
    return _ADAPTER.validate_python(fields)
