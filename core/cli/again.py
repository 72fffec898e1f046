"""``moot rerun``: a run once more with another seat or prompt, paying only for what follows from the change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from core.cli.console import DOLLARS, print_json, say
from core.cli.opening import open_workspace


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
def rerun(run: str, project: Path, as_json: bool, **options: Any) -> None:
    """Do RUN once more, on its documents, with something changed: a run of its own beside it.

    With another judge, or another prompt for the judge, extractor and critic are heard from the store; with another
    critic, the extractor is. --json reports like annotate: cached_calls are the replies that cost nothing.
    """
    from core.cli.annotating import rerun_run

    with open_workspace(options["connections"]) as workspace:
        outcome = rerun_run(workspace, project, run, options)
    if as_json:
        print_json(outcome.result)
    else:
        told = outcome.result
        say(f"moot: {told['run_id']}: {told['calls']} calls paid, {told['cached_calls']} heard from the store")
    raise SystemExit(outcome.exit_code)
