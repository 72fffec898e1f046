"""Reports of an evaluation: JSON with every analysis, and CSV of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.annotations import VERDICT, Reference
from core.csv_text import to_csv
from core.debate.protocols import family
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    calibration,
    debate_effect,
    drift,
    error_analysis,
    model_recommendations,
    panel_ablation,
    repeated_runs,
    scores,
)
from core.services.evaluation.scores import EvaluationReport, evaluate
from core.services.session import ProjectSession
from core.stats import metrics
from core.stats.intervals import Estimate
from core.stats.metrics import Metric


def full_report(
    session: ProjectSession,
    run: RunRow,
    reference: Reference = "gold",
    annotator: str = VERDICT,
    *,
    errors: bool = False,
) -> dict[str, Any]:
    """Return one run of ``moot evaluate --json``: ``scores.to_json`` and every further analysis under its own key.

    The keys are ``left_out``, ``cost``, ``debate`` (corrections and regressions), ``panel_styles`` (of a panel that
    rates), ``iterations``, ``calibration``, ``alternative_test`` and ``drift``. ``errors`` adds the error analysis of
    each label, which reads texts. Raises UsageError for an unknown reference.
    """
    found = evaluate(session, run, reference, annotator)
    several = len(repeated_runs.siblings(session, run)) > 1
    again = repeated_runs.repeats(session, run, reference) if several else None
    debate = debate_effect.debate_effect(session, run, reference)
    report = scores.to_json(found) | {
        "reference": reference,
        "annotator": annotator,
        "cost": scores.cost_per_document(run),
        "left_out": dict(found.coverage.left_out),
        "debate": debate_effect.to_json(debate, debate_effect.noun(run)),
        "panel_styles": panel_ablation.to_json(session, run, reference),
        "iterations": repeated_runs.to_json(again) if again is not None else None,
        "calibration": calibration.to_json(calibration.certainty(session, run, reference)),
        "alternative_test": alt_test.to_json(alt_test.may_replace(session, run)),
        "drift": drift.to_json(drift.drifts(session, run)),
    }
    if errors:
        report["errors"] = {
            label.name: error_analysis.to_json(error_analysis.of_label(session, run, label.id, reference))
            for label in run.settings.codebook.labels
        }
    return report


def role_models(session: ProjectSession, rows: Sequence[RunRow], reference: Reference = "gold") -> dict[str, Any]:
    """Return the key ``role_models`` of ``moot evaluate --json``.

    It has each model's profile over these runs, and a recommendation for each role of the last run's protocol.
    """
    found = model_recommendations.profiles(session, tuple(rows), reference)
    wanted = [family(role) for role in rows[-1].settings.role_models] if rows else []
    return model_recommendations.to_json(found, model_recommendations.suggestions(found, wanted) if found else ())


def to_table(report: EvaluationReport) -> str:
    """Return the scores as CSV: a row for each label, each mean over labels, and ``all`` for the other scores.

    A score with an interval has the columns ``SCORE_low`` and ``SCORE_high``. Undefined values are empty.
    """
    found = report.scores
    each = metrics.metrics(found.kind, per_label=True)
    rows = []
    for name, label in found.labels.items():
        counts = (
            {"tp": label.counts.tp, "fp": label.counts.fp, "fn": label.counts.fn, "tn": label.counts.tn}
            if label.counts
            else {}
        )
        rows.append({"name": name, "n": label.n, **counts, **_cells([(m, m.key, label[m.key]) for m in each])})
    overall = metrics.metrics(found.kind)
    for average in dict.fromkeys(metric.average for metric in overall):
        own = [
            (metric, metric.base or metric.key, found[metric.key]) for metric in overall if metric.average == average
        ]
        rows.append({"name": average or "all", "n": found.n, **_cells(own)})
    return to_csv(rows)


def _cells(values: Sequence[tuple[Metric, str, Estimate]]) -> dict[str, float | None]:
    """Return values under their keys, then the ends of the intervals."""
    cells = {key: estimate.value for _, key, estimate in values}
    for metric, key, estimate in values:
        if metric.interval is not None:
            cells[f"{key}_low"] = estimate.interval.low if estimate.interval else None
            cells[f"{key}_high"] = estimate.interval.high if estimate.interval else None
    return cells
