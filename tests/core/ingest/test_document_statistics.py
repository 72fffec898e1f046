"""Tests of the profile of a set of documents."""

from __future__ import annotations

import statistics
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from core.documents import Document
from core.ingest.document_statistics import BINS, HistogramBin, document_statistics, summarise_lengths


def test_profile_of_a_worked_example() -> None:
    documents = [
        Document("1", {"text": "one two three"}, gold={"gold": {"p": True}, "ann": {"p": False}}),
        Document("2", {"text": "one"}, gold={"gold": {"p": False, "q": 4}}),
        Document("3", {"text": "one"}, gold={"gold": {"q": 4}}),
        Document("4", {"text": " "}),
    ]
    statistics = document_statistics(documents)
    # Numbers of words are 3, 1, 1, 0.
    assert (statistics.words.minimum, statistics.words.median, statistics.words.maximum) == (0, 1, 3)
    assert statistics.words.bins == (
        HistogramBin(0, 1, 1),
        HistogramBin(1, 2, 2),
        HistogramBin(2, 3, 0),
        HistogramBin(3, 3, 1),
    )
    assert statistics.gold == {("p", "gold"): {True: 1, False: 1}, ("p", "ann"): {False: 1}, ("q", "gold"): {4: 2}}


def test_profile_without_documents() -> None:
    statistics = document_statistics([])
    assert (statistics.words, statistics.gold) == (summarise_lengths({}), {})


def test_outlier_does_not_flatten_the_histogram() -> None:
    result = summarise_lengths(dict.fromkeys([*range(1, 100), 100_000], 1))
    assert len(result.bins) == BINS
    assert result.bins[0] == HistogramBin(1, 6, 5)  # 99 numbers up to the 99th percentile in 20 bins of 5
    assert result.bins[-1] == HistogramBin(96, 100_000, 5)


@given(st.lists(st.integers(0, 10_000), min_size=1))
def test_histogram_counts_every_number_once(numbers: list[int]) -> None:
    result = summarise_lengths(Counter(numbers))
    assert sum(bar.count for bar in result.bins) == len(numbers)
    assert result.bins[0].start == result.minimum
    assert result.bins[-1].stop >= result.maximum
    assert result.median == statistics.median(numbers)
