"""Tests of the significance tests against worked numbers, scipy and simulations."""

from __future__ import annotations

import itertools
import math
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import bdtr, ndtr
from statsmodels.stats.contingency_tables import cochrans_q as theirs
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_theirs
from statsmodels.stats.multitest import multipletests

from core.stats.intervals import Estimate
from core.stats.significance import (
    cochrans_q,
    holm,
    independent_d,
    mcnemar,
    mcnemar_of,
    paired_t,
    sign_flip,
    welch_t,
)
from tests.each_row import each_row

# F1 of five iterations as printed in the ECJ paper (tables 9 and 10): single model, ECJ, and the t of table 4.
ECJ = {
    "gpt-4.1": ([71.35, 72.26, 71.71, 71, 71.53], [95.03, 93.66, 95.8, 93.66, 95.1], 48.03),
    "o4-mini": ([93.47, 94.84, 93.62, 94.44, 95.17], [92.97, 93.28, 91.69, 90.36, 93.19], -3.45),
    "gpt-3.5-turbo": ([58.97, 58.97, 58.72, 58.84, 58.72], [73.19, 76.81, 74.86, 75, 73.62], 25.55),
    "gpt-4o-mini": ([58.24, 58.24, 58.24, 58.24, 58.24], [89.04, 90.97, 92.41, 88.11, 89.04], 40.68),
    "o3-mini": ([62.97, 64.54, 63.53, 63.96, 63.37], [86.95, 87.42, 86.23, 86.87, 86.87], 97.37),
    "gpt-4.1-mini": ([87.5, 86.34, 86.34, 86.6, 87.23], [78.15, 77.63, 76.39, 74.67, 76.39], -17.96),
    "gpt-4.1-nano": ([59.34, 60.08, 59.71, 60.08, 60.08], [70.48, 78.88, 78, 76.66, 75.83], 11.84),
}
LOSSES = {"o4-mini", "gpt-4.1-mini"}


@each_row("model", ECJ)
def test_table_4_of_the_ecj_paper_with_its_directions(model: str) -> None:
    single, debate, t = ECJ[model]
    result = paired_t(single, debate)
    assert result.t == pytest.approx(t, abs=0.006)
    assert (result.n_first, result.df) == (5, 4)
    assert abs(result.t or 0) > 2.776  # the critical value at 5%
    assert (result.p or 1.0) < 0.05
    # The paper prints absolute values of t; two of its seven "improvements" are significant losses.
    assert result.direction == ("loss" if model in LOSSES else "gain")
    assert f"a significant {result.direction}" in result.sentence()


