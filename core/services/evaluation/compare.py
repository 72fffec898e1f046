"""Comparison of runs on the same documents: differences with intervals and tests, costs, and changes by document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook
from core.documents import Reference
from core.errors import UsageError
from core.formatting import format_count, format_p_value, format_points, format_signed, join_names
from core.runs import RunRow
from core.services.cache import cached_until_commit
from core.services.evaluation import repeated_runs, run_data
from core.services.evaluation.reference import check_reference
from core.services.evaluation.run_data import Grid
from core.services.evaluation.scores import cost_of_run, cost_unit, efficient, evaluate, score
from core.services.project_session import ProjectSession
from core.stats import flips, metrics, scoring, significance
from core.stats.arrays import Codes, Mask, one_hot
from core.stats.intervals import LEVEL, Estimate, Interval, format_interval
from core.stats.metric_intervals import Design
from core.stats.scoring import Scores
from core.stats.significance import ALPHA, CochranQ, McNemar, TTest, cochrans_q, holm, mcnemar_of, paired_t, welch_t

DifferenceVerdict: TypeAlias = Literal["better", "worse", "none", "unknown"]
"""Verdict on the second run; ``none``: no significant difference, ``unknown``: too little data."""
MOST_EXCHANGED: Mapping[str, int] = {"multilabel": 1000, "choice": 1000, "rating": 200}
"""Up to this many differing documents, the main score is tested by permutation; above, by the normal distribution."""
MIN_POSITIVES = 5
"""Minimum number of reference documents with a label for a verdict on that label."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """A score in sentences: its key, its unit, and the reason for an undefined difference."""

    key: str
    unit: str
    undefined: str


_LABEL_MEASURES: Mapping[str, _Measure] = {
    "multilabel": _Measure("f1", "points F1", "the reference has no positives"),
    "choice": _Measure("f1", "points F1", "no document has this label in the reference"),
    "rating": _Measure("near", "points in the share off by less than a point", "the reference has no ratings"),
}
"""Of a label or dimension, by kind of codebook."""
_MACRO_F1 = _Measure(metrics.MAIN["choice"], "points macro F1", "no label is present in the reference")
_MAIN_MEASURES: Mapping[str, _Measure] = {
    "multilabel": _MACRO_F1,
    "choice": _MACRO_F1,
    "rating": _Measure(metrics.MAIN["rating"], "mean Spearman correlation", "the ratings do not vary"),
}
"""Of the whole, by kind of codebook."""


@dataclass(frozen=True, slots=True)
class LabelTest:
    """One label (or dimension) of two runs: second minus first."""

    label_id: str
    name: str
    colour: int
    difference: Estimate
    """in F1; of ratings in the share off by less than a point"""
    positives: int
    """documents with the label in the reference, of a dimension those with a rating"""
    test: McNemar
    adjusted: float | None
    """McNemar's p after Holm's correction over the labels"""
    verdict: DifferenceVerdict
    sentence: str


@dataclass(frozen=True, slots=True)
class MainTest:
    """The difference in the main score, its test and the one verdict on it."""

    metric: str
    difference: Estimate
    p: float | None
    """of ``scoring.swap_test``, with many documents of ``scoring.normal_p``"""
    adjusted: float | None
    """p after Holm's correction over the compared pairs"""
    verdict: DifferenceVerdict


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Test of the main score of the second run for equivalence with the first, up to a margin."""

    margin: float
    interval: Interval | None
    """90% interval of the difference: two one-sided tests at 5%"""

    @property
    def equivalent(self) -> bool:
        """True if the whole interval lies within the margin."""
        return self.interval is not None and -self.margin < self.interval.low <= self.interval.high < self.margin

    @property
    def non_inferior(self) -> bool:
        """True if the second run is at most the margin worse."""
        return self.interval is not None and self.interval.low > -self.margin

    @property
    def sentence(self) -> str:
        """The result in plain words."""
        margin = f"a margin of {format_points(self.margin).lstrip('+')} points"
        if self.interval is None:
            return f"{margin[0].upper()}{margin[1:]} cannot be tested: the difference has no interval."
        span = format_interval(self.interval, "points", named=True)
        if self.equivalent:
            return f"Equivalent within {margin} ({span})."
        if self.non_inferior:
            return f"Not inferior by {margin} ({span})."
        return f"Neither equivalent nor non-inferior within {margin} ({span})."


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs against the same reference; differences are second minus first."""

    first: str
    second: str
    scores: Scores
    """the difference of every metric on the ``n`` documents with a reference and a complete verdict in all compared
    runs; ``excluded`` are shared documents with a reference that one of the runs has no verdict on"""
    main: MainTest
    equivalence: Equivalence | None
    """None without a margin"""
    labels: tuple[LabelTest, ...]
    documents: McNemar
    """on whole documents: right in every label"""
    discordance: significance.Discordance
    paired: TTest | None
    welch: TTest | None
    """over iterations, None when either has fewer than two"""
    effect_size: float | None
    """Hedges' g over iterations"""
    flip_table: flips.FlipTable
    """corrections and regressions of the second, cell by cell"""
    sentence: str


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of a comparison."""

    run: RunRow
    scores: Scores
    """on the documents of the comparison, so that a difference is the difference of two columns"""
    cost: Mapping[str, float | None]
    """``cost_of_run``"""
    efficient: bool
    """True if no other run is as good at a lower cost, or better at the same cost"""
    unit: str
    """unit of the cost: ``usd``, or ``tokens`` if a price is unknown or nothing cost anything"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side; the first is what the others are compared with."""

    columns: tuple[ComparedRun, ...]
    pairs: tuple[Pair, ...]
    """each other run against the first"""
    adjusted: tuple[float | None, ...]
    """the pairs' p on whole documents after Holm's correction"""
    several: CochranQ | None
    """None with two runs, for which McNemar's test is used"""


