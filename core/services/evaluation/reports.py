"""Everything that is told of a run without a browser: the contract's scores, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.annotations import VERDICT
from core.debate.protocols import family
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    calibration,
    common_cells,
    debate_effect,
    drift,
    error_analysis,
    evaluate,
    model_recommendations,
    panel_ablation,
    repeated_runs,
    scoring,
)
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession
from core.stats import bootstrap
from core.stats.intervals import ends, wilson


def scored(
    session: ProjectSession, run_id: str, reference: Reference = "gold", annotator: str = VERDICT
) -> dict[str, Any]:
    """``evaluate.report`` with the ``intervals`` of its scores, the very ones that the page shows; without them for
    ratings, whose correlations have none. UsageError for an unknown run or truth."""
    run = evaluate.known(session, run_id)
    told = evaluate.report(session, run_id, reference, annotator)
    if run.settings.codebook.kind != "rating":
        told["intervals"] = _intervals(session, run, reference, annotator, told)
    return told


def full(
    session: ProjectSession,
    run_id: str,
    reference: Reference = "gold",
    annotator: str = VERDICT,
    *,
    errors: bool = False,
) -> dict[str, Any]:
    """One run of ``moot evaluate --json``: ``evaluate.report``, and under further keys ``intervals``, ``left_out``,
    ``spent``, ``debate`` (who changed what), ``panel_styles`` (of a panel that rates), ``iterations``, ``certainty``,
    ``replace_people`` and ``drift``.

    ``errors`` adds the error analysis of each label, which reads texts. UsageError for an unknown run or truth.
    """
    run = evaluate.known(session, run_id)
    told = scored(session, run_id, reference, annotator)
    told |= {"reference": reference, "annotator": annotator, "spent": spent(run)}
    told["left_out"] = left_out(session, run, reference)
    told["debate"] = debate_effect.to_json(debate_effect.worth(session, run, reference), debate_effect.noun(run))
    told["panel_styles"] = panel_ablation.to_json(session, run, reference)
    several = len(repeated_runs.siblings(session, run)) > 1
    again = repeated_runs.repeats(session, run, reference) if several else None
    told["iterations"] = repeated_runs.to_json(again) if again is not None else None
    told["certainty"] = calibration.to_json(calibration.certainty(session, run, reference))
    told["replace_people"] = alt_test.to_json(alt_test.may_replace(session, run))
    told["drift"] = drift.to_json(drift.drifts(session, run))
    if errors:
        told["errors"] = {
            label.name: error_analysis.to_json(error_analysis.of_label(session, run, label.id, reference))
            for label in run.settings.codebook.labels
        }
    return told


def role_models(session: ProjectSession, rows: Sequence[RunRow], reference: Reference = "gold") -> dict[str, Any]:
    """The key ``role_models`` of ``moot evaluate --json``: each model's profile over these runs, and who suits which
    seat of the last one's protocol."""
    found = model_recommendations.profiles(session, rows, reference)
    wanted = [family(role) for role in rows[-1].settings.role_models] if rows else []
    return model_recommendations.to_json(found, model_recommendations.suggestions(found, wanted) if found else ())


def spent(run: RunRow) -> dict[str, float | None]:
    """What a verdict of the run took: dollars (None when a price is unknown), tokens and seconds of work. None without
    a verdict."""
    n = run.verdicts
    tokens = run.prompt_tokens + run.completion_tokens
    return {
        "cost_usd": run.cost_usd,
        "usd_per_verdict": run.cost_usd / n if run.cost_usd is not None and n else None,
        "tokens_per_verdict": tokens / n if n else None,
        "seconds_per_verdict": run.seconds / n if n else None,
    }


def left_out(session: ProjectSession, run: RunRow, reference: Reference) -> dict[str, int]:
    """Documents of the run that no score counts, by reason."""
    out = scoring.not_counted(session, run, reference)
    return {
        "without_truth": out.without_reference,
        "unresolved": out.unresolved,
        "failed": out.failed,
        "waiting": out.waiting,
        "used_as_examples": out.examples,
    }


def _intervals(
    session: ProjectSession, run: RunRow, reference: Reference, annotator: str, told: Mapping[str, Any]
) -> dict[str, Any]:
    """Of each score under its own key. What counts whole documents (the accuracy of a choice, all labels right) has
    Wilson's interval; the others those of ``bootstrap.scores``."""
    codebook = run.settings.codebook
    gold, said = (scoring.present(codebook, each) for each in common_cells.pair(session, run, annotator, reference))
    drawn = bootstrap.scores(gold, said, codebook.names)

    def three(summary: bootstrap.Summary) -> dict[str, list[float] | None]:
        return {
            "precision": ends(summary.precision.interval),
            "recall": ends(summary.recall.interval),
            "f1": ends(summary.f1.interval),
        }

    def whole(share: float | None) -> list[float] | None:
        return None if share is None else ends(wilson(round(share * told["n"]), told["n"]))

    labels = {name: three(summary) for name, summary in drawn.labels.items()}
    if codebook.kind == "choice":
        spans: dict[str, Any] = {"accuracy": whole(told["accuracy"]), "macro": three(drawn.macro)}
    else:
        spans = {"accuracy": ends(drawn.accuracy.interval), "subset_accuracy": whole(told["subset_accuracy"])}
        spans |= {"macro": three(drawn.macro), "micro": three(drawn.micro)}
    return {"level": 0.95, **spans, "labels": labels}
