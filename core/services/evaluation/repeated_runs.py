"""Iterations of one experiment: spread of the scores and stability of the documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.documents import VERDICT, Reference
from core.runs import RunRow
from core.services.evaluation import coverage
from core.services.evaluation.annotation_arrays import (
    AnnotationArrays,
    Grid,
    debate_statuses,
    group_codes,
    paired_with,
    sampling_design,
    verdict_arrays,
)
from core.services.evaluation.evaluation import score
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_scores
from core.stats.metrics import main_metric, metrics
from core.stats.repeated_runs import Repeated, Stability, repeated, stability
from core.stats.scoring import Scores


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """``runs`` are the iterations that have verdicts, in their order; scores are over these.

    Documents that one of them has not debated yet do not count.
    """

    runs: tuple[str, ...]
    measures: Mapping[str, Repeated]
    labels: Mapping[str, Repeated]
    """F1 of each label; of a choice likewise, of a rating Spearman's correlation."""
    by_run: Mapping[str, Mapping[str, float | None]]
    """Run -> measure -> value."""
    by_label: Mapping[str, Mapping[str, float | None]]
    """Label -> run -> value."""
    stability: Stability
    documents: tuple[str, ...]
    """Documents of ``stability``, in its order."""
    counted: coverage.Coverage
    """Coverage of ``stability``: documents with a reference; unreadable verdicts are included."""
    scored: coverage.Coverage
    """Coverage of the scores, over all runs."""


def siblings(session: ProjectSession, run: RunRow) -> list[RunRow]:
    """Return the iterations of the run's experiment that have a verdict, in order, including the run itself.

    Canary runs repeat a run at different times, so that each of them is alone.
    """
    rows = [row for row in session.all_runs() if row.experiment_id == run.experiment_id and row.verdicts]
    rows = [row for row in rows if not row.is_canary or row.run_id == run.run_id]
    return sorted(rows, key=lambda row: (row.settings.iteration, row.run_id))


def waiting_documents(session: ProjectSession, rows: Sequence[RunRow]) -> set[str]:
    """Return the documents that one of these runs has not debated yet, as a stopped one.

    Scores of runs on different documents would differ by these.
    """
    return {
        document
        for row in rows
        for document, status in zip(
            session.store.runs.document_ids(row.run_id), debate_statuses(session, row), strict=True
        )
        if status == "waiting"
    }


def _reference_without(loaded: AnnotationArrays, documents: Collection[str]) -> Grid:
    """Return the reference without that of these documents."""
    is_left_out = np.array([document in documents for document in loaded.documents], dtype=np.bool_)
    return np.where(is_left_out[:, None], np.nan, loaded.reference)


def _scores(
    session: ProjectSession, row: RunRow, reference: Reference, waiting: set[str]
) -> tuple[Scores, coverage.Coverage]:
    """Return the scores of an iteration without the ``waiting`` documents, and their coverage."""
    loaded = verdict_arrays(session, row, reference)
    gold, verdicts = paired_with(session, row, VERDICT, _reference_without(loaded, waiting))
    design = sampling_design(session, row, reference, loaded)
    scores = score(row.settings.codebook, gold, verdicts, intervals=False, design=design)
    return scores, coverage.of_documents(session, row, reference, np.any(~np.isnan(verdicts), axis=1))


@cached_scores
def repeats(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> RepeatedRuns | None:
    """Return the combined results of the iterations, None before any of them has a verdict."""
    rows = siblings(session, run)
    if not rows:
        return None
    codebook = run.settings.codebook
    waiting = waiting_documents(session, rows)
    by_row = [_scores(session, row, reference, waiting) for row in rows]
    scored = {row.run_id: scores for row, (scores, _) in zip(rows, by_row, strict=True)}
    by_run = {id: {key: estimate.value for key, estimate in scores.overall.items()} for id, scores in scored.items()}
    main = main_metric(codebook.kind, per_label=True)
    by_label = {
        label: {id: scores.labels[label][main.key].value for id, scores in scored.items()} for label in codebook.names
    }
    loaded = verdict_arrays(session, rows[0], reference)
    gold = _reference_without(loaded, waiting)
    predicted = [verdict_arrays(session, row).verdicts_on(loaded.documents) for row in rows]
    return RepeatedRuns(
        runs=tuple(scored),
        measures={
            metric.key: repeated([scores[metric.key] for scores in by_run.values()], metric.interval or "signed")
            for metric in metrics(codebook.kind)
        },
        labels={
            label: repeated(list(scores.values()), main.interval or "signed") for label, scores in by_label.items()
        },
        by_label=by_label,
        by_run=by_run,
        stability=stability(
            gold,
            predicted,
            codebook.item_names,
            kind=codebook.kind,
            design=sampling_design(session, rows[0], reference, loaded, *predicted[1:]),
            groups=group_codes(session, rows[0]),
        ),
        documents=loaded.documents,
        counted=coverage.of_documents(session, rows[0], reference, np.any(~np.isnan(gold), axis=1)),
        scored=coverage.merge([counted for _, counted in by_row]),
    )
