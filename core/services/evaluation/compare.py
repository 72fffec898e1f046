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
from core.services.evaluation.scores import cost_of_run, evaluate, plain, score, to_json
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.stats import flips, metrics, significance
from core.stats.arrays import Codes, Mask
from core.stats.flips import FlipTable
from core.stats.intervals import LEVEL, Estimate, Interval, ends, format_interval
from core.stats.metric_intervals import Design
from core.stats.metrics import Scores
from core.stats.significance import ALPHA, CochranQ, McNemar, TTest, cochrans_q, holm, mcnemar_of, paired_t, welch_t

Verdict: TypeAlias = Literal["better", "worse", "none", "unknown"]
"""Verdict on the second run; ``none``: no significant difference, ``unknown``: too little data."""
MOST_EXCHANGED: Mapping[str, int] = {"multilabel": 1000, "choice": 1000, "rating": 200}
"""Up to this many differing documents, the main score is tested by permutation; above, by the normal distribution."""
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
    verdict: Verdict
    sentence: str


@dataclass(frozen=True, slots=True)
class MainTest:
    """The difference in the main score, its test and the one verdict on it."""

    metric: str
    difference: Estimate
    p: float | None
    """of ``metrics.swap_test``, with many documents of ``metrics.normal_p``"""
    adjusted: float | None
    """p after Holm's correction over the compared pairs"""
    verdict: Verdict


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
    size: float | None
    """Hedges' g over iterations"""
    flip_table: FlipTable
    """corrections and regressions of the second, cell by cell"""
    sentence: str


@dataclass(frozen=True, slots=True)
class Column:
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

    columns: tuple[Column, ...]
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
        if not alike(codebook, other.settings.codebook):
            raise UsageError(f"{first.title} and {other.title} have different labels.", "Choose runs of one codebook.")
    check_reference(session, reference)
    documents, gold, verdicts = aligned(session, runs, reference)
    complete: Mask = np.all([~np.isnan(one).any(axis=1) for one in verdicts], axis=0)
    verdicts = [np.where(complete[:, None], one, np.nan) for one in verdicts]
    design = run_data.sampling_design(session, first, reference, documents, gold, verdicts)
    data = _Shared(codebook, gold, design, margin)
    each = [data.difference(verdicts[0], own) for own in verdicts[1:]]
    tests = [data.main_p(scores, verdicts[0], own) for scores, own in zip(each, verdicts[1:], strict=True)]
    mains = [
        MainTest(metrics.MAIN[codebook.kind], scores.main, p, adjusted, _verdict(scores.main, adjusted))
        for scores, p, adjusted in zip(each, tests, holm(tests), strict=True)
    ]
    pairs = tuple(
        _pair(session, data, first, other, verdicts[0], own, scores, main, reference)
        for other, own, scores, main in zip(runs[1:], verdicts[1:], each, mains, strict=True)
    )
    several = None
    if len(runs) > 2 and design.plain:
        known, *cases = _whole(*run_data.coded(gold, *verdicts, measured=codebook.kind == "rating"))
        several = cochrans_q(known, dict(zip(run_ids, cases, strict=True)))
    adjusted = holm([pair.documents.p for pair in pairs])
    return Comparison(_columns(session, runs, data, verdicts), pairs, adjusted, several)


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """The reference on the documents of a comparison, and how these were selected."""

    codebook: Codebook
    gold: Grid
    design: Design
    margin: float | None

    def difference(self, first: Grid, second: Grid, level: float = LEVEL) -> Scores:
        """Return every score of the second run minus that of the first."""
        kind, names = self.codebook.kind, self.codebook.names
        return metrics.difference(kind, self.gold, first, second, names, design=self.design, level=level)

    def main_p(self, scores: Scores, first: Grid, second: Grid) -> float | None:
        """Return the p of the difference in the main score."""
        kind, names = self.codebook.kind, self.codebook.names
        apart = int((~np.isnan(first) & (first != second)).any(axis=1).sum())
        if apart > MOST_EXCHANGED[kind] or self.design.represents:
            return metrics.normal_p(scores.main)
        key = metrics.MAIN[kind]
        return metrics.swap_test(kind, key, self.gold, first, second, names, groups=self.design.groups)


def _verdict(found: Estimate, p: float | None, *, enough: bool = True) -> Verdict:
    """Return the one verdict on a difference: its interval excludes 0 and its adjusted test is significant."""
    if found.value is None or found.interval is None or p is None or not enough:
        return "unknown"
    if not found.clear or p >= ALPHA:
        return "none"
    return "better" if found.value > 0 else "worse"


