"""Comparison of annotators on the same documents: the documents, scores, tests and words that a difference rests on.

Compare and the trials of the Lab use these rules:

- A document counts if it has a reference and a complete verdict of every annotator. Scores, tests and counts of
  changes use the same documents, so that an interval and a test do not contradict each other on others.
- The main score is that of ``metrics.MAIN``; a label has its F1, a dimension the share off by less than a point.
- The main score is tested by random exchanges of both annotators, a label by McNemar's test on its documents. A choice
  is wrong on a label if only the reference or only the verdict is this label, as in F1. Documents of a sample have
  unequal chances, which favour the errors of one annotator: tests are then those of the weighted intervals.
- A difference is clear if its interval excludes 0 and its test is significant after Holm's correction: over the pairs
  for the main score, over the labels for a label. A label with fewer than ``MIN_POSITIVES`` documents has no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from core.codebook import Codebook, Kind, label_noun
from core.formatting import capitalised, format_count, format_p_value, format_points, format_signed
from core.stats import flips, metrics, scoring, significance
from core.stats.arrays import Codes, Mask, Numbers, coded, counted_documents, one_hot
from core.stats.intervals import LEVEL, Estimate, Interval, format_interval
from core.stats.metric_intervals import Design
from core.stats.scoring import Scores
from core.stats.significance import ALPHA, CochranQ, McNemar, TTest, cochrans_q, holm, mcnemar_of, paired_t, welch_t

DifferenceVerdict: TypeAlias = Literal["better", "worse", "none", "unknown"]
"""Verdict on the second run; ``none``: no significant difference, ``unknown``: too little data."""
MAX_EXCHANGED: Mapping[str, int] = {"multilabel": 1000, "choice": 1000, "rating": 200}
"""Up to this many differing documents, the main score is tested by permutation; above, by its interval."""
MIN_POSITIVES = 5
"""Minimum number of reference documents with a label for a verdict on that label."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """A score in sentences: its unit, and the reason for an undefined difference."""

    unit: str
    undefined: str


_LABEL_MEASURES: Mapping[str, _Measure] = {
    "multilabel": _Measure("points F1", "the reference has no positives"),
    "choice": _Measure("points F1", "no document has this label in the reference"),
    "rating": _Measure("points in the share off by less than a point", "the reference has no ratings"),
}
"""Of a label or dimension, by kind of codebook."""
_MACRO_F1 = _Measure("points macro F1", "no label is present in the reference")
_MAIN_MEASURES: Mapping[str, _Measure] = {
    "multilabel": _MACRO_F1,
    "choice": _MACRO_F1,
    "rating": _Measure("mean Spearman correlation", "the ratings do not vary"),
}
"""Of the whole, by kind of codebook."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """An annotator to compare."""

    id: str
    name: str
    """In sentences."""
    verdicts: Numbers
    """``[document, item]``, NaN for no value."""
    by_iteration: Mapping[int, float] = field(default_factory=dict)
    """Main score on the compared documents in points (0 to 100) by the number of the iteration, NaN if undefined."""


@dataclass(frozen=True, slots=True)
class LabelTest:
    """One label (or dimension) of two annotators: second minus first."""

    label_id: str
    name: str
    colour: int
    difference: Estimate
    """In F1; of ratings in the share off by less than a point."""
    positives: int
    """Documents with the label in the reference, of a dimension those with a rating."""
    test: McNemar
    adjusted: float | None
    """McNemar's p, in a sample that of the interval, after Holm's correction over the labels."""
    verdict: DifferenceVerdict
    sentence: str


@dataclass(frozen=True, slots=True)
class MainTest:
    """The difference in the main score, its test and the one verdict on it."""

    metric: str
    difference: Estimate
    p: float | None
    """Of ``scoring.randomization_test``, with many documents of ``scoring.interval_p``."""
    adjusted: float | None
    """p after Holm's correction over the compared pairs."""
    verdict: DifferenceVerdict


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Test of the main score of the second annotator for equivalence with the first, up to a margin."""

    margin: float
    interval: Interval | None
    """90% interval of the difference: two one-sided tests at 5%."""

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
            return f"{capitalised(margin)} cannot be tested: the difference has no interval."
        result = "Neither equivalent nor non-inferior within"
        if self.non_inferior:
            result = "Equivalent within" if self.equivalent else "Not inferior by"
        return f"{result} {margin} ({format_interval(self.interval, 'points', named=True)})."


@dataclass(frozen=True, slots=True)
class Pair:
    """Two annotators against the same reference; differences are second minus first."""

    first: str
    second: str
    """Ids."""
    scores: Scores
    """The difference of every metric on the ``n`` documents with a reference and a complete verdict of all compared
    annotators; ``excluded`` are those with a reference that one of them has no verdict on."""
    main: MainTest
    equivalence: Equivalence | None
    """None without a margin."""
    labels: tuple[LabelTest, ...]
    documents: McNemar
    """On whole documents: right in every label. Without p for a sample of documents."""
    paired: TTest | None
    welch: TTest | None
    """Over iterations, None when either has fewer than two."""
    effect_size: float | None
    """Hedges' g over iterations."""
    changes: flips.Changes
    """Corrected and regressed cells of the second, ``[document, item]`` of all documents."""
    flip: flips.Flip
    """Their counts. A gain in right cells is the difference in accuracy, with the same interval."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Compared:
    """Annotators side by side; the first is what the others are compared with."""

    scores: tuple[Scores, ...]
    """Of each on the documents of the comparison, so that a difference is the difference of two columns."""
    pairs: tuple[Pair, ...]
    """Each other annotator against the first."""
    cochran: CochranQ | None
    """None with two annotators, for which McNemar's test is used, and for dependent or sampled documents."""


