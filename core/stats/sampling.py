"""What the reviewed documents say about all documents, when a queue chose most of them and chance the rest.

Documents are decided one after another. Before each draw at random (an *audit*), those decided so far are known and
N_t are not; the audited document stands for all of those, so

    z_t = (sum of z over the decided + N_t z_audited) / N

is an estimate of the mean of z over all N documents, unbiased whatever the queue did and whatever it learned on the
way, as its error given the past is zero on average. The mean of these over all M audits is too, and as errors given
the past do not correlate, their spread gives the variance. In other words: each reviewed document gets a weight from
the chance of its selection, an audited one a large weight and one that the queue sent a small one.

Source: Farquhar, Gal and Rainforth 2021, *On statistical bias in active learning*, section 3 (R_PURE for a uniform
proposal over what is left); used here on the audits alone and not on the queue's own picks, whose chance is close to
1 or 0 and would only add noise. With audits alone it is the mean of a random sample with its finite population
correction.

Intervals of shares are Wilson's, with the number of cases that would give the same variance (Korn and Graubard 1998,
Survey Methodology 24, who do so for Clopper-Pearson). Half an error more than was seen is counted into every variance:
few audits without an error don't prove that there is none, so intervals are wider than nominal where errors are rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt
from statistics import NormalDist
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from core.stats.intervals import Estimate, Interval

Numbers: TypeAlias = npt.NDArray[np.float64]

LEAST = 5
"""Audits below which there is no interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Reviewed documents in the order in which they were decided: which were audits (``[document]``), and the number of
    all documents that they come from. ValueError when there are more reviewed ones than documents."""

    audits: npt.NDArray[np.bool_]
    population: int

    def __post_init__(self) -> None:
        if len(self.audits) > self.population:
            raise ValueError(f"{len(self.audits)} reviewed of {self.population}")

    @property
    def drawn(self) -> int:
        """How many audits there are."""
        return int(self.audits.sum())

    def estimates(self, z: npt.ArrayLike) -> Numbers:
        """``[audit, ...]``: each audit's estimate of the mean of ``z`` (``[document, ...]``) over all documents. Once
        all are reviewed nothing is estimated: every one is the mean."""
        values = np.asarray(z, dtype=np.float64)
        if self.complete:
            return np.repeat(values.mean(axis=0, keepdims=True), max(LEAST, self.drawn), axis=0)
        before = np.cumsum(values, axis=0) - values
        remaining = self.population - np.arange(len(values))
        shape = (-1,) + (1,) * (values.ndim - 1)
        found: Numbers = (before + remaining.reshape(shape) * values) / self.population
        return found[self.audits]

    @property
    def complete(self) -> bool:
        """Whether all documents are reviewed, and there are some."""
        return 0 < len(self.audits) == self.population

    @property
    def silent(self) -> bool:
        """Whether nothing can be said of the documents that are not reviewed."""
        return not self.drawn and not self.complete

    @property
    def weights(self) -> Numbers:
        """``[document]``: for how many documents each stands; they sum to the population."""
        if self.complete:
            return np.ones(self.population)
        after = self.drawn - np.cumsum(self.audits)
        own = np.where(self.audits, self.population - np.arange(len(self.audits)), 0)
        return np.asarray((after + own) / max(1, self.drawn), dtype=np.float64)

    @property
    def reach(self) -> float:
        """The part of all documents that an audit speaks for, on average over the audits (mean of N_t / N)."""
        remaining = self.population - np.flatnonzero(self.audits)
        return float(remaining.mean()) / self.population if len(remaining) else 0.0


def share(sample: Sample, z: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """The mean over all documents of ``z`` (``[document]``, each from 0 to 1) with its interval; None for both without
    an audit, no interval below LEAST of them."""
    if sample.silent:
        return Estimate(None, None)
    found = sample.estimates(z)
    return _interval(float(found.mean()), found, sample, level)


def ratio(sample: Sample, above: npt.ArrayLike, below: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """sum(above) / sum(below) over all documents, a share from 0 to 1 such as F1 = 2 tp / (2 tp + fp + fn): the ratio
    estimator, linearised (Cochran 1977, section 6.4). None when nothing is below."""
    if sample.silent:
        return Estimate(None, None)
    top, bottom = sample.estimates(above), sample.estimates(below)
    whole = float(bottom.mean())
    if whole <= 0:
        return Estimate(None, None)
    value = float(np.clip(top.mean() / whole, 0.0, 1.0))
    return _interval(value, (top - value * bottom) / whole, sample, level, unit=1 / min(1.0, whole))


def average(sample: Sample, parts: list[tuple[npt.ArrayLike, npt.ArrayLike]], *, level: float = 0.95) -> Estimate:
    """The mean of several ratios (macro F1), over those that have anything below."""
    if sample.silent:
        return Estimate(None, None)
    residuals, values, unit = [], [], 0.0
    for above, below in parts:
        top, bottom = sample.estimates(above), sample.estimates(below)
        whole = float(bottom.mean())
        if whole > 0:
            value = float(np.clip(top.mean() / whole, 0.0, 1.0))
            values.append(value)
            residuals.append((top - value * bottom) / whole)
            unit = max(unit, 1 / min(1.0, whole))
    if not values:
        return Estimate(None, None)
    return _interval(float(np.mean(values)), np.mean(residuals, axis=0), sample, level, unit=unit / len(values))


def powered(
    sample: Sample, reference: npt.ArrayLike, predicted: npt.ArrayLike, over_all: float, *, level: float = 0.95
) -> Estimate:
    """Prediction-powered inference (``ppi``) for the share of a label over all documents: ``reference`` and
    ``predicted`` are of the reviewed ones, ``over_all`` is the mean prediction over all, which is known exactly.

    The audits' estimates stand where the paper has single cases. None without an audit.
    """
    if sample.silent:
        return Estimate(None, None)
    y, f = sample.estimates(reference), sample.estimates(predicted)
    tuning = power(y, f, Predicted(over_all))
    value = mean(y, f, Predicted(over_all), tuning=tuning).value
    assert value is not None
    return _interval(float(np.clip(value, 0.0, 1.0)), y - tuning * f, sample, level)


def more(sample: Sample, width: float, now: Estimate) -> int | None:
    """About how many further audits give an interval of this width (its high end minus its low one), if what comes is
    like what came; 0 when it is that narrow. None without an interval now. ValueError for a width of 0 or less."""
    if width <= 0:
        raise ValueError("a width is above 0")
    if now.interval is None:
        return None
    wide = now.interval.high - now.interval.low
    if wide <= width:
        return 0
    rest = sample.population - len(sample.audits)
    drawn = sample.drawn
    spread = 1 / drawn - 1 / (drawn + rest)  # the variance falls as 1/n - 1/N, to nothing when all are reviewed
    wanted = spread * (width / wide) ** 2 + 1 / (drawn + rest)
    return min(rest, ceil(1 / wanted) - drawn)


def _interval(value: float, found: Numbers, sample: Sample, level: float, *, unit: float = 1.0) -> Estimate:
    """Wilson's interval with as many cases as give this variance. ``unit`` is what one error weighs."""
    count = len(found)
    if count < LEAST:
        return Estimate(value, None)
    squares = float(((found - found.mean()) ** 2).sum()) + 0.5 * (unit * sample.reach) ** 2
    error = sqrt(squares / (count - 1) / count)
    if sample.complete:
        return Estimate(value, Interval(value, value, level))
    return Estimate(value, _wilson(value, error, level, count))


