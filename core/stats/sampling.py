"""Estimates for all documents from the reviewed ones, of which a queue chose most and random draws the rest.

Documents are decided one after another. Before each random draw (an *audit*), the values of the documents decided so
far are known, and those of N_t others are not. The audited document represents these N_t, so

    z_t = (sum of z over the decided + N_t z_audited) / N

is an estimate of the mean of z over all N documents. It is unbiased whatever the queue selected and learned, because
its error given the past is zero on average. The mean of these over all M audits is unbiased as well. Errors given the
past do not correlate, so their spread gives the variance. In other words, each reviewed document has a weight from its
selection probability: large for an audited document, small for one from the queue.

Source: Farquhar, Gal and Rainforth 2021, *On statistical bias in active learning*, section 3 (R_PURE for a uniform
proposal over the remaining documents). It is used here on the audits alone. The queue's own picks have a probability
close to 1 or 0 and would only add noise. With audits alone it is the mean of a random sample with its finite population
correction.

Intervals of shares are Wilson's, with the number of cases that would give the same variance (Korn and Graubard 1998,
Survey Methodology 24, who do so for Clopper-Pearson). Every variance includes half an error more than was observed: few
audits without an error do not prove that no errors exist. Intervals are therefore wider than nominal if errors are
rare.
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
"""Minimum number of audits for an interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Reviewed documents in the order of their decisions.

    ``probabilities`` is ``[document]``: the chance with which each was selected as the next one, given the documents
    that were undecided then; 0 for a document without a known chance, such as one that a person picked. ``population``
    is the number of all documents. ValueError if more documents are reviewed than exist.
    """

    probabilities: Numbers
    population: int

    def __post_init__(self) -> None:
        if len(self.probabilities) > self.population:
            raise ValueError(f"{len(self.probabilities)} reviewed of {self.population}")

    @classmethod
    def of_audits(cls, audits: npt.ArrayLike, population: int) -> Self:
        """Return the sample in which the documents where ``audits`` is True were drawn uniformly from the undecided."""
        drawn = np.asarray(audits, dtype=np.bool_)
        return cls(np.where(drawn, 1 / np.maximum(1, population - np.arange(len(drawn))), 0.0), population)

    @property
    def draws(self) -> npt.NDArray[np.bool_]:
        """Documents with a known probability, ``[document]``."""
        return self.probabilities > 0

    @property
    def drawn(self) -> int:
        """Number of random draws."""
        return int(self.draws.sum())

    def estimates(self, z: npt.ArrayLike) -> Numbers:
        """Return each draw's estimate of the mean of ``z`` (``[document, ...]``) over all documents, ``[draw, ...]``.

        If all documents are reviewed, every estimate is the exact mean.
        """
        values = np.asarray(z, dtype=np.float64)
        if self.complete:
            return np.repeat(values.mean(axis=0, keepdims=True), max(LEAST, self.drawn), axis=0)
        before = np.cumsum(values, axis=0) - values
        shape = (-1,) + (1,) * (values.ndim - 1)
        own = values[self.draws] / self.probabilities[self.draws].reshape(shape)
        found: Numbers = (before[self.draws] + own) / self.population
        return found

    @property
    def complete(self) -> bool:
        """True if all documents are reviewed and there is at least one."""
        return 0 < len(self.probabilities) == self.population

    @property
    def silent(self) -> bool:
        """True if the unreviewed documents cannot be estimated."""
        return not self.drawn and not self.complete

    @property
    def weights(self) -> Numbers:
        """Weights ``[document]``: the number of documents that each represents. They sum to about the population."""
        if self.complete:
            return np.ones(self.population)
        after = self.drawn - np.cumsum(self.draws)
        own = np.divide(1.0, self.probabilities, out=np.zeros(len(self.draws)), where=self.draws)
        return np.asarray((after + own) / max(1, self.drawn), dtype=np.float64)

    @property
    def reach(self) -> float:
        """Mean share of all documents that a draw represents."""
        return float((1 / self.probabilities[self.draws]).mean()) / self.population if self.drawn else 0.0


def share(sample: Sample, z: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """Return the mean of ``z`` (``[document]``, each from 0 to 1) over all documents, with its interval.

    Both are None without an audit. The interval is None with fewer than LEAST audits.
    """
    if sample.silent:
        return Estimate(None, None)
    found = sample.estimates(z)
    return _interval(float(found.mean()), found, sample, level)


def powered(
    sample: Sample, reference: npt.ArrayLike, predicted: npt.ArrayLike, over_all: float, *, level: float = 0.95
) -> Estimate:
    """Return the prediction-powered estimate (``ppi``) of the share of a label over all documents.

    ``reference`` and ``predicted`` are those of the reviewed documents. ``over_all`` is the mean prediction over all
    documents, which is known exactly. The audits' estimates replace the paper's single cases. None without an audit.
    """
    if sample.silent:
        return Estimate(None, None)
    y, f = sample.estimates(reference), sample.estimates(predicted)
    tuning = power(y, f, Predicted(over_all))
    value = mean(y, f, Predicted(over_all), tuning=tuning).value
    assert value is not None
    return _interval(float(np.clip(value, 0.0, 1.0)), y - tuning * f, sample, level)


def more(sample: Sample, width: float, now: Estimate) -> int | None:
    """Return about how many more audits give an interval of this width (high end minus low end).

    This assumes that further audits resemble the present ones. 0 if the interval is that narrow already. None without
    an interval now. ValueError for a width of 0 or less.
    """
    if width <= 0:
        raise ValueError("a width is above 0")
    if now.interval is None:
        return None
    wide = now.interval.high - now.interval.low
    if wide <= width:
        return 0
    rest = sample.population - len(sample.probabilities)
    drawn = sample.drawn
    spread = 1 / drawn - 1 / (drawn + rest)  # the variance falls as 1/n - 1/N, to nothing when all are reviewed
    wanted = spread * (width / wide) ** 2 + 1 / (drawn + rest)
    return min(rest, ceil(1 / wanted) - drawn)


def _interval(value: float, found: Numbers, sample: Sample, level: float, *, unit: float = 1.0) -> Estimate:
    """Return Wilson's interval with as many cases as give this variance. ``unit`` is the weight of one error."""
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
    inner = min(max(value, 0.5 / count), 1 - 0.5 / count)  # at 0 and 1 there would be no cases
    cases = inner * (1 - inner) / error**2
    middle = (value + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * sqrt(value * (1 - value) / cases + z * z / (4 * cases * cases))
    return Interval(max(0.0, middle - half), min(1.0, middle + half), level)


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions on undecided cases: their mean, variance (divisor N) and number.

    ``n`` is infinite if the mean is known exactly: that of a finite collection that was predicted completely.
    """

    mean: float
    variance: float = 0.0
    n: float = inf

    @classmethod
    def of(cls, predictions: npt.ArrayLike) -> Self:
        """Return the summary of the predictions. ValueError without predictions."""
        values = np.asarray(predictions, dtype=np.float64)
        if not values.size:
            raise ValueError("no predictions")
        return cls(float(values.mean()), float(values.var()), values.size)


def power(reference: npt.ArrayLike, predicted: npt.ArrayLike, others: Predicted) -> float:
    """Return the lambda with the narrowest interval: Cov(y, f) / ((1 + n/N) Var(f)), limited to 0 to 1.

    0 if predictions do not vary. The variance is over decided and other cases together, as in the authors' code.
    """
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
    """Return the mean of the reference over all cases with its normal interval.

    ``tuning`` is lambda, None for ``power``. The result is not limited to any range. ValueError without decided cases
    or for sides of different length. The interval is None for a single case.
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
    """Return the sample variance (divisor count - 1) over decided and other predictions together."""
    n = len(f)
    if others.n == inf:  # only the decided cases are available to measure it
        return float(f.var())
    total = n + others.n
    middle = (float(f.sum()) + others.n * others.mean) / total
    squares = float(((f - middle) ** 2).sum()) + others.n * (others.variance + (others.mean - middle) ** 2)
    return squares / (total - 1)
