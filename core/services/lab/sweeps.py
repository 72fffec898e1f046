"""Sweeps in the background: a thread walks the rungs of a grid, one run of the lab a cell, within a budget. What it has
done is in the file, so that it goes on after a pause, a crash or a raised budget without asking anything twice."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, log2
from typing import Any

from core.engine.engine import OUT_OF_BUDGET
from core.errors import MootError, UsageError
from core.runs import RoleModel, RunRow, RunSettings
from core.services import templates
from core.services.lab import history, samples, trials
from core.services.lab.history import RunScore
from core.services.runs import planning
from core.services.session import ProjectSession
from core.store.lab import SweepRow as SweepRow

# the screens have it from here


@dataclass(frozen=True, slots=True)
class RankedCell:
    """A cell in the ranking: how far it came (``rung`` from 0, -1 before its first), its latest score, or what was
    wrong with it. ``cost_usd`` is that of all its runs, None when a price is unknown."""

    cell: Cell
    rung: int
    documents: int
    score: RunScore | None
    cost_usd: float | None
    trouble: str
    run_id: str
    alive: bool


class _Paused(Exception):
    """The sweep was told to pause."""


class _BudgetSpent(_Paused):
    """What is left of its budget may not pay for a further call."""


_active: dict[tuple[str, int], threading.Event] = {}
_guard = threading.Lock()


def start_sweep(session: ProjectSession, spec: SweepSpec) -> SweepRow:
    """Check a sweep, keep it, and start it. UsageError for a grid that cannot be, and for a budget on a model whose
    price is not known; the errors of ``runs.settle`` for a cell that no run can be made of."""
    for cell in grid_cells(spec):
        settings = cell_settings(session, spec, cell)
        if spec.budget_usd is not None and not all(
            session.models.priced(role_model) for role_model in settings.role_models.values()
        ):
            raise UsageError(
                f"The price of {cell.role_model.spec} is not known, so a budget cannot be kept.", "Sweep without one."
            )
    samples.project_sample(session, spec.size, spec.seed)
    row = session.store.lab.begin_sweep(spec.to_json())
    resume_sweep(session, row)
    return row


def resume_sweep(session: ProjectSession, row: SweepRow, *, budget_usd: float | None = None) -> None:
    """Start a sweep or go on with it, with another budget if one is given; nothing happens to one that moves."""
    name = (str(session.path), row.sweep)
    with _guard:
        if name in _active:
            return
        halt = _active[name] = threading.Event()
    progress = {**row.progress, **({"budget_usd": budget_usd} if budget_usd is not None else {}), "spent": False}
    session.store.lab.move_sweep(row.sweep, progress, "running")
    walk = _SweepRunner(session, row.sweep, SweepSpec.from_json(row.spec), dict(progress), halt)
    threading.Thread(target=_run_thread, args=(walk, name), name=f"moot-sweep-{row.sweep}", daemon=True).start()


def pause_sweep(session: ProjectSession, sweep: int) -> None:
    """Pause a sweep: what is in flight ends and is kept."""
    with _guard:
        event = _active.get((str(session.path), sweep))
    if event is not None:
        event.set()
        row = find_sweep(session, sweep)
        if run_id := row.progress.get("now"):
            session.pause(str(run_id))


def is_sweep_active(session: ProjectSession, sweep: int) -> bool:
    """Whether a sweep is under way in this process."""
    with _guard:
        return (str(session.path), sweep) in _active


def find_sweep(session: ProjectSession, sweep: int) -> SweepRow:
    """A sweep by number. UsageError when there is none."""
    row = next((row for row in session.store.lab.sweeps() if row.sweep == sweep), None)
    if row is None:
        raise UsageError(f"There is no sweep {sweep}.", "Choose another.")
    return row


def sweep_budget(spec: SweepSpec, progress: Mapping[str, Any]) -> float | None:
    """Dollars that a sweep may cost as things stand, None without a budget."""
    budget = progress.get("budget_usd", spec.budget_usd)
    return None if budget is None else float(budget)


def rank_cells(session: ProjectSession, row: SweepRow) -> tuple[RankedCell, ...]:
    """The cells of a sweep, the best first: those that came further, then those with the higher score."""
    spec = SweepSpec.from_json(row.spec)
    done: Mapping[str, str] = row.progress.get("runs", {})
    troubles: Mapping[str, str] = row.progress.get("troubles", {})
    sizes = rung_sizes(len(grid_cells(spec)), spec.size)
    alive = set(row.progress.get("alive", range(len(grid_cells(spec)))))
    places = []
    for cell in grid_cells(spec):
        mine = {int(key.split("/")[0]): run_id for key, run_id in done.items() if key.split("/")[1] == str(cell.number)}
        found = {rung: run for rung, run_id in mine.items() if (run := session.store.runs.get(run_id)) is not None}
        ended = [rung for rung, run in found.items() if run.state == "done"]
        rung = max(ended, default=-1)
        costs = [run.cost_usd for run in found.values()]
        places.append(
            RankedCell(
                cell, rung, sizes[rung] if rung >= 0 else 0,
                history.score_run(session, found[rung]) if rung >= 0 else None,
                None if None in costs else sum(cost for cost in costs if cost is not None),
                troubles.get(str(cell.number), ""), found[rung].run_id if rung >= 0 else "", cell.number in alive,
            )
        )  # fmt: skip
    return tuple(sorted(places, key=lambda place: (-place.rung, -_sort_value(place.score), place.cell.number)))


def cell_settings(session: ProjectSession, spec: SweepSpec, cell: Cell) -> RunSettings:
    """The settings of a cell's runs."""
    plan = replace(
        planning.load_plan(session),
        protocol=spec.protocol,
        default_model=cell.role_model,
        role_models={},
        params=dict(cell.params),
    )
    settings = trials.base_settings(session, plan)
    for slot in templates.slots(spec.protocol):
        name = cell.versions.get(slot.slot)
        if name is not None:
            known = {version.name: version for version in templates.versions(session, slot, spec.protocol)}
            if name not in known:
                raise UsageError(f"There is no version {name}.", "Choose another.")
            settings = templates.with_template(settings, slot.key, known[name].template)
    return settings


