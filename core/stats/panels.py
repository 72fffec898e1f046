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
from core.stats.intervals import Estimate, Interval
from core.stats.similarity import kendall, pearson, spearman


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


def normalised(values: npt.ArrayLike, scales: Sequence[tuple[float, float]]) -> Ratings:
    """Return ratings ``[document, dimension]`` as 0 to 1 by the (low, high) of each dimension's scale; NaN stays.

    ValueError for a scale of no width.
    """
    for low, high in scales:
        if not low < high:
            raise ValueError(f"a scale from {low:g} to {high:g} has no width")
    lowest, highest = np.array(scales, dtype=np.float64).reshape(-1, 2).T
    return (ratings(values) - lowest) / (highest - lowest)


def before_after(
    reference: npt.ArrayLike,
    before: Mapping[str, npt.ArrayLike],
    after: Mapping[str, npt.ArrayLike],
    dimensions: Sequence[str],
    scales: Sequence[tuple[float, float]],
) -> dict[str, BeforeAfter]:
    """Return a comparison per dimension, from members' ratings ``[document, dimension]`` before and after.

    ``scales`` are (low, high) of each dimension. The panel's rating is the mean of its members.
    """
    gold = normalised(reference, scales)
    firsts, lasts = ([normalised(grid, scales) for grid in side.values()] for side in (before, after))
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
    mean = mean_of(np.stack(members))
    known = ~np.isnan(mean) & ~np.isnan(reference)
    gold, mean = reference[known], mean[known]
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


MEASURES = ("spearman", "kendall", "pearson", "alpha")
RESAMPLES = 400
MOST = 1_000
"""Maximum number of documents for ``rank`` matrices; callers draw a sample from more."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Score (None if undefined) and its value on each resample (NaN if undefined)."""

    value: float | None
    resamples: Ratings

    def estimate(self, level: float = 0.95) -> Estimate:
        """Return the score with its percentile interval, None if a resample has no score."""
        if self.value is None or not len(self.resamples) or np.isnan(self.resamples).any():
            return Estimate(self.value, None)
        low, high = np.quantile(self.resamples, [(1 - level) / 2, (1 + level) / 2])
        return Estimate(self.value, Interval(float(low), float(high), level))

    def less(self, other: Drawn) -> Drawn:
        """Return this score minus another on the same draws."""
        known = self.value is not None and other.value is not None
        return Drawn((self.value or 0.0) - (other.value or 0.0) if known else None, self.resamples - other.resamples)


def draws(n: int, resamples: int = RESAMPLES, seed: int = 0) -> Ratings:
    """Return the frequency of each of ``n`` documents in each resample, ``[1 + resample, document]``.

    The first row is the sample itself, with each document once. It is the only row for fewer than two documents.
    """
    once = np.ones((1, n))
    if n < 2:
        return once
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples)
    return np.concatenate([once, drawn.astype(np.float64)])


def scores(reference: npt.ArrayLike, members: Sequence[npt.ArrayLike], weights: Ratings) -> dict[str, Drawn]:
    """Return each of ``MEASURES`` of a group, from reference and members' ratings ``[document]`` (NaN for none).

    Correlations use the members' mean on documents with a reference and a rating; None without spread on either side.
    Alpha uses documents that two members rated; None for one member. ``weights`` are those of ``draws``.
    """
    gold, stack = ratings(reference), np.stack([ratings(one) for one in members])
    mean = mean_of(stack)
    known = ~np.isnan(gold) & ~np.isnan(mean)
    found = zip(
        MEASURES, [*_correlations(gold[known], mean[known], weights[:, known]), _alphas(stack, weights)], strict=True
    )
    return {name: Drawn(None if np.isnan(values[0]) else float(values[0]), values[1:]) for name, values in found}


