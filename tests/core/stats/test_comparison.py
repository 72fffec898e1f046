"""Tests of the comparison of annotators: on a sample of documents, and over iterations."""

from __future__ import annotations

import numpy as np
import pytest

from core.codebook import Codebook, Kind, Label
from core.stats.comparison import Side, compare_annotators
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design
from core.stats.sampling import WeightedSample, draw_sizes


def test_a_queue_that_prefers_errors_of_one_run_does_not_make_the_other_better() -> None:
    # Both are wrong on a tenth of the documents; the queue draws those on which the first is likely to be wrong.
    book, documents, significant = Codebook(labels=(Label(name="Alpha", id="a"),)), 2000, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gold = (rng.random(documents) < 0.3).astype(float)
        first, second = (np.where(rng.random(documents) < 0.1, 1 - gold, gold) for _ in range(2))
        doubted = rng.random(documents) < np.where(first != gold, 0.6, 0.02)
        sizes = draw_sizes((first == 1)[:, None], doubted[:, None], 0.5)
        order = np.argsort(-np.log(rng.random(documents)) / sizes)[:150]
        reference = np.where(np.isin(np.arange(documents), order), gold, np.nan)[:, None]
        design = Design(sample=WeightedSample.of_draws(order, [sizes] * len(order), documents), order=order)
        sides = [Side("r1", "r1", first[:, None]), Side("r2", "r2", second[:, None])]
        (pair,) = compare_annotators(book, reference, sides, design).pairs
        assert pair.documents.only_second > pair.documents.only_first
        assert (pair.documents.p, pair.documents.odds_ratio()) == (None, Estimate())
        (label,) = pair.labels
        assert label.adjusted is not None
        assert (label.verdict in ("better", "worse")) == (label.adjusted < 0.05)
        significant += label.adjusted < 0.05
    assert significant <= 2  # all twelve by counts of documents


def test_iterations_are_paired_by_number() -> None:
    # An undefined score excludes its own iteration and does not shift the others.
    book, gold = Codebook(labels=(Label(name="Alpha", id="a"),)), np.ones((4, 1))
    before, after = {0: 10.0, 1: np.nan, 2: 30.0, 3: 50.0}, {0: 20.0, 1: 30.0, 2: np.nan, 3: 40.0}

    def pair(second: dict[int, float]):
        return compare_annotators(book, gold, [Side("x", "x", gold, before), Side("y", "y", gold, second)]).pairs[0]

    paired, welch = pair(after).paired, pair(after).welch
    assert paired is not None
    assert welch is not None
    assert (paired.n_first, paired.excluded) == (2, 4)
    assert paired.difference == pytest.approx(0)  # +10 and -10 points
    assert (welch.n_first, welch.n_second) == (3, 3)
    assert pair({number: after[number] for number in (1, 2, 3)}).paired is None


@pytest.mark.parametrize("kind", ["choice", "multilabel"])
def test_a_gain_in_right_cells_is_the_difference_in_accuracy(kind: Kind) -> None:
    # 30 documents, 10 corrected and 3 regressed: of two methods for the interval only one would exclude zero.
    labels = (Label(name="Alpha", id="a"), Label(name="Beta", id="b"))
    book, gold = Codebook(kind=kind, labels=labels), np.arange(60).reshape(30, 2) % 4 // 2 * 1.0
    items = 1 if kind == "choice" else 2
    gold = gold[:, :items]
    first, second = gold.copy(), gold.copy()
    first[:10], second[10:13] = 1 - gold[:10], 1 - gold[10:13]
    first[13:15] = second[13:15] = 1 - gold[13:15]
    (pair,) = compare_annotators(book, gold, [Side("x", "x", first), Side("y", "y", second)]).pairs
    assert (pair.flip.total.corrected, pair.flip.total.regressed) == (10 * items, 3 * items)
    assert pair.flip.gain == pair.scores["accuracy"]
    assert pair.flip.gain.value == pytest.approx(7 / 30)
    if kind == "choice":
        assert list(pair.flip.label_gains.values()) == [pair.scores["accuracy"]]
    else:
        assert pair.flip.label_gains == {label.name: pair.scores.labels[label.name]["accuracy"] for label in labels}
