"""Calibration of certainties: are 80% of the cases with certainty 0.8 right?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.arrays import check_shapes, codes, ratings
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, ratio

BINS = 10
"""Bins of certainty, of equal width."""


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Cases whose certainty is from ``low`` (excluded, except in the first bin) to ``high`` (included)."""

    low: float
    high: float
    n: int
    certainty: float
    """Mean certainty of its cases."""
    right: Estimate
    """Share of its cases that are right, with Wilson's interval over independent documents, groups or draws."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Distance between certainties and the observed shares of right cases. All None if no case was compared."""

    n: int
    excluded: int
    """Cases without a certainty or without a reference."""
    bins: tuple[CalibrationBin, ...]
    """Bins that contain a case."""
    ece: float | None
    """Expected calibration error: mean distance of certainty and share right over the cases of each bin, 0 to 1."""
    worst: float | None
    """The largest of these distances."""
    brier: Estimate
    """Mean squared distance of certainty and outcome, 0 to 1."""


def calibration(certainty: npt.ArrayLike, right: npt.ArrayLike, design: Design | None = None) -> Calibration:
    """Return the reliability in ``BINS``, from certainties (NaN for none) and outcomes (-1 for none).

    Both are ``[document]`` or ``[document, item]``, certainties from 0 to 1, outcomes 1 or 0. ``design`` describes how
    the documents were selected and which depend on each other; reviewed documents then count by their weights. Sources:
    Naeini, Cooper and Hauskrecht 2015 (AAAI) for the error, Brier 1950 (Mon. Weather Rev. 78). ECE depends on the bins
    and is biased upwards for few cases.
    """
    predicted, outcome = ratings(certainty), codes(right)
    check_shapes(predicted, outcome)
    if predicted.ndim == 1:
        predicted, outcome = predicted[:, None], outcome[:, None]
    compared = ~np.isnan(predicted) & (outcome >= 0)
    design = design or Design()
    weights = np.where(compared, design.weights(len(compared))[:, None], 0.0)
    edges = np.linspace(0, 1, BINS + 1)
    bin_index = np.clip(np.searchsorted(edges, np.nan_to_num(predicted), side="left") - 1, 0, BINS - 1)
    total = float(weights.sum())
    bins, gaps = [], []
    for index in range(BINS):
        in_bin = compared & (bin_index == index)
        share = float(weights[in_bin].sum()) / total if total else 0.0
        if not share:
            continue
        mean = float((weights[in_bin] * predicted[in_bin]).sum() / weights[in_bin].sum())
        share_right = ratio((in_bin & (outcome == 1)).sum(axis=1), in_bin.sum(axis=1), design)
        bins.append(CalibrationBin(float(edges[index]), float(edges[index + 1]), int(in_bin.sum()), mean, share_right))
        gaps.append((share, abs(mean - (share_right.value or 0.0))))
    squares = np.where(compared, (np.nan_to_num(predicted) - outcome) ** 2, 0.0)
    return Calibration(
        n=int(compared.sum()),
        excluded=int((~compared).sum()),
        bins=tuple(bins),
        ece=sum(share * gap for share, gap in gaps) if gaps else None,
        worst=max(gap for _, gap in gaps) if gaps else None,
        brier=ratio(squares.sum(axis=1), compared.sum(axis=1), design),
    )
