"""Scores of an annotator against a reference: the registry of metrics, their values, intervals and differences.

A metric is one entry of ``METRICS``. It names the kinds of codebook that it applies to, how it is computed, how its
interval is computed, its direction and its format. The page, JSON, CSV, the printable report and Compare all read the
registry, so that a new metric needs no other change.

A metric is computed on ``Samples``: distinct *patterns* of outcomes and the weight of each. Its value is that on the
weights of the documents. Its interval comes from its influences (how it changes with slightly other weights) under the
``Design`` of the documents, see ``metric_intervals``.

A label without positives has no recall and no F1, and macro and weighted means leave it out. scikit-learn gives the
same means for ``precision_recall_fscore_support(..., labels=PRESENT, zero_division=0)``, where PRESENT are the labels
with positives. Without ``labels`` it counts the others as 0, so that its macro means are lower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.annotations import NEAR
from core.codebook import Kind
from core.stats import metric_intervals
from core.stats.agreement import krippendorff_alpha, table_agreement
from core.stats.arrays import (
    BinaryGrid,
    Codes,
    Mask,
    Ratings,
    check_shapes,
    codes,
    counted_documents,
    distinct_rows,
    one_hot,
    ratings,
)
from core.stats.correlation import divergence, kendall, pearson, spearman
from core.stats.intervals import LEVEL, Estimate, Interval, combine, ends
from core.stats.intervals import difference as mover_difference
from core.stats.metric_intervals import Design, Shape

Average: TypeAlias = Literal["macro", "micro", "weighted"]
CLASSIFICATION: tuple[Kind, ...] = ("multilabel", "choice")

_CELLS = 2_000_000  # drawn at a time, to bound memory
_STEP = 1e-5
"""Change of weight by which an influence is measured."""
_CASES = 10  # documents with a label below which a difference combines the intervals of both annotators
_MANY = 5_000  # patterns above which fewer groups are formed, to save time
_CORRELATED = 10  # dependent or sampled units below which a correlation on a label has no interval
_JUMP = 1e3  # a larger influence is a step, such as that from a precision without predictions
_PATTERNS = {"multilabel": 500, "choice": 500, "rating": 60}
"""Number of patterns up to which each has its own influence; with more, documents form as many random groups."""
SWAPS = 2000
"""Number of random exchanges of two annotators in ``swap_test``."""


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


def _cells(reference: int, predicted: int) -> cached_property[Ratings]:
    """Return the property of samples that is the weight of the cells with these values, ``[sample, label]``."""

    def count(samples: Samples) -> Ratings:
        cells: Mask = (samples.reference == reference) & (samples.predicted == predicted)
        return samples.weights @ cells.astype(np.float64)

    return cached_property(count)


@dataclass(frozen=True, eq=False)
class Samples:
    """One or more weighted samples of documents.

    ``reference`` and ``predicted`` are ``[row, label]``: 1 and 0 for labels (a choice is one-hot), numbers for ratings,
    NaN where the reference has no value. ``weights`` is ``[sample, row]``: how many documents each row stands for.
    """

    weights: Ratings
    reference: Ratings
    predicted: Ratings

    tp = _cells(1, 1)
    fp = _cells(0, 1)
    fn = _cells(1, 0)
    tn = _cells(0, 0)

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
        right: Mask = np.all((self.reference == self.predicted) | np.isnan(self.reference), axis=1)
        return self.weights @ right.astype(np.float64)

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
        return [Counts(*row) for row in four.astype(int).tolist()]

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
    interval: Shape | None = None
    """the shape of its interval; None for a metric that is shown without one"""
    cases: Callable[[Samples], Ratings] | None = None
    """of a share: the weight of its cases, the denominator; of a correlation on a label: that of the cases that matter.
    Few independent units among them widen the interval."""
    averages: tuple[Average, ...] = ()
    """of a score per label: its means over labels, which are metrics of their own"""
    average: Average | None = None
    """of a mean over labels: which one"""
    base: str = ""
    """of a mean over labels: the key of the metric that it averages, whose interval it has over a single label"""
    headline: bool = False
    """one of the key numbers at the top of the page; of a score per label, its macro and micro means are"""

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
    with too few independent documents, and where nothing in the sample shows how far off the value may be.
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


def main_metric(kind: Kind, *, per_label: bool = False) -> Metric:
    """Return the metric that stands for a run, or for a label or dimension."""
    key = (MAIN_PER_LABEL if per_label else MAIN)[kind]
    return next(metric for metric in metrics(kind, per_label=per_label) if metric.key == key)


def score(
    kind: Kind,
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    labels: Sequence[str],
    *,
    intervals: bool = True,
    design: Design | None = None,
) -> Scores:
    """Return the scores of one annotator.

    Values are ``[document, item]`` (see ``arrays``), for a choice the codes of its labels, ``[document]`` or
    ``[document, 1]``. A document without a reference is ignored. One with a reference and without a complete verdict is
    excluded. In the others a label counts where it has a reference. Raises ValueError for shapes that differ.

    ``design`` describes how the documents were selected and which depend on each other; by default all are independent
    and represent a larger population. When nothing was predicted, precision is 0 by convention and has no interval.
    From a sample that represents other documents, a metric without an interval has no value either.
    """
    data = _Data.of(kind, (reference, predicted), labels, design or Design(), LEVEL)
    (estimated,) = data.estimates(intervals=intervals)
    estimates = {metric: found.outputs for metric, found in estimated.items()}
    if intervals and data.design.represents:
        for metric, outputs in estimates.items():
            if metric.interval is not None:
                estimates[metric] = [one if one.interval is not None else Estimate(None, None) for one in outputs]
    counts: list[Counts | None] = [None] * len(labels) if kind == "rating" else [*data.raw().counts()]
    matrix = data.raw().confusion[0].astype(int).tolist() if kind == "choice" else []
    return _scores(data, estimates, labels, counts, tuple(map(tuple, matrix)))


def difference(
    kind: Kind,
    reference: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: Sequence[str],
    *,
    design: Design | None = None,
    level: float = LEVEL,
) -> Scores:
    """Return every score of ``second`` minus that of ``first`` on the documents that both have a verdict for.

    Intervals combine those of both annotators by their correlation over documents (``intervals.difference``), so that
    they are within the possible range and as wide as few positives require. A positive difference means that the second
    value is higher. Annotators with the same values on a label differ by exactly 0.
    """
    data = _Data.of(kind, (reference, first, second), labels, design or Design(), level)
    one, two = data.estimates()
    gaps = {
        metric: [data.compare(metric, place, before, two[metric]) for place in range(len(before.outputs))]
        for metric, before in one.items()
    }
    return _scores(data, gaps, labels, [None] * len(labels), ())


def swap_test(
    kind: Kind,
    key: str,
    reference: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: Sequence[str],
    *,
    groups: Codes | None = None,
) -> float | None:
    """Return p of the hypothesis that two annotators are equally good by a metric over all labels, two-sided.

    If they are, their values on a document (or a group of dependent documents) may be exchanged. p is the share of
    random exchanges with a difference as large as the observed one (approximate randomization: Noreen 1989; Yeh 2000,
    COLING). None without a document or a value. It is slow for many documents: see ``normal_p``.
    """
    data = _Data.of(kind, (reference, first, second), labels, Design(groups=groups), LEVEL)
    metric = next(metric for metric in metrics(kind) if metric.key == key)
    gold, *sides = data.sides
    apart = ~np.equal(*sides).all(axis=1)
    rows = np.concatenate([gold, gold]), np.concatenate(sides)

    def gap(exchanged: Ratings) -> Ratings:
        kept = data.frequency - exchanged
        before, after = (
            metric.compute(Samples(np.concatenate(both, axis=1), *rows))
            for both in ((kept, exchanged), (exchanged, kept))
        )
        return np.asarray(after - before)

    observed = float(gap(np.zeros((1, len(gold))))[0])
    if not data.n or np.isnan(observed):
        return None
    if not apart.any():
        return 1.0
    rng = np.random.default_rng(0)
    count = SWAPS if kind != "rating" else SWAPS // 4
    at_once = max(1, _CELLS // (2 * len(gold)))
    as_large = 0
    for start in range(0, count, at_once):
        size = min(at_once, count - start)
        if groups is None:
            exchanged = rng.binomial(data.frequency.astype(np.int64), 0.5, (size, len(gold))).astype(np.float64)
        else:
            _, codes_of = np.unique(groups[data.rows], return_inverse=True)
            flipped = rng.integers(0, 2, (size, int(codes_of.max()) + 1)).astype(np.float64)[:, codes_of]
            exchanged = np.stack([np.bincount(data.inverse, row, len(gold)) for row in flipped])
        as_large += int((np.abs(np.nan_to_num(gap(exchanged))) >= abs(observed) - 1e-12).sum())
    return (1 + as_large) / (1 + count)


def normal_p(found: Estimate) -> float | None:
    """Return the two-sided p of a difference by its interval and the normal distribution; None without an interval."""
    if found.value is None or found.interval is None:
        return None
    width = found.interval.high - found.interval.low
    if width <= 0:
        return 1.0
    normal = NormalDist()
    error = width / 2 / normal.inv_cdf(0.5 + found.interval.level / 2)
    return 2 * normal.cdf(-abs(found.value) / error)


def strict_scores(
    kind: Kind,
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    labels: Sequence[str],
    *,
    intervals: bool = True,
    groups: Codes | None = None,
) -> dict[str, Estimate]:
    """Return the macro, micro and accuracy scores with every excluded document counted as wrong in every label.

    A choice without a verdict misses the label of the reference and adds no false positive. Documents with equal codes
    in ``groups``, ``[document]``, depend on each other. Empty for ratings, which have no wrong value that would be as
    far off as the right one is near.
    """
    if kind == "rating":
        return {}
    gold, verdicts = _grid(kind, reference, len(labels)), _grid(kind, predicted, len(labels))
    check_shapes(gold, verdicts)
    lacking = (verdicts < 0).any(axis=1, keepdims=True)
    wrong = np.where(gold == 1, 0, 1) if kind == "multilabel" else np.zeros_like(gold)
    filled = np.where(lacking, wrong, verdicts).astype(np.int8)
    (found,) = _Data.of_grids(kind, (gold, filled), Design(groups=groups), LEVEL).estimates(intervals=intervals)
    return {metric.key: found[metric].outputs[0] for metric in strict_metrics(kind)}


def strict_metrics(kind: Kind) -> list[Metric]:
    """Return the metrics of ``strict_scores``."""
    return [metric for metric in metrics(kind) if kind != "rating" and metric.path[0] in ("macro", "micro", "accuracy")]


def to_json(scores: Scores) -> dict[str, Any]:
    """Return the scores as plain data with None for undefined.

    Means over labels are nested as ``macro.f1``. ``labels`` has for each label ``n``, the counts and the scores of the
    contract; its further scores are in ``measures``. ``confusion`` of a choice is ``[REFERENCE][PREDICTED]`` by name.
    ``intervals`` mirrors this structure for every score that has an interval, and is absent if none has.
    """
    result: dict[str, Any] = {"n": scores.n, "excluded": scores.excluded}
    known = scores.n + scores.excluded
    result["coverage"] = scores.n / known if known else None
    result |= nest_averages({key: estimate.value for key, estimate in scores.overall.items()}, scores.kind)
    contract = LABEL_CONTRACT if scores.kind != "rating" else tuple(m.key for m in metrics("rating", per_label=True))
    result["labels"] = {
        name: {"n": one.n, **(asdict(one.counts) if one.counts else {}), **{key: one[key].value for key in contract}}
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
            "level": LEVEL,
            **nest_averages({metric.key: ends(scores[metric.key].interval) for metric in overall}, scores.kind),
            "labels": {name: {m.key: ends(one[m.key].interval) for m in each} for name, one in scores.labels.items()},
        }
    return result


def nest_averages(values: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """Return values by metric key with the means over labels as ``{average: {metric: value}}``."""
    result: dict[str, Any] = {}
    for metric in metrics(kind):
        if metric.key in values:
            *outer, last = metric.path
            (result.setdefault(outer[0], {}) if outer else result)[last] = values[metric.key]
    return result


LABEL_CONTRACT = ("accuracy", "precision", "recall", "f1")
"""The scores in ``labels`` of the headless contract."""


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


def _tables(s: Samples) -> Ratings:
    """Return the confusion matrix of each label, ``[sample, label, reference, predicted]``, absent first."""
    return np.stack([np.stack([s.tn, s.fp], axis=-1), np.stack([s.fn, s.tp], axis=-1)], axis=-2)


def _of_ratings(function: Callable[[Ratings, Ratings, Ratings], float | None]) -> Callable[[Samples], Ratings]:
    """Return a metric per dimension from a function of three vectors: the reference, the ratings and their weights."""

    def compute(s: Samples) -> Ratings:
        found = np.full((len(s.weights), s.reference.shape[1]), np.nan)
        for column, (gold, given) in enumerate(zip(s.reference.T, s.predicted.T, strict=True)):
            known = ~np.isnan(gold)
            for row, weights in enumerate(s.weights[:, known]):
                value = function(gold[known], given[known], weights)
                found[row, column] = np.nan if value is None else value
        return found

    return compute


def _mean_of_cells(cells: Callable[[Ratings, Ratings], Ratings]) -> Callable[[Samples], Ratings]:
    """Return a metric per dimension that is the mean of ``cells(reference, predicted)`` over documents."""

    def compute(s: Samples) -> Ratings:
        known = ~np.isnan(s.reference)
        values = np.where(known, cells(np.nan_to_num(s.reference), s.predicted), 0.0)
        return _share(s.weights @ values, s.weights @ known.astype(np.float64))

    return compute


def _given(s: Samples) -> Ratings:
    """Return the weight of the documents that have the label in the reference or from the annotator."""
    return s.tp + s.fp + s.fn


def _all_cells(s: Samples) -> Ratings:
    return np.asarray(s.cells.sum(axis=1))


def _rated(s: Samples) -> Ratings:
    return np.asarray(s.weights @ (~np.isnan(s.reference)).astype(np.float64))


def _near(reference: Ratings, predicted: Ratings) -> Ratings:
    return (np.abs(predicted - reference) < NEAR).astype(np.float64)


def _near_of_all(s: Samples) -> Ratings:
    known = (~np.isnan(s.reference)).astype(np.float64)
    right = known * _near(np.nan_to_num(s.reference), s.predicted)
    return _share((s.weights @ right).sum(axis=1), (s.weights @ known).sum(axis=1))


def _matthews(tables: Ratings) -> Ratings:
    """Return Matthews' correlation for any number of classes, -1 to 1; NaN when either side has one class only.

    Source: Gorodkin 2004 (Comput. Biol. Chem. 28). scikit-learn gives 0 where the formula is 0/0.
    """
    n, rows, columns = tables.sum(axis=(-1, -2)), tables.sum(axis=-1), tables.sum(axis=-2)
    spread = (n * n - (rows * rows).sum(axis=-1)) * (n * n - (columns * columns).sum(axis=-1))
    together = np.trace(tables, axis1=-2, axis2=-1) * n - (rows * columns).sum(axis=-1)
    return _share(together, np.where(spread > 1e-9 * n**4, np.sqrt(np.maximum(spread, 0.0)), 0.0))


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
        weight = _label_weights(metric.kinds, average, s, values)
        return _share((np.where(weight > 0, values, 0.0) * weight).sum(axis=1), weight.sum(axis=1))

    return compute


_PROPER = ("f1", "pearson", "spearman", "kendall", "alpha")
"""Metrics whose name keeps its capital within a longer name."""


def _averaged(metric: Metric, average: Average) -> Metric:
    """Return the metric that is a mean of this one over labels."""
    title = "Mean" if metric.kinds == ("rating",) else average.capitalize()
    name, cases = metric.name if metric.key in _PROPER else metric.name.lower(), metric.cases
    return replace(
        metric,
        key=f"{average}_{metric.key}",
        name=f"{title} {name}",
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
    """Return the entries, the means over labels first."""
    means = [_averaged(metric, average) for average in _ALL for metric in entries if average in metric.averages]
    return (*means, *entries)


def _of_tables(
    key: str, name: str, function: Callable[[Ratings], Ratings], *, interval: Shape | None = "correlation"
) -> tuple[Metric, Metric]:
    """Return a score of each label, and of a choice, from a function of confusion matrices ``[..., q, q]``."""
    of_label = Metric(
        key, name, CLASSIFICATION, lambda s: function(_tables(s)), per_label=True, interval=interval, cases=_given
    )  # fmt: skip
    return of_label, replace(
        of_label, kinds=("choice",), compute=lambda s: function(s.confusion), per_label=False, cases=None
    )


METRICS: tuple[Metric, ...] = _registry(
    # A label against the rest
    Metric(
        "accuracy", "Accuracy", CLASSIFICATION, _accuracy, per_label=True, interval="share", cases=lambda s: s.cells
    ),
    Metric(
        "precision", "Precision", CLASSIFICATION, _precision,
        per_label=True, interval="share", cases=lambda s: s.tp + s.fp, averages=_ALL,
    ),
    Metric(
        "recall", "Recall", CLASSIFICATION, _recall,
        per_label=True, interval="share", cases=lambda s: s.tp + s.fn, averages=_ALL,
    ),
    Metric(
        "f1", "F1", CLASSIFICATION, _f1,
        per_label=True, interval="f1", cases=_given, averages=_ALL, headline=True,
    ),
    # Multiple labels, over all of them
    Metric(
        "accuracy", "Label accuracy", ("multilabel",),
        lambda s: _share((s.tp + s.tn).sum(axis=1), s.cells.sum(axis=1)),
        interval="share", cases=_all_cells, headline=True,
    ),
    Metric(
        "subset_accuracy", "Exact match", ("multilabel",), lambda s: _share(s.exact, s.documents),
        interval="share", cases=lambda s: s.documents, headline=True,
    ),
    Metric(
        "hamming_loss", "Hamming loss", ("multilabel",),
        lambda s: _share((s.fp + s.fn).sum(axis=1), s.cells.sum(axis=1)),
        interval="share", cases=_all_cells,
    ),
    # A single choice
    Metric(
        "accuracy", "Accuracy", ("choice",), lambda s: _share(s.exact, s.documents),
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
        "near", "Within one point", ("rating",), _near_of_all, interval="share", cases=lambda s: _rated(s).sum(axis=1)
    ),
    Metric(
        "pearson", "Pearson", ("rating",), _of_ratings(pearson),
        per_label=True, interval="correlation", averages=("macro",),
    ),
    Metric(
        "spearman", "Spearman", ("rating",), _of_ratings(spearman),
        per_label=True, interval="correlation", averages=("macro",), headline=True,
    ),
    Metric(
        "kendall", "Kendall", ("rating",), _of_ratings(kendall),
        per_label=True, interval="correlation", averages=("macro",), headline=True,
    ),
    Metric(
        "mae", "Absolute error", ("rating",), _mean_of_cells(lambda gold, given: np.abs(given - gold)),
        per_label=True, interval="mean", averages=("macro",), headline=True,
    ),
    Metric(
        "bias", "Bias", ("rating",), _mean_of_cells(lambda gold, given: given - gold),
        per_label=True, interval="signed", averages=("macro",),
    ),
    Metric(
        "exact", "Exact match", ("rating",), _mean_of_cells(lambda gold, given: (given == gold).astype(np.float64)),
        per_label=True, interval="share", cases=_rated, averages=("macro",),
    ),
    Metric(
        "near", "Within one point", ("rating",), _mean_of_cells(_near), per_label=True, interval="share", cases=_rated
    ),
    Metric(
        "alpha", "Krippendorff's alpha", ("rating",), _of_ratings(
            lambda gold, given, weights: krippendorff_alpha(np.column_stack([gold, given]), "ordinal", weights)
        ),
        per_label=True, interval="correlation", averages=("macro",), headline=True,
    ),
)  # fmt: skip
"""Every metric. The order is that of the page, JSON and CSV.

