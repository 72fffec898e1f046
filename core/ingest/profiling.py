"""Statistics of a set of documents: text lengths, distribution of gold labels, duplicates."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.documents import Document, Value

BINS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """A bar of a histogram: ``start <= words < stop``, in the last bar ``words <= stop``."""

    start: int
    stop: int
    count: int


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """A distribution of whole numbers. All zero and without bars when there is nothing."""

    minimum: int = 0
    median: float = 0.0
    mean: float = 0.0
    p90: int = 0
    """The smallest number that at least 90% do not exceed."""
    maximum: int = 0
    bins: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class GoldShare:
    """Gold values of one rater for one item over all documents.

    ``present + absent + other + missing == documents``. ``other`` counts values that are neither true nor false
    (ratings, choices); ``values`` has them one by one.
    """

    item: str
    rater: str
    present: int
    absent: int
    missing: int
    values: Mapping[Value, int]

    @property
    def other(self) -> int:
        """Ratings and choices."""
        return sum(self.values.values())


@dataclass(frozen=True, slots=True)
class Profile:
    """Statistics of a set of documents."""

    documents: int
    words: LengthSummary
    """White-space separated words of the first field; text without spaces counts as one word."""
    characters: LengthSummary
    gold: tuple[GoldShare, ...]
    """By item in order of first appearance, then rater. Items without gold are left out."""
    duplicates: int
    """Documents with the same fields as an earlier document."""
    empties: int
    """Documents whose first field has no words."""


def profile_documents(documents: Iterable[Document]) -> Profile:
    """Return statistics of the documents, counted in one pass. Without documents all are zero."""
    words: list[int] = []
    characters: list[int] = []
    seen: set[tuple[str, ...]] = set()
    binary: dict[tuple[str, str], list[int]] = {}
    values: dict[tuple[str, str], Counter[Value]] = {}
    for document in documents:
        text = document.text
        words.append(len(text.split()))
        characters.append(len(text))
        seen.add(tuple(document.fields.values()))
        for rater, by_item in document.gold.items():
            for item, value in by_item.items():
                counts = binary.setdefault((item, rater), [0, 0])
                if isinstance(value, bool):
                    counts[not value] += 1
                else:
                    values.setdefault((item, rater), Counter())[value] += 1
    shares = []
    for (item, rater), (present, absent) in binary.items():
        others = values.get((item, rater), Counter())
        missing = len(words) - present - absent - sum(others.values())
        shares.append(GoldShare(item, rater, present, absent, missing, dict(sorted(others.items(), key=_order))))
    order = {item: place for place, item in enumerate(dict.fromkeys(item for item, _ in binary))}
    return Profile(
        documents=len(words),
        words=summarise_lengths(words),
        characters=summarise_lengths(characters),
        gold=tuple(sorted(shares, key=lambda share: order[share.item])),
        duplicates=len(words) - len(seen),
        empties=words.count(0),
    )


def _order(pair: tuple[Value, int]) -> tuple[bool, float, str]:
    value = pair[0]
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, value)


def summarise_lengths(numbers: Sequence[int]) -> LengthSummary:
    """Return the distribution of ``numbers``.

    At most ``BINS`` bars of equal width up to the 99th percentile; the last one reaches to the maximum, so that one
    giant text does not flatten the rest.
    """
    if not numbers:
        return LengthSummary()
    ordered = sorted(numbers)
    low, high = ordered[0], ordered[-1]
    width = max(1, math.ceil((_percentile(ordered, 0.99) - low + 1) / BINS))
    bars = Counter(min((number - low) // width, BINS - 1) for number in ordered)
    last = max(bars)
    bins = [Bin(low + bar * width, low + (bar + 1) * width, bars[bar]) for bar in range(last)]
    bins.append(Bin(low + last * width, max(high, low + last * width), bars[last]))
    return LengthSummary(
        low, statistics.median(ordered), statistics.fmean(ordered), _percentile(ordered, 0.9), high, tuple(bins)
    )


def _percentile(ordered: Sequence[int], share: float) -> int:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
