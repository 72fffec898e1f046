"""Comparison of runs: all in one table, and some on the same documents with differences, intervals, tests and costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from core.codebook import Codebook, incomparability, label_key
from core.documents import Reference
from core.errors import UsageError
from core.formatting import join_names
from core.runs import RunRow
from core.services.evaluation import coverage, held_out, repeated_runs
from core.services.evaluation.annotation_arrays import (
    AnnotationArrays,
    Grid,
    is_test_document,
    rows_in,
    sampling_design,
    verdict_arrays,
)
from core.services.evaluation.coverage import Coverage
from core.services.evaluation.evaluation import (
    EvaluationReport,
    cost_of_run,
    cost_unit,
    efficient,
    evaluate,
    score,
    to_json,
)
from core.services.evaluation.json_data import json_data
from core.services.evaluation.reference import available_references, check_reference
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs.configuration import configuration
from core.stats.arrays import Mask, in_order_of, is_right
from core.stats.comparison import Pair, Side, compare_annotators
from core.stats.flips import Outcome
from core.stats.intervals import Estimate, ends
from core.stats.metric_intervals import Design
from core.stats.metrics import Metric, main_metric
from core.stats.scoring import Scores
from core.stats.significance import CochranQ, holm

MAX_LISTED = 1000
"""Maximum number of documents of an outcome that the JSON names."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run of a comparison."""

    run: RunRow
    scores: Scores
    """On the documents of the comparison, so that a difference is the difference of two columns."""
    cost: Mapping[str, float | None]
    """``cost_of_run``."""
    efficient: bool
    """True if no other run is as good at a lower cost, or better at the same cost."""
    unit: str
    """Unit of the cost: ``usd``, or ``tokens`` if a price is unknown or nothing cost anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Runs side by side; the first is what the others are compared with."""

    documents: tuple[str, ...]
    """Shared by all runs."""
    verdicts: Sequence[Grid]
    """Of each run on these documents."""
    columns: tuple[ComparedRun, ...]
    pairs: tuple[Pair, ...]
    """Each other run against the first."""
    cochran: CochranQ | None
    """None with two runs, for which McNemar's test is used."""
    coverage: Coverage
    """Of the scores: counted later, it would count the verdicts that a run has reached since."""


@cached_until_commit
def comparison(
    session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold", margin: float | None = None
) -> Comparison:
    """Compare two or more runs of one codebook, each with the first one.

    ``margin`` (0 to 1) adds a test of equivalence of the main score. UsageError for an unknown run, one named twice,
    codebooks that differ, and runs without a document in common.
    """
    runs = _comparable_runs(session, run_ids, reference)
    codebook = runs[0].settings.codebook
    documents, gold, verdicts = load_shared(session, runs, reference)
    covered = coverage.of_shared(session, runs, reference)
    scored = AnnotationArrays(documents, gold, verdicts[0])
    of_test_documents = (
        np.where(is_test_document(session.store, run.run_id, documents)[:, None], values, np.nan)
        for run, values in zip(runs[1:], verdicts[1:], strict=True)
    )
    design = sampling_design(session, runs[0], reference, scored, *of_test_documents)
    iterations = [row for run in runs for row in repeated_runs.siblings(session, run)]
    waiting = repeated_runs.waiting_documents(session, iterations)
    is_shared = np.all([~np.isnan(values).any(axis=1) for values in verdicts], axis=0)
    is_shared &= np.array([document not in waiting for document in documents], dtype=np.bool_)
    scored = AnnotationArrays(documents, np.where(is_shared[:, None], gold, np.nan), verdicts[0])
    by_iteration = [_main_score_by_iteration(session, run, codebook, scored, design) for run in runs]
    sides = [
        Side(run.run_id, name_in_sentence(run), values, scores)
        for run, values, scores in zip(runs, verdicts, by_iteration, strict=True)
    ]
    compared = compare_annotators(codebook, gold, sides, design, margin)
    columns = _columns(session, runs, compared.scores)
    pairs = compared.pairs
    versions = [held_out.version_of(run.settings) for run in runs]
    is_shaped = np.zeros(len(documents), dtype=np.bool_)
    if len(set(versions)) > 1:
        is_shaped = np.any([held_out.shaped_by(session, run, documents) for run in runs], axis=0)
    is_shaped &= ~np.isnan(scored.reference).all(axis=1)
    if count := int(is_shaped.sum()):
        others = compare_annotators(codebook, np.where(is_shaped[:, None], np.nan, scored.reference), sides, design)
        pairs = tuple(
            pair if version == versions[0] else replace(pair, sentence=_with_caveat(pair, other, count))
            for version, pair, other in zip(versions[1:], pairs, others.pairs, strict=True)
        )
    return Comparison(documents, verdicts, columns, pairs, compared.cochran, covered)


