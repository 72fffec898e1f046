"""Error analysis: errors by length, by number of labels, and by words that are typical of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.estimation import Design, ratio
from core.stats.intervals import Estimate

WORDS = 12
"""Maximum number of cue words."""
LEAST = 2
"""Minimum number of errors that contain a cue word: one error proves nothing."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Word (or two in a row) that is more frequent in errors than in hits."""

    word: str
    weight: float
    """mean TF-IDF in the errors minus that in the hits, 0 to 1"""
    errors: int
    """number of errors that contain it"""
    hits: int
    """number of hits that contain it"""


@dataclass(frozen=True, slots=True)
class Band:
    """Documents with a number from ``low`` to ``high``, both included, and the share of them that are wrong."""

    low: int
    high: int
    n: int
    wrong: int
    share: Estimate


def cues(errors: Sequence[str], hits: Sequence[str], most: int = WORDS) -> tuple[Cue, ...]:
    """Return the words that separate texts of errors from texts of hits, strongest first.

    TF-IDF over words and pairs of words (scikit-learn's, sublinear, each text of length 1): the mean over errors minus
    the mean over hits. A word must occur in two errors, and in a larger share of errors than of hits. Numbers and
    function words of English are left out. Empty if one side has fewer than two texts.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if len(errors) < 2 or len(hits) < 2:
        return ()
    vectoriser = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, stop_words="english", token_pattern=r"(?u)\b[^\W\d_]{2,}\b", min_df=LEAST
    )
    try:
        weights = vectoriser.fit_transform([*errors, *hits])
    except ValueError:  # no word is left
        return ()
    wrong, right = weights[: len(errors)], weights[len(errors) :]
    lead = np.asarray(wrong.mean(axis=0)).ravel() - np.asarray(right.mean(axis=0)).ravel()
    in_errors, in_hits = wrong.getnnz(axis=0), right.getnnz(axis=0)
    words = vectoriser.get_feature_names_out()
    found: list[Cue] = []
    for place in np.lexsort((words, -lead)):
        count, others = int(in_errors[place]), int(in_hits[place])
        if lead[place] <= 0 or len(found) == most:
            break
        if count >= LEAST and count / len(errors) > others / len(hits):
            found.append(Cue(str(words[place]), float(lead[place]), count, others))
    return tuple(found)


def by_number(
    numbers: npt.ArrayLike, wrong: npt.ArrayLike, bands: int = 5, *, groups: npt.NDArray[np.int64] | None = None
) -> tuple[Band, ...]:
    """Return the share of wrong documents by a number of each document (words, labels), ``[document]`` each.

    At most ``bands`` of about equal size; documents with the same number stay together. Empty without documents.
    Documents with equal codes in ``groups`` depend on each other, which their intervals take into account.
    """
    sizes, failed = np.asarray(numbers, dtype=np.int64), np.asarray(wrong, dtype=np.bool_)
    if sizes.shape != failed.shape or sizes.ndim != 1:
        raise ValueError(f"shapes differ: {sizes.shape} and {failed.shape}")
    if not len(sizes):
        return ()
    edges = np.unique(sizes)[1:]
    if len(edges) >= bands:
        edges = np.unique(np.quantile(sizes, np.linspace(0, 1, bands + 1)[1:-1], method="higher")).astype(np.int64)
    place = np.searchsorted(edges, sizes, side="right")
    found = []
    for band in np.unique(place):
        own = place == band
        n = int(own.sum())
        share = ratio(failed[own], np.ones(n), Design(groups=None if groups is None else groups[own]))
        found.append(Band(int(sizes[own].min()), int(sizes[own].max()), n, int(failed[own].sum()), share))
    return tuple(found)
