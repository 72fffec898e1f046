"""Computation of what Evaluate probably shows next, in the background."""

from __future__ import annotations

from core.documents import Reference
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    debate_effect,
    error_analysis,
    evaluation,
    model_recommendations,
    repeated_runs,
)
from core.services.evaluation.reference import available_references, default_reference
from core.services.project_session import ProjectSession


def prefetch_scores(session: ProjectSession, run: RunRow) -> None:
    """Compute what Evaluate shows first of a run."""
    counts = available_references(session, run.run_id)
    reference = default_reference(counts, "gold")
    if counts[reference]:
        evaluation.evaluate(session, run, reference)
        if run.settings.codebook.kind != "rating":  # whose scores are shown without those of the roles
            evaluation.role_scores(session, run, reference)
            debate_effect.debate_effect(session, run, reference)


def prefetch_tabs(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Compute what the other tabs of Evaluate show first."""
    if session.active_runs():
        return
    debate_effect.debate_effect(session, run, reference)
    error_analysis.of_label(session, run, run.settings.codebook.labels[0].id, reference)
    repeated_runs.repeats(session, run, reference)
    model_recommendations.model_scores(session, model_recommendations.comparable_runs(session, run), reference)
    alt_test.may_replace(session, run)
