"""The commands ``annotate``, ``rerun`` and ``keywords``, from their options to their exit codes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import click

from core.cli import console
from core.codebook import Codebook
from core.debate import protocols
from core.debate.events import RunStatus
from core.debate.personas import FAMILY
from core.debate.protocols import PROTOCOLS, custom
from core.documents import Document
from core.errors import MootError, ProjectError, UsageError
from core.files import read_text
from core.formatting import as_sentence, format_count, join_names, plural
from core.runs import MAX_TOKENS, SAMPLING_PARAMS, EngineName, RoleModel, RunRow, RunSettings, StopReason
from core.services import few_shot_examples, import_with_runs, personas, projects, prompt_templates
from core.services.codebooks.codebook import adopt, current, read_codebook, write_yaml
from core.services.codebooks.label_keywords import labels_without_keywords, propose_keywords, with_keywords
from core.services.data.importing import (
    BuiltDocuments,
    ColumnMapping,
    ImportOptions,
    ImportPreview,
    ReadOptions,
    describe_other_ids,
    preview_file,
    propose_mapping,
)
from core.services.evaluation import ambiguity, report
from core.services.project_session import ProjectSession
from core.services.runs import control, planning, rerun, run_warnings
from core.services.runs.cost_estimate import adaptive_savings, context_overflows, describe_truncation, longest_document
from core.services.workspace import Workspace, check_folder, check_path

SHOWN_REJECTED, SHOWN_UNKNOWN = 5, 20
SUMMED = (
    "documents", "verdicts", "unresolved", "failed", "calls", "cached_calls", "estimated_calls",
    "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "seconds",
)  # fmt: skip
"""Figures of a run that are added up over several iterations."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of the runs: their final rows, the JSON to print and the exit code."""

    session: ProjectSession
    rows: tuple[RunRow, ...]
    result: dict[str, Any]
    exit_code: int


def _load_protocol(protocol: str) -> tuple[str, dict[str, str]]:
    """Return the name and the parameters of a protocol, given by name or by the path of a protocol file.

    The parameters freeze the text of the file into the run. Raises InputError for an unreadable file, and UsageError
    for a file without a valid protocol.
    """
    if not protocol.lower().endswith((".yaml", ".yml")):
        return protocol, {}
    text = read_text(Path(protocol))
    custom.parse_definition(text, protocol)
    return custom.NAME, {custom.SCRIPT: text}


def plan_of(options: Mapping[str, Any]) -> planning.Plan:
    """Return the plan that the options of ``moot annotate`` describe. Raises UsageError for invalid options."""
    values = planning.parse_params(options["params"], engine=options["engine"], seed=options["seed"])
    sampling = values.sampling
    role_models = {role: RoleModel.parse(spec, sampling=sampling) for role, spec in options["roles"].items()}
    protocol, described = _load_protocol(options["protocol"])
    return planning.Plan(
        protocol=protocol,
        default_model=RoleModel.parse(options["model"], sampling=sampling),
        role_models=role_models,
        params={**described, **values.protocol},
        seed=options["seed"] or 0,
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        handling=values.handling,
        iterations=options["iterations"],
        limit=options["limit"],
        ambiguous=values.prepass.ambiguous,
        theta=values.prepass.theta,
        engine=values.engine,
        prompts=_read_prompts(options["prompts"]),
    )


def _read_prompts(files: Mapping[str, str]) -> dict[str, str]:
    return {role: read_text(Path(file)) for role, file in files.items()}


