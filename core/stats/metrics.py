"""The registry of metrics that compare an annotator with a reference.

A metric is one entry of ``METRICS``. It names the kinds of codebook that it applies to, how it is computed, and the
shape of its interval. The page, JSON, CSV, the printable report and Compare all read the registry.
``docs/development.md`` lists what else a new metric needs. ``scoring`` computes the metrics and their intervals.

A metric is computed on ``Samples``: distinct *patterns* of outcomes and the weight of each.

A label without positives has no recall and no F1, and macro and weighted means leave it out. scikit-learn gives the
same means for ``precision_recall_fscore_support(..., labels=PRESENT, zero_division=0)``, where PRESENT are the labels
with positives. Without ``labels`` it counts the others as 0, so that its macro means are lower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from core.codebook import Kind
from core.formatting import capitalised
from core.stats.agreement import divergence, kendall, krippendorff_alpha, pearson, spearman, table_agreement
from core.stats.arrays import Mask, Numbers, is_right
from core.stats.metric_intervals import Shape

Average: TypeAlias = Literal["macro", "micro", "weighted"]
CLASSIFICATION: tuple[Kind, ...] = ("multilabel", "choice")


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents by the value of a label in the reference and by the annotator."""

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @property
    def positives(self) -> int:
        """Documents that have the label in the reference."""
        return self.tp + self.fn


def _cells(reference: int, predicted: int) -> cached_property[Numbers]:
    """Return the property of samples that is the weight of the cells with these values, ``[sample, label]``."""

    def count(samples: Samples) -> Numbers:
        cells: Mask = (samples.reference == reference) & (samples.predicted == predicted)
        return samples.weights @ cells.astype(np.float64)

    return cached_property(count)


@dataclass(frozen=True, eq=False)
class Samples:
    """One or more weighted samples of documents.

    ``reference`` and ``predicted`` are ``[row, label]``: 1 and 0 for labels (a choice is one-hot), numbers for ratings,
    NaN where the reference has no value. ``weights`` is ``[sample, row]``: how many documents each row represents.
    """

    weights: Numbers
    reference: Numbers
    predicted: Numbers

    tp = _cells(1, 1)
    fp = _cells(0, 1)
    fn = _cells(1, 0)
    tn = _cells(0, 0)

    @property
    def cells(self) -> Numbers:
        """Compared cells, ``[sample, label]``."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def positives(self) -> Numbers:
        """Documents that have the label in the reference, ``[sample, label]``."""
        return self.tp + self.fn

    @property
    def labelled(self) -> Numbers:
        """Documents that have the label in the reference or from the annotator, ``[sample, label]``."""
        return self.tp + self.fp + self.fn

    @cached_property
    def documents(self) -> Numbers:
        """Documents, ``[sample]``."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def exact(self) -> Numbers:
        """Documents whose every label with a reference is right, ``[sample]``."""
        right: Mask = np.all((self.reference == self.predicted) | np.isnan(self.reference), axis=1)
        return self.weights @ right.astype(np.float64)

    @cached_property
    def confusion(self) -> Numbers:
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
        return [Counts(*row) for row in four.astype(int).tolist()]

    def pooled(self) -> Samples:
        """Return the cells of all labels as the documents of one label."""
        sums = [cells.sum(axis=1) for cells in (self.tp, self.fp, self.fn, self.tn)]
        reference, predicted = np.array([[1.0], [0.0], [1.0], [0.0]]), np.array([[1.0], [1.0], [0.0], [0.0]])
        return Samples(np.stack(sums, axis=1), reference, predicted)


