"""Score an annotator against a reference: the value and interval of every metric, and differences of two annotators.

Documents with the same outcomes are one *pattern*, and each metric is computed on the weights of the patterns (see
``metrics``). Its interval comes from its influences (how it changes with slightly other weights) under the ``Design``
of the documents, see ``metric_intervals``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from core.codebook import Kind
from core.stats import metric_intervals
from core.stats.arrays import (
    TINY,
    BinaryGrid,
    Codes,
    Mask,
    Numbers,
    check_shapes,
    codes,
    counted_documents,
    distinct_rows,
    one_hot,
    ratings,
)
from core.stats.intervals import LEVEL, Estimate, Interval, combine, difference_interval, ends, t_quantile
from core.stats.metric_intervals import MIN_CORRELATED_UNITS, RANGES, Design, Shape, Spread
from core.stats.metrics import MAIN, Counts, Metric, Samples, label_weights, main_metric, metrics, nest_averages

_CELLS_AT_ONCE = 2_000_000  # drawn at a time, to bound memory
_WEIGHT_STEP = 1e-5
"""Change of weight by which an influence is measured."""
_MIN_CASES = 10  # documents with a label below which a difference combines the intervals of both annotators
_MANY_PATTERNS = 5_000  # patterns above which fewer groups are formed, to save time
_MIN_CHANGED = 3  # documents with one right annotator; of fewer, the spread of a difference is mostly not observed
_MIN_DIFFERING = 6  # reviewed documents on which two annotators differ; fewer may all favour one of them by chance
_MIN_INFLUENCE = 1e-9  # a smaller influence is a rounding error of the change
_MAX_INFLUENCE = 1e3  # a larger influence is a step, such as that from a precision without predictions
_MAX_PATTERNS = {"multilabel": 500, "choice": 500, "rating": 60}
"""Number of patterns up to which each has its own influence; with more, documents form as many random groups."""
_MIN_LABELLED = 3  # documents with a label that the interval of an agreement on it needs
MIN_ERROR_UNITS = 4
"""Units below which an error of ratings has no interval: it would mostly be wider than the scale."""
RANDOMIZATIONS = 2000
"""Number of random exchanges of two annotators in ``randomization_test``."""


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
    """Documents with a reference and a complete verdict."""
    excluded: int
    """Documents with a reference and without a verdict (for a difference: of either annotator)."""
    overall: Mapping[str, Estimate]
    """Each metric over all labels by key, in the order of the registry."""
    labels: Mapping[str, LabelScores]
    """Each label by name, in the order of the codebook."""
    confusion: tuple[tuple[int, ...], ...] = ()
    """Of a choice ``[reference][predicted]`` in the order of the labels."""

    def __getitem__(self, key: str) -> Estimate:
        return self.overall[key]

    @property
    def coverage(self) -> float | None:
        """Share of the documents with a reference that have a verdict; None without a reference."""
        return self.n / (self.n + self.excluded) if self.n + self.excluded else None

    @property
    def main(self) -> Estimate:
        """The main score: macro F1, for ratings the mean Spearman correlation."""
        return self.overall[MAIN[self.kind]]

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by label name; empty for ratings."""
        return {name: label.counts for name, label in self.labels.items() if label.counts is not None}

    def table(
        self, cell: Callable[[Estimate], str], is_shown: Callable[[Metric], object] = bool
    ) -> tuple[list[str], dict[str, list[str]]]:
        """Return the names of the metrics of a label that are shown, and the cells of each label by name."""
        shown = [metric for metric in metrics(self.kind, per_label=True) if is_shown(metric)]
        rows = {name: [cell(label[metric.key]) for metric in shown] for name, label in self.labels.items()}
        return [metric.name for metric in shown], rows

    @property
    def cells(self) -> int:
        """Compared cells."""
        return sum(label.n for label in self.labels.values())


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
    data = _Patterns.from_values(kind, (reference, predicted), labels, design or Design(), LEVEL)
    estimates = data.estimate(data.unweighted[0], intervals=intervals)
    outputs = {metric: estimated.outputs for metric, estimated in estimates.items()}
    if intervals and data.design.is_weighted:
        for metric in outputs:
            if metric.interval is not None:
                outputs[metric] = [output if output.interval else Estimate() for output in outputs[metric]]
    return _scores(data, outputs, labels, data.unweighted[0])


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

    Intervals combine those of both annotators by their correlation over documents (``difference_interval``), so that
    they are within the possible range and as wide as few positives require. A positive difference means that the second
    value is higher.
    """
    data = _Patterns.from_values(kind, (reference, first, second), labels, design or Design(), level)
    of_first, of_second = map(data.estimate, data.unweighted)
    differences = {
        metric: [data.compare(metric, column, before, of_second[metric]) for column in range(len(before.outputs))]
        for metric, before in of_first.items()
    }
    return _scores(data, differences, labels)


def randomization_test(
    kind: Kind,
    reference: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    labels: Sequence[str],
    *,
    groups: Codes | None = None,
) -> float | None:
    """Return p of the hypothesis that two annotators are equally good by the main metric, two-sided.

    If they are, their values on a document (or a group of dependent documents) may be exchanged. p is the share of
    random exchanges with a difference as large as the observed one (approximate randomization: Noreen 1989; Yeh 2000,
    COLING). None without a document or a value. It is slow for many documents: see ``interval_p``.
    """
    first, second = sorted((first, second), key=lambda values: np.asarray(values).tobytes())  # either order, same p
    data = _Patterns.from_values(kind, (reference, first, second), labels, Design(groups=groups), LEVEL)
    metric = main_metric(kind)
    gold, *sides = data.sides
    differs = ~np.equal(*sides).all(axis=1)
    rows = np.concatenate([gold, gold]), np.concatenate(sides)

    def gap(exchanged: Numbers) -> Numbers:
        unexchanged = data.frequency - exchanged
        before, after = (
            metric.compute(Samples(np.concatenate(both, axis=1), *rows))
            for both in ((unexchanged, exchanged), (exchanged, unexchanged))
        )
        return np.asarray(after - before)

    observed = float(gap(np.zeros((1, len(gold))))[0])
    if not data.n or np.isnan(observed):
        return None
    if not differs.any():
        return 1.0
    group = np.unique(groups[data.rows], return_inverse=True)[1] if groups is not None else np.arange(data.n)
    rng = np.random.default_rng(0)
    count = RANDOMIZATIONS if kind != "rating" else RANDOMIZATIONS // 4
    at_once = max(1, _CELLS_AT_ONCE // (2 * len(gold)))
    as_large = 0
    for start in range(0, count, at_once):
        size = min(at_once, count - start)
        if groups is None:
            exchanged = rng.binomial(data.frequency.astype(np.int64), 0.5, (size, len(gold))).astype(np.float64)
        else:
            flipped = rng.integers(0, 2, (size, int(group.max()) + 1)).astype(np.float64)[:, group]
            exchanged = np.stack([np.bincount(data.inverse, row, len(gold)) for row in flipped])
        as_large += int((np.abs(np.nan_to_num(gap(exchanged))) >= abs(observed) - TINY).sum())
    return (1 + as_large) / (1 + count)


def interval_p(gap: Estimate, freedom: float = inf) -> float | None:
    """Return the two-sided p of a difference by its interval; None without an interval.

    The difference has Student's t distribution with ``freedom`` degrees, as its interval; without, the normal one. An
    interval without a width shows an exact difference: p is 1 if it is 0, else 0.
    """
    from scipy.special import stdtr

    if gap.value is None or gap.interval is None:
        return None
    width = gap.interval.high - gap.interval.low
    if width <= TINY:
        return float(abs(gap.value) <= TINY)
    error = width / 2 / t_quantile(freedom, gap.interval.level)
    return 2 * float(stdtr(freedom, -abs(gap.value) / error))


def strict_scores(
    kind: Kind,
    reference: npt.ArrayLike,
    predicted: npt.ArrayLike,
    labels: Sequence[str],
    *,
    design: Design | None = None,
) -> dict[str, Estimate]:
    """Return the macro, micro and accuracy scores with every excluded document counted as wrong in every label.

    A choice without a verdict misses the label of the reference and adds no false positive. ``design`` as for
    ``score``. Empty for ratings, which have no wrong value that would be as far off as the right one is near.
    """
    if kind == "rating":
        return {}
    gold, verdicts = (codes(side).reshape(len(side), -1) for side in (np.asarray(reference), np.asarray(predicted)))
    wrong = gold != 1 if kind == "multilabel" else len(labels)
    filled = np.where((verdicts < 0).any(axis=1, keepdims=True), wrong, verdicts)
    scores = score(kind, gold, filled, labels, design=design)
    return {metric.key: scores[metric.key] for metric in strict_metrics(kind)}


def strict_metrics(kind: Kind) -> list[Metric]:
    """Return the metrics of ``strict_scores``."""
    return [metric for metric in metrics(kind) if kind != "rating" and metric.path[0] in ("macro", "micro", "accuracy")]


def to_json(scores: Scores) -> dict[str, Any]:
    """Return the scores as plain data with None for undefined.

    Means over labels are nested as ``macro.f1``. ``labels`` has for each label ``n``, the counts and the scores of the
    contract; its further scores are in ``measures``. ``confusion`` of a choice is ``[REFERENCE][PREDICTED]`` by name.
    ``intervals`` mirrors this structure for every metric with intervals; a score without one has None there.
    """
    result: dict[str, Any] = {"n": scores.n, "excluded": scores.excluded, "coverage": scores.coverage}
    result |= nest_averages({key: estimate.value for key, estimate in scores.overall.items()}, scores.kind)
    contract = LABEL_CONTRACT if scores.kind != "rating" else tuple(m.key for m in metrics("rating", per_label=True))
    result["labels"] = {
        name: {
            "n": label.n,
            **(asdict(label.counts) if label.counts else {}),
            **{key: label[key].value for key in contract},
        }
        for name, label in scores.labels.items()
    }
    if scores.kind != "rating":
        result["measures"] = {
            name: {key: estimate.value for key, estimate in label.scores.items() if key not in contract}
            for name, label in scores.labels.items()
        }
    if scores.kind == "choice":
        names = list(scores.labels)
        result["confusion"] = {
            name: dict(zip(names, row, strict=True)) for name, row in zip(names, scores.confusion, strict=True)
        }
    overall = [metric for metric in metrics(scores.kind) if metric.interval is not None]
    per_label = [metric for metric in metrics(scores.kind, per_label=True) if metric.interval is not None]
    result["intervals"] = {
        "level": LEVEL,
        **nest_averages({metric.key: ends(scores[metric.key].interval) for metric in overall}, scores.kind),
        "labels": {
            name: {metric.key: ends(label[metric.key].interval) for metric in per_label}
            for name, label in scores.labels.items()
        },
    }
    return result


LABEL_CONTRACT = ("accuracy", "precision", "recall", "f1")
"""The scores in ``labels`` of the headless contract."""


@dataclass(frozen=True, slots=True, eq=False)
class _Estimated:
    """A metric of one annotator: its outputs, one for each label or one over all, and the roots of their covariance."""

    outputs: list[Estimate]
    roots: Numbers
    cases: list[float] = field(default_factory=list)
    """Independent cases of each output of a label, by which a difference is judged."""


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Documents as patterns of outcomes."""

    kind: Kind
    sides: tuple[Numbers, ...]
    """The reference and each annotator, ``[pattern, label]``."""
    frequency: Numbers
    """Documents of each pattern."""
    weights: Numbers
    """Design weight of each pattern."""
    inverse: Codes
    """The pattern of each compared document."""
    rows: Codes
    """The row of each compared document in the arguments."""
    documents: int
    """Rows of the arguments."""
    n: int
    """Compared documents."""
    excluded: int
    """Documents with a reference and without a verdict."""
    cells: Numbers
    """Compared documents by label."""
    alike: Mask
    """``[label]``: True if all annotators have the same values, on documents without a reference, too."""
    design: Design
    level: float

    @classmethod
    def from_values(
        cls, kind: Kind, sides: Sequence[npt.ArrayLike], labels: Sequence[str], design: Design, level: float
    ) -> _Patterns:
        grids: list[npt.NDArray[Any]] = [
            ratings(side) if kind == "rating" else _grid(kind, side, len(labels)) for side in sides
        ]
        check_shapes(*grids)
        if grids[0].ndim != 2 or grids[0].shape[1] != len(labels):
            raise ValueError(f"an array of shape {grids[0].shape} needs {len(labels)} columns, one for each label")
        has_value = [~np.isnan(grid) if kind == "rating" else grid >= 0 for grid in grids]
        counted, excluded = counted_documents(*has_value)
        counted_grids = [grid[counted] for grid in grids]
        outcomes = counted_grids
        if kind != "rating":  # 0 true negative, 1 false positive, 2 false negative, 3 true positive, -1 no reference
            gold = counted_grids[0]
            outcomes = [np.where(gold < 0, -1, 2 * gold + predicted).astype(np.int8) for predicted in counted_grids[1:]]
        first, inverse, frequency = distinct_rows(np.concatenate(outcomes, axis=1))
        reference, *annotators = (grid[first].astype(np.float64) for grid in counted_grids)
        if kind != "rating":
            reference = np.where(reference < 0, np.nan, reference)
        return cls(
            kind=kind,
            sides=(reference, *annotators),
            frequency=frequency.astype(np.float64),
            weights=np.bincount(inverse, design.weights(len(counted))[counted], len(first)).astype(np.float64),
            inverse=inverse,
            rows=np.flatnonzero(counted),
            documents=len(counted),
            n=int(counted.sum()),
            excluded=excluded,
            cells=has_value[0][counted].sum(axis=0).astype(np.float64),
            alike=np.all((grids[1] == grids[-1]) | ~has_value[1] | ~has_value[-1], axis=0),
            design=design,
            level=level,
        )

    @cached_property
    def unweighted(self) -> list[Samples]:
        """The documents of each annotator without their weights."""
        reference, *annotators = self.sides
        return [Samples(self.frequency[None, :], reference, predicted) for predicted in annotators]

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
    def changes(self) -> tuple[Numbers, bool]:
        """Weights to measure influences on, ``[change, pattern]``, and True if each change is one pattern."""
        count = len(self.weights)
        if count <= _MAX_PATTERNS[self.kind] or self.design.sample is not None:
            return self.weights + _WEIGHT_STEP * np.eye(count), True
        groups = self.design.groups
        of_unit = np.unique(groups[self.rows], return_inverse=True)[1] if groups is not None else np.arange(self.n)
        units = int(of_unit.max()) + 1
        max_patterns = _MAX_PATTERNS[self.kind] if count <= _MANY_PATTERNS else _MAX_PATTERNS[self.kind] // 5
        part_of_unit = np.random.default_rng(0).permutation(units) % min(units, max_patterns)
        parts = np.zeros((int(part_of_unit.max()) + 1, count))
        np.add.at(parts, (part_of_unit[of_unit], self.inverse), 1.0)
        return self.weights + _WEIGHT_STEP * parts, False

    def estimate(self, annotator: Samples, *, intervals: bool = True) -> dict[Metric, _Estimated]:
        """Return the estimates of every metric of an annotator. Means over labels follow from those of the labels."""
        base = replace(annotator, weights=self.weights[None, :])
        has_intervals = intervals and self.quantile is not None
        changed = replace(base, weights=self.changes[0]) if has_intervals else None
        estimates = {metric: self._direct(metric, base, changed) for metric in metrics(self.kind, per_label=True)}
        of_label = {metric.key: of_labels for metric, of_labels in estimates.items()}
        for metric in metrics(self.kind):
            if metric.average in ("macro", "weighted") and has_intervals and metric.interval is not None:
                estimates[metric] = self._mean(metric, base, of_label[metric.base])
            else:
                estimates[metric] = self._direct(metric, base, changed)
        return estimates

    def _direct(self, metric: Metric, base: Samples, changed: Samples | None) -> _Estimated:
        """Return a metric from its own influences, its value alone without changed samples."""
        values = np.atleast_1d(metric.compute(base)[0])
        if metric.interval is None or changed is None:
            return _Estimated([Estimate(_number(value), None) for value in values], np.zeros((1, len(values))))
        _, single = self.changes
        influence = np.nan_to_num((_two_dimensional(metric.compute(changed)) - values) / _WEIGHT_STEP)
        influence[(np.abs(influence) < _MIN_INFLUENCE) | (np.abs(influence) > _MAX_INFLUENCE)] = 0.0
        roots = self._roots(influence, single=single)
        spreads = self._spreads(metric, base, values, (roots**2).sum(axis=0))
        outputs = [
            Estimate(float(value), metric_intervals.interval(metric.interval, float(value), spread))
            if not np.isnan(value)
            else Estimate()
            for value, spread in zip(values, spreads, strict=True)
        ]
        return _Estimated(outputs, roots, [spread.units for spread in spreads] if metric.cases is not None else [])

    def _spreads(self, metric: Metric, base: Samples, values: Numbers, variances: Numbers) -> list[Spread]:
        """Return the spread of each output of a metric. ``variances`` are those of its influences."""
        if metric.cases is None:
            return [Spread(float(variance), self.quantile, level=self.level) for variance in variances]
        weights = _two_dimensional(metric.cases(base))[0]
        documents, units = self._case_units(metric.cases, base)
        spreads = []
        for column, weight in enumerate(weights.tolist()):
            if not weight > 0:
                spreads.append(Spread(0.0, None))
                continue
            variance, quantile = float(variances[column]), self.quantile
            if metric.interval in ("share", "f1"):
                if self.design.is_simple and metric.per_label:
                    variance = _binomial(metric.interval, float(values[column]), weight)
                variance += self.design.floor(self.units, weight)
            if not self.design.is_simple:
                quantile = self.design.quantile(int(units[column]), self.level)
            elif documents[column] > units[column] > 1:  # the cells of a document are dependent, as in ``ratio``
                variance *= float(units[column] / (units[column] - 1))
                quantile = t_quantile(float(units[column]) - 1, self.level)
            elif self.kind == "rating" and metric.interval not in ("share", "f1"):
                factor, quantile = self._small_sample(metric, float(units[column]))
                variance *= factor
            if quantile != 0 and units[column] < self._min_units(metric):
                quantile = None
            spreads.append(Spread(variance, quantile, float(documents[column]), float(units[column]), self.level))
        return spreads

    def _small_sample(self, metric: Metric, units: float) -> tuple[float, float | None]:
        """Return the factor of the variance, and the quantile, of an error, a correlation or a difference of two.

        (Simulated coverage at 95% of differences in kappa, AC1, alpha and Matthews' correlation of a choice: of 30
        documents 92 to 98%, with the normal quantile 91 to 96%; of 60 documents 93 to 97%, of 200 94 to 97%.)
        """
        means = 2 if metric.interval == "correlation" else 1  # a correlation estimates two
        if not self.design.is_simple or units <= means:
            return 1.0, self.quantile
        return units / (units - means), t_quantile(units - means, self.level)

    def _min_units(self, metric: Metric) -> int:
        """Return the number of independent units that an interval needs."""
        if metric.interval == "correlation":
            return MIN_CORRELATED_UNITS if self.kind == "rating" or not self.design.is_simple else _MIN_LABELLED
        return MIN_ERROR_UNITS if metric.interval in ("mean", "signed") else 0

    def _roots(self, influence: Numbers, *, single: bool) -> Numbers:
        """Return roots of the covariance of outputs: their product with themselves, summed, is the covariance."""
        if not single:
            return np.asarray(influence * sqrt(len(influence) / max(1, len(influence) - 1)))
        if self.design.is_simple:
            return np.asarray(influence * np.sqrt(self.frequency)[:, None])
        by_document = np.zeros((self.documents, influence.shape[1]))
        by_document[self.rows] = influence[self.inverse]
        return self.design.roots(by_document)

    def _correlations(self, roots: Numbers) -> Numbers:
        """Return the correlations of outputs from their roots, smaller for few groups: two groups show only 1 or -1."""
        correlations = metric_intervals.correlations(roots)
        if self.design.groups is None:
            return correlations
        kept = 1 - 1 / (self.units - 1) ** 2
        return np.asarray(kept * correlations + (1 - kept) * np.eye(len(correlations)))

    def _case_units(self, cases: Callable[[Samples], Numbers], base: Samples) -> tuple[Numbers, Numbers]:
        """Return the unweighted cases of each output, and the independent units among them."""
        documents = _two_dimensional(cases(replace(base, weights=self.frequency[None, :])))[0]
        if self.design.is_simple or len(self.weights) > 2 * _MAX_PATTERNS["choice"]:
            return documents, np.minimum(documents, self.units)
        of_pattern = _two_dimensional(cases(replace(base, weights=np.eye(len(self.weights))))) > 0
        return documents, np.array([float(self.units_of(column)) for column in of_pattern.T])

    def _mean(self, metric: Metric, base: Samples, of_labels: _Estimated) -> _Estimated:
        """Return a mean over labels from the estimates of the labels."""
        value = _number(metric.compute(base)[0])
        values = np.array([np.nan if output.value is None else output.value for output in of_labels.outputs])
        weight = label_weights(metric, metric.average, base, values[None, :])[0]
        share = weight / weight.sum() if weight.sum() > 0 else weight
        columns = np.flatnonzero((weight > 0) & ~np.isnan(values))
        outputs = [of_labels.outputs[column] for column in columns]
        roots = of_labels.roots @ share[:, None]
        interval: Interval | None
        if value is None or not outputs:
            interval = None
        elif len(outputs) == 1:
            interval = outputs[0].interval
        elif metric.interval in ("mean", "signed", "correlation"):
            factor, quantile = self._small_sample(metric, self.units)
            if quantile != 0 and self.units < self._min_units(metric):
                quantile = None
            spread = Spread(factor * float((roots**2).sum()), quantile, level=self.level)
            interval = metric_intervals.interval(metric.interval, value, spread)
        else:
            ranges = [_range(metric, output) for output in outputs]
            interval = combine(
                values[columns] * share[columns],
                np.array([span.low for span in ranges]) * share[columns],
                np.array([span.high for span in ranges]) * share[columns],
                self._correlations(of_labels.roots[:, columns]),
                self.level,
            )
        return _Estimated([Estimate(value, interval)], roots)

    def compare(self, metric: Metric, column: int, first: _Estimated, second: _Estimated) -> Estimate:
        """Return an output of the second annotator minus that of the first."""
        before, after = first.outputs[column].value, second.outputs[column].value
        if before is None or after is None:
            return Estimate()
        if metric.interval is None or self.quantile is None:
            return Estimate(after - before, None)
        return Estimate(after - before, self._gap(metric, column, first, second, self.quantile))

    def _gap(
        self, metric: Metric, column: int, first: _Estimated, second: _Estimated, quantile: float
    ) -> Interval | None:
        """Return the interval of a difference.

        With enough cases it comes from the influences of the difference, and one more document on which both differ.
        If they differ nowhere, or only where a share stays the same, it is that of ``_equal``; it is as wide if fewer
        than ``_MIN_CHANGED`` documents are right with only one of them. With few cases, or if a share is 0 or 1, it
        combines the intervals of both, which the ends of the range make wide. None if one of few cases is an error or a
        correlation without an interval, or if differences that are all the same do not show the possible error. In a
        sample that represents other documents, only those on which both differ tell how far off the difference may be:
        they are the units, and with fewer than ``_MIN_DIFFERING`` there is no interval. With few changes the variance
        there includes half a change more.
        """
        _, *annotators = self.sides
        first_values, second_values = (side[:, [column]] if metric.per_label else side for side in annotators)
        differs = np.any(first_values != second_values, axis=1)
        is_estimate = self.design.is_weighted and not self.design.is_census
        fewest_cases = self._fewest_cases(metric, column, first, second)
        before, after = first.outputs[column], second.outputs[column]
        low, high = before.value or 0.0, after.value or 0.0
        roots = np.stack([first.roots[:, column], second.roots[:, column]], axis=1)
        variance = float(((roots[:, 1] - roots[:, 0]) ** 2).sum())
        has_ends = metric.interval in ("share", "f1")
        is_constant = has_ends and bool(((roots**2).sum(axis=0) <= TINY**2).any())
        is_unaffected = has_ends and not is_constant and variance <= _MIN_INFLUENCE**2  # as accuracy, if both are wrong
        if not differs.any() or is_unaffected:
            alike = self.alike[column] if metric.per_label else self.alike.all()
            if self.design.is_census or (alike and is_estimate):
                return Interval(0.0, 0.0, self.level)
            return None if is_estimate else self._equal(metric, fewest_cases)
        has_few = is_constant or fewest_cases < _MIN_CASES
        is_unknown = variance <= TINY or (has_few and (before.interval is None or after.interval is None))
        if not has_ends and quantile and is_unknown:
            return None
        if has_few:
            correlation = float(self._correlations(roots)[0, 1])
            return difference_interval(
                (low, _range(metric, before)), (high, _range(metric, after)), correlation, self.level
            )
        units = self.units_of(differs)
        if is_estimate:
            if units < _MIN_DIFFERING:
                return None
            quantile = t_quantile(units - 1, self.level)
            if self.design.sample is not None and self._has_few_changes(metric, differs):  # half a change more
                variance += 0.5 * (self.design.sample.share_per_draw / self.design.sample.drawn) ** 2
        elif not has_ends:
            factor, t = self._small_sample(metric, self.units)
            variance, quantile = factor * variance, t or quantile
        half = quantile * sqrt(variance * (1 + 1 / max(1, units)))
        if self.kind != "rating" and quantile and not is_estimate and self._has_few_changes(metric, differs):
            equal = self._equal(metric, fewest_cases)
            half = max(half, equal.high if equal else 0.0)
        lowest, highest = RANGES[metric.interval or "signed"]
        limit = highest - lowest
        return Interval(max(-limit, high - low - half), min(limit, high - low + half), self.level)

    def _has_few_changes(self, metric: Metric, differs: Mask) -> bool:
        """Return True if hardly any document is right with one annotator only, so that their effect is not known."""
        if self.kind == "choice" and not metric.per_label:
            gold, *annotators = self.sides
            first_right, second_right = (np.equal(side, gold).all(axis=1) for side in annotators)
            differs = np.not_equal(first_right, second_right)
        return self.units_of(differs) < _MIN_CHANGED

    def _equal(self, metric: Metric, cases: float) -> Interval | None:
        """Return the interval of the difference of annotators whose independent documents all count the same.

        Documents that differ may exist: if their share were at the end of the interval, one of them would probably have
        been among these (the exact upper limit of a share of 0: Clopper and Pearson 1934, Biometrika 26). A document
        that differs changes a score by about its share of the ``cases``, and a mean over labels by its part of this.
        None for errors of ratings, which have another range, and with too few documents for an interval of the metric.
        """
        if metric.interval in ("mean", "signed") or self.units < self._min_units(metric):
            return None
        labels = len(self.cells) if metric.average in ("macro", "weighted") else 1
        units = min(float(self.units), labels * cases)
        bound = 1 - ((1 - self.level) / 2) ** (1 / units) if units else 1.0
        return Interval(-bound, bound, self.level)

    def _fewest_cases(self, metric: Metric, column: int, *estimated: _Estimated) -> float:
        """Return the fewest cases that a metric of either annotator rests on; of a mean, of any of its labels."""
        fewest = float(self.n)
        if self.kind == "rating":
            return fewest
        for counts in self.unweighted:
            labelled, present = counts.labelled[0], metric.support(counts)[0] > 0
            if metric.per_label:
                fewest = min(fewest, float(labelled[column]), *(side.cases[column] for side in estimated if side.cases))
            elif metric.average in ("macro", "weighted") and present.any():
                fewest = min(fewest, float(labelled[present].min()))
        return fewest