def annotate_file(
    workspace: Workspace, source: ImportOptions, codebook: Codebook, plan: planning.Plan, path: Path
) -> Outcome:
    """Read and check the input, test the models, then import the documents and debate them.

    Labels that the project has, by name, keep their ids. An error before the import leaves nothing behind but a model's
    replies on personas, so that they are not paid for again.
    """
    # an impossible, locked or foreign file is reported before any call
    check_path(path)
    if not path.exists():
        check_folder(path)
    existing = workspace.open(path, create=False) if path.exists() or plan.ambiguous else None
    if existing is not None and (before := current(existing)) is not None:
        codebook = adopt(codebook, before)
    to_import = preview_file(source, codebook, existing)
    built = to_import.built
    plan, sources = personas.resolve_files(plan)
    templates = {} if existing is None else prompt_templates.promoted_templates(existing)
    settings = planning.build_settings(plan, codebook, 0, workspace.models, templates)
    _check_templates_on(built.documents, settings)
    settings = planning.pin_settings(existing, settings)
    if existing is not None:  # fails if no document is ambiguous
        ambiguity.select_documents(existing, plan, [document.id for document in built.documents])
    batches = [] if existing is None else run_warnings.batch_warnings(existing, settings)
    for note in (*run_warnings.settings_warnings(settings, workspace.models), *batches):
        console.print_message(note)
    _print_reading(built, " (stored in the project)")
    _propose_rater(to_import, codebook)
    _preflight(workspace, settings)
    planning.check_prices(settings, workspace.models)
    _print_overflows(workspace, settings, built.documents)
    session = existing or workspace.open(path)
    try:
        plan, messages, spent = personas.with_personas(session, plan, sources, codebook)
    except MootError:
        is_paid = not (session.project.replies.is_empty() or plan.role_model(FAMILY).is_builtin)
        if existing is None and not is_paid:
            projects.remove_project(workspace, path)
        raise
    for message in messages:
        console.print_message(message)
    if count := to_import.other_ids:
        console.print_message(f"{describe_other_ids(count)}; they are added again. --id chooses the id column")
    stored, rows = import_with_runs.create_runs(session, to_import, codebook, plan)
    _print_conflicts(session, stored.counts)
    for note in few_shot_examples.example_warnings(
        session.store, settings, session.store.runs.document_ids(rows[0].run_id)
    ):
        console.print_message(note)
    outcome = _execute(session, [row.run_id for row in rows])
    return outcome if spent is None else replace(outcome, result={**outcome.result, "personas": asdict(spent)})


def _print_reading(built: BuiltDocuments, kept_in: str = "") -> None:
    """Print how a file was read, how many rows were not read as they are, and the first rejected ones."""
    for note in (*built.notes, *map(str, built.unknown_gold[:SHOWN_UNKNOWN])):
        console.print_message(note)
    if built.unknown_gold:
        console.print_message("such cells have no gold; --gold-value says what they mean (x=present, =absent if empty)")
    if built.rejected:
        rejected = len(built.rejected)
        merged = f"merged {built.merged}, " if built.merged else ""
        counts = f"read {built.read}, kept {built.kept}, {merged}rejected {rejected}"
        console.print_message(f"{counts}{kept_in}:")
        for row in built.rejected[:SHOWN_REJECTED]:
            console.print_message(f"  {row}")
        if rejected > SHOWN_REJECTED:
            console.print_message(f"  and {rejected - SHOWN_REJECTED:,} more")
    elif built.merged:
        console.print_message(f"read {built.read}, kept {built.kept}, merged {built.merged}")


def _propose_rater(to_import: ImportPreview, codebook: Codebook) -> None:
    """Print the option for a column of raters, if rows were rejected and there may be one."""
    draft = to_import.draft
    if not to_import.built.rejected or draft.mapping.rater is not None:
        return
    if rater := propose_mapping(draft.table, codebook).rater:
        console.print_message(f"several raters labelled the same texts? Add --rater {shlex.quote(rater)}")


def _print_overflows(workspace: Workspace, settings: RunSettings, documents: Sequence[Document]) -> None:
    """Print the models whose context is too short for the prompts on these documents."""
    for overflow in context_overflows(
        settings,
        workspace.models,
        lambda: longest_document(documents),
        lambda: fmean(len(document.full_text) for document in documents),
    ):
        console.print_message(overflow.sentence(settings))


def _print_conflicts(session: ProjectSession, counts: Mapping[str, int]) -> None:
    """Print how many gold values and documents of a file differ from those of the project, if any does."""
    if count := counts["gold_conflicts"]:
        console.print_message(
            f"{format_count(count, 'gold value')} {plural(count, 'differs', 'differ')} from the gold in "
            f"{session.path.name}, which stays. To compare with both, name a rater: --gold LABEL=COL@RATER."
        )
    if count := counts.get("column_conflicts", 0):
        console.print_message(
            f"{format_count(count, 'document')} {plural(count, 'has', 'have')} another group, order or column in "
            f"{session.path.name}, which stays. To use the new ones, import the file into a new project."
        )


