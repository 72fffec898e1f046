"""Control runs: queue, pause, stop, resume, raise the budget, rename, delete, and explain why one is not running."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.errors import UsageError
from core.formatting import format_money
from core.runs import RunDetails, RunRow, State, StopCode, StopReason
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_until_commit
from core.services.runs import planning, rerun
from core.services.runs.cost_estimate import describe_truncation, highest_call_cost
from core.store.transcripts import CutReplies


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run as the Run page shows it. The fields with a default are for a run that is not active."""

    run: RunRow
    state: State
    pending_state: State | None
    """The state that was requested while calls are still in flight."""
    stop_code: StopCode
    siblings: int
    """Number of runs of its experiment."""
    error: BaseException | None
    last_reply: float | None = None
    """Time of the last reply."""
    paused_retries: int = 0
    """Number of documents that have a verdict, but whose retry continues when the run resumes."""
    open_debates: int = 0
    """Number of unfinished debates with replies."""
    retryable: Mapping[str, int] = field(default_factory=dict)
    """Number of documents that a retry debates again, by their status."""
    truncation: str = ""
    """Warning about replies that reached their output limit."""
    kept_addresses: tuple[str, ...] = ()
    """The addresses that an unfinished run keeps, in words."""

    @property
    def unfinished(self) -> int:
        """Number of documents that the run still debates."""
        return self.run.documents - self.run.ended + self.paused_retries


def run_overview(session: ProjectSession, run_id: str) -> RunOverview:
    """Return the current overview of a run. Raises NoSuchRun."""
    row, state = session.run(run_id), session.state(run_id)
    siblings = session.store.runs.count(row.experiment_id)
    overview = RunOverview(
        row, state, session.pending_state(run_id), stop_code(row, state), siblings, session.last_error(run_id)
    )
    if state in ("running", "queued"):
        return overview
    overview = replace(overview, paused_retries=session.store.runs.paused_retries(run_id))
    last_reply, open_debates, cut, retryable = _stored_debates(session, run_id)
    truncation = describe_truncation(row, cut)
    addresses = rerun.kept_addresses(row.settings, session.models) if overview.unfinished else ()
    return replace(
        overview,
        last_reply=last_reply,
        open_debates=open_debates,
        retryable=retryable,
        truncation=truncation,
        kept_addresses=tuple(address.sentence for address in addresses),
    )


@cached_until_commit
def _stored_debates(session: ProjectSession, run_id: str) -> tuple[float | None, int, CutReplies, Mapping[str, int]]:
    """Return the time of the last reply, the number of open debates, the cut replies and the retryable documents."""
    debates = session.store.transcripts
    retryable = session.store.runs.retryable(run_id)
    return *debates.last_reply(run_id), debates.cut_replies(run_id), retryable


def stop_code(run: RunRow, state: State) -> StopCode:
    """Return why a run is not running; empty while it is active or when it is done."""
    return run.stop_code if state in ("paused", "stopped", "failed") else ""


def queued_runs(session: ProjectSession) -> tuple[RunRow, ...]:
    """Return the runs that wait behind the active one, in order."""
    waiting = (run_id for run_id in session.active_runs() if session.state(run_id) == "queued")
    return tuple(row for row in map(session.store.runs.get, waiting) if row is not None)


def runs_on_hold(session: ProjectSession) -> tuple[RunRow, ...]:
    """Return the runs that were queued behind a paused or stopped run and have to be resumed by the user."""
    return tuple(row for row in session.all_runs() if stop_code(row, row.state) == "on_hold")


def start_runs(session: ProjectSession, runs: Sequence[RunRow]) -> None:
    """Queue runs; the first one starts at once if no other run is active."""
    for row in runs:
        session.start_or_resume(row.run_id)


def pause(session: ProjectSession, run_id: str) -> None:
    """Pause a run and put the runs queued behind it on hold."""
    _put_queue_on_hold(session, run_id)
    session.pause(run_id)


def stop(session: ProjectSession, run_id: str) -> None:
    """Stop a run and put the runs queued behind it on hold."""
    _put_queue_on_hold(session, run_id)
    session.stop(run_id)


