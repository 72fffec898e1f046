"""Who could sit where: presets by name, and advice from what a person's own runs have shown of each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.debate import protocols
from core.debate.roles import Role
from core.errors import UsageError
from core.evaluation.counts import Counts, total
from core.runs import RunRow, Seat
from core.studio import preferences
from core.studio.desk import Desk
from core.studio.evaluation.advice import Wanted, wanted
from core.studio.preferences import Seats
from core.studio.running.runs import Plan

LEAST_DOCUMENTS = 20
"""Documents with gold from which a model's record is worth an advice."""

LATEST_RUNS = 40


# -- presets


def presets() -> dict[str, Seats]:
    """The saved ones by name, in alphabetical order."""
    return dict(sorted(preferences.load().presets.items()))


def save_preset(name: str, plan: Plan) -> str:
    """Keep who sits where under a name, in the place of one that has it; gives the name. UsageError without one."""
    name = " ".join(name.split())[:60]
    if not name:
        raise UsageError("A preset needs a name.", "Type one, for example: cheap, local or final.")
    kept = preferences.load()
    seats = Seats(everyone=plan.everyone, seats=dict(plan.seats))
    preferences.save(kept.model_copy(update={"presets": {**kept.presets, name: seats}}))
    return name


def delete_preset(name: str) -> None:
    """Forget a preset."""
    kept = preferences.load()
    left = {other: seats for other, seats in kept.presets.items() if other != name}
    preferences.save(kept.model_copy(update={"presets": left}))


def with_preset(plan: Plan, seats: Seats) -> Plan:
    """The plan with these seats; all else stays."""
    return replace(plan, everyone=seats.everyone, seats=dict(seats.seats))


# -- advice


@dataclass(frozen=True, slots=True)
class Record:
    """What a model's own lists were worth, pooled over runs: the lists of the role that speaks first and has heard
    nobody, against gold. ``n`` documents, counted once a run."""

    spec: str
    seat: Seat
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

    def worth(self, wants: Wanted) -> float:
        """What the record shows of what is wanted."""
        return {"recall": self.recall, "precision": self.precision, "f1": self.f1}[wants]


@dataclass(frozen=True, slots=True)
class Advice:
    """Who should sit on a role, and what the role wants of a model."""

    role: Role
    record: Record
    wants: Wanted

    @property
    def value(self) -> float:
        """What the record shows of what is wanted."""
        return self.record.worth(self.wants)


def records(desk: Desk) -> tuple[Record, ...]:
    """What the latest runs of the project show of each model, the best F1 first. Only codebooks with labels that are
    present or absent, and runs on documents with gold, tell anything."""
    found: dict[str, list[tuple[RunRow, Seat, int, Counts]]] = {}
    for row in desk.store.runs.all()[-LATEST_RUNS:]:
        first = _first_role(row)
        if first is None or not row.verdicts:
            continue
        counted = desk.store.evaluations.counts(row.run_id, first)
        cells = [Counts(c.tp, c.fp, c.fn, c.tn) for c in counted.multilabel().values()]
        if counted.n and cells:
            seat = row.settings.seats[first]
            found.setdefault(seat.spec, []).append((row, seat, counted.n, total(cells)))
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
        seat = one.record.seat
        own = plan.seat(one.role.name)
        plan = plan.with_seat(
            one.role.name, own.model_copy(update={"connection": seat.connection, "model": seat.model})
        )
    return plan


def _first_role(row: RunRow) -> str | None:
    try:
        card = protocols.of(row.settings)
        roles = card.roles(row.settings.params)
    except UsageError:
        return None
    return roles[0].name if roles and card.form == "chain" and row.settings.codebook.kind == "multilabel" else None
