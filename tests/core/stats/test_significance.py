from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.stats.significance import mcnemar, mcnemar_of, paired_t, welch_t

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


@pytest.mark.parametrize("model", ECJ)
def test_table_4_of_the_ecj_paper_with_its_directions(model: str) -> None:
    single, debate, t = ECJ[model]
    result = paired_t(single, debate)
    assert result.t == pytest.approx(t, abs=0.006)
    assert (result.n_first, result.df) == (5, 4)
    assert abs(result.t or 0) > 2.776  # the critical value at 5%
    assert result.significant()
    # the paper prints absolute values, behind which two of the seven "improvements" are significant losses
    assert result.direction == ("loss" if model in LOSSES else "gain")
    assert f"a significant {result.direction}" in result.sentence()


@pytest.mark.filterwarnings("ignore:Precision loss")  # the single gpt-4o-mini never varies, on which scipy remarks
@pytest.mark.parametrize("model", ECJ)
def test_t_tests_as_scipy(model: str) -> None:
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


def test_the_sentence() -> None:
    single, debate, _ = ECJ["o4-mini"]
    assert paired_t(single, debate).sentence() == (
        "Paired t-test: -2.01, t(4) = -3.45, p = 0.026: a significant loss at 0.05."
    )
    assert welch_t([1.0, 2.0, 3.0], [1.5, 2.0, 3.1]).sentence().endswith("not significant at 0.05.")
    assert paired_t([1.0], [2.0]).sentence().startswith("Paired t-test: not defined")


def test_without_spread_or_scores_there_is_no_t() -> None:
    for result in (paired_t([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]), welch_t([1, 1], [2, 2]), paired_t([1], [2])):
        assert (result.t, result.df, result.p, result.interval) == (None, None, None, None)
        assert result.difference is not None
        assert result.difference > 0
        assert result.direction == "gain"
        assert not result.significant()
    empty = welch_t([], [1.0, 2.0])
    assert (empty.mean_first, empty.difference, empty.t, empty.direction) == (None, None, None, "none")


def test_a_missing_iteration_takes_its_partner_with_it() -> None:
    result = paired_t([1.0, np.nan, 2.0, 3.0], [2.0, 9.0, 2.5, 4.5])
    assert (result.n_first, result.n_second, result.excluded) == (3, 3, 2)
    assert welch_t([1.0, np.nan, 2.0], [2.0, 3.0]).excluded == 1
    with pytest.raises(ValueError, match="shapes differ"):
        paired_t([1.0], [1.0, 2.0])
    for test in (paired_t, welch_t):
        with pytest.raises(ValueError, match="iteration"):
            test([[1.0]], [[1.0]])


def test_mcnemar_with_chi_squared() -> None:
    # 121 against 59: (62 - 1)^2 / 180 = 20.67
    result = mcnemar(121, 59, 314)
    assert not result.exact
    assert result.statistic == pytest.approx(20.672, abs=1e-3)
    assert result.p == pytest.approx(float(stats.chi2.sf(20.6722, 1)), rel=1e-4)
    assert result.direction == "loss"
    assert result.significant()


def test_mcnemar_exact() -> None:
    # 1 against 7 of 8: 2 * (1 + 8) / 2^8 = 0.0703
    result = mcnemar(1, 7, 21)
    assert (result.exact, result.statistic, result.direction) == (True, None, "gain")
    assert result.p == pytest.approx(18 / 256)
    assert not result.significant()
    assert mcnemar(12, 12, 30).exact
    assert not mcnemar(12, 13, 30).exact
    assert mcnemar(12, 13, 30).p == pytest.approx(1.0)  # (1 - 1)^2


def test_mcnemar_degenerate() -> None:
    assert mcnemar(0, 0, 10).p == 1.0
    assert mcnemar(0, 0, 10).direction == "none"
    assert mcnemar(0, 0, 0).p is None
    assert not mcnemar(0, 0, 0).significant()
    with pytest.raises(ValueError, match="of 3 cases"):
        mcnemar(2, 2, 3)


@settings(deadline=None)
@given(st.integers(0, 24), st.integers(0, 24))
def test_mcnemar_exact_as_scipy(first: int, second: int) -> None:
    discordant = first + second
    result = mcnemar(first, second, discordant + 5)
    if 0 < discordant < 25:
        assert result.p == pytest.approx(stats.binomtest(first, discordant, 0.5).pvalue)
    assert result.p == mcnemar(second, first, discordant + 5).p


def test_mcnemar_of_vectors() -> None:
    reference = [1, 1, 0, 2, 1, -1]
    first = [1, 0, 0, 1, -1, 1]
    second = [0, 1, 0, 2, 1, 1]
    result = mcnemar_of(reference, first, second)
    # lost the first, gained the second and fourth, agree on the third; the fifth lacks a value, the sixth gold
    assert (result.n, result.excluded, result.only_first, result.only_second) == (4, 1, 1, 2)
