"""Comparison of runs on the same documents: differences with intervals and tests, and costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from core.annotations import Reference
from core.codebook import Codebook
from core.errors import UsageError
from core.formatting import format_count, format_p_value, format_points, format_signed
from core.runs import RunRow
from core.services.evaluation import repeated_runs, run_data
from core.services.evaluation.reference import check_reference
from core.services.evaluation.run_data import Grid
from core.services.evaluation.scores import cost_of_run, evaluate, json_data, score, to_json
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats import flips, metrics, scoring, significance
from core.stats.arrays import Codes, Mask
from core.stats.flips import FlipTable
from core.stats.intervals import LEVEL, Estimate, Interval, ends, format_interval
from core.stats.metric_intervals import Design
from core.stats.scoring import Scores
from core.stats.significance import ALPHA, CochranQ, McNemar, TTest, cochrans_q, holm, mcnemar_of, paired_t, welch_t

DifferenceVerdict: TypeAlias = Literal["better", "worse", "none", "unknown"]
"""Verdict on the second run; ``none``: no significant difference, ``unknown``: too little data."""
MOST_EXCHANGED: Mapping[str, int] = {"multilabel": 1000, "choice": 1000, "rating": 200}
"""Up to this many differing documents, the main score is tested by permutation; above, by the normal distribution."""
UNDEFINED: Mapping[str, str] = {
    "multilabel": "the reference has no positives",
    "choice": "no document has this label in the reference",
    "rating": "the reference has no ratings",
}
"""Reason why the difference of a label or dimension is undefined, by kind of codebook."""
MIN_POSITIVES = 5
"""Minimum number of reference documents with a label for a verdict on that label."""


@dataclass(frozen=True, slots=True)
class LabelTest:
    """One label (or dimension) of two runs: second minus first."""

    label_id: str
    name: str
    colour: int
    difference: Estimate
    """in F1; of ratings in the share within a point of the reference"""
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
            return f"Too few documents to test {margin}."
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
    flip_table: FlipTable
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
    first = runs[0]
    codebook = first.settings.codebook
    for other in runs[1:]:
        if not are_comparable(codebook, other.settings.codebook):
            raise UsageError(f"{first.title} and {other.title} have different labels.", "Choose runs of one codebook.")
    check_reference(session, reference)
    documents, gold, verdicts = load_shared(session, runs, reference)
    complete: Mask = np.all([~np.isnan(values).any(axis=1) for values in verdicts], axis=0)
    verdicts = [np.where(complete[:, None], values, np.nan) for values in verdicts]
    scored = run_data.AnnotationArrays(documents, gold, verdicts[0])
    design = run_data.sampling_design(session, first, reference, scored, *verdicts[1:])
    shared = _SharedDocuments(codebook, gold, design, margin)
    differences = [shared.difference(verdicts[0], second) for second in verdicts[1:]]
    p_values = [
        shared.main_p(scores, verdicts[0], second) for scores, second in zip(differences, verdicts[1:], strict=True)
    ]
    mains = [
        MainTest(metrics.MAIN[codebook.kind], scores.main, p, adjusted, _verdict(scores.main, adjusted))
        for scores, p, adjusted in zip(differences, p_values, holm(p_values), strict=True)
    ]
    pairs = tuple(
        _pair(session, shared, first, other, verdicts[0], second, scores, main, reference)
        for other, second, scores, main in zip(runs[1:], verdicts[1:], differences, mains, strict=True)
    )
    several = None
    if len(runs) > 2 and design.plain:
        known, *cases = _right_documents(*run_data.coded(gold, *verdicts, measured=codebook.kind == "rating"))
        several = cochrans_q(known, dict(zip(run_ids, cases, strict=True)))
    adjusted = holm([pair.documents.p for pair in pairs])
    return Comparison(_compared_runs(session, runs, shared, verdicts), pairs, adjusted, several)


@dataclass(frozen=True, slots=True, eq=False)
class _SharedDocuments:
    """The reference on the documents of a comparison, and how these were selected."""

    codebook: Codebook
    gold: Grid
    design: Design
    margin: float | None

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
        names = " and ".join(run.title for run in runs)
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


def _pair(
    session: ProjectSession,
    shared: _SharedDocuments,
    first_run: RunRow,
    second_run: RunRow,
    first_verdicts: Grid,
    second_verdicts: Grid,
    scores: Scores,
    main: MainTest,
    reference: Reference,
) -> Pair:
    codebook, gold, groups = shared.codebook, shared.gold, shared.design.groups
    rating = codebook.kind == "rating"
    coded_gold, *coded = run_data.coded(gold, first_verdicts, second_verdicts, measured=rating)
    changes = flips.flip_table(
        coded_gold, [(first_run.run_id, coded[0]), (second_run.run_id, coded[1])], codebook.item_names, shared.design
    )
    documents = mcnemar_of(*_right_documents(coded_gold, *coded), groups=groups)
    first_iterations, second_iterations = (
        _main_score_by_iteration(session, run, reference) for run in (first_run, second_run)
    )
    values = [list(scores_by_iteration.values()) for scores_by_iteration in (first_iterations, second_iterations)]
    equivalence = None
    if shared.margin is not None:
        interval = shared.difference(first_verdicts, second_verdicts, 1 - 2 * ALPHA).main.interval
        equivalence = Equivalence(shared.margin, interval)
    are_repeated = all(np.count_nonzero(~np.isnan(scores_by_iteration)) > 1 for scores_by_iteration in values)
    return Pair(
        first=first_run.run_id,
        second=second_run.run_id,
        scores=scores,
        main=main,
        equivalence=equivalence,
        labels=_label_tests(shared, scores, coded_gold, coded, first_run.title, second_run.title),
        documents=documents,
        discordance=significance.discordance(documents),
        paired=paired_t(*values) if are_repeated and first_iterations.keys() == second_iterations.keys() else None,
        welch=welch_t(*values) if are_repeated else None,
        effect_size=significance.independent_d(*values) if are_repeated else None,
        flip_table=changes,
        sentence=_sentence(first_run.title, second_run.title, scores, main),
    )


def _label_tests(
    shared: _SharedDocuments, scores: Scores, gold: Any, coded: Sequence[Any], first: str, second: str
) -> tuple[LabelTest, ...]:
    codebook = shared.codebook
    is_rating = codebook.kind == "rating"
    tests = [_label_test(codebook, gold, coded, index, shared.design.groups) for index in range(len(codebook.labels))]
    measure = "points within one point of the reference" if is_rating else "points F1"
    known: Mask = np.all([(run_codes >= 0).all(axis=1) for run_codes in coded], axis=0)
    label_tests = []
    for index, (label, test, p) in enumerate(
        zip(codebook.labels, tests, holm([test.p for test in tests]), strict=True)
    ):
        column = gold[known, 0] == index if codebook.kind == "choice" else gold[known, index]
        positives = int((column > 0).sum()) if not is_rating else int((column >= 0).sum())
        change = scores.labels[label.name]["near" if is_rating else "f1"]
        enough = positives >= MIN_POSITIVES
        verdict = _verdict(change, p, enough=enough)
        where = f" on {label.name}"
        words = describe_difference(first, second, change, verdict, where, measure, UNDEFINED[codebook.kind])
        if change.value is not None and not enough:
            words = f"{words[:-1]}; only {format_count(positives, 'rating' if is_rating else 'positive')}."
        label_tests.append(LabelTest(label.id, label.name, label.colour, change, positives, test, p, verdict, words))
    return tuple(label_tests)


def _label_test(codebook: Codebook, gold: Any, coded: Sequence[Any], index: int, groups: Codes | None) -> McNemar:
    if codebook.kind != "choice":
        return mcnemar_of(gold[:, index], *(codes[:, index] for codes in coded), groups=groups)
    # A choice is wrong on a label if either the reference or the verdict, but not both, is this label.
    is_label = [np.where(codes[:, 0] < 0, -1, codes[:, 0] == index) for codes in (gold, *coded)]
    return mcnemar_of(*is_label, groups=groups)


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
    measure: str,
    undefined: str,
) -> str:
    """Return a difference as a sentence: "r0002 is better on Price: +4.1 points F1, 95% interval 1.2 to 7.0.".

    ``undefined`` is the reason for a difference without a value.
    """
    if difference.value is None:
        return f"{first} and {second} cannot be compared{where}: {undefined}."
    in_points = measure.startswith("points")
    value = format_points(difference.value) if in_points else format_signed(difference.value, 3)
    if difference.interval is None:
        return f"{second} against {first}{where}: {value} {measure}; too few documents for an interval."
    if difference.value == 0 and difference.interval.low == difference.interval.high:
        return f"{second} and {first} are equal{where}: the score is the same."
    span = format_interval(difference.interval, "points" if in_points else "number", named=True)
    if verdict in ("better", "worse"):
        return f"{second} is {verdict}{where}: {value} {measure}, {span}."
    return f"No significant difference between {second} and {first}{where}: {value} {measure}, {span}."


def _sentence(first: str, second: str, scores: Scores, main: MainTest) -> str:
    documents = format_count(scores.n + scores.excluded, "shared document")
    if scores.excluded:  # a run may be better on the documents that it decides, and leave many undecided
        documents = f"{scores.n:,} of {documents}"
    if not scores.n:
        return f"{first} and {second} cannot be compared: no shared document has a reference and a verdict in both."
    measure, undefined = "points macro F1", "no label is present in the reference"
    if scores.kind == "rating":
        measure, undefined = "mean Spearman correlation", "the ratings do not vary"
    words = describe_difference(first, second, main.difference, main.verdict, f" on {documents}", measure, undefined)
    if main.verdict != "none" or main.adjusted is None:
        return words
    p = format_p_value(main.adjusted)
    if main.adjusted < ALPHA:
        return f"{words} Only the permutation test is significant ({p}); a clear difference needs both."
    if main.difference.clear:
        return f"{words} The permutation test is not significant ({p}); a clear difference needs both."
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
LISTED = 1000
"""Documents of an outcome that the JSON names at most."""


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
    offset: int = 0,
    limit: int = 50,
) -> tuple[tuple[ChangedDocument, ...], int]:
    """Return a page of the documents with one of these outcomes, and their total number.

    ``label`` limits the page to documents with a correction or regression in this label.
    """
    column = outcomes.names.index(label) if label in outcomes.names else None
    rows = [
        index
        for index, kind in enumerate(outcomes.kinds)
        if kind in kinds and (column is None or outcomes.corrected[index, column] or outcomes.regressed[index, column])
    ]
    rows.sort(key=lambda index: list(OUTCOMES).index(outcomes.kinds[index]))
    shown = rows[offset : offset + limit]
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


def comparison_report(
    session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold", margin: float | None = None
) -> dict[str, Any]:
    """Return the output of ``moot compare --json``. Differences are second minus first, shares are from 0 to 1.

    For two runs: ``runs documents shared same reports n macro_f1 micro_f1 accuracy labels mcnemar sentence``, and also
    ``tests``, ``outcomes``, ``changes`` and ``columns``. For more runs, ``pairs`` contains these for each run against
    the first, and ``cochran`` is the test for any difference. Without a reference label on a shared document, n is 0
    and only results from the verdicts are included. Raises UsageError like ``comparison``.
    """
    compared = comparison(session, run_ids, reference, margin)
    pairs = [_pair_json(session, compared, index, reference) for index in range(len(compared.pairs))]
    common = {
        "runs": list(run_ids),
        "reference": reference,
        "columns": [_column_json(column) for column in compared.columns],
        "reports": [to_json(evaluate(session, session.run(id), reference)) for id in run_ids],
    }
    if len(pairs) == 1:
        return common | pairs[0]
    cochran = compared.several
    return common | {
        "pairs": [
            {"runs": [pair.first, pair.second], **pair_json, "p_adjusted": p}
            for pair, pair_json, p in zip(compared.pairs, pairs, compared.adjusted, strict=True)
        ],
        "cochran": json_data(cochran) | {"sentence": cochran.sentence()} if cochran is not None else None,
        "sentence": " ".join(pair_json["sentence"] for pair_json in pairs),
    }


def _pair_json(session: ProjectSession, comparison: Comparison, index: int, reference: Reference) -> dict[str, Any]:
    pair = comparison.pairs[index]
    runs = [comparison.columns[0].run, comparison.columns[index + 1].run]
    documents, gold, (first_verdicts, second_verdicts) = load_shared(session, runs, reference)
    whole = ~np.isnan(first_verdicts).any(axis=1) & ~np.isnan(second_verdicts).any(axis=1)
    same = int((first_verdicts[whole] == second_verdicts[whole]).all(axis=1).sum())
    result: dict[str, Any] = {"documents": len(documents), "shared": int(whole.sum()), "same": same, "n": pair.scores.n}
    agreement = float((first_verdicts == second_verdicts)[whole].mean()) if whole.any() else None
    if np.isnan(gold).all():
        summary = f"{same} of {int(whole.sum())} shared documents have the same verdict. No reference to score them."
        return result | {"agreement": agreement, "sentence": summary}
    pair_outcomes = outcomes(session, pair.first, pair.second, reference)
    return result | {
        "excluded": pair.scores.excluded,
        "agreement": agreement,
        **{key: _difference(estimate) for key, estimate in pair.scores.overall.items()},
        "labels": {
            test.name: _difference(test.difference)
            | {"mcnemar": json_data(test.test), "p_adjusted": test.adjusted, "positives": test.positives}
            | {"verdict": test.verdict, "sentence": test.sentence}
            for test in pair.labels
        },
        "main": json_data(pair.main),
        "equivalence": json_data(pair.equivalence),
        "mcnemar": json_data(pair.documents)
        | json_data(pair.discordance)
        | {
            "odds_ratio": pair.discordance.odds_ratio.value,
            "odds_ratio_interval": ends(pair.discordance.odds_ratio.interval),
        },
        "tests": {"paired_t": json_data(pair.paired), "welch": json_data(pair.welch), "hedges_g": pair.effect_size},
        "changes": json_data(pair.flip_table.whole),
        "outcomes": pair_outcomes.counts
        | {
            "documents": {
                name: [
                    id for id, kind in zip(pair_outcomes.documents, pair_outcomes.kinds, strict=True) if kind == name
                ][:LISTED]
                for name in ("corrected", "regressed", "mixed")
            }
        },
        "sentence": pair.sentence,
    }


def _difference(estimate: Estimate) -> dict[str, Any]:
    return {"difference": estimate.value, "interval": json_data(estimate.interval)}


def _column_json(column: ComparedRun) -> dict[str, Any]:
    return {
        "run_id": column.run.run_id,
        "protocol": column.run.settings.protocol,
        "n": column.scores.n,
        "excluded": column.scores.excluded,
        **{key: estimate.value for key, estimate in column.scores.overall.items()},
        "intervals": {key: ends(estimate.interval) for key, estimate in column.scores.overall.items()},
        **column.cost,
        "efficient": column.efficient,
    }


def cost_unit(costs: Iterable[Mapping[str, float | None]]) -> Literal["usd", "tokens"]:
    """Return the unit to compare costs in: tokens if a price is unknown or nothing costs anything."""
    dollars = [cost["usd_per_document"] for cost in costs]
    return "usd" if None not in dollars and any(dollars) else "tokens"


def efficient(points: Sequence[tuple[float | None, float | None]]) -> tuple[bool, ...]:
    """Return for each (cost, quality) True if it is on the efficient front.

    A point is not on it if another costs the same or less and is better, or costs less and is as good. A point without
    a cost or a quality is not on it. All equal points are.
    """

    def beaten(cost: float, quality: float) -> bool:
        return any(
            other_cost is not None
            and other is not None
            and other_cost <= cost
            and other >= quality
            and (other_cost < cost or other > quality)
            for other_cost, other in points
        )

    return tuple(cost is not None and quality is not None and not beaten(cost, quality) for cost, quality in points)