@dataclass(frozen=True, slots=True)
class Metric:
    """One score: an entry of the registry."""

    key: str
    """Its name in JSON and CSV, such as ``f1`` or ``macro_f1``."""
    name: str
    """Its name on the screen."""
    kinds: tuple[Kind, ...]
    """The kinds of codebook that have it."""
    compute: Callable[[Samples], Numbers]
    """Its values, ``[sample]``, or ``[sample, label]`` of a score per label; NaN where it is undefined."""
    per_label: bool = False
    interval: Shape | None = None
    """The shape of its interval; None for a metric that is shown without one."""
    cases: Callable[[Samples], Numbers] | None = None
    """Of a share: the weight of its cases, the denominator; of a correlation on a label: that of the cases that matter.
    Few independent units among them widen the interval."""
    averages: tuple[Average, ...] = ()
    """Of a score per label: its means over labels, which are metrics of their own."""
    support: Callable[[Samples], Numbers] = attrgetter("positives")
    """Of a score per label: the weight of each label in the weighted mean; means leave out a label without any."""
    average: Average | None = None
    """Of a mean over labels: which one."""
    base: str = ""
    """Of a mean over labels: the key of the metric that it averages, whose interval it has over a single label."""
    headline: bool = False
    """One of the key numbers at the top of the page; of a score per label, its macro and micro means are."""

    @property
    def path(self) -> tuple[str, ...]:
        """Its place in JSON: ``("macro", "f1")`` or ``("accuracy",)``."""
        return (self.average, self.base) if self.average is not None else (self.key,)


MAIN: Mapping[Kind, str] = {"multilabel": "macro_f1", "choice": "macro_f1", "rating": "macro_spearman"}
"""The key of the main metric of a run."""
MAIN_PER_LABEL: Mapping[Kind, str] = {"multilabel": "f1", "choice": "f1", "rating": "spearman"}
"""The key of the main metric of a label or dimension."""


def metrics(kind: Kind, *, per_label: bool = False) -> tuple[Metric, ...]:
    """Return the metrics of a kind of codebook: those over all labels, or those of each label."""
    return tuple(metric for metric in METRICS if kind in metric.kinds and metric.per_label == per_label)


def main_metric(kind: Kind, *, per_label: bool = False) -> Metric:
    """Return the main metric of a run, or of a label or dimension."""
    key = (MAIN_PER_LABEL if per_label else MAIN)[kind]
    return next(metric for metric in metrics(kind, per_label=per_label) if metric.key == key)


