"""Questions to the author of a text: features, options, answers, and the log entries that everything is replayed from.

A feature is one thing that an author can be asked about: a label, or the whole of a single-choice codebook. Its values
are fixed, or it is open: its options are made for each text, or the answer is one free word.

Source: Ma et al. 2025, sections 2.1 and 2.2 (one click or one word, abstention), 3.1 (one model per feature), 3.4.1
(the predicted value is among the options; loss 0 or 1 by match, cosine distance for free words).
Deviations: options are shuffled, but not the points of a scale. "Not sure" and "None of these" always come last, so
that a position bias cannot look like an abstention; "None of these" is left out between yes and no, and for a free
word. An author may also skip a question for good; the paper only states that answering is optional.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from core.codebook import CHOICE_ITEM, Codebook, Label, OpenForm, normalise
from core.documents import Value, is_number
from core.hashing import digest

MAX_OPTIONS = 4
"""Options made for one text, as in the paper's questions on sentiment (section 5)."""
MAX_ASKED = 4
"""Most questions about one text; the paper always asks so many (section 2.2)."""
READING_SECONDS = 5.0
"""Minimum reading time before a question can be answered (section 2.2)."""
MAX_WORD_CHARACTERS = 40
CONTEXT_MESSAGES = 5
"""Messages of a conversation that annotators and predictors see (appendix B.1)."""
REPLY_CHARACTERS = 300
"""Characters of a chat model's reply that they see; the author's messages are never cut (appendix B.1)."""

YES, NO = "Yes", "No"
Abstention: TypeAlias = Literal["not sure", "none of these"]
ABSTENTIONS: tuple[Abstention, ...] = ("not sure", "none of these")
"""Answers that name no value. They are kept as a signal of their own and never counted as a class (section 2.1)."""

_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_NO_OPTIONS = {"", "none", *ABSTENTIONS}


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of a conversation: by its author, or the reply of a chat model."""

    role: Literal["author", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Feature:
    """One thing that an author can be asked about.

    ``values`` maps the text of each fixed option to the value of ``item``; an open feature has none. ``suggestions``
    are answers that the codebook names for an open feature.
    """

    item: str
    name: str
    description: str = ""
    open: OpenForm = ""
    values: Mapping[str, Value] = field(default_factory=dict)
    suggestions: tuple[str, ...] = ()

    @property
    def is_scale(self) -> bool:
        """True if the values are the points of a scale, from the lowest."""
        return any(is_number(value) for value in self.values.values())


def features_of(codebook: Codebook) -> tuple[Feature, ...]:
    """Return the features of a codebook in its order: one for each label, or one for a single choice."""
    if codebook.kind == "choice":
        values: dict[str, Value] = {label.name: label.id for label in codebook.labels}
        return (Feature(CHOICE_ITEM, codebook.name, codebook.guideline, values=values),) if values else ()
    if codebook.kind == "rating":
        rated = zip(codebook.labels, codebook.scales, strict=True)
        return tuple(_feature(label, {str(point): point for point in scale.points}) for label, scale in rated)
    return tuple(_feature(label, {} if label.open else {YES: True, NO: False}) for label in codebook.labels)


def _feature(label: Label, values: Mapping[str, Value]) -> Feature:
    suggestions = (*label.include, *label.keywords) if label.open else ()
    return Feature(label.id, label.name, label.description, label.open, values, suggestions)


@dataclass(frozen=True, slots=True)
class FeaturePrediction:
    """The value that a feature's predictor expects the author to give.

    ``value`` is the text of an option, or a free text for an open feature; None if the predictor gave none that could
    be read. ``certainty`` is the predictor's own, 0 to 1.
    """

    value: str | None = None
    certainty: float = 0.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one feature of one text.

    ``options`` are in the order shown, without the abstentions; a question for one free word has none. ``predicted`` is
    the text of the predicted value, None without a prediction.
    """

    id: str
    document_id: str
    item: str
    text: str
    options: tuple[str, ...] = ()
    predicted: str | None = None

    @property
    def abstentions(self) -> tuple[Abstention, ...]:
        """The abstentions that are offered: without options, or with yes and no, there is nothing else to mean."""
        return ABSTENTIONS[:1] if not self.options or {*self.options} == {YES, NO} else ABSTENTIONS

    @property
    def is_numbered(self) -> bool:
        """True if annotators name an option by its position, False if an option could be taken for a position."""
        return not any(_NUMBER.fullmatch(option) for option in self.options)

    @property
    def codebook(self) -> Codebook:
        """The options as a single-choice codebook, for annotators of every kind. Codes are positions of options.

        Raises ValueError for a question without options.
        """
        labels = tuple(
            Label(name=option, code=position if self.is_numbered else None, id=str(position))
            for position, option in enumerate(self.options, start=1)
        )
        if not labels:
            raise ValueError("a question for one word has no options")
        return Codebook(name="Question", kind="choice", unit="conversation", guideline=self.text, labels=labels)

    def position(self, option: str | None) -> int | None:
        """Return the position of an option from 0, None if it is not among the options."""
        if not option:
            return None
        return next((n for n, candidate in enumerate(self.options) if normalise(candidate) == normalise(option)), None)


