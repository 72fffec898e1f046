"""Everything that is told of a run without a browser: the contract's scores, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.annotations import VERDICT
from core.debate.protocols import family
from core.evaluation import bootstrap
from core.evaluation.intervals import ends, wilson
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import (
    advice,
    certainty,
    common_cells,
    drift,
    evaluate,
    mistakes,
    people,
    repeats,
    scoring,
    styles,
    worth,
)
from core.studio.evaluation.grids import Truth


def scored(desk: Desk, run_id: str, truth: Truth = "gold", annotator: str = VERDICT) -> dict[str, Any]:
    """``evaluate.report`` with the ``intervals`` of its scores, the very ones that the page shows; without them for
    ratings, whose correlations have none. UsageError for an unknown run or truth."""
    run = evaluate.known(desk, run_id)
    told = evaluate.report(desk, run_id, truth, annotator)
    if run.settings.codebook.kind != "rating":
        told["intervals"] = _intervals(desk, run, truth, annotator, told)
    return told


def full(
    desk: Desk, run_id: str, truth: Truth = "gold", annotator: str = VERDICT, *, errors: bool = False
) -> dict[str, Any]:
    """One run of ``moot evaluate --json``: ``evaluate.report``, and under further keys ``intervals``, ``left_out``,
    ``spent``, ``debate`` (who changed what), ``panel_styles`` (of a panel that rates), ``iterations``, ``certainty``,
    ``replace_people`` and ``drift``.

    ``errors`` adds the error analysis of each label, which reads texts. UsageError for an unknown run or truth.
    """
    run = evaluate.known(desk, run_id)
    told = scored(desk, run_id, truth, annotator)
    told |= {"truth": truth, "annotator": annotator, "spent": spent(run)}
    told["left_out"] = left_out(desk, run, truth)
    told["debate"] = worth.to_json(worth.worth(desk, run, truth), worth.noun(run))
    told["panel_styles"] = styles.to_json(desk, run, truth)
    several = len(repeats.siblings(desk, run)) > 1
    again = repeats.repeats(desk, run, truth) if several else None
    told["iterations"] = repeats.to_json(again) if again is not None else None
    told["certainty"] = certainty.to_json(certainty.certainty(desk, run, truth))
    told["replace_people"] = people.to_json(people.may_replace(desk, run))
    told["drift"] = drift.to_json(drift.drifts(desk, run))
    if errors:
        told["errors"] = {
            label.name: mistakes.to_json(mistakes.of_label(desk, run, label.id, truth))
            for label in run.settings.codebook.labels
        }
    return told


def seats(desk: Desk, rows: Sequence[RunRow], truth: Truth = "gold") -> dict[str, Any]:
    """The key ``seats`` of ``moot evaluate --json``: each model's profile over these runs, and who suits which seat of
    the last one's protocol."""
    found = advice.profiles(desk, rows, truth)
    wanted = [family(role) for role in rows[-1].settings.seats] if rows else []
    return advice.to_json(found, advice.suggestions(found, wanted) if found else ())


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


def left_out(desk: Desk, run: RunRow, truth: Truth) -> dict[str, int]:
    """Documents of the run that no score counts, by reason."""
    out = scoring.not_counted(desk, run, truth)
    return {
        "without_truth": out.without_truth,
        "unresolved": out.unresolved,
        "failed": out.failed,
        "waiting": out.waiting,
        "used_as_examples": out.examples,
    }


def _intervals(desk: Desk, run: RunRow, truth: Truth, annotator: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Of each score under its own key. What counts whole documents (the accuracy of a choice, all labels right) has
    Wilson's interval; the others those of ``bootstrap.scores``."""
    codebook = run.settings.codebook
    gold, said = (scoring.present(codebook, each) for each in common_cells.pair(desk, run, annotator, truth))
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