def _check_templates_on(documents: Sequence[Document], settings: RunSettings) -> None:
    """Render a run's prompts on the first documents and the longest one, before they are stored. Raises PromptError."""
    longest = longest_document(documents)
    first = documents[: prompt_templates.SAMPLED_DOCUMENTS - 1]
    prompt_templates.check_templates(settings, first if longest is None else [*first, longest])


def resume_run(
    session: ProjectSession,
    run_id: str,
    retries: Sequence[str],
    budget: float | None,
    extension: ImportPreview | None = None,
    limit: int | None = None,
) -> Outcome:
    """Resume a run and retry documents with a status in ``retries``; a finished run is only reported.

    ``budget`` is a new limit in dollars for the whole run; None keeps the current one. The first ``limit`` documents of
    ``extension`` are added to the run. An error before that leaves the run and the documents unchanged.
    """
    row = console.known_run(session, run_id)
    models = join_names([*dict.fromkeys(row.settings.specs.values())])
    console.print_message(
        f"{run_id} resumes with its own settings ({protocols.short_title(row.settings)}, {models}) and its "
        f"{format_count(row.documents, 'document')}; options for others are ignored. A new run with others reuses "
        "replies to unchanged requests."
    )
    retry = {f"retry_{status}": status in retries for status in ("failed", "unresolved")}
    retryable = session.store.runs.retryable(run_id)
    retried = sum(count for status, count in retryable.items() if status in retries)
    retried += session.store.runs.paused_retries(run_id)
    added: list[str] = []
    if extension is not None:
        plan = import_with_runs.extension_plan(row, limit)
        if plan.ambiguous:
            console.print_message(
                f"{run_id} is extended only by documents that are ambiguous by {plan.ambiguous} (theta "
                f"{plan.theta:g}). For votes on new documents, extend {plan.ambiguous} first."
            )
        added = import_with_runs.new_documents(session, run_id, extension, plan)
    if row.ended - retried < row.documents + len(added):
        _require_connections(session, row.settings, run_id)
        _note_kept_addresses(session, row.settings, run_id)
        _preflight(session, row.settings)
        if budget is None or budget == row.budget_usd:
            control.check_budget(session, run_id)
        else:
            control.set_budget(session, run_id, budget)
    if extension is not None:
        _extend_run(session, row, extension, added)
    outcome = _execute(session, [run_id], **retry)
    if outcome.exit_code != console.INCOMPLETE:
        _print_paused_iterations(session, row, budget)
    return outcome


def _print_paused_iterations(session: ProjectSession, row: RunRow, budget: float | None) -> None:
    """Print how to resume the paused runs of an experiment after one of its runs has finished."""
    others = [other for other in session.all_runs() if other.experiment_id == row.experiment_id]
    if paused := [other.run_id for other in others if other.state == "paused"]:
        verb, resume = plural(len(paused), "is", "are"), plural(len(paused), "Resume", "Resume each, for example")
        options = _resume_options(paused[0]) + (f" --budget={budget:g}" if budget else "")
        console.print_message(
            f"{join_names(paused)}, of the same experiment, {verb} still paused. {resume} with {options}"
        )


def _extend_run(session: ProjectSession, row: RunRow, extension: ImportPreview, added: Sequence[str]) -> None:
    """Import a file and add documents of it to a run before it resumes."""
    stored = import_with_runs.extend_run(session, row.run_id, extension, added)
    _print_conflicts(session, stored.counts)
    console.print_message(f"{row.run_id}: added {format_count(len(added), 'document')}")
    other_runs = [other for other in session.all_runs() if other.experiment_id == row.experiment_id]
    if shorter := [other.run_id for other in other_runs if other.documents < row.documents + len(added)]:
        commands = ", ".join(f"--resume {id} --extend" for id in shorter)
        console.print_message(
            f"{join_names(shorter)}, of the same experiment, {plural(len(shorter), 'does', 'do')} not have all these "
            f"documents. To extend {plural(len(shorter), 'it', 'them')}, repeat the command with {commands}."
        )


