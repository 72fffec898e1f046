"""Tests of always-valid intervals and fixed-sequence tests; the benchmark measures their coverage."""

from __future__ import annotations

import numpy as np
import pytest

from core.services.review.sampling_frames import comparison_sizes
from core.stats import sequential_tests
from core.stats.sampling import WeightedSample, draw_sizes
from tests.core.stats.other_libraries import BOUND, CERTAINTY, THRESHOLDS, WRONG
from tests.core.stats.samples import uniform_sample


def _all(count: int, population: int) -> WeightedSample:
    return uniform_sample(np.ones(count, dtype=bool), population)


def test_interval_narrows_with_each_draw() -> None:
    y = np.tile([1.0, 0.0, 0.0, 1.0], 50)
    result = sequential_tests.confidence_sequence(_all(200, 5000), y, np.zeros(200), 0.0, planned=150)
    assert len(result) == 200 - sequential_tests.FIRST_DRAWS + 1
    assert all(0.5 in interval for interval in result)
    assert result[-1].high - result[-1].low < 0.6 * (result[20].high - result[20].low)
    fixed = 2 * 1.96 * 0.5 / 200**0.5
    assert fixed * 1.3 < result[-1].high - result[-1].low < fixed * 2, (
        "an always-valid interval is 1.3 to 2 times as wide"
    )


def test_good_predictions_narrow_the_sequence_to_a_positive_width() -> None:
    y = np.tile([1.0, 0.0], 50)
    plain = sequential_tests.confidence_sequence(_all(100, 5000), y, np.zeros(100), 0.0, planned=100)[-1]
    helped = sequential_tests.confidence_sequence(_all(100, 5000), y, y, 0.5, planned=100)[-1]
    assert 0 < helped.high - helped.low < 0.5 * (plain.high - plain.low)


def test_few_draws_have_no_interval_and_a_census_has_zero_width() -> None:
    few = sequential_tests.FIRST_DRAWS - 1
    assert sequential_tests.confidence_sequence(_all(few, 100), np.ones(few), np.ones(few), 1.0, planned=50) == []
    (complete,) = sequential_tests.confidence_sequence(_all(30, 30), np.ones(30), np.zeros(30), 0.0, planned=50)
    assert (complete.low, complete.high) == (1.0, 1.0)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_all_intervals_of_a_study_of_rare_errors_cover(share: float) -> None:
    """A simulation in R 4.2.2, without this project's code, covered 86% for 10% errors with half an unseen error."""
    covered = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        right = (rng.random(800) >= share).astype(float)
        drawn = right[rng.permutation(800)[:300]]
        result = sequential_tests.confidence_sequence(_all(300, 800), drawn, np.ones(300), 1.0, planned=100)
        covered += all(right.mean() in interval for interval in result)
    assert covered >= 0.93 * 150


@pytest.mark.parametrize(("share", "better", "even"), [(0.3, 0.95, False), (0.02, 0.75, True)])
def test_all_intervals_of_a_difference_cover(share: float, better: float, even: bool) -> None:
    # Two runs of one label. Drawn evenly, the first documents often show no difference of runs that differ.
    covered = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        differs = rng.random(2000) < share
        gains = np.where(differs, np.where(rng.random(2000) < better, 1.0, -1.0), 0.0)
        sizes = np.ones(2000) if even else draw_sizes(differs[:, None], differs[:, None], 0.1)
        order = np.argsort(rng.exponential(size=2000) / sizes)[:200]
        sample = WeightedSample.of_draws(order, [sizes] * 200, 2000)
        result = sequential_tests.confidence_sequence(
            sample,
            gains[order],
            np.zeros(200),
            0.0,
            planned=100,
            low=-1.0,
            error_sizes=2.0 * differs[order],
            typical_error=2.0,
        )
        covered += all(gains.mean() in interval for interval in result)
    assert covered >= 0.93 * 150


def test_all_intervals_of_a_difference_in_many_labels_cover() -> None:
    # Ten labels. The second run wins most documents by one label, and loses every twentieth one by all of them.
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        is_on_all = rng.random(2000) < 0.05
        differs = is_on_all[:, None] | (np.arange(10) == 0)
        gains = np.where((rng.random(2000) < 0.05) ^ is_on_all, -1.0, 1.0) * differs.mean(axis=1)
        sizes, lost = comparison_sizes(differs, 0.1), 2 * differs.mean(axis=1)
        order = np.argsort(rng.exponential(size=2000) / sizes)[:200]
        sample = WeightedSample.of_draws(order, [sizes] * 200, 2000)
        result = sequential_tests.confidence_sequence(
            sample,
            gains[order],
            np.zeros(200),
            0.0,
            planned=100,
            low=-1.0,
            error_sizes=lost[order],
            typical_error=float(np.sqrt((lost**2).mean())),
        )
        covered += all(gains.mean() in interval for interval in result)
    assert covered >= 0.93 * 200