def _wilson(value: float, error: float, level: float, count: int) -> Interval:
    from scipy.special import stdtrit

    z = float(stdtrit(count - 1, 0.5 + level / 2)) if count < 1000 else NormalDist().inv_cdf(0.5 + level / 2)
    inner = min(max(value, 0.5 / count), 1 - 0.5 / count)  # at 0 and 1 the cases would be none
    cases = inner * (1 - inner) / error**2
    middle = (value + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * sqrt(value * (1 - value) / cases + z * z / (4 * cases * cases))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


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


def power(reference: npt.ArrayLike, predicted: npt.ArrayLike, others: Predicted) -> float:
    """The lambda with the narrowest interval: Cov(y, f) / ((1 + n/N) Var(f)), cut to 0 to 1; 0 where predictions do not
    vary. The variance is over decided and other cases together (as the authors' code has it)."""
    y, f = _pair(reference, predicted)
    n = len(y)
    covariance = float(((y - y.mean()) * (f - f.mean())).mean())
    variance = _pooled(f, others)
    if variance <= 0:
        return 0.0
    return float(np.clip(covariance / ((1 + n / others.n) * variance), 0.0, 1.0))


def mean(
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    others: Predicted,
    *,
    tuning: float | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of the truth over all cases with its normal interval. ``tuning`` is lambda, None for ``power``.

    Not cut to any range. ValueError for no decided case or sides of different length; no interval for a single one.
    """
    y, f = _pair(reference, predicted)
    n = len(y)
    weight = power(y, f, others) if tuning is None else tuning
    rectified = y - weight * f
    value = float(rectified.mean()) + weight * others.mean
    if n < 2:
        return Estimate(value, None)
    error = sqrt(float(rectified.var()) / n + weight**2 * others.variance / others.n)
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    return Estimate(value, Interval(value - half, value + half, level))


def _pair(
    reference: npt.ArrayLike, predicted: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    y, f = np.asarray(reference, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
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
