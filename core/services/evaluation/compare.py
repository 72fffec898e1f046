"""Runs on the same documents: which is better, by how much, how sure that is, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.annotations import VERDICT
from core.codebook import Codebook
from core.errors import UsageError
from core.runs import RunRow
from core.services.evaluation import evaluate, looked, repeated_runs, reports, scoring, stages
from core.services.evaluation.grids import Grid, Reference
from core.services.session import ProjectSession
from core.stats import effects, flips
from core.stats.bootstrap import BootstrapScores, difference
from core.stats.flips import FlipTable
from core.stats.frontier import efficient
from core.stats.intervals import Estimate, Interval
from core.stats.multiple_tests import CochranQ, cochrans_q, holm
from core.stats.significance import McNemar, TTest, mcnemar_of, paired_t, welch_t


@dataclass(frozen=True, slots=True)
class LabelTest:
    """One label (or dimension) of two runs: second minus first."""

    label_id: str
    name: str
    colour: int
    f1: Estimate
    """difference in F1; of ratings in the share within a point of the truth"""
    test: McNemar
    adjusted: float | None
    """McNemar's p after Holm's correction over the labels"""
    sentence: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs against the same truth; differences are second minus first."""

    first: str
    second: str
    n: int
    """documents with truth and a full verdict in both"""
    excluded: int
    """shared documents with truth that one of them left without"""
    macro: Estimate
    micro: Estimate
    accuracy: Estimate
    labels: tuple[LabelTest, ...]
    documents: McNemar
    """on whole documents: right in every label"""
    discordance: effects.Discordance
    paired: TTest | None
    welch: TTest | None
    """over iterations, None when either has fewer than two"""
    size: float | None
    """Hedges' g over iterations"""
    flip_table: FlipTable
    """what the second has fixed and broken, cell by cell"""
    sentence: str


@dataclass(frozen=True, slots=True)
class Column:
    """One run of a comparison."""

    run: RunRow
    scores: dict[str, float | None]
    main: float | None
    """macro F1; of ratings the mean Spearman correlation"""
    n: int
    excluded: int
    usd_per_verdict: float | None
    tokens_per_verdict: float | None
    seconds_per_verdict: float | None
    efficient: bool
    """no other of the runs is as good for less, nor better for the same"""
    unit: str
    """what its cost is counted in: ``usd``, or ``tokens`` when a price is unknown or nothing cost anything"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side; the first is what the others are compared with."""

    columns: tuple[Column, ...]
    pairs: tuple[Pair, ...]
    """each other run against the first"""
    adjusted: tuple[float | None, ...]
    """the pairs' p on whole documents after Holm's correction"""
    several: CochranQ | None
    """None with two runs: then McNemar's test says it"""


