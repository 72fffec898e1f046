"""Which model suits which seat, as far as this project's own runs tell.

The ECJ paper advises models of high recall for the extractor, of high precision for the critic, and the most accurate
ones for the judge (Maada et al., section 5.1.4). Its own table 5 shows recall following the critic, so what was
measured here comes first, and the paper's rule only where nothing was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from core.annotations import VERDICT
from core.debate.protocols import family
from core.evaluation import multilabel
from core.evaluation.counts import Counts, total
from core.evaluation.intervals import ends, precision_interval, recall_interval
from core.runs import RunRow
from core.store.counts import by_item
from core.studio.desk import Desk
from core.studio.evaluation import evaluate, stages
from core.studio.evaluation.grids import Truth

Wanted: TypeAlias = Literal["recall", "precision", "f1"]

_RULE: Mapping[str, Wanted] = {"extractor": "recall", "critic": "precision"}


def wanted(seat: str) -> Wanted:
    """What the paper asks of a model in a seat (a family of roles); F1 where it asks for no side or says nothing."""
    return _RULE.get(seat, "f1")


@dataclass(frozen=True, slots=True)
class Profile:
    """A model in a seat: its own lists, all runs and labels together, and the verdicts of the runs in which it sat."""

    spec: str
    seat: str
    """the family of roles"""
    runs: int
    counts: Counts
    verdict_f1: float | None
    """mean macro F1 of these runs"""

    @property
    def lists(self) -> bool:
        """Whether it gave lists of its own."""
        return self.counts.n > 0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Who to seat, on what ground. ``spec`` is empty when nothing can be said yet."""

    seat: str
    spec: str
    ground: str


def profiles(desk: Desk, rows: Iterable[RunRow], truth: Truth = "gold") -> tuple[Profile, ...]:
    """A profile for each model and seat of these multilabel runs, in the order in which they first sat."""
    counts: dict[tuple[str, str], list[Counts]] = {}
    verdicts: dict[tuple[str, str], list[float]] = {}
    runs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.settings.codebook.kind != "multilabel" or not row.verdicts:
            continue
        cells = desk.store.evaluations.cells(row.run_id, truth=truth)
        told = {who: evaluate.by_label(row, by_item(own)) for who, own in cells.items()}
        f1 = multilabel.evaluate(told[VERDICT]).macro.f1 if VERDICT in told else None
        for role, seat in row.settings.seats.items():
            key = (seat.spec, family(role))
            counts.setdefault(key, [])
            if role in told:
                counts[key].append(total(told[role].values()))
            if row.run_id not in runs.setdefault(key, set()):
                runs[key].add(row.run_id)
                verdicts.setdefault(key, []).extend([f1] if f1 is not None else [])
    return tuple(
        Profile(spec, seat, len(runs[spec, seat]), total(each), _mean(verdicts.get((spec, seat), ())))
        for (spec, seat), each in counts.items()
    )


def suggestions(found: Sequence[Profile], seats: Iterable[str]) -> tuple[Suggestion, ...]:
    """For each seat (family of roles) the model that did best there, or whose lists the paper's rule favours."""
    return tuple(_suggestion(found, seat) for seat in dict.fromkeys(seats))


def to_json(found: Sequence[Profile], advised: Sequence[Suggestion]) -> dict[str, Any]:
    """``{models, suggestions}`` of ``moot evaluate --json``."""
    return {
        "models": [
            {
                "model": one.spec,
                "seat": one.seat,
                "runs": one.runs,
                "n": one.counts.n,
                "precision": one.counts.precision,
                "precision_interval": ends(precision_interval(one.counts)),
                "recall": one.counts.recall,
                "recall_interval": ends(recall_interval(one.counts)),
                "f1": one.counts.f1,
                "verdict_macro_f1": one.verdict_f1,
            }
            for one in found
        ],
        "suggestions": [{"seat": one.seat, "model": one.spec, "ground": one.ground} for one in advised],
    }


def _suggestion(found: Sequence[Profile], seat: str) -> Suggestion:
    title = stages.pretty(seat).lower()
    tried = [one for one in found if one.seat == seat and one.verdict_f1 is not None]
    if len({one.spec for one in tried}) > 1:
        best, second = sorted(tried, key=lambda one: -(one.verdict_f1 or 0.0))[:2]
        runs = f"{best.runs} run{'' if best.runs == 1 else 's'}"
        return Suggestion(
            seat,
            best.spec,
            f"Measured here: runs with {best.spec} as {title} reach a macro F1 of {best.verdict_f1:.3f} ({runs}), "
            f"with {second.spec} {second.verdict_f1:.3f}. Other seats may have differed as well.",
        )
    wants = wanted(seat)
    known = {one.spec: one for one in found if one.lists}
    if len(known) > 1:
        best = max(known.values(), key=lambda one: getattr(one.counts, wants) or 0.0)
        value = getattr(best.counts, wants)
        name = {"f1": "F1", "recall": "recall", "precision": "precision"}[wants]
        return Suggestion(
            seat,
            best.spec,
            f"By its lists in other seats: {best.spec} has the highest {name} ({value or 0.0:.3f}), which the ECJ "
            "paper asks of this seat. Nobody else has sat here yet: a run will tell.",
        )
    return Suggestion(seat, "", f"Only one model has been tried as {title}: run another one to compare.")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