def test_equal_runs_have_an_exact_difference() -> None:
    zeros = np.zeros(30)
    result = sequential_tests.confidence_sequence(
        _all(30, 200), zeros, zeros, 0.0, planned=100, low=-1.0, error_sizes=0.0, typical_error=0.0
    )
    assert [(interval.low, interval.high) for interval in result] == [(0.0, 0.0)] * 11


def test_all_intervals_of_a_study_cover_with_changing_sizes() -> None:
    # 120 studies of 600 documents with 10% errors, drawn in three frames. A study counts if all its intervals cover.
    covered = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        f = (rng.random(600) < 0.3).astype(float)
        y = np.where(rng.random(600) < 0.1, 1 - f, f)
        order: list[int] = []
        sizes: list[np.ndarray | None] = []
        for weight in (1.0, 4.0, 2.0):
            frame = np.where(f == 1, weight, 1.0)
            times = rng.exponential(size=600) / frame
            times[order] = np.inf
            order += np.argsort(times)[:60].tolist()
            sizes += [frame] * 60
        sample = WeightedSample.of_draws(order, sizes, 600)
        result = sequential_tests.confidence_sequence(sample, y[order], f[order], float(f.mean()), planned=100)
        covered += all(y.mean() in interval for interval in result)
    assert covered >= 110


def test_number_of_reviews_for_a_bound() -> None:
    # At 95% confidence and a bound of 10%, two errors in 61 reviews have p = .049 and three p = .11.
    assert sequential_tests.reviews_for_bound(0.02, 0.1) == 61
    assert sequential_tests.reviews_for_bound(0.05, 0.1) == 179
    assert sequential_tests.reviews_for_bound(0.08, 0.1) == 1290
    assert sequential_tests.reviews_for_bound(0.0, 0.05) == 59, "0.95 ** 59 is below .05"
    assert sequential_tests.error_p(2, 61, 0.1) == pytest.approx(0.0492, abs=5e-4)
    assert sequential_tests.error_p(3, 61, 0.1) > 0.1
    assert sequential_tests.error_p(0, 0, 0.1) == 1.0


def test_thresholds_are_tested_in_order_until_one_fails() -> None:
    # The 70 most certain verdicts with 2 errors pass; the threshold with 30 more, 20 of them wrong, fails.
    certainty = np.array([2.0] * 70 + [1.0] * 30 + [0.0] * 400)
    wrong = np.array([1] * 2 + [0] * 68 + [1] * 20 + [0] * 10 + [0] * 400)
    assert sequential_tests.accept_thresholds(certainty, wrong, (0, 1, 2), 0.1) == [2]
    assert sequential_tests.accept_thresholds(certainty[:40], wrong[:40], (0, 1, 2), 0.05) == []
    assert sequential_tests.accept_thresholds(certainty, wrong * 0, (0, 1, 2), 0.1) == [2, 1, 0]


def test_false_acceptance_rate_is_bounded() -> None:
    # With a true error just above the bound, at most 5% of 400 studies accept, within three standard errors.
    rng = np.random.default_rng(1)
    false = sum(
        bool(sequential_tests.accept_thresholds(np.ones(150), rng.random(150) < 0.101, (1,), 0.1)) for _ in range(400)
    )
    assert false / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_accepted_thresholds_agree_with_mapie() -> None:
    # P values and accepted thresholds of mapie 1.6.0 (``other_libraries``).
    among = [threshold <= CERTAINTY for threshold in THRESHOLDS]
    p = [sequential_tests.error_p(int(WRONG[part].sum()), int(part.sum()), BOUND) for part in among]
    assert p == pytest.approx(
        [4.62858596e-05, 2.50794771e-07, 1.39728128e-06, 1.05933909e-04, 9.56828146e-02], rel=1e-7
    )
    assert sequential_tests.accept_thresholds(CERTAINTY, WRONG, THRESHOLDS, BOUND) == [0.95, 0.9, 0.8, 0.7]
