"""Samples of reviewed documents and scores for tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.flips import FlipTable, flip_table
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, ratio
from core.stats.metrics import Counts
from core.stats.sampling import WeightedSample
from core.stats.scoring import LabelScores, Scores, score


def uniform_sample(audits: npt.ArrayLike, population: int) -> WeightedSample:
    """Return the sample in which the documents where ``audits`` is True were drawn uniformly from the undecided."""
    drawn = np.asarray(audits, dtype=np.bool_)
    return WeightedSample(np.where(drawn, 1 / np.maximum(1, population - np.arange(len(drawn))), 0.0), population)


def share_of(sample: WeightedSample, z: npt.ArrayLike) -> Estimate:
    """Return the share of a label over all documents from the values of the reviewed ones, NaN for discarded ones."""
    values = np.asarray(z, dtype=np.float64)
    return ratio(np.nan_to_num(values), ~np.isnan(values), Design(sample=sample, order=np.arange(len(values))))


def scores_of(counts: Counts) -> LabelScores:
    """Return the scores of one label with these counts."""
    reference = np.repeat([1, 0, 1, 0], [counts.tp, counts.fp, counts.fn, counts.tn])[:, None]
    predicted = np.repeat([1, 1, 0, 0], [counts.tp, counts.fp, counts.fn, counts.tn])[:, None]
    return score("multilabel", reference, predicted, ["a"]).labels["a"]


def weighted_flip_table() -> FlipTable:
    """Return flips with 12 corrections and 4 regressions of reviewed documents that are a loss over all documents."""
    sizes = np.where(np.arange(200) < 40, 10.0, 1.0)  # the queue draws the first 40 ten times as often as the others
    drawn = np.random.default_rng(1).permutation([*range(24), *range(60, 66)])
    reference = np.full((200, 1), np.nan)
    reference[drawn] = 1
    first, last = np.ones((200, 1)), np.ones((200, 1))
    first[:12] = 0  # corrected among the frequent ones
    last[60:64] = 0  # regressed among the others, each of which represents more documents
    design = Design(sample=WeightedSample.of_draws(drawn, [sizes] * len(drawn), 200), order=drawn)
    return flip_table(reference, [("extractor", first), ("judge", last)], ["a"], design)


def means(scores: Scores, average: str) -> tuple[float | None, ...]:
    """Return the mean precision, recall and F1 over labels."""
    return tuple(scores[f"{average}_{key}"].value for key in ("precision", "recall", "f1"))
