"""What the views of Evaluate show of a run against a truth: each worked out once for as long as what it rests upon is
the same, and what will be asked for next worked out ahead (``core.studio.ahead``)."""

from __future__ import annotations

from core.evaluation.alternative import Alternative, People
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import (
    advice,
    certainty,
    compare,
    evaluate,
    looked,
    mistakes,
    people,
    repeats,
    scoring,
    worth,
)
from core.studio.evaluation.advice import Profile
from core.studio.evaluation.certainty import Certainty
from core.studio.evaluation.grids import Truth
from core.studio.evaluation.mistakes import LabelErrors
from core.studio.evaluation.repeats import Repeats
from core.studio.evaluation.scoring import Evaluation
from core.studio.evaluation.worth import Worth
from core.studio.memo import measured, remembered
from core.studio.reviewing import review


def evaluation(desk: Desk, run: RunRow, truth: Truth) -> Evaluation:
    """``scoring.evaluation``."""
    return measured(desk, truth, lambda: scoring.evaluation(desk, run.run_id, truth), "evaluation", run.run_id)


def debate(desk: Desk, run: RunRow, truth: Truth) -> Worth:
    """``worth.worth``."""
    return measured(desk, truth, lambda: worth.worth(desk, run, truth), "worth", run.run_id)


def errors(desk: Desk, run: RunRow, label_id: str, truth: Truth) -> LabelErrors:
    """``mistakes.of_label``. Not kept over a decision: people's error tags are in it."""
    return remembered(
        desk, lambda: mistakes.of_label(desk, run, label_id, truth), "mistakes", run.run_id, label_id, truth
    )


def repeated(desk: Desk, run: RunRow, truth: Truth) -> Repeats | None:
    """``repeats.repeats``."""
    return measured(desk, truth, lambda: repeats.repeats(desk, run, truth), "repeats", run.run_id)


def certain(desk: Desk, run: RunRow, truth: Truth) -> Certainty:
    """``certainty.certainty``. Not kept over a decision: the student learns from it."""
    return remembered(desk, lambda: certainty.certainty(desk, run, truth), "certainty", run.run_id, truth)


def pooled(desk: Desk, run: RunRow) -> list[RunRow]:
    """The runs over which ``seated`` counts: those whose codebook has the same labels."""
    return [row for row in looked.runs(desk) if compare.alike(row.settings.codebook, run.settings.codebook)]


def seated(desk: Desk, run: RunRow, truth: Truth) -> tuple[Profile, ...]:
    """``advice.profiles`` of the runs like this one."""
    return measured(desk, truth, lambda: advice.profiles(desk, pooled(desk, run), truth), "profiles", run.run_id)


def replaced(desk: Desk, run: RunRow, who: People) -> Alternative:
    """``people.may_replace``."""
    return remembered(desk, lambda: people.may_replace(desk, run, who), "replace", run.run_id, who)


def usual(known: dict[Truth, int], wanted: Truth) -> Truth:
    """What to compare with: what is wanted, or else the first source that speaks of any document."""
    return wanted if known.get(wanted) else next((name for name, count in known.items() if count), "gold")


def first(desk: Desk) -> Evaluation | None:
    """What Evaluate shows when it is opened. None while a run moves, as each verdict would undo it, and where there is
    nothing of the kind."""
    rows = [] if desk.under_way() else review.runs(desk)
    if not rows or rows[0].settings.codebook.kind == "rating":
        return None
    run = rows[0]
    known = evaluate.truths(desk, run.run_id)
    truth = usual(known, "gold")
    return evaluation(desk, run, truth) if known[truth] else None


def rest(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Work out what the other views of Evaluate show when they are first looked at."""
    if desk.under_way():
        return
    debate(desk, run, truth)
    errors(desk, run, run.settings.codebook.labels[0].id, truth)
    repeated(desk, run, truth)
    seated(desk, run, truth)
    replaced(desk, run, "trained")
