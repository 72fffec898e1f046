"""Scores of an annotator against a reference: the registry of metrics, their values, intervals and differences.

A metric is one entry of ``METRICS``. It names the kinds of codebook that it applies to, how it is computed, how its
interval is computed, its direction and its format. The page, JSON, CSV, the printable report and Compare all read the
registry, so that a new metric needs no other change.

A metric is computed on ``Samples``: distinct *patterns* of outcomes and how often each occurs. The value of a metric is
its value on the frequencies of the documents; its percentile bootstrap interval comes from drawn frequencies. Documents
with the same outcome in every label are interchangeable, so drawing frequencies (a multinomial) is the same as drawing
documents with replacement, each with all its labels. Source: Efron and Tibshirani, An Introduction to the Bootstrap,
1993, section 13.3. Classification metrics are defined as in scikit-learn with ``zero_division=0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import NEAR
from core.formatting import format_number
from core.stats.agreement import PairAgreement, krippendorff_alpha, of_confusion
from core.stats.arrays import BinaryGrid, Mask, Ratings, binary_grid, check_shapes, codes, one_hot, ratings
from core.stats.counts import Counts
from core.stats.intervals import (
    Estimate,
    Interval,
    accuracy_interval,
    f1_interval,
    precision_interval,
    recall_interval,
    wilson,
)
from core.stats.similarity import divergence, kendall, pearson, spearman

Kind: TypeAlias = Literal["multilabel", "choice", "rating"]
Average: TypeAlias = Literal["macro", "micro", "weighted"]
RESAMPLES = 2000
CLASSIFICATION: tuple[Kind, ...] = ("multilabel", "choice")

_CELLS = 2_000_000  # drawn at a time, to bound memory
_DIGITS = 26  # of a number in base 5 that 64 bits hold
_NO_VALUE = -1e300  # orders rows without a reference
_SAME = 1e-12  # an interval narrower than this has no width


@dataclass(frozen=True, eq=False)
class Samples:
    """One or more weighted samples of documents.

    ``reference`` and ``predicted`` are ``[row, label]``: 1 and 0 for labels (a choice is one-hot), numbers for ratings,
    NaN where the reference has no value. ``weights`` is ``[sample, row]``: how many documents each row stands for.
    """

    weights: Ratings
    reference: Ratings
    predicted: Ratings

    def _count(self, cells: Mask) -> Ratings:
        return self.weights @ cells.astype(np.float64)

    @cached_property
    def tp(self) -> Ratings:
        """True positives, ``[sample, label]``."""
        return self._count((self.reference == 1) & (self.predicted == 1))

    @cached_property
    def fp(self) -> Ratings:
        """False positives, ``[sample, label]``."""
        return self._count((self.reference == 0) & (self.predicted == 1))

    @cached_property
    def fn(self) -> Ratings:
        """False negatives, ``[sample, label]``."""
        return self._count((self.reference == 1) & (self.predicted == 0))

    @cached_property
    def tn(self) -> Ratings:
        """True negatives, ``[sample, label]``."""
        return self._count((self.reference == 0) & (self.predicted == 0))

    @property
    def cells(self) -> Ratings:
        """Compared cells, ``[sample, label]``."""
        return self.tp + self.fp + self.fn + self.tn

    @cached_property
    def documents(self) -> Ratings:
        """Documents, ``[sample]``."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def exact(self) -> Ratings:
        """Documents whose every label with a reference is right, ``[sample]``."""
        right = ((self.reference == self.predicted) | np.isnan(self.reference)).all(axis=1)
        return self._count(right)

    @cached_property
    def confusion(self) -> Ratings:
        """Confusion matrices of a choice, ``[sample, reference, predicted]``."""
        labels = self.reference.shape[1]
        cells = np.zeros((len(self.reference), labels * labels))
        if labels:
            places = self.reference.argmax(axis=1) * labels + self.predicted.argmax(axis=1)
            cells[np.arange(len(places)), places] = 1.0
        return np.asarray((self.weights @ cells).reshape(len(self.weights), labels, labels))

    def counts(self) -> list[Counts]:
        """Return the counts of each label in the first sample."""
        four = np.stack([self.tp[0], self.fp[0], self.fn[0], self.tn[0]], axis=1)
        return [Counts(*(int(count) for count in row)) for row in four.tolist()]

    def pooled(self) -> Samples:
        """Return these samples with the counts of all labels summed into one."""
        summed = Samples(self.weights, self.reference, self.predicted)
        for name in ("tp", "fp", "fn", "tn"):
            summed.__dict__[name] = getattr(self, name).sum(axis=1, keepdims=True)
        return summed


