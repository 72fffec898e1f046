"""Command line: the studio's functions without a browser. Its contract is ``docs/reference``.

Here are the command group ``moot``, ``studio``, ``desktop-entry`` and ``demo``. The other commands are added from
their modules.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from core import __version__
from core.cli import console
from core.cli.studio import Shown, launch, write_desktop_entry
from core.errors import MootError, UsageError
from core.files import is_disk_full
from core.formatting import format_number

COMMANDS = {
    "annotate": "annotate", "rerun": "annotate", "evaluate": "evaluate", "compare": "evaluate", "regress": "evaluate",
    "runs": "project", "export": "project", "import": "project", "models": "project", "doctor": "project",
    "install-minilm": "project", "authors": "authors", "keywords": "annotate",
}  # fmt: skip
"""Module of ``core.cli`` by command."""

INTERRUPTED_QUERY = "Query interrupted"
"""Message of the RuntimeError that DuckDB raises in place of KeyboardInterrupt."""


class CommandGroup(click.Group):
    """Command group that imports the module of a command when it is called or listed, and reports errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted([*super().list_commands(ctx), *COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if it does not exist."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"core.cli.{COMMANDS[cmd_name]}")
        return cast(click.Command, getattr(module, f"{cmd_name.replace('-', '_')}_command"))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the given command. An error gives exit code 2, Ctrl-C outside of a run exit code 3.

        With ``--json``, an error with exit code 2 is also printed as an object.
        """
        console.open_standard_streams()
        sys.excepthook = console.print_traceback
        as_json = "--json" in ctx.args  # click takes them out
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError) as error:
            if isinstance(error, RuntimeError) and str(error) != INTERRUPTED_QUERY:
                raise
            console.print_message("interrupted")
            raise SystemExit(console.INCOMPLETE) from None
        except MootError as error:
            console.print_error(error)
            if as_json:
                console.print_json({"error": str(error)})
            raise SystemExit(console.BAD) from error
        except click.UsageError as error:
            if as_json:
                console.print_json({"error": error.format_message()})
            raise

    def main(self, *args: Any, **extra: Any) -> Any:
        """Parse the arguments and run the command. A full disk gives exit code 2, also while help is printed."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            if not is_disk_full(error):
                raise
            console.print_error(f"The disk is full: {error.filename or 'the output'} could not be written.")
            raise SystemExit(console.BAD) from error


def _studio_options(command: Any) -> Any:
    for option in (
        click.option(
            "--no-browser", "shown", flag_value="address", help="Print the address instead of opening a browser."
        ),
        click.option("--window", "shown", flag_value="window", help="Open a window (extra: window), not the browser."),
        click.option("--port", type=click.IntRange(1, 65535), help="Port. Default: the first free port from 8501."),
        console.project_option(required=False),
    ):
        command = option(command)
    return command


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=console.help_examples("moot", "moot demo", "moot annotate reviews.csv --text text --codebook aspects.yaml")
    + '\n\nCompletion in bash (or zsh, fish): eval "$(_MOOT_COMPLETE=bash_source moot)"',
)
@click.version_option(__version__, prog_name="moot")
@_studio_options
@click.pass_context
def main(context: click.Context, project: Path | None, port: int | None, shown: Shown | None) -> None:
    """Moot: watch language models debate how to label texts, and correct their labels.

    Without a command, open the studio.
    """
    os.umask(0o077)  # everything that Moot creates is for this user alone
    console.raise_file_limit()
    command = context.invoked_subcommand
    context.obj = {"project": project, "port": port, "shown": shown}
    if command is None:
        launch(project, port, shown or "browser")
    elif command != "studio" and any(context.obj.values()):
        raise UsageError(f"Options before {command} are for the studio.", "Leave them out, or write them after it.")


@main.command("studio", epilog=console.help_examples("moot studio --project reviews.duckdb", "moot studio --window"))
@_studio_options
@click.pass_obj
def studio(before: dict[str, Any], project: Path | None, port: int | None, shown: Shown | None) -> None:
    """Open the studio in the browser. Options may also stand before the command."""
    launch(project or before["project"], port or before["port"], shown or before["shown"] or "browser")


@main.command("desktop-entry")
def desktop_entry() -> None:
    """Add Moot to the application menu of a Linux desktop."""
    console.print_message(f"wrote {write_desktop_entry()}")


@main.command("demo")
@console.json_option
def demo(as_json: bool) -> None:
    """Annotate and evaluate the sample with the built-in model."""
    import tempfile
    from dataclasses import replace

    from core.cli.annotate import annotate_file
    from core.files import shipped_folder
    from core.services.codebooks.codebook import read_codebook
    from core.services.evaluation import evaluation
    from core.services.runs import planning
    from core.services.shipped_data import SAMPLES

    sample, folder = SAMPLES[0], shipped_folder("sample_data")
    with tempfile.TemporaryDirectory(prefix="moot-demo-") as scratch:
        source = replace(sample.options, paths=(folder / sample.data,))
        codebook = read_codebook(folder / sample.codebook)
        with console.open_workspace(remember=False) as workspace:
            outcome = annotate_file(workspace, source, codebook, planning.Plan(), Path(scratch) / "demo.duckdb")
            report = evaluation.to_json(evaluation.evaluate(outcome.session, outcome.rows[0]))
    result = outcome.result | {"evaluation": report}
    if as_json:
        console.print_json(result)
    else:
        macro, spans = report["macro"], report["intervals"]["macro"]
        formatted = [f"{key} {console.format_with_interval(format_number, macro[key], spans[key])}" for key in macro]
        console.print_line(f"{result['verdicts']} of {result['documents']} sample reviews have a verdict.")
        console.print_line(f"Macro {', '.join(formatted)}, with 95% intervals".replace("f1", "F1"))
        console.print_line(
            "The labels come from the built-in word-list baseline, not a language model. To see the debates: moot"
        )
    raise SystemExit(outcome.exit_code)