def _with_caveat(pair: Pair, others: Pair, count: int) -> str:
    """Return the sentence on a pair, that ``count`` documents may have shaped it, and that on the other documents."""
    without = f" Without them: {others.sentence}" if others.scores.n else ""
    return f"{pair.sentence} {held_out.caveat(count)}.{without}"


def _comparable_runs(session: ProjectSession, run_ids: Sequence[str], reference: Reference) -> list[RunRow]:
    """Return the runs. Raises UsageError if they cannot be compared with each other or with the reference."""
    runs = [session.run(id) for id in run_ids]
    if len(runs) < 2 or len(set(run_ids)) < len(runs):
        raise UsageError("A comparison takes two or more different runs.", "Name each run once.")
    codebook = runs[0].settings.codebook
    for run in runs[1:]:
        if different := incomparability(codebook, run.settings.codebook):
            names = f"{name_in_sentence(runs[0])} and {name_in_sentence(run)}"
            raise UsageError(f"{names} have {different}.", "Choose runs of one codebook.")
    check_reference(session, reference, [run.settings.codebook for run in runs])
    return runs


def _columns(
    session: ProjectSession, runs: Sequence[RunRow], scores_of_runs: Sequence[Scores]
) -> tuple[ComparedRun, ...]:
    """Return the runs with their scores and costs; a run is efficient if no other scores as well at a lower cost."""
    costs = [cost_of_run(session, run) for run in runs]
    unit = cost_unit(costs)
    points = [
        (cost[f"{unit}_per_verdict"], scores.main.value) for cost, scores in zip(costs, scores_of_runs, strict=True)
    ]
    return tuple(
        ComparedRun(run, scores, cost, is_efficient, unit)
        for run, scores, cost, is_efficient in zip(runs, scores_of_runs, costs, efficient(points), strict=True)
    )


def name_in_sentence(run: RunRow) -> str:
    """Return the name of a run, in quotation marks if its commas would be those of the sentence."""
    return f"“{run.title}”" if "," in run.title else run.title


def load_shared(
    session: ProjectSession, runs: Sequence[RunRow], reference: Reference
) -> tuple[tuple[str, ...], Grid, list[Grid]]:
    """Return the documents shared by all runs, the reference labels and the verdicts of each run.

    Documents and labels are in the order of the first run. The reference is NaN where it is missing for any run. Raises
    UsageError if the runs have no document in common.
    """
    codebook = runs[0].settings.codebook

    def load(run: RunRow) -> AnnotationArrays:
        loaded, own = verdict_arrays(session, run, reference), run.settings.codebook
        values, verdicts = (in_order_of(codebook, own, grid) for grid in (loaded.reference, loaded.verdicts))
        return AnnotationArrays(loaded.documents, values, verdicts)

    loaded_runs = [load(run) for run in runs]
    document_sets = [set(arrays.documents) for arrays in loaded_runs]
    shared = tuple(
        document for document in loaded_runs[0].documents if all(document in documents for documents in document_sets)
    )
    if not shared:
        names = join_names([name_in_sentence(run) for run in runs])
        raise UsageError(f"{names} have no document in common.", "Choose other runs.")
    references = np.stack([arrays.reference[rows_in(arrays.documents, shared)] for arrays in loaded_runs])
    gold = np.where(np.isnan(references).any(axis=0), np.nan, references[0])  # without what any run has learned from
    return shared, gold, [arrays.verdicts_on(shared) for arrays in loaded_runs]


def _main_score_by_iteration(
    session: ProjectSession, run: RunRow, codebook: Codebook, scored: AnnotationArrays, design: Design
) -> dict[int, float]:
    """Return the main score of each iteration in points (0 to 100) by its number; NaN where it is undefined.

    The documents are those of the comparison: scores on others would compare the documents and not the runs.
    """
    values = {}
    for row in repeated_runs.siblings(session, run):
        verdicts = verdict_arrays(session, row).verdicts_on(scored.documents)
        verdicts = in_order_of(codebook, row.settings.codebook, verdicts)
        main = score(codebook, scored.reference, verdicts, intervals=False, design=design).main.value
        values[row.settings.iteration] = math.nan if main is None else 100 * main
    return values


