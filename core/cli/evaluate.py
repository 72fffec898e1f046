"""The commands ``evaluate``, ``compare`` and ``regress``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from core.cli import console
from core.documents import VERDICT
from core.errors import UsageError
from core.formatting import format_count, format_money, format_number, format_tokens, join_names, plural

PRINTED_SCORES = ("accuracy", "precision", "recall", "f1", "spearman", "kendall", "mae", "bias", "alpha")
"""Keys of the scores that are printed; ``--json`` has the others."""
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

    Print metrics per label, the effect of the debate, and stability.
    """
    from core.services.evaluation import ambiguity
    from core.services.evaluation.reference import check_annotator
    from core.services.evaluation.report import full_report, role_models, save_html_report

    if prepass is None and "--theta" in console.given_options():
        console.print_message("--theta is ignored without --ambiguity.")
    with console.open_session(project) as session:
        rows = [console.known_run(session, run) for run in runs] if runs else session.all_runs()
        annotator = check_annotator(session, rows, annotator)
        if page is not None and not rows:
            raise UsageError("The project has no run to report.", "Start one with moot annotate.")
        if page is not None and annotator != VERDICT:
            raise UsageError("The report of --html is about the verdicts.", "Leave out --annotator or --html.")
        reports = [full_report(session, row, reference, annotator, errors=errors, epsilon=epsilon) for row in rows]
        for report in reports if prepass is not None else ():
            parts = ambiguity.scores_by_ambiguity(session, report["run_id"], str(prepass), theta, annotator, reference)
            report["ambiguity"] = {"prepass": prepass, "theta": theta, **ambiguity.to_json(parts)}
        recommended = role_models(session, rows, reference)
        if page is not None:
            save_html_report(session, rows[-1], page, reference)
            console.print_message(f"report written to {page}")
    if as_json:
        console.print_json({"runs": reports, "role_models": recommended})
        return
    for report in reports:
        _print_report(report)


def _print_report(report: Mapping[str, Any]) -> None:
    """Print the scores of a run, what they rest on, and the parts of the report that were asked for."""
    console.print_line(
        f"{report['run_id']} {report['protocol']}: n {report['n']}, excluded {report['excluded']}, "
        f"coverage {format_number(report['coverage'])}"
    )
    console.print_line(f"  {_basis(report)}")
    if report["basis"]["warning"]:
        console.print_line(f"  {report['basis']['warning']}")
    console.print_table(*_score_table(report))
    if "kappa" in report:
        console.print_line(f"  {_with_intervals(report, report['intervals'], CHANCE_CORRECTED)}")
    if agreement := report.get("agreement"):
        shown = _with_intervals(agreement, report["agreement_intervals"], agreement)
        console.print_line(f"  Krippendorff's alpha of the raters: {shown}")
    if report["debate"]["sentence"]:
        console.print_line(f"  {report['debate']['sentence']}")
    for name, label in report.get("errors", {}).items():
        console.print_line(f"  {name:<20} {label['wrong']} of {label['judged']} wrong: {_format_errors(label)}")
    for name in ("ambiguous", "normal") if "ambiguity" in report else ():
        console.print_line(f"  {name:<20} {_format_part(report['ambiguity'][name])}")


def _basis(report: Mapping[str, Any]) -> str:
    """Return what was compared: "verdict against gold, the majority of ann and ben; 1 document without a value".

    The design of the intervals follows, unless the documents are independent.
    """
    raters = ""
    if "raters" in report:
        raters = f", the {'mean' if 'mae' in report['macro'] else 'majority'} of {join_names([*report['raters']])}"
    missing = report["left_out"].get("no_reference", 0)
    left_out = (
        f"; {format_count(missing, 'document')} without a value{' or with a tie' if raters else ''}" if missing else ""
    )
    design = f"; {report['basis']['sentence']}" if report["n"] and report["basis"]["sentence"] else ""
    return f"{report['annotator']} against {report['reference']}{raters}{left_out}{design}"


def _with_intervals(values: Mapping[str, Any], intervals: Mapping[str, Any], keys: Iterable[str]) -> str:
    return ", ".join(f"{key} {_score(values[key], intervals.get(key))}" for key in keys)


def _score_table(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows with the scores of a report and their 95% intervals."""
    intervals = report["intervals"]
    rows: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    if "accuracy" in report:
        rows["overall"] = ({"accuracy": report["accuracy"]}, {"accuracy": intervals.get("accuracy")})
    rows |= {name: (report[name], intervals.get(name, {})) for name in ("macro", "micro") if name in report}
    if report["excluded"] and report["strict"]:
        rows["unresolved as wrong"] = (
            {**report["strict"], **report["strict"]["macro"]},
            {**report["strict_intervals"], **report["strict_intervals"]["macro"]},
        )
    rows |= {name: (scores, intervals["labels"].get(name, {})) for name, scores in report["labels"].items()}
    keys = [key for key in PRINTED_SCORES if any(key in scores for scores, _ in rows.values())]
    return ["95% intervals in brackets", *keys], [
        [
            name,
            *(_score(scores[key], spans.get(key)) if key in scores else "" for key in keys),
        ]
        for name, (scores, spans) in rows.items()
    ]


def _format_errors(label: Mapping[str, Any]) -> str:
    sides = []
    for side in label["sides"]:
        words = ", ".join(cue["word"] for cue in side["cues"][:SHOWN_CUES])
        name = plural(side["wrong"], side["side"].replace("_", " "))
        sides.append(f"{side['wrong']} {name}" + (f" (words: {words})" if words else ""))
    return ", ".join(sides)


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
    from core.services.evaluation.run_comparison import comparison_report

    with console.open_session(project) as session:
        result = comparison_report(session, runs, reference, margin / 100 if margin else None)
    if as_json:
        console.print_json(result)
        return
    console.print_line(result["sentence"])
    console.print_table(*_column_table(result))
    for warning in {report["basis"]["warning"] for report in result["reports"]} - {""}:
        console.print_line(warning)
    for pair in result.get("pairs", [result]):
        if pair.get("equivalence"):
            console.print_line(pair["equivalence"]["sentence"])
    for label in result.get("labels", {}).values():
        console.print_line(f"  {label['sentence']}")


def _column_table(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows with the scores of compared runs on their common documents, and what they cost.

    The full cost is that without reused replies.
    """
    columns = result["columns"]
    keys = [key for key in PRINTED_COLUMNS if key in columns[0]]
    return [f"against {result['reference']}", "n", "excluded", *keys, "full cost", "full tokens"], [
        [
            f"{column['run_id']} {column['protocol']}",
            *(f"{column[key]:,}" for key in ("n", "excluded")),
            *(_score(column[key], column["intervals"][key]) for key in keys),
            format_money(column["cost_usd"]),
            format_tokens(column["tokens"]),
        ]
        for column in columns
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


def _format_part(part: dict[str, Any]) -> str:
    scores = part["scores"] or {}
    spans = scores.get("intervals", {})
    metrics = {"accuracy": (scores.get("accuracy"), spans.get("accuracy"))}
    metrics |= {key: (scores.get("macro", {}).get(key), spans.get("macro", {}).get(key)) for key in ("f1", "spearman")}
    metrics |= {
        f"{step['step'].lower()} with the majority": (step["with_majority"], step["with_majority_interval"])
        for step in part["agreement"]
    }
    shown = "  ".join(f"{name} {_score(*pair)}" for name, pair in metrics.items() if pair[0] is not None)
    return f"{format_count(part['documents'], 'document')}  {shown}"
