"""Correlations of two vectors without missing values."""

from __future__ import annotations

import numpy as np

from core.stats.arrays import Ratings


def pearson(first: Ratings, second: Ratings) -> float | None:
    """Return Pearson's correlation; None for fewer than two values or a constant vector."""
    if len(first) < 2 or (first == first[0]).all() or (second == second[0]).all():
        return None
    a, b = first - first.mean(), second - second.mean()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def spearman(first: Ratings, second: Ratings) -> float | None:
    """Return Spearman's correlation, ties at their mid-rank; None as for ``pearson``."""
    from scipy.stats import rankdata

    return pearson(np.asarray(rankdata(first), dtype=np.float64), np.asarray(rankdata(second), dtype=np.float64))


def kendall(first: Ratings, second: Ratings) -> float | None:
    """Return Kendall's tau-b; None as for ``pearson``."""
    from scipy.stats import kendalltau

    if len(first) < 2 or (first == first[0]).all() or (second == second[0]).all():
        return None
    return float(kendalltau(first, second).statistic)
