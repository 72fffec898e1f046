"""The Run room once something runs: the queue, pausing and going on, a budget that is raised, and why a run stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import NoSuchRun, UsageError
from core.runs import RunRow, State, StopCode, StopReason
from core.services.runs import planning
from core.services.session import ProjectSession


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run as the Run page shows it. ``state`` is where it stands this moment, ``ending`` what it was just told to
    become while calls are still in flight; ``siblings`` are the runs of its experiment."""

    run: RunRow
    state: State
    ending: State | None
    why: StopCode
    siblings: int
    error: BaseException | None

    @property
    def ended(self) -> int:
        """Documents whose debate has ended in any way."""
        return self.run.verdicts + self.run.unresolved + self.run.failed

    @property
    def left(self) -> int:
        """Documents still to do."""
        return self.run.documents - self.ended


def run_overview(session: ProjectSession, run_id: str) -> RunOverview:
    """Where a run stands. UsageError for an unknown one."""
    row = session.store.runs.get(run_id)
    if row is None:
        raise NoSuchRun(run_id)
    state = session.state(run_id)
    siblings = sum(other.experiment_id == row.experiment_id for other in session.store.runs.all())
    error = session.last_error(run_id)
    return RunOverview(row, state, session.pending_state(run_id), stop_reason(row, state), siblings, error)


def stop_reason(run: RunRow, state: State) -> StopCode:
    """Why a run stands still; empty while it moves or when it is done."""
    return run.stop_code if state in ("paused", "stopped", "failed") else ""


def queued_runs(session: ProjectSession) -> tuple[RunRow, ...]:
    """Runs that wait for the one that moves, in their order."""
    waiting = (run_id for run_id in session.active_runs() if session.state(run_id) == "queued")
    return tuple(row for row in map(session.store.runs.get, waiting) if row is not None)


def runs_on_hold(session: ProjectSession) -> tuple[RunRow, ...]:
    """Runs that were held back and that nothing brings on by itself."""
    return tuple(row for row in session.store.runs.all() if stop_reason(row, row.state) == "on_hold")


def resume_runs_on_hold(session: ProjectSession) -> None:
    """Go on with all runs that were held back."""
    start_runs(session, runs_on_hold(session))


def start_runs(session: ProjectSession, runs: Sequence[RunRow]) -> None:
    """Put runs into the queue; the first begins at once when nothing else moves."""
    for row in runs:
        session.start_or_resume(row.run_id)


def pause(session: ProjectSession, run_id: str) -> None:
    """Pause a run and hold back those queued behind it: nothing starts while a person thinks."""
    _put_queue_on_hold(session, run_id)
    session.pause(run_id)


def stop(session: ProjectSession, run_id: str) -> None:
    """Stop a run and hold back those queued behind it."""
    _put_queue_on_hold(session, run_id)
    session.stop(run_id)


def resume(session: ProjectSession, run_id: str, *, retry_unresolved: bool = False, retry_failed: bool = False) -> None:
    """Go on with a run, and then with those that were held back with it."""
    session.start_or_resume(run_id, retry_unresolved=retry_unresolved, retry_failed=retry_failed)
    for row in session.store.runs.all():
        if row.state == "paused" and StopReason(row.stop_code, row.message) == _on_hold_behind(run_id):
            session.start_or_resume(row.run_id)


def remove_from_queue(session: ProjectSession, run_id: str) -> None:
    """Take a waiting run out of the queue; it is kept, stopped."""
    session.stop(run_id)


def raise_budget(session: ProjectSession, run_id: str, budget_usd: float) -> None:
    """Give a run another ceiling and go on with it. UsageError as of ``set_budget``."""
    set_budget(session, run_id, budget_usd)
    resume(session, run_id)


def set_budget(session: ProjectSession, run_id: str, budget_usd: float) -> None:
    """Give a run another ceiling from its next start on. UsageError when the ceiling is spent already, and for a seat
    whose price is not known."""
    row = session.store.runs.get(run_id)
    if row is not None:
        planning.require_prices(row.settings.role_models, session.models)
    if row is not None and row.cost_usd is not None and budget_usd <= row.cost_usd:
        raise UsageError(f"${budget_usd:,.2f} is spent already.", f"This run has cost ${row.cost_usd:,.4f} so far.")
    session.store.runs.raise_budget(run_id, budget_usd)


def suggest_budget(run: RunRow) -> float:
    """The ceiling to offer when one is reached: what the rest should cost at this run's average, with a third to
    spare, and at least half as much again."""
    budget, spent = run.budget_usd or 0.0, run.cost_usd or 0.0
    ended = run.verdicts + run.unresolved + run.failed
    whole = spent / ended * run.documents * 4 / 3 if ended else 2 * budget
    return _round_up(max(whole, 1.5 * budget))


def _round_up(dollars: float) -> float:
    for step in (0.01, 0.05, 0.25, 1.0, 5.0):
        if dollars <= 20 * step:
            return -(-dollars // step) * step
    return float(-(-dollars // 10) * 10)


def _put_queue_on_hold(session: ProjectSession, run_id: str) -> None:
    if session.state(run_id) != "running":
        return
    for row in queued_runs(session):
        session.pause(row.run_id, _on_hold_behind(run_id))


def _on_hold_behind(run_id: str) -> StopReason:
    return StopReason("on_hold", f"held back with {run_id}")
