"""Correlations of two vectors without missing values, divergence of distributions, and overlap of texts."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import numpy.typing as npt

from core.stats.agreement import mid_ranks
from core.stats.arrays import Ratings

PRIOR = 0.5
"""Prior added to every count, so that an unused category leaves the divergence finite (Jeffreys' prior)."""
_TOKEN = re.compile(r"\w+")


def pearson(first: Ratings, second: Ratings, weights: Ratings | None = None) -> float | None:
    """Return Pearson's correlation of pairs, weighted if weights are given.

    None for fewer than two different values on a side.
    """
    weights = np.ones(len(first)) if weights is None else weights
    used = weights > 0
    if not used.any() or np.ptp(first[used]) == 0 or np.ptp(second[used]) == 0:
        return None
    whole = weights.sum()
    a, b = first - first @ weights / whole, second - second @ weights / whole
    return float(np.clip((weights * a) @ b / np.sqrt((weights * a) @ a * ((weights * b) @ b)), -1.0, 1.0))


def spearman(first: Ratings, second: Ratings, weights: Ratings | None = None) -> float | None:
    """Return Spearman's correlation, ties at their mid-rank; weights and None as for ``pearson``."""
    weights = np.ones(len(first)) if weights is None else weights
    return pearson(mid_ranks(first, weights), mid_ranks(second, weights), weights)


def kendall(first: Ratings, second: Ratings, weights: Ratings | None = None) -> float | None:
    """Return Kendall's tau-b; weights and None as for ``pearson``."""
    weights = np.ones(len(first)) if weights is None else weights
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


def divergence(reference: npt.ArrayLike, predicted: npt.ArrayLike) -> Ratings:
    """Return the Kullback-Leibler divergence of the annotator's categories from the reference's in nats, 0 or more.

    Both are counts ``[..., category]``; NaN where a side has no case. KL = sum p log(p / q) with p the reference's
    shares and q the annotator's, both with ``PRIOR`` added to each count (Kullback and Leibler 1951; used on labels in
    Ma et al., Authors Should Label Their Own Documents, table 1). Raises ValueError for different shapes and for
    negative counts.
    """
    counts = [np.asarray(side, dtype=np.float64) for side in (reference, predicted)]
    if counts[0].shape != counts[1].shape or any((side < 0).any() for side in counts):
        raise ValueError("expected two lists of counts over the same categories")
    p, q = ((side + PRIOR) / (side + PRIOR).sum(axis=-1, keepdims=True) for side in counts)
    found = np.maximum((p * np.log(p / q)).sum(axis=-1), 0.0)
    return np.where((counts[0].sum(axis=-1) > 0) & (counts[1].sum(axis=-1) > 0), found, np.nan)


def rouge_l(text: str, reference: str) -> float | None:
    """Return the F1 of the longest common subsequence of words, 0 to 1; None if either text has no words.

    Precision is its length over the text's words, recall over the reference's (Lin 2004, ROUGE, section 3, with
    beta = 1). Words are compared without case and without stemming.
    """
    from rapidfuzz.distance import LCSseq

    predicted, wanted = (_TOKEN.findall(unicodedata.normalize("NFKC", one).casefold()) for one in (text, reference))
    if not predicted or not wanted:
        return None
    return float(2 * LCSseq.similarity(predicted, wanted) / (len(predicted) + len(wanted)))
