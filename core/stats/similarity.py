"""Correlations of two vectors without missing values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

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


PRIOR = 0.5
"""Prior added to every count, so that an unused category leaves the divergence finite (Jeffreys' prior)."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two distributions over the same categories. All values are None if one side has no case."""

    reference: tuple[float, ...] | None
    predicted: tuple[float, ...] | None
    """shares, unsmoothed"""
    kl: float | None
    """Kullback-Leibler divergence of the annotator from the reference in nats, 0 or more"""
    js: float | None
    """Jensen-Shannon distance with base 2: 0 for equal, 1 for disjoint distributions; needs no smoothing"""


def divergence(reference: Sequence[float], predicted: Sequence[float], prior: float = PRIOR) -> Divergence:
    """Return the divergence between the category counts of the reference and of the annotator.

    KL = sum p log(p / q) with p the reference's shares and q the annotator's, both with ``prior`` added to each count
    (Kullback and Leibler 1951; used on labels in Ma et al., Authors Should Label Their Own Documents, table 1). With
    ``prior`` 0 a category that only the reference has makes KL None, because it is infinite. Raises ValueError for
    different lengths and for negative counts.
    """
    if len(reference) != len(predicted) or min((*reference, *predicted), default=0) < 0:
        raise ValueError("expected two lists of counts over the same categories")
    if not sum(reference) or not sum(predicted):
        return Divergence(None, None, None, None)
    p, q = _shares(reference), _shares(predicted)
    smooth_p, smooth_q = (
        _shares([count + prior for count in reference]),
        _shares([count + prior for count in predicted]),
    )
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    js = ((_kl(p, middle) or 0.0) + (_kl(q, middle) or 0.0)) / 2 / log(2)
    return Divergence(p, q, _kl(smooth_p, smooth_q), sqrt(max(js, 0.0)))


def _shares(counts: Sequence[float]) -> tuple[float, ...]:
    whole = sum(counts)
    return tuple(count / whole for count in counts)


def _kl(p: Sequence[float], q: Sequence[float]) -> float | None:
    pairs = [(a, b) for a, b in zip(p, q, strict=True) if a > 0]
    if any(b == 0 for _, b in pairs):
        return None
    return max(0.0, sum(a * log(a / b) for a, b in pairs))


_TOKEN = re.compile(r"\w+")


def rouge_l(text: str, reference: str) -> float | None:
    """Return the F1 of the longest common subsequence of words, 0 to 1; None if either text has no words.

    Precision is its length over the text's words, recall over the reference's (Lin 2004, ROUGE, section 3, with
    beta = 1). Words are compared without case and without stemming.
    """
    from rapidfuzz.distance import LCSseq

    predicted, wanted = tokens(text), tokens(reference)
    if not predicted or not wanted:
        return None
    return float(2 * LCSseq.similarity(predicted, wanted) / (len(predicted) + len(wanted)))


def tokens(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


def weighted_pearson(first: Ratings, second: Ratings, weights: Ratings) -> float | None:
    """Return Pearson's correlation of weighted pairs; None for fewer than two different values on a side."""
    used = weights > 0
    if not used.any() or np.ptp(first[used]) == 0 or np.ptp(second[used]) == 0:
        return None
    whole = weights.sum()
    a, b = first - first @ weights / whole, second - second @ weights / whole
    return float(np.clip((weights * a) @ b / np.sqrt((weights * a) @ a * ((weights * b) @ b)), -1.0, 1.0))


def weighted_spearman(first: Ratings, second: Ratings, weights: Ratings) -> float | None:
    """Return Spearman's correlation of weighted pairs, ties at their mid-rank; None as for ``weighted_pearson``."""
    return weighted_pearson(_mid_ranks(first, weights), _mid_ranks(second, weights), weights)


def weighted_kendall(first: Ratings, second: Ratings, weights: Ratings) -> float | None:
    """Return Kendall's tau-b of weighted pairs; None as for ``weighted_pearson``."""
    used = weights > 0
    rows, columns = (np.unique(side[used], return_inverse=True)[1] for side in (first, second))
    if not used.any() or not rows.max() or not columns.max():
        return None
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), weights[used])
    above = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    above[:-1, :-1] = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]  # weight at or above both values
    higher = above[1:, 1:]
    lower_second = above[1:, :1] - above[1:, :-1]
    together = float((table * (higher - lower_second)).sum())
    whole = table.sum()
    apart = [(whole**2 - float((table.sum(axis=axis) ** 2).sum())) / 2 for axis in (1, 0)]
    return float(np.clip(together / np.sqrt(apart[0] * apart[1]), -1.0, 1.0))


def weighted_alpha(first: Ratings, second: Ratings, weights: Ratings) -> float | None:
    """Return Krippendorff's ordinal alpha of two raters from weighted pairs; None if only one value was used.

    As ``agreement.krippendorff_alpha``, which names the source.
    """
    both, twice = np.concatenate([first, second]), np.concatenate([weights, weights])
    ranks = _mid_ranks(both, twice)
    total = float(twice.sum())
    if total <= 0:
        return None
    half = len(first)
    within = float((weights * (ranks[:half] - ranks[half:]) ** 2).sum()) * 2
    between = 2 * total * float((twice * (ranks - ranks @ twice / total) ** 2).sum())
    return 1 - within * (total - 1) / between if between > 1e-9 else None


def _mid_ranks(values: Ratings, weights: Ratings) -> Ratings:
    """Return the weight below each value and half of that at it."""
    _, place = np.unique(values, return_inverse=True)
    each = np.bincount(place, weights)
    return np.asarray((each.cumsum() - each / 2)[place])
