"""Sweeps: compare a grid of prompt versions, models and parameters by successive halving, in a background thread.

Successive halving (Jamieson and Talwalkar 2016, Non-stochastic Best Arm Identification and Hyperparameter Optimization,
AISTATS, algorithm 1): all configurations get a few documents, the better half gets twice as many, and so on until the
last two have all. Deviation: the documents of a rung include those of the rung before, so that no request is repeated.

Progress is stored in the project, so that a sweep resumes after a pause, a crash or a raised budget. The first runs of
all configurations are created before one of them starts: a codebook that is saved later changes none of them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import ceil, log2
from typing import Any

from pydantic import TypeAdapter

from core.debate import protocols
from core.engine.base_engine import OUT_OF_BUDGET, UNKNOWN_COST
from core.errors import MootError, UsageError
from core.formatting import format_money
from core.runs import RoleModel, RunRow, RunSettings, total_cost
from core.services import document_samples, few_shot_examples, prompt_templates
from core.services.evaluation.evaluation import EvaluationReport, evaluate
from core.services.lab import trials
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.store.annotation_sources import REVIEWED_OR_GOLD
from core.store.lab import SweepRow as SweepRow
from core.store.lab import SweepState
from core.store.rows import validated

MAX_CONFIGURATIONS = 64
MIN_DOCUMENTS = 4


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """Definition of a sweep: versions by slot, one model for all roles, and values of each parameter.

    ``size`` documents are drawn. ``budget_usd`` limits the whole sweep, None sets no limit.
    """

    protocol: str
    versions: Mapping[str, Sequence[str]]
    role_models: Sequence[RoleModel]
    params: Mapping[str, Sequence[Any]]
    size: int = 20
    budget_usd: float | None = None


SPEC = TypeAdapter(SweepSpec)
"""Conversion of a definition from and to plain data."""


@dataclass(slots=True)
class SweepProgress:
    """Progress of a sweep. Configurations are given by their numbers."""

    documents: list[str] | None = None
    """The documents in the order in which rungs take them, None before the first start."""
    runs: dict[str, str] = field(default_factory=dict)
    """Run ids by rung and configuration (``1/3``)."""
    problems: dict[int, str] = field(default_factory=dict)
    """Errors by configuration."""
    remaining: list[int] | None = None
    """The configurations in the next rung, None for all."""
    active_run: str = ""
    """The id of the run that a pause stops, empty between runs."""
    budget_usd: float | None = None
    """The budget in place of that of the definition, None to keep the latter."""
    spent: bool = False
    """True if the budget paused the sweep."""


PROGRESS = TypeAdapter(SweepProgress)
"""Conversion of the progress from and to plain data."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One combination of ``versions`` by slot, a model and ``params``."""

    number: int
    versions: Mapping[str, str]
    role_model: RoleModel
    params: Mapping[str, Any]


def all_configurations(spec: SweepSpec) -> tuple[Configuration, ...]:
    """Return all combinations, starting with the first values. UsageError for fewer than two or too many."""
    combinations = product(*spec.versions.values(), spec.role_models, *spec.params.values())
    crossed = list(islice(combinations, MAX_CONFIGURATIONS + 1))
    if len(crossed) > MAX_CONFIGURATIONS:
        raise UsageError(f"This sweep has more than {MAX_CONFIGURATIONS} configurations.", "Choose fewer values.")
    if len(crossed) < 2:
        raise UsageError(
            "A sweep compares at least two configurations.",
            "Choose a second model or parameter value, or save a second version of a prompt.",
        )
    slots = len(spec.versions)
    return tuple(
        Configuration(
            number,
            dict(zip(spec.versions, values[:slots], strict=True)),
            values[slots],
            dict(zip(spec.params, values[slots + 1 :], strict=True)),
        )
        for number, values in enumerate(crossed)
    )