def _sort_value(score: RunScore | None) -> float:
    return -1.0 if score is None or score.value.value is None else score.value.value


@dataclass(slots=True)
class _SweepRunner:
    session: ProjectSession
    sweep: int
    spec: SweepSpec
    progress: dict[str, Any]
    halt: threading.Event

    def run(self) -> None:
        """All rungs from where the sweep stands."""
        grid = grid_cells(self.spec)
        drawn = samples.project_sample(self.session, self.spec.size, self.spec.seed).ids
        ids = sorted(drawn, key=lambda id: hashlib.md5(f"{self.spec.seed}:{id}".encode(errors="replace")).digest())
        alive = tuple(range(len(grid)))
        for rung, size in enumerate(rung_sizes(len(grid), self.spec.size)):
            scores: dict[int, float | None] = {}
            for number in alive:
                run = self._cell(rung, grid[number], ids[:size])
                scores[number] = None if run is None else _sort_value(history.score_run(self.session, run))
            alive = survivors(scores)
            self.progress |= {"alive": list(alive), "rung": rung + 1}
            self._keep()

    def _cell(self, rung: int, cell: Cell, ids: list[str]) -> RunRow | None:
        """The cell's run on a rung, done; None when it cannot be made or ended badly."""
        if self.halt.is_set():
            raise _Paused("paused by you")
        store, key = self.session.store.runs, f"{rung}/{cell.number}"
        known: dict[str, str] = self.progress.setdefault("runs", {})
        row = store.get(known[key]) if key in known else None
        try:
            if row is None:
                settings = cell_settings(self.session, self.spec, cell).model_copy(update={"budget_usd": self._left()})
                row = store.create(settings, ids, purpose="lab")
                known[key] = row.run_id
            elif row.state != "done" and (left := self._left()) is not None:
                store.raise_budget(row.run_id, (row.cost_usd or 0.0) + left)
            if row.state == "done":
                return row
            self.progress["now"] = row.run_id
            self._keep()
            self.session.start_or_resume(row.run_id, retry_failed=True).result()
        except MootError as error:
            self.progress.setdefault("troubles", {})[str(cell.number)] = str(error)
            return None
        finally:
            self.progress.pop("now", None)
        ended = store.get(row.run_id)
        if ended is not None and ended.state != "done":
            if self.halt.is_set():
                raise _Paused("paused by you")
            if ended.stop_code == "budget":
                raise _BudgetSpent(self._bill())
            raise _Paused(ended.message or ended.state)
        return ended

    def _left(self) -> float | None:
        """Dollars that may still be spent; None without a budget. Raises _Halted when none is left."""
        budget = sweep_budget(self.spec, self.progress)
        if budget is None:
            return None
        left = budget - self._paid()
        if left <= 0:
            raise _BudgetSpent(self._bill())
        return left

    def _paid(self) -> float:
        rows = [self.session.store.runs.get(run_id) for run_id in self.progress.get("runs", {}).values()]
        return sum(row.cost_usd or 0.0 for row in rows if row is not None)

    def _bill(self) -> str:
        """In the words of the sweep's own budget: that of a cell's run is only what the cells before it left over."""
        budget = sweep_budget(self.spec, self.progress)
        return f"${self._paid():.4g} of the budget of ${budget:g} are spent; {OUT_OF_BUDGET}"

    def _keep(self) -> None:
        self.session.store.lab.move_sweep(self.sweep, self.progress, "running")