def mean_of(stack: Ratings) -> Ratings:
    """Return the mean of the available ratings, from ``[rater, document]``; NaN without a rating."""
    there = ~np.isnan(stack)
    mean = np.full(stack.shape[1:], np.nan)
    np.divide(np.where(there, stack, 0.0).sum(axis=0), there.sum(axis=0), out=mean, where=there.any(axis=0))
    return mean


def _correlations(x: Ratings, y: Ratings, weights: Ratings) -> tuple[Ratings, Ratings, Ratings]:
    """Return Spearman's, Kendall's (tau-b) and Pearson's correlation for each row of weights."""
    below_x, below_y = (_below(side) for side in (x, y))
    # The mid-rank of a value is half of what equals it and all that lies below it: constants fall out of correlations.
    ranks = [weights @ below.T for below in (below_x, below_y)]
    rises_x, rises_y = (2 * below - 1 for below in (below_x, below_y))  # 1 above, 0 equal, -1 below
    together = _pairs(rises_x * rises_y, weights)
    apart = np.sqrt(_pairs(rises_x**2, weights) * _pairs(rises_y**2, weights))
    return _pearson(ranks[0], ranks[1], weights), _share(together, apart), _pearson(x[None, :], y[None, :], weights)


def _below(values: Ratings) -> Ratings:
    """Return ``[i, j]``: 1 if value j is below value i, a half if they are equal."""
    below: Ratings = (values[None, :] < values[:, None]) + 0.5 * (values[None, :] == values[:, None])
    return below


def _pairs(matrix: Ratings, weights: Ratings) -> Ratings:
    counted: Ratings = ((weights @ matrix) * weights).sum(axis=1)
    return counted


def _pearson(x: Ratings, y: Ratings, weights: Ratings) -> Ratings:
    total = np.maximum(weights.sum(axis=1, keepdims=True), 1)
    left, right = (side - (weights * side).sum(axis=1, keepdims=True) / total for side in (x, y))
    over, one, two = ((weights * a * b).sum(axis=1) for a, b in ((left, right), (left, left), (right, right)))
    return _share(over, np.sqrt(one * two))


def _alphas(stack: Ratings, weights: Ratings) -> Ratings:
    """Return Krippendorff's ordinal alpha for each row of weights, as in ``agreement``."""
    values = np.unique(stack[~np.isnan(stack)])
    counts = (
        np.stack([(stack == value).sum(axis=0) for value in values], axis=1).astype(np.float64)
        if len(values)
        else np.zeros((stack.shape[1], 0))
    )
    several = counts.sum(axis=1) >= 2
    counts, weights = counts[several], weights[:, several]
    if not len(counts):
        return np.full(len(weights), np.nan)
    per_unit = counts.sum(axis=1)
    # A document's ordered pairs of values, summed over their squared distances, are a quadratic form of the ranks.
    own = per_unit[:, None, None] * counts[:, :, None] * np.eye(len(values)) - counts[:, :, None] * counts[:, None, :]
    forms = (2 * own / (per_unit - 1)[:, None, None]).reshape(len(counts), -1)
    observed = (weights @ forms).reshape(-1, len(values), len(values))
    each = weights @ counts
    total = each.sum(axis=1)
    ranks = each.cumsum(axis=1) - each / 2
    within = np.einsum("bi,bij,bj->b", ranks, observed, ranks)
    middle = (each * ranks).sum(axis=1) / np.maximum(total, 1)
    between = 2 * total * (each * (ranks - middle[:, None]) ** 2).sum(axis=1)
    alphas: Ratings = 1 - _share(within * (total - 1), between)
    return alphas


def _share(part: Ratings, whole: Ratings) -> Ratings:
    result = np.full(np.shape(part), np.nan)
    np.divide(part, whole, out=result, where=whole > 1e-9)
    return result


def gains(new: Mapping[str, Drawn], old: Mapping[str, Drawn]) -> dict[str, Estimate]:
    """Return the gain of the new version over the old, for each measure with its interval."""
    return {name: new[name].less(old[name]).estimate() for name in MEASURES}
