"""Prediction-powered inference: the mean of what a person would say, from many predictions and a few decisions.

    theta = (1/n) sum(y_i - lambda f_i) + lambda (1/N) sum(f_j)

n decided cases with the truth y and the prediction f, N further cases with the prediction alone. Whatever the
predictions are worth, the estimate is unbiased and the interval valid; good predictions make it narrow. Sources:
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, *Prediction-powered inference* (Science 382, section on the
mean), and for lambda Angelopoulos, Duchi and Zrnic 2023, *PPI++* (section 6, power tuning): lambda 1 is the first
paper's estimate, 0 leaves the predictions out. Agrees with the authors' ``ppi_python`` to machine precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from core.evaluation.intervals import Estimate, Interval


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions on cases that nobody decided: their mean, variance (divisor N) and number. ``n`` infinite says
    that the mean is known exactly: that of a finite collection all of which was predicted."""

    mean: float
    variance: float = 0.0
    n: float = inf

    @classmethod
    def of(cls, predictions: npt.ArrayLike) -> Self:
        """From the predictions themselves; ValueError for none."""
        values = np.asarray(predictions, dtype=np.float64)
        if not values.size:
            raise ValueError("no predictions")
        return cls(float(values.mean()), float(values.var()), values.size)


def power(truth: npt.ArrayLike, predicted: npt.ArrayLike, others: Predicted) -> float:
    """The lambda with the narrowest interval: Cov(y, f) / ((1 + n/N) Var(f)), cut to 0 to 1; 0 where predictions do not
    vary. The variance is over decided and other cases together (as the authors' code has it)."""
    y, f = _pair(truth, predicted)
    n = len(y)
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    variance = _pooled(f, others)
    if variance <= 0:
        return 0.0
    return float(np.clip(covariance / ((1 + n / others.n) * variance), 0.0, 1.0))


def mean(
    truth: npt.ArrayLike,
    predicted: npt.ArrayLike,
    others: Predicted,
    *,
    tuning: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of the truth over all cases with its normal interval. ``tuning`` is lambda, None for ``power``.

    Not cut to any range. ValueError for no decided case or sides of different length; no interval for a single one.
    """
    y, f = _pair(truth, predicted)
    n = len(y)
    weight = power(y, f, others) if tuning is None else tuning
    rectified = y - weight * f
    value = float(rectified.mean()) + weight * others.mean
    if n < 2:
        return Estimate(value, None)
    error = sqrt(float(rectified.var()) / n + weight**2 * others.variance / others.n)
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Estimate(value, Interval(value - half, value + half, level))


def _pair(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    y, f = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if y.shape != f.shape or y.ndim != 1 or not y.size:
        raise ValueError(f"decisions of shape {y.shape} and predictions of shape {f.shape}")
    return y, f


def _pooled(f: npt.NDArray[np.float64], others: Predicted) -> float:
    """The sample variance (divisor count - 1) over decided and other predictions together."""
    n = len(f)
    if others.n == inf:  # nothing but the decided ones to measure it on
        return float(f.var())
    total = n + others.n
    middle = (float(f.sum()) + others.n * others.mean) / total
    squares = float(((f - middle) ** 2).sum()) + others.n * (others.variance + (others.mean - middle) ** 2)
    return squares / (total - 1)