@pytest.mark.filterwarnings("ignore:Precision loss")  # scores of gpt-4o-mini are constant, so scipy warns
@pytest.mark.parametrize("model", ECJ)
def test_t_tests_agree_with_scipy(model: str) -> None:
    single, debate, _ = ECJ[model]
    ours, theirs = paired_t(single, debate), stats.ttest_rel(debate, single)
    assert (ours.t, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    interval = theirs.confidence_interval(0.95)
    assert ours.interval is not None
    assert (ours.interval.low, ours.interval.high) == pytest.approx((interval.low, interval.high))
    ours, theirs = welch_t(single, debate[:4]), stats.ttest_ind(debate[:4], single, equal_var=False)
    assert (ours.t, ours.p, ours.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    interval = theirs.confidence_interval(0.95)
    assert ours.interval is not None
    assert (ours.interval.low, ours.interval.high) == pytest.approx((interval.low, interval.high))
    assert (ours.n_first, ours.n_second) == (5, 4)


def test_sentence_of_a_t_test() -> None:
    single, debate, _ = ECJ["o4-mini"]
    assert paired_t(single, debate).sentence() == (
        "Paired t-test: −2.01, t(4) = −3.45, p = 0.026: a significant loss at 0.05."
    )
    assert welch_t([1.0, 2.0, 3.0], [1.5, 2.0, 3.1]).sentence().endswith("not significant at 0.05.")
    assert paired_t([1.0], [2.0]).sentence().startswith("Paired t-test: not defined")


def test_t_is_undefined_without_spread_or_scores() -> None:
    for result in (paired_t([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]), welch_t([1, 1], [2, 2]), paired_t([1], [2])):
        assert (result.t, result.df, result.p, result.interval) == (None, None, None, None)
        assert result.difference is not None
        assert result.difference > 0
        assert result.direction == "gain"
    empty = welch_t([], [1.0, 2.0])
    assert (empty.mean_first, empty.difference, empty.t, empty.direction) == (None, None, None, "none")


def test_missing_iteration_excludes_its_pair() -> None:
    result = paired_t([1.0, np.nan, 2.0, 3.0], [2.0, 9.0, 2.5, 4.5])
    assert (result.n_first, result.n_second, result.excluded) == (3, 3, 2)
    assert welch_t([1.0, np.nan, 2.0], [2.0, 3.0]).excluded == 1
    with pytest.raises(ValueError, match="shapes differ"):
        paired_t([1.0], [1.0, 2.0])


def test_mcnemar_of_many_cases_is_exact() -> None:
    result = mcnemar(50_600, 50_000, 200_000)
    assert result.p == pytest.approx(stats.binomtest(50_000, 100_600, 0.5).pvalue, rel=1e-8)
    assert result.direction == "loss"


def test_sign_flip_test_of_groups_by_hand() -> None:
    # Three groups gain 3, 2 and -1. Of the eight signed sums +-(3 + 2 - 1) and +-(3 + 2 + 1) are at least 4.
    assert sign_flip(np.array([3, 2, -1, 0])) == pytest.approx(4 / 8)
    assert sign_flip(np.array([], dtype=np.int64)) == 1.0
    reference, first, second = np.ones(8, dtype=int), np.array([1, 0, 0, 0, 0, 0, 0, 0]), np.ones(8, dtype=int)
    independent = mcnemar_of(reference, first, second)
    one_group = mcnemar_of(reference, first, second, groups=np.zeros(8, dtype=np.int64))
    assert (independent.p, independent.groups) == (pytest.approx(2 / 128), None)
    assert (one_group.p, one_group.groups) == (1.0, 1)  # a single group has a single sign


@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=40))
def test_sign_flip_of_single_cases_is_the_exact_mcnemar_test(gains: list[int]) -> None:
    first, second = gains.count(-1), gains.count(1)
    assert sign_flip(np.array(gains)) == pytest.approx(mcnemar(first, second, len(gains)).p)


@given(st.lists(st.integers(-9, 9), max_size=12))
def test_sign_flip_equals_the_share_of_all_signs(gains: list[int]) -> None:
    signed = [
        abs(sum(sign * gain for sign, gain in zip(signs, gains, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(gains))
    ]
    share = sum(size >= abs(sum(gains)) for size in signed) / len(signed)
    assert sign_flip(np.array(gains, dtype=np.int64)) == pytest.approx(share)


def test_sign_flip_of_many_groups_is_exact() -> None:
    gains = np.repeat([1, -1, 2, -2], [25_300, 24_700, 10, 10])
    p = sign_flip(gains)
    # The gains sum to 600. With random signs the sum is even and its variance is that of 50,000 ones and 20 twos.
    assert p == pytest.approx(2 * ndtr(-(600 - 1) / math.sqrt(50_000 + 20 * 4)), rel=1e-3)
    assert sign_flip(gains[gains % 2 != 0]) == pytest.approx(2 * bdtr(24_700, 50_000, 0.5), rel=1e-9)


def test_sign_flip_of_clusters_keeps_its_level() -> None:
    # Two equally good annotators on groups of eight documents with shared errors have at most 8% false positives.
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(40), 8)
    wrong, plain = 0, 0
    for _ in range(400):
        first, second = ((rng.random(40) < 0.7)[groups] for _ in range(2))
        gold = np.ones(320, dtype=int)
        wrong += (mcnemar_of(gold, first, second, groups=groups).p or 1) < 0.05
        plain += (mcnemar_of(gold, first, second).p or 1) < 0.05
    assert wrong <= 32  # expected 20 (5% of 400) with standard deviation 4.4
    assert plain > 100  # the test for independent documents fails


def test_mcnemar_exact() -> None:
    # 1 against 7 of 8: 2 * (1 + 8) / 2^8 = 0.0703
    result = mcnemar(1, 7, 21)
    assert result.direction == "gain"
    assert result.p == pytest.approx(18 / 256)
    assert not result.significant()
    assert mcnemar(12, 13, 30).p == pytest.approx(1.0)


def test_mcnemar_degenerate() -> None:
    assert mcnemar(0, 0, 10).p == 1.0
    assert mcnemar(0, 0, 10).direction == "none"
    assert mcnemar(0, 0, 0).p is None
    assert not mcnemar(0, 0, 0).significant()


def test_mcnemar_of_vectors() -> None:
    reference = [1, 1, 0, 2, 1, -1]
    first = [1, 0, 0, 1, -1, 1]
    second = [0, 1, 0, 2, 1, 1]
    result = mcnemar_of(reference, first, second)
    # The first is regressed, the second and fourth corrected, the third equal; the fifth and sixth lack value or gold.
    assert (result.n, result.excluded, result.only_first, result.only_second) == (4, 1, 1, 2)


def test_odds_ratio_of_gained_and_lost_cases() -> None:
    effect = mcnemar(10, 30, 100).odds_ratio()
    assert effect.value == 3.0
    # Wilson's interval of 30 of 40 is 0.5981 to 0.8581.
    interval = effect.interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.5981 / 0.4019, 0.8581 / 0.1419), rel=2e-3)
    assert mcnemar(0, 5, 9).odds_ratio() == mcnemar(0, 0, 0).odds_ratio() == Estimate()