@dataclass(frozen=True, slots=True)
class Metric:
    """One score: an entry of the registry."""

    key: str
    """its name in JSON and CSV, such as ``f1`` or ``macro_f1``"""
    name: str
    """its name on the screen"""
    kinds: tuple[Kind, ...]
    """the kinds of codebook that have it"""
    compute: Callable[[Samples], Ratings]
    """its values, ``[sample]``, or ``[sample, label]`` of a score per label; NaN where it is undefined"""
    per_label: bool = False
    interval: Literal["bootstrap", "wilson"] | Callable[[Counts, float], Interval | None] | None = None
    """``wilson`` for a share of documents, ``bootstrap`` over documents, a function of the counts of one label, or
    None for a metric that is shown without an interval. A rating has none."""
    averages: tuple[Average, ...] = ()
    """of a score per label: its means over labels, which are metrics of their own"""
    average: Average | None = None
    """of a mean over labels: which one"""
    base: str = ""
    """of a mean over labels: the key of the metric that it averages, whose interval it has over a single label"""
    higher_is_better: bool | None = True
    """None for a metric without a direction, such as a bias"""
    headline: bool = False
    """one of the key numbers at the top of the page; of a score per label, its macro and micro means are"""
    format: Callable[[float | None], str] = format_number

    @property
    def path(self) -> tuple[str, ...]:
        """Its place in JSON: ``("macro", "f1")`` or ``("accuracy",)``."""
        return (self.average, self.base) if self.average is not None else (self.key,)


@dataclass(frozen=True, slots=True)
class LabelScores:
    """One label or dimension: ``n`` compared documents, its counts (None for ratings and differences), its scores."""

    n: int
    counts: Counts | None
    scores: Mapping[str, Estimate]

    def __getitem__(self, key: str) -> Estimate:
        return self.scores[key]


@dataclass(frozen=True, slots=True)
class Scores:
    """All metrics of one annotator, or (from ``difference``) of the second annotator minus the first.

    A value is None where it is undefined. An interval is None where the value is undefined, where the metric has none,
    and, if it is drawn, for fewer than two documents. The interval of a score, not of a difference, is also None when
    all resamples give the same value: then the sample does not tell how far off it may be.
    """

    kind: Kind
    n: int
    """documents with a reference and a complete verdict"""
    excluded: int
    """documents with a reference and without a verdict (for a difference: of either annotator)"""
    overall: Mapping[str, Estimate]
    """each metric over all labels by key, in the order of the registry"""
    labels: Mapping[str, LabelScores]
    """each label by name, in the order of the codebook"""
    confusion: tuple[tuple[int, ...], ...] = ()
    """of a choice ``[reference][predicted]`` in the order of the labels"""

    def __getitem__(self, key: str) -> Estimate:
        return self.overall[key]

    @property
    def main(self) -> Estimate:
        """The score that stands for the whole: macro F1, for ratings the mean Spearman correlation."""
        return self.overall[MAIN[self.kind]]

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by label name; empty for ratings."""
        return {name: one.counts for name, one in self.labels.items() if one.counts is not None}

    @property
    def cells(self) -> int:
        """Compared cells."""
        return sum(one.n for one in self.labels.values())


MAIN: Mapping[Kind, str] = {"multilabel": "macro_f1", "choice": "macro_f1", "rating": "macro_spearman"}
"""The key of the metric that stands for a run."""
MAIN_PER_LABEL: Mapping[Kind, str] = {"multilabel": "f1", "choice": "f1", "rating": "spearman"}
"""The key of the metric that stands for a label or dimension."""


def metrics(kind: Kind, *, per_label: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of a kind of codebook: those over all labels, or those of each label."""
    return tuple(metric for metric in METRICS if kind in metric.kinds and metric.per_label == per_label)