def rung_sizes(count: int, size: int) -> tuple[int, ...]:
    """Return the documents per configuration on each rung, for ``count`` of them and ``size`` on the last rung."""
    rounds = max(1, ceil(log2(count)))
    sizes = [max(min(size, MIN_DOCUMENTS), size // 2 ** (rounds - 1 - number)) for number in range(rounds)]
    return tuple(sizes)


def survivors(scores: Mapping[int, float | None]) -> tuple[int, ...]:
    """Return the better half of the configurations, at least one; those without a score leave first, then late ones."""
    order = sorted(scores, key=lambda number: (-1.0 if (value := scores[number]) is None else value, -number))
    return tuple(sorted(order[len(order) // 2 :]))


def count_debates(count: int, size: int) -> int:
    """Return the total number of debates, counting documents of earlier rungs once."""
    total, before, remaining = 0, 0, count
    for documents in rung_sizes(count, size):
        total += remaining * (documents - before)
        before, remaining = documents, max(1, ceil(remaining / 2))
    return total


@dataclass(frozen=True, slots=True)
class RankedConfiguration:
    """A configuration in the ranking.

    ``rung`` is the last finished rung from 0, -1 before the first. ``problem`` is an error that ended it.
    ``cost_usd`` is the cost of all its runs, None if a price is unknown.
    """

    configuration: Configuration
    rung: int
    documents: int
    report: EvaluationReport | None
    cost_usd: float | None
    problem: str
    remaining: bool


class _Paused(Exception):
    """Raised when the sweep has to pause."""


class _BudgetSpent(_Paused):
    """Raised when the rest of the budget may not pay for another call."""


def start_sweep(session: ProjectSession, spec: SweepSpec) -> SweepRow:
    """Check, store and start a sweep.

    Raises UsageError for an invalid grid and for a budget with an unpriced model, and the errors of
    ``planning.build_settings`` for a configuration that cannot run.
    """
    sample = document_samples.project_sample(session, spec.size)
    documents = prompt_templates.sample_documents(session, sample.ids)
    for configuration in all_configurations(spec):
        settings = configuration_settings(session, spec, configuration)
        prompt_templates.check_templates(settings, documents)
        if spec.budget_usd is not None:
            planning.require_prices(settings, session.models)
    row = session.store.lab.begin_sweep(SPEC.dump_python(spec, mode="json"))
    resume_sweep(session, row)
    return row


def resume_sweep(session: ProjectSession, row: SweepRow, *, budget_usd: float | None = None) -> None:
    """Start or resume a sweep, with another budget if given; an active sweep is left as it is.

    Raises ProjectError for a stored sweep that is not valid, and if its state cannot be saved.
    """
    spec, progress, stop_event = read_spec(row), read_progress(row), threading.Event()
    if session.active_sweeps.setdefault(row.number, stop_event) is not stop_event:
        return
    progress.spent = False
    if budget_usd is not None:
        progress.budget_usd = budget_usd
    runner = _SweepRunner(session, row.number, spec, progress, stop_event)
    try:
        runner.save_progress()
        threading.Thread(target=_run_thread, args=(runner,), name=f"moot-sweep-{row.number}", daemon=True).start()
    except BaseException:
        del session.active_sweeps[row.number]
        raise


def pause_sweep(session: ProjectSession, sweep: int) -> None:
    """Pause a sweep; calls in flight end and are kept."""
    event = session.active_sweeps.get(sweep)
    if event is not None:
        event.set()
        if run_id := read_progress(find_sweep(session, sweep)).active_run:
            session.pause(run_id)


def is_sweep_active(session: ProjectSession, sweep: int) -> bool:
    """Return True if the sweep runs in this process."""
    return sweep in session.active_sweeps


def all_sweeps(session: ProjectSession) -> list[SweepRow]:
    """Return all sweeps, oldest first."""
    return session.store.lab.sweeps()


def find_sweep(session: ProjectSession, sweep: int) -> SweepRow:
    """Return a sweep by number."""
    (row,) = session.store.lab.sweeps(sweep)
    return row


def sweep_budget(spec: SweepSpec, progress: SweepProgress) -> float | None:
    """Return the current budget of a sweep in dollars, None without a budget."""
    return spec.budget_usd if progress.budget_usd is None else progress.budget_usd


def rank_configurations(session: ProjectSession, row: SweepRow) -> tuple[RankedConfiguration, ...]:
    """Return the configurations of a sweep, best first: by rung, then by strict score.

    Otherwise a configuration that leaves difficult documents unresolved would win. Raises ProjectError for a stored
    sweep that is not valid: a project file may come from somebody else.
    """
    spec, progress = read_spec(row), read_progress(row)
    configurations = all_configurations(spec)
    remaining = range(len(configurations)) if progress.remaining is None else progress.remaining
    ranked = []
    for configuration in configurations:
        runs = {
            rung: run
            for rung in range(len(rung_sizes(len(configurations), spec.size)))
            if (run_id := progress.runs.get(f"{rung}/{configuration.number}")) is not None
            and (run := session.store.runs.get(run_id)) is not None
        }
        rung = max((rung for rung, run in runs.items() if run.state == "done"), default=-1)
        ranked.append(
            RankedConfiguration(
                configuration,
                rung,
                runs[rung].documents if rung >= 0 else 0,
                evaluate(session, runs[rung], REVIEWED_OR_GOLD) if rung >= 0 else None,
                total_cost(run.cost_usd for run in runs.values()),
                progress.problems.get(configuration.number, ""),
                configuration.number in remaining,
            )
        )
    ranked.sort(key=lambda row: (-row.rung, -_sort_value(row.report), row.configuration.number))
    return tuple(ranked)


def read_spec(row: SweepRow) -> SweepSpec:
    """Return the definition of a stored sweep. Raises ProjectError if it is not valid."""
    return validated(SPEC, row.spec, f"sweep {row.number}")


def read_progress(row: SweepRow) -> SweepProgress:
    """Return the progress of a stored sweep. Raises ProjectError if it is not valid."""
    return validated(PROGRESS, row.progress, f"the progress of sweep {row.number}")


def configuration_settings(session: ProjectSession, spec: SweepSpec, configuration: Configuration) -> RunSettings:
    """Return the settings of a configuration's runs. Raises UsageError for an unknown parameter or prompt version."""
    protocols.find(spec.protocol, configuration.params).parse_params(configuration.params)
    plan = replace(
        planning.load_plan(session),
        protocol=spec.protocol,
        default_model=configuration.role_model,
        role_models={},
        params=dict(configuration.params),
    )
    settings = trials.base_settings(session, plan)
    for slot in prompt_templates.slots(spec.protocol):
        if (name := configuration.versions.get(slot.name)) is not None:
            versions = {version.name: version for version in prompt_templates.versions(session, slot)}
            if name not in versions:
                raise UsageError(f"The prompt version '{name}' does not exist.", "Start a new sweep.")
            settings = prompt_templates.with_template(settings, slot.key, versions[name].template)
    return settings


def _sort_value(report: EvaluationReport | None) -> float:
    value = report.rank_score.value if report is not None else None
    return -1.0 if value is None else value


@dataclass(slots=True)
class _SweepRunner:
    session: ProjectSession
    number: int
    spec: SweepSpec
    progress: SweepProgress
    stop_event: threading.Event

    def run(self) -> None:
        """Run all rungs from the stored progress."""
        grid = all_configurations(self.spec)
        if self.progress.documents is None:  # a resumed sweep keeps its documents if the project's have changed
            drawn = document_samples.project_sample(self.session, self.spec.size)
            self.progress.documents = document_samples.shuffled(drawn.ids, drawn.seed)
        ids = self.progress.documents
        remaining = tuple(range(len(grid)))
        sizes = rung_sizes(len(grid), self.spec.size)
        for configuration in grid:
            with suppress(MootError):  # raised again and noted when the configuration runs
                self._find_or_create_run(0, configuration, ids, sizes[0])
        self.save_progress()
        for rung, size in enumerate(sizes):
            scores: dict[int, float | None] = {}
            for number in remaining:
                run = self._run_configuration(rung, grid[number], ids, size)
                scores[number] = None if run is None else _sort_value(evaluate(self.session, run, REVIEWED_OR_GOLD))
            remaining = survivors(scores)
            self.progress.remaining = list(remaining)
            self.save_progress()

    def _run_configuration(self, rung: int, configuration: Configuration, ids: list[str], size: int) -> RunRow | None:
        """Return the finished run of a configuration on the first documents; None if it cannot be created or failed."""
        if self.stop_event.is_set():
            raise _Paused("paused by the user")
        store = self.session.store.runs
        self.progress.problems.pop(configuration.number, None)
        try:
            row = self._find_or_create_run(rung, configuration, ids, size)
            if row.state == "done":
                return row
            if (remaining := self._remaining_budget()) is not None:
                store.raise_budget(row.run_id, (row.cost_usd or 0.0) + remaining)
            self.progress.active_run = row.run_id
            self.save_progress()
            future = self.session.start_or_resume(row.run_id, retry_failed=True)
            if self.stop_event.is_set():  # a pause before the start found no run to pause
                self.session.pause(row.run_id)
            with suppress(CancelledError):  # the run was paused while it was queued
                future.result()
        except MootError as error:
            self.progress.problems[configuration.number] = str(error)
            return None
        finally:
            self.progress.active_run = ""
        ended = store.get(row.run_id)
        if ended is not None and ended.state != "done":
            if self.stop_event.is_set():
                raise _Paused("paused by the user")
            if ended.stop_code == "budget":
                raise _BudgetSpent(self._describe_cost())
            raise _Paused(ended.message or ended.state)
        return ended

    def _find_or_create_run(self, rung: int, configuration: Configuration, ids: list[str], size: int) -> RunRow:
        """Return the run of a configuration on the first documents; later rungs have the settings of the first one."""
        store = self.session.store.runs
        run_ids = self.progress.runs
        key, first_key = f"{rung}/{configuration.number}", f"0/{configuration.number}"
        if key in run_ids and (row := store.get(run_ids[key])) is not None:
            return row
        first = store.get(run_ids[first_key]) if first_key in run_ids else None
        settings = first.settings if first else configuration_settings(self.session, self.spec, configuration)
        budget = sweep_budget(self.spec, self.progress)
        row = store.create(settings.model_copy(update={"budget_usd": budget}), ids[:size], purpose="lab")
        if protocols.shots(settings):  # all runs of the sweep show the same examples, none of its documents
            for run_id in run_ids.values():
                few_shot_examples.copy_pool(self.session.store, run_id, row.run_id)
            few_shot_examples.example_pool(self.session.store, row, without=ids)
        run_ids[key] = row.run_id
        return row

    def _remaining_budget(self) -> float | None:
        """Return the rest of the budget in dollars, None without a budget.

        Raises _BudgetSpent if nothing is left, and _Paused if the cost so far is unknown.
        """
        budget = sweep_budget(self.spec, self.progress)
        if budget is None:
            return None
        if (cost := self._cost()) is None:
            raise _Paused(f"{UNKNOWN_COST}, so the budget of {format_money(budget)} cannot be enforced")
        remaining = budget - cost
        if remaining <= 0:
            raise _BudgetSpent(self._describe_cost())
        return remaining

    def _cost(self) -> float | None:
        rows = [self.session.store.runs.get(run_id) for run_id in self.progress.runs.values()]
        return total_cost(row.cost_usd for row in rows if row is not None)

    def _describe_cost(self) -> str:
        """Describe the spending in terms of the sweep's budget; that of a configuration is only what others left."""
        budget = sweep_budget(self.spec, self.progress)
        return (
            f"{format_money(self._cost())} of the budget of {format_money(budget)} is spent; the rest {OUT_OF_BUDGET}"
        )

    def save_progress(self, state: SweepState = "running", message: str = "") -> None:
        """Store the progress and the state of the sweep."""
        self.session.store.lab.update_sweep(
            self.number, PROGRESS.dump_python(self.progress, mode="json"), state, message
        )


def _run_thread(runner: _SweepRunner) -> None:
    ended: tuple[SweepState, str] = ("done", "")
    try:
        runner.run()
    except _Paused as pause:
        runner.progress.spent = isinstance(pause, _BudgetSpent)
        ended = ("paused", str(pause))
    except Exception as error:  # nothing catches it in a thread: the page shows it
        ended = ("failed", f"{type(error).__name__}: {error}")
    try:
        with suppress(MootError):  # the project was closed meanwhile: opening it again finds the sweep interrupted
            runner.save_progress(*ended)
    finally:
        del runner.session.active_sweeps[runner.number]