def compare_annotators(
    codebook: Codebook,
    reference: Numbers,
    sides: Sequence[Side],
    design: Design | None = None,
    margin: float | None = None,
) -> Compared:
    """Compare two or more annotators on the same documents. Values are ``[document, item]``, NaN for no value.

    ``design`` describes how the documents were selected and which depend on each other, by default all are independent.
    ``margin`` (0 to 1) adds a test of equivalence of the main score.
    """
    complete: Mask = np.all([~np.isnan(side.verdicts).any(axis=1) for side in sides], axis=0)
    first, *others = sides = [
        replace(side, verdicts=np.where(complete[:, None], side.verdicts, np.nan)) for side in sides
    ]
    shared = _SharedDocuments(codebook, reference, design or Design())
    differences = [shared.difference(first, other) for other in others]
    p_values = [shared.main_p(scores, first, other) for scores, other in zip(differences, others, strict=True)]
    mains = [
        MainTest(metrics.MAIN[codebook.kind], scores.main, p, adjusted, verdict_on(scores.main, adjusted))
        for scores, p, adjusted in zip(differences, p_values, holm(p_values), strict=True)
    ]
    pairs = tuple(
        shared.pair(first, other, scores, main, margin)
        for other, scores, main in zip(others, differences, mains, strict=True)
    )
    cochran = None
    if len(sides) > 2 and shared.design.is_simple:
        target, *cases = _right_documents(*shared.coded(*sides))
        cochran = cochrans_q(target, dict(zip([side.id for side in sides], cases, strict=True)))
    scores = tuple(
        scoring.score(codebook.kind, reference, side.verdicts, codebook.names, design=design) for side in sides
    )
    return Compared(scores, pairs, cochran)


