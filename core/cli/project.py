"""The commands ``runs``, ``export``, ``import``, ``models``, ``install-minilm`` and ``doctor``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core.cli import console
from core.debate import protocols
from core.formatting import format_count


@click.command("runs", epilog=console.help_examples("moot runs --project reviews.duckdb"))
@console.project_option(required=True)
@console.json_option
def runs_command(project: Path, as_json: bool) -> None:
    """List the runs of a project, oldest first."""
    with console.open_session(project) as session:
        rows = session.all_runs()
    if as_json:
        counts = {"documents", "verdicts", "unresolved", "failed", "turns"}
        runs = [
            {
                "run_id": row.run_id,
                "status": row.state,
                "protocol": row.settings.protocol,
                **row.model_dump(include=counts),
            }
            for row in rows
        ]
        console.print_json({"runs": runs})
        return
    for row in rows:
        console.print_line(
            f"{row.run_id}  {row.state:<8} {protocols.short_title(row.settings):<10} {row.verdicts} of {row.documents} "
            f"verdicts, {row.unresolved} unresolved, {row.failed} failed, {format_count(row.turns, 'turn')}"
        )
    if not rows:
        console.print_line("No runs yet.")


@click.command(
    "export",
    epilog=console.help_examples(
        "moot export --project reviews.duckdb --format csv --output labels.csv",
        "moot export --project reviews.duckdb --format bundle --output reviews.zip",
    ),
)
@console.project_option(required=True)
@click.option(
    "--run", "runs", metavar="RUN", multiple=True, help="Run to export, repeatable for one table. Default: the latest."
)
@click.option(
    "--format",
    "form",
    required=True,
    metavar="NAME",
    help="csv, parquet, jsonl, transcript, label-studio, argilla, prodigy, huggingface, bundle (the whole project), "
    "codebook (.yaml, or .qdc for REFI-QDA) or classifier.",
)
@click.option(
    "--output",
    required=True,
    type=console.NonEmptyPath(path_type=Path),
    metavar="FILE",
    help="Output file; a folder for the format huggingface.",
)
def export_command(project: Path, runs: tuple[str, ...], form: str, output: Path) -> None:
    """Export runs, a project, a codebook or a classifier.

    The formats bundle, codebook and classifier are of the whole project, so --run does not limit them.
    """
    from core.services import bundle, classifier, export
    from core.services.codebooks import codebook

    with console.open_session(project) as session:
        run_ids = [console.known_run(session, run).run_id for run in runs]
        whole_project = {
            bundle.NAME: bundle.write_bundle,
            codebook.EXPORT_FORMAT: codebook.export_file,
            classifier.EXPORT_FORMAT: classifier.save,
        }
        name = form.strip().lower()
        if name in whole_project:
            if runs:
                console.print_message(f"--run is ignored: the format {name} is of the whole project.")
            whole_project[name](session, output)
        else:
            first, *others = run_ids or [console.known_run(session, None).run_id]
            export.export(session, first, form, output, other_runs=others)
    console.print_message(f"exported to {output}")


@click.command("import", epilog=console.help_examples("moot import reviews.zip --project copy.duckdb"))
@click.argument("file", metavar="BUNDLE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@console.project_option(required=True)
def import_command(file: Path, project: Path) -> None:
    """Create a project from a bundle."""
    from core.services import bundle

    with file.open("rb") as packed:
        bundle.open_bundle(packed, project)
    console.print_message(f"created {project}")


@click.command(
    "models",
    epilog=console.help_examples("moot models", "moot models --connection local=http://127.0.0.1:8081/v1 --probe"),
)
@console.connection_option
@click.option("--probe", is_flag=True, help="Test the first model of each connection.")
@console.json_option
def models_command(connections: dict[str, str], probe: bool, as_json: bool) -> None:
    """List the models of each connection, or why there are none."""
    from core.services import models

    with console.open_workspace(connections) as workspace:
        reports = [
            models.connection_report(workspace, name, probe=probe)
            for name in list(connections) or models.likely_connections(workspace)
        ]
    if as_json:
        console.print_json({"connections": reports})
        return
    for report in reports:
        console.print_line(
            f"{report['connection']}  {report['base_url'] or 'built in'}  {report['error'] or 'reachable'}"
        )
        for model in report["models"]:
            console.print_line(f"  {report['connection']}/{model['name']}{models.describe_model(model)}")
        if "probe" in report:
            console.print_line(f"  tested {report['connection']}/{models.describe_probe(report['probe'])}")


@click.command("install-minilm")
def install_minilm_command() -> None:
    """Install MiniLM (90 MB), to compare texts by vectors.

    MiniLM works offline and without PyTorch.
    """
    from core.services import models

    width = models.install_minilm()
    console.print_message(f"MiniLM is installed and works ({width} numbers a text). New projects and runs use it.")


@click.command("doctor", epilog=console.help_examples("moot doctor", "moot doctor --project reviews.duckdb"))
@console.project_option(required=False)
@console.json_option
def doctor_command(project: Path | None, as_json: bool) -> None:
    """Check the installation, the connections and a project.

    Print versions, permissions, disk space, connections and, with --project, the integrity of the project. The exit
    code is 1 if something needs to be done.
    """
    from core.services.doctor import diagnose

    with console.open_workspace() as workspace:
        checks = list(diagnose(workspace, project))
    if as_json:
        console.print_json({"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            console.print_line(f"{'!' if check.remedy else ' '} {check.name}: {check.result}. {check.remedy}".rstrip())
    raise SystemExit(1 if any(check.remedy for check in checks) else 0)
