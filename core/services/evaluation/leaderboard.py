"""All runs of a project in one table: configuration, quality, coverage and cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from core.codebook import label_key
from core.documents import Reference
from core.runs import RunRow
from core.services.evaluation.evaluation import EvaluationReport, cost_of_run, cost_unit, efficient, evaluate
from core.services.evaluation.reference import available_references
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs.configuration import configuration
from core.stats.intervals import Estimate
from core.stats.metrics import Metric, main_metric


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
    return tuple(sorted(rows, key=_rank))


@cached_until_commit
def leaderboard_references(session: ProjectSession) -> dict[Reference, int]:
    """Return the references that any run has, with the largest number of documents; never another run."""
    counts: dict[Reference, int] = {}
    for run in session.all_runs():
        for name, count in available_references(session, run.run_id).items():
            if not name.startswith("run:"):
                counts[name] = max(count, counts.get(name, 0))
    return counts


def _row(session: ProjectSession, run: RunRow, reference: Reference) -> LeaderboardRow:
    row = LeaderboardRow(run, configuration(run.settings, run.documents), cost_of_run(session, run))
    if not run.verdicts or not (report := evaluate(session, run, reference)).n:
        return row
    return replace(row, report=report)


def _rank(row: LeaderboardRow) -> tuple[bool, float]:
    score = row.rank_score.value
    return not row.run.details.pinned, -score if score is not None else 2.0
