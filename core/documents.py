"""Documents: the texts that are labelled, with their source columns, gold labels and annotations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeGuard

Value: TypeAlias = bool | int | float | str
"""The value of an annotation: present or absent, a rating, or a label's id."""

GOLD_RATER = "gold"
"""The rater's name for gold columns without a rater."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """A text to annotate: one row of the user's file, or several rows with the same id, one for each rater."""

    id: str
    fields: Mapping[str, str]
    """The text fields by name, in the order of prompts. Evidence points into the first one."""
    position: int = 0
    source: Mapping[str, Any] = field(default_factory=dict)
    """The columns as they came."""
    gold: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Values by rater and item (a label id). A missing item was not labelled."""
    group: str = ""
    """The group that the document belongs to, such as a chat; empty without one."""
    order: float | None = None
    """The place in the group."""

    @property
    def text(self) -> str:
        """The first field, empty without fields."""
        return next(iter(self.fields.values()), "")

    @property
    def full_text(self) -> str:
        """All fields, each under its name if there are several."""
        if len(self.fields) == 1:
            return self.text
        return "\n".join(f"{name}: {text}" for name, text in self.fields.items())


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a file that was rejected. ``line`` is its first line in the file, ``raw`` its text (clipped)."""

    line: int
    reason: str
    raw: str = ""

    def __str__(self) -> str:
        return f"row {self.line}: {self.reason}"


def storable(text: str) -> str:
    """Return ``text`` without NUL characters and with U+FFFD for lone surrogates; the store refuses both."""
    if text.isascii():  # the usual case, several times as fast
        return text.replace("\x00", "")
    return _LONE_SURROGATE.sub("\ufffd", text).replace("\x00", "")


RATING_TOLERANCE = 0.999
"""Ratings that differ by less than a point agree, because the reference may be a mean of raters.

It is a little less than a point, because means are rounded. The same number is in ``differs`` here, in ``is_right`` of
``core.stats.arrays`` and in the macro ``differs`` of the project file.
"""

VERDICT = "verdict"
"""The annotator of verdicts; a role's own decisions are annotated under the role's name."""

ReviewStatus: TypeAlias = Literal["Pending", "Draft", "Submitted", "Discarded"]
"""Status of a document's review; Draft has decisions, Submitted counts as reference."""

Reference: TypeAlias = str
"""Name of the annotations to compare with: ``gold``, ``gold@RATER``, ``author``, ``reviewed``, ``reviewed@PERSON``,
``run:ID``, ``run:ID/ROLE`` or ``latent`` (see ``core.store.annotation_sources``)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote for a label, located in the document and in the role's own reply."""

    item: str
    quote: str
    field: str
    """The text field of the document that has the quote, empty if none has."""
    start: int
    """The offset of the quote in the field's stored text in characters, -1 if the words are not there."""
    end: int
    """The end of the quote there (exclusive), or -1."""
    match: str
    """``exact`` for identical characters.

    ``fuzzy`` for the same words after normalisation of Unicode, case, quotes and white space, or for a near-identical
    alignment. ``missing`` for words that are not there, which are shown as unsupported.
    """
    reply_start: int = -1
    """The offset of the quoted words in the text of the reply, -1 if the reply does not contain these characters, as in
    JSON with escapes."""
    reply_end: int = -1
    """The end of the words there, or -1."""

    @property
    def supported(self) -> bool:
        """True if the quoted words are in the document."""
        return self.match != "missing"


def is_number(value: object) -> TypeGuard[int | float]:
    """Return True if a value is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def differs(value: Value, reference: Value) -> bool:
    """Return True if a value differs from the reference; ratings differ from one point of the scale on."""
    if isinstance(value, bool | str) or isinstance(reference, bool | str):
        return value != reference
    return abs(value - reference) >= RATING_TOLERANCE


def as_rating(number: float) -> int | float:
    """Return a rating as it is stored: a whole number as int."""
    return int(number) if number.is_integer() else number


@dataclass(frozen=True, slots=True)
class Precedent:
    """A labelled document that may be shown as an example.

    ``values`` are those of a person or the gold by item. ``text`` is all fields, named if there are several.
    """

    document_id: str
    text: str
    values: Mapping[str, Value]


Precedents: TypeAlias = Mapping[tuple[str, Value], tuple[Precedent, ...]]
"""Precedents for one document: for (item, value) those that have this value, the nearest first."""