def label_key(codebook: Codebook) -> tuple[str, ...]:
    """Return kind, labels and order: only runs with the same ones can be compared."""
    return (codebook.kind, *(label.id for label in codebook.labels))


def alike(one: Codebook, other: Codebook) -> bool:
    """Return True if runs of two codebooks can be compared."""
    return label_key(one) == label_key(other)


def aligned(
    session: ProjectSession, runs: Sequence[RunRow], reference: Reference
) -> tuple[tuple[str, ...], Grid, list[Grid]]:
    """Return the documents shared by all runs, the reference labels and the verdicts of each run.

    The documents are in the order of the first run. The reference is NaN where it is missing for any of the runs.
    Raises UsageError if the runs have no document in common.
    """
    loaded = [run_data.verdict_arrays(session, run, reference) for run in runs]
    known = [set(one.documents) for one in loaded]
    shared = tuple(document for document in loaded[0].documents if all(document in own for own in known))
    if not shared:
        names = " and ".join(run.title for run in runs)
        raise UsageError(f"{names} have no document in common.", "Choose other runs.")
    references = np.stack([one.reference[run_data.rows_in(one.documents, shared)] for one in loaded])
    gold = np.where(np.isnan(references).any(axis=0), np.nan, references[0])  # examples in a codebook are excluded
    return shared, gold, [one.verdicts_on(shared) for one in loaded]


def _columns(
    session: ProjectSession, runs: Sequence[RunRow], data: _Shared, verdicts: Sequence[Grid]
) -> tuple[Column, ...]:
    costs = [cost_of_run(session, run) for run in runs]
    unit = cost_unit(costs)
    scored = [score(data.codebook, data.gold, own, design=data.design) for own in verdicts]
    points = [(cost[f"{unit}_per_document"], scores.main.value) for cost, scores in zip(costs, scored, strict=True)]
    each = zip(runs, scored, costs, efficient(points), strict=True)
    return tuple(Column(run, scores, cost, best, unit) for run, scores, cost, best in each)


def _pair(
    session: ProjectSession, data: _Shared, one: RunRow, two: RunRow, first: Grid, second: Grid, scores: Scores,
    main: MainTest, reference: Reference,
) -> Pair:  # fmt: skip
    codebook, gold, groups = data.codebook, data.gold, data.design.groups
    rating = codebook.kind == "rating"
    coded_gold, *coded = run_data.coded(gold, first, second, measured=rating)
    items = codebook.names if codebook.kind != "choice" else codebook.items
    changes = flips.flip_table(coded_gold, [(one.run_id, coded[0]), (two.run_id, coded[1])], items, data.design)
    documents = mcnemar_of(*_whole(coded_gold, *coded), groups=groups)
    ours, theirs = (_over_iterations(session, run, reference) for run in (one, two))
    values = [list(each.values()) for each in (ours, theirs)]
    equivalence = None
    if data.margin is not None:
        equivalence = Equivalence(data.margin, data.difference(first, second, 1 - 2 * ALPHA).main.interval)
    several = all(np.count_nonzero(~np.isnan(each)) > 1 for each in values)
    return Pair(
        first=one.run_id,
        second=two.run_id,
        scores=scores,
        main=main,
        equivalence=equivalence,
        labels=_label_tests(data, scores, coded_gold, coded, one.title, two.title),
        documents=documents,
        discordance=significance.discordance(documents),
        paired=paired_t(*values) if several and ours.keys() == theirs.keys() else None,
        welch=welch_t(*values) if several else None,
        size=significance.independent_d(*values) if several else None,
        flip_table=changes,
        sentence=_sentence(one.title, two.title, scores, main),
    )


def _label_tests(
    data: _Shared, scores: Scores, gold: Any, coded: Sequence[Any], first: str, second: str
) -> tuple[LabelTest, ...]:
    codebook = data.codebook
    rating = codebook.kind == "rating"
    tests = [_label_test(codebook, gold, coded, place, data.design.groups) for place in range(len(codebook.labels))]
    measure = "points within one point of the reference" if rating else "points F1"
    known: Mask = np.all([(one >= 0).all(axis=1) for one in coded], axis=0)
    found = []
    for place, (label, test, p) in enumerate(
        zip(codebook.labels, tests, holm([test.p for test in tests]), strict=True)
    ):
        column = gold[known, 0] == place if codebook.kind == "choice" else gold[known, place]
        positives = int((column > 0).sum()) if not rating else int((column >= 0).sum())
        change = scores.labels[label.name]["near" if rating else "f1"]
        enough = positives >= MIN_POSITIVES
        verdict = _verdict(change, p, enough=enough)
        where = f" on {label.name}"
        words = describe_difference(first, second, change, verdict, where, measure)
        if change.value is not None and not enough:
            words = f"{words[:-1]}; only {format_count(positives, 'positive')}."
        found.append(LabelTest(label.id, label.name, label.colour, change, positives, test, p, verdict, words))
    return tuple(found)


