"""How large a difference is, beside whether it could be chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from core.stats.arrays import Ratings, ratings
from core.stats.significance import McNemar


@dataclass(frozen=True, slots=True)
class Discordance:
    """The effect behind McNemar's test."""

    odds_ratio: float | None
    """cases gained for each one lost; None when none was lost (it would be infinite, or 0/0)"""
    cohen_g: float | None
    """share of the discordant cases that were gained, less a half: -0.5 to 0.5; None without discordant cases.
    0.05, 0.15 and 0.25 are called small, medium and large (Cohen 1988, chapter 5)."""
    difference: float | None
    """(gained - lost) / n; None without cases"""


def discordance(test: McNemar) -> Discordance:
    """Effect sizes of a McNemar test."""
    lost, gained = test.only_first, test.only_second
    return Discordance(
        odds_ratio=gained / lost if lost else None,
        cohen_g=gained / (gained + lost) - 0.5 if gained + lost else None,
        difference=(gained - lost) / test.n if test.n else None,
    )


def independent_d(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Hedges' g of two independent sets of scores: difference of means over the root of the mean of both variances
    (unequal variances allowed), corrected for few scores. None under two scores a side or without spread."""
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
