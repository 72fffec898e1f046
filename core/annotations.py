"""Annotations: who says what of which item of which document. One model for every kind of label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from core.documents import Value

NEAR = 1
"""Ratings that are less than this many points of the scale apart do not differ: the truth may be a mean of raters."""

VERDICT = "verdict"
"""The annotator of what a debate ends in; a role's own list is annotated under the role's name."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """(document, item, value or None with a reason, annotator).

    ``item`` is a label id (multilabel, rating); a choice has the one item ``"label"`` whose value is a label id.
    ``value`` None means that it could not be read, and ``reason`` says why: never a default of False.
    """

    document_id: str
    item: str
    value: Value | None
    annotator: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words that an agent offers for a label, located in the document and in the agent's own reply.

    ``start`` and ``end`` are character offsets into ``field``'s stored text (end exclusive); both are -1 when the words
    are not there (``match`` ``missing``), which is shown as unsupported. ``exact`` means the very characters, ``fuzzy``
    the same words after Unicode, case, quote and white-space normalisation or a near-identical alignment.
    ``reply_start`` and ``reply_end`` are character offsets of the quoted words in the text of the reply. Both are -1
    where the reply does not hold these very characters, as in JSON with escapes.
    """

    item: str
    quote: str
    field: str
    start: int
    end: int
    match: str
    reply_start: int = -1
    reply_end: int = -1

    @property
    def supported(self) -> bool:
        """Whether the quoted words are in the document."""
        return self.match != "missing"


def differs(value: Value, reference: Value) -> bool:
    """Whether a value is not what the truth says: for ratings one point of the scale or more away from it."""
    if isinstance(value, bool | str) or isinstance(reference, bool | str):
        return value != reference
    return abs(value - reference) >= NEAR


def agreed(gold: Mapping[str, Mapping[str, Value]], items: Iterable[str]) -> dict[str, Value]:
    """One value for each item out of what several raters say: the majority's, none on a tie, and of ratings the mean
    (as the view ``gold_labels`` in the file)."""
    found: dict[str, Value] = {}
    for item in items:
        said = [values[item] for values in gold.values() if item in values]
        numbers = [value for value in said if not isinstance(value, bool | str)]
        if said and len(numbers) == len(said):
            mean = sum(numbers) / len(numbers)
            found[item] = int(mean) if mean == int(mean) else mean
            continue
        votes = {value: said.count(value) for value in said}
        leaders = [value for value, count in votes.items() if count == max(votes.values())]
        if len(leaders) == 1:
            found[item] = leaders[0]
    return found


@dataclass(frozen=True, slots=True)
class Precedent:
    """A labelled document that may be shown for another one. ``values`` maps an item (label id; ``"label"`` for a
    choice) to what a person or the gold says of it; ``text`` is all its fields, named when there are several."""

    document_id: str
    text: str
    values: Mapping[str, Value]


Precedents: TypeAlias = Mapping[tuple[str, Value], tuple[Precedent, ...]]
"""What may be shown beside one document: for (item, value) the precedents that have this value, the nearest first."""
