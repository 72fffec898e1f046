"""The commands ``evaluate``, ``compare`` and ``regress``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.cli import console
from core.debate import protocols
from core.documents import VERDICT
from core.errors import UsageError
from core.formatting import format_count, format_money, format_number, format_tokens, plural

if TYPE_CHECKING:
    from core.runs import RunRow
    from core.services.evaluation.ambiguity import DocumentSubset
    from core.services.evaluation.error_analysis import LabelErrors
    from core.services.evaluation.evaluation import EvaluationReport
    from core.services.evaluation.run_comparison import Comparison
    from core.services.project_session import ProjectSession

PRINTED_COLUMNS = ("accuracy", "macro_f1", "micro_f1", "kappa", "macro_spearman", "macro_mae", "macro_alpha")
"""Keys of the scores that ``compare`` prints."""
CHANCE_CORRECTED = ("kappa", "ac1", "alpha", "mcc")
"""Keys of a choice codebook's overall agreement that are printed."""
SHOWN_CUES = 5
"""Maximum number of cue words per line."""
_score = partial(console.format_with_interval, format_number)


@click.command(
    "evaluate",
    epilog=console.help_examples(
        "moot evaluate --project reviews.duckdb",
        "moot evaluate --project reviews.duckdb --run r0002 --reference reviewed --html report.html",
    ),
)
@console.project_option(required=True)
@click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="Evaluate only this run. Repeatable. Default: all runs."
)
@console.reference_option
@click.option(
    "--annotator", default="verdict", help="Labels to evaluate: verdict, a role, or a value as for --reference."
)
@click.option("--errors", is_flag=True, help="Also analyse the errors of each label, with cue words.")
@click.option(
    "--html", "page", type=console.PROJECT_PATH, help="Write a printable HTML report of the last run to this file."
)
@click.option(
    "--ambiguity",
    "prepass",
    metavar="RUN",
    help="Report ambiguous and other documents separately, by the votes of this run.",
)
@click.option("--theta", type=click.FloatRange(0, 1), default=0.5, help="Ambiguity threshold, 0 to 1.")
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 1),
    default=0.15,
    help="Alternative annotator test: how much worse than a person the model may be. Its authors advise 0.2 for "
    "experts, 0.15 for trained annotators and 0.1 for crowd workers.",
)
@console.json_option
def evaluate_command(
    project: Path,
    runs: tuple[str, ...],
    reference: str,
    annotator: str,
    errors: bool,
    page: Path | None,
    prepass: str | None,
    theta: float,
    epsilon: float,
    as_json: bool,
) -> None:
    """Score runs against reference labels.

    Print metrics per label and the effect of the debate. --json adds calibration, repeated runs and drift.
    """
    from core.services.evaluation import ambiguity
    from core.services.evaluation.reference import check_annotator
    from core.services.evaluation.report import full_report, role_models, save_html_report

    with console.open_session(project) as session:
        rows = [console.known_run(session, run) for run in dict.fromkeys(runs)] if runs else session.all_runs()
        annotator = check_annotator(session, rows, annotator)
        for option, is_given in (("--html", page is not None), ("--errors", errors)):
            if is_given and annotator != VERDICT:
                raise UsageError(f"{option} is about the verdicts.", f"Leave out --annotator or {option}.")
        if page is not None:
            if not rows:
                raise UsageError("The project has no run to report.", "Start one with moot annotate.")
            save_html_report(session, rows[-1], page, reference)
            console.print_message(f"report written to {page}")
        reports = []
        for row in rows:
            parts: Mapping[str, DocumentSubset] = {}
            if prepass is not None:
                parts = ambiguity.scores_by_ambiguity(session, row.run_id, prepass, theta, annotator, reference)
            if not as_json:
                _print_run(session, row, reference, annotator, errors=errors)
                for name, part in parts.items():
                    console.print_line(f"  {name:<20} {_format_part(part)}")
                continue
            report = full_report(session, row, reference, annotator, errors=errors, epsilon=epsilon)
            if prepass is not None:
                report["ambiguity"] = {"prepass": prepass, "theta": theta, **ambiguity.to_json(parts)}
            reports.append(report)
        if as_json:
            console.print_json({"runs": reports, "role_models": role_models(session, rows, reference)})


def _print_run(session: ProjectSession, run: RunRow, reference: str, annotator: str, *, errors: bool) -> None:
    """Print the scores of a run, the effect of its debate, and with ``errors`` the errors of each label."""
    from core.services.evaluation import error_analysis
    from core.services.evaluation.debate_effect import debate_effect
    from core.services.evaluation.evaluation import evaluate

    _print_report(evaluate(session, run, reference, annotator))
    if annotator == VERDICT and (sentence := debate_effect(session, run, reference).sentence):
        console.print_line(f"  {sentence}")
    for label in run.settings.codebook.labels if errors else ():
        found = error_analysis.of_label(session, run, label.id, reference)
        console.print_line(f"  {found.name:<20} {found.wrong} of {found.judged} wrong: {_format_errors(found)}")


