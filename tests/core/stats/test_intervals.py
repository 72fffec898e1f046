from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.stats.intervals import (
    Estimate,
    Interval,
    format_estimate,
    format_interval,
    newcombe_paired,
    wilson,
)
from core.stats.metric_intervals import Design, ratio
from core.stats.metrics import Counts
from core.stats.sampling import WeightedSample
from tests.core.stats.samples import scores_of

count = st.integers(0, 40)


def ends(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def gain(part: npt.ArrayLike, all_cells: npt.ArrayLike) -> Interval | None:
    return ratio(part, all_cells, Design(), signed=True).interval


def test_wilson_interval_has_a_width_at_zero_and_one() -> None:
    # With z = 1.96 the end is z^2 / (10 + z^2) = 3.8415 / 13.8415.
    assert ends(wilson(0, 10)) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert ends(wilson(10, 10)) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert ends(wilson(5, 10)) == pytest.approx((0.2366, 0.7634), abs=1e-4)


def test_wilson_degenerate() -> None:
    assert wilson(0, 0) is None
    with pytest.raises(ValueError, match="3 successes of 2"):
        wilson(3, 2)


@settings(deadline=None)
@given(count, st.integers(1, 60), st.floats(0.5, 0.99))
def test_wilson_agrees_with_scipy(successes: int, more: int, level: float) -> None:
    n = successes + more
    theirs = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert ends(wilson(successes, n, level)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def interval_of(key: str, counts: Counts) -> Interval | None:
    """Return the interval of a score of one label with these counts."""
    return scores_of(counts)[key].interval


def test_scores_of_counts() -> None:
    counts = Counts(tp=8, fp=2, fn=0, tn=10)
    assert interval_of("precision", counts) == wilson(8, 10)
    assert interval_of("recall", counts) == wilson(8, 8)
    assert interval_of("precision", Counts(tn=3)) is interval_of("recall", Counts(tn=3)) is None


def test_newcombe_reproduces_published_intervals() -> None:
    # Bentur et al. 2009: airway hyper-responsiveness before and after stem cell transplantation, in Fagerland, Lydersen
    # and Laake, Statistical Analysis of Contingency Tables, 2017, chapter 8: -0.286, interval -0.507 to -0.026.
    assert ends(newcombe_paired(both=1, gained=1, lost=7, neither=12)) == pytest.approx((-0.507, -0.026), abs=5e-4)
    # Newcombe 1998, counts 36, 12, 2, 0: method 10 gives 0.0569 to 0.3404.
    assert ends(newcombe_paired(both=36, gained=12, lost=2, neither=0)) == pytest.approx((0.0569, 0.3404), abs=5e-5)


def test_newcombe_without_change_has_a_width() -> None:
    low, high = ends(newcombe_paired(10, 0, 0, 0))
    assert low == pytest.approx(-0.2775, abs=1e-4)
    assert high == pytest.approx(0.2775, abs=1e-4)
    assert newcombe_paired(0, 0, 0, 0) is None


@given(count, count, count, count)
def test_newcombe_contains_the_difference_and_is_antisymmetric(both: int, gained: int, lost: int, neither: int) -> None:
    n = both + gained + lost + neither
    interval = newcombe_paired(both, gained, lost, neither)
    if interval is None:
        assert n == 0
        return
    assert -1 <= interval.low <= interval.high <= 1
    assert interval.low - 1e-9 <= (gained - lost) / n <= interval.high + 1e-9
    mirrored = ends(newcombe_paired(both, lost, gained, neither))
    assert mirrored == pytest.approx((-interval.high, -interval.low), abs=1e-9)


def test_clustered_share_with_equal_clusters_is_the_t_interval_of_document_means() -> None:
    gains = np.array([2, 0, -1, 1, 0, 0, 3, 0])
    theirs = stats.ttest_1samp(gains / 5, 0.0).confidence_interval(0.95)
    assert ends(gain(gains, np.full(8, 5))) == pytest.approx((theirs.low, theirs.high))


def test_repeated_cells_of_a_document_do_not_narrow_the_interval() -> None:
    gains, cells = np.array([1, 0, -1, 1, 0]), np.array([1, 2, 1, 1, 2])
    assert ends(gain(gains, cells)) == pytest.approx(ends(gain(gains * 10, cells * 10)))


def test_clustered_share_degenerate() -> None:
    assert gain([1], [2]) is None
    assert gain([], []) is None
    assert gain([0, 0, 0], [2, 3, 2]) is None
    assert gain([0.6, 0.9, 0.3], [2, 3, 1]) is None  # the same share in each cluster, except for rounding


def test_clear_difference_excludes_zero() -> None:
    assert Estimate(0.1, Interval(0.02, 0.2)).clear is True
    assert Estimate(0.1, Interval(-0.02, 0.2)).clear is False
    assert Estimate(0.1, None).clear is None


def test_interval_of_f1_is_transformed_from_that_of_a_share() -> None:
    # F* = 6 of 10, Wilson 0.3127 to 0.8318; F1 = 2 * 6 / (12 + 4) = 0.75 = 2 * 0.6 / 1.6.
    counts = Counts(tp=6, fp=3, fn=1, tn=90)
    result = interval_of("f1", counts)
    assert result is not None
    assert (result.low, result.high) == (pytest.approx(0.4764, abs=1e-4), pytest.approx(0.9082, abs=1e-4))
    assert scores_of(counts)["f1"].value in result
    nothing = interval_of("f1", Counts(fn=4))
    assert nothing is not None
    assert (nothing.low, nothing.high) == (0.0, pytest.approx(0.6577, abs=1e-3))
    assert interval_of("f1", Counts(fp=4, tn=2)) is None


def test_interval_of_f1_covers_f1_in_small_samples() -> None:
    rng = np.random.default_rng(11)
    shares = np.array([0.3, 0.03, 0.03, 0.64])  # F1 = 0.6 / 0.66
    samples = [Counts(*map(int, cells)) for cells in rng.multinomial(15, shares, size=200)]
    intervals = [interval for sample in samples if (interval := interval_of("f1", sample)) is not None]
    assert sum(0.6 / 0.66 in interval for interval in intervals) / len(intervals) > 0.93


def test_repeated_documents_in_groups_do_not_change_the_interval() -> None:
    # Each document occurs four times in a group; share and interval are close to those of the single documents.
    rng = np.random.default_rng(2)
    hits = rng.random(60) < 0.3
    single = ratio(hits, np.ones(60), Design())
    copies = np.repeat(hits, 4)
    naive = ratio(copies, np.ones(240), Design())
    grouped = ratio(copies, np.ones(240), Design(groups=np.repeat(np.arange(60), 4)))
    assert single.value == naive.value == grouped.value
    assert ends(grouped.interval) == pytest.approx(ends(single.interval), abs=0.01)
    assert width(naive.interval) < 0.55 * width(grouped.interval)
    change = hits.astype(int) - (rng.random(60) < 0.1)
    assert ends(
        ratio(np.repeat(change, 4), np.ones(240), Design(groups=np.repeat(np.arange(60), 4)), signed=True).interval
    ) == pytest.approx(ends(gain(change, np.ones(60))), abs=1e-9)


def test_mean_of_ratios_has_the_interval_of_the_means_of_documents() -> None:
    first, second = np.array([1, 0, 1, 1, 0, 1]), np.array([1, 1, 1, 0, 0, 1])
    result = ratio(np.stack([first, second], axis=1), np.ones((6, 2)), Design(), signed=True)
    theirs = stats.ttest_1samp((first + second) / 2, 0.0).confidence_interval(0.95)
    assert result.value == pytest.approx(8 / 12)
    assert ends(result.interval) == pytest.approx((theirs.low, min(1.0, theirs.high)))
    gaps = ratio(np.array([[1, 0], [0, 0], [1, 1]]), np.array([[1, 1], [1, 0], [1, 1]]), Design())
    assert gaps.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert ratio(np.zeros((3, 2)), np.zeros((3, 2)), Design()) == Estimate()


def test_mean_of_fractions_is_covered_by_an_interval_as_wide_as_their_spread() -> None:
    rng = np.random.default_rng(4)
    intervals = [ratio(rng.choice([2 / 3, 1.0], 40), np.ones(40), Design()).interval for _ in range(300)]
    assert 0.92 < np.mean([5 / 6 in interval for interval in intervals if interval is not None]) < 0.98
    assert width(intervals[0]) < 0.6 * width(wilson(33, 40))


def test_ratio_from_reviewed_documents_estimates_that_of_all_documents() -> None:
    # Errors are drawn five times as often; the estimated share is that of all documents, not of the reviewed ones.
    wrong = np.arange(1000) % 10 == 0
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = np.where(wrong, 5.0, 1.0)
        order = np.argsort(rng.exponential(size=1000) / sizes)[:150]
        design = Design(sample=WeightedSample.of_draws(order, [sizes] * 150, 1000), order=order)
        reviewed = np.isin(np.arange(1000), order)
        result = ratio(wrong & reviewed, reviewed, design)
        assert result.interval is not None
        covered.append(0.1 in result.interval)
    assert wrong[order].mean() > 0.25
    assert sum(covered) >= 35
    by_hand = Design(sample=WeightedSample(np.zeros(150), 1000), order=order)
    assert ratio(wrong & reviewed, reviewed, by_hand).interval is None


def width(interval: Interval | None) -> float:
    low, high = ends(interval)
    return high - low


def test_formats_intervals() -> None:
    assert format_interval(Interval(0.864, 0.907)) == "0.864 to 0.907"
    assert format_interval(Interval(0.864, 0.907), "percent") == "86% to 91%"
    assert format_interval(Interval(-0.012, 0.043), "points", named=True) == "95% interval −1.2 to 4.3"
    assert format_interval(Interval(-0.5, 0.5, 0.9), digits=2, named=True) == "90% interval −0.50 to 0.50"
    assert format_interval(None, named=True) == ""


def test_estimate_is_shown_with_its_interval_if_that_has_a_width() -> None:
    assert format_estimate(Estimate(0.864, Interval(0.812, 0.907))) == "0.864 (0.812 to 0.907)"
    assert format_estimate(Estimate(0.86, Interval(0.81, 0.91)), percent=True) == "86% (81% to 91%)"
    assert format_estimate(Estimate(0.975, Interval(0.975, 0.975))) == "0.975"
    assert format_estimate(Estimate(1.0, Interval(1.0 - 1e-15, 1.0))) == "1.000"  # a rounding error is not an interval
    assert format_estimate(Estimate()) == "–"
