"""Prefetch what Evaluate will probably show next, into the cache."""

from __future__ import annotations

from core.annotations import Reference
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    debate_effect,
    drift,
    error_analysis,
    model_recommendations,
    repeated_runs,
)
from core.services.evaluation.reference import available_references, default_reference
from core.services.evaluation.scores import EvaluationReport, evaluate
from core.services.session import ProjectSession


def prefetch_scores(session: ProjectSession) -> EvaluationReport | None:
    """Return the report that Evaluate shows when it is opened.

    None while a run is active, as each verdict would invalidate the scores, and if there is nothing to show or only
    ratings, which have no chart.
    """
    rows = [] if session.active_runs() else drift.ranked_runs(session)
    if not rows or rows[0].settings.codebook.kind == "rating":
        return None
    known = available_references(session, rows[0].run_id)
    reference = default_reference(known, "gold")
    return evaluate(session, rows[0], reference) if known[reference] else None


def prefetch_tabs(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Compute what the other tabs of Evaluate show first."""
    if session.active_runs():
        return
    debate_effect.debate_effect(session, run, reference)
    error_analysis.of_label(session, run, run.settings.codebook.labels[0].id, reference)
    repeated_runs.repeats(session, run, reference)
    model_recommendations.model_scores(session, model_recommendations.comparable_runs(session, run), reference)
    alt_test.may_replace(session, run)
