"""Effect of a panel's debate on the agreement of its members, and of their mean with people.

After Chen et al., *MAJ-Eval: Multi-Agent-as-Judge* (section 5.4.2: correlations with human ratings before and after;
appendix A.4: Krippendorff's alpha of each group, ordinal here like the scale). The paper prints correlations without
their sign. Here both are given, because a panel that rates backwards is not a good panel. Ratings are first normalised
to 0 to 1 by the scale, so that scales can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.agreement import krippendorff_alpha
from core.stats.arrays import Ratings, ratings
from core.stats.correlation import kendall, pearson, spearman


@dataclass(frozen=True, slots=True)
class Following:
    """Correlation and error of a panel's mean against the reference.

    None if undefined (fewer than two ratings, or no spread).
    """

    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None
    mae: float | None
    """mean absolute error, as a share of the scale (0 to 1)"""

    @property
    def absolute(self) -> dict[str, float | None]:
        """The correlations without their sign, as in the paper."""
        each = {"pearson": self.pearson, "spearman": self.spearman, "kendall": self.kendall}
        return {name: None if value is None else abs(value) for name, value in each.items()}


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Comparison of one dimension, or of all together, before and after the debate."""

    before: Following
    after: Following
    alpha_before: float | None
    """Krippendorff's ordinal alpha among the members; None for fewer than two"""
    alpha_after: float | None


def normalised(values: npt.ArrayLike, low: float, high: float) -> Ratings:
    """Return ratings on a scale from ``low`` to ``high`` as 0 to 1; NaN stays. ValueError for a scale of no width."""
    if not low < high:
        raise ValueError(f"a scale from {low:g} to {high:g} has no width")
    return (ratings(values) - low) / (high - low)


def before_after(
    reference: npt.ArrayLike,
    before: Mapping[str, npt.ArrayLike],
    after: Mapping[str, npt.ArrayLike],
    dimensions: Sequence[str],
    scale: tuple[float, float],
) -> dict[str, BeforeAfter]:
    """Return a comparison per dimension, from members' ratings ``[document, dimension]`` before and after.

    The panel's rating is the mean of its members.
    """
    gold = normalised(reference, *scale)
    firsts, lasts = ([normalised(grid, *scale) for grid in side.values()] for side in (before, after))
    return {
        name: BeforeAfter(
            _following(gold[:, column], [grid[:, column] for grid in firsts]),
            _following(gold[:, column], [grid[:, column] for grid in lasts]),
            _alpha([grid[:, column] for grid in firsts]),
            _alpha([grid[:, column] for grid in lasts]),
        )
        for column, name in enumerate(dimensions)
    }


def _following(reference: Ratings, members: Sequence[Ratings]) -> Following:
    stack = np.stack(members)
    there = ~np.isnan(stack)
    sums, counts = np.where(there, stack, 0).sum(axis=0), there.sum(axis=0)
    known = (counts > 0) & ~np.isnan(reference)
    gold, mean = reference[known], sums[known] / counts[known]
    n = len(gold)
    return Following(
        n,
        pearson(gold, mean),
        spearman(gold, mean),
        kendall(gold, mean),
        float(np.abs(gold - mean).mean()) if n else None,
    )


def _alpha(members: Sequence[Ratings]) -> float | None:
    return krippendorff_alpha(np.column_stack(members), "ordinal").value if len(members) > 1 else None