def rerun_run(session: ProjectSession, run_id: str, options: Mapping[str, Any]) -> Outcome:
    """Create a run like another one, with the models and prompts in the options changed, and execute it."""
    before = console.known_run(session, run_id)
    name = options["engine"] or before.settings.engine.name
    (seed, *_) = (role_model.sampling.seed for role_model in before.settings.role_models.values())
    values = planning.parse_params(options["params"], engine=name, seed=seed)
    engine, sampling = values.engine, values.sampling
    changes = {field: getattr(engine, field) for field in engine.model_fields_set}
    of_run = {*values.handling.model_fields_set, *values.prepass.model_fields_set, *values.protocol}
    of_roles = [param for param in options["params"] if param in SAMPLING_PARAMS]
    if fixed := [param for param in options["params"] if param in of_run]:
        raise UsageError(f"--param {fixed[0]} cannot change in a rerun.", "Start a new run with moot annotate.")
    if of_roles and not options["roles"]:
        raise UsageError(
            f"--param {of_roles[0]} applies to the roles given by --role.",
            "Name their models: --role ROLE=SPEC.",
        )
    settings = rerun.changed_settings(
        session,
        before,
        role_models={role: RoleModel.parse(spec, sampling=sampling) for role, spec in options["roles"].items()},
        prompts=_read_prompts(options["prompts"]),
        concurrency=options["concurrency"],
        budget_usd=options["budget"],
        engine=engine if options["engine"] else before.settings.engine.model_copy(update=changes),
    )
    _require_connections(session, settings, run_id)
    _note_kept_addresses(session, settings, run_id)
    for note in run_warnings.batch_warnings(session, settings):
        console.print_message(note)
    _preflight(session, settings)
    planning.check_prices(settings, session.models)
    return _execute(session, [rerun.create_rerun(session, before, settings, options["limit"]).run_id])


def _require_connections(session: ProjectSession, settings: RunSettings, run_id: str) -> None:
    for name in (role_model.connection for role_model in settings.role_models.values()):
        if name not in session.models.connections:
            raise UsageError(f"Run {run_id} uses the unknown connection '{name}'.", f"Add --connection {name}=URL.")


def _note_kept_addresses(session: ProjectSession, settings: RunSettings, run_id: str) -> None:
    """Print which addresses of a run stay although its connections have other ones now, and how to use those."""
    for address in rerun.kept_addresses(settings, session.models):
        options = ["--connection", f"{address.connection}={address.current_address}"]
        command = _rerun_command(session, run_id, settings, address.roles, options)
        console.print_message(f"{address.sentence} To use it and pay for new replies: {command}")


def _rerun_command(
    session: ProjectSession, run_id: str, settings: RunSettings, roles: Sequence[str], options: Sequence[str]
) -> str:
    """Return the command that reruns a run with the same models of some roles and with other options."""
    role_options = [word for role in roles for word in ("--role", f"{role}={settings.role_models[role].spec}")]
    command = shlex.join(["moot", "rerun", run_id, "--project", str(session.path), *options, *role_options])
    return f"{command} (with the run's --param for sampling)"


def _preflight(opened: Workspace | ProjectSession, settings: RunSettings) -> None:
    if unused := planning.unused_prices(settings, opened.models, click.get_current_context().params.get("prices", {})):
        console.print_message(f"the run has no model for --price {join_names(unused)}")
    if settings.engine.batch_dir:
        return  # another program answers the files, perhaps on another machine
    for probe in planning.preflight(settings, opened.models, opened.engine):
        if probe.error is not None:
            console.print_message(f"testing {probe.role_model.spec}: {probe.error}")
        elif not probe.in_format:
            reply = f' It replied "{probe.beginning}".' if probe.beginning else ""
            console.print_message(
                f"testing {probe.role_model.spec}: the model answers, but not in the expected format.{reply}"
            )
        if probe.refused_params:
            console.print_message(
                f"{probe.role_model.spec} refuses {', '.join(probe.refused_params)} as set; requests will omit it."
            )


