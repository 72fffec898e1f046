"""Scores of an annotator that rates dimensions on an ordinal scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.stats.agreement import krippendorff_alpha
from core.stats.arrays import Ratings, check_shapes, counted_documents, ratings


@dataclass(frozen=True, slots=True)
class DimensionScores:
    """One dimension. All scores are None when nothing was compared. Correlations are None too when fewer than two
    documents were, or when the gold or the annotator gave all of them the same rating (0/0), alpha only when all
    ratings of both are the same."""

    n: int
    """documents with gold for the dimension and a verdict"""
    pearson: float | None
    """linear correlation, -1 to 1"""
    spearman: float | None
    """Pearson's correlation of the mid-ranks, -1 to 1"""
    kendall: float | None
    """Kendall's tau-b, which allows for ties, -1 to 1"""
    mae: float | None
    """mean absolute error in points of the scale, 0 or more"""
    bias: float | None
    """mean of rating minus gold in points of the scale: above 0 the annotator is lenient"""
    exact: float | None
    """share of documents with the very rating of the gold; the mean of several raters may lie between two points, and
    then no whole rating is exact"""
    alpha: float | None
    """Krippendorff's alpha between the two, ordinal, at most 1"""


@dataclass(frozen=True, slots=True)
class RatingScores:
    """How one annotator did on all dimensions."""

    n: int
    """documents with gold and a verdict"""
    excluded: int
    """documents with gold and none"""
    dimensions: Mapping[str, DimensionScores]
    macro: Mapping[str, float | None]
    """the mean of each score over the dimensions where it is defined; None where it is nowhere"""


SCORES = ("pearson", "spearman", "kendall", "mae", "bias", "exact", "alpha")


def evaluate(reference: npt.ArrayLike, rated: npt.ArrayLike, dimensions: Sequence[str]) -> RatingScores:
    """Scores from ratings ``[document, dimension]`` with NaN (or None) for no value.

    As for multilabel, a document with gold counts when its verdict has a value for every dimension and is excluded
    otherwise. Raises ValueError for shapes that differ.
    """
    gold, said = ratings(reference), ratings(rated)
    check_shapes(gold, said)
    if gold.ndim != 2 or gold.shape[1] != len(dimensions):
        raise ValueError(f"expected [document, {len(dimensions)} dimensions], got {gold.shape}")
    counted, excluded = counted_documents(~np.isnan(gold), ~np.isnan(said))
    gold, said = gold[counted], said[counted]
    scores = {name: _dimension(gold[:, column], said[:, column]) for column, name in enumerate(dimensions)}
    return RatingScores(
        n=int(counted.sum()),
        excluded=excluded,
        dimensions=scores,
        macro={score: _mean([getattr(one, score) for one in scores.values()]) for score in SCORES},
    )


def to_json(scores: RatingScores) -> dict[str, Any]:
    """``{n, excluded, macro, labels: {DIMENSION: {n, pearson, spearman, kendall, mae, bias, exact, alpha}}}``."""
    return {
        "n": scores.n,
        "excluded": scores.excluded,
        "macro": dict(scores.macro),
        "labels": {name: asdict(one) for name, one in scores.dimensions.items()},
    }


def pearson(first: Ratings, second: Ratings) -> float | None:
    """Pearson's correlation of two vectors without missing values; None under two values or for a constant one."""
    if len(first) < 2 or (first == first[0]).all() or (second == second[0]).all():
        return None
    a, b = first - first.mean(), second - second.mean()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


def spearman(first: Ratings, second: Ratings) -> float | None:
    """Spearman's correlation, ties at their mid-rank; None as for ``pearson``."""
    from scipy.stats import rankdata

    return pearson(np.asarray(rankdata(first), dtype=np.float64), np.asarray(rankdata(second), dtype=np.float64))


def kendall(first: Ratings, second: Ratings) -> float | None:
    """Kendall's tau-b; None as for ``pearson``."""
    from scipy.stats import kendalltau

    if len(first) < 2 or (first == first[0]).all() or (second == second[0]).all():
        return None
    return float(kendalltau(first, second).statistic)


def _dimension(reference: Ratings, said: Ratings) -> DimensionScores:
    known = ~np.isnan(reference)
    reference, said = reference[known], said[known]
    n = len(reference)
    errors = said - reference
    return DimensionScores(
        n=n,
        pearson=pearson(reference, said),
        spearman=spearman(reference, said),
        kendall=kendall(reference, said),
        mae=float(np.abs(errors).mean()) if n else None,
        bias=float(errors.mean()) if n else None,
        exact=float((errors == 0).mean()) if n else None,
        alpha=krippendorff_alpha(np.column_stack([reference, said]), "ordinal").value,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
