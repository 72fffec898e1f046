from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Label, load_yaml
from core.documents import Document
from core.services.data import overview
from core.services.data.overview import BINS, LengthSummary, summarise_lengths
from tests.core.services.sample_world import CODEBOOK


def test_cooccurrence_counts_documents_with_both_labels(session, run_id):
    # In gold, Alpha is present on d0, d1, d4, d6 and Beta on d1, d2; only d1 has both.
    pairs = {(pair.label, pair.other): (pair.count, pair.share) for pair in overview.cooccurrence(session, CODEBOOK)}
    assert pairs == {
        ("Alpha", "Alpha"): (4, 1.0),
        ("Alpha", "Beta"): (1, 0.25),
        ("Beta", "Alpha"): (1, 0.5),
        ("Beta", "Beta"): (2, 1.0),
    }


def test_cooccurrence_of_many_labels_is_that_of_the_most_frequent_ones(session, run_id):
    rare = tuple(Label(name=f"Rare {n}", id=f"r{n}") for n in range(overview.MAX_PAIRED_LABELS))
    many = CODEBOOK.model_copy(update={"labels": (*rare, *CODEBOOK.labels)})
    labels = list(dict.fromkeys(pair.label for pair in overview.cooccurrence(session, many)))
    assert labels == [*(label.name for label in rare[:-2]), "Alpha", "Beta"]


RATING = load_yaml("{kind: rating, scale: {min: 1, max: 100}, labels: [{name: clear}]}")


@pytest.mark.parametrize(
    ("ratings", "shown"), [((100, 100), "clear 100"), ((3, 3.5), "clear 3.25"), ((1, 2, 2), "clear 1.67")]
)
def test_several_ratings_are_shown_as_their_mean(ratings, shown):
    (label_id,) = RATING.items
    gold = {f"rater {number}": {label_id: rating} for number, rating in enumerate(ratings)}
    assert overview.format_gold(Document("d", {}, gold=gold), RATING) == [shown]


def test_values_of_a_rating_are_in_numeric_order():
    counts = {(RATING.items[0], "gold"): {1.5: 1, 10: 1, 2: 1, 1: 1, "none": 1}}
    assert [bar.value for bar in overview.gold_distribution(counts, RATING)] == ["1", "1.5", "2", "10", "none"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The room was clean and they were kind.", "English"),
        ("Das Zimmer war sehr klein und nicht sauber.", "German"),
        ("Nous avons très bien dormi dans une chambre calme.", "French"),
        ("Номер был чистый.", "Cyrillic script"),
        ("部屋はきれいでした。", "Japanese"),
        ("Rude waiter! It took forever, to say nothing of the bill!", "English"),
        ("Het was niet ver van de zee.", "Dutch"),
        ("La camera era piccola, ma il letto molto comodo.", "Italian"),
        ("La comida es muy buena, pero el servicio es lento.", "Spanish"),
        ("A comida é muito boa e o quarto também.", "Portuguese"),
        ("Food is great, we loved it.", "unknown"),
        ("De la mejor comida en Madrid.", "unknown"),
        ("Lovely!", "unknown"),
        ("123", "unknown"),
    ],
)
def test_language_is_guessed(text, language):
    assert overview.guess_language(text) == language


def test_the_only_rater_of_a_document_is_named_as_on_other_documents():
    codebook = load_yaml("{kind: choice, labels: [{name: Food}, {name: Value}]}")
    food, value = codebook.label_names
    gold = {"anna": {"label": food}, "ben": {"label": value}}
    assert overview.format_gold(Document("d", {}, gold=gold), codebook) == ["Food (anna)", "Value (ben)"]
    assert overview.format_gold(Document("e", {}, gold={"ben": gold["ben"]}), codebook) == ["Value (ben)"]
    assert overview.format_gold(Document("f", {}, gold={"gold": gold["ben"]}), codebook) == ["Value"]
    (clear,) = RATING.items
    assert overview.format_gold(Document("g", {}, gold={"ben": {clear: 4}}), RATING) == ["clear 4"]


def test_gold_of_a_worked_example_is_counted() -> None:
    documents = [
        Document("1", {}, gold={"gold": {"p": True}, "ann": {"p": False}}),
        Document("2", {}, gold={"gold": {"p": False, "q": 4}}),
        Document("3", {}, gold={"gold": {"q": 4}}),
        Document("4", {}),
    ]
    counts = {("p", "gold"): {True: 1, False: 1}, ("p", "ann"): {False: 1}, ("q", "gold"): {4: 2}}
    assert overview.count_gold(documents) == counts


def test_lengths_of_a_worked_example_are_summarised() -> None:
    words = summarise_lengths(Counter([3, 1, 1, 0]))
    assert (words.minimum, words.median, words.maximum) == (0, 1, 3)
    assert words.bins == ((0, 1, 1), (1, 2, 2), (2, 3, 0), (3, 3, 1))
    assert summarise_lengths({}) == LengthSummary()


def test_outlier_does_not_flatten_the_histogram() -> None:
    result = summarise_lengths(dict.fromkeys([*range(1, 100), 100_000], 1))
    assert len(result.bins) == BINS
    assert result.bins[0] == (1, 6, 5)  # 99 numbers up to the 99th percentile in 20 bins of 5
    assert result.bins[-1] == (96, 100_000, 5)


@given(st.lists(st.integers(0, 10_000), min_size=1))
def test_histogram_counts_every_number_once(numbers: list[int]) -> None:
    result = summarise_lengths(Counter(numbers))
    assert sum(count for _, _, count in result.bins) == len(numbers)
    assert result.bins[0][0] == result.minimum
    assert result.bins[-1][1] >= result.maximum
    assert result.median == statistics.median(numbers)
