"""Tests of prediction-powered inference against figures of the authors' package (ppi-python 0.2.3)."""

from __future__ import annotations

import numpy as np
import pytest

from core.stats.sampling import Predicted, mean, power

Y = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0]
F = [1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0]
OTHERS = [1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1]
RATED = ([2, 3.5, 1, 4, 5, 2.5, 3], [2.5, 3, 2, 4.5, 4, 2, 3.5], [3, 2, 2.5, 4, 4.5, 1.5, 3, 3.5, 2, 5, 4])


@pytest.mark.parametrize(
    ("tuning", "value", "low", "high"),
    [
        # ppi_mean_pointestimate and ppi_mean_ci(Y, F, OTHERS, alpha=0.05, lam=tuning)
        (1.0, 0.45, 0.13236554, 0.76763446),
        (0.5, 0.475, 0.23298986, 0.71701014),
        (0.0, 0.5, 0.21710357, 0.78289643),
        (None, 0.47973856, 0.23945201, 0.72002512),
    ],
)
def test_shares_agree_with_the_package(tuning: float | None, value: float, low: float, high: float) -> None:
    found = mean(Y, F, Predicted.of(OTHERS), tuning=tuning)
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=1e-8)


@pytest.mark.parametrize(
    ("tuning", "value", "low", "high"),
    [(1.0, 3.11038961, 2.30220345, 3.91857577), (None, 3.05786677, 2.33519087, 3.78054267)],
)
def test_means_agree_with_the_package(tuning: float | None, value: float, low: float, high: float) -> None:
    reference, predicted, others = RATED
    found = mean(reference, predicted, Predicted.of(others), tuning=tuning)
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=1e-8)


def test_power_tuning_by_hand() -> None:
    # y = 1 1 0 0, f = 1 0 0 0, other predictions 1 0: Cov = 1/4 - 1/2 * 1/4 = 1/8. Two of six predictions are 1, so
    # their sample variance is 6/5 * 1/3 * 2/3 = 4/15; 1 + n/N = 3. lambda = (1/8) / (3 * 4/15) = 5/32.
    assert power([1, 1, 0, 0], [1, 0, 0, 0], Predicted.of([1, 0])) == pytest.approx(5 / 32)


def test_uninformative_predictions_get_weight_zero() -> None:
    assert power([1, 0, 1], [1, 1, 1], Predicted.of([1, 1])) == 0.0
    assert power([1, 0, 1, 0], [0, 1, 0, 1], Predicted.of([0, 1])) == 0.0  # negatively correlated predictions


def test_single_decision_has_no_interval_and_no_decision_is_an_error() -> None:
    assert mean([1], [1], Predicted.of([0, 1])).interval is None
    with pytest.raises(ValueError, match="shape"):
        mean([], [], Predicted.of([1]))
    with pytest.raises(ValueError, match="no predictions"):
        Predicted.of([])


def test_intervals_cover_and_are_narrower_than_without_predictions() -> None:
    # 800 samples of 100 reviewed and 900 other cases, 90% correct predictions; three standard errors are 2.3 points.
    covered, narrower = 0, []
    for seed in range(800):
        rng = np.random.default_rng(seed)
        reference = rng.random(1000) < 0.3
        predicted = np.where(rng.random(1000) < 0.9, reference, ~reference)
        found = mean(reference[:100], predicted[:100], Predicted.of(predicted[100:]))
        plain = mean(reference[:100], predicted[:100], Predicted.of(predicted[100:]), tuning=0.0)
        assert found.interval is not None
        assert plain.interval is not None
        covered += 0.3 in found.interval
        narrower.append((found.interval.high - found.interval.low) / (plain.interval.high - plain.interval.low))
    assert 0.95 - 3 * 0.008 <= covered / 800 <= 0.95 + 3 * 0.008
    assert np.mean(narrower) < 0.85