def _execute(
    session: ProjectSession, run_ids: list[str], *, retry_failed: bool = False, retry_unresolved: bool = False
) -> Outcome:
    """Execute runs one after another until one does not finish, report failures, and return the outcome of all."""
    session.listen(console.ProgressLines())
    statuses: dict[str, RunStatus] = {}
    has_error = False
    for number, run_id in enumerate(run_ids, start=1):
        try:
            future = session.start_or_resume(run_id, retry_failed=retry_failed, retry_unresolved=retry_unresolved)
            status, interrupted = _wait_for(session, run_id, future)
        except MootError as error:
            has_error = True
            console.print_error(error)
            break
        statuses[run_id] = status
        if status.state != "done":
            _print_stop(session, status)
        if interrupted or status.state != "done":
            _put_on_hold(session, run_ids[number:], run_id)
            break
    # A disk that refuses writes keeps the state that was stored before.
    try:
        latest = [session.run(run_id) for run_id in run_ids]
    except ProjectError as error:  # the disk failed in a write of the database, which then cannot be read either
        if not statuses:
            raise
        console.print_error(error)
        return Outcome(session, (), totals([*statuses.values()], {}), console.INCOMPLETE)
    states = {run_id: status.state for run_id, status in statuses.items()}
    rows = tuple(row.model_copy(update={"state": states.get(row.run_id, row.state)}) for row in latest)
    _print_failures(session, rows)
    savings = ((row.run_id, adaptive_savings(session, row)) for row in rows)
    result = totals(rows, {run_id: saved.to_json() for run_id, saved in savings if saved is not None})
    is_complete = not has_error and all(row.state == "done" for row in rows)
    exit_code = console.SOME_FAILED if any(row.failed for row in rows) else console.OK
    return Outcome(session, rows, result, exit_code if is_complete else console.INCOMPLETE)


def _wait_for(session: ProjectSession, run_id: str, future: Future[RunStatus]) -> tuple[RunStatus, bool]:
    """Wait for the end of a run. Return its status, and True if Ctrl-C paused or stopped it."""
    interrupted = False

    def on_interrupt(times: int) -> None:
        nonlocal interrupted
        interrupted = True
        if times == 1:
            console.print_message("pausing when the calls in flight end; press Ctrl-C again to stop at once")
            session.pause(run_id)
        else:
            console.print_message("stopping")
            session.stop(run_id)

    status = console.wait_for(future, on_interrupt)
    return status, interrupted


def _put_on_hold(session: ProjectSession, run_ids: Sequence[str], earlier: str) -> None:
    """Pause runs that wait behind an earlier one which did not finish, and print how to resume them."""
    with suppress(ProjectError):  # on a disk that refuses writes they stay queued
        for run_id in run_ids:
            session.pause(run_id, StopReason("on_hold", earlier))
    if run_ids:
        verb, resume = plural(len(run_ids), "is", "are"), plural(len(run_ids), "Resume", "Resume each, for example")
        console.print_message(f"{join_names(run_ids)} {verb} on hold. {resume} with {_resume_options(run_ids[0])}")


def _print_failures(session: ProjectSession, rows: Sequence[RunRow]) -> None:
    for row in rows:
        if row.estimated_calls:
            calls = f"{row.estimated_calls:,} of {format_count(row.calls, 'call')}"
            console.print_message(f"{row.run_id}: the server reported no tokens for {calls}; the cost is estimated")
        cut = session.store.transcripts.cut_replies(row.run_id)
        if warning := describe_truncation(row, cut):
            console.print_message(f"{row.run_id}: {warning}")
        for message, count in session.store.transcripts.causes(row.run_id, "failed") if row.failed else ():
            console.print_message(f"{row.run_id}: {count} failed: {message}")
        retryable = session.store.runs.retryable(row.run_id)
        if retryable["failed"] > cut.failed and row.state == "done":
            console.print_message(f"{_resume_options(row.run_id)} asks again for the failed documents")
        if row.unresolved and row.state == "done":
            for reason, count in session.store.transcripts.causes(row.run_id, "unresolved"):
                console.print_message(f"{row.run_id}: {count} unresolved: {reason}")
            words = f"moot export --run {row.run_id} --format jsonl has the reason of each document"
            # a word list replies the same again
            if not row.settings.is_builtin and retryable["unresolved"]:
                words += f"; {_resume_options(row.run_id)} --retry unresolved asks again"
            console.print_message(words)
        role_models = [row.settings.role_models[role] for role in cut.roles]
        has_connections = all(role_model.connection in session.models.connections for role_model in role_models)
        if (cut.failed or cut.unresolved) and has_connections:  # a retry has the same limit
            reached = max(cut.limits or [role_model.sampling.output_limit for role_model in role_models])
            highest = min(session.models.sent_limit(role_model, MAX_TOKENS) or MAX_TOKENS for role_model in role_models)
            if reached >= highest:
                console.print_message(
                    f"{highest:,} tokens are the highest output limit: half of the context, or what the server allows. "
                    "With a larger context, a new run asks again"
                )
                continue
            options = [f"--param=max_tokens={min(2 * reached, highest)}", *_stated_options()]
            command = _rerun_command(session, row.run_id, row.settings, cut.roles, options)
            console.print_message(f"to raise the output limit and pay for new replies: {command}")


