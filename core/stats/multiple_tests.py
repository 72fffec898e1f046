"""Tests of more than two annotators: Cochran's Q, and Holm's correction for several tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.arrays import codes


@dataclass(frozen=True, slots=True)
class CochranQ:
    """Test of equal accuracy of several annotators on the same cases."""

    names: tuple[str, ...]
    n: int
    """cases with a value from every annotator"""
    excluded: int
    """cases with gold and without a value from at least one annotator"""
    right: tuple[int, ...]
    """number of right cases of each annotator"""
    statistic: float | None
    """Q; None if every case is right with all or with none, or without a case"""
    df: int
    p: float | None
    """of Q as chi-squared; 1 if all are right on the very same cases, None without a case"""

    def significant(self, alpha: float = 0.05) -> bool:
        """Return True if p is below alpha."""
        return self.p is not None and self.p < alpha

    def sentence(self, alpha: float = 0.05) -> str:
        """Return the result in plain words."""
        if self.p is None:
            return "Cochran's Q: not defined, no case has gold and a value from all."
        if self.statistic is None:
            return f"All {len(self.names)} are right on the same of the {self.n:,} cases: nothing tells them apart."
        shown = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.3f}"
        test = f"Cochran's Q({self.df}) = {self.statistic:.2f}, {shown}, {self.n:,} cases"
        if not self.significant(alpha):
            return f"They may all be equally good ({test})."
        best = self.names[max(range(len(self.names)), key=lambda place: self.right[place])]
        return f"They are not equally good; {best} is right most often ({test})."


def cochrans_q(reference: npt.ArrayLike, said: Mapping[str, npt.ArrayLike]) -> CochranQ:
    """Return Cochran's Q from codes of equal shape, -1 for no value; a case is right if it equals the reference.

    Q = (k - 1) (k sum C_j^2 - T^2) / (k T - sum R_i^2), chi-squared with k - 1 degrees of freedom (Cochran 1950,
    Biometrika 37). With two annotators it is McNemar's test without correction. Cases must be independent, as for that.
    Raises ValueError for fewer than two annotators.
    """
    from scipy.special import chdtrc

    names = tuple(said)
    k = len(names)
    if k < 2:
        raise ValueError("expected two or more annotators")
    gold = codes(reference)
    grids = np.stack([codes(said[name]) for name in names])
    if grids.shape[1:] != gold.shape:
        raise ValueError(f"shapes differ: {gold.shape} and {grids.shape[1:]}")
    compared = (gold >= 0) & (grids >= 0).all(axis=0)
    right = (grids == gold)[:, compared]
    n, excluded = int(compared.sum()), int(((gold >= 0) & ~compared).sum())
    per_annotator = right.sum(axis=1).astype(np.float64)
    per_case = right.sum(axis=0).astype(np.float64)
    total = per_annotator.sum()
    spread = k * total - float((per_case**2).sum())
    statistic: float | None = None
    p: float | None = None if not n else 1.0
    if spread > 0:
        statistic = float((k - 1) * (k * (per_annotator**2).sum() - total**2) / spread)
        p = float(chdtrc(k - 1, statistic))
    return CochranQ(names, n, excluded, tuple(int(each) for each in per_annotator), statistic, k - 1, p)


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return Holm's adjusted p-values in the given order, for comparison with a common level.

    The i-th smallest of m is multiplied by m - i + 1, is never below the one before it, and is at most 1 (Holm 1979,
    Scand. J. Stat. 6). A test without a p (None) is not one of the m.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    before = 0.0
    for rank, (p, place) in enumerate(known):
        before = max(before, min(1.0, p * (len(known) - rank)))
        adjusted[place] = before
    return tuple(adjusted)