def comparison(session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold") -> Comparison:
    """Two or more runs of one codebook side by side.

    UsageError for an unknown run, one named twice, codebooks that differ, and runs without a document in common.
    """
    runs = [evaluate.known(session, id) for id in run_ids]
    if len(runs) < 2 or len(set(run_ids)) < len(runs):
        raise UsageError("A comparison takes two or more different runs.", "Name each run once.")
    first = runs[0]
    codebook = first.settings.codebook
    for other in runs[1:]:
        if not alike(codebook, other.settings.codebook):
            raise UsageError(
                f"{first.run_id} and {other.run_id} do not label the same things.", "Choose runs of one codebook."
            )
    checked = evaluate.checked(session, reference)
    columns = _columns(session, runs, checked)
    pairs = tuple(_pair(session, first, other, checked) for other in runs[1:])
    return Comparison(
        columns=columns,
        pairs=pairs,
        adjusted=holm([pair.documents.p for pair in pairs]),
        several=_several(session, runs, checked) if len(runs) > 2 else None,
    )


def alike(one: Codebook, other: Codebook) -> bool:
    """Whether two codebooks have the same kind, labels and order, so that what they label can be compared."""
    return one.kind == other.kind and [x.id for x in one.labels] == [y.id for y in other.labels]


def aligned(
    session: ProjectSession, runs: Sequence[RunRow], reference: Reference
) -> tuple[tuple[str, ...], Grid, list[Grid]]:
    """The documents that all runs share, in the order of the first, with the truth and each run's verdicts."""
    loaded = [looked.verdicts(session, run, reference) for run in runs]
    places = [{document: row for row, document in enumerate(one.documents)} for one in loaded]
    shared = [document for document in loaded[0].documents if all(document in place for place in places)]
    if not shared:
        names = " and ".join(run.run_id for run in runs)
        raise UsageError(f"{names} have no document in common.", "Choose other runs.")
    rows = [[place[document] for document in shared] for place in places]
    gold = loaded[0].reference[rows[0]]
    for one, own in zip(loaded[1:], rows[1:], strict=True):
        gold = np.where(np.isnan(one.reference[own]), np.nan, gold)  # an example of either codebook is no test
    return tuple(shared), gold, [one.of(VERDICT)[own] for one, own in zip(loaded, rows, strict=True)]


def _columns(session: ProjectSession, runs: Sequence[RunRow], reference: Reference) -> tuple[Column, ...]:
    told = [evaluate.report(session, run.run_id, reference) for run in runs]
    spent = [reports.spent(run) for run in runs]
    dollars = [one["usd_per_verdict"] for one in spent]
    unit = "usd" if None not in dollars and any(dollars) else "tokens"
    costs = [one[f"{unit}_per_verdict"] for one in spent]
    main = [repeated_runs.main_score(report) for report in told]
    front = efficient(list(zip(costs, main, strict=True)))
    return tuple(
        Column(
            run=run,
            scores=repeated_runs.headline(report),
            main=score,
            n=report["n"],
            excluded=report["excluded"],
            usd_per_verdict=took["usd_per_verdict"],
            tokens_per_verdict=took["tokens_per_verdict"],
            seconds_per_verdict=took["seconds_per_verdict"],
            efficient=best,
            unit=unit,
        )
        for run, report, took, score, best in zip(runs, told, spent, main, front, strict=True)
    )


def _pair(session: ProjectSession, one: RunRow, two: RunRow, reference: Reference) -> Pair:
    codebook = one.settings.codebook
    measured = codebook.kind == "rating"
    _, gold, (first, second) = aligned(session, (one, two), reference)
    names = codebook.names
    coded_gold = stages.reference_codes(gold, measured=measured)
    coded = [stages.as_codes(gold, grid, measured=measured) for grid in (first, second)]
    items = codebook.names if codebook.kind != "choice" else codebook.items
    drawn = _drawn(codebook, gold, first, second, coded_gold, coded)
    changes = flips.flip_table(coded_gold, [(one.run_id, coded[0]), (two.run_id, coded[1])], items)
    tests = [_label_test(codebook, coded_gold, coded, place) for place in range(len(names))]
    corrected = holm([test.p for test in tests])
    f1 = {name: drawn.labels[name].f1 if not measured else changes.whole.label_gains[name] for name in names}
    measure = "points within one of the truth" if measured else "points F1"
    documents = mcnemar_of(*_whole(coded_gold, *coded))
    ours, theirs = (_over_iterations(session, run, reference) for run in (one, two))
    scores = [list(values.values()) for values in (ours, theirs)]
    several = all(np.count_nonzero(~np.isnan(values)) > 1 for values in scores)
    paired = paired_t(*scores) if several and ours.keys() == theirs.keys() else None
    welch = welch_t(*scores) if several else None
    return Pair(
        first=one.run_id,
        second=two.run_id,
        n=drawn.n,
        excluded=drawn.excluded,
        macro=drawn.macro.f1 if not measured else drawn.accuracy,
        micro=drawn.micro.f1 if not measured else drawn.accuracy,
        accuracy=drawn.accuracy,
        labels=tuple(
            LabelTest(
                label.id,
                label.name,
                label.colour,
                f1[label.name],
                test,
                p,
                told_difference(one.run_id, two.run_id, f1[label.name], f" on {label.name}", measure),
            )
            for label, test, p in zip(codebook.labels, tests, corrected, strict=True)
        ),
        documents=documents,
        discordance=effects.discordance(documents),
        paired=paired,
        welch=welch,
        size=effects.independent_d(*scores) if several else None,
        flip_table=changes,
        sentence=_sentence(one.run_id, two.run_id, drawn, measured),
    )


def _drawn(
    codebook: Codebook, gold: Grid, first: Grid, second: Grid, coded_gold: Any, coded: Sequence[Any]
) -> BootstrapScores:
    if codebook.kind == "rating":  # right or not, which is all that a share within a point asks
        return difference(coded_gold, coded[0], coded[1], codebook.names)
    reference, one, two = (scoring.present(codebook, grid) for grid in (gold, first, second))
    return difference(reference, one, two, codebook.names)


def _label_test(codebook: Codebook, gold: Any, coded: Sequence[Any], place: int) -> McNemar:
    if codebook.kind != "choice":
        return mcnemar_of(gold[:, place], *(one[:, place] for one in coded))
    # A choice is wrong on a label when one of truth and verdict is this label and the other is not.
    hot = [np.where(one[:, 0] < 0, -1, one[:, 0] == place) for one in (gold, *coded)]
    return mcnemar_of(*hot)


def _whole(gold: Any, *coded: Any) -> tuple[Any, ...]:
    """Documents as cases: 1 right in every label that has truth, 0 not, -1 without truth or a full verdict."""
    known = (gold >= 0).any(axis=1)
    cases = [np.where(known, 1, -1)]
    for one in coded:
        right = ((one == gold) | (gold < 0)).all(axis=1)
        cases.append(np.where((one >= 0).all(axis=1), right, -1))
    return tuple(cases)


def _several(session: ProjectSession, runs: Sequence[RunRow], reference: Reference) -> CochranQ:
    measured = runs[0].settings.codebook.kind == "rating"
    _, gold, said = aligned(session, runs, reference)
    coded = [stages.as_codes(gold, grid, measured=measured) for grid in said]
    known, *cases = _whole(stages.reference_codes(gold, measured=measured), *coded)
    return cochrans_q(known, dict(zip([run.run_id for run in runs], cases, strict=True)))


def _over_iterations(session: ProjectSession, run: RunRow, reference: Reference) -> dict[int, float]:
    """The main score of each iteration in points (0 to 100) by its number, in that order; NaN where it has none."""
    values = {}
    for row in repeated_runs.siblings(session, run):
        score = repeated_runs.main_score(evaluate.report(session, row.run_id, reference))
        values[row.settings.iteration] = math.nan if score is None else 100 * score
    return values


def told_difference(first: str, second: str, found: Estimate, where: str = "", measure: str = "points F1") -> str:
    """A difference in plain words: "r0002 is better on Price: +4.1 points F1, 95% interval 1.2 to 7.0."."""
    if found.value is None:
        return f"{first} and {second} cannot be compared{where}: the truth never has it."
    points = f"{_signed(100 * found.value)} {measure}"
    if found.interval is None:
        return f"{second} against {first}{where}: {points}; too few documents for an interval."
    span = f"{found.interval.level:.0%} interval {_span(found.interval)}"
    if found.value == 0 and found.interval.low == found.interval.high:
        return f"{second} and {first} do the same{where}: not one document tells them apart."
    if not found.clear:
        return f"{second} and {first} may be equally good{where}: {points}, {span}."
    return f"{second} is {'better' if found.value > 0 else 'worse'}{where}: {points}, {span}."


def _sentence(first: str, second: str, drawn: BootstrapScores, measured: bool) -> str:
    on = f" on {drawn.n} shared document{'' if drawn.n == 1 else 's'}"
    if not drawn.n:
        return f"{first} and {second} cannot be compared: no shared document has truth and a verdict in both."
    if measured:
        return told_difference(first, second, drawn.accuracy, on, "points within one of the truth")
    if drawn.macro.f1.value is None:
        return f"{first} and {second} cannot be compared: no label is present in the truth of the{on[3:]}."
    return told_difference(first, second, drawn.macro.f1, on, "points macro F1")


def _signed(value: float) -> str:
    shown = f"{abs(value):.1f}"
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"


def _span(interval: Interval) -> str:
    low, high = (round(100 * end, 1) + 0.0 for end in (interval.low, interval.high))
    return f"{low:.1f} to {high:.1f}".replace("-", "−")
