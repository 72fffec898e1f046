"""``moot annotate`` from its options to its exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from core.cli.console import DOLLARS, INCOMPLETE, OK, SOME_FAILED, ProgressLines, open_workspace, print_json, say, wait
from core.codebook import Codebook
from core.debate.events import RunStatus
from core.errors import MootError, UsageError
from core.runs import RoleModel, RunRow, RunSettings
from core.services import engines, examples, personas, pipeline
from core.services.codebooks.codebook import read_codebook
from core.services.data.importing import ImportOptions, preview_file
from core.services.evaluation import ambiguity
from core.services.runs import control, planning, preview, rerun
from core.services.runs.preview import describe_truncation
from core.services.session import ProjectSession
from core.services.workspace import Workspace

SHOWN_REJECTED = 5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: the run rows at their end, the JSON to report, the exit code."""

    session: ProjectSession
    rows: tuple[RunRow, ...]
    result: dict[str, Any]
    exit_code: int


def plan_of(options: Mapping[str, Any]) -> planning.Plan:
    """The plan that the options of ``moot annotate`` describe. UsageError for one that cannot be read."""
    engine, params = engines.parse_engine(
        options["engine"] or "live", pipeline.parse_pairs(options["params"], "--param")
    )
    handling, params = planning.split_handling(params)
    limits, params = ambiguity.split_params(params)
    sampling, params = planning.split_params(params, options["seed"])
    role_models = {
        role: RoleModel.parse(spec, sampling=sampling)
        for role, spec in pipeline.parse_pairs(options["roles"], "--role").items()
    }
    protocol, described = planning.load_protocol(options["protocol"])
    return planning.Plan(
        **limits,
        protocol=protocol,
        default_model=RoleModel.parse(options["model"], sampling=sampling),
        role_models=role_models,
        params={**described, **params},
        seed=options["seed"] or 0,
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        handling=handling,
        iterations=options["iterations"],
        limit=options["limit"],
        engine=engine,
    )


def annotate_file(
    workspace: Workspace, source: ImportOptions, codebook: Codebook, plan: planning.Plan, path: Path
) -> Outcome:
    """Read, check, probe, and only then write: import and debate. Any error before that leaves nothing behind."""
    to_import = preview_file(source, codebook)
    built = to_import.built
    plan, sources = personas.given(plan)
    settings = planning.build_settings(plan, codebook, 0, workspace.models)
    if path.exists():
        workspace.open(path, create=False)  # a locked or foreign file is found out before anything is asked
    if plan.ambiguous:
        ambiguity.document_ambiguity(workspace.open(path, create=False), plan.ambiguous)  # no pre-pass, nothing written
    for note in (*built.notes, *planning.baseline_warnings(settings)):
        say(f"moot: {note}")
    if built.rejected:
        rejected = len(built.rejected)
        say(f"moot: read {built.read}, kept {built.kept}, rejected {rejected} (they are kept in the project):")
        for row in built.rejected[:SHOWN_REJECTED]:
            say(f"moot:   {row}")
    _preflight(workspace, settings)
    for found in preview.context_overflows(
        settings, workspace.models, lambda: preview.longest_document(built.documents)
    ):
        say(f"moot: {found.sentence(settings)}")
    session = workspace.open(path)
    plan, said = personas.with_personas(session, plan, sources, codebook)
    for words in said:
        say(f"moot: {words}")
    rows = pipeline.start_runs(session, to_import, codebook, plan, lambda note: say(f"moot: {note}"))
    for note in examples.example_warnings(session.store, settings, session.store.runs.document_ids(rows[0].run_id)):
        say(f"moot: {note}")
    return _drive(session, [row.run_id for row in rows])


def resume_run(
    workspace: Workspace, path: Path, run_id: str, retries: Sequence[str], budget: float | None = None
) -> Outcome:
    """Go on with a run; documents that ended as ``retries`` says are tried again. A finished run is simply reported.

    ``budget`` is its new ceiling in dollars, for the whole run; None keeps the one it has.
    """
    session = workspace.open(path, create=False)
    row = pipeline.known_run(session, run_id)
    _require_connections(workspace, row.settings, run_id)
    retry = {f"retry_{status}": status in retries for status in ("failed", "unresolved")}
    again = retry["retry_failed"] * row.failed + retry["retry_unresolved"] * row.unresolved
    if row.verdicts + row.unresolved + row.failed - again < row.documents:
        if budget is not None and budget != row.budget_usd:
            control.set_budget(session, run_id, budget)
        _preflight(workspace, row.settings)
    return _drive(session, [run_id], **retry)


def told_what_stays(workspace: Workspace, path: Path, run_id: str, options: Mapping[str, Any], given: set[str]) -> None:
    """Say which of the ``given`` options a run that goes on does not take up, as it was frozen when it began."""
    before = pipeline.known_run(workspace.open(path, create=False), run_id).settings
    try:
        wanted = planning.build_settings(plan_of(options), read_codebook(options["codebook_file"]), 0, workspace.models)
    except MootError:
        return  # they do not describe a run, which is nothing to a run that has its settings
    stay = [option for option in rerun.differing_options(before, wanted) if option in given]
    if stay:
        say(
            f"moot: {run_id} goes on as it was begun, whatever {', '.join(stay)} {'say' if len(stay) > 1 else 'says'} "
            "now. To change that, make another run: what both ask is not paid again."
        )


def extend_run(workspace: Workspace, path: Path, run_id: str, source: ImportOptions, limit: int | None) -> None:
    """Give a run the documents of a file that it lacks, before it goes on."""
    session = workspace.open(path, create=False)
    row = pipeline.known_run(session, run_id)
    added = pipeline.extend_run(session, run_id, preview_file(source, row.settings.codebook), limit)
    say(f"moot: {run_id} has {added} more documents")