def _print_report(report: EvaluationReport) -> None:
    """Print the scores of a run and what they rest on."""
    from core.services.evaluation.report import format_estimates, score_table

    run, scores = report.run, report.scores
    console.print_line(
        f"{run.run_id} {protocols.short_title(run.settings)}: n {report.n:,}, excluded {report.excluded:,}, "
        f"coverage {format_number(scores.coverage)}"
    )
    console.print_line(f"  {report.annotator} against {report.reference}: {report.describe_basis()}")
    console.print_table(*score_table(report))
    if scores.kind == "choice":
        console.print_line(f"  {format_estimates({key: scores[key] for key in CHANCE_CORRECTED})}")
    if report.agreement:
        console.print_line(f"  Krippendorff's alpha of the raters: {format_estimates(report.agreement)}")


def _format_errors(label: LabelErrors) -> str:
    sides = []
    for side in label.sides:
        words = ", ".join(cue.word for cue in side.cues[:SHOWN_CUES])
        name = plural(side.wrong, side.side.replace("_", " "))
        sides.append(f"{side.wrong} {name}" + (f" (words: {words})" if words else ""))
    return ", ".join(sides)


def _format_part(part: DocumentSubset) -> str:
    from core.services.evaluation.report import format_estimates

    overall = part.scores.overall if part.scores is not None else {}
    names = {"accuracy": "accuracy", "macro_f1": "f1", "macro_spearman": "spearman"}
    shown = {name: overall[key] for key, name in names.items() if key in overall}
    shown |= {f"{step.name.lower()} with the majority": step.with_majority for step in part.rounds}
    defined = {name: estimate for name, estimate in shown.items() if estimate.value is not None}
    return f"{format_count(part.documents, 'document')}  {format_estimates(defined)}"


@click.command(
    "compare",
    epilog=console.help_examples(
        "moot compare --project reviews.duckdb r0001 r0002",
        "moot compare --project reviews.duckdb r0001 r0002 --margin 2",
    ),
)
@console.project_option(required=True)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@console.reference_option
@click.option(
    "--margin",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="POINTS",
    help="Test whether the runs are equivalent within this many points of the main score.",
)
@console.json_option
def compare_command(project: Path, runs: tuple[str, ...], reference: str, margin: float | None, as_json: bool) -> None:
    """Compare runs on their common documents.

    Print differences to the first run, significance, and the full cost: as if no reply had been reused.
    """
    from core.services.evaluation.run_comparison import comparison, comparison_report

    with console.open_session(project) as session:
        share = margin / 100 if margin else None
        result = comparison_report(session, runs, reference, share)
        compared = comparison(session, runs, reference, share)
    if as_json:
        console.print_json(result)
        return
    console.print_line(result["sentence"])
    console.print_table(*_column_table(compared, result))
    for warning in {report["basis"]["warning"] for report in result["reports"]} - {""}:
        console.print_line(warning)
    for pair in compared.pairs:
        if pair.equivalence is not None:
            console.print_line(pair.equivalence.sentence)
    for label in result.get("labels", {}).values():
        console.print_line(f"  {label['sentence']}")


def _column_table(compared: Comparison, result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows with the scores of compared runs on their common documents, and what they cost.

    The full cost is that without reused replies.
    """
    columns = result["columns"]
    keys = [key for key in PRINTED_COLUMNS if key in columns[0]]
    return [f"against {result['reference']}", "n", "excluded", *keys, "full cost", "full tokens"], [
        [
            f"{run.run_id} {protocols.short_title(run.settings)}",
            *(f"{column[key]:,}" for key in ("n", "excluded")),
            *(_score(column[key], column["intervals"][key]) for key in keys),
            format_money(column["cost_usd"]),
            format_tokens(column["tokens"]),
        ]
        for column, run in zip(columns, (compared_run.run for compared_run in compared.columns), strict=True)
    ]


@click.command(
    "regress",
    epilog=console.help_examples(
        "moot regress --project reviews.duckdb --outcome Price --on year --on region",
        "moot regress --project reviews.duckdb --outcome stars --on Price --on Staff --json",
    ),
)
@console.project_option(required=True)
@click.option("--run", metavar="RUN", help="Run with the labels. Default: the latest.")
@click.option(
    "--outcome", required=True, metavar="NAME", help="A label, a dimension, or a column of the imported file."
)
@click.option(
    "--on",
    "predictors",
    multiple=True,
    metavar="NAME",
    help="A predictor: a label, a dimension, or a column of the imported file. Repeatable. Without one, the mean.",
)
@click.option(
    "--family",
    type=click.Choice(["linear", "logistic"]),
    default="linear",
    help="Linear for differences in means or shares, logistic for log odds of a label.",
)
@console.json_option
def regress_command(
    project: Path, run: str | None, outcome: str, predictors: tuple[str, ...], family: str, as_json: bool
) -> None:
    """Regress on labels of a run, corrected by its reviews.

    The correction uses the reviewed documents and their selection probabilities.
    """
    from core.services.evaluation import corrected_regression

    with console.open_session(project) as session:
        formula = corrected_regression.Formula(outcome, predictors, "logistic" if family == "logistic" else "linear")
        analysis = corrected_regression.analyse(session, console.known_run(session, run), formula)
    if as_json:
        console.print_json(corrected_regression.to_json(analysis))
        return
    console.print_line(f"{formula} ({family}): {analysis.sentence}")
    console.print_table(*corrected_regression.table(analysis))