def score(
    kind: Kind,
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    labels: Sequence[str],
    *,
    intervals: bool = True,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> Scores:
    """Return the scores of one annotator.

    Values are ``[document, item]`` (see ``arrays``), for a choice the codes of its labels, ``[document]`` or
    ``[document, 1]``. A document without a reference is ignored. One with a reference and without a complete verdict is
    excluded. In the others a label counts where it has a reference. Raises ValueError for shapes that differ.

    Shares of documents, which are independent of each other, have Wilson's interval (F1 by way of F*, see
    ``intervals.f1_interval``), also as the mean over a single label. Resampling fails where an interval is needed most:
    if all five were found, each resample has all of them and gives 1 to 1. When nothing was predicted, precision is 0
    by convention and has no interval. The cells of one document are not independent, so scores over several labels have
    the bootstrap's interval.
    """
    data = _Data.of(kind, (reference, predicted), labels, level, resamples)
    sample = data.samples(data.frequency[None, :])[0]
    counts = sample.counts() if kind != "rating" else [None] * len(labels)
    values = _values(kind, sample)
    drawn: dict[Metric, list[Interval | None]] = {}
    if intervals:
        each = (*metrics(kind), *metrics(kind, per_label=True))
        found = data.bootstrap([metric for metric in each if metric.interval == "bootstrap"], resamples, level, seed)
        drawn = {metric: [_with_width(interval) for interval in own] for metric, own in found.items()}

    def of_label(metric: Metric, place: int) -> Estimate:
        value, own = values[metric][place], counts[place]
        if value is None or not intervals or metric.interval is None:
            return Estimate(value, None)
        if callable(metric.interval):
            return Estimate(value, metric.interval(own, level) if own is not None else None)
        return Estimate(value, drawn[metric][place])

    per_label = {
        name: {metric.key: of_label(metric, place) for metric in metrics(kind, per_label=True)}
        for place, name in enumerate(labels)
    }

    def overall(metric: Metric) -> Estimate:
        (value,) = values[metric]
        if value is None or not intervals or metric.interval is None:
            return Estimate(value, None)
        if metric.interval == "wilson":
            return Estimate(value, wilson(round(value * data.n), data.n, level))
        alone = _only_label(metric, labels, counts)
        return Estimate(value, per_label[alone][metric.base].interval if alone else drawn[metric][0])

    return Scores(
        kind=kind,
        n=data.n,
        excluded=data.excluded,
        overall={metric.key: overall(metric) for metric in metrics(kind)},
        labels={
            name: LabelScores(int(data.cells[place]), counts[place], per_label[name])
            for place, name in enumerate(labels)
        },
        confusion=_matrix(sample) if kind == "choice" else (),
    )


def difference(
    kind: Kind,
    reference: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> Scores:
    """Return every score of ``second`` minus that of ``first`` on the documents that both have a verdict for.

    Intervals are paired: each resample has the same documents on both sides. They are drawn for every metric that has
    an interval. A positive difference means that the second value is higher.
    """
    data = _Data.of(kind, (reference, first, second), labels, level, resamples)
    one, two = (_values(kind, sample) for sample in data.samples(data.frequency[None, :]))
    each = (*metrics(kind), *metrics(kind, per_label=True))
    drawn = data.bootstrap([metric for metric in each if metric.interval is not None], resamples, level, seed)

    def estimates(metric: Metric) -> list[Estimate]:
        found = []
        for place, (before, after) in enumerate(zip(one[metric], two[metric], strict=True)):
            value = None if before is None or after is None else after - before
            has = value is not None and metric in drawn
            found.append(Estimate(value, drawn[metric][place] if has else None))
        return found

    own = {metric.key: estimates(metric) for metric in metrics(kind, per_label=True)}
    return Scores(
        kind=kind,
        n=data.n,
        excluded=data.excluded,
        overall={metric.key: estimates(metric)[0] for metric in metrics(kind)},
        labels={
            name: LabelScores(int(data.cells[place]), None, {key: found[place] for key, found in own.items()})
            for place, name in enumerate(labels)
        },
    )


def strict_scores(
    kind: Kind, reference: npt.ArrayLike, predicted: npt.ArrayLike, labels: Sequence[str]
) -> dict[str, float | None]:
    """Return the macro, micro and accuracy scores with every excluded document counted as wrong in every label.

    A choice without a verdict misses the label of the reference and adds no false positive. Empty for ratings, which
    have no wrong value that would be as far off as the right one is near.
    """
    if kind == "rating":
        return {}
    gold, said = _grid(kind, reference, len(labels)), _grid(kind, predicted, len(labels))
    check_shapes(gold, said)
    lacking = (said < 0).any(axis=1, keepdims=True)
    wrong = np.where(gold == 1, 0, 1) if kind == "multilabel" else np.zeros_like(gold)
    known = (gold >= 0).any(axis=1)
    filled = np.where(lacking, wrong, said)[known].astype(np.float64)
    target = np.where(gold < 0, np.nan, gold)[known]
    sample = Samples(np.ones((1, len(target))), target, filled)
    wanted = [metric for metric in metrics(kind) if metric.path[0] in ("macro", "micro", "accuracy")]
    return {metric.key: _number(metric.compute(sample)[0]) for metric in wanted}


def to_json(scores: Scores) -> dict[str, Any]:
    """Return the scores as plain data with None for undefined (design, section 5).

    Means over labels are nested as ``macro.f1``. ``labels`` has for each label ``n``, the counts and the scores of the
    contract; its further scores are in ``measures``. ``confusion`` of a choice is ``[REFERENCE][PREDICTED]`` by name.
    ``intervals`` mirrors this structure for every score that has an interval, and is absent if none has.
    """
    result: dict[str, Any] = {"n": scores.n, "excluded": scores.excluded}
    known = scores.n + scores.excluded
    result["coverage"] = scores.n / known if known else None
    result |= nested({key: estimate.value for key, estimate in scores.overall.items()}, scores.kind)
    contract = LABEL_CONTRACT if scores.kind != "rating" else tuple(m.key for m in metrics("rating", per_label=True))
    result["labels"] = {
        name: {"n": one.n, **_counts_json(one.counts), **{key: one[key].value for key in contract}}
        for name, one in scores.labels.items()
    }
    if scores.kind != "rating":
        result["measures"] = {
            name: {key: estimate.value for key, estimate in one.scores.items() if key not in contract}
            for name, one in scores.labels.items()
        }
    if scores.kind == "choice":
        names = list(scores.labels)
        result["confusion"] = {
            name: dict(zip(names, row, strict=True)) for name, row in zip(names, scores.confusion, strict=True)
        }
    overall = [metric for metric in metrics(scores.kind) if metric.interval is not None]
    each = [metric for metric in metrics(scores.kind, per_label=True) if metric.interval is not None]
    if overall or each:
        result["intervals"] = {
            "level": 0.95,
            **nested({metric.key: _ends(scores[metric.key]) for metric in overall}, scores.kind),
            "labels": {name: {m.key: _ends(one[m.key]) for m in each} for name, one in scores.labels.items()},
        }
    return result


def nested(values: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return values by metric key with the means over labels as ``{average: {metric: value}}``."""
    result: dict[str, Any] = {}
    for metric in metrics(kind):
        if metric.key in values:
            *outer, last = metric.path
            (result.setdefault(outer[0], {}) if outer else result)[last] = values[metric.key]
    return result


LABEL_CONTRACT = ("accuracy", "precision", "recall", "f1")
"""The scores in ``labels`` of the headless contract."""


def _counts_json(counts: Counts | None) -> dict[str, int]:
    return {} if counts is None else {"tp": counts.tp, "fp": counts.fp, "fn": counts.fn, "tn": counts.tn}


def _ends(estimate: Estimate) -> list[float] | None:
    return [estimate.interval.low, estimate.interval.high] if estimate.interval else None


# --- Computing -------------------------------------------------------------------------------------------------------


def _share(part: Ratings, whole: Ratings) -> Ratings:
    result = np.full(np.broadcast_shapes(part.shape, whole.shape), np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _precision(s: Samples) -> Ratings:
    predicted, positives = s.tp + s.fp, s.tp + s.fn
    return np.where((predicted == 0) & (positives > 0), 0.0, _share(s.tp, predicted))


def _recall(s: Samples) -> Ratings:
    return _share(s.tp, s.tp + s.fn)


def _f1(s: Samples) -> Ratings:
    return np.where(s.tp + s.fn > 0, _share(2 * s.tp, 2 * s.tp + s.fp + s.fn), np.nan)


def _accuracy(s: Samples) -> Ratings:
    return _share(s.tp + s.tn, s.cells)


def _of_counts(function: Callable[[Counts], float | None]) -> Callable[[Samples], Ratings]:
    """Return a metric per label from a function of the counts of one label."""

    def compute(s: Samples) -> Ratings:
        four = np.stack([s.tp, s.fp, s.fn, s.tn], axis=-1).astype(np.int64)
        return _floats([[function(Counts(*cells)) for cells in sample] for sample in four.tolist()])

    return compute


def _of_matrix(function: Callable[[Ratings], float | None]) -> Callable[[Samples], Ratings]:
    """Return a metric of a choice from a function of its confusion matrix."""
    return lambda s: _floats([function(matrix) for matrix in s.confusion])


def _of_ratings(function: Callable[[Ratings, Ratings], float | None]) -> Callable[[Samples], Ratings]:
    """Return a metric per dimension from a function of two vectors: the reference and the ratings.

    The vectors have an entry for each document, so this is slow for resamples.
    """

    def of_sample(s: Samples, weights: Ratings) -> list[float | None]:
        rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
        pairs = zip(s.reference[rows].T, s.predicted[rows].T, strict=True)
        return [function(gold[~np.isnan(gold)], said[~np.isnan(gold)]) for gold, said in pairs]

    return lambda s: _floats([of_sample(s, weights) for weights in s.weights]).reshape(len(s.weights), -1)


def _mean_of_cells(cells: Callable[[Ratings, Ratings], Ratings]) -> Callable[[Samples], Ratings]:
    """Return a metric per dimension that is the mean of ``cells(reference, predicted)`` over documents."""

    def compute(s: Samples) -> Ratings:
        known = ~np.isnan(s.reference)
        values = np.where(known, cells(np.nan_to_num(s.reference), s.predicted), 0.0)
        return _share(s.weights @ values, s.weights @ known.astype(np.float64))

    return compute


def _near(reference: Ratings, predicted: Ratings) -> Ratings:
    return (np.abs(predicted - reference) < NEAR).astype(np.float64)


def _near_of_all(s: Samples) -> Ratings:
    known = (~np.isnan(s.reference)).astype(np.float64)
    right = known * _near(np.nan_to_num(s.reference), s.predicted)
    return _share((s.weights @ right).sum(axis=1), (s.weights @ known).sum(axis=1))


def _pair(name: Literal["kappa", "ac1", "alpha"]) -> Callable[[npt.ArrayLike], float | None]:
    def compute(table: npt.ArrayLike) -> float | None:
        found: PairAgreement = of_confusion(table)
        value: float | None = getattr(found, name)
        return value

    return compute


def _matthews(matrix: Ratings) -> float | None:
    """Return Matthews' correlation for several classes, -1 to 1; None when either side has one class only.

    Source: Gorodkin 2004 (Comput. Biol. Chem. 28). scikit-learn gives 0 where the formula is 0/0.
    """
    n, rows, columns = matrix.sum(), matrix.sum(axis=1), matrix.sum(axis=0)
    spread = float((n * n - (rows * rows).sum()) * (n * n - (columns * columns).sum()))
    together = float(np.trace(matrix) * n - (rows * columns).sum())
    return together / sqrt(spread) if spread else None


def _label_divergence(counts: Counts) -> float | None:
    given = (counts.positives, counts.n - counts.positives), (counts.predicted, counts.n - counts.predicted)
    return divergence(*given).kl


def _mean(metric: Metric, average: Average) -> Callable[[Samples], Ratings]:
    """Return the mean of a metric over labels.

    Macro and weighted means are over the labels with positives, of ratings over the dimensions where the score is
    defined. Micro comes from the summed counts. NaN without such a label.
    """

    def compute(s: Samples) -> Ratings:
        if average == "micro":
            summed = s.pooled()
            return np.where(summed.tp + summed.fn > 0, metric.compute(summed), np.nan)[:, 0]
        values = metric.compute(s)
        weight = (~np.isnan(values)).astype(np.float64) if metric.kinds == ("rating",) else s.tp + s.fn
        if average == "macro":
            weight = (weight > 0).astype(np.float64)
        return _share((np.where(weight > 0, values, 0.0) * weight).sum(axis=1), weight.sum(axis=1))

    return compute


_PROPER = ("f1", "pearson", "spearman", "kendall", "alpha")
"""Metrics whose name keeps its capital within a longer name."""


def _averaged(metric: Metric, average: Average) -> Metric:
    """Return the metric that is a mean of this one over labels."""
    title = "Mean" if metric.kinds == ("rating",) else average.capitalize()
    name = metric.name if metric.key in _PROPER else metric.name.lower()
    return replace(
        metric,
        key=f"{average}_{metric.key}",
        name=f"{title} {name}",
        kinds=("multilabel",) if average == "micro" else metric.kinds,
        compute=_mean(metric, average),
        per_label=False,
        interval="bootstrap" if metric.interval is not None else None,
        averages=(),
        average=average,
        base=metric.key,
        headline=metric.headline and average != "weighted",
    )


def _registry(*entries: Metric) -> tuple[Metric, ...]:
    """Return the entries, the means over labels first."""
    order: tuple[Average, ...] = ("macro", "micro", "weighted")
    means = [_averaged(metric, average) for average in order for metric in entries if average in metric.averages]
    return (*means, *entries)


_ALL: tuple[Average, ...] = ("macro", "micro", "weighted")

METRICS: tuple[Metric, ...] = _registry(
    # A label against the rest
    Metric("accuracy", "Accuracy", CLASSIFICATION, _accuracy, per_label=True, interval=accuracy_interval),
    Metric(
        "precision", "Precision", CLASSIFICATION, _precision,
        per_label=True, interval=precision_interval, averages=_ALL,
    ),
    Metric("recall", "Recall", CLASSIFICATION, _recall, per_label=True, interval=recall_interval, averages=_ALL),
    Metric(
        "f1", "F1", CLASSIFICATION, _f1, per_label=True, interval=f1_interval, averages=_ALL, headline=True
    ),
    Metric("mcc", "Matthews correlation", CLASSIFICATION, _of_counts(lambda c: c.mcc), per_label=True),
    Metric("kappa", "Cohen's kappa", CLASSIFICATION, _of_counts(lambda c: _pair("kappa")(c.table)), per_label=True),
    Metric("ac1", "Gwet's AC1", CLASSIFICATION, _of_counts(lambda c: _pair("ac1")(c.table)), per_label=True),
    Metric(
        "alpha", "Krippendorff's alpha", CLASSIFICATION, _of_counts(lambda c: _pair("alpha")(c.table)), per_label=True
    ),
    Metric(
        "kl", "KL divergence", CLASSIFICATION, _of_counts(_label_divergence), per_label=True, higher_is_better=False
    ),
    # Multiple labels, over all of them
    Metric(
        "accuracy", "Label accuracy", ("multilabel",),
        lambda s: _share((s.tp + s.tn).sum(axis=1), s.cells.sum(axis=1)),
        interval="bootstrap", base="accuracy", headline=True,
    ),
    Metric(
        "subset_accuracy", "Exact match", ("multilabel",), lambda s: _share(s.exact, s.documents),
        interval="wilson", headline=True,
    ),
    Metric(
        "hamming_loss", "Hamming loss", ("multilabel",),
        lambda s: _share((s.fp + s.fn).sum(axis=1), s.cells.sum(axis=1)),
        interval="bootstrap", higher_is_better=False,
    ),
    # A single choice
    Metric(
        "accuracy", "Accuracy", ("choice",), lambda s: _share(s.exact, s.documents), interval="wilson", headline=True
    ),
    Metric("mcc", "Matthews correlation", ("choice",), _of_matrix(_matthews)),
    Metric("kappa", "Cohen's kappa", ("choice",), _of_matrix(_pair("kappa"))),
    Metric("ac1", "Gwet's AC1", ("choice",), _of_matrix(_pair("ac1"))),
    Metric("alpha", "Krippendorff's alpha", ("choice",), _of_matrix(_pair("alpha"))),
    Metric(
        "kl", "KL divergence", ("choice",),
        _of_matrix(lambda m: divergence(m.sum(axis=1).tolist(), m.sum(axis=0).tolist()).kl), higher_is_better=False,
    ),
    # Ratings
    Metric("near", "Within one point", ("rating",), _near_of_all, interval="bootstrap"),
    Metric("pearson", "Pearson", ("rating",), _of_ratings(pearson), per_label=True, averages=("macro",)),
    Metric(
        "spearman", "Spearman", ("rating",), _of_ratings(spearman), per_label=True, averages=("macro",), headline=True
    ),
    Metric(
        "kendall", "Kendall", ("rating",), _of_ratings(kendall), per_label=True, averages=("macro",), headline=True
    ),
    Metric(
        "mae", "Absolute error", ("rating",), _mean_of_cells(lambda gold, said: np.abs(said - gold)),
        per_label=True, interval="bootstrap", averages=("macro",), higher_is_better=False, headline=True,
    ),
    Metric(
        "bias", "Bias", ("rating",), _mean_of_cells(lambda gold, said: said - gold),
        per_label=True, interval="bootstrap", averages=("macro",), higher_is_better=None,
    ),
    Metric(
        "exact", "Exact match", ("rating",), _mean_of_cells(lambda gold, said: (said == gold).astype(np.float64)),
        per_label=True, interval="bootstrap", averages=("macro",),
    ),
    Metric("near", "Within one point", ("rating",), _mean_of_cells(_near), per_label=True, interval="bootstrap"),
    Metric(
        "alpha", "Krippendorff's alpha", ("rating",),
        _of_ratings(lambda gold, said: krippendorff_alpha(np.column_stack([gold, said]), "ordinal").value),
        per_label=True, averages=("macro",), headline=True,
    ),
)  # fmt: skip
"""Every metric. The order is that of the page, JSON and CSV.

``bias`` is the mean of rating minus reference in points of the scale: above 0 the annotator is lenient. ``near`` is
less than a point off. ``exact`` is never reached where the reference is a mean between two points. ``alpha`` of ratings
is ordinal. ``kl`` is the divergence of how often labels are given."""


# --- Resampling ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Data:
    """Documents as patterns: ``sides`` are the reference and each annotator, ``[pattern, label]``."""

    sides: tuple[Ratings, ...]
    frequency: Ratings
    n: int
    excluded: int
    cells: Ratings
    """compared documents by label"""

    @classmethod
    def of(
        cls, kind: Kind, sides: Sequence[npt.ArrayLike], labels: Sequence[str], level: float, resamples: int
    ) -> _Data:
        if not 0 < level < 1 or resamples < 1:
            raise ValueError("the level lies between 0 and 1, and there is at least one resample")
        grids = [ratings(side) if kind == "rating" else _grid(kind, side, len(labels)) for side in sides]
        check_shapes(*grids)
        if grids[0].ndim != 2 or grids[0].shape[1] != len(labels):
            raise ValueError(f"an array of shape {grids[0].shape} needs {len(labels)} columns, one for each label")
        known = [~np.isnan(grid) if kind == "rating" else grid >= 0 for grid in grids]
        judged = known[0].any(axis=1)
        complete = np.logical_and.reduce([one.all(axis=1) for one in known[1:]])
        counted = judged & complete
        kept = [grid[counted] for grid in grids]
        if kind == "rating":
            rows, frequency = _distinct(np.concatenate(kept, axis=1))
        else:
            rows, frequency = _patterns(np.concatenate([_outcomes(kept[0], said) for said in kept[1:]], axis=1))
        first, *others = (grid[rows].astype(np.float64) for grid in kept)
        if kind != "rating":
            first = np.where(first < 0, np.nan, first)
        return cls(
            sides=(first, *others),
            frequency=frequency.astype(np.float64),
            n=int(counted.sum()),
            excluded=int((judged & ~complete).sum()),
            cells=known[0][counted].sum(axis=0).astype(np.float64),
        )

    def samples(self, weights: Ratings) -> list[Samples]:
        """Return the samples of each annotator."""
        reference, *annotators = self.sides
        return [Samples(weights, reference, said) for said in annotators]

    def bootstrap(
        self, wanted: Sequence[Metric], resamples: int, level: float, seed: int
    ) -> dict[Metric, list[Interval | None]]:
        """Return percentile intervals by metric, one per label for a metric per label.

        With two annotators they are of the second minus the first. A resample in which a score is undefined does not
        count for it.
        """
        if self.n < 2 or not wanted:
            return {metric: [None] * (len(self.cells) if metric.per_label else 1) for metric in wanted}
        chunks: list[list[Ratings]] = []
        for weights in _draws(self.frequency.astype(np.int64), resamples, seed):
            each = [[_two_dimensional(m.compute(sample)) for m in wanted] for sample in self.samples(weights)]
            chunks.append(each[0] if len(each) == 1 else [b - a for a, b in zip(*each, strict=True)])
        return {
            metric: [_quantiles(column, level) for column in np.concatenate(columns).T]
            for metric, columns in zip(wanted, zip(*chunks, strict=True), strict=True)
        }


def _grid(kind: Kind, values: npt.ArrayLike, labels: int) -> BinaryGrid:
    """Return values as a binary grid ``[document, label]``, of a choice one-hot."""
    if kind == "multilabel":
        return binary_grid(values)
    chosen = codes(values)
    chosen = chosen[:, 0] if chosen.ndim == 2 and chosen.shape[1] == 1 else chosen
    if chosen.ndim != 1 or chosen.max(initial=-1) >= labels:
        raise ValueError(f"expected codes [document] below {labels}")
    return one_hot(chosen, labels)


def _values(kind: Kind, sample: Samples) -> dict[Metric, list[float | None]]:
    """Return the value of every metric in the first sample: one value, or one per label."""
    each = (*metrics(kind), *metrics(kind, per_label=True))
    return {metric: [_number(value) for value in np.atleast_1d(metric.compute(sample)[0])] for metric in each}


def _only_label(metric: Metric, labels: Sequence[str], counts: Sequence[Counts | None]) -> str | None:
    """Return the only label that a mean is over, None if it is over several or is not a mean."""
    if not metric.base:
        return None
    over = list(labels)
    if metric.average in ("macro", "weighted"):
        over = [name for name, own in zip(labels, counts, strict=True) if own is not None and own.positives]
    return over[0] if len(over) == 1 else None


def _matrix(sample: Samples) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(count) for count in row) for row in sample.confusion[0].tolist())


def _outcomes(reference: BinaryGrid, predicted: BinaryGrid) -> BinaryGrid:
    """Return 0 true negative, 1 false positive, 2 false negative, 3 true positive, -1 no reference."""
    return np.where(reference < 0, np.int8(-1), 2 * reference + predicted).astype(np.int8)


def _patterns(outcomes: BinaryGrid) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first row of each distinct pattern, in lexical order of the patterns, and its frequency.

    Rows are compared as numbers in base 5 while they fit into 64 bits: ten times as quick as row by row.
    """
    width = outcomes.shape[1]
    if width > _DIGITS:
        return _distinct(outcomes)
    numbers = (outcomes.astype(np.int64) + 1) @ 5 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    _, first, frequency = np.unique(numbers, return_index=True, return_counts=True)
    return first, frequency


def _distinct(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first of each group of equal rows, in lexical order, and the size of the group."""
    _, first, frequency = np.unique(np.nan_to_num(rows, nan=_NO_VALUE), axis=0, return_index=True, return_counts=True)
    return first, frequency


def _draws(frequency: npt.NDArray[np.int64], resamples: int, seed: int) -> Iterator[Ratings]:
    """Yield weights ``[resample, pattern]``, a bounded number at a time; the same for a seed whatever the bound."""
    rng = np.random.default_rng(seed)
    n = int(frequency.sum())
    at_once = max(1, _CELLS // len(frequency))
    for start in range(0, resamples, at_once):
        drawn = rng.multinomial(n, frequency / n, size=min(at_once, resamples - start))
        yield drawn.astype(np.float64)


def _two_dimensional(values: Ratings) -> Ratings:
    return values[:, None] if values.ndim == 1 else values


def _quantiles(drawn: Ratings, level: float) -> Interval | None:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)


def _with_width(interval: Interval | None) -> Interval | None:
    return interval if interval is not None and interval.high - interval.low >= _SAME else None


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _floats(values: Sequence[Any]) -> Ratings:
    return np.array(values, dtype=np.float64)
