"""Error analysis: errors by length, by number of labels, and by words that are typical of errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, ratio

WORDS = 12
"""Maximum number of cue words."""
MIN_ERRORS = 2
"""Minimum number of errors that contain a cue word: one error proves nothing."""
BANDS = 5
"""Maximum number of bands of ``by_number``."""
MIN_Z = 1.645
"""z-value of a cue word that a suggestion may rest on: 5% of words without a relation to the errors exceed it."""
_CONTRACTIONS = (
    "ain aren couldn didn doesn don hadn hasn haven isn ll mustn needn shan shouldn ve wasn weren won wouldn"
)
"""Parts of contractions."""
_WORD = re.compile(r"\b[^\W\d_]{2,}\b")
_BETWEEN = re.compile(r"[\s-]+")


@dataclass(frozen=True, slots=True)
class Cue:
    """Word (or two in a row) that is more frequent in errors than in hits."""

    word: str
    weight: float
    """Mean TF-IDF in the errors minus that in the hits, 0 to 1."""
    errors: tuple[int, ...]
    """Indices of the errors that contain it."""
    hits: int
    """Number of hits that contain it."""


@dataclass(frozen=True, slots=True)
class Band:
    """Documents with a number from ``low`` to ``high``, both included, and the share of them that are wrong.

    The share is weighted if the documents are a sample; ``n`` and ``wrong`` count them.
    """

    low: int
    high: int
    n: int
    wrong: int
    share: Estimate


def cues(
    errors: Sequence[str],
    hits: Sequence[str],
    limit: int = WORDS,
    *,
    min_z: float = 0.0,
    ignore: Collection[str] = (),
) -> tuple[Cue, ...]:
    """Return the words that separate texts of errors from texts of hits, strongest first.

    TF-IDF over words and pairs of adjacent words (scikit-learn's, sublinear, each text of length 1): the mean over
    errors minus the mean over hits. A word must occur in two errors, and the z-value of the log-odds ratio of its
    occurrence in errors to that in hits, with one half added to each count (Haldane 1956, Annals of Human Genetics 20),
    must exceed ``min_z``. Numbers, function words of English and words in ``ignore`` are left out. Of a pair and its
    words that occur in the same errors, the strongest is kept. Empty if there are fewer than two errors.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    if len(errors) < MIN_ERRORS:
        return ()
    without = {*ENGLISH_STOP_WORDS, *_CONTRACTIONS.split(), *ignore}
    vectoriser = TfidfVectorizer(analyzer=partial(_terms, without=without), sublinear_tf=True, min_df=MIN_ERRORS)
    try:
        weights = vectoriser.fit_transform([*errors, *hits])
    except ValueError:  # no word is left
        return ()
    wrong, right = weights[: len(errors)].tocsc(), weights[len(errors) :]
    lead = np.asarray(wrong.mean(axis=0)).ravel() - (np.asarray(right.mean(axis=0)).ravel() if hits else 0.0)
    in_hits, words = right.getnnz(axis=0), vectoriser.get_feature_names_out()
    selected: list[Cue] = []
    for column in np.lexsort((words, -lead)):
        rows = tuple(sorted(wrong.indices[wrong.indptr[column] : wrong.indptr[column + 1]].tolist()))
        if lead[column] <= 0 or len(selected) == limit:
            break
        z = _log_odds_z(len(rows), len(errors), int(in_hits[column]), len(hits))
        word = str(words[column])
        is_duplicate = any(rows == cue.errors and {*word.split()} & {*cue.word.split()} for cue in selected)
        if len(rows) >= MIN_ERRORS and z > min_z and not is_duplicate:
            selected.append(Cue(word, float(lead[column]), rows, int(in_hits[column])))
    return tuple(selected)


def _terms(text: str, without: Collection[str]) -> list[str]:
    """Return the words of a text, and the pairs with only white space or hyphens between them."""
    text = text.lower()
    matches = list(_WORD.finditer(text))
    keep = [match[0] not in without for match in matches]
    words = [match[0] for match, is_kept in zip(matches, keep, strict=True) if is_kept]
    pairs = zip(pairwise(matches), pairwise(keep), strict=True)
    adjacent = (both for both, are_kept in pairs if all(are_kept))
    return words + [
        f"{first[0]} {second[0]}" for first, second in adjacent if _BETWEEN.fullmatch(text, first.end(), second.start())
    ]


def _log_odds_z(in_errors: int, errors: int, in_hits: int, hits: int) -> float:
    a, b, c, d = in_errors + 0.5, errors - in_errors + 0.5, in_hits + 0.5, hits - in_hits + 0.5
    return log(a * d / (b * c)) / sqrt(1 / a + 1 / b + 1 / c + 1 / d)


def by_number(
    numbers: npt.ArrayLike, wrong: npt.ArrayLike, judged: npt.ArrayLike, design: Design | None = None
) -> tuple[Band, ...]:
    """Return the share of wrong documents by a number of each document (words, labels), ``[document]`` each.

    At most ``BANDS`` of about equal size; documents with the same number stay together. Only documents that are
    ``judged`` count; empty without any. ``design`` describes how they were selected and which depend on each other, by
    default all are independent.
    """
    sizes = np.asarray(numbers, dtype=np.int64)
    failed, is_judged = np.asarray(wrong, dtype=np.bool_), np.asarray(judged, dtype=np.bool_)
    if not is_judged.any():
        return ()
    edges = np.unique(sizes[is_judged])[1:]
    if len(edges) >= BANDS:
        quantiles = np.quantile(sizes[is_judged], np.linspace(0, 1, BANDS + 1)[1:-1], method="higher")
        edges = np.unique(quantiles).astype(np.int64)
    band_codes = np.searchsorted(edges, sizes, side="right")
    bands = []
    for band in np.unique(band_codes[is_judged]):
        in_band = is_judged & (band_codes == band)
        in_error, band_sizes = failed & in_band, sizes[in_band]
        share = ratio(in_error, in_band, design or Design())
        count, errors = int(in_band.sum()), int(in_error.sum())
        bands.append(Band(int(band_sizes.min()), int(band_sizes.max()), count, errors, share))
    return tuple(bands)
