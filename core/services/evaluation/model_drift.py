"""Drift of models: canary documents of a run are run again later with the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, compress

import numpy as np

from core.errors import UsageError
from core.formatting import format_count, format_duration
from core.runs import CANARY, FIRST_CANARY, RunDetails, RunRow
from core.services import few_shot_examples
from core.services.document_samples import fixed_sample
from core.services.evaluation import coverage, repeated_runs
from core.services.evaluation.annotation_arrays import AnnotationArrays, group_codes, rows_in, verdict_arrays
from core.services.project_session import ProjectSession
from core.stats.arrays import Mask, differ
from core.stats.intervals import Estimate, format_estimate
from core.stats.metric_intervals import Design, ratio

CANARIES = 30
"""Default number of documents that are run again."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A canary run compared with the run that it repeats. ``changed`` holds the documents with another verdict."""

    run_id: str
    later: str
    days: float
    """Days between the starts of the two runs."""
    changed: tuple[str, ...]
    share: Estimate
    """Share of documents that changed, with Wilson's interval over independent documents or groups."""
    chance: Estimate
    """Share of documents on which two of the run's own iterations differ at the same time, over all pairs of them: what
    would change without drift; None with one iteration."""
    counted: coverage.Coverage
    """Canaries with a complete verdict in both runs, and the excluded documents of the run."""
    problem: str
    """Why canaries have no verdict: how many failed, and why the canary run is not running; else empty."""
    models: tuple[str, ...]
    """Server names of models that differ between the runs: ``role: before → now``."""

    @property
    def documents(self) -> int:
        """Number of canaries with a complete verdict in both runs."""
        return self.counted.n

    @property
    def sentence(self) -> str:
        """The finding in plain words."""
        if not self.documents:
            return f"{self.later}: {self.problem or 'no canary has a verdict in both runs yet.'}"
        apart = format_count(round(self.days), "day") if self.days >= 2 else format_duration(86_400 * self.days)
        predicted = (
            f"After {apart} {len(self.changed)} of {self.documents} canaries have another verdict: "
            f"{format_estimate(self.share, percent=True)}"
        )
        if self.chance.value is not None:
            predicted += f"; iterations at one time differ on {format_estimate(self.chance, percent=True)}"
        predicted += f". {self.problem}" if self.problem else "."
        return predicted + (f" The server reports another model: {', '.join(self.models)}." if self.models else "")


def start_canary_run(session: ProjectSession, run: RunRow) -> RunRow:
    """Create a run with the same settings on canaries: documents drawn at random, the same ones each time.

    The new run does not reuse stored replies, because stored replies would show no drift. It has its own iteration
    number and the same few-shot examples, like an iteration of the run. The new run is queued and not started. Raises
    UsageError if the run has no verdict so far, and if its documents were replaced.
    """
    if not run.verdicts:
        raise UsageError(f"{run.title} has no verdict to compare with.", "Finish it first.")
    earlier = canary_runs(session, run)
    ids = session.store.runs.present_ids((earlier[0] if earlier else run).run_id)
    canaries = ids if earlier else fixed_sample(ids, CANARIES)
    iteration = max(FIRST_CANARY, session.store.runs.last_iteration() + 1)
    settings = run.settings.model_copy(update={"iteration": iteration})
    details = RunDetails(name=f"Canary {len(earlier) + 1} of {run.title}"[:100])
    canary_run = session.store.runs.create(settings, canaries, experiment_id=f"{CANARY}{run.run_id}", details=details)
    few_shot_examples.copy_pool(session.store, run.run_id, canary_run.run_id)
    return canary_run


def canary_runs(session: ProjectSession, run: RunRow) -> list[RunRow]:
    """Return the canary runs of a run, oldest first."""
    return [row for row in session.all_runs() if row.experiment_id == f"{CANARY}{run.run_id}"]


def drifts(session: ProjectSession, run: RunRow) -> tuple[Drift, ...]:
    """Return the changes at each canary run, oldest first; empty if there are no canary runs."""
    later = canary_runs(session, run)
    if not later:
        return ()
    first = verdict_arrays(session, run)
    chance = _chance(session, run)
    return tuple(_drift(session, run, row, first, chance) for row in later)


def _drift(session: ProjectSession, run: RunRow, later: RunRow, first: AnnotationArrays, chance: Estimate) -> Drift:
    now = verdict_arrays(session, later)
    rows = rows_in(first.documents, now.documents)  # canaries are documents of the first run
    before, after = first.verdicts[rows], now.verdicts
    complete: Mask = np.all(~np.isnan(before) & ~np.isnan(after), axis=1)
    differs = np.any(differ(before, after, kind=run.settings.codebook.kind), axis=1) & complete
    groups = group_codes(session, run)
    served_models = session.store.transcripts.served_models
    return Drift(
        run_id=run.run_id,
        later=later.run_id,
        days=(later.created_at - run.created_at) / 86_400,
        changed=tuple(compress(now.documents, differs)),
        share=ratio(differs, complete, Design(groups=groups[rows] if groups is not None else None)),
        chance=chance,
        counted=coverage.of_rerun(session, run, later),
        problem=_problem(later),
        models=_renamed(served_models(run.run_id), served_models(later.run_id)),
    )


def _problem(later: RunRow) -> str:
    """Return how many canaries failed, and why the canary run is not running if it should be."""
    failed = f"{later.failed} of {format_count(later.documents, 'canary', 'canaries')} failed." if later.failed else ""
    stopped = f"The canary run {later.state}. {later.message}" if later.state in ("paused", "stopped", "failed") else ""
    return " ".join(filter(None, (failed, stopped.strip())))


def _renamed(before: Mapping[str, frozenset[str]], now: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return ``role: before → now`` for roles whose server reports another model name than before."""
    return tuple(
        f"{role}: {', '.join(sorted(before[role]))} → {', '.join(sorted(now[role]))}"
        for role in before
        if role in now and before[role] != now[role]
    )


def _chance(session: ProjectSession, run: RunRow) -> Estimate:
    rows = repeated_runs.siblings(session, run)
    if len(rows) < 2:
        return Estimate()
    documents = verdict_arrays(session, rows[0]).documents
    pairs = list(combinations((verdict_arrays(session, row).verdicts_on(documents) for row in rows), 2))
    complete = np.array([~np.isnan(first + second).any(axis=1) for first, second in pairs])
    differs = np.array([differ(*pair, kind=run.settings.codebook.kind).any(axis=1) for pair in pairs]) & complete
    return ratio(differs.sum(axis=0), complete.sum(axis=0), Design(groups=group_codes(session, rows[0])))