def _label_test(codebook: Codebook, gold: Any, coded: Sequence[Any], place: int, groups: Codes | None) -> McNemar:
    if codebook.kind != "choice":
        return mcnemar_of(gold[:, place], *(one[:, place] for one in coded), groups=groups)
    # A choice is wrong on a label if either the reference or the verdict, but not both, is this label.
    hot = [np.where(one[:, 0] < 0, -1, one[:, 0] == place) for one in (gold, *coded)]
    return mcnemar_of(*hot, groups=groups)


def _whole(gold: Any, *coded: Any) -> tuple[Any, ...]:
    """Return 1 for documents that are right in every label with a reference, 0 for others, -1 for excluded ones."""
    known = (gold >= 0).any(axis=1)
    cases = [np.where(known, 1, -1)]
    for one in coded:
        right = ((one == gold) | (gold < 0)).all(axis=1)
        cases.append(np.where((one >= 0).all(axis=1), right, -1))
    return tuple(cases)


def _over_iterations(session: ProjectSession, run: RunRow, reference: Reference) -> dict[int, float]:
    """Return the main score of each iteration in points (0 to 100) by its number; NaN where it is undefined."""
    values = {}
    for row in repeated_runs.siblings(session, run):
        main = evaluate(session, row, reference, intervals=False).scores.main.value
        values[row.settings.iteration] = math.nan if main is None else 100 * main
    return values


def describe_difference(
    first: str, second: str, found: Estimate, verdict: Verdict, where: str = "", measure: str = "points F1"
) -> str:
    """Return a difference as a sentence: "r0002 is better on Price: +4.1 points F1, 95% interval 1.2 to 7.0."."""
    if found.value is None:
        return f"{first} and {second} cannot be compared{where}: the reference has no positives."
    in_points = measure.startswith("points")
    value = format_points(found.value) if in_points else format_signed(found.value, 3)
    if found.interval is None:
        return f"{second} against {first}{where}: {value} {measure}; too few documents for an interval."
    if found.value == 0 and found.interval.low == found.interval.high:
        return f"{second} and {first} are equal{where}: no document differs."
    span = format_interval(found.interval, "points" if in_points else "number", named=True)
    if verdict in ("better", "worse"):
        return f"{second} is {verdict}{where}: {value} {measure}, {span}."
    return f"No significant difference between {second} and {first}{where}: {value} {measure}, {span}."


def _sentence(first: str, second: str, scores: Scores, main: MainTest) -> str:
    on = f" on {format_count(scores.n, 'shared document')}"
    if not scores.n:
        return f"{first} and {second} cannot be compared: no shared document has a reference and a verdict in both."
    if main.difference.value is None:
        lacks = "the ratings do not vary" if scores.kind == "rating" else "no label is present in the reference"
        return f"{first} and {second} cannot be compared: {lacks} on the{on[3:]}."
    measure = "mean Spearman correlation" if scores.kind == "rating" else "points macro F1"
    words = describe_difference(first, second, main.difference, main.verdict, on, measure)
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
class Row:
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
    documents, gold, (one, two) = aligned(session, runs, reference)
    whole = ~np.isnan(gold).all(axis=1) & ~np.isnan(one).any(axis=1) & ~np.isnan(two).any(axis=1)
    known = ~np.isnan(gold[whole])
    target, *coded = run_data.coded(gold[whole], one[whole], two[whole], measured=measured)
    was, now = (np.equal(codes, target) for codes in coded)
    corrected: Mask = known & now & ~was
    regressed: Mask = known & was & ~now
    fixed, lost, right = corrected.any(axis=1), regressed.any(axis=1), (now | ~known).all(axis=1)
    kinds = np.select([fixed & lost, fixed, lost, right], ["mixed", "corrected", "regressed", "right"], "wrong")
    return Outcomes(
        documents=tuple(documents[row] for row in np.flatnonzero(whole)),
        kinds=tuple(kinds.tolist()),
        corrected=corrected,
        regressed=regressed,
        names=codebook.names if codebook.kind != "choice" else ("Label",),
    )


