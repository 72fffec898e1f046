from __future__ import annotations

import numpy as np
import pytest

from core.stats import bootstrap, choice, multilabel
from core.stats.arrays import BinaryGrid, one_hot
from core.stats.intervals import Estimate, wilson

LABELS = ["a", "b", "c"]


def grids(documents: int = 80, seed: int = 1) -> tuple[BinaryGrid, BinaryGrid, BinaryGrid]:
    """Truth, an annotator that is right in 70% of the cells and one that is right in 90%."""
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, 3)) < 0.4).astype(np.int8)
    weak = np.where(rng.random(reference.shape) < 0.3, 1 - reference, reference).astype(np.int8)
    strong = np.where(rng.random(reference.shape) < 0.1, 1 - reference, reference).astype(np.int8)
    return reference, weak, strong


def test_values_are_the_scores_themselves() -> None:
    reference, weak, _ = grids()
    result = bootstrap.scores(reference, weak, LABELS, resamples=50)
    expected = multilabel.from_grids(reference, weak, LABELS)
    assert result.macro.f1.value == pytest.approx(expected.macro.f1)
    assert result.micro.precision.value == pytest.approx(expected.micro.precision)
    assert result.micro.recall.value == pytest.approx(expected.micro.recall)
    assert result.labels["b"].f1.value == pytest.approx(expected.labels["b"].f1)
    assert result.accuracy.value == pytest.approx(1 - (expected.hamming_loss or 0))
    assert (result.n, result.excluded, result.resamples) == (80, 0, 50)


def test_the_same_distribution_as_drawing_documents() -> None:
    reference, weak, _ = grids()
    rng = np.random.default_rng(7)
    plain = []
    for _ in range(3000):
        rows = rng.integers(0, len(reference), len(reference))
        plain.append(multilabel.from_grids(reference[rows], weak[rows], LABELS).macro.f1 or 0.0)
    interval = bootstrap.scores(reference, weak, LABELS, resamples=3000).macro.f1.interval
    assert interval is not None
    low, high = np.quantile(plain, [0.025, 0.975])
    # a 2.5% quantile of 3,000 draws from a spread of about 0.03 wanders by less than 0.005
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.006)


def test_seeded_and_independent_of_row_order_and_memory_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, weak, _ = grids()
    first = bootstrap.scores(reference, weak, LABELS, resamples=200, seed=3)
    order = np.random.default_rng(0).permutation(len(reference))
    assert bootstrap.scores(reference[order], weak[order], LABELS, resamples=200, seed=3) == first
    assert bootstrap.scores(reference, weak, LABELS, resamples=200, seed=4) != first
    monkeypatch.setattr(bootstrap, "_CELLS", 500)
    assert bootstrap.scores(reference, weak, LABELS, resamples=200, seed=3) == first


def test_a_paired_difference() -> None:
    reference, weak, strong = grids()
    result = bootstrap.difference(reference, weak, strong, LABELS, resamples=500)
    one, two = (multilabel.from_grids(reference, said, LABELS) for said in (weak, strong))
    assert result.macro.f1.value == pytest.approx((two.macro.f1 or 0) - (one.macro.f1 or 0))
    assert result.macro.f1.clear is True
    same = bootstrap.difference(reference, weak, weak, LABELS, resamples=50)
    assert same.micro.f1.interval is not None
    assert (same.micro.f1.value, same.micro.f1.interval.low, same.micro.f1.interval.high) == (0, 0, 0)


def test_pairing_narrows_the_interval() -> None:
    # The second differs from the first in three documents of 80: paired, nearly all of the noise cancels.
    reference, weak, _ = grids()
    touched = weak.copy()
    touched[:3] = reference[:3]
    paired = bootstrap.difference(reference, weak, touched, LABELS, resamples=500).micro.f1.interval
    alone = bootstrap.scores(reference, weak, LABELS, resamples=500).micro.f1.interval
    assert paired is not None
    assert alone is not None
    assert paired.high - paired.low < (alone.high - alone.low) / 2


def test_documents_without_a_verdict_are_left_out_of_both_sides() -> None:
    reference, weak, strong = grids(documents=20)
    weak[0, 1] = -1
    strong[5] = -1
    reference[7] = -1
    reference[8, 0] = -1  # no gold for one label: the others count
    result = bootstrap.difference(reference, weak, strong, LABELS, resamples=20)
    assert (result.n, result.excluded) == (17, 2)


