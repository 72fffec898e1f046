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
from core.runs import RunRow
from core.services.evaluation import evaluate, stages
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession
from core.stats import multilabel
from core.stats.counts import Counts, total
from core.stats.intervals import ends, precision_interval, recall_interval
from core.store.confusion import by_item

QueueFilter: TypeAlias = Literal["recall", "precision", "f1"]

_RULE: Mapping[str, QueueFilter] = {"extractor": "recall", "critic": "precision"}


def wanted(role_model: str) -> QueueFilter:
    """What the paper asks of a model in a seat (a family of roles); F1 where it asks for no side or says nothing."""
    return _RULE.get(role_model, "f1")


@dataclass(frozen=True, slots=True)
class Profile:
    """A model in a seat: its own lists, all runs and labels together, and the verdicts of the runs in which it sat."""

    spec: str
    role_model: str
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

    role_model: str
    spec: str
    ground: str


def profiles(session: ProjectSession, rows: Iterable[RunRow], reference: Reference = "gold") -> tuple[Profile, ...]:
    """A profile for each model and seat of these multilabel runs, in the order in which they first sat."""
    counts: dict[tuple[str, str], list[Counts]] = {}
    verdicts: dict[tuple[str, str], list[float]] = {}
    runs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.settings.codebook.kind != "multilabel" or not row.verdicts:
            continue
        cells = session.store.evaluations.cells(row.run_id, reference=reference)
        told = {who: evaluate.by_label(row, by_item(own)) for who, own in cells.items()}
        f1 = multilabel.evaluate(told[VERDICT]).macro.f1 if VERDICT in told else None
        for role, role_model in row.settings.role_models.items():
            key = (role_model.spec, family(role))
            counts.setdefault(key, [])
            if role in told:
                counts[key].append(total(told[role].values()))
            if row.run_id not in runs.setdefault(key, set()):
                runs[key].add(row.run_id)
                verdicts.setdefault(key, []).extend([f1] if f1 is not None else [])
    return tuple(
        Profile(spec, role_model, len(runs[spec, role_model]), total(each), _mean(verdicts.get((spec, role_model), ())))
        for (spec, role_model), each in counts.items()
    )


def suggestions(found: Sequence[Profile], role_models: Iterable[str]) -> tuple[Suggestion, ...]:
    """For each seat (family of roles) the model that did best there, or whose lists the paper's rule favours."""
    return tuple(_suggestion(found, role_model) for role_model in dict.fromkeys(role_models))


def to_json(found: Sequence[Profile], advised: Sequence[Suggestion]) -> dict[str, Any]:
    """``{models, suggestions}`` of ``moot evaluate --json``."""
    return {
        "models": [
            {
                "model": one.spec,
                "role_model": one.role_model,
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
        "suggestions": [{"role_model": one.role_model, "model": one.spec, "ground": one.ground} for one in advised],
    }


def _suggestion(found: Sequence[Profile], role_model: str) -> Suggestion:
    title = stages.pretty(role_model).lower()
    tried = [one for one in found if one.role_model == role_model and one.verdict_f1 is not None]
    if len({one.spec for one in tried}) > 1:
        best, second = sorted(tried, key=lambda one: -(one.verdict_f1 or 0.0))[:2]
        runs = f"{best.runs} run{'' if best.runs == 1 else 's'}"
        return Suggestion(
            role_model,
            best.spec,
            f"Measured here: runs with {best.spec} as {title} reach a macro F1 of {best.verdict_f1:.3f} ({runs}), "
            f"with {second.spec} {second.verdict_f1:.3f}. Other seats may have differed as well.",
        )
    wants = wanted(role_model)
    known = {one.spec: one for one in found if one.lists}
    if len(known) > 1:
        best = max(known.values(), key=lambda one: getattr(one.counts, wants) or 0.0)
        value = getattr(best.counts, wants)
        name = {"f1": "F1", "recall": "recall", "precision": "precision"}[wants]
        return Suggestion(
            role_model,
            best.spec,
            f"By its lists in other seats: {best.spec} has the highest {name} ({value or 0.0:.3f}), which the ECJ "
            "paper asks of this seat. Nobody else has sat here yet: a run will tell.",
        )
    return Suggestion(role_model, "", f"Only one model has been tried as {title}: run another one to compare.")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
