"""Scores with their intervals: percentile bootstrap over documents for those that have none in closed form.

A resample draws as many documents as there are, with replacement, each with all its labels (labels of a document go
together). Documents with the same outcome in every label are interchangeable, so it is enough to draw how often each
*pattern* of outcomes occurs, a multinomial: the same distribution, much less work, and no dependence on row order.
Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.stats import multilabel
from core.stats.arrays import BinaryGrid, Mask, Ratings, binary_grid, check_shapes, counted_documents
from core.stats.intervals import Estimate, Interval, f1_interval, precision_interval, recall_interval, wilson

RESAMPLES = 2000
_CELLS = 2_000_000  # drawn at a time, to bound memory
_DIGITS = 26  # of a number in base 5 that 64 bits hold


@dataclass(frozen=True, slots=True)
class Summary:
    """Precision, recall and F1 with their intervals."""

    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class BootstrapScores:
    """Scores with intervals, or (from ``difference``) what the second annotator has over the first.

    A resample without positives of a label leaves it out of that resample's macro mean, as the score itself does.
    An interval is None where its score is undefined, and one that is drawn when there are fewer than two documents. Of
    a score, not of a difference, it is None too when all resamples are the same (all right, or all wrong): then the
    sample does not tell how far off it may be.
    """

    n: int
    """documents that were resampled"""
    excluded: int
    """documents with gold that lack a verdict (for a difference: from either annotator)"""
    resamples: int
    accuracy: Estimate
    """share of right cells"""
    macro: Summary
    micro: Summary
    labels: Mapping[str, Summary]


def scores(
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    labels: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> BootstrapScores:
    """Scores of one annotator with intervals, from binary grids ``[document, item]`` (see ``arrays``).

    A label's precision, recall and F1 have Wilson's interval (F1 by way of F*, see ``intervals.f1_interval``), and so
    have the means over labels where they are of one label alone; everything else the percentile bootstrap's. Each of
    the three is a share of documents that are independent of each other, the case Wilson's is for; resampling fails
    where an interval is needed most: with all of five found, each resample has all of them and says 1 to 1. (Within a
    resample the denominator moves too; Wilson's takes it as given, which is the usual reading.) When nothing was
    predicted, precision is 0 by convention and has none. The cells of a document, over which accuracy, micro and macro
    scores of several labels go, are not independent.

    For a choice, pass both sides through ``arrays.one_hot``.
    """
    drawn = _bootstrap(reference, (predicted,), labels, resamples, level, seed)
    counts = multilabel.from_grids(reference, predicted, labels).labels
    alone = {
        name: Summary(
            Estimate(own.precision.value, precision_interval(counts[name], level)),
            Estimate(own.recall.value, recall_interval(counts[name], level)),
            Estimate(own.f1.value, f1_interval(counts[name], level)),
        )
        for name, own in drawn.labels.items()
    }
    scored = [alone[name] for name in labels if counts[name].positives]
    accuracy, macro, micro = _spread(drawn.accuracy), _each_spread(drawn.macro), _each_spread(drawn.micro)
    if len(scored) == 1:
        macro = scored[0]
    if len(labels) == 1:
        (only,) = counts.values()
        accuracy = Estimate(accuracy.value, wilson(only.tp + only.tn, only.n, level))
        micro = scored[0] if scored else micro
    return replace(drawn, labels=alone, accuracy=accuracy, macro=macro, micro=micro)


def _each_spread(summary: Summary) -> Summary:
    return Summary(_spread(summary.precision), _spread(summary.recall), _spread(summary.f1))


def _spread(found: Estimate) -> Estimate:
    """Without its interval when that has no width."""
    narrow = found.interval is not None and found.interval.high - found.interval.low < 1e-12
    return Estimate(found.value, None) if narrow else found


def difference(
    reference: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> BootstrapScores:
    """Every score of ``second`` minus that of ``first``, paired: on documents that both have a verdict for, the same
    ones in each resample. Positive means that the second is better."""
    return _bootstrap(reference, (first, second), labels, resamples, level, seed)


def _bootstrap(
    reference: npt.ArrayLike,
    annotators: tuple[npt.ArrayLike, ...],
    labels: Sequence[str],
    resamples: int,
    level: float,
    seed: int,
) -> BootstrapScores:
    if not 0 < level < 1 or resamples < 1:
        raise ValueError("the level lies between 0 and 1, and there is at least one resample")
    gold = binary_grid(reference)
    said = [binary_grid(one) for one in annotators]
    check_shapes(gold, *said)
    if gold.shape[1] != len(labels):
        raise ValueError(f"{gold.shape[1]} columns for {len(labels)} labels")
    counted, excluded = counted_documents(gold >= 0, *(one >= 0 for one in said))
    n, items = int(counted.sum()), len(labels)
    outcomes = np.concatenate([_outcomes(gold[counted], one[counted]) for one in said], axis=1)
    patterns, frequency = _patterns(outcomes)

    def all_scores(weights: Ratings) -> Ratings:
        """``[resample, score]``: accuracy, macro, micro and each label's precision, recall and F1."""
        sides = [_scores(weights, patterns[:, side * items : (side + 1) * items]) for side in range(len(annotators))]
        return sides[0] if len(sides) == 1 else sides[1] - sides[0]

    value = all_scores(frequency[None, :].astype(np.float64))[0]
    drawn = np.concatenate([all_scores(w) for w in _draws(frequency, resamples, seed)]) if n >= 2 else None
    columns = [None] * len(value) if drawn is None else list(drawn.T)
    estimates = [_estimate(score, column, level) for score, column in zip(value, columns, strict=True)]
    threes = [Summary(*estimates[start : start + 3]) for start in range(1, len(estimates), 3)]
    return BootstrapScores(
        n=n,
        excluded=excluded,
        resamples=resamples,
        accuracy=estimates[0],
        macro=threes[0],
        micro=threes[1],
        labels=dict(zip(labels, threes[2:], strict=True)),
    )


def _outcomes(gold: BinaryGrid, said: BinaryGrid) -> BinaryGrid:
    """0 true negative, 1 false positive, 2 false negative, 3 true positive, -1 no gold."""
    return np.where(gold < 0, np.int8(-1), 2 * gold + said).astype(np.int8)


def _patterns(outcomes: BinaryGrid) -> tuple[BinaryGrid, npt.NDArray[np.int64]]:
    """The different rows in lexical order, and how often each occurs. Rows are compared as numbers in base 5 as long as
    they fit: ten times as quick as row by row."""
    width = outcomes.shape[1]
    if width > _DIGITS:
        patterns, frequency = np.unique(outcomes, axis=0, return_counts=True)
        return patterns, frequency
    numbers = (outcomes.astype(np.int64) + 1) @ 5 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    _, first, frequency = np.unique(numbers, return_index=True, return_counts=True)
    return outcomes[first], frequency


def _draws(frequency: npt.NDArray[np.int64], resamples: int, seed: int) -> Iterator[Ratings]:
    """Weights ``[resample, pattern]``, a bounded number at a time; the same for the same seed whatever the bound."""
    rng = np.random.default_rng(seed)
    n = int(frequency.sum())
    at_once = max(1, _CELLS // len(frequency))
    for start in range(0, resamples, at_once):
        drawn = rng.multinomial(n, frequency / n, size=min(at_once, resamples - start))
        yield drawn.astype(np.float64)


def _scores(weights: Ratings, outcomes: BinaryGrid) -> Ratings:
    tp, fp, fn, tn = (weights @ (outcomes == which).astype(np.float64) for which in (3, 1, 2, 0))
    per_label = _precision_recall_f1(tp, fp, fn)
    sums = [cells.sum(axis=1, keepdims=True) for cells in (tp, fp, fn, tn)]
    micro = _precision_recall_f1(*sums[:3])
    scored = tp + fn > 0
    macro = [_mean_where(score, scored) for score in per_label]
    accuracy = _share(sums[0] + sums[3], sum(sums[1:], sums[0]))
    columns = [accuracy, *macro, *micro]
    for label in range(tp.shape[1]):
        columns += [score[:, label : label + 1] for score in per_label]
    return np.concatenate(columns, axis=1)


def _precision_recall_f1(tp: Ratings, fp: Ratings, fn: Ratings) -> tuple[Ratings, Ratings, Ratings]:
    """As the properties of ``Counts``, NaN for undefined."""
    positives = tp + fn
    precision = np.where((tp + fp == 0) & (positives > 0), 0.0, _share(tp, tp + fp))
    f1 = np.where(positives > 0, _share(2 * tp, 2 * tp + fp + fn), np.nan)
    return precision, _share(tp, positives), f1


def _share(part: Ratings, whole: Ratings) -> Ratings:
    result = np.full(part.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _mean_where(score: Ratings, mask: Mask) -> Ratings:
    summed = np.where(mask, score, 0.0).sum(axis=1, keepdims=True)
    return _share(summed, mask.sum(axis=1, keepdims=True).astype(np.float64))


def _estimate(value: np.float64, drawn: Ratings | None, level: float) -> Estimate:
    if np.isnan(value):
        return Estimate(None, None)
    known = None if drawn is None else drawn[~np.isnan(drawn)]
    if known is None or not len(known):
        return Estimate(float(value), None)
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(value), Interval(float(low), float(high), level))
