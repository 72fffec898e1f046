"""Ambiguity of documents for a model: the difference rate of *Courtroom-LLM*, section 4.2.

One model labels a document K times. D_rate is the difference between the counts of the two most common answers,
divided by K: 1 if all are the same, 0 if two are equally common. A document is ambiguous if D_rate is at most theta.
The paper has K = 5 and theta = 0.5; with K = 5 the values are 0, 0.2, 0.4, 0.6 and 1 (its table 13 prints an impossible
0.04).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.documents import Value

K, THETA = 5, 0.5


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Difference rate of a document and of each item; the document has the lowest rate of its items."""

    rate: float
    items: Mapping[str, float]

    def ambiguous(self, theta: float = THETA) -> bool:
        """Return True if the rate is at most ``theta``."""
        return self.rate <= theta


def d_rate(answers: Sequence[Value], asked: int) -> float:
    """Return the difference rate, from 0 to 1.

    ``asked`` is K and includes unreadable answers, which make a document more ambiguous. 0 if no answer could be read.
    ValueError for more answers than K.
    """
    if len(answers) > asked or asked < 1:
        raise ValueError(f"{len(answers)} answers to {asked} asks")
    first, second = (*(count for _, count in Counter(answers).most_common(2)), 0, 0)[:2]
    return (first - second) / asked


def of_document(answers: Mapping[str, Sequence[Value]], asked: int) -> Ambiguity:
    """Return the rates of each item and of the document: the lowest rate of its items, 0 without items."""
    items = {item: d_rate(said, asked) for item, said in answers.items()}
    return Ambiguity(min(items.values(), default=0.0), items)
