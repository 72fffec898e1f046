"""Latent truth: what the true values probably are, and how good each annotator is, from their answers alone.

Each annotator has a confusion matrix: how often a true value is answered by each value. Given the truth, annotators
answer independently of each other. The truth and the matrices are estimated in turn, from the shares of the votes on
(EM algorithm: Dawid and Skene 1979, J. R. Stat. Soc. C 28). The assumption fails for annotators that share errors, such
as models with the same training: they confirm each other where they are wrong, and look better than they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.stats.arrays import Codes, Mask, Numbers

_MIN_CHANCE = 1e-10  # chance of an answer that was never seen
_MIN_UNITS = 1e-6  # units with a true value below which nothing is known of its answers
_ROUNDS = 500
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class LatentTruth:
    """The estimate for ``[unit, rater]`` answers.

    ``probabilities`` is ``[unit, value]``, NaN for a unit without an answer. ``shares`` is ``[value]``: how frequent
    each true value is. ``confusion`` is ``[rater, true value, answer]``, each row summing to 1; NaN for a rater and a
    true value without an answer.
    """

    probabilities: Numbers
    shares: Numbers
    confusion: Numbers


def dawid_skene(answers: Codes, values: int, *, counts: npt.ArrayLike | None = None) -> LatentTruth:
    """Return the latent truth of answers ``[unit, rater]``, codes from 0 to ``values`` - 1, negative for none.

    ``counts`` is ``[unit]``: how many units have these answers, 1 by default.

    With fewer than three raters the estimate follows the votes and the start of the iteration, so show it from three
    on.
    """
    indicators = answers[:, :, None] == np.arange(values)
    has_answer: Mask = np.any(answers >= 0, axis=1)
    votes = indicators.sum(axis=1).astype(np.float64)
    posterior = np.divide(votes, votes.sum(axis=1, keepdims=True), out=np.zeros_like(votes), where=has_answer[:, None])
    times = np.ones(len(answers)) if counts is None else np.asarray(counts, dtype=np.float64)
    shares, confusion = _update(posterior, indicators, has_answer, times)
    for _ in range(_ROUNDS):
        logs = np.log(np.maximum(shares, _MIN_CHANCE)) + np.einsum(
            "urk,rtk->ut", indicators, np.log(np.maximum(np.nan_to_num(confusion), _MIN_CHANCE))
        )
        logs -= logs.max(axis=1, keepdims=True)
        before, posterior = posterior, np.where(has_answer[:, None], np.exp(logs), 0.0)
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), _MIN_CHANCE)
        shares, confusion = _update(posterior, indicators, has_answer, times)
        if np.abs(posterior - before).max() < _TOLERANCE:
            break
    return LatentTruth(np.where(has_answer[:, None], posterior, np.nan), shares, confusion)


def _update(posterior: Numbers, indicators: Mask, has_answer: Mask, times: Numbers) -> tuple[Numbers, Numbers]:
    """Return the shares of the values and the confusion matrices for these probabilities of the truth."""
    counts = np.einsum("ut,urk->rtk", posterior * times[:, None], indicators)
    totals = counts.sum(axis=2, keepdims=True)
    confusion = np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > _MIN_UNITS)
    return np.asarray(np.average(posterior[has_answer], axis=0, weights=times[has_answer])), confusion