def _scores(
    data: _Patterns,
    estimates: Mapping[Metric, Sequence[Estimate]],
    labels: Sequence[str],
    counted: Samples | None = None,
) -> Scores:
    """Return scores, with the counts and confusion matrix of one annotator."""
    counts: list[Counts | None] = [None] * len(labels)
    matrix: list[list[int]] = []
    if counted is not None and data.kind != "rating":
        counts = [*counted.counts()]
        matrix = counted.confusion[0].astype(int).tolist() if data.kind == "choice" else []
    return Scores(
        kind=data.kind,
        n=data.n,
        excluded=data.excluded,
        overall={metric.key: estimates[metric][0] for metric in metrics(data.kind)},
        labels={
            name: LabelScores(
                int(data.cells[column]),
                counts[column],
                {metric.key: estimates[metric][column] for metric in metrics(data.kind, per_label=True)},
            )
            for column, name in enumerate(labels)
        },
        confusion=tuple(map(tuple, matrix)),
    )


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
    value = output.value or 0.0
    return Interval(0.0, 1.0) if metric.interval in ("share", "f1") else Interval(value, value)


def _grid(kind: Kind, values: npt.ArrayLike, labels: int) -> BinaryGrid:
    """Return values as a binary grid ``[document, label]``, of a choice one-hot; code ``labels`` stands for none."""
    label_codes = codes(values)
    if kind == "multilabel":
        if label_codes.max(initial=-1) > 1:
            raise ValueError(f"expected 1, 0 or no value, got {label_codes.max()}")
        return label_codes.astype(np.int8)
    label_codes = label_codes[:, 0] if label_codes.ndim == 2 and label_codes.shape[1] == 1 else label_codes
    if label_codes.ndim != 1 or label_codes.max(initial=-1) > labels:
        raise ValueError(f"expected codes [document] of at most {labels}")
    return one_hot(label_codes, labels)


def _two_dimensional(values: Numbers) -> Numbers:
    return values[:, None] if values.ndim == 1 else values


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