def test_independent_d() -> None:
    # means 2 and 5, both variances 1, df 4: 3 * (1 - 3 / 15)
    assert independent_d([1, 2, 3], [4, 5, 6]) == pytest.approx(2.4)
    assert independent_d([1], [4, 5, 6]) is None
    assert independent_d([1, 1], [2, 2]) is None


def test_cochran_by_hand() -> None:
    # Correct: A 4, B 2, C 1 of 5, in total 7; per row 3 2 1 1 0. Q = 2 (3 (16 + 4 + 1) - 49) / (21 - 15) = 28 / 6.
    reference = [1, 1, 1, 1, 1]
    answers = {"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 0, 0], "C": [1, 0, 0, 0, 0]}
    result = cochrans_q(reference, answers)
    assert (result.n, result.right, result.df) == (5, (4, 2, 1), 2)
    assert result.statistic == pytest.approx(28 / 6)
    assert result.sentence().startswith("No significant difference (Cochran's Q(2) = 4.67, p = 0.097")


def test_cochran_without_differences() -> None:
    same = cochrans_q([1, 0], {"A": [1, 1], "B": [1, 1]})
    assert (same.statistic, same.p) == (None, 1.0)
    assert same.sentence() == "All 2 are right on the same 1 of 2 cases, so there is no difference."
    none = cochrans_q([-1, 1], {"A": [1, -1], "B": [1, 1]})
    assert (none.n, none.excluded, none.p) == (0, 1, None)
    assert "not defined" in none.sentence()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_cochran_agrees_with_statsmodels(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 2, 30)
    answers = {str(number): rng.integers(0, 2, 30) for number in range(k)}
    result = cochrans_q(reference, answers)
    expected = theirs(np.stack([answers[name] == reference for name in answers], axis=1))
    assert (result.statistic, result.p) == pytest.approx((expected.statistic, expected.pvalue))
    if k == 2:
        first, second = answers.values()
        b, c = mcnemar_of(reference, first, second).only_first, mcnemar_of(reference, first, second).only_second
        assert result.statistic == pytest.approx((b - c) ** 2 / (b + c))


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 20))
def test_mcnemar_agrees_with_statsmodels(first: int, second: int, both: int) -> None:
    result = mcnemar(first, second, first + second + both)
    expected = mcnemar_theirs([[both, first], [second, 0]], exact=True)
    assert result.p == pytest.approx(float(expected.pvalue))
    assert result.p == mcnemar(second, first, first + second + both).p


@patch("gc.collect")  # statsmodels collects garbage in each call, which takes 0.1 s
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(collect: Mock, values: list[float]) -> None:
    assert holm(values) == pytest.approx(tuple(multipletests(values, method="holm")[1]))


def test_holm_ignores_missing_tests() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx((0.02, None, 0.04))
    assert holm([]) == ()