def page(
    session: ProjectSession,
    found: Outcomes,
    kinds: Sequence[Outcome],
    *,
    label: str = "",
    offset: int = 0,
    limit: int = 50,
) -> tuple[tuple[Row, ...], int]:
    """Return a page of the documents with one of these outcomes, and their total number.

    ``label`` limits the page to documents with a correction or regression in this label.
    """
    column = found.names.index(label) if label in found.names else None
    rows = [
        row
        for row, kind in enumerate(found.kinds)
        if kind in kinds and (column is None or found.corrected[row, column] or found.regressed[row, column])
    ]
    rows.sort(key=lambda row: list(OUTCOMES).index(found.kinds[row]))
    shown = rows[offset : offset + limit]
    texts = session.store.documents.texts([found.documents[row] for row in shown])

    def named(mask: Mask, row: int) -> tuple[str, ...]:
        return tuple(name for place, name in enumerate(found.names) if mask[row, place])

    return tuple(
        Row(
            id := found.documents[row],
            texts.get(id, ""),
            found.kinds[row],
            named(found.corrected, row),
            named(found.regressed, row),
        )
        for row in shown
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
    found = comparison(session, run_ids, reference, margin)
    shared = [_two(session, found, place, reference) for place in range(len(found.pairs))]
    common = {
        "runs": list(run_ids),
        "reference": reference,
        "columns": [_column_json(column) for column in found.columns],
        "reports": [to_json(evaluate(session, session.run(id), reference)) for id in run_ids],
    }
    if len(shared) == 1:
        return common | shared[0]
    several = found.several
    return common | {
        "pairs": [
            {"runs": [pair.first, pair.second], **one, "p_adjusted": p}
            for pair, one, p in zip(found.pairs, shared, found.adjusted, strict=True)
        ],
        "cochran": plain(several) | {"sentence": several.sentence()} if several is not None else None,
        "sentence": " ".join(one["sentence"] for one in shared),
    }


def _two(session: ProjectSession, found: Comparison, place: int, reference: Reference) -> dict[str, Any]:
    pair = found.pairs[place]
    runs = [found.columns[0].run, found.columns[place + 1].run]
    documents, gold, (one, two) = aligned(session, runs, reference)
    whole = ~np.isnan(one).any(axis=1) & ~np.isnan(two).any(axis=1)
    same = int((one[whole] == two[whole]).all(axis=1).sum())
    result: dict[str, Any] = {"documents": len(documents), "shared": int(whole.sum()), "same": same, "n": pair.scores.n}
    agreement = float((one == two)[whole].mean()) if whole.any() else None
    if np.isnan(gold).all():
        summary = f"{same} of {int(whole.sum())} shared documents have the same verdict. No reference to score them."
        return result | {"agreement": agreement, "sentence": summary}
    each = outcomes(session, pair.first, pair.second, reference)
    return result | {
        "excluded": pair.scores.excluded,
        "agreement": agreement,
        **{key: _difference(estimate) for key, estimate in pair.scores.overall.items()},
        "labels": {
            test.name: _difference(test.difference)
            | {"mcnemar": plain(test.test), "p_adjusted": test.adjusted, "positives": test.positives}
            | {"verdict": test.verdict, "sentence": test.sentence}
            for test in pair.labels
        },
        "main": plain(pair.main),
        "equivalence": plain(pair.equivalence),
        "mcnemar": plain(pair.documents)
        | plain(pair.discordance)
        | {
            "odds_ratio": pair.discordance.odds_ratio.value,
            "odds_ratio_interval": ends(pair.discordance.odds_ratio.interval),
        },
        "tests": {"paired_t": plain(pair.paired), "welch": plain(pair.welch), "hedges_g": pair.size},
        "changes": plain(pair.flip_table.whole),
        "outcomes": each.counts
        | {
            "documents": {
                name: [id for id, kind in zip(each.documents, each.kinds, strict=True) if kind == name][:LISTED]
                for name in ("corrected", "regressed", "mixed")
            }
        },
        "sentence": pair.sentence,
    }


def _difference(estimate: Estimate) -> dict[str, Any]:
    return {"difference": estimate.value, "interval": plain(estimate.interval)}


def _column_json(column: Column) -> dict[str, Any]:
    return {
        "run_id": column.run.run_id,
        "protocol": column.run.settings.protocol,
        "n": column.scores.n,
        "excluded": column.scores.excluded,
        **{key: estimate.value for key, estimate in column.scores.overall.items()},
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
