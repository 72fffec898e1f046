"""``moot annotate`` from its options to its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.cli.console import INCOMPLETE, OK, SOME_FAILED, ProgressLines, say, wait
from core.codebook import Codebook
from core.debate.events import RunStatus
from core.errors import MootError, UsageError
from core.runs import RunRow, RunSettings, Seat
from core.studio import annotate, drivers, personas
from core.studio.datasets.intake import Source, read_source
from core.studio.desk import Desk
from core.studio.reviewing import ambiguity
from core.studio.running import again, custom_files, fitting, precedents, runs, steering
from core.studio.running.fitting import limit_words
from core.studio.workspace import Workspace

SHOWN_REJECTED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: the run rows at their end, the JSON to report, the exit code."""

    desk: Desk
    rows: tuple[RunRow, ...]
    result: dict[str, Any]
    exit_code: int


def plan_of(options: Mapping[str, Any]) -> runs.Plan:
    """The plan that the options of ``moot annotate`` describe. UsageError for one that cannot be read."""
    engine, params = drivers.engine(options["engine"] or "live", annotate.parse_pairs(options["params"], "--param"))
    handling, params = runs.split_handling(params)
    limits, params = ambiguity.split_params(params)
    sampling, params = runs.split_params(params, options["seed"])
    seats = {
        role: Seat.parse(spec, sampling=sampling)
        for role, spec in annotate.parse_pairs(options["roles"], "--role").items()
    }
    protocol, described = custom_files.chosen(options["protocol"])
    return runs.Plan(
        **limits,
        protocol=protocol,
        everyone=Seat.parse(options["model"], sampling=sampling),
        seats=seats,
        params={**described, **params},
        seed=options["seed"] or 0,
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        handling=handling,
        iterations=options["iterations"],
        limit=options["limit"],
        engine=engine,
    )


def annotate_file(workspace: Workspace, source: Source, codebook: Codebook, plan: runs.Plan, path: Path) -> Outcome:
    """Read, check, probe, and only then write: import and debate. Any error before that leaves nothing behind."""
    imported = read_source(source, codebook)
    plan, sources = personas.given(plan)
    settings = runs.settle(plan, codebook, 0, workspace.models)
    if path.exists():
        workspace.open(path, create=False)  # a locked or foreign file is found out before anything is asked
    if plan.ambiguous:
        ambiguity.rates(workspace.open(path, create=False), plan.ambiguous)  # no pre-pass, nothing written
    for note in (*imported.notes, *runs.warnings(settings)):
        say(f"moot: {note}")
    if imported.rejected:
        rejected = len(imported.rejected)
        say(f"moot: read {imported.read}, kept {imported.kept}, rejected {rejected} (they are kept in the project):")
        for row in imported.rejected[:SHOWN_REJECTED]:
            say(f"moot:   {row}")
    _preflight(workspace, settings)
    for found in fitting.too_long(settings, workspace.models, lambda: fitting.longest(imported.documents)):
        say(f"moot: {found.sentence(settings)}")
    desk = workspace.open(path)
    plan, said = personas.with_personas(desk, plan, sources, codebook)
    for words in said:
        say(f"moot: {words}")
    rows = annotate.begin(desk, imported, source.path.name, codebook, plan, lambda note: say(f"moot: {note}"))
    for note in precedents.notes(desk.store, settings, desk.store.runs.document_ids(rows[0].run_id)):
        say(f"moot: {note}")
    return _drive(desk, [row.run_id for row in rows])


def resume_run(
    workspace: Workspace, path: Path, run_id: str, retries: Sequence[str], budget: float | None = None
) -> Outcome:
    """Go on with a run; documents that ended as ``retries`` says are tried again. A finished run is simply reported.

    ``budget`` is its new ceiling in dollars, for the whole run; None keeps the one it has.
    """
    desk = workspace.open(path, create=False)
    row = annotate.known_run(desk, run_id)
    _require_connections(workspace, row.settings, run_id)
    retry = {f"retry_{status}": status in retries for status in ("failed", "unresolved")}
    again = retry["retry_failed"] * row.failed + retry["retry_unresolved"] * row.unresolved
    if row.verdicts + row.unresolved + row.failed - again < row.documents:
        if budget is not None and budget != row.budget_usd:
            steering.set_budget(desk, run_id, budget)
        _preflight(workspace, row.settings)
    return _drive(desk, [run_id], **retry)


def told_what_stays(workspace: Workspace, path: Path, run_id: str, options: Mapping[str, Any], given: set[str]) -> None:
    """Say which of the ``given`` options a run that goes on does not take up, as it was frozen when it began."""
    before = annotate.known_run(workspace.open(path, create=False), run_id).settings
    try:
        wanted = runs.settle(plan_of(options), annotate.read_codebook(options["codebook_file"]), 0, workspace.models)
    except MootError:
        return  # they do not describe a run, which is nothing to a run that has its settings
    stay = [option for option in again.differing(before, wanted) if option in given]
    if stay:
        say(
            f"moot: {run_id} goes on as it was begun, whatever {', '.join(stay)} {'say' if len(stay) > 1 else 'says'} "
            "now. To change that, make another run: what both ask is not paid again."
        )


