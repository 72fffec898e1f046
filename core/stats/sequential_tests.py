"""Intervals that stay valid while one looks at them, and tests of thresholds in a fixed order.

``confidence_sequence`` gives an interval after each random draw. With the stated probability, all of them contain the
mean at once, so that reviewing may stop as soon as an interval is narrow enough. Source: Waudby-Smith, Arbour, Sinha,
Kennedy and Ramdas 2024, *Time-uniform central limit theory and asymptotic confidence sequences*, Ann. Stat. 52, theorem
2.2, with its parameter for a planned number of draws (their appendix B.2). It holds for estimates that are unbiased
given the past, as those of ``core.stats.sampling.WeightedSample`` are, and for large numbers of draws. Therefore there
is none before FIRST_DRAWS, and the variance includes errors that were not observed: half an error in the document of
least probability, as in ``sampling``, and at least ``_UNSEEN`` errors in documents that stand for one. With half an
error and equal chances, all intervals contained the truth in 83% to 92% of studies of rare errors, because the first
draws often have none; now in 94% to 99%. For two runs, documents are drawn in proportion to the number of labels on
which the runs differ, so that a rare document with many such labels changes the estimate as much as any other: with ten
labels, all intervals contained the difference in 95% of studies or more, against 85% with equal chances of these
documents. In ``tests/benchmarks/coverage.py`` it was 97% or more of the studies.

``accept_thresholds`` tests whether the error of accepted verdicts is at most a bound, from the strictest threshold to
the most generous one, and stops at the first failure. All accepted thresholds together hold with the stated confidence
(fixed sequence testing: Angelopoulos, Bates, Candes, Jordan and Lei 2021, *Learn then test*, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import numpy.typing as npt

from core.stats.arrays import TINY, Numbers
from core.stats.intervals import LEVEL, Interval
from core.stats.sampling import WeightedSample, kept_shares

FIRST_DRAWS = 20
"""Number of random draws before the first interval of a sequence."""
_UNSEEN = 1.5
"""Errors that the variance allows for beyond those observed, if all documents have the same chance."""
POWER = 0.8
"""Chance to show a bound that holds, for which reviews are planned."""


def confidence_sequence(
    sample: WeightedSample,
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    over_all: float,
    *,
    planned: int,
    low: float = 0.0,
    error_sizes: npt.ArrayLike = 1.0,
    typical_error: float = 1.0,
) -> list[Interval]:
    """Return the interval of the mean of the reference over all documents after each random draw from FIRST_DRAWS on.

    ``reference`` and ``predicted`` (``[document]``, each from 0 to 1) are those of the reviewed documents in their
    order; ``over_all`` is the mean prediction over all documents, which is known. The error of the prediction is what
    is estimated, so that good predictions make narrow intervals (pass zeros to estimate without). ``low`` is the lower
    end of the range. ``error_sizes`` is the largest distance of a document's value from the others, ``[document]`` or
    one number for all, 0 where the value is known without review. ``typical_error`` is that of all documents whose
    value is not known, 0 if there is none. ``planned`` is the number of draws at which the interval is to be narrowest;
    any number is valid. Empty with fewer draws than FIRST_DRAWS; the exact mean if all documents are reviewed. A
    discarded document has the reference NaN, as in ``sampling.kept_mean``.
    """
    y, f = np.asarray(reference, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    is_discarded, shares = np.isnan(y), kept_shares(sample, y)
    if not shares.any():
        return []
    if sample.complete:
        mean = float(y[~is_discarded].mean())
        return [Interval(mean, mean)]
    if sample.drawn < FIRST_DRAWS:
        return []
    known = sample.estimates(np.where(is_discarded, 0.0, y) - f)
    count = np.arange(1, len(known) + 1)
    kept = np.maximum(TINY, np.cumsum(shares) / count)
    means = (over_all + np.cumsum(known) / count) / kept
    sizes = np.broadcast_to(np.asarray(error_sizes, dtype=np.float64), y.shape)[sample.draws]
    represented = 1 / sample.probabilities[sample.draws] / sample.population
    least, as_one = (_largest_error(side, sizes, typical_error) for side in (represented, np.minimum(represented, 1.0)))
    squares = np.cumsum(known**2) - 2 * means * np.cumsum(known * shares) + means**2 * np.cumsum(shares**2)
    unseen = np.maximum(0.5 * least**2, _UNSEEN * as_one**2)
    variance = (squares - count * over_all**2 + unseen) / count
    miss = 1 - LEVEL
    scale = (-2 * log(miss) + log(-2 * log(miss) + 1)) / planned  # the paper's rho squared times the variance
    spread = 2 * (count * scale + 1) / (count**2 * scale) * np.log(np.sqrt(count * scale + 1) / miss)
    half = np.sqrt(np.maximum(variance, 0.0) * spread) / kept
    lows, highs = (np.clip(means + sign * half, low, 1.0)[FIRST_DRAWS - 1 :].tolist() for sign in (-1, 1))
    return [Interval(low, high) for low, high in zip(lows, highs, strict=True)]


def _largest_error(represented: Numbers, sizes: Numbers, typical: float) -> Numbers:
    """Return the largest change of the estimate by one error, ``[draw]``, as far as the draws until then show it.

    ``represented`` is how much each drawn document represents, and ``sizes`` are those of its possible error.
    """
    largest = np.maximum.accumulate(sizes * represented)
    least = np.minimum.accumulate(np.where(sizes > 0, represented, np.inf))
    is_drawn = np.isfinite(least)  # documents whose value is not known may exist beyond those drawn
    return np.maximum(largest, typical * np.where(is_drawn, least, np.maximum.accumulate(represented)))


def error_p(errors: int, reviewed: int, bound: float) -> float:
    """Return p of the hypothesis that the error is above ``bound``: the binomial chance of so few errors at the bound.

    It is exact for a random sample of a large collection, and too large for one of a small collection. 1 without
    reviewed documents.
    """
    from scipy.stats import binom

    return float(binom.cdf(errors, reviewed, bound)) if reviewed else 1.0


def reviews_for_bound(error: float, bound: float) -> int | None:
    """Return how many random reviews show, with the chance ``POWER``, that an ``error`` is at most ``bound``.

    The error is below the bound. None if more than 100,000 are needed.
    """
    from scipy.stats import binom

    allowed = 0
    reviews = 1
    while reviews <= 100_000:
        while binom.cdf(allowed, reviews, bound) > 1 - LEVEL:  # the fewest reviews that allow so many errors
            reviews += max(1, int((binom.cdf(allowed, reviews, bound) > 0.3) * 0.02 * reviews))
        if binom.cdf(allowed, reviews, error) >= POWER:
            return reviews
        allowed += 1
    return None


def accept_thresholds(
    certainty: npt.ArrayLike, wrong: npt.ArrayLike, thresholds: Sequence[float], bound: float
) -> list[float]:
    """Return the thresholds that are accepted: the error of verdicts at least that certain is at most ``bound``.

    ``certainty`` and ``wrong`` (0 or 1) are ``[document]`` of randomly reviewed documents. Thresholds are tested from
    the highest on. All accepted ones hold at once with probability ``LEVEL``.
    """
    certainties, errors = np.asarray(certainty, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    accepted: list[float] = []
    for threshold in sorted(set(thresholds), reverse=True):
        among = certainties >= threshold
        if error_p(int(errors[among].sum()), int(among.sum()), bound) > 1 - LEVEL:
            break
        accepted.append(threshold)
    return accepted