@cached_until_commit
def comparison(
    session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold", margin: float | None = None
) -> Comparison:
    """Two or more runs of one codebook side by side.

    ``margin`` (0 to 1) adds a test of equivalence of the main score. UsageError for an unknown run, one named twice,
    codebooks that differ, and runs without a document in common.
    """
    runs = [session.run(id) for id in run_ids]
    if len(runs) < 2 or len(set(run_ids)) < len(runs):
        raise UsageError("A comparison takes two or more different runs.", "Name each run once.")
    codebook = runs[0].settings.codebook
    for run in runs[1:]:
        if not are_comparable(codebook, run.settings.codebook):
            raise UsageError(f"{runs[0].title} and {run.title} have different labels.", "Choose runs of one codebook.")
    check_reference(session, reference)
    documents, gold, verdicts = load_shared(session, runs, reference)
    complete: Mask = np.all([~np.isnan(values).any(axis=1) for values in verdicts], axis=0)
    verdicts = [np.where(complete[:, None], values, np.nan) for values in verdicts]
    scored = run_data.AnnotationArrays(documents, gold, verdicts[0])
    shared = _SharedDocuments(
        codebook, gold, run_data.sampling_design(session, runs[0], reference, scored, *verdicts[1:])
    )
    first, *others = (
        _Side(run, values, _main_score_by_iteration(session, run, reference))
        for run, values in zip(runs, verdicts, strict=True)
    )
    differences = [shared.difference(first.verdicts, other.verdicts) for other in others]
    p_values = [
        shared.main_p(scores, first.verdicts, other.verdicts) for scores, other in zip(differences, others, strict=True)
    ]
    mains = [
        MainTest(metrics.MAIN[codebook.kind], scores.main, p, adjusted, _verdict(scores.main, adjusted))
        for scores, p, adjusted in zip(differences, p_values, holm(p_values), strict=True)
    ]
    pairs = tuple(
        shared.pair(first, other, scores, main, margin)
        for other, scores, main in zip(others, differences, mains, strict=True)
    )
    several = None
    if len(runs) > 2 and shared.design.plain:
        known, *cases = _right_documents(*shared.coded(*verdicts))
        several = cochrans_q(known, dict(zip(run_ids, cases, strict=True)))
    adjusted = holm([pair.documents.p for pair in pairs])
    return Comparison(_compared_runs(session, runs, shared, verdicts), pairs, adjusted, several)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A run of a comparison: its verdicts on the shared documents, and the main score of its iterations."""

    run: RunRow
    verdicts: Grid
    by_iteration: Mapping[int, float]
    """in points (0 to 100) by the number of the iteration; NaN where it is undefined"""


@dataclass(frozen=True, slots=True, eq=False)
class _SharedDocuments:
    """The reference on the documents of a comparison, and how these were selected."""

    codebook: Codebook
    gold: Grid
    design: Design

    @property
    def measured(self) -> bool:
        """True for ratings."""
        return self.codebook.kind == "rating"

    def coded(self, *verdicts: Grid) -> list[Codes]:
        """Return the reference and verdicts as codes that are equal where a verdict is right, -1 where missing."""
        return run_data.coded(self.gold, *verdicts, measured=self.measured)

    def difference(self, first: Grid, second: Grid, level: float = LEVEL) -> Scores:
        """Return every score of the second run minus that of the first."""
        kind, names = self.codebook.kind, self.codebook.names
        return scoring.difference(kind, self.gold, first, second, names, design=self.design, level=level)

    def main_p(self, scores: Scores, first: Grid, second: Grid) -> float | None:
        """Return the p of the difference in the main score."""
        kind, names = self.codebook.kind, self.codebook.names
        apart = int((~np.isnan(first) & (first != second)).any(axis=1).sum())
        if apart > MOST_EXCHANGED[kind] or self.design.represents:
            return scoring.normal_p(scores.main)
        key = metrics.MAIN[kind]
        return scoring.swap_test(kind, key, self.gold, first, second, names, groups=self.design.groups)

    def pair(self, first: _Side, second: _Side, scores: Scores, main: MainTest, margin: float | None) -> Pair:
        """Return the comparison of two runs from the differences of their scores and the test of the main one."""
        gold, *coded = self.coded(first.verdicts, second.verdicts)
        documents = mcnemar_of(*_right_documents(gold, *coded), groups=self.design.groups)
        equivalence = None
        if margin is not None:
            interval = self.difference(first.verdicts, second.verdicts, 1 - 2 * ALPHA).main.interval
            units = documents.groups or documents.n
            if interval is not None and interval.low == interval.high and not self.design.exact:
                interval = _interval_of_equal_runs(units)
            equivalence = Equivalence(margin, interval)
        iterations = [list(side.by_iteration.values()) for side in (first, second)]
        are_repeated = all(np.count_nonzero(~np.isnan(values)) > 1 for values in iterations)
        are_paired = are_repeated and first.by_iteration.keys() == second.by_iteration.keys()
        steps = [(side.run.run_id, codes) for side, codes in zip((first, second), coded, strict=True)]
        return Pair(
            first=first.run.run_id,
            second=second.run.run_id,
            scores=scores,
            main=main,
            equivalence=equivalence,
            labels=self.label_tests(first, second, scores),
            documents=documents,
            discordance=significance.discordance(documents),
            paired=paired_t(*iterations) if are_paired else None,
            welch=welch_t(*iterations) if are_repeated else None,
            effect_size=significance.independent_d(*iterations) if are_repeated else None,
            flip_table=flips.flip_table(gold, steps, self.codebook.item_names, self.design),
            sentence=_sentence(first.run.title, second.run.title, scores, main),
        )

    def label_tests(self, first: _Side, second: _Side, scores: Scores) -> tuple[LabelTest, ...]:
        """Return the test of each label. A choice is wrong on a label if only the reference or the verdict is it."""
        labels, measure = self.codebook.labels, _LABEL_MEASURES[self.codebook.kind]
        coded: Sequence[npt.NDArray[Any]] = self.coded(first.verdicts, second.verdicts)
        if self.codebook.kind == "choice":
            coded = [one_hot(codes[:, 0], len(labels)) for codes in coded]
        by_label = zip(*(codes.T for codes in coded), strict=True)
        tests = [mcnemar_of(*columns, groups=self.design.groups) for columns in by_label]
        gold, *predicted = coded
        known: Mask = np.all([(codes >= 0).all(axis=1) for codes in predicted], axis=0)
        positives = (gold[known] >= 0 if self.measured else gold[known] > 0).sum(axis=0).tolist()
        label_tests = []
        for label, count, test, p in zip(labels, positives, tests, holm([test.p for test in tests]), strict=True):
            change, enough = scores.labels[label.name][measure.key], count >= MIN_POSITIVES
            verdict = _verdict(change, p, enough=enough)
            words = describe_difference(
                first.run.title, second.run.title, change, verdict, f" on {label.name}", measure
            )
            if change.value is not None and not enough:
                words = f"{words[:-1]}; only {format_count(count, 'rating' if self.measured else 'positive')}."
            label_tests.append(LabelTest(label.id, label.name, label.colour, change, count, test, p, verdict, words))
        return tuple(label_tests)


def _interval_of_equal_runs(units: int) -> Interval:
    """Return the 90% interval of the difference of runs that are equal on all of these independent documents.

    Documents that differ may exist: if their share were at the end of the interval, one of them would have been among
    these with a probability of 95% (the exact upper limit of a share of 0: Clopper and Pearson 1934, Biometrika 26). A
    document that differs changes the score by about its share.
    """
    most = 1 - ALPHA ** (1 / units)
    return Interval(-most, most, 1 - 2 * ALPHA)


def _verdict(difference: Estimate, p: float | None, *, enough: bool = True) -> DifferenceVerdict:
    """Return the one verdict on a difference: its interval excludes 0 and its adjusted test is significant."""
    if difference.value is None or difference.interval is None or p is None or not enough:
        return "unknown"
    if not difference.clear or p >= ALPHA:
        return "none"
    return "better" if difference.value > 0 else "worse"


def label_key(codebook: Codebook) -> tuple[str, ...]:
    """Return kind, labels and order: only runs with the same ones can be compared."""
    return (codebook.kind, *(label.id for label in codebook.labels))


def are_comparable(first: Codebook, second: Codebook) -> bool:
    """Return True if runs of two codebooks can be compared."""
    return label_key(first) == label_key(second)


def load_shared(
    session: ProjectSession, runs: Sequence[RunRow], reference: Reference
) -> tuple[tuple[str, ...], Grid, list[Grid]]:
    """Return the documents shared by all runs, the reference labels and the verdicts of each run.

    The documents are in the order of the first run. The reference is NaN where it is missing for any of the runs.
    Raises UsageError if the runs have no document in common.
    """
    loaded_runs = [run_data.verdict_arrays(session, run, reference) for run in runs]
    document_sets = [set(arrays.documents) for arrays in loaded_runs]
    shared = tuple(
        document for document in loaded_runs[0].documents if all(document in documents for documents in document_sets)
    )
    if not shared:
        names = join_names([run.title for run in runs])
        raise UsageError(f"{names} have no document in common.", "Choose other runs.")
    references = np.stack([arrays.reference[run_data.rows_in(arrays.documents, shared)] for arrays in loaded_runs])
    gold = np.where(np.isnan(references).any(axis=0), np.nan, references[0])  # examples in a codebook are excluded
    return shared, gold, [arrays.verdicts_on(shared) for arrays in loaded_runs]


def _compared_runs(
    session: ProjectSession, runs: Sequence[RunRow], shared: _SharedDocuments, verdicts: Sequence[Grid]
) -> tuple[ComparedRun, ...]:
    costs = [cost_of_run(session, run) for run in runs]
    unit = cost_unit(costs)
    scored = [score(shared.codebook, shared.gold, run_verdicts, design=shared.design) for run_verdicts in verdicts]
    points = [(cost[f"{unit}_per_document"], scores.main.value) for cost, scores in zip(costs, scored, strict=True)]
    rows = zip(runs, scored, costs, efficient(points), strict=True)
    return tuple(ComparedRun(run, scores, cost, is_efficient, unit) for run, scores, cost, is_efficient in rows)


def _right_documents(gold: Any, *coded: Any) -> tuple[Any, ...]:
    """Return 1 for documents that are right in every label with a reference, 0 for others, -1 for excluded ones."""
    known = (gold >= 0).any(axis=1)
    masks = [np.where(known, 1, -1)]
    for codes in coded:
        right = ((codes == gold) | (gold < 0)).all(axis=1)
        masks.append(np.where((codes >= 0).all(axis=1), right, -1))
    return tuple(masks)


def _main_score_by_iteration(session: ProjectSession, run: RunRow, reference: Reference) -> dict[int, float]:
    """Return the main score of each iteration in points (0 to 100) by its number; NaN where it is undefined."""
    values = {}
    for row in repeated_runs.siblings(session, run):
        main = evaluate(session, row, reference, intervals=False).scores.main.value
        values[row.settings.iteration] = math.nan if main is None else 100 * main
    return values


def describe_difference(
    first: str,
    second: str,
    difference: Estimate,
    verdict: DifferenceVerdict,
    where: str,
    measure: _Measure,
) -> str:
    """Return a difference as a sentence: "r0002 is better on Price: +4.1 points F1, 95% interval 1.2 to 7.0."."""
    if difference.value is None:
        return f"{first} and {second} cannot be compared{where}: {measure.undefined}."
    in_points = measure.unit.startswith("points")
    value = format_points(difference.value) if in_points else format_signed(difference.value, 3)
    value = f"{value} {measure.unit}"
    if difference.interval is None:
        return f"{second} against {first}{where}: {value}; too few documents for an interval."
    if difference.value == 0 and difference.interval.low == difference.interval.high:
        return f"{second} and {first} are equal{where}: the score is the same."
    span = format_interval(difference.interval, "points" if in_points else "number", named=True)
    if verdict in ("better", "worse"):
        return f"{second} is {verdict}{where}: {value}, {span}."
    return f"No significant difference between {second} and {first}{where}: {value}, {span}."


def _sentence(first: str, second: str, scores: Scores, main: MainTest) -> str:
    documents = format_count(scores.n + scores.excluded, "shared document")
    if scores.excluded:  # a run may be better on the documents that it decides, and leave many undecided
        documents = f"{scores.n:,} of {documents}"
    if not scores.n:
        return f"{first} and {second} cannot be compared: no shared document has a reference and a verdict in both."
    measure = _MAIN_MEASURES[scores.kind]
    words = describe_difference(first, second, main.difference, main.verdict, f" on {documents}", measure)
    if main.verdict != "none" or main.adjusted is None:
        return words
    p = format_p_value(main.adjusted)
    if main.adjusted < ALPHA:
        return f"{words} Only the test is significant ({p}); a clear difference needs test and interval."
    if main.difference.clear:
        return f"{words} The test is not significant ({p}); a clear difference needs test and interval."
    return words


Outcome: TypeAlias = Literal["regressed", "mixed", "corrected", "right", "wrong"]
OUTCOMES: Mapping[Outcome, str] = {
    "regressed": "regressed: a label became wrong and none was corrected",
    "mixed": "mixed: a label was corrected and another became wrong",
    "corrected": "corrected: a label was corrected and none became wrong",
    "wrong": "unchanged, and wrong on a label",
    "right": "unchanged, and right",
}
"""In display order, the most interesting first."""


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """A document with its outcome. ``corrected`` and ``regressed`` are names of labels (of a choice ``Label``)."""

    document_id: str
    text: str
    outcome: Outcome
    corrected: tuple[str, ...]
    regressed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """All shared documents with a reference and a complete verdict in both runs. Masks are ``[document, item]``."""

    documents: tuple[str, ...]
    kinds: tuple[Outcome, ...]
    corrected: Mask
    regressed: Mask
    names: tuple[str, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        """Documents by outcome."""
        return {name: self.kinds.count(name) for name in OUTCOMES}


@cached_until_commit
def outcomes(session: ProjectSession, first: str, second: str, reference: Reference = "gold") -> Outcomes:
    """Return the changes from ``first`` to ``second``. Raises UsageError like ``comparison``."""
    runs = [session.run(id) for id in (first, second)]
    codebook = runs[0].settings.codebook
    measured = codebook.kind == "rating"
    documents, gold, (first_verdicts, second_verdicts) = load_shared(session, runs, reference)
    is_complete = (
        ~np.isnan(gold).all(axis=1) & ~np.isnan(first_verdicts).any(axis=1) & ~np.isnan(second_verdicts).any(axis=1)
    )
    known = ~np.isnan(gold[is_complete])
    target, *coded = run_data.coded(
        gold[is_complete], first_verdicts[is_complete], second_verdicts[is_complete], measured=measured
    )
    was_right, is_right = (np.equal(codes, target) for codes in coded)
    corrected: Mask = known & is_right & ~was_right
    regressed: Mask = known & was_right & ~is_right
    is_corrected, is_regressed, all_right = (
        corrected.any(axis=1),
        regressed.any(axis=1),
        (is_right | ~known).all(axis=1),
    )
    kinds = np.select(
        [is_corrected & is_regressed, is_corrected, is_regressed, all_right],
        ["mixed", "corrected", "regressed", "right"],
        "wrong",
    )
    return Outcomes(
        documents=tuple(documents[row] for row in np.flatnonzero(is_complete)),
        kinds=tuple(kinds.tolist()),
        corrected=corrected,
        regressed=regressed,
        names=codebook.names if codebook.kind != "choice" else ("Label",),
    )


def outcome_page(
    session: ProjectSession,
    outcomes: Outcomes,
    kinds: Sequence[Outcome],
    *,
    label: str = "",
    limit: int = 50,
) -> tuple[tuple[ChangedDocument, ...], int]:
    """Return the first ``limit`` documents with one of these outcomes, and their total number.

    ``label`` limits them to documents with a correction or regression in this label.
    """
    column = outcomes.names.index(label) if label in outcomes.names else None
    rows = [
        index
        for index, kind in enumerate(outcomes.kinds)
        if kind in kinds and (column is None or outcomes.corrected[index, column] or outcomes.regressed[index, column])
    ]
    rows.sort(key=lambda index: list(OUTCOMES).index(outcomes.kinds[index]))
    shown = rows[:limit]
    texts = session.store.documents.texts([outcomes.documents[index] for index in shown])

    def named(mask: Mask, index: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(outcomes.names) if mask[index, place])

    return tuple(
        ChangedDocument(
            id := outcomes.documents[index],
            texts.get(id, ""),
            outcomes.kinds[index],
            named(outcomes.corrected, index),
            named(outcomes.regressed, index),
        )
        for index in shown
    ), len(rows)
