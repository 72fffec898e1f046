"""Effect of a panel's debate on the agreement of its members, and of their mean with people.

After Chen et al., *MAJ-Eval: Multi-Agent-as-Judge* (section 5.4.2: correlations with human ratings before and after;
appendix A.4: Krippendorff's alpha of each group, ordinal here like the scale). The paper prints correlations without
their sign. Here both are given, because a panel that rates backwards is not a good panel. Ratings are first normalised
to 0 to 1 by the scale, so that scales can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.agreement import kendall, krippendorff_alpha, pearson, spearman, with_interval
from core.stats.arrays import Codes, Ratings, ratings
from core.stats.intervals import LEVEL, Estimate, Interval
from core.stats.metric_intervals import Design
from core.stats.scoring import score


@dataclass(frozen=True, slots=True)
class Following:
    """Correlation and error of a panel's mean against the reference.

    None if undefined (fewer than two ratings, or no spread).
    """

    n: int
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    mae: Estimate
    """mean absolute error, as a share of the scale (0 to 1)"""

    @property
    def absolute(self) -> dict[str, float | None]:
        """The correlations without their sign, as in the paper."""
        correlations = {"pearson": self.pearson, "spearman": self.spearman, "kendall": self.kendall}
        return {
            name: None if correlation.value is None else abs(correlation.value)
            for name, correlation in correlations.items()
        }


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Comparison of one dimension, or of all together, before and after the debate."""

    before: Following
    after: Following
    alpha_before: Estimate
    """Krippendorff's ordinal alpha among the members; None for fewer than two"""
    alpha_after: Estimate


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
    *,
    design: Design | None = None,
    groups: Codes | None = None,
) -> dict[str, BeforeAfter]:
    """Return a comparison per dimension, from members' ratings ``[document, dimension]`` before and after.

    ``scales`` are (low, high) of each dimension. The panel's rating is the mean of its members. ``design`` and
    ``groups`` as for ``debate_rounds.rounds``.
    """
    gold = normalised(reference, scales)
    firsts, lasts = ([ratings(grid) for grid in side.values()] for side in (before, after))
    # Means are normalised, not ratings: equal means of whole numbers are equal, those of fractions may not be.
    mean_before, mean_after = (normalised(mean_of(np.stack(side)), scales) for side in (firsts, lasts))
    return {
        name: BeforeAfter(
            _following(gold[:, column], mean_before[:, column], design),
            _following(gold[:, column], mean_after[:, column], design),
            _alpha([grid[:, column] for grid in firsts], groups),
            _alpha([grid[:, column] for grid in lasts], groups),
        )
        for column, name in enumerate(dimensions)
    }


def _following(reference: Ratings, mean: Ratings, design: Design | None) -> Following:
    label_scores = score("rating", reference[:, None], mean[:, None], ("",), design=design).labels[""]
    return Following(label_scores.n, *(label_scores[key] for key in ("pearson", "spearman", "kendall", "mae")))


def _alpha(members: Sequence[Ratings], groups: Codes | None) -> Estimate:
    if len(members) < 2:
        return Estimate(None, None)
    return with_interval(
        lambda answers, times: krippendorff_alpha(answers, "ordinal", times), np.column_stack(members), groups
    )


MEASURES = ("spearman", "kendall", "pearson", "alpha")
RESAMPLES = 400
MOST = 1_000
"""Maximum number of documents, to save time; callers draw a sample from more."""


def estimate(values: Ratings) -> Estimate:
    """Return the first value with the percentile interval of the others, which are those of resamples.

    NaN stands for no value. A resample without a value leaves no interval.
    """
    if np.isnan(values[0]):
        return Estimate(None, None)
    if len(values) == 1 or np.isnan(values).any():
        return Estimate(float(values[0]), None)
    low, high = np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(values[0]), Interval(float(low), float(high)))


def draws(n: int, groups: Codes | None = None, *, resamples: int = RESAMPLES, seed: int = 0) -> Ratings:
    """Return the frequency of each of ``n`` documents in each resample, ``[1 + resample, document]``.

    Documents with equal codes in ``groups``, ``[document]``, are drawn together. The first row is the sample itself,
    with each document once. It is the only row for fewer than two documents or groups.
    """
    unit = np.unique(np.arange(n) if groups is None else groups, return_inverse=True)[1]
    units = int(unit.max(initial=-1)) + 1
    once = np.ones((1, n))
    if units < 2:
        return once
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=resamples)
    return np.concatenate([once, drawn[:, unit].astype(np.float64)])


def scores(reference: npt.ArrayLike, members: Sequence[npt.ArrayLike], weights: Ratings) -> dict[str, Ratings]:
    """Return each of ``MEASURES`` of a group by sample, from reference and members' ratings ``[document]``.

    Correlations use the members' mean on documents with a reference and a rating; NaN without spread on either side.
    Alpha uses documents that two members rated; NaN for one member. ``weights`` are those of ``draws``.
    """
    gold, stack = ratings(reference), np.stack([ratings(member) for member in members])
    mean = mean_of(stack)
    has_both = ~np.isnan(gold) & ~np.isnan(mean)
    x, y = gold[has_both], mean[has_both]
    measures: dict[str, Callable[[Ratings], float | None]] = {
        "spearman": lambda frequency: spearman(x, y, frequency[has_both]),
        "kendall": lambda frequency: kendall(x, y, frequency[has_both]),
        "pearson": lambda frequency: pearson(x, y, frequency[has_both]),
        "alpha": lambda frequency: krippendorff_alpha(stack.T, "ordinal", frequency),
    }
    return {
        name: np.array([measure(frequency) for frequency in weights], dtype=np.float64)
        for name, measure in measures.items()
    }


def mean_of(stack: Ratings) -> Ratings:
    """Return the mean of the available ratings, from ``[rater, document]``; NaN without a rating."""
    there = ~np.isnan(stack)
    mean = np.full(stack.shape[1:], np.nan)
    np.divide(np.where(there, stack, 0.0).sum(axis=0), there.sum(axis=0), out=mean, where=there.any(axis=0))
    return mean


def gains(new: Mapping[str, Ratings], old: Mapping[str, Ratings]) -> dict[str, Estimate]:
    """Return the gain of the new version over the old, for each measure with its interval."""
    return {name: estimate(new[name] - old[name]) for name in MEASURES}