def resume(session: ProjectSession, run_id: str, *, retry_unresolved: bool = False, retry_failed: bool = False) -> None:
    """Resume a run, then the runs that were put on hold with it. Raises UsageError as ``check_budget`` does.

    Watched runs continue at the pace that is set now.
    """
    check_budget(session, run_id)
    pace = planning.load_plan(session).pace
    session.start_or_resume(run_id, retry_unresolved=retry_unresolved, retry_failed=retry_failed, pace=pace)
    for row in session.all_runs():
        if row.state == "paused" and (row.stop_code, row.message) == ("on_hold", run_id):
            session.start_or_resume(row.run_id, pace=pace)


def raise_budget(session: ProjectSession, run_id: str, budget_usd: float) -> None:
    """Set a new budget and resume the run. Raises UsageError as ``set_budget`` does."""
    set_budget(session, run_id, budget_usd)
    resume(session, run_id)


def set_budget(session: ProjectSession, run_id: str, budget_usd: float) -> None:
    """Set a run's budget from its next start on.

    Raises UsageError if the run cannot have this budget: it is spent already, or a price is or was unknown.
    """
    row = session.run(run_id)
    planning.require_prices(row.settings, session.models)
    if row.cost_usd is None:
        raise UsageError(
            "The cost of this run so far is unknown, so a budget for the whole run cannot be enforced.",
            "Start a new run with this budget: the replies of this one are reused without cost.",
        )
    if budget_usd <= row.cost_usd:
        raise UsageError(f"The run has already cost {format_money(row.cost_usd)}.", "Enter a higher budget.")
    session.store.runs.raise_budget(run_id, budget_usd)


def check_budget(session: ProjectSession, run_id: str) -> None:
    """Raise UsageError if the run has a budget that cannot be enforced because a model's price is no longer known."""
    row = session.run(run_id)
    if row.budget_usd is not None:
        planning.require_prices(row.settings, session.models, "the budget of this run")


def suggest_budget(session: ProjectSession, run: RunRow) -> float:
    """Return the budget to offer when the current one is spent.

    It is the projected cost of the whole run plus a third, at least 1.5 times the current budget, and enough for any
    call.
    """
    budget, spent = run.budget_usd or 0.0, run.cost_usd or 0.0
    projected = spent / run.ended * run.documents * 4 / 3 if run.ended else 2 * budget
    return _round_up(max(projected, 1.5 * budget, spent + highest_call_cost(session, run.settings)))


def _round_up(dollars: float) -> float:
    for step in (0.01, 0.05, 0.25, 1.0, 5.0):
        if dollars <= 20 * step:
            return -(-dollars // step) * step
    return float(-(-dollars // 10) * 10)


def _put_queue_on_hold(session: ProjectSession, run_id: str) -> None:
    if session.state(run_id) != "running":
        return
    for row in queued_runs(session):
        session.pause(row.run_id, StopReason("on_hold", run_id))


def change_details(session: ProjectSession, changes: Mapping[str, RunDetails]) -> int:
    """Rename, tag, pin, archive or delete runs, as one act that ``undo_details`` takes back; return its number.

    A paused batch run that is deleted is stopped, because its batches would be answered and billed. Raises UsageError
    if an active run is to be deleted, and NoSuchRun for an unknown run.
    """
    deleted = [run_id for run_id, new in changes.items() if new.status == "deleted"]
    if active := [run_id for run_id in session.active_runs() if run_id in deleted]:
        title = session.run(active[0]).title
        state = "queued" if session.state(active[0]) == "queued" else "running"
        raise UsageError(f"'{title}' is {state}.", "Stop it, then delete it.")
    act = session.store.runs.describe(changes)
    if batches := [run_id for run_id in deleted if session.run(run_id).settings.engine.name == "batch"]:
        session.stop(*batches)  # it waits while another run is started or stopped
    return act


def kept_batches(session: ProjectSession, run_ids: Iterable[str]) -> list[str]:
    """Return a sentence for each of these runs that was stopped although a server did not cancel all of its batches."""
    runs = map(session.run, run_ids)
    return [run.message for run in runs if (run.state, run.stop_code) == ("stopped", "errors")]


def undo_details(session: ProjectSession, act: int) -> int:
    """Restore the details before an act, as a new act, and return its number. UsageError if they changed since."""
    return session.store.runs.undo_details(act)


def last_deletion(session: ProjectSession) -> tuple[int, Sequence[str]] | None:
    """Return the number of the latest act whose runs are still deleted, and their titles; None without one."""
    if (deletion := session.store.runs.last_deletion()) is None:
        return None
    act, run_ids = deletion
    return act, [session.run_name(run_id) for run_id in run_ids]
