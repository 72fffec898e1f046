"""Scores of a multilabel annotator against the gold: per label, and over labels in three ways.

Macro is the mean over the labels that have positives, each of precision, recall and F1 by itself (so macro F1 is the
mean of the F1s, not the F1 of the means); micro comes from the summed counts of all labels; weighted is the macro mean
weighted by each label's positives. Definitions as in scikit-learn's ``precision_recall_fscore_support`` with
``zero_division=0``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from core.stats.agreement import of_confusion
from core.stats.arrays import binary_grid, check_shapes, counted_documents
from core.stats.counts import Counts, total
from core.stats.distributions import divergence


@dataclass(frozen=True, slots=True)
class Averages:
    """Precision, recall and F1 over several labels, each from 0 to 1 or None when no label has positives."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class LabelScores:
    """How one annotator did on one codebook."""

    n: int
    """documents with gold and a verdict"""
    excluded: int
    """documents with gold and none"""
    labels: Mapping[str, Counts]
    """the counts of each label, in the order of the codebook"""
    macro: Averages
    micro: Averages
    weighted: Averages
    subset_accuracy: float | None
    """share of the n documents with every gold label right; None when that is not known or n is 0"""
    hamming_loss: float | None
    """share of wrong cells among all that were compared; None when there were none"""


def evaluate(
    counts: Mapping[str, Counts], *, n: int | None = None, excluded: int = 0, exact: int | None = None
) -> LabelScores:
    """Scores from the counts per label, which a query can give without loading a document.

    ``n`` is the number of documents compared (default: the largest label's, right when every document has gold for
    it), ``exact`` how many of them are right in every label.
    """
    documents = max((one.n for one in counts.values()), default=0) if n is None else n
    summed = total(counts.values())
    return LabelScores(
        n=documents,
        excluded=excluded,
        labels=dict(counts),
        macro=macro_average(counts.values()),
        micro=Averages(summed.precision, summed.recall, summed.f1) if summed.positives else Averages(None, None, None),
        weighted=macro_average(counts.values(), weighted=True),
        subset_accuracy=exact / documents if exact is not None and documents else None,
        hamming_loss=summed.wrong / summed.n if summed.n else None,
    )


def from_grids(reference: npt.ArrayLike, predicted: npt.ArrayLike, labels: Sequence[str]) -> LabelScores:
    """Scores from binary grids ``[document, item]`` (see ``arrays``), items in the order of ``labels``.

    A document without gold is passed over, one with gold and without a complete verdict is excluded; within the others
    a label counts where it has gold. Raises ValueError for shapes that differ.
    """
    gold, said = binary_grid(reference), binary_grid(predicted)
    check_shapes(gold, said)
    if gold.shape[1] != len(labels):
        raise ValueError(f"{gold.shape[1]} columns for {len(labels)} labels")
    counted, excluded = counted_documents(gold >= 0, said >= 0)
    gold, said = gold[counted], said[counted]
    cells = [((gold == g) & (said == s)).sum(axis=0).tolist() for g, s in ((1, 1), (0, 1), (1, 0), (0, 0))]
    counts = {label: Counts(*four) for label, *four in zip(labels, *cells, strict=True)}
    exact = ((gold < 0) | (gold == said)).all(axis=1)
    return evaluate(counts, n=int(counted.sum()), excluded=excluded, exact=int(exact.sum()))


def macro_average(counts: Iterable[Counts], *, weighted: bool = False) -> Averages:
    """The mean of each score over the labels that have positives, ``weighted`` by how many; None when none has."""
    scored = [one for one in counts if one.positives]
    if not scored:
        return Averages(None, None, None)
    weights = [one.positives if weighted else 1 for one in scored]

    def mean(scores: Iterable[float | None]) -> float:
        return sum(weight * (score or 0.0) for weight, score in zip(weights, scores, strict=True)) / sum(weights)

    return Averages(
        mean(one.precision for one in scored), mean(one.recall for one in scored), mean(one.f1 for one in scored)
    )


def averages_json(averages: Averages) -> dict[str, float | None]:
    """``{precision, recall, f1}``."""
    return {"precision": averages.precision, "recall": averages.recall, "f1": averages.f1}


def counts_json(counts: Counts) -> dict[str, float | None]:
    """``{n, tp, fp, fn, tn, accuracy, precision, recall, f1}``."""
    return {
        "n": counts.n,
        "tp": counts.tp,
        "fp": counts.fp,
        "fn": counts.fn,
        "tn": counts.tn,
        "accuracy": counts.accuracy,
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
    }


def measures_json(counts: Counts) -> dict[str, float | None]:
    """What else the counts tell: ``mcc``, agreement beyond chance as ``kappa``, ``ac1`` and ``alpha``, and ``kl``, the
    divergence of how often the label is given."""
    agreement = of_confusion(counts.table)
    given = divergence((counts.positives, counts.n - counts.positives), (counts.predicted, counts.n - counts.predicted))
    return {
        "mcc": counts.mcc,
        "kappa": agreement.kappa,
        "ac1": agreement.ac1,
        "alpha": agreement.alpha,
        "kl": given.kl,
    }


def to_json(scores: LabelScores) -> dict[str, Any]:
    """``{n, excluded, macro, micro, labels}``, None for undefined: the headless contract (design, section 5); and
    further ``weighted``, ``accuracy`` (share of right cells), ``subset_accuracy``, ``hamming_loss`` and ``measures``
    (``measures_json`` of each label)."""
    summed = total(scores.labels.values())
    return {
        "n": scores.n,
        "excluded": scores.excluded,
        "macro": averages_json(scores.macro),
        "micro": averages_json(scores.micro),
        "labels": {name: counts_json(counts) for name, counts in scores.labels.items()},
        "weighted": averages_json(scores.weighted),
        "accuracy": summed.accuracy,
        "subset_accuracy": scores.subset_accuracy,
        "hamming_loss": scores.hamming_loss,
        "measures": {name: measures_json(counts) for name, counts in scores.labels.items()},
    }
