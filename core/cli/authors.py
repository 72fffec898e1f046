"""The command ``authors``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from core.cli import console
from core.formatting import format_count, format_money, format_number, format_percent

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    "authors",
    epilog=console.help_examples(
        "moot authors --project chats.duckdb --sample",
        "moot authors --project chats.duckdb --annotate builtin/lexical --predictivity builtin/lexical --json",
        "moot authors --project chats.duckdb --export labels.csv",
    ),
)
@console.project_option(required=True)
@click.option("--sample", is_flag=True, help="First add the sample chats, in a new project with their codebook.")
@click.option("--import", "chats", type=FILE, help="First import chats with authors' answers (JSON Lines).")
@click.option("--annotate", "models", multiple=True, metavar="SPEC", help="Let a model answer all questions.")
@click.option("--copies", type=click.IntRange(1, 20), default=3, help="Annotations per question.")
@click.option("--predictivity", "predictor", metavar="SPEC", help="Test with a model which labels predict best.")
@click.option(
    "--export", "output", type=console.PROJECT_PATH, help="Write all answers with their provenance (.csv, .jsonl)."
)
@console.connection_option
@console.json_option
def authors_command(
    project: Path,
    sample: bool,
    chats: Path | None,
    models: tuple[str, ...],
    copies: int,
    predictor: str | None,
    output: Path | None,
    connections: dict[str, str],
    as_json: bool,
) -> None:
    """Compare annotators with authors who labelled their texts."""
    from core.services.authors import files
    from core.services.authors.report import annotate, author_report, run_predictivity, to_json

    with console.open_workspace(connections) as workspace:
        session = workspace.open(project, create=sample)
        if sample:
            console.print_message(f"{format_count(files.load_sample(session), 'sample text')} added")
        if chats is not None:
            console.print_message(f"{format_count(files.import_chats(session, chats), 'text')} imported")
        for spec in models:
            console.print_message(f"{spec} gave {format_count(annotate(session, spec, copies=copies), 'new answer')}")
        if predictor is not None:
            console.print_message(
                f"{predictor} predicted {format_count(run_predictivity(session, predictor), 'answer')}"
            )
        if output is not None:
            console.print_message(f"answers written to {files.save_labels(session, output)}")
        report = to_json(author_report(session))
    if as_json:
        console.print_json(report)
    else:
        _print_report(report)


def _print_report(report: dict[str, Any]) -> None:
    made = report["collection"]
    console.print_line(
        f"{format_count(made['texts'], 'text')} by {format_count(made['authors'], 'author')}, "
        f"{sum(made['excluded'].values())} excluded; {made['asked']} questions: {made['answered']} answered, "
        f"{made['abstained']} abstentions, {made['declined']} put off "
        f"(completion {_share(made['completion']['value'], made['completion']['interval'])}; 95% intervals in brackets)"
    )
    console.print_table(
        ("label", "asked", "answered", "abstained", "predicted right", "uncertainty"),
        [
            (
                name, str(one["asked"]), str(one["answered"]), str(one["abstained"]),
                _share(one["accuracy"], one["accuracy_interval"]), format_number(one["uncertainty"], 2),
            )
            for name, one in report["labels"].items()
        ],
    )  # fmt: skip
    if report["annotators"]:
        console.print_line()
        console.print_table(
            ("annotators", "labels", "accuracy", "kappa", "KL meaning", "KL position", "s per label", "cost per label"),
            [
                (
                    name, str(one["labels"]), _share(one["accuracy"]["value"], one["accuracy"]["interval"]),
                    console.format_with_interval(partial(format_number, digits=2), one["kappa"], one["kappa_interval"]),
                    format_number(one["kl_meaning"], 2),
                    format_number(one["kl_position"], 2), format_number(one["seconds"], 1),
                    format_money(one["cost_usd"]),
                )
                for name, one in report["annotators"].items()
            ],
        )  # fmt: skip
    if report["predictivity"]["sources"]:
        console.print_line(f"\nPredictivity, by {report['predictivity']['model']}:")
        console.print_table(
            ("earlier labels by", "predictions", "accuracy", "std"),
            [
                (
                    name, str(one["predictions"]), _share(one["accuracy"], one["interval"]),
                    format_percent(one["deviation"], 1),
                )
                for name, one in report["predictivity"]["sources"].items()
            ],
        )  # fmt: skip
    totals = [one for one in report["clicks"] if not one["day"]]
    if any(one["impressions"] for one in totals):
        console.print_line()
        for one in totals:
            console.print_line(
                f"{one['arm']}: {format_count(one['clicks'], 'click')} on "
                f"{format_count(one['impressions'], 'impression')} ({_share(one['rate'], one['interval'])})"
            )


def _share(value: float | None, interval: Sequence[float] | None) -> str:
    return console.format_with_interval(partial(format_percent, digits=1), value, interval)
