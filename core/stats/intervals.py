"""Confidence intervals in closed form. Those of metrics are built on them in ``metric_intervals``."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from core.formatting import format_number, format_percent

LEVEL = 0.95
"""Confidence level of intervals."""
FEW_DOCUMENTS = 20
"""With fewer documents a value is called unreliable."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float
    level: float = LEVEL

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Estimate:
    """Value with its interval; each is None if undefined."""

    value: float | None = None
    interval: Interval | None = None

    @property
    def shown_interval(self) -> Interval | None:
        """The interval; None if it has no width, as of a value that is known exactly."""
        interval = self.interval
        return None if interval is None or isclose(interval.low, interval.high, abs_tol=1e-9) else interval

    @property
    def clear(self) -> bool | None:
        """True if the interval of a difference excludes zero; None without an interval."""
        return None if self.interval is None else 0.0 not in self.interval

    def to_json(self) -> dict[str, Any]:
        """Return the value and the ends of the interval, as in reports."""
        return {"value": self.value, "interval": ends(self.interval)}

    def named_json(self, name: str) -> dict[str, Any]:
        """Return the value as ``name`` and the ends of the interval as ``name_interval``, as in reports."""
        return {name: self.value, f"{name}_interval": ends(self.interval)}


def ends(interval: Interval | None) -> list[float] | None:
    """Return ``[low, high]`` as in reports; None without an interval."""
    return [interval.low, interval.high] if interval else None


def format_interval(
    interval: Interval | None,
    style: Literal["number", "percent", "points"] = "number",
    *,
    digits: int | None = None,
    named: bool = False,
) -> str:
    """Return an interval as text: "0.864 to 0.907", "86% to 91%", "−1.2 to 4.3" (points); empty for None.

    ``digits`` defaults to 3 decimals for numbers, 0 for percent and 1 for points. ``named`` puts the level before it:
    "95% interval 0.864 to 0.907".
    """
    if interval is None:
        return ""
    both = (interval.low, interval.high)
    match style:
        case "number":
            shown = [format_number(end, 3 if digits is None else digits) for end in both]
        case "percent":
            shown = [format_percent(end, digits or 0) for end in both]
        case "points":
            shown = [format_number(100 * end, 1 if digits is None else digits) for end in both]
    text = " to ".join(shown)
    return f"{interval.level:.0%} interval {text}" if named else text


def format_estimate(estimate: Estimate, *, digits: int | None = None, percent: bool = False) -> str:
    """Return a value with its interval as text: "0.864 (0.812 to 0.907)", "86% (81% to 91%)"; "–" if undefined.

    ``digits`` defaults to 3 decimals for numbers and 0 for percent. An interval without width, as of a value that is
    known exactly, is left out.
    """
    decimals = (0 if percent else 3) if digits is None else digits
    value = format_percent(estimate.value, decimals) if percent else format_number(estimate.value, decimals)
    if (interval := estimate.shown_interval) is None:
        return value
    return f"{value} ({format_interval(interval, 'percent' if percent else 'number', digits=decimals)})"


def wilson(successes: float, n: float, level: float = LEVEL, *, quantile: float | None = None) -> Interval | None:
    """Return Wilson's score interval of a proportion, within 0 to 1; None if n is 0.

    Unlike p +- 1.96 se it is right for small n, and at 0 and 1, where it still has a width. Source: Wilson 1927
    (JASA 22); recommended by Brown, Cai and DasGupta 2001 (Stat. Sci. 16). Assumes independent cases. Cells of one
    document are not independent: ``n`` is then their effective number, and ``quantile`` one of Student's t. Raises
    ValueError unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    z = normal_quantile(level) if quantile is None else quantile
    if not n:
        return None
    middle = (successes + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * sqrt(successes * (n - successes) / n + z * z / 4)
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == n else middle + half
    return Interval(low, high, level)


def newcombe_paired(both: int, gained: int, lost: int, neither: int) -> Interval | None:
    """Return the interval of a difference between two shares on the same cases, (gained - lost) / n; None if n is 0.

    ``both`` cases are right with either, ``gained`` with the second alone, ``lost`` with the first alone. Within -1 to
    1, and sound if lost or gained is 0. Source: Newcombe 1998 (Stat. Med. 17, 2635-2650), method 10: a combination of
    the two Wilson intervals that accounts for their correlation.
    """
    n = both + gained + lost + neither
    after, before = wilson(both + gained, n), wilson(both + lost, n)
    if after is None or before is None:
        return None
    spread = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    surplus: float = both * neither - gained * lost
    if surplus > 0:
        surplus = max(surplus - n / 2, 0.0)  # his continuity correction of the correlation
    phi = surplus / sqrt(spread) if spread else 0.0
    difference = difference_interval(((both + lost) / n, before), ((both + gained) / n, after), phi, LEVEL)
    return Interval(max(difference.low, -1.0), min(difference.high, 1.0))


def combine(
    values: npt.ArrayLike, lows: npt.ArrayLike, highs: npt.ArrayLike, correlation: npt.ArrayLike, level: float
) -> Interval:
    """Return the interval of a sum of terms from their values, intervals and correlations.

    Source: MOVER (Zou and Donner 2008, Stat. Med. 27).
    """
    terms, low, high = (np.asarray(side, dtype=np.float64) for side in (values, lows, highs))
    related = np.asarray(correlation, dtype=np.float64)
    below, above = (sqrt(max(0.0, float(gap @ related @ gap))) for gap in (terms - low, high - terms))
    total = float(terms.sum())
    return Interval(total - below, total + above, level)


def difference_interval(
    first: tuple[float, Interval], second: tuple[float, Interval], correlation: float, level: float
) -> Interval:
    """Return the interval of ``second`` minus ``first``, each a value with its interval, by ``combine``."""
    (before, before_interval), (after, after_interval) = first, second
    signs = [[1.0, -correlation], [-correlation, 1.0]]
    lows, highs = [after_interval.low, -before_interval.high], [after_interval.high, -before_interval.low]
    return combine([after, -before], lows, highs, signs, level)


def normal_quantile(level: float = LEVEL) -> float:
    """Return the quantile of the normal distribution for a two-sided interval."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the quantile of Student's t distribution for a two-sided interval."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