def make_question(
    document_id: str,
    feature: Feature,
    text: str,
    candidates: Iterable[str],
    prediction: FeaturePrediction,
    *,
    seed: int = 0,
) -> Question:
    """Return a question with the predicted value among its options, in an order drawn from the seed and its id.

    The points of a scale keep their order. An open feature keeps at most ``MAX_OPTIONS`` of the candidates. With fewer
    than two different options, or for a feature answered by one word, the question asks for one free word.
    """
    id = f"{document_id}/{feature.item}"
    predicted = prediction.value
    options = list(feature.values)
    if feature.open == "options":
        offered = (" ".join(option.split()) for option in (predicted or "", *candidates))
        different: dict[str, str] = {}
        for option in offered:
            different.setdefault(normalise(option), option)
        options = [option for key, option in different.items() if key not in _NO_OPTIONS][:MAX_OPTIONS]
    if feature.open == "word" or len(options) < 2:
        options = []
    if not feature.is_scale:
        random.Random(digest([seed, id], size=8)).shuffle(options)
    return Question(id, document_id, feature.item, " ".join(text.split()), tuple(options), predicted)


AUTHOR = "author"
"""The group of an author's own answers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question by its author or by another annotator.

    Exactly one of ``choice``, ``abstention`` and ``declined`` is set; an annotator whose reply could not be read has
    none of them.
    """

    question_id: str
    by: str
    """The name of the annotator."""
    at: float
    group: str = AUTHOR
    """``author``, or a group of annotators such as ``built-in``, ``models``, ``people`` or a name given in a file."""
    choice: str | None = None
    """The text of an option, or the free word."""
    abstention: Abstention | None = None
    declined: bool = False
    seconds: float | None = None
    """The time taken, None if unknown."""
    cost_usd: float | None = None
    """The price, None if unknown."""
    kind: Literal["answer"] = "answer"

    @property
    def is_unresolved(self) -> bool:
        """True if the reply of the annotator could not be read."""
        return self.choice is None and self.abstention is None and not self.declined


@dataclass(frozen=True, slots=True)
class Submission:
    """A text as it came in: masked, with its conversation before it, and everything decided about it."""

    document_id: str
    author: str
    at: float
    text: str
    conversation: str = ""
    before: tuple[ConversationMessage, ...] = ()
    excluded: str = ""
    """The rule that excluded the text, empty if the text may be asked about."""
    relevant: tuple[str, ...] = ()
    """Features that the relevance filter found."""
    predictions: Mapping[str, FeaturePrediction] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    """The top k of the relevant features."""
    questions: tuple[Question, ...] = ()
    """Questions about the most uncertain of the selected features."""
    masked: Mapping[str, int] = field(default_factory=dict)
    """Number of masked passages by kind."""
    model: str = ""
    codebook_version: int = 0
    kind: Literal["submission"] = "submission"

    @property
    def shown(self) -> tuple[ConversationMessage, ...]:
        """The latest messages, which annotators and models see, the text last; replies of a chat model are cut.

        Source: Ma et al. 2025, appendix B.1.
        """
        latest = (*self.before, ConversationMessage("author", self.text))[-CONTEXT_MESSAGES:]
        return tuple(
            message
            if message.role == "author" or len(message.text) <= REPLY_CHARACTERS
            else ConversationMessage("assistant", message.text[:REPLY_CHARACTERS].rstrip() + "...")
            for message in latest
        )


@dataclass(frozen=True, slots=True)
class Impression:
    """A recommendation shown: ``arm`` chose the entry. ``matches`` are the features that it was chosen by."""

    document_id: str
    author: str
    at: float
    entry: str
    arm: str
    matches: tuple[str, ...] = ()
    kind: Literal["impression"] = "impression"


@dataclass(frozen=True, slots=True)
class Reaction:
    """A click on a recommendation (``helpful`` None), or the answer to "Was this helpful?"."""

    document_id: str
    author: str
    at: float
    helpful: bool | None = None
    kind: Literal["reaction"] = "reaction"


@dataclass(frozen=True, slots=True)
class Consent:
    """An author's agreement to the text shown before the first question. ``text`` is the digest of its words."""

    author: str
    at: float
    text: str
    kind: Literal["consent"] = "consent"


Entry: TypeAlias = Annotated[Consent | Submission | Answer | Impression | Reaction, Field(discriminator="kind")]
"""One entry of the log. The log is append-only, and all state is computed from it."""
ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def loss(question: Question, answer: Answer) -> float | None:
    """Return the loss of the predicted value, 0 to 1; None for an answer that names no value.

    A choice among options is 0 if it is the predicted value, else 1. A free word has the cosine distance of character
    n-grams. A predictor without a readable value was wrong (1). Source: Ma et al. 2025, section 3.4.1, where free words
    are compared by embeddings.
    """
    if answer.choice is None:
        return None
    if question.predicted is None:
        return 1.0
    if question.options:
        return float(normalise(answer.choice) != normalise(question.predicted))
    return word_distance(answer.choice, question.predicted)


def word_distance(first: str, second: str) -> float:
    """Return the cosine distance of two words by character 2- and 3-grams, 0 (same letters) to 1 (nothing shared)."""
    a, b = _ngrams(normalise(first)), _ngrams(normalise(second))
    norms = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    return min(1.0, max(0.0, 1 - sum(a[gram] * b[gram] for gram in a) / norms)) if norms else 1.0


def _ngrams(word: str) -> Counter[str]:
    padded = f" {word} " if word else ""
    return Counter(padded[at : at + size] for size in (2, 3) for at in range(len(padded) - size + 1))


def value_of(feature: Feature, answer: Answer) -> Value | None:
    """Return the value of a feature with fixed options that an answer gives; None without one."""
    if feature.open or answer.choice is None:
        return None
    return next((value for text, value in feature.values.items() if normalise(text) == normalise(answer.choice)), None)


def format_conversation(messages: Iterable[ConversationMessage]) -> str:
    """Return messages as text, each under the name of its role."""
    names = {"author": "Author", "assistant": "Chat model"}
    return "\n\n".join(f"{names[message.role]}: {message.text}" for message in messages)
