"""Effect sizes: the size of a difference, in addition to its significance."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from core.stats.arrays import Ratings, ratings
from core.stats.significance import McNemar


@dataclass(frozen=True, slots=True)
class Discordance:
    """Effect size of McNemar's test."""

    odds_ratio: float | None
    """cases gained for each case lost; None if none was lost (it would be infinite, or 0/0)"""
    cohen_g: float | None
    """share of the discordant cases that were gained, minus a half: -0.5 to 0.5; None without discordant cases.
    0.05, 0.15 and 0.25 are called small, medium and large (Cohen 1988, chapter 5).
    """
    difference: float | None
    """(gained - lost) / n; None without cases"""


def discordance(test: McNemar) -> Discordance:
    """Return the effect sizes of a McNemar test."""
    lost, gained = test.only_first, test.only_second
    return Discordance(
        odds_ratio=gained / lost if lost else None,
        cohen_g=gained / (gained + lost) - 0.5 if gained + lost else None,
        difference=(gained - lost) / test.n if test.n else None,
    )


def independent_d(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return Hedges' g of two independent sets of scores, corrected for few scores.

    It is the difference of means divided by the root of the mean of both variances (unequal variances allowed). None
    with fewer than two scores on a side or without spread.
    """
    one, two = (values[~np.isnan(values)] for values in (ratings(first), ratings(second)))
    if len(one) < 2 or len(two) < 2:
        return None
    spread = sqrt((_sd(one) ** 2 + _sd(two) ** 2) / 2)
    return _standardised(two.mean() - one.mean(), spread, len(one) + len(two) - 2)


def _standardised(difference: float, spread: float, df: int) -> float | None:
    # Equal scores leave a spread of rounding errors only.
    if spread <= 1e-12 * max(1.0, abs(difference)):
        return None
    return float(difference / spread * (1 - 3 / (4 * df - 1)))


def _sd(values: Ratings) -> float:
    return float(values.std(ddof=1))
