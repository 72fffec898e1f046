"""Statistics of a set of documents: text lengths and gold labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from core.documents import Document, Value

BINS = 20


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """A bar of a histogram: ``start <= words < stop``, in the last bar ``words <= stop``."""

    start: int
    stop: int
    count: int


@dataclass(frozen=True, slots=True)
class LengthSummary:
    """A distribution of whole numbers. All zero and without bars when there is nothing."""

    minimum: int = 0
    median: float = 0.0
    maximum: int = 0
    bins: tuple[HistogramBin, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentStatistics:
    """Statistics of a set of documents."""

    words: LengthSummary
    """White-space separated words of the first field; text without spaces counts as one word."""
    gold: Mapping[tuple[str, str], Mapping[Value, int]]
    """Documents by item and rater, and by value. Items without gold are left out."""


def document_statistics(documents: Iterable[Document]) -> DocumentStatistics:
    """Return statistics of the documents, counted in one pass."""
    words: Counter[int] = Counter()
    gold: dict[tuple[str, str], Counter[Value]] = {}
    for document in documents:
        words[len(document.text.split())] += 1
        for rater, by_item in document.gold.items():
            for item, value in by_item.items():
                gold.setdefault((item, rater), Counter())[value] += 1
    return DocumentStatistics(summarise_lengths(words), gold)


def summarise_lengths(documents: Mapping[int, int]) -> LengthSummary:
    """Return the distribution of lengths; ``documents`` is their number by length.

    At most ``BINS`` bars of equal width up to the 99th percentile; the last one reaches to the maximum, so that one
    giant text does not flatten the rest.
    """
    if not documents:
        return LengthSummary()
    lengths = sorted(Counter(documents).elements())
    low, high = lengths[0], lengths[-1]
    width = max(1, math.ceil((lengths[math.ceil(0.99 * len(lengths)) - 1] - low + 1) / BINS))
    bars: Counter[int] = Counter()
    for length, count in documents.items():
        bars[min((length - low) // width, BINS - 1)] += count
    last = max(bars)
    bins = [HistogramBin(low + bar * width, low + (bar + 1) * width, bars[bar]) for bar in range(last)]
    bins.append(HistogramBin(low + last * width, max(high, low + last * width), bars[last]))
    return LengthSummary(low, median(lengths), high, tuple(bins))
