"""Scores of an annotator that chooses one of several labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from core.stats.agreement import of_confusion
from core.stats.arrays import check_shapes, codes, label_codes
from core.stats.counts import Counts
from core.stats.distributions import divergence
from core.stats.multilabel import Averages, averages_json, counts_json, macro_average, measures_json


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """How one annotator did. Scores are shares from 0 to 1, None where undefined."""

    n: int
    """documents with gold and a verdict"""
    excluded: int
    """documents with gold and none"""
    labels: Mapping[str, Counts]
    """each label against the rest, in the order of the codebook; every ``Counts`` has the same n"""
    confusion: tuple[tuple[int, ...], ...]
    """``confusion[gold][chosen]`` counts documents, both in the order of ``labels``"""
    accuracy: float | None
    """share of documents with the right label (equal to micro precision, recall and F1); None when n is 0"""
    macro: Averages
    """mean over the labels that occur in the gold; macro recall is the balanced accuracy"""
    weighted: Averages
    """the same mean weighted by how often each occurs in the gold"""
    mcc: float | None
    """Matthews' correlation for several classes (Gorodkin 2004, Comput. Biol. Chem. 28), -1 to 1; None when the gold or
    the choices are all of one label (0/0, where scikit-learn says 0)"""


def evaluate(reference: Iterable[str | None], chosen: Iterable[str | None], labels: Sequence[str]) -> ChoiceScores:
    """Scores from the gold and the chosen label of each document, None for no value.

    Raises ValueError for a label that is not in ``labels`` and for lengths that differ.
    """
    return from_codes(label_codes(reference, labels), label_codes(chosen, labels), labels)


def from_codes(reference: npt.ArrayLike, chosen: npt.ArrayLike, labels: Sequence[str]) -> ChoiceScores:
    """Scores from codes ``[document]``: the index in ``labels``, -1 for no value."""
    gold, said = codes(reference), codes(chosen)
    check_shapes(gold, said)
    size = len(labels)
    if gold.ndim != 1 or max(gold.max(initial=-1), said.max(initial=-1)) >= size:
        raise ValueError(f"expected codes [document] below {size}")
    counted = (gold >= 0) & (said >= 0)
    matrix = np.bincount(gold[counted] * size + said[counted], minlength=size * size).reshape(size, size)
    return from_confusion(matrix.tolist(), labels, excluded=int(((gold >= 0) & (said < 0)).sum()))


def from_confusion(confusion: Sequence[Sequence[int]], labels: Sequence[str], *, excluded: int = 0) -> ChoiceScores:
    """Scores from a confusion matrix ``[gold][chosen]``, which a query can give without loading a document."""
    size = len(labels)
    if len(confusion) != size or any(len(row) != size for row in confusion):
        raise ValueError(f"expected a {size} by {size} matrix")
    rows = [sum(row) for row in confusion]
    columns = [sum(row[chosen] for row in confusion) for chosen in range(size)]
    right = [confusion[index][index] for index in range(size)]
    n = sum(rows)
    counts = {
        label: Counts(hits, column - hits, row - hits, n - row - column + hits)
        for label, hits, row, column in zip(labels, right, rows, columns, strict=True)
    }
    return ChoiceScores(
        n=n,
        excluded=excluded,
        labels=counts,
        confusion=tuple(tuple(row) for row in confusion),
        accuracy=sum(right) / n if n else None,
        macro=macro_average(counts.values()),
        weighted=macro_average(counts.values(), weighted=True),
        mcc=_matthews(rows, columns, sum(right)),
    )


def _matthews(rows: Sequence[int], columns: Sequence[int], right: int) -> float | None:
    n = sum(rows)
    spread = (n * n - sum(row * row for row in rows)) * (n * n - sum(column * column for column in columns))
    together = right * n - sum(row * column for row, column in zip(rows, columns, strict=True))
    return together / sqrt(spread) if spread else None


def to_json(scores: ChoiceScores) -> dict[str, Any]:
    """``{n, excluded, accuracy, macro, labels, confusion}`` with ``confusion[GOLD][CHOSEN]`` by name; and further
    ``weighted``, ``mcc``, agreement beyond chance (``kappa``, ``ac1``, ``alpha``) and ``kl``, the divergence of how
    often the labels are chosen."""
    names = list(scores.labels)
    agreement = of_confusion(scores.confusion)
    given = divergence(
        [counts.positives for counts in scores.labels.values()], [counts.predicted for counts in scores.labels.values()]
    )
    return {
        "n": scores.n,
        "excluded": scores.excluded,
        "accuracy": scores.accuracy,
        "macro": averages_json(scores.macro),
        "labels": {name: counts_json(counts) for name, counts in scores.labels.items()},
        "confusion": {
            gold: dict(zip(names, row, strict=True)) for gold, row in zip(names, scores.confusion, strict=True)
        },
        "weighted": averages_json(scores.weighted),
        "mcc": scores.mcc,
        "kappa": agreement.kappa,
        "ac1": agreement.ac1,
        "alpha": agreement.alpha,
        "kl": given.kl,
        "measures": {name: measures_json(counts) for name, counts in scores.labels.items()},
    }