MAX_COMPARED = 6
"""Maximum number of runs that a page compares."""
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
    """The documents that count in a comparison. Masks are ``[document, item]``."""

    documents: tuple[str, ...]
    kinds: tuple[Outcome, ...]
    corrected: Mask
    regressed: Mask
    names: tuple[str, ...]

    @property
    def counts(self) -> dict[Outcome, int]:
        """Documents by outcome."""
        return {name: self.kinds.count(name) for name in OUTCOMES}


def outcomes(comparison: Comparison, pair: Pair) -> Outcomes:
    """Return the outcomes of a pair of the comparison."""
    codebook = comparison.columns[0].run.settings.codebook
    rows = np.flatnonzero(np.any(pair.changes, axis=(0, 2)))
    return Outcomes(
        documents=tuple(comparison.documents[row] for row in rows),
        kinds=tuple(pair.changes.outcomes[rows].tolist()),
        corrected=pair.changes.corrected[rows],
        regressed=pair.changes.regressed[rows],
        names=tuple(codebook.item_title(item) for item in codebook.items),
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
    is_listed = np.isin(outcomes.kinds, kinds)
    if label in outcomes.names:
        is_listed &= (outcomes.corrected | outcomes.regressed)[:, outcomes.names.index(label)]
    rows = sorted(np.flatnonzero(is_listed).tolist(), key=lambda row: list(OUTCOMES).index(outcomes.kinds[row]))
    texts = session.store.documents.texts([outcomes.documents[row] for row in rows[:limit]])

    def changed(row: int) -> ChangedDocument:
        id, sides = outcomes.documents[row], (outcomes.corrected[row], outcomes.regressed[row])
        corrected, regressed = (tuple(compress(outcomes.names, side)) for side in sides)
        return ChangedDocument(id, texts.get(id, ""), outcomes.kinds[row], corrected, regressed)

    return tuple(map(changed, rows[:limit])), len(rows)


def comparison_report(
    session: ProjectSession, run_ids: Sequence[str], reference: Reference = "gold", margin: float | None = None
) -> dict[str, Any]:
    """Return the output of ``moot compare --json``. Differences are second minus first, shares are from 0 to 1.

    For more than two runs, ``pairs`` contains the results of each run against the first, and ``cochran`` is the test
    for any difference. Without a reference label on a shared document, n is 0 and only results from the verdicts are
    included. Raises UsageError like ``comparison``.
    """
    compared = comparison(session, run_ids, reference, margin)
    first, *others = compared.verdicts
    pairs = [_pair_json(compared, pair, first, second) for pair, second in zip(compared.pairs, others, strict=True)]
    common = {
        "runs": list(run_ids),
        "reference": reference,
        "columns": [_column_json(column) for column in compared.columns],
        "reports": [to_json(evaluate(session, session.run(id), reference)) for id in run_ids],
    }
    if len(pairs) == 1:
        return common | pairs[0]
    cochran, adjusted = compared.cochran, holm([pair.documents.p for pair in compared.pairs])
    return common | {
        "pairs": [
            {"runs": [pair.first, pair.second], **pair_json, "p_adjusted": p}
            for pair, pair_json, p in zip(compared.pairs, pairs, adjusted, strict=True)
        ],
        "cochran": json_data(cochran) | {"sentence": cochran.sentence()} if cochran is not None else None,
        "sentence": " ".join(pair_json["sentence"] for pair_json in pairs),
    }


def _pair_json(comparison: Comparison, pair: Pair, first: Grid, second: Grid) -> dict[str, Any]:
    kind = comparison.columns[0].run.settings.codebook.kind
    equal = is_right(first, second, kind=kind)[~np.isnan(first).any(axis=1) & ~np.isnan(second).any(axis=1)]
    same = int(equal.all(axis=1).sum())
    result: dict[str, Any] = {
        "documents": len(comparison.documents),
        "shared": len(equal),
        "same": same,
        "n": pair.scores.n,
        "agreement": float(equal.mean()) if len(equal) else None,
    }
    if not pair.scores.n + pair.scores.excluded:
        summary = f"{same} of {len(equal)} shared documents have the same verdict. No reference to score them."
        return result | {"sentence": summary}
    pair_outcomes = outcomes(comparison, pair)
    return result | {
        "excluded": pair.scores.excluded,
        **{key: _difference_json(estimate) for key, estimate in pair.scores.overall.items()},
        "labels": {
            test.name: _difference_json(test.difference)
            | {"mcnemar": json_data(test.test), "p_adjusted": test.adjusted, "positives": test.positives}
            | {"verdict": test.verdict, "sentence": test.sentence}
            for test in pair.labels
        },
        "main": json_data(pair.main),
        "equivalence": json_data(pair.equivalence),
        "mcnemar": json_data(pair.documents) | pair.documents.odds_ratio().named_json("odds_ratio"),
        "tests": {"paired_t": json_data(pair.paired), "welch": json_data(pair.welch), "hedges_g": pair.effect_size},
        "changes": json_data(pair.flip),
        "outcomes": pair_outcomes.counts
        | {
            "documents": {
                name: list(compress(pair_outcomes.documents, np.isin(pair_outcomes.kinds, name)))[:MAX_LISTED]
                for name in ("corrected", "regressed", "mixed")
            }
        },
        "sentence": pair.sentence,
    }


def _difference_json(estimate: Estimate) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """A run. ``report`` is None for a run without a document that could be scored."""

    run: RunRow
    configuration: Mapping[str, str]
    """``core.services.runs.configuration``."""
    cost: Mapping[str, float | None]
    """``core.services.evaluation.evaluation.cost_of_run``."""
    report: EvaluationReport | None = None
    group: int = 0
    """Number of the group of runs with the same labels and documents, in which costs are compared."""
    efficient: bool = False
    """No other run of the group has as high a ``rank_score`` at a lower cost, nor a higher one at the same cost; False
    if no other run of the group has a score."""
    unit: str = "usd"
    """Unit in which costs are compared, as in ``cost_unit``."""

    @property
    def main(self) -> Estimate | None:
        """The main score with its interval."""
        return self.report.scores.main if self.report is not None else None

    @property
    def rank_score(self) -> Estimate:
        """The score by which runs are ranked."""
        return self.report.rank_score if self.report is not None else Estimate()

    @property
    def metric(self) -> Metric:
        """The metric of the main score."""
        return main_metric(self.run.settings.codebook.kind)


@cached_until_commit
def leaderboard(session: ProjectSession, reference: Reference = "gold") -> tuple[LeaderboardRow, ...]:
    """Return the runs of the project, pinned ones first, then by strict score, then the latest first.

    Runs with a reference on less than half as many documents as another run come last, such as pilots: the score of a
    few documents may be high by chance.
    Deleted runs are left out, and canary runs, which repeat a run on a few documents.
    """
    runs = [run for run in reversed(session.all_runs()) if not run.is_canary]
    rows = [_row(session, run, reference) for run in runs]
    unit = cost_unit([row.cost for row in rows if row.report is not None])
    points = [(row.cost[f"{unit}_per_verdict"], row.rank_score.value) for row in rows]
    document_sets = session.store.runs.document_sets()
    groups: dict[tuple[Hashable, ...], list[int]] = {}
    for index, run in enumerate(runs):
        groups.setdefault((label_key(run.settings.codebook), document_sets.get(run.run_id)), []).append(index)
    for group, indices in enumerate(groups.values(), start=1):
        of_group = [points[index] for index in indices]
        several = sum(None not in point for point in of_group) > 1
        for index, best in zip(indices, efficient(of_group), strict=True):
            rows[index] = replace(rows[index], group=group, efficient=best and several, unit=unit)
    most = max((_referenced(row) for row in rows), default=0)
    return tuple(sorted(rows, key=lambda row: _rank(row, most)))


@cached_until_commit
def leaderboard_references(session: ProjectSession) -> dict[Reference, int]:
    """Return the references that any run has, with the largest number of documents; never another run."""
    counts: dict[Reference, int] = {}
    document_sets = session.store.runs.document_sets()
    runs = {(label_key(run.settings.codebook), document_sets.get(run.run_id)): run for run in session.all_runs()}
    for run in runs.values():  # of runs with the same labels and documents one: each reads the verdicts of all runs
        for name, count in available_references(session, run.run_id).items():
            if not name.startswith("run:"):
                counts[name] = max(count, counts.get(name, 0))
    return counts


def _row(session: ProjectSession, run: RunRow, reference: Reference) -> LeaderboardRow:
    report = evaluate(session, run, reference) if run.verdicts else None
    scored = report if report is not None and report.n else None
    return LeaderboardRow(run, configuration(run.settings, run.documents), cost_of_run(session, run), scored)


def _referenced(row: LeaderboardRow) -> int:
    """Return the number of documents with a reference, also those without a verdict, which the strict score counts."""
    return row.report.n + row.report.excluded if row.report is not None else 0


def _rank(row: LeaderboardRow, most: int) -> tuple[bool, bool, float]:
    score = row.rank_score.value
    return not row.run.details.pinned, 2 * _referenced(row) < most, -score if score is not None else 2.0
