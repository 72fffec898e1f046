"""The commands and their options, as the contract lists them. Each reads its options, calls a use-case, reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from core import __version__
from core.cli.annotate import rerun_command
from core.cli.console import DOLLARS, Explaining, open_session, open_workspace, print_json, say
from core.errors import UsageError

PROJECT = click.Path(dir_okay=False, path_type=Path)
SEED = click.IntRange(-(2**53), 2**53)
"""What every server reads as the number that it is: many read JSON's numbers as floats of 64 bits."""
COUNTS = ("n", "tp", "fp", "fn", "tn")
SHOWN_CUES = 5
"""Words that tell a label's errors from its hits, as far as a line shows them."""


def _project_option(required: bool) -> Callable[[Any], Any]:
    return click.option("--project", type=PROJECT, required=required, help="The project file (.duckdb).")


def _json_option(command: Any) -> Any:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object as the last line of stdout.")(command)


def _studio_options(command: Any) -> Any:
    for option in (
        click.option("--no-browser", is_flag=True, help="Serve only; open the printed address yourself."),
        click.option("--port", type=click.IntRange(1, 65535), help="The port; without it the next free one from 8501."),
        _project_option(required=False),
    ):
        command = option(command)
    return command


@click.group(cls=Explaining, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="moot")
@_studio_options
@click.pass_context
def main(context: click.Context, project: Path | None, port: int | None, no_browser: bool) -> None:
    """Moot: language models debate how to label a text, in front of the person who has to trust the labels.

    Without a command, opens the studio.
    """
    if context.invoked_subcommand is None:
        _studio(project, port, no_browser)


@main.command("studio")
@_studio_options
def studio(project: Path | None, port: int | None, no_browser: bool) -> None:
    """Open the studio in the browser."""
    _studio(project, port, no_browser)


def _studio(project: Path | None, port: int | None, no_browser: bool) -> None:
    from core.cli.studio import launch

    launch(project, port, browser=not no_browser)


@main.command("demo")
@_json_option
def demo(as_json: bool) -> None:
    """Do the main job on the sample data with the built-in model, and evaluate it."""
    import tempfile

    from core import resources
    from core.cli.annotate import annotate_file
    from core.services.codebooks.codebook import read_codebook
    from core.services.data.importing import ImportOptions
    from core.services.evaluation import evaluate
    from core.services.runs import planning

    samples = resources.folder("sample_data")
    with tempfile.TemporaryDirectory(prefix="moot-demo-") as folder:
        source = ImportOptions(samples / "hotel_reviews.csv", text="text", id_column="id", gold_same_names=True)
        codebook = read_codebook(samples / "hotel_aspects.yaml")
        with open_workspace() as workspace:
            outcome = annotate_file(workspace, source, codebook, planning.Plan(), Path(folder) / "demo.duckdb")
            report = evaluate.report(outcome.session, outcome.rows[0].run_id)
    result = outcome.result | {"evaluation": report}
    if as_json:
        print_json(result)
    else:
        macro = report["macro"]
        click.echo(f"{result['verdicts']} of {result['documents']} sample reviews have a verdict.")
        click.echo(f"Macro precision {macro['precision']:.3f}, recall {macro['recall']:.3f}, F1 {macro['f1']:.3f}")
        click.echo("by the built-in word-list baseline, which is no language model. To see the debates: moot")
    raise SystemExit(outcome.exit_code)


