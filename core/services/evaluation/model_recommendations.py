"""Recommend a model for each role from the project's own runs.

The ECJ paper advises models of high recall for the extractor, of high precision for the critic, and the most accurate
ones for the judge (Maada et al., section 5.1.4). In its own table 5 recall follows the critic. So own measurements come
first, and the paper's rule applies where nothing was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.annotations import Reference
from core.debate import protocols
from core.debate.protocols import family
from core.debate.turns import Role
from core.errors import UsageError
from core.runs import RoleModel, RunRow
from core.services.cache import cached_scores
from core.services.evaluation import stages
from core.services.evaluation.arrays import all_runs
from core.services.evaluation.compare import alike
from core.services.evaluation.scores import evaluate, role_scores
from core.services.runs.planning import Plan
from core.services.session import ProjectSession
from core.stats.counts import Counts, total

Criterion: TypeAlias = Literal["recall", "precision", "f1"]

_RULE: Mapping[str, Criterion] = {"extractor": "recall", "critic": "precision"}


def preferred_metric(role_model: str) -> Criterion:
    """Return the metric that the paper recommends for a family of roles; F1 where it recommends none."""
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


def comparable_runs(session: ProjectSession, run: RunRow) -> tuple[RunRow, ...]:
    """Return the runs whose codebook has the same kind and labels."""
    return tuple(row for row in all_runs(session) if alike(row.settings.codebook, run.settings.codebook))


@cached_scores
def profiles(session: ProjectSession, rows: tuple[RunRow, ...], reference: Reference = "gold") -> tuple[Profile, ...]:
    """Return a profile for each pair of model and role in the multilabel runs, in order of first use.

    Runs of other kinds and runs without verdicts are skipped.
    """
    counts: dict[tuple[str, str], list[Counts]] = {}
    verdicts: dict[tuple[str, str], list[float]] = {}
    runs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.settings.codebook.kind != "multilabel" or not row.verdicts:
            continue
        lists = role_scores(session, row, reference)
        f1 = evaluate(session, row, reference, intervals=False).scores.main.value
        for role, role_model in row.settings.role_models.items():
            key = (role_model.spec, family(role))
            counts.setdefault(key, [])
            if role in lists:
                counts[key].append(total(lists[role].counts.values()))
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
    metric = preferred_metric(role_model)
    known = {one.spec: one for one in found if one.lists}
    if len(known) > 1:
        best = max(known.values(), key=lambda one: getattr(one.counts, metric) or 0.0)
        value = getattr(best.counts, metric)
        name = {"f1": "F1", "recall": "recall", "precision": "precision"}[metric]
        return Suggestion(
            role_model,
            best.spec,
            f"By its lists in other seats: {best.spec} has the highest {name} ({value or 0.0:.3f}), which the ECJ "
            "paper asks of this seat. Nobody else has sat here yet: a run will tell.",
        )
    return Suggestion(role_model, "", f"Only one model has been tried as {title}: run another one to compare.")


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


MIN_DOCUMENTS = 20
"""Minimum number of documents with gold in a record that supports a recommendation."""

MAX_RUNS = 40


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Scores of a model's own lists against gold, pooled over runs.

    Only lists of the first role count, because later roles have seen other answers. ``n`` counts each document once
    per run.
    """

    spec: str
    role_model: RoleModel
    runs: int
    n: int
    counts: Counts

    @property
    def recall(self) -> float:
        """Share of the present labels that the model named; 0 if none was present."""
        return self.counts.recall or 0.0

    @property
    def precision(self) -> float:
        """Share of the named labels that are present; 0 if the model named none."""
        return self.counts.precision or 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if no label was present or named."""
        return self.counts.f1 or 0.0

    def value_of(self, metric: Criterion) -> float:
        """Return the value of a metric."""
        return {"recall": self.recall, "precision": self.precision, "f1": self.f1}[metric]


@dataclass(frozen=True, slots=True)
class RoleRecommendation:
    """A recommended model for a role, and the metric that it was chosen by."""

    role: Role
    record: ModelRecord
    metric: Criterion

    @property
    def value(self) -> float:
        """Value of the metric in the model's record."""
        return self.record.value_of(self.metric)


def model_records(session: ProjectSession) -> tuple[ModelRecord, ...]:
    """Return the records of all models in the latest runs, best F1 first.

    Only runs with a multilabel codebook and documents with gold have records.
    """
    found: dict[str, list[tuple[RunRow, RoleModel, int, Counts]]] = {}
    for row in session.store.runs.all()[-MAX_RUNS:]:
        first = _first_role(row)
        if first is None or not row.verdicts:
            continue
        scores = evaluate(session, row, "gold", first, intervals=False).scores
        if scores.n:
            role_model = row.settings.role_models[first]
            found.setdefault(role_model.spec, []).append((row, role_model, scores.n, total(scores.counts.values())))
    made = [
        ModelRecord(spec, shown[-1][1], len(shown), sum(n for *_, n, _ in shown), total(counts for *_, counts in shown))
        for spec, shown in found.items()
    ]
    return tuple(sorted(made, key=lambda record: -(record.counts.f1 or 0.0)))


def recommend_models(known: Sequence[ModelRecord], roles: Sequence[Role]) -> tuple[RoleRecommendation, ...]:
    """Return the best model for each role by the paper's rule; ties go to the better F1.

    Returns nothing for a single role, or with fewer than two models on at least ``MIN_DOCUMENTS`` documents.
    """
    able = [record for record in known if record.n >= MIN_DOCUMENTS]
    if len(able) < 2 or len(roles) < 2:
        return ()
    given = []
    for role in roles:
        metric = preferred_metric(role.family)
        given.append(RoleRecommendation(role, max(able, key=lambda one: (one.value_of(metric), one.f1)), metric))
    return tuple(given)


def apply_recommendations(plan: Plan, given: Sequence[RoleRecommendation]) -> Plan:
    """Return the plan with the recommended models; sampling settings are kept."""
    for one in given:
        role_model = one.record.role_model
        own = plan.role_model(one.role.name)
        plan = plan.with_role_model(
            one.role.name, own.model_copy(update={"connection": role_model.connection, "model": role_model.model})
        )
    return plan


def _first_role(row: RunRow) -> str | None:
    try:
        card = protocols.of(row.settings)
        roles = card.roles(row.settings.params)
    except UsageError:
        return None
    return roles[0].name if roles and card.layout == "chain" and row.settings.codebook.kind == "multilabel" else None
