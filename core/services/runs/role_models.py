"""Who could sit where: presets by name, and advice from what a person's own runs have shown of each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.debate import protocols
from core.debate.turns import Role
from core.errors import UsageError
from core.runs import RoleModel, RunRow
from core.services import preferences
from core.services.evaluation.model_recommendations import QueueFilter, wanted
from core.services.preferences import RoleModels
from core.services.runs.planning import Plan
from core.services.session import ProjectSession
from core.stats.counts import Counts, total

LEAST_DOCUMENTS = 20
"""Documents with gold from which a model's record is worth an advice."""

LATEST_RUNS = 40


# -- presets


def presets() -> dict[str, RoleModels]:
    """The saved ones by name, in alphabetical order."""
    return dict(sorted(preferences.load().presets.items()))


def save_preset(name: str, plan: Plan) -> str:
    """Keep who sits where under a name, in the place of one that has it; gives the name. UsageError without one."""
    name = " ".join(name.split())[:60]
    if not name:
        raise UsageError("A preset needs a name.", "Type one, for example: cheap, local or final.")
    kept = preferences.load()
    role_models = RoleModels(everyone=plan.everyone, role_models=dict(plan.role_models))
    preferences.save(kept.model_copy(update={"presets": {**kept.presets, name: role_models}}))
    return name


def delete_preset(name: str) -> None:
    """Forget a preset."""
    kept = preferences.load()
    left = {other: role_models for other, role_models in kept.presets.items() if other != name}
    preferences.save(kept.model_copy(update={"presets": left}))


def with_preset(plan: Plan, role_models: RoleModels) -> Plan:
    """The plan with these seats; all else stays."""
    return replace(plan, everyone=role_models.everyone, role_models=dict(role_models.role_models))


# -- advice


@dataclass(frozen=True, slots=True)
class Record:
    """What a model's own lists were worth, pooled over runs: the lists of the role that speaks first and has heard
    nobody, against gold. ``n`` documents, counted once a run."""

    spec: str
    role_model: RoleModel
    runs: int
    n: int
    counts: Counts

    @property
    def recall(self) -> float:
        """Of what is present, the share that it named; 0 when nothing was present."""
        return self.counts.recall or 0.0

    @property
    def precision(self) -> float:
        """Of what it named, the share that is present; 0 when it named nothing."""
        return self.counts.precision or 0.0

    @property
    def f1(self) -> float:
        """Both together; 0 when nothing was present or named."""
        return self.counts.f1 or 0.0

    def worth(self, wants: QueueFilter) -> float:
        """What the record shows of what is wanted."""
        return {"recall": self.recall, "precision": self.precision, "f1": self.f1}[wants]


@dataclass(frozen=True, slots=True)
class Advice:
    """Who should sit on a role, and what the role wants of a model."""

    role: Role
    record: Record
    wants: QueueFilter

    @property
    def value(self) -> float:
        """What the record shows of what is wanted."""
        return self.record.worth(self.wants)


def records(session: ProjectSession) -> tuple[Record, ...]:
    """What the latest runs of the project show of each model, the best F1 first. Only codebooks with labels that are
    present or absent, and runs on documents with gold, tell anything."""
    found: dict[str, list[tuple[RunRow, RoleModel, int, Counts]]] = {}
    for row in session.store.runs.all()[-LATEST_RUNS:]:
        first = _first_role(row)
        if first is None or not row.verdicts:
            continue
        counted = session.store.evaluations.counts(row.run_id, first)
        cells = [Counts(c.tp, c.fp, c.fn, c.tn) for c in counted.multilabel().values()]
        if counted.n and cells:
            role_model = row.settings.role_models[first]
            found.setdefault(role_model.spec, []).append((row, role_model, counted.n, total(cells)))
    made = [
        Record(spec, shown[-1][1], len(shown), sum(n for *_, n, _ in shown), total(counts for *_, counts in shown))
        for spec, shown in found.items()
    ]
    return tuple(sorted(made, key=lambda record: -(record.counts.f1 or 0.0)))


def advice(known: Sequence[Record], roles: Sequence[Role]) -> tuple[Advice, ...]:
    """Who should sit where by the paper's rule (``advice.wanted``); of two that do the same there, the one
    with the better F1. Nothing while fewer than two models have a record on ``LEAST_DOCUMENTS`` documents."""
    able = [record for record in known if record.n >= LEAST_DOCUMENTS]
    if len(able) < 2 or len(roles) < 2:
        return ()
    given = []
    for role in roles:
        wants = wanted(role.family)
        given.append(Advice(role, max(able, key=lambda one: (one.worth(wants), one.f1)), wants))
    return tuple(given)


def advised(plan: Plan, given: Sequence[Advice]) -> Plan:
    """The plan with the advised models seated; how the seats sample stays."""
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
    return roles[0].name if roles and card.form == "chain" and row.settings.codebook.kind == "multilabel" else None
