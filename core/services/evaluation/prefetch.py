"""Computation of what Evaluate probably shows next, in the background."""

from __future__ import annotations

from core.documents import Reference
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    annotation_arrays,
    debate_effect,
    error_analysis,
    model_recommendations,
    repeated_runs,
)
from core.services.evaluation.evaluation import EvaluationReport, evaluate
from core.services.evaluation.reference import available_references, default_reference
from core.services.project_session import ProjectSession


def prefetch_scores(session: ProjectSession) -> EvaluationReport | None:
    """Return the report that Evaluate shows when it is opened.

    None while a run is active, as each verdict would invalidate the scores, and if there is nothing to show or only
    ratings, which have no chart.
    """
    rows = [] if session.active_runs() else annotation_arrays.ranked_runs(session)
    if not rows or rows[0].settings.codebook.kind == "rating":
        return None
    counts = available_references(session, rows[0].run_id)
    reference = default_reference(counts, "gold")
    return evaluate(session, rows[0], reference) if counts[reference] else None


def prefetch_tabs(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Compute what the other tabs of Evaluate show first."""
    if session.active_runs():
        return
    debate_effect.debate_effect(session, run, reference)
    error_analysis.of_label(session, run, run.settings.codebook.labels[0].id, reference)
    repeated_runs.repeats(session, run, reference)
    model_recommendations.model_scores(session, model_recommendations.comparable_runs(session, run), reference)
    alt_test.may_replace(session, run)