def totals(rows: Sequence[RunRow], savings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``moot annotate --json`` reports: the totals of a run, with the savings of adaptive runs by run id.

    For several iterations: their sums under the first run's id, with each run under ``runs``. ``cost_usd`` is None if
    any price is unknown.
    """
    run_totals = [
        ({"adaptive": savings[row.run_id]} if row.run_id in savings else {})
        | {
            "run_id": row.run_id,
            **row.model_dump(include={*SUMMED, "rejected"}),
            "seconds": round(row.seconds, 3),
            "status": row.state,
        }
        for row in rows
    ]
    if len(run_totals) == 1:
        return run_totals[0]
    summed = {
        name: None if any(run[name] is None for run in run_totals) else sum(run[name] for run in run_totals)
        for name in SUMMED
    }
    worst = next((row.state for row in rows if row.state != "done"), "done")
    return {
        "run_id": run_totals[0]["run_id"],
        **summed,
        "seconds": round(sum(row.seconds for row in rows), 3),
        "rejected": rows[0].rejected,
        "status": worst,
        "runs": run_totals,
    }


def _print_stop(session: ProjectSession, status: RunStatus) -> None:
    reason = f": {status.message}" if status.message else ""
    sentence = as_sentence(f"{status.run_id} is {status.state}{reason}")
    resume = _resume_options(status.run_id)
    with suppress(ProjectError):  # a disk that refuses writes keeps the state that was stored before
        run = session.run(status.run_id)
        if run.stop_code == "budget":
            resume += f" --budget={control.suggest_budget(session, run):g}"
    console.print_message(f"{sentence} Resume with {resume}")


def _resume_options(run_id: str) -> str:
    """Return the options that resume a run."""
    return shlex.join(["--resume", run_id, *_stated_options()])


def _stated_options() -> list[str]:
    """Return the options with the given prices and connections, which are not stored."""
    given = click.get_current_context().params
    stated = [f"--price={spec}={price}" for spec, price in given.get("prices", {}).items()]
    return stated + [f"--connection={name}={url}" for name, url in given.get("connections", {}).items()]


ENGINES = get_args(EngineName)
SEED = click.IntRange(-(2**53), 2**53)
"""Range of seeds that every server reads exactly; many read JSON numbers as 64-bit floats."""


@click.command(
    "annotate",
    epilog=console.help_examples(
        "moot annotate reviews.csv --text text --codebook aspects.yaml",
        "moot annotate reviews.csv --text text --codebook aspects.yaml --model openai/gpt-4.1-mini --budget 2",
        "moot annotate reviews.csv --text text --codebook aspects.yaml --gold-same-names --role judge=ollama/llama3.2",
    ),
)
@click.argument("inputs", metavar="INPUT...", nargs=-1, required=True, type=console.PROJECT_PATH)
@click.option("--text", required=True, metavar="COL", help="Column with the text.")
@click.option(
    "--codebook", "codebook_file", required=True, type=console.PROJECT_PATH, help="Codebook file (YAML or .qdc)."
)
@console.reading_options
@click.option("--id", metavar="COL", help="Column with document ids. Default: row numbers.")
@click.option("--context", multiple=True, metavar="COL", help="Column with additional text. Repeatable.")
@click.option("--gold", multiple=True, metavar="LABEL=COL[@RATER]", help="Column with gold for one label. Repeatable.")
@click.option(
    "--gold-value",
    "gold_values",
    multiple=True,
    metavar="TEXT=VALUE",
    help="Meaning of a gold cell, e.g. x=present, or =absent for empty cells. Repeatable.",
)
@click.option(
    "--rater", metavar="COL", help="Column that names the rater of each row, for files with a row for each rater."
)
@click.option("--group", metavar="COL", help="Column that groups rows.")
@click.option("--order", metavar="COL", help="Column of numbers or ISO dates that orders the rows of a group.")
@click.option(
    "--neighbours",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="N",
    help="Show N rows before and after in the same group as context.",
)
@click.option("--gold-same-names", is_flag=True, help="Read gold from columns that have the labels' names.")
@click.option(
    "--protocol",
    default="ecj",
    help=f"{', '.join(name for name in PROTOCOLS if name != custom.NAME)}, or a protocol file (YAML).",
)
@click.option("--model", default="builtin/lexical", metavar="SPEC", help="Default model as connection/model.")
@console.pairs_option("--role", "roles", "ROLE=SPEC", "Model for one role.")
@console.connection_option
@console.pairs_option("--param", "params", "KEY=VALUE", "Parameter, e.g. max_tokens=512.")
@console.pairs_option("--prompt", "prompts", "ROLE=FILE", "Prompt template for a role.")
@console.price_option
@click.option(
    "--iterations", type=click.IntRange(1, 1000), default=1, help="Number of repeated runs. --budget applies to each."
)
@click.option("--concurrency", type=click.IntRange(1, 4096), default=8, help="Maximum number of calls in flight.")
@click.option("--limit", type=click.IntRange(min=1), help="Annotate only the first N documents.")
@console.budget_option
@click.option(
    "--seed",
    type=SEED,
    help="Random seed. Default: 0, which is not sent; a given seed is sent to servers that accept one.",
)
@click.option("--engine", type=click.Choice(ENGINES), default="live", help="Engine that runs the debates.")
@console.project_option(required=False, help="Project file. Default: the name of INPUT, ending in .duckdb.")
@click.option("--resume", metavar="RUN", help="Resume this run of the project.")
@click.option(
    "--retry",
    "retries",
    multiple=True,
    type=click.Choice(["failed", "unresolved"]),
    help="With --resume: documents to retry. Repeatable. Default: failed.",
)
@click.option("--extend", is_flag=True, help="With --resume: add new documents of INPUT to the run.")
@console.json_option
def annotate_command(as_json: bool, project: Path | None, resume: str | None, **options: Any) -> None:
    """Annotate the documents of INPUT and store the results.

    INPUT is csv, tsv, txt, Excel, ods, jsonl, json, xml or parquet.

    Rows of several files are combined; a column called file contains the name of each row's file.
    """
    with console.open_workspace(options["connections"], options["prices"]) as workspace:
        path = project or options["inputs"][0].with_suffix(".duckdb")
        if project is None:
            console.print_message(f"the project is {path}")
        mapped = ("text", "context", "id", "rater", "group", "order", "neighbours")
        columns = ColumnMapping(**{name: options[name] for name in mapped})
        gold = {name: options[name] for name in ("gold", "gold_same_names", "gold_values")}
        reading = ReadOptions(**{name: options[name] for name in ("header", "encoding", "delimiter", "sheet")})
        source = ImportOptions(options["inputs"], columns, reading=reading, limit=options["limit"], **gold)
        if resume is not None:
            session = workspace.open(path, create=False)
            extension = None
            if options["extend"]:
                extension = preview_file(source, console.known_run(session, resume).settings.codebook, session)
                _print_reading(extension.built, " (stored in the project)")
            retries = options["retries"] or ("failed",)
            outcome = resume_run(session, resume, retries, options["budget"], extension, options["limit"])
        elif options["retries"] or options["extend"]:
            raise UsageError("--retry and --extend need an existing run.", "Name it with --resume.")
        else:
            codebook = read_codebook(options["codebook_file"])
            outcome = annotate_file(workspace, source, codebook, plan_of(options), path)
        if sys.stdout.isatty() and not as_json:
            for row in outcome.rows:
                console.print_line(f"\n{row.title}: {format_count(row.verdicts, 'verdict')}")
                console.print_table(*report.label_table(outcome.session, row))
    if as_json:
        console.print_json(outcome.result)
    raise SystemExit(outcome.exit_code)


@click.command(
    "rerun",
    epilog=console.help_examples("moot rerun r0001 --project reviews.duckdb --role judge=openai/gpt-4.1 --budget 2"),
)
@click.argument("run")
@console.project_option(required=True)
@console.pairs_option("--role", "roles", "ROLE=SPEC", "New model for a role.")
@console.pairs_option("--prompt", "prompts", "ROLE=FILE", "New prompt template for a role.")
@console.connection_option
@console.pairs_option(
    "--param",
    "params",
    "KEY=VALUE",
    "Sampling parameter of the roles given by --role, e.g. temperature=0, or parameter of the engine, e.g. batch_dir.",
)
@console.price_option
@click.option("--concurrency", type=click.IntRange(1, 4096), help="Maximum number of calls in flight.")
@click.option("--limit", type=click.IntRange(min=1), help="Rerun only the first N documents.")
@console.budget_option
@click.option("--engine", type=click.Choice(ENGINES), help="Engine that runs the debates. Default: that of RUN.")
@console.json_option
def rerun_command(run: str, project: Path, as_json: bool, **options: Any) -> None:
    """Rerun RUN with some settings changed, as a new run.

    Replies to unchanged requests are reused without cost. With another judge, for example, only the judge is paid. The
    JSON is that of annotate; cached_calls counts the reused replies.
    """
    with console.open_workspace(options["connections"], options["prices"]) as workspace:
        outcome = rerun_run(workspace.open(project, create=False), run, options)
    if as_json:
        console.print_json(outcome.result)
    else:
        result = outcome.result
        calls = format_count(result["calls"], "paid call")
        console.print_message(
            f"{result['run_id']}: {calls}, {format_count(result['cached_calls'], 'reply', 'replies')} reused"
        )
    raise SystemExit(outcome.exit_code)


@click.command(
    "keywords",
    epilog=console.help_examples(
        "moot keywords reviews.csv --text text --codebook aspects.yaml",
        "moot keywords reviews.csv --text text --codebook aspects.yaml --output aspects_with_keywords.yaml",
    ),
)
@click.argument("input", type=console.PROJECT_PATH)
@click.option("--text", required=True, metavar="COL", help="Column with the text.")
@click.option(
    "--codebook", "codebook_file", required=True, type=console.PROJECT_PATH, help="Codebook file (YAML or .qdc)."
)
@console.reading_options
@click.option("--label", "names", multiple=True, metavar="NAME", help="Only keywords of this label. Repeatable.")
@click.option(
    "--output", type=console.PROJECT_PATH, help="Write the codebook with the printed keywords added to this file."
)
@console.json_option
def keywords_command(
    input: Path,
    text: str,
    codebook_file: Path,
    names: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    **reading: Any,
) -> None:
    """Propose keywords for the built-in model from INPUT.

    The codebook file is not changed.
    """
    if output is not None and output.resolve() in (input.resolve(), codebook_file.resolve()):
        raise UsageError(f"{output} is an input of this command.", "Write to another file.")
    codebook = read_codebook(codebook_file)
    wanted = {codebook.require(name).id for name in names}
    source = ImportOptions((input,), ColumnMapping(text), reading=ReadOptions(**reading))
    built = preview_file(source, codebook, None).built
    _print_reading(built)
    documents = built.documents
    proposals = propose_keywords(codebook.closed, [document.text for document in documents])
    proposals = tuple(proposal for proposal in proposals if not wanted or proposal.label_id in wanted)
    without = labels_without_keywords(codebook.closed, proposals)
    if output is not None:
        write_yaml(with_keywords(codebook, proposals), output)
    keywords: list[dict[str, Any]] = [
        {
            "label": codebook.label(proposal.label_id).name,
            "keyword": proposal.word,
            "source": proposal.source,
            "documents": proposal.documents,
            "together": proposal.together,
            "example": proposal.example,
        }
        for proposal in proposals
    ]
    if as_json:
        console.print_json(
            {"documents": len(documents), "keywords": keywords, "labels_without_keywords": list(without)}
        )
        return
    if keywords:
        console.print_table(
            ("Label: keyword", "source", "documents", "with another word of the label"),
            [
                (f"{row['label']}: {row['keyword']}", row["source"], f"{row['documents']:,}", f"{row['together']:,}")
                for row in keywords
            ],
        )
    console.print_message(
        f"{format_count(len(proposals), 'keyword')} proposed from {format_count(len(documents), 'document')}"
    )
    if without:
        console.print_message(f"no keywords for {join_names(without)}: add words that only texts with this label use")
    if output is not None:
        console.print_message(f"wrote {output}")