@dataclass(frozen=True, slots=True, eq=False)
class _SharedDocuments:
    """The reference on the documents of a comparison, and how these were selected."""

    codebook: Codebook
    gold: Numbers
    design: Design

    def coded(self, *sides: Side) -> list[Codes]:
        """Return the reference and verdicts as codes that are equal where a verdict is right, -1 where missing."""
        return coded(self.gold, *(side.verdicts for side in sides), kind=self.codebook.kind)

    def difference(self, first: Side, second: Side, level: float = LEVEL) -> Scores:
        """Return every score of the second annotator minus that of the first."""
        kind, sides, names = self.codebook.kind, (first.verdicts, second.verdicts), self.codebook.names
        return scoring.difference(kind, self.gold, *sides, names, design=self.design, level=level)

    def main_p(self, scores: Scores, first: Side, second: Side) -> float | None:
        """Return the p of the difference in the main score."""
        kind, first_verdicts, second_verdicts = self.codebook.kind, first.verdicts, second.verdicts
        differs: Mask = np.any(~np.isnan(first_verdicts) & (first_verdicts != second_verdicts), axis=1)
        if differs.sum() > MAX_EXCHANGED[kind] or self.design.is_weighted:
            counted, _ = counted_documents(*(~np.isnan(side) for side in (self.gold, first_verdicts, second_verdicts)))
            return self.interval_p(scores.main, counted & differs if self.design.is_weighted else counted)
        names, groups = self.codebook.names, self.design.groups
        return scoring.randomization_test(kind, self.gold, first_verdicts, second_verdicts, names, groups=groups)

    def interval_p(self, change: Estimate, rows: Mask) -> float | None:
        """Return the p of a difference by its interval; ``rows`` are the documents that it rests on."""
        return scoring.interval_p(change, inf if self.design.is_simple else max(1, self.design.units(rows) - 1))

    @property
    def is_sample(self) -> bool:
        """True if some documents were selected and others not, so that counts of documents have no test."""
        return self.design.sample is not None and not self.design.is_census

    def pair(self, first: Side, second: Side, scores: Scores, main: MainTest, margin: float | None) -> Pair:
        """Return the comparison of two annotators from the differences of their scores and the test of the main one."""
        gold, *codes = self.coded(first, second)
        documents = mcnemar_of(*_right_documents(gold, *codes), groups=self.design.groups)
        if self.is_sample:
            documents = replace(documents, p=None)
        equivalence = None
        if margin is not None:
            interval = self.difference(first, second, 1 - 2 * ALPHA).main.interval
            equivalence = Equivalence(margin, interval)
        iterations = [list(side.by_iteration.values()) for side in (first, second)]
        are_repeated = all(np.count_nonzero(~np.isnan(values)) > 1 for values in iterations)
        are_paired = are_repeated and first.by_iteration.keys() == second.by_iteration.keys()
        steps = [(side.id, side_codes) for side, side_codes in zip((first, second), codes, strict=True)]
        return Pair(
            first=first.id,
            second=second.id,
            scores=scores,
            main=main,
            equivalence=equivalence,
            labels=self.label_tests(first, second, scores),
            documents=documents,
            paired=paired_t(*iterations) if are_paired else None,
            welch=welch_t(*iterations) if are_repeated else None,
            effect_size=significance.independent_d(*iterations) if are_repeated else None,
            changes=flips.trace(gold, steps).changes(0, 1),
            flip=_with_gains_of(scores, flips.flip_table(gold, steps, self.codebook.item_names, self.design).whole),
            sentence=_sentence(first.name, second.name, scores, main),
        )

    def label_tests(self, first: Side, second: Side, scores: Scores) -> tuple[LabelTest, ...]:
        """Return the test of each label."""
        labels, measure = self.codebook.labels, _LABEL_MEASURES[self.codebook.kind]
        is_rating = self.codebook.kind == "rating"
        changes = [scores.labels[label.name]["near" if is_rating else "f1"] for label in labels]
        grids: Sequence[npt.NDArray[Any]] = self.coded(first, second)
        if self.codebook.kind == "choice":
            grids = [one_hot(codes[:, 0], len(labels)) for codes in grids]
        by_label = zip(*(codes.T for codes in grids), strict=True)
        tests = [mcnemar_of(*columns, groups=self.design.groups) for columns in by_label]
        gold, *predicted = grids
        complete: Mask = np.all([(codes >= 0).all(axis=1) for codes in predicted], axis=0)
        positives = (gold[complete] >= 0 if is_rating else gold[complete] > 0).sum(axis=0).tolist()
        p_values = [test.p for test in tests]
        if self.is_sample:
            differs: Mask = (gold >= 0) & complete[:, None] & (predicted[0] != predicted[1])
            p_values = [self.interval_p(change, rows) for change, rows in zip(changes, differs.T, strict=True)]
            tests = [replace(test, p=None) for test in tests]
        label_tests = []
        for label, change, count, test, p in zip(labels, changes, positives, tests, holm(p_values), strict=True):
            enough = count >= MIN_POSITIVES
            verdict = verdict_on(change, p, enough=enough)
            words = describe_difference(first.name, second.name, change, verdict, f" on {label.name}", measure)
            if enough:
                words = _with_disagreement(words, change, verdict, p)
            if change.value is not None and not enough:
                words = f"{words[:-1]}; only {format_count(count, 'rating' if is_rating else 'positive')}."
            label_tests.append(LabelTest(label.id, label.name, label.colour, change, count, test, p, verdict, words))
        return tuple(label_tests)