@main.command("annotate")
@click.argument("input", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--text", required=True, metavar="COL", help="The column that holds the text.")
@click.option("--codebook", "codebook_file", required=True, type=PROJECT, help="The codebook (YAML).")
@click.option("--id", "id_column", metavar="COL", help="The column of ids; without it, row numbers.")
@click.option("--context", "contexts", multiple=True, metavar="COL", help="A further text field. Repeatable.")
@click.option("--gold", multiple=True, metavar="LABEL=COL[@RATER]", help="Gold for one label. Repeatable.")
@click.option("--gold-value", "gold_values", multiple=True, metavar="TEXT=VALUE", help="What a gold cell means.")
@click.option("--group", metavar="COL", help="The column that says which rows belong together.")
@click.option("--order", metavar="COL", help="The column of numbers that orders the rows of a group.")
@click.option("--gold-same-names", is_flag=True, help="Gold from the columns that are named like the labels.")
@click.option("--protocol", default="ecj", show_default=True, help="How the agents talk, or a protocol file (YAML).")
@click.option(
    "--model", "model", default="builtin/lexical", show_default=True, metavar="SPEC", help="connection/model."
)
@click.option("--role", "roles", multiple=True, metavar="ROLE=SPEC", help="Who sits on one role. Repeatable.")
@click.option("--connection", "connections", multiple=True, metavar="NAME=URL", help="A server by name. Repeatable.")
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="A parameter, e.g. max_tokens=512.")
@click.option("--price", "prices", multiple=True, metavar="SPEC=IN/OUT", help="Dollars a million tokens. Repeatable.")
@click.option("--iterations", type=click.IntRange(1, 1000), default=1, help="Repeat as sibling runs.")
@click.option("--concurrency", type=click.IntRange(1, 4096), default=8, show_default=True, help="Calls in flight.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N documents.")
@click.option("--budget", type=DOLLARS, metavar="USD", help="Pause when it is spent.")
@click.option("--seed", type=SEED, help="Seed of the run and of servers that take one.")
@click.option(
    "--engine", type=click.Choice(["live", "batch", "ray"]), default="live", show_default=True, help="The driver."
)
@_project_option(required=False)
@click.option("--resume", metavar="RUN", help="Go on with this run of the project.")
@click.option(
    "--retry", "retries", multiple=True, type=click.Choice(["failed", "unresolved"]),
    help="With --resume: which documents to try again; without it the failed. Repeatable.",
)  # fmt: skip
@click.option("--extend", is_flag=True, help="With --resume: give the run the documents of INPUT that it lacks.")
@_json_option
def annotate(as_json: bool, project: Path | None, resume: str | None, **options: Any) -> None:
    """Debate every document of INPUT (csv, tsv, xlsx, jsonl, json, parquet) and keep the verdicts in a project."""
    from core.cli.annotate import annotate_file, extend_run, plan_of, resume_run, told_what_stays
    from core.services.codebooks.codebook import read_codebook
    from core.services.data.importing import ImportOptions
    from core.services.pipeline import default_project, parse_pairs
    from core.services.runs.prices import Price

    with open_workspace(options["connections"]) as workspace:
        path = project or default_project(options["input"])
        if project is None:
            say(f"moot: the project is {path}")
        for spec, price in parse_pairs(options["prices"], "--price").items():
            workspace.models.prices.own[spec] = Price.parse(price)
        source = ImportOptions(
            path=options["input"],
            text=options["text"],
            id_column=options["id_column"],
            contexts=options["contexts"],
            gold=options["gold"],
            gold_same_names=options["gold_same_names"],
            gold_values=options["gold_values"],
            group=options["group"],
            order=options["order"],
        )
        if resume and options["extend"]:
            extend_run(workspace, path, resume, source, options["limit"])
        if resume:
            told_what_stays(workspace, path, resume, options, _given())
            outcome = resume_run(workspace, path, resume, options["retries"] or ("failed",), options["budget"])
        elif options["retries"] or options["extend"]:
            raise UsageError("--retry and --extend are about a run that is there.", "Name it with --resume.")
        else:
            codebook = read_codebook(options["codebook_file"])
            outcome = annotate_file(workspace, source, codebook, plan_of(options), path)
    if as_json:
        print_json(outcome.result)
    raise SystemExit(outcome.exit_code)


main.add_command(rerun_command)


@main.command("evaluate")
@_project_option(required=True)
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Only this run. Repeatable.")
@click.option(
    "--reference", default="gold", show_default=True, help="gold[@RATER], author, reviewed[@PERSON], run:ID[/ROLE]."
)
@click.option("--annotator", default="verdict", show_default=True, help="A role, the verdict, or like --reference.")
@click.option("--errors", is_flag=True, help="Analyse the errors of each label too, with cue words.")
@click.option("--html", "page", type=PROJECT, help="Write a page to print of the (last) run.")
@click.option("--ambiguity", "prepass", metavar="RUN", help="Tell ambiguous and normal documents apart by this run.")
@click.option("--theta", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="At most this is ambiguous.")
@_json_option
def evaluate_command(
    project: Path,
    runs: tuple[str, ...],
    reference: str,
    annotator: str,
    errors: bool,
    page: Path | None,
    prepass: str | None,
    theta: float,
    as_json: bool,
) -> None:
    """Compare verdicts with the truth: scores per label, what the debate changed, how stable it is."""
    from core.services.evaluation import ambiguity, evaluate, html_report, reports
    from core.services.pipeline import known_run

    with open_session(project) as session:
        chosen = [known_run(session, run) for run in runs] if runs else session.store.runs.all()
        evaluate.require_annotator(session, chosen, annotator)
        told = [reports.full(session, row.run_id, reference, annotator, errors=errors) for row in chosen]
        for report in told if prepass is not None else ():
            report["ambiguity"] = ambiguity.apart(session, report["run_id"], str(prepass), theta, annotator, reference)
        role_models = reports.role_models(session, chosen, reference)
        if page is not None and chosen:
            html_report.save(session, chosen[-1].run_id, page, reference)
            say(f"moot: wrote {page}")
    if as_json:
        print_json({"runs": told, "role_models": role_models})
        return
    for report in told:
        click.echo(f"{report['run_id']} {report['protocol']}: n {report['n']}, left out {report['excluded']}")
        means = {name: report[name] for name in ("macro", "micro") if name in report}
        for name, scores in (means | report["labels"]).items():
            shown = "  ".join(f"{key} {_figure(value)}" for key, value in scores.items() if key not in COUNTS)
            click.echo(f"  {name:<20} {shown}")
        if report["debate"]["ledger"]:
            click.echo(f"  {report['debate']['ledger']['sentence']}")
        for name, label in report.get("errors", {}).items():
            click.echo(f"  {name:<20} {label['wrong']} of {label['judged']} wrong: {_mistakes(label)}")
        for name in ("ambiguous", "normal") if prepass else ():
            click.echo(f"  {name:<20} {_part(report['ambiguity'][name])}")