def _run_thread(walk: _SweepRunner, name: tuple[str, int]) -> None:
    lab = walk.session.store.lab
    try:
        walk.run()
        lab.move_sweep(walk.sweep, walk.progress, "done")
    except _Paused as halted:
        lab.move_sweep(walk.sweep, walk.progress | {"spent": isinstance(halted, _BudgetSpent)}, "paused", str(halted))
    except Exception as error:  # a thread has nobody to raise to: the page tells it
        with suppress(MootError):  # the project was closed meanwhile: opening it again finds the sweep interrupted
            lab.move_sweep(walk.sweep, walk.progress, "failed", f"{type(error).__name__}: {error}")
    finally:
        with _guard:
            _active.pop(name, None)


MAX_CELLS = 64
MIN_DOCUMENTS = 4


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """What is compared: for each slot the names of its versions, who sits everywhere, the values of each parameter.

    ``size`` documents are drawn with ``seed``; ``budget_usd`` bounds the whole, None leaves it open.
    """

    protocol: str
    versions: Mapping[str, Sequence[str]]
    role_models: Sequence[RoleModel]
    params: Mapping[str, Sequence[Any]]
    size: int = 20
    seed: int = 0
    budget_usd: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "protocol": self.protocol,
            "versions": {slot: list(names) for slot, names in self.versions.items()},
            "role_models": [role_model.model_dump(mode="json") for role_model in self.role_models],
            "params": {name: list(values) for name, values in self.params.items()},
            "size": self.size,
            "seed": self.seed,
            "budget_usd": self.budget_usd,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SweepSpec:
        """What ``to_json`` gave."""
        return cls(
            **{**data, "role_models": [RoleModel.model_validate(role_model) for role_model in data["role_models"]]}
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination: ``versions`` by slot, a seat, ``params``."""

    number: int
    versions: Mapping[str, str]
    role_model: RoleModel
    params: Mapping[str, Any]


def grid_cells(spec: SweepSpec) -> tuple[Cell, ...]:
    """Every combination, the first of each list being the first cell. UsageError for fewer than two or too many."""
    slots, names = list(spec.versions), list(spec.params)
    crossed = product(*spec.versions.values(), spec.role_models, *spec.params.values())
    found = []
    for number, values in enumerate(crossed):
        if number == MAX_CELLS:
            raise UsageError(f"This grid has more than {MAX_CELLS} cells.", "Choose fewer values.")
        versions, role_model, params = values[: len(slots)], values[len(slots)], values[len(slots) + 1 :]
        found.append(
            Cell(number, dict(zip(slots, versions, strict=True)), role_model, dict(zip(names, params, strict=True)))
        )
    if len(found) < 2:
        raise UsageError("A sweep compares at least two cells.", "Choose a second version, model or value.")
    return tuple(found)


def rung_sizes(count: int, size: int) -> tuple[int, ...]:
    """How many documents each rung gives a cell, for ``count`` cells and ``size`` documents in the last rung."""
    rounds = max(1, ceil(log2(count)))
    sizes = [max(min(size, MIN_DOCUMENTS), size // 2 ** (rounds - 1 - number)) for number in range(rounds)]
    return tuple(sizes)


def survivors(scores: Mapping[int, float | None]) -> tuple[int, ...]:
    """The better half of the cells, at least one; cells without a score go first, of equal ones the later."""
    order = sorted(scores, key=lambda number: (-1.0 if (value := scores[number]) is None else value, -number))
    return tuple(sorted(order[len(order) // 2 :]))


def count_debates(count: int, size: int) -> int:
    """Documents that are debated in all, those of earlier rungs counted once."""
    total, before, alive = 0, 0, count
    for documents in rung_sizes(count, size):
        total += alive * (documents - before)
        before, alive = documents, max(1, ceil(alive / 2))
    return total