def verdict_on(difference: Estimate, p: float | None, *, enough: bool = True) -> DifferenceVerdict:
    """Return the one verdict on a difference: its interval excludes 0 and its adjusted test is significant."""
    if difference.value is None or difference.interval is None or p is None or not enough:
        return "unknown"
    if not difference.clear or p >= ALPHA:
        return "none"
    return "better" if difference.value > 0 else "worse"


def _right_documents(gold: Codes, *coded: Codes) -> list[Codes]:
    """Return 1 for documents that are right in every label with a reference, 0 for others, -1 for excluded ones."""
    rights = [((codes == gold) | (gold < 0)).all(axis=1) for codes in coded]
    sides = [np.where((codes >= 0).all(axis=1), right, -1) for codes, right in zip(coded, rights, strict=True)]
    return [np.where((gold >= 0).any(axis=1), 1, -1), *sides]


def describe_difference(
    first: str, second: str, difference: Estimate, verdict: DifferenceVerdict, scope: str, measure: _Measure
) -> str:
    """Return a difference as a sentence: "r0002 is better on Price: +4.1 points F1, 95% interval 1.2 to 7.0."."""
    if difference.value is None:
        return f"{first} and {second} cannot be compared{scope}: {measure.undefined}."
    in_points = measure.unit.startswith("points")
    value = format_points(difference.value) if in_points else format_signed(difference.value, 3)
    value = f"{value} {measure.unit}"
    if difference.interval is None:
        return f"{second} against {first}{scope}: {value}; too few documents for an interval."
    if difference.value == 0 and difference.interval.low == difference.interval.high:
        return f"{second} and {first} are equal{scope}: the score is the same."
    span = format_interval(difference.interval, "points" if in_points else "number", named=True)
    if verdict in ("better", "worse"):
        return f"{second} is {verdict}{scope}: {value}, {span}."
    return f"No significant difference between {second} and {first}{scope}: {value}, {span}."


def _with_gains_of(scores: Scores, flip: flips.Flip) -> flips.Flip:
    """Return the changes with the differences in accuracy as their gains; those of ratings stay."""
    if scores.kind == "rating":
        return flip
    gain, is_choice = scores["accuracy"], scores.kind == "choice"
    return replace(
        flip,
        gain=gain,
        label_gains={name: gain if is_choice else scores.labels[name]["accuracy"] for name in flip.label_gains},
    )


def _sentence(first: str, second: str, scores: Scores, main: MainTest) -> str:
    documents = format_count(scores.n + scores.excluded, "shared document")
    if scores.excluded:  # a run may be better on the documents that it decides, and leave many undecided
        documents = f"{scores.n:,} of {documents}"
    if not scores.n:
        return f"{first} and {second} cannot be compared: no shared document has a reference and a verdict in both."
    measure = _MAIN_MEASURES[scores.kind]
    words = describe_difference(first, second, main.difference, main.verdict, f" on {documents}", measure)
    return _with_disagreement(words, main.difference, main.verdict, main.adjusted)


def _with_disagreement(words: str, difference: Estimate, verdict: DifferenceVerdict, adjusted: float | None) -> str:
    """Return the sentence on a difference, followed by a sentence on its test if test and interval disagree."""
    if verdict != "none" or adjusted is None:
        return words
    p = format_p_value(adjusted)
    if adjusted < ALPHA:
        return f"{words} Only the test is significant ({p}); a clear difference needs test and interval."
    if difference.clear:
        return f"{words} The test is not significant ({p}); a clear difference needs test and interval."
    return words


def rule(kind: Kind, *, main: str = "") -> str:
    """Return the conditions of a clear difference on a label as text, also those on the score named ``main``."""
    noun = label_noun(kind)
    test = "McNemar's test (in a sample of reviewed documents the test of the interval) is significant"
    if main:
        test = f"the test is significant: for {main} a permutation test, for a {noun} McNemar's test"
    few = f"{noun.capitalize()}s with fewer than {MIN_POSITIVES} {'ratings' if kind == 'rating' else 'positives'}"
    return f"the interval excludes 0 and {test} after Holm's correction over the {noun}s. {few} have neither."