def test_undefined_scores_have_no_interval() -> None:
    result = bootstrap.scores([[0, 1], [0, 1], [0, 0]], [[0, 1], [0, 0], [0, 0]], ["never", "b"], resamples=100)
    assert result.labels["never"].recall == result.labels["never"].f1
    assert (result.labels["never"].f1.value, result.labels["never"].f1.interval) == (None, None)
    assert result.macro.f1.value == pytest.approx(2 / 3)  # of b alone
    assert result.macro.f1.interval is not None
    single = bootstrap.scores([[1, 1]], [[1, 1]], ["a", "b"])
    assert (single.macro.f1.value, single.macro.f1.interval) == (1.0, None)
    empty = bootstrap.scores(np.zeros((0, 1)), np.zeros((0, 1)), ["a"])
    assert (empty.n, empty.accuracy.value, empty.macro.f1.value) == (0, None, None)


def test_a_labels_scores_have_the_interval_of_a_share() -> None:
    # All of five found: each resample finds all of them, too, and would be certain.
    reference = [[1]] * 5 + [[0]] * 5
    found = bootstrap.scores(reference, reference, ["a"], resamples=50)
    label = found.labels["a"]
    assert label.recall == Estimate(1.0, wilson(5, 5))
    assert label.precision == Estimate(1.0, wilson(5, 5))
    # F* = 5 of 5, from 0.566 on; F1 from 2 * 0.566 / 1.566 on. Means over one label are that label's.
    assert label.f1.interval is not None
    assert (label.f1.interval.low, label.f1.interval.high) == (pytest.approx(0.7225, abs=1e-4), 1.0)
    assert found.macro == found.micro == label
    assert found.accuracy == Estimate(1.0, wilson(10, 10))
    nothing = bootstrap.scores(reference, np.zeros((10, 1)), ["a"], resamples=50).labels["a"]
    assert nothing.precision == Estimate(0.0, None)  # 0 by convention: nothing was predicted
    assert nothing.recall == Estimate(0.0, wilson(0, 5))
    # Of a difference both come from the same documents: drawn, as everything else.
    less = bootstrap.difference(reference, reference, [[1]] * 3 + [[0]] * 7, ["a"], resamples=50).labels["a"].recall
    assert less.value == pytest.approx(-0.4)
    assert less.interval is not None
    assert less.interval.low < -0.4 < less.interval.high


def test_a_choice_through_one_hot() -> None:
    rng = np.random.default_rng(2)
    reference, said = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    said[0] = -1
    expected = choice.from_codes(reference, said, LABELS)
    result = bootstrap.scores(one_hot(reference, 3), one_hot(said, 3), LABELS, resamples=50)
    assert result.macro.f1.value == pytest.approx(expected.macro.f1)
    assert result.micro.f1.value == pytest.approx(expected.accuracy)
    assert (result.n, result.excluded) == (59, 1)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        bootstrap.scores([[1]], [[1]], ["a"], level=95)
    with pytest.raises(ValueError, match="1 columns for 2"):
        bootstrap.scores([[1]], [[1]], ["a", "b"])


def test_coverage_of_a_known_f1() -> None:
    # One label, half positive, 80% right either way: precision, recall and F1 are 0.8 in the population.
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(120):
        reference = (rng.random((150, 1)) < 0.5).astype(np.int8)
        said = np.where(rng.random((150, 1)) < 0.2, 1 - reference, reference)
        interval = bootstrap.scores(reference, said, ["a"], resamples=300, seed=trial).macro.f1.interval
        covered += interval is not None and 0.8 in interval
    # 95% of 120 is 114, standard deviation 2.4
    assert covered >= 106


def test_what_does_not_vary_in_the_sample_does_not_pass_for_certain() -> None:
    reference = np.array([[1, 0], [0, 1], [1, 1], [0, 1]])
    found = bootstrap.scores(reference, reference, ["a", "b"], resamples=50)
    assert found.macro.f1 == found.micro.f1 == found.accuracy == Estimate(1.0, None)
    assert found.labels["b"].f1.interval is not None
    # Two annotators who say the same do differ by nothing at all.
    same = bootstrap.difference(reference, reference, reference, ["a", "b"], resamples=50).macro.f1
    assert same.interval is not None
    assert (same.interval.low, same.interval.high) == (0.0, 0.0)


@pytest.mark.parametrize("width", [1, 5, 26, 27, 40])
def test_patterns_of_outcomes_in_lexical_order(width):
    rng = np.random.default_rng(width)
    outcomes = rng.integers(-1, 4, size=(300, width)).astype(np.int8)
    outcomes = np.concatenate([outcomes, outcomes[:50], np.full((3, width), 3, np.int8)])
    patterns, frequency = bootstrap._patterns(outcomes)
    expected, counts = np.unique(outcomes, axis=0, return_counts=True)
    assert (patterns == expected).all()
    assert (frequency == counts).all()


def test_no_rows_have_no_patterns():
    patterns, frequency = bootstrap._patterns(np.zeros((0, 3), np.int8))
    assert (len(patterns), len(frequency)) == (0, 0)
