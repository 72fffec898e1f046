"""Calibration of certainties: are 80% of the cases with certainty 0.8 right?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.arrays import check_shapes, codes, ratings
from core.stats.intervals import Estimate, wilson


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases whose certainty is from ``low`` (excluded, except in the first bin) to ``high`` (included)."""

    low: float
    high: float
    n: int
    certainty: float
    """mean certainty of its cases"""
    right: Estimate
    """share of its cases that are right, with Wilson's interval"""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Distance between certainties and the observed shares of right cases. All None if no case was compared."""

    n: int
    excluded: int
    """cases without a certainty or without a reference"""
    bins: tuple[Bin, ...]
    """bins that contain a case"""
    ece: float | None
    """expected calibration error: mean distance of certainty and share right over the cases of each bin, 0 to 1"""
    worst: float | None
    """the largest of these distances"""
    brier: float | None
    """mean squared distance of certainty and outcome, 0 to 1"""


def calibration(certainty: npt.ArrayLike, right: npt.ArrayLike, bins: int = 10) -> Calibration:
    """Return the reliability in ``bins`` of equal width, from certainties (NaN for none) and outcomes (-1 for none).

    Certainties are from 0 to 1, outcomes 1 or 0. Sources: Naeini, Cooper and Hauskrecht 2015 (AAAI) for the error,
    Brier 1950 (Mon. Weather Rev. 78). ECE depends on the bins and is biased upwards for few cases. Raises ValueError
    for certainties outside 0 to 1.
    """
    predicted, came = ratings(certainty).ravel(), codes(right).ravel()
    check_shapes(predicted, came)
    known = ~np.isnan(predicted) & (came >= 0)
    predicted, came = predicted[known], came[known]
    if bins < 1 or (len(predicted) and (predicted.min() < 0 or predicted.max() > 1)):
        raise ValueError("certainties are between 0 and 1, in at least one bin")
    edges = np.linspace(0, 1, bins + 1)
    place = np.clip(np.searchsorted(edges, predicted, side="left") - 1, 0, bins - 1)
    n = np.bincount(place, minlength=bins)
    hits = np.bincount(place, weights=came, minlength=bins)
    sums = np.bincount(place, weights=predicted, minlength=bins)
    found = tuple(
        Bin(
            low=float(edges[at]),
            high=float(edges[at + 1]),
            n=int(n[at]),
            certainty=float(sums[at] / n[at]),
            right=Estimate(float(hits[at] / n[at]), wilson(int(hits[at]), int(n[at]))),
        )
        for at in range(bins)
        if n[at]
    )
    gaps = [(one.n, abs(one.certainty - (one.right.value or 0.0))) for one in found]
    cases = len(predicted)
    return Calibration(
        n=cases,
        excluded=int((~known).sum()),
        bins=found,
        ece=sum(size * gap for size, gap in gaps) / cases if cases else None,
        worst=max(gap for _, gap in gaps) if cases else None,
        brier=float(((predicted - came) ** 2).mean()) if cases else None,
    )
