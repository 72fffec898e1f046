"""What the views of Evaluate show of a run against a truth: each worked out once for as long as what it rests upon is
the same, and what will be asked for next worked out ahead (``core.services.prefetch``)."""

from __future__ import annotations

from core.runs import RunRow
from core.services.cache import measured, remembered
from core.services.evaluation import (
    alt_test,
    calibration,
    compare,
    debate_effect,
    drift,
    error_analysis,
    evaluate,
    looked,
    model_recommendations,
    repeated_runs,
    scoring,
)
from core.services.evaluation.calibration import Certainty
from core.services.evaluation.debate_effect import DebateEffect
from core.services.evaluation.error_analysis import LabelErrors
from core.services.evaluation.grids import Reference
from core.services.evaluation.model_recommendations import Profile
from core.services.evaluation.repeated_runs import RepeatedRuns
from core.services.evaluation.scoring import Evaluation
from core.services.session import ProjectSession
from core.stats.alt_test import Alternative, People


def evaluation(session: ProjectSession, run: RunRow, reference: Reference) -> Evaluation:
    """``scoring.evaluation``."""
    return measured(
        session, reference, lambda: scoring.evaluation(session, run.run_id, reference), "evaluation", run.run_id
    )


def debate(session: ProjectSession, run: RunRow, reference: Reference) -> DebateEffect:
    """``worth.worth``."""
    return measured(session, reference, lambda: debate_effect.worth(session, run, reference), "worth", run.run_id)


def errors(session: ProjectSession, run: RunRow, label_id: str, reference: Reference) -> LabelErrors:
    """``mistakes.of_label``. Not kept over a decision: people's error tags are in it."""
    return remembered(
        session,
        lambda: error_analysis.of_label(session, run, label_id, reference),
        "mistakes",
        run.run_id,
        label_id,
        reference,
    )


def repeated(session: ProjectSession, run: RunRow, reference: Reference) -> RepeatedRuns | None:
    """``repeats.repeats``."""
    return measured(session, reference, lambda: repeated_runs.repeats(session, run, reference), "repeats", run.run_id)


def certain(session: ProjectSession, run: RunRow, reference: Reference) -> Certainty:
    """``certainty.certainty``. Not kept over a decision: the student learns from it."""
    return remembered(
        session, lambda: calibration.certainty(session, run, reference), "certainty", run.run_id, reference
    )


def pooled(session: ProjectSession, run: RunRow) -> list[RunRow]:
    """The runs over which ``resolve`` counts: those whose codebook has the same labels."""
    return [row for row in looked.runs(session) if compare.alike(row.settings.codebook, run.settings.codebook)]


def resolve(session: ProjectSession, run: RunRow, reference: Reference) -> tuple[Profile, ...]:
    """``advice.profiles`` of the runs like this one."""
    return measured(
        session,
        reference,
        lambda: model_recommendations.profiles(session, pooled(session, run), reference),
        "profiles",
        run.run_id,
    )


def replaced(session: ProjectSession, run: RunRow, who: People) -> Alternative:
    """``people.may_replace``."""
    return remembered(session, lambda: alt_test.may_replace(session, run, who), "replace", run.run_id, who)


def usual(known: dict[Reference, int], wanted: Reference) -> Reference:
    """What to compare with: what is wanted, or else the first source that speaks of any document."""
    return wanted if known.get(wanted) else next((name for name, count in known.items() if count), "gold")


def first(session: ProjectSession) -> Evaluation | None:
    """What Evaluate shows when it is opened. None while a run moves, as each verdict would undo it, and where there is
    nothing of the kind."""
    rows = [] if session.active_runs() else drift.ranked_runs(session)
    if not rows or rows[0].settings.codebook.kind == "rating":
        return None
    run = rows[0]
    known = evaluate.references(session, run.run_id)
    reference = usual(known, "gold")
    return evaluation(session, run, reference) if known[reference] else None


def rest(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Work out what the other views of Evaluate show when they are first looked at."""
    if session.active_runs():
        return
    debate(session, run, reference)
    errors(session, run, run.settings.codebook.labels[0].id, reference)
    repeated(session, run, reference)
    resolve(session, run, reference)
    replaced(session, run, "trained")