def rerun_run(workspace: Workspace, path: Path, run_id: str, options: Mapping[str, Any]) -> Outcome:
    """Make another run like one that is there, but for the seats and prompts that the options name, and drive it."""
    session = workspace.open(path, create=False)
    before = pipeline.known_run(session, run_id)
    name = options["engine"] or before.settings.engine.name
    engine, params = engines.parse_engine(name, pipeline.parse_pairs(options["params"], "--param"))
    sampling, strangers = planning.split_params(params, None)
    if strangers:
        raise UsageError(f"--param {next(iter(strangers))} cannot change in a rerun.", "Make a new run with annotate.")
    role_models = pipeline.parse_pairs(options["roles"], "--role")
    prompts = pipeline.parse_pairs(options["prompts"], "--prompt")
    changes = rerun.RunChanges(
        role_models={role: RoleModel.parse(spec, sampling=sampling) for role, spec in role_models.items()},
        prompts={role: rerun.read_prompt(Path(file)) for role, file in prompts.items()},
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        engine=engine if options["engine"] else None,
    )
    settings = rerun.changed_settings(before.settings, changes, workspace.models)
    _require_connections(workspace, settings, run_id)
    _preflight(workspace, settings)
    return _drive(session, [rerun.create_rerun(session, before, settings, options["limit"]).run_id])


def _require_connections(workspace: Workspace, settings: RunSettings, run_id: str) -> None:
    missing = {role_model.connection for role_model in settings.role_models.values()} - set(
        workspace.models.connections
    )
    if missing:
        name = missing.pop()
        raise UsageError(f"Run {run_id} was asked of '{name}', which is not known.", f"Add --connection {name}=URL.")


def _preflight(workspace: Workspace, settings: RunSettings) -> None:
    if settings.engine.batch_dir:
        return  # another program will answer, on another machine perhaps
    for probe in planning.preflight(settings, workspace.models, workspace.engine):
        if probe.error is not None:
            say(f"moot: probing {probe.role_model.spec}: {probe.error}")
        elif not probe.in_format:
            say(f"moot: probing {probe.role_model.spec}: it answers, but not in the expected format.")
        if probe.dropped:
            say(f"moot: {probe.role_model.spec} refuses {', '.join(probe.dropped)}; asked without.")


def _drive(
    session: ProjectSession, run_ids: list[str], *, retry_failed: bool = False, retry_unresolved: bool = False
) -> Outcome:
    session.listen(ProgressLines())
    trouble = ""
    interrupted = 0

    def on_interrupt(times: int) -> None:
        nonlocal interrupted
        interrupted = times
        say("moot: pausing after the calls in flight; once more to stop at once" if times == 1 else "moot: stopping")
        for run_id in run_ids:
            (session.pause if times == 1 else session.stop)(run_id)

    for run_id in run_ids:
        if interrupted:
            break
        try:
            status = wait(
                session.start_or_resume(run_id, retry_failed=retry_failed, retry_unresolved=retry_unresolved),
                on_interrupt,
            )
        except MootError as error:
            trouble = str(error)
            say(f"moot: {error}")
            break
        if status.state != "done":
            _explain(status)
            break
    rows = tuple(row for row in (session.store.runs.get(run_id) for run_id in run_ids) if row is not None)
    for row in rows:
        if told := describe_truncation(row, session.store.finished_debates.truncated_replies(row.run_id)):
            say(f"moot: {row.run_id}: {told}")
        for why, count in session.store.finished_debates.errors(row.run_id) if row.failed else ():
            say(f"moot: {row.run_id}: {count} failed: {why}")
    code = INCOMPLETE if trouble else _exit_code(rows)
    return Outcome(session, rows, pipeline.result(session, rows), code)


def _explain(status: RunStatus) -> None:
    why = f": {status.message}" if status.message else ""
    end = "" if why.endswith((".", "?", "!")) else "."
    say(f"moot: {status.run_id} is {status.state}{why}{end} Go on with --resume {status.run_id}")


def _exit_code(rows: tuple[RunRow, ...]) -> int:
    if any(row.state != "done" for row in rows):
        return INCOMPLETE
    return SOME_FAILED if any(row.failed for row in rows) else OK


@click.command("rerun")
@click.argument("run")
@click.option("--project", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The project file.")
@click.option("--role", "roles", multiple=True, metavar="ROLE=SPEC", help="Another model on a role. Repeatable.")
@click.option("--prompt", "prompts", multiple=True, metavar="ROLE=FILE", help="Another template. Repeatable.")
@click.option("--connection", "connections", multiple=True, metavar="NAME=URL", help="A server by name. Repeatable.")
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Of the named roles, e.g. temperature=0.")
@click.option("--concurrency", type=click.IntRange(1, 4096), help="Calls in flight.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N documents of the run.")
@click.option("--budget", type=DOLLARS, metavar="USD", help="Pause when it is spent.")
@click.option("--engine", type=click.Choice(["live", "batch", "ray"]), help="The driver; as before without it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object as the last line of stdout.")
def rerun_command(run: str, project: Path, as_json: bool, **options: Any) -> None:
    """Do RUN once more, on its documents, with something changed: a run of its own beside it.

    With another judge, or another prompt for the judge, extractor and critic are heard from the store; with another
    critic, the extractor is. --json reports like annotate: cached_calls are the replies that cost nothing.
    """
    with open_workspace(options["connections"]) as workspace:
        outcome = rerun_run(workspace, project, run, options)
    if as_json:
        print_json(outcome.result)
    else:
        told = outcome.result
        say(f"moot: {told['run_id']}: {told['calls']} calls paid, {told['cached_calls']} heard from the store")
    raise SystemExit(outcome.exit_code)