``bias`` is the mean of rating minus reference in points of the scale: above 0 the annotator is lenient. ``near`` is
less than a point off. ``exact`` is never reached where the reference is a mean between two points. ``alpha`` of ratings
is ordinal. ``kl`` is the divergence of how often labels are given."""


# --- Estimating ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Estimated:
    """A metric of one annotator: its outputs, one for each label or one over all, and the roots of their covariance."""

    outputs: list[Estimate]
    roots: Ratings


@dataclass(frozen=True, eq=False)
class _Data:
    """Documents as patterns: ``sides`` are the reference and each annotator, ``[pattern, label]``."""

    kind: Kind
    sides: tuple[Ratings, ...]
    frequency: Ratings
    weights: Ratings
    """design weight of each pattern"""
    inverse: Codes
    """the pattern of each compared document"""
    rows: Codes
    """the row of each compared document in the arguments"""
    documents: int
    n: int
    excluded: int
    cells: Ratings
    """compared documents by label"""
    design: Design
    level: float

    @classmethod
    def of(
        cls, kind: Kind, sides: Sequence[npt.ArrayLike], labels: Sequence[str], design: Design, level: float
    ) -> _Data:
        grids = [ratings(side) if kind == "rating" else _grid(kind, side, len(labels)) for side in sides]
        check_shapes(*grids)
        if grids[0].ndim != 2 or grids[0].shape[1] != len(labels):
            raise ValueError(f"an array of shape {grids[0].shape} needs {len(labels)} columns, one for each label")
        return cls.of_grids(kind, grids, design, level)

    @classmethod
    def of_grids(cls, kind: Kind, grids: Sequence[npt.NDArray[Any]], design: Design, level: float) -> _Data:
        """Return the data of grids ``[document, label]``: of ratings numbers, else 1 and 0, and -1 for no value."""
        known = [~np.isnan(grid) if kind == "rating" else grid >= 0 for grid in grids]
        counted, excluded = counted_documents(*known)
        kept = [grid[counted] for grid in grids]
        rows = kept if kind == "rating" else [_outcomes(kept[0], one) for one in kept[1:]]
        first, inverse, frequency = distinct_rows(np.concatenate(rows, axis=1))
        reference, *others = (grid[first].astype(np.float64) for grid in kept)
        if kind != "rating":
            reference = np.where(reference < 0, np.nan, reference)
        return cls(
            kind=kind,
            sides=(reference, *others),
            frequency=frequency.astype(np.float64),
            weights=np.bincount(inverse, design.weights(len(counted))[counted], len(first)).astype(np.float64),
            inverse=inverse,
            rows=np.flatnonzero(counted),
            documents=len(counted),
            n=int(counted.sum()),
            excluded=excluded,
            cells=known[0][counted].sum(axis=0).astype(np.float64),
            design=design,
            level=level,
        )

    def raw(self) -> Samples:
        """Return the documents without their weights (first annotator)."""
        return Samples(self.frequency[None, :], self.sides[0], self.sides[1])

    @cached_property
    def units(self) -> int:
        """Independent units among the compared documents."""
        return self.units_of(np.ones(len(self.weights), dtype=np.bool_))

    def units_of(self, patterns: Mask) -> int:
        """Return the number of independent units among the documents with these patterns."""
        rows = np.zeros(self.documents, dtype=np.bool_)
        rows[self.rows] = patterns[self.inverse]
        return self.design.units(rows)

    @cached_property
    def quantile(self) -> float | None:
        """Quantile of the intervals; None with too few independent units."""
        return self.design.quantile(self.units, self.level)

    @cached_property
    def changes(self) -> tuple[Ratings, bool]:
        """Weights to measure influences on, ``[change, pattern]``, and True if each change is one pattern."""
        count = len(self.weights)
        if count <= _PATTERNS[self.kind] or self.design.sample is not None:
            return self.weights + _STEP * np.eye(count), True
        groups = self.design.groups
        of_unit = np.unique(groups[self.rows], return_inverse=True)[1] if groups is not None else np.arange(self.n)
        number = int(of_unit.max()) + 1
        most = _PATTERNS[self.kind] if count <= _MANY else _PATTERNS[self.kind] // 5
        part = np.random.default_rng(0).permutation(number) % min(number, most)
        taken = np.zeros((int(part.max()) + 1, count))
        np.add.at(taken, (part[of_unit], self.inverse), 1.0)
        return self.weights - _STEP * taken, False

    def estimates(self, *, intervals: bool = True) -> list[dict[Metric, _Estimated]]:
        """Return the estimates of every metric by annotator. Means over labels follow from those of the labels."""
        reference, *annotators = self.sides
        return [self._of(Samples(self.weights[None, :], reference, side), intervals=intervals) for side in annotators]

    def _of(self, base: Samples, *, intervals: bool) -> dict[Metric, _Estimated]:
        each = [*metrics(self.kind, per_label=True), *metrics(self.kind)]
        changed: list[Samples] = []
        if intervals and self.quantile is not None:
            weights, _ = self.changes
            at_once = max(1, _CELLS // max(1, weights.shape[1]))
            starts = range(0, len(weights), at_once)
            changed = [replace(base, weights=weights[start : start + at_once]) for start in starts]
        found: dict[Metric, _Estimated] = {}
        by_key = {metric.key: metric for metric in each if metric.per_label}
        for metric in each:
            if metric.average in ("macro", "weighted") and changed and metric.interval is not None:
                found[metric] = self._mean(metric, base, found[by_key[metric.base]])
            else:
                found[metric] = self._direct(metric, base, changed)
        return {metric: found[metric] for metric in METRICS if metric in found}

    def _direct(self, metric: Metric, base: Samples, changed: Sequence[Samples]) -> _Estimated:
        """Return a metric from its own influences."""
        values = np.atleast_1d(metric.compute(base)[0])
        known = [_number(value) for value in values]
        if metric.interval is None or not changed:
            return _Estimated([Estimate(value, None) for value in known], np.zeros((1, len(known))))
        moved = np.concatenate([_two_dimensional(metric.compute(sample)) for sample in changed])
        _, single = self.changes
        influence = np.nan_to_num((moved - values) / (_STEP if single else -_STEP))
        influence[np.abs(influence) > _JUMP] = 0.0
        roots = self._roots(influence, single=single)
        variances = (roots**2).sum(axis=0)
        cases = _two_dimensional(metric.cases(base))[0] if metric.cases is not None else np.full(len(values), np.nan)
        units = self._case_units(metric, base)
        found: list[Estimate] = []
        for place, value in enumerate(known):
            if value is None or (metric.cases is not None and not cases[place] > 0):
                found.append(Estimate(value, None))
                continue
            variance, most = float(variances[place]), float(units[0][place])
            if metric.interval in ("share", "f1") and self.design.plain and metric.per_label:
                variance = _binomial(metric.interval, value, float(cases[place]))
            if metric.interval in ("share", "f1"):
                variance += self.design.floor(self.units, float(cases[place]))
            quantile = self.quantile
            if metric.cases is not None and not self.design.plain:
                quantile = self.design.quantile(int(units[1][place]), self.level)
                if metric.interval == "correlation" and units[1][place] < _CORRELATED:
                    quantile = None
            interval = metric_intervals.interval(
                metric.interval, value, variance, most, float(units[1][place]), quantile, self.level
            )
            found.append(Estimate(value, interval))
        return _Estimated(found, roots)

    def _roots(self, influence: Ratings, *, single: bool) -> Ratings:
        if not single:
            return np.asarray(influence * sqrt(len(influence) / max(1, len(influence) - 1)))
        if self.design.plain:
            return np.asarray(influence * np.sqrt(self.frequency)[:, None])
        whole = np.zeros((self.documents, influence.shape[1]))
        whole[self.rows] = influence[self.inverse]
        return self.design.roots(whole)

    def _case_units(self, metric: Metric, base: Samples) -> tuple[Ratings, Ratings]:
        """Return the unweighted cases of each output, and the independent units among them."""
        if metric.cases is None:
            nothing = np.zeros(len(self.cells))
            return nothing, nothing
        raw = _two_dimensional(metric.cases(replace(base, weights=self.frequency[None, :])))[0]
        if self.design.plain or len(self.weights) > 2 * _PATTERNS["choice"]:
            return raw, np.minimum(raw, self.units)
        of_pattern = _two_dimensional(metric.cases(replace(base, weights=np.eye(len(self.weights))))) > 0
        return raw, np.array([float(self.units_of(column)) for column in of_pattern.T])

    def _mean(self, metric: Metric, base: Samples, labels: _Estimated) -> _Estimated:
        """Return a mean over labels from the estimates of the labels."""
        value = _number(metric.compute(base)[0])
        known = np.array([[np.nan if own.value is None else own.value for own in labels.outputs]])
        weight = _label_weights(metric.kinds, metric.average, base, known)[0]
        over = [place for place, own in enumerate(labels.outputs) if weight[place] > 0 and own.value is not None]
        share = weight / weight.sum() if weight.sum() > 0 else weight
        roots = labels.roots @ share[:, None]
        if value is None or not over:
            return _Estimated([Estimate(value, None)], roots)
        if len(over) == 1:
            return _Estimated([Estimate(value, labels.outputs[over[0]].interval)], roots)
        if metric.interval in ("mean", "signed", "correlation"):
            variance = float((roots**2).sum())
            interval = metric_intervals.interval(metric.interval, value, variance, 0.0, 0.0, self.quantile, self.level)
            return _Estimated([Estimate(value, interval)], roots)
        ends = [_range(metric, labels.outputs[place]) for place in over]
        interval = combine(
            np.array([labels.outputs[place].value or 0.0 for place in over]) * share[over],
            np.array([one.low for one in ends]) * share[over],
            np.array([one.high for one in ends]) * share[over],
            metric_intervals.correlations(labels.roots[:, over]),
            self.level,
        )
        return _Estimated([Estimate(value, interval)], roots)

    def _cases_of(self, metric: Metric, place: int) -> float:
        """Return the fewest cases that a metric of either annotator rests on; of a mean, of any of its labels."""
        gold, *sides = self.sides
        fewest = float(self.n)
        for side in sides if self.kind != "rating" else ():
            counts = Samples(self.frequency[None, :], gold, side)
            given, present = _given(counts)[0], (counts.tp + counts.fn)[0] > 0
            if metric.per_label:
                fewest = min(fewest, float(given[place]))
            elif metric.average in ("macro", "weighted") and present.any():
                fewest = min(fewest, float(given[present].min()))
        return fewest

    def compare(self, metric: Metric, place: int, first: _Estimated, second: _Estimated) -> Estimate:
        """Return an output of the second annotator minus that of the first."""
        before, after = first.outputs[place].value, second.outputs[place].value
        if before is None or after is None:
            return Estimate(None, None)
        if metric.interval is None or self.quantile is None:
            return Estimate(after - before, None)
        return Estimate(after - before, self._gap(metric, place, first, second, self.quantile))

    def _gap(self, metric: Metric, place: int, first: _Estimated, second: _Estimated, quantile: float) -> Interval:
        """Return the interval of a difference.

        With enough cases it comes from the influences of the difference, and one more document on which both differ.
        With few it combines the intervals of both, which the ends of the range make wide.
        """
        gold, one, two = self.sides
        columns = [place] if metric.per_label else list(range(gold.shape[1]))
        apart = np.any(one[:, columns] != two[:, columns], axis=1)
        if not apart.any():
            return Interval(0.0, 0.0, self.level)
        before, after = first.outputs[place], second.outputs[place]
        low, high = before.value or 0.0, after.value or 0.0
        if self._cases_of(metric, place) >= _CASES:
            variance = float(((second.roots[:, place] - first.roots[:, place]) ** 2).sum())
            half = quantile * sqrt(variance * (1 + 1 / max(1, self.units_of(apart))))
            limit = {"mean": np.inf, "signed": np.inf, "correlation": 2.0}.get(metric.interval or "", 1.0)
            return Interval(max(-limit, high - low - half), min(limit, high - low + half), self.level)
        roots = np.stack([first.roots[:, place], second.roots[:, place]], axis=1)
        related = float(metric_intervals.correlations(roots)[0, 1])
        return mover_difference((low, _range(metric, before)), (high, _range(metric, after)), related, self.level)


def _scores(
    data: _Data,
    estimates: Mapping[Metric, Sequence[Estimate]],
    labels: Sequence[str],
    counts: Sequence[Counts | None],
    confusion: tuple[tuple[int, ...], ...],
) -> Scores:
    return Scores(
        kind=data.kind,
        n=data.n,
        excluded=data.excluded,
        overall={metric.key: estimates[metric][0] for metric in metrics(data.kind)},
        labels={
            name: LabelScores(
                int(data.cells[place]),
                counts[place],
                {metric.key: estimates[metric][place] for metric in metrics(data.kind, per_label=True)},
            )
            for place, name in enumerate(labels)
        },
        confusion=confusion,
    )


def _label_weights(kinds: tuple[Kind, ...], average: Average | None, s: Samples, values: Ratings) -> Ratings:
    """Return the weight of each label in a mean of values over labels, ``[sample, label]``; 0 if it is left out."""
    if kinds == ("rating",):
        return (~np.isnan(values)).astype(np.float64)
    positives = s.tp + s.fn
    return (positives > 0).astype(np.float64) if average == "macro" else positives


def _binomial(shape: Shape, value: float, cases: float) -> float:
    """Return the variance of a share, or of F1 by way of F*, of independent cases."""
    if shape == "share":
        return value * (1 - value) / cases
    star = value / (2 - value)
    return star * (1 - star) / cases * ((2 - value) ** 2 / 2) ** 2


def _range(metric: Metric, output: Estimate) -> Interval:
    """Return the interval of an output, for a share without one the whole range, for other metrics the value alone."""
    if output.interval is not None:
        return output.interval
    known = output.value or 0.0
    return Interval(0.0, 1.0) if metric.interval in ("share", "f1") else Interval(known, known)


def _grid(kind: Kind, values: npt.ArrayLike, labels: int) -> BinaryGrid:
    """Return values as a binary grid ``[document, label]``, of a choice one-hot."""
    chosen = codes(values)
    if kind == "multilabel":
        if chosen.max(initial=-1) > 1:
            raise ValueError(f"expected 1, 0 or no value, got {chosen.max()}")
        return chosen.astype(np.int8)
    chosen = chosen[:, 0] if chosen.ndim == 2 and chosen.shape[1] == 1 else chosen
    if chosen.ndim != 1 or chosen.max(initial=-1) >= labels:
        raise ValueError(f"expected codes [document] below {labels}")
    return one_hot(chosen, labels)


def _outcomes(reference: BinaryGrid, predicted: BinaryGrid) -> BinaryGrid:
    """Return 0 true negative, 1 false positive, 2 false negative, 3 true positive, -1 no reference."""
    return np.where(reference < 0, np.int8(-1), 2 * reference + predicted).astype(np.int8)


def _two_dimensional(values: Ratings) -> Ratings:
    return values[:, None] if values.ndim == 1 else values


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
