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

_LEAST = 1e-10  # chance of an answer that was never seen
_NONE = 1e-6  # units with a true value below which nothing is known of its answers
_ROUNDS = 500
_CLOSE = 1e-10


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
    on. Raises ValueError for an answer of ``values`` or more, or if nobody answered.
    """
    if answers.ndim != 2 or answers.max(initial=-1) >= values or answers.max(initial=-1) < 0:
        raise ValueError(f"answers [unit, rater] below {values} are needed")
    given = answers[:, :, None] == np.arange(values)
    known: Mask = np.any(answers >= 0, axis=1)
    votes = given.sum(axis=1).astype(np.float64)
    found = np.divide(votes, votes.sum(axis=1, keepdims=True), out=np.zeros_like(votes), where=known[:, None])
    times = np.ones(len(answers)) if counts is None else np.asarray(counts, dtype=np.float64)
    shares, confusion = _update(found, given, known, times)
    for _ in range(_ROUNDS):
        logs = np.log(np.maximum(shares, _LEAST)) + np.einsum(
            "urk,rtk->ut", given, np.log(np.maximum(np.nan_to_num(confusion), _LEAST))
        )
        logs -= logs.max(axis=1, keepdims=True)
        before, found = found, np.where(known[:, None], np.exp(logs), 0.0)
        found /= np.maximum(found.sum(axis=1, keepdims=True), _LEAST)
        shares, confusion = _update(found, given, known, times)
        if np.abs(found - before).max() < _CLOSE:
            break
    return LatentTruth(np.where(known[:, None], found, np.nan), shares, confusion)


def _update(found: Numbers, given: Mask, known: Mask, times: Numbers) -> tuple[Numbers, Numbers]:
    """Return the shares of the values and the confusion matrices for these probabilities of the truth."""
    counts = np.einsum("ut,urk->rtk", found * times[:, None], given)
    whole = counts.sum(axis=2, keepdims=True)
    confusion = np.divide(counts, whole, out=np.full_like(counts, np.nan), where=whole > _NONE)
    return np.asarray(np.average(found[known], axis=0, weights=times[known])), confusion
