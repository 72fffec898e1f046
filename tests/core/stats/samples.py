"""Samples of reviewed documents for tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.metrics import Counts
from core.stats.sampling import WeightedSample
from core.stats.scoring import LabelScores, score


def uniform_sample(audits: npt.ArrayLike, population: int) -> WeightedSample:
    """Return the sample in which the documents where ``audits`` is True were drawn uniformly from the undecided."""
    drawn = np.asarray(audits, dtype=np.bool_)
    return WeightedSample(np.where(drawn, 1 / np.maximum(1, population - np.arange(len(drawn))), 0.0), population)


def scores_of(counts: Counts) -> LabelScores:
    """Return the scores of one label with these counts."""
    reference = np.repeat([1, 0, 1, 0], [counts.tp, counts.fp, counts.fn, counts.tn])[:, None]
    predicted = np.repeat([1, 1, 0, 0], [counts.tp, counts.fp, counts.fn, counts.tn])[:, None]
    return score("multilabel", reference, predicted, ["a"]).labels["a"]
