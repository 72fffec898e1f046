"""The command ``authors``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from core.cli import console
from core.formatting import format_count, format_number, format_percent, plural

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
@click.option("--annotate", "models", multiple=True, metavar="SPEC", help="Let a model answer the authors' questions.")
@click.option("--copies", type=click.IntRange(1, 20), default=3, help="Annotations per question by each model.")
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
    from core.services.author_labelling import files
    from core.services.author_labelling.report import annotate, author_report, run_predictivity, to_json

    if output is not None:
        files.check_output(project.expanduser().resolve(), output)  # before models are paid
    with console.open_workspace(connections) as workspace:
        session = workspace.open(project, create=sample)
        if sample:
            console.print_message(f"{format_count(files.load_sample(session), 'sample text')} added")
        if chats is not None:
            texts, answers = files.import_chats(session, chats)
            console.print_message(f"{format_count(texts, 'text')} and {format_count(answers, 'answer')} imported")
        for spec in models:
            count = workspace.engine.submit(annotate(session, spec, copies=copies)).result()
            console.print_message(f"{spec} gave {format_count(count, 'new answer')}")
        if predictor is not None:
            count = workspace.engine.submit(run_predictivity(session, predictor)).result()
            console.print_message(f"{predictor} predicted {format_count(count, 'answer')}")
        if output is not None:
            console.print_message(f"answers written to {files.save_labels(session, output)}")
        results = author_report(session)
    report = to_json(results)
    if as_json:
        console.print_json(report)
    else:
        _print_report(report, results.unit)


def _print_report(report: dict[str, Any], unit: str) -> None:
    from core.services.author_labelling.report import format_basis

    _print_collection(report["collection"], unit)
    console.print_table(
        ("label", "asked", "answered", "abstained", "predicted right", "uncertainty"),
        [
            (
                name,
                *(row[count] for count in ("asked", "answered", "abstained")),
                _format_share(row["accuracy"], row["accuracy_interval"]),
                format_number(row["uncertainty"], 2),
            )
            for name, row in report["labels"].items()
        ],
    )
    if report["annotators"]:
        console.print_line()
        _print_annotators(report["annotators"])
    for test in report["predictivity"]["by_model"].values():
        basis = format_basis(test["answers"], report["predictivity"]["answers_now"])
        console.print_line(f"\nPredictivity, by {test['model']} {basis}:")
        console.print_table(
            ("earlier labels by", "predictions", "accuracy", "std"),
            [
                (
                    name,
                    row["predictions"],
                    _format_share(row["accuracy"], row["interval"]),
                    format_percent(row["deviation"], 1),
                )
                for name, row in test["sources"].items()
            ],
        )
    arms = [row for row in report["clicks"] if not row["day"]]
    if any(row["impressions"] for row in arms):
        console.print_line()
        for row in arms:
            console.print_line(
                f"{row['arm']}: {format_count(row['clicks'], 'click')} on "
                f"{format_count(row['impressions'], 'impression')} ({_format_share(row['rate'], row['interval'])})"
            )


def _print_collection(collection: dict[str, Any], unit: str) -> None:
    completion, spammers, spam = collection["completion"], collection["spam_authors"], ""
    if spammers:
        spam = f" ({format_count(spammers, 'spam author')} {plural(spammers, 'is', 'are')} left out)"
    console.print_line(
        f"{format_count(collection['texts'], 'text')} by {format_count(collection['authors'], 'author')}{spam}, "
        f"{sum(collection['excluded'].values())} excluded; {format_count(collection['asked'], 'question')}: "
        f"{collection['answered']} answered, {format_count(collection['abstained'], 'abstention')}, "
        f"{collection['declined']} skipped "
        f"(completion {_format_share(completion['value'], completion['interval'])}; "
        f"95% intervals over {unit} in brackets)"
    )


def _print_annotators(annotators: dict[str, Any]) -> None:
    from core.services.author_labelling.report import format_answer_cost

    as_number = partial(format_number, digits=2)
    headings = (
        "annotators", "labels", "abstained", "unresolved", "accuracy", "kappa", "KL meaning", "KL position",
        "s per answer", "cost per answer",
    )  # fmt: skip
    rows = [
        (
            name,
            *(row[count] for count in ("labels", "abstained", "unresolved")),
            _format_share(row["accuracy"]["value"], row["accuracy"]["interval"]),
            console.format_with_interval(as_number, row["kappa"], row["kappa_interval"]),
            as_number(row["kl_meaning"]),
            as_number(row["kl_position"]),
            format_number(row["seconds"], 1),
            format_answer_cost(row["cost_usd"], row["seconds"]),
        )
        for name, row in annotators.items()
    ]
    console.print_table(headings, rows)


def _format_share(value: float | None, interval: Sequence[float] | None) -> str:
    return console.format_with_interval(partial(format_percent, digits=1), value, interval)