def _mistakes(label: Mapping[str, Any]) -> str:
    sides = []
    for side in ("missed", "invented"):
        words = ", ".join(cue["word"] for cue in label[side]["cues"][:SHOWN_CUES])
        sides.append(f"{label[side]['wrong']} {side}" + (f" (words: {words})" if words else ""))
    return ", ".join(sides)


@main.command("compare")
@_project_option(required=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option(
    "--reference", default="gold", show_default=True, help="gold[@RATER], author, reviewed[@PERSON], run:ID[/ROLE]."
)
@_json_option
def compare_command(project: Path, runs: tuple[str, ...], reference: str, as_json: bool) -> None:
    """Compare runs with the first on the documents that they share: differences, tests, fixed and broken, cost."""
    from core.services.evaluation.run_diff import told

    with open_session(project) as session:
        result = told(session, runs, reference)
    if as_json:
        print_json(result)
        return
    click.echo(result["sentence"])
    for label in result.get("labels", {}).values():
        click.echo(f"  {label['sentence']}")


@main.command("runs")
@_project_option(required=True)
@_json_option
def runs_command(project: Path, as_json: bool) -> None:
    """List the runs of a project, oldest first."""
    from core.services.pipeline import listing

    with open_session(project) as session:
        rows = [listing(row) for row in session.store.runs.all()]
    if as_json:
        print_json({"runs": rows})
        return
    for row in rows:
        click.echo(
            f"{row['run_id']}  {row['status']:<8} {row['protocol']:<10} {row['verdicts']} of {row['documents']} "
            f"verdicts, {row['unresolved']} unresolved, {row['failed']} failed, {row['turns']} turns"
        )
    if not rows:
        click.echo("No runs yet.")


@main.command("export")
@_project_option(required=True)
@click.option("--run", metavar="RUN", help="The run; without it the latest.")
@click.option(
    "--format", "form", required=True, metavar="NAME",
    help="csv, parquet, jsonl, transcript, label-studio, argilla, prodigy, huggingface, bundle (the whole project) or "
    "classifier.",
)  # fmt: skip
@click.option("--output", required=True, type=PROJECT, help="The file to write.")
def export_command(project: Path, run: str | None, form: str, output: Path) -> None:
    """Write a run's labels, evidence and source columns to a file, the project to a bundle, or the classifier."""
    from core.services import bundle, classifier, export
    from core.services.pipeline import known_run

    with open_session(project) as session:
        if form.strip().lower() == bundle.NAME:
            bundle.write_bundle(session, output)
        elif form.strip().lower() == classifier.EXPORT_FORMAT:
            classifier.save(session, output)
        else:
            export.export(session, known_run(session, run).run_id, form, output)
    say(f"moot: wrote {output}")


@main.command("import")
@click.argument("file", metavar="BUNDLE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_project_option(required=True)
def import_command(file: Path, project: Path) -> None:
    """Make a project of a bundle that export wrote."""
    from core.services import bundle

    with file.open("rb") as packed:
        bundle.open_bundle(packed, project)
    say(f"moot: made {project}")


@main.command("models")
@click.option("--connection", "connections", multiple=True, metavar="NAME=URL", help="A server by name. Repeatable.")
@click.option("--probe", is_flag=True, help="Find out what the first model of each can do.")
@_json_option
def models_command(connections: tuple[str, ...], probe: bool, as_json: bool) -> None:
    """List what each connection offers, and say what is wrong where one does not answer."""
    from core.services import models

    with open_workspace(connections) as workspace:
        named = [pair.partition("=")[0].strip() for pair in connections]
        listed = [models.look(workspace, name, probe=probe) for name in named or models.worth_a_look(workspace)]
    if as_json:
        print_json({"connections": listed})
        return
    for one in listed:
        click.echo(f"{one['connection']}  {one['base_url'] or 'built in'}  {one['error'] or 'reachable'}")
        for model in one["models"]:
            click.echo(f"  {one['connection']}/{model['name']}{models.told_of(model)}")
        if "probe" in one:
            click.echo(f"  asked {one['connection']}/{models.probe_words(one['probe'])}")


def _given() -> set[str]:
    """The options that stand on the command line; ``--role`` counts as ``--model``."""
    context = click.get_current_context()
    given = {
        option.opts[0]
        for option in context.command.params
        if context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
    }
    return given | ({"--model"} if "--role" in given else set())


def _part(part: dict[str, Any]) -> str:
    scores = part["scores"] or {}
    figures = {"accuracy": scores.get("accuracy"), "F1": scores.get("macro", {}).get("f1")}
    shown = "  ".join(f"{name} {_figure(value)}" for name, value in figures.items() if value is not None)
    return f"{part['documents']} documents  {shown}"


def _figure(value: float | None) -> str:
    return "  -  " if value is None else f"{value:.3f}"