def nest_averages(values: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return values by metric key with the means over labels as ``{average: {metric: value}}``."""
    result: dict[str, Any] = {}
    for metric in metrics(kind):
        if metric.key in values:
            *outer, last = metric.path
            (result.setdefault(outer[0], {}) if outer else result)[last] = values[metric.key]
    return result


def _divide(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return numerator / denominator, NaN where the denominator is 0."""
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def _precision(s: Samples) -> Numbers:
    predicted = s.tp + s.fp
    return np.where((predicted == 0) & (s.positives > 0), 0.0, _divide(s.tp, predicted))


def _recall(s: Samples) -> Numbers:
    return _divide(s.tp, s.positives)


def _f1(s: Samples) -> Numbers:
    return np.where(s.positives > 0, _divide(2 * s.tp, 2 * s.tp + s.fp + s.fn), np.nan)


def _accuracy(s: Samples) -> Numbers:
    return _divide(s.tp + s.tn, s.cells)


def _tables(s: Samples) -> Numbers:
    """Return the confusion matrix of each label, ``[sample, label, reference, predicted]``, absent first."""
    return np.stack([np.stack([s.tn, s.fp], axis=-1), np.stack([s.fn, s.tp], axis=-1)], axis=-2)


def _of_ratings(function: Callable[[Numbers, Numbers, Numbers], float | None]) -> Callable[[Samples], Numbers]:
    """Return a metric per dimension from a function of three vectors: the reference, the ratings and their weights."""

    def compute(s: Samples) -> Numbers:
        values = np.full((len(s.weights), s.reference.shape[1]), np.nan)
        for column, (gold, predicted) in enumerate(zip(s.reference.T, s.predicted.T, strict=True)):
            has_gold = ~np.isnan(gold)
            for row, weights in enumerate(s.weights[:, has_gold]):
                value = function(gold[has_gold], predicted[has_gold], weights)
                values[row, column] = np.nan if value is None else value
        return values

    return compute


def _mean_of_cells(cells: Callable[[Numbers, Numbers], Numbers]) -> Callable[[Samples], Numbers]:
    """Return a metric per dimension that is the mean of ``cells(reference, predicted)`` over documents."""

    def compute(s: Samples) -> Numbers:
        has_gold = ~np.isnan(s.reference)
        values = np.where(has_gold, cells(np.nan_to_num(s.reference), s.predicted), 0.0)
        return _divide(s.weights @ values, s.weights @ has_gold.astype(np.float64))

    return compute


def _all_cells(s: Samples) -> Numbers:
    return np.asarray(s.cells.sum(axis=1))


def _rated(s: Samples) -> Numbers:
    return np.asarray(s.weights @ (~np.isnan(s.reference)).astype(np.float64))


def _near(reference: Numbers, predicted: Numbers) -> Numbers:
    return is_right(reference, predicted, kind="rating").astype(np.float64)


def _near_of_all(s: Samples) -> Numbers:
    has_gold = (~np.isnan(s.reference)).astype(np.float64)
    right = _near(s.reference, s.predicted)
    return _divide((s.weights @ right).sum(axis=1), (s.weights @ has_gold).sum(axis=1))


def _matthews(tables: Numbers) -> Numbers:
    """Return Matthews' correlation for any number of classes, -1 to 1; NaN when either side has one class only.

    Source: Gorodkin 2004 (Comput. Biol. Chem. 28). scikit-learn gives 0 where the formula is 0/0.
    """
    n, rows, columns = tables.sum(axis=(-1, -2)), tables.sum(axis=-1), tables.sum(axis=-2)
    spread = (n * n - (rows * rows).sum(axis=-1)) * (n * n - (columns * columns).sum(axis=-1))
    covariance = np.trace(tables, axis1=-2, axis2=-1) * n - (rows * columns).sum(axis=-1)
    return _divide(covariance, np.where(spread > 1e-9 * n**4, np.sqrt(np.maximum(spread, 0.0)), 0.0))


def _mean(metric: Metric, average: Average) -> Callable[[Samples], Numbers]:
    """Return the mean of a metric over labels.

    Macro and weighted means are over the labels with support where the score is defined. Micro comes from the summed
    counts. NaN without such a label.
    """

    def compute(s: Samples) -> Numbers:
        samples = s.pooled() if average == "micro" else s
        values = metric.compute(samples)
        weight = label_weights(metric, average, samples, values)
        return _divide((np.where(weight > 0, values, 0.0) * weight).sum(axis=1), weight.sum(axis=1))

    return compute


def _averaged(metric: Metric, average: Average) -> Metric:
    """Return the metric that is a mean of this one over labels."""
    title = "Mean" if metric.kinds == ("rating",) else average.capitalize()
    cases = metric.cases
    return replace(
        metric,
        key=f"{average}_{metric.key}",
        name=f"{title} {metric.name}",
        kinds=("multilabel",) if average == "micro" else metric.kinds,
        compute=_mean(metric, average),
        per_label=False,
        cases=(lambda s: cases(s.pooled())[:, 0]) if average == "micro" and cases is not None else None,
        averages=(),
        average=average,
        base=metric.key,
        headline=metric.headline and average != "weighted",
    )


_ALL: tuple[Average, ...] = ("macro", "micro", "weighted")


def _registry(*entries: Metric) -> tuple[Metric, ...]:
    """Return the entries, the means over labels first. An entry has its name as within a longer name."""
    means = [_averaged(metric, average) for average in _ALL for metric in entries if average in metric.averages]
    return (*means, *(replace(metric, name=capitalised(metric.name)) for metric in entries))


def _of_tables(
    key: str, name: str, function: Callable[[Numbers], Numbers], *, interval: Shape | None = "correlation"
) -> tuple[Metric, Metric]:
    """Return a score of each label, and of a choice, from a function of confusion matrices ``[..., q, q]``."""
    of_label = Metric(
        key,
        name,
        CLASSIFICATION,
        lambda s: function(_tables(s)),
        per_label=True,
        interval=interval,
        cases=lambda s: s.labelled,
    )
    return of_label, Metric(key, name, ("choice",), lambda s: function(s.confusion), interval=interval)


METRICS: tuple[Metric, ...] = _registry(
    # A label against the rest
    Metric(
        "accuracy", "accuracy", CLASSIFICATION, _accuracy, per_label=True, interval="share", cases=lambda s: s.cells
    ),
    Metric(
        "precision", "precision", CLASSIFICATION, _precision,
        per_label=True, interval="share", cases=lambda s: s.tp + s.fp, averages=_ALL,
    ),
    Metric(
        "recall", "recall", CLASSIFICATION, _recall,
        per_label=True, interval="share", cases=lambda s: s.tp + s.fn, averages=_ALL,
    ),
    Metric(
        "f1", "F1", CLASSIFICATION, _f1,
        per_label=True, interval="f1", cases=lambda s: s.labelled, averages=_ALL, headline=True,
    ),
    # Multiple labels, over all of them
    Metric(
        "accuracy", "label accuracy", ("multilabel",),
        lambda s: _divide((s.tp + s.tn).sum(axis=1), s.cells.sum(axis=1)),
        interval="share", cases=_all_cells, headline=True,
    ),
    Metric(
        "subset_accuracy", "exact match", ("multilabel",), lambda s: _divide(s.exact, s.documents),
        interval="share", cases=lambda s: s.documents, headline=True,
    ),
    Metric(
        "hamming_loss", "Hamming loss", ("multilabel",),
        lambda s: _divide((s.fp + s.fn).sum(axis=1), s.cells.sum(axis=1)),
        interval="share", cases=_all_cells,
    ),
    # A single choice
    Metric(
        "accuracy", "accuracy", ("choice",), lambda s: _divide(s.exact, s.documents),
        interval="share", cases=lambda s: s.documents, headline=True,
    ),
    # Labels against the rest, and a choice
    *_of_tables("mcc", "Matthews correlation", _matthews),
    *_of_tables("kappa", "Cohen's kappa", lambda tables: table_agreement(tables, "kappa")),
    *_of_tables("ac1", "Gwet's AC1", lambda tables: table_agreement(tables, "ac1")),
    *_of_tables("alpha", "Krippendorff's alpha", lambda tables: table_agreement(tables, "alpha")),
    *_of_tables(
        "kl", "KL divergence", lambda tables: divergence(tables.sum(axis=-1), tables.sum(axis=-2)), interval=None
    ),
    # Ratings
    Metric(
        "near", "off by less than a point", ("rating",), _near_of_all,
        interval="share", cases=lambda s: _rated(s).sum(axis=1),
    ),
    Metric(
        "pearson", "Pearson", ("rating",), _of_ratings(pearson),
        per_label=True, interval="correlation", cases=_rated, averages=("macro",),
    ),
    Metric(
        "spearman", "Spearman", ("rating",), _of_ratings(spearman),
        per_label=True, interval="correlation", cases=_rated, averages=("macro",), headline=True,
    ),
    Metric(
        "kendall", "Kendall", ("rating",), _of_ratings(kendall),
        per_label=True, interval="correlation", cases=_rated, averages=("macro",), headline=True,
    ),
    Metric(
        "mae", "absolute error", ("rating",), _mean_of_cells(lambda gold, predicted: np.abs(predicted - gold)),
        per_label=True, interval="mean", cases=_rated, averages=("macro",), headline=True,
    ),
    Metric(
        "bias", "bias", ("rating",), _mean_of_cells(lambda gold, predicted: predicted - gold),
        per_label=True, interval="signed", cases=_rated, averages=("macro",),
    ),
    Metric(
        "exact", "exact match", ("rating",),
        _mean_of_cells(lambda gold, predicted: (predicted == gold).astype(np.float64)),
        per_label=True, interval="share", cases=_rated, averages=("macro",),
    ),
    Metric(
        "near", "off by less than a point", ("rating",), _mean_of_cells(_near),
        per_label=True, interval="share", cases=_rated,
    ),
    Metric(
        "alpha", "Krippendorff's alpha", ("rating",), _of_ratings(
            lambda gold, predicted, weights: krippendorff_alpha(np.column_stack([gold, predicted]), weights, "ordinal")
        ),
        per_label=True, interval="correlation", cases=_rated, averages=("macro",), headline=True,
    ),
)  # fmt: skip
"""Every metric. The order is that of the page, JSON and CSV.

``bias`` is the mean of rating minus reference in points of the scale: above 0 the ratings are too high. ``near`` is
less than a point off. ``exact`` is never reached where the reference is a mean between two points. ``alpha`` of ratings
is ordinal. ``kl`` is the divergence of how often labels are given."""


def label_weights(metric: Metric, average: Average | None, s: Samples, values: Numbers) -> Numbers:
    """Return the weight of each label in a mean of a metric over labels, ``[sample, label]``; 0 if it is left out."""
    support = np.where(np.isnan(values), 0.0, _rated(s) if metric.kinds == ("rating",) else metric.support(s))
    return support if average == "weighted" else (support > 0).astype(np.float64)