def extend_run(workspace: Workspace, path: Path, run_id: str, source: Source, limit: int | None) -> None:
    """Give a run the documents of a file that it lacks, before it goes on."""
    desk = workspace.open(path, create=False)
    row = annotate.known_run(desk, run_id)
    imported = read_source(source, row.settings.codebook)
    added = annotate.extend(desk, run_id, imported, source.path.name, limit)
    say(f"moot: {run_id} has {added} more documents")


def rerun_run(workspace: Workspace, path: Path, run_id: str, options: Mapping[str, Any]) -> Outcome:
    """Make another run like one that is there, but for the seats and prompts that the options name, and drive it."""
    desk = workspace.open(path, create=False)
    before = annotate.known_run(desk, run_id)
    name = options["engine"] or before.settings.engine.name
    engine, params = drivers.engine(name, annotate.parse_pairs(options["params"], "--param"))
    sampling, strangers = runs.split_params(params, None)
    if strangers:
        raise UsageError(f"--param {next(iter(strangers))} cannot change in a rerun.", "Make a new run with annotate.")
    seats = annotate.parse_pairs(options["roles"], "--role")
    prompts = annotate.parse_pairs(options["prompts"], "--prompt")
    changes = again.Changes(
        seats={role: Seat.parse(spec, sampling=sampling) for role, spec in seats.items()},
        prompts={role: again.read_prompt(Path(file)) for role, file in prompts.items()},
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        engine=engine if options["engine"] else None,
    )
    settings = again.settings_again(before.settings, changes, workspace.models)
    _require_connections(workspace, settings, run_id)
    _preflight(workspace, settings)
    return _drive(desk, [again.run_again(desk, before, settings, options["limit"]).run_id])


def _require_connections(workspace: Workspace, settings: RunSettings, run_id: str) -> None:
    missing = {seat.connection for seat in settings.seats.values()} - set(workspace.models.connections)
    if missing:
        name = missing.pop()
        raise UsageError(f"Run {run_id} was asked of '{name}', which is not known.", f"Add --connection {name}=URL.")


def _preflight(workspace: Workspace, settings: RunSettings) -> None:
    if settings.engine.batch_dir:
        return  # another program will answer, on another machine perhaps
    for probe in runs.preflight(settings, workspace.models, workspace.engine):
        if probe.error is not None:
            say(f"moot: probing {probe.seat.spec}: {probe.error}")
        elif not probe.in_format:
            say(f"moot: probing {probe.seat.spec}: it answers, but not in the expected format.")
        if probe.dropped:
            say(f"moot: {probe.seat.spec} refuses {', '.join(probe.dropped)}; asked without.")


def _drive(desk: Desk, run_ids: list[str], *, retry_failed: bool = False, retry_unresolved: bool = False) -> Outcome:
    desk.listen(ProgressLines())
    trouble = ""
    interrupted = 0

    def on_interrupt(times: int) -> None:
        nonlocal interrupted
        interrupted = times
        say("moot: pausing after the calls in flight; once more to stop at once" if times == 1 else "moot: stopping")
        for run_id in run_ids:
            (desk.pause if times == 1 else desk.stop)(run_id)

    for run_id in run_ids:
        if interrupted:
            break
        try:
            status = wait(desk.go(run_id, retry_failed=retry_failed, retry_unresolved=retry_unresolved), on_interrupt)
        except MootError as error:
            trouble = str(error)
            say(f"moot: {error}")
            break
        if status.state != "done":
            _explain(status)
            break
    rows = tuple(row for row in (desk.store.runs.get(run_id) for run_id in run_ids) if row is not None)
    for row in rows:
        if told := limit_words(row, desk.store.ended.at_their_limit(row.run_id)):
            say(f"moot: {row.run_id}: {told}")
        for why, count in desk.store.ended.faults(row.run_id) if row.failed else ():
            say(f"moot: {row.run_id}: {count} failed: {why}")
    code = INCOMPLETE if trouble else _exit_code(rows)
    return Outcome(desk, rows, annotate.result(desk, rows), code)


def _explain(status: RunStatus) -> None:
    why = f": {status.message}" if status.message else ""
    end = "" if why.endswith((".", "?", "!")) else "."
    say(f"moot: {status.run_id} is {status.state}{why}{end} Go on with --resume {status.run_id}")


def _exit_code(rows: tuple[RunRow, ...]) -> int:
    if any(row.state != "done" for row in rows):
        return INCOMPLETE
    return SOME_FAILED if any(row.failed for row in rows) else OK
