"""Reports of an evaluation: JSON with every analysis, CSV of the scores, and a printable page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from core.codebook import COLOUR_HEX, Kind
from core.csv_text import to_csv
from core.documents import VERDICT, Reference
from core.export import replacing
from core.export.html_template import html_template
from core.formatting import (
    MISSING,
    format_money,
    format_number,
    format_percent,
    format_points,
    format_rating,
    format_signed,
    format_timestamp,
    format_tokens,
)
from core.ingest.table import unique_names
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    annotation_arrays,
    calibration,
    debate_effect,
    error_analysis,
    model_drift,
    model_recommendations,
    panel_ablation,
    repeated_runs,
)
from core.services.evaluation.evaluation import (
    EvaluationReport,
    cost_of_run,
    evaluate,
    rating_confusion,
    to_json,
)
from core.services.evaluation.json_data import json_data
from core.services.evaluation.reference import reference_names
from core.services.project_session import ProjectSession, check_output_path
from core.stats import metrics, scoring
from core.stats.alt_test import EPSILONS
from core.stats.intervals import Estimate, format_estimate, format_interval


def full_report(
    session: ProjectSession,
    run: RunRow,
    reference: Reference = "gold",
    annotator: str = VERDICT,
    *,
    errors: bool = False,
    epsilon: float = EPSILONS["trained"],
) -> dict[str, Any]:
    """Return one run of ``moot evaluate --json``: ``scoring.to_json`` and every further analysis under its own key.

    Analyses of the verdicts are None for another ``annotator``. ``errors`` adds the error analysis of each label, which
    reads texts. Raises UsageError for an unknown reference.
    """

    def of_verdicts(analysis: Callable[..., Any], *options: Any) -> Any:
        return json_data(analysis(session, run, *options)) if annotator == VERDICT else None

    evaluation = evaluate(session, run, reference, annotator)
    has_iterations = len(repeated_runs.siblings(session, run)) > 1
    report = to_json(evaluation) | {
        "cost": cost_of_run(session, run),
        "debate": of_verdicts(debate_effect.debate_effect, reference),
        "panel_styles": of_verdicts(panel_ablation.all_styles, reference),
        "iterations": of_verdicts(repeated_runs.repeats, reference) if has_iterations else None,
        "calibration": of_verdicts(calibration.certainty, reference),
        "alternative_test": of_verdicts(alt_test.may_replace, epsilon),
        "drift": json_data(model_drift.drifts(session, run)),
    }
    if errors:
        report["errors"] = {
            label.name: json_data(error_analysis.of_label(session, run, label.id, reference))
            for label in run.settings.codebook.labels
        }
    return report


def role_models(session: ProjectSession, rows: Sequence[RunRow], reference: Reference = "gold") -> dict[str, Any]:
    """Return the key ``role_models`` of ``moot evaluate --json``.

    It has the scores of each model in each role, and a recommendation for each role of the last run's protocol.
    """
    runs = model_recommendations.comparable_runs(session, rows[-1], rows) if rows else ()
    roles = tuple(rows[-1].settings.role_models) if rows else ()
    return {
        "models": [
            {"spec": model.spec, "role": model.role, "run_id": model.run_id, **scoring.to_json(model.scores)}
            for model in model_recommendations.model_scores(session, runs, reference)
        ],
        "recommendations": json_data(model_recommendations.recommend_models(session, runs, roles, reference)),
    }


def to_table(report: EvaluationReport) -> str:
    """Return the scores as CSV: a row for each label, each mean over labels, and ``all`` for the other scores.

    A mean that is called like a label gets ``_2``. A score with an interval has the columns ``SCORE_low`` and
    ``SCORE_high``. Undefined values are empty.
    """
    scores = report.scores
    label_metrics = metrics.metrics(scores.kind, per_label=True)
    rows = []
    for name, label in scores.labels.items():
        counts = asdict(label.counts) if label.counts else {}
        rows.append({"name": name, "n": label.n, **counts, **_cells([(m, m.key, label[m.key]) for m in label_metrics])})
    overall = metrics.metrics(scores.kind)
    averages = list(dict.fromkeys(metric.average for metric in overall))
    names = unique_names((average or "all" for average in averages), scores.labels)
    for name, average in zip(names, averages, strict=True):
        cells = [
            (metric, metric.base or metric.key, scores[metric.key]) for metric in overall if metric.average == average
        ]
        rows.append({"name": name, "n": scores.n, **_cells(cells)})
    return to_csv(rows)


def _cells(values: Sequence[tuple[metrics.Metric, str, Estimate]]) -> dict[str, float | None]:
    """Return values under their keys, then the ends of the intervals."""
    cells = {key: estimate.value for _, key, estimate in values}
    for metric, key, estimate in values:
        if metric.interval is not None:
            cells[f"{key}_low"] = estimate.interval.low if estimate.interval else None
            cells[f"{key}_high"] = estimate.interval.high if estimate.interval else None
    return cells


BESIDE_COUNTS, PER_TABLE = 4, 5
"""Scores in the first table of labels, beside the counts, and in each further one: as many as a page is wide."""


def label_table(session: ProjectSession, run: RunRow) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: how often a run gives each label (of ratings the mean), and scores if there is gold.

    Scores have their 95% intervals.
    """
    codebook = run.settings.codebook
    values = annotation_arrays.verdict_arrays(session, run).verdicts
    if codebook.kind == "rating":
        rated = [column[~np.isnan(column)] for column in values.T]
        counts = [format_number(float(column.mean()) if len(column) else None, 2) for column in rated]
    else:
        counts = [f"{count:,}" for count in annotation_arrays.given_labels(codebook, values).sum(axis=0)]
    scores = evaluate(session, run).scores
    shown = ("precision", "recall", "f1", "spearman") if scores.n else ()
    names, cells = scores.table(format_estimate, lambda metric: metric.key in shown)
    headings = ["label", "mean" if codebook.kind == "rating" else "given", *names]
    return headings, [[name, count, *cells[name]] for name, count in zip(codebook.names, counts, strict=True)]


PRINTED_SCORES: Mapping[Kind, tuple[str, ...]] = {
    "multilabel": (*scoring.LABEL_CONTRACT, "kappa", "alpha"),
    "choice": scoring.LABEL_CONTRACT,
    "rating": ("spearman", "kendall", "mae", "bias", "alpha"),
}
"""Keys of the scores that the terminal shows."""


def score_table(report: EvaluationReport) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows with the scores that the terminal shows, overall and per label, with 95% intervals."""
    scores = report.scores
    shown = [
        metric for metric in metrics.metrics(scores.kind, per_label=True) if metric.key in PRINTED_SCORES[scores.kind]
    ]
    names, labels = scores.table(format_estimate, shown.__contains__)

    def row(values: Mapping[str, Estimate], *prefixes: str) -> list[str]:
        cells = []
        for metric in shown:
            found = [values[key] for prefix in prefixes if (key := prefix + metric.key) in values]
            cells.append(format_estimate(found[0]) if found else "")
        return cells

    rows = {name: row(scores.overall, prefix) for name, prefix in (("macro", "macro_"), ("micro", "micro_"))}
    if scores.kind != "rating":
        rows = {"overall": row({"accuracy": scores["accuracy"]}, ""), **rows}
    if report.excluded and report.strict:
        rows["unresolved as wrong"] = row(report.strict, "macro_", "")
    table = [[name, *cells] for name, cells in [*rows.items(), *labels.items()] if any(cells)]
    return ["95% intervals in brackets", *names], table


def format_estimates(estimates: Mapping[str, Estimate]) -> str:
    """Return named estimates with their intervals as text."""
    return ", ".join(f"{name} {format_estimate(estimate)}" for name, estimate in estimates.items())


def save_html_report(session: ProjectSession, run: RunRow, path: Path, reference: Reference) -> None:
    """Write the report to a file. Raises UsageError as ``html_report``, ExportError if the file cannot be written."""
    text = html_report(session, run, reference)
    with replacing(check_output_path(session.path, path)) as file:
        file.write(text.encode())


def html_report(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> str:
    """Return the report as HTML. Raises UsageError for an unknown reference."""
    report, codebook = evaluate(session, run, reference), run.settings.codebook
    scores, overall = report.scores, metrics.metrics(report.scores.kind)
    debate = debate_effect.debate_effect(session, run, reference)
    again = repeated_runs.repeats(session, run, reference)
    return html_template(Path(__file__).with_name("report.html")).render(
        run=run,
        codebook=codebook,
        report=report,
        scores=scores,
        overall=overall,
        debate=debate,
        again=again,
        colours=COLOUR_HEX,
        percent=format_percent,
        number=format_number,
        money=format_money,
        interval=format_interval,
        estimate=format_estimate,
        run_name=session.run_name(run.run_id),
        printed=format_timestamp(time.time()),
        noun=reference_names(reference).noun,
        cost=cost_of_run(session, run)["usd_per_verdict"],
        label_tables=_label_tables(scores),
        verdict_shares=_verdict_shares(session, run) if codebook.kind != "rating" else [],
        matrices=list(_confusion_matrices(session, report)),
        overall_rows=[(metric.name, _cell(scores[metric.key])) for metric in overall],
        facts=_data_facts(session, run, report),
        effect="".join(words for words, _ in debate_effect.summary(debate)),
        steps=_step_rows(debate),
        measures=_measure_rows(again) if again else [],
        alternative=_alternative(session, run),
    )


def _step_rows(debate: debate_effect.DebateEffect) -> list[tuple[str, ...]]:
    """Return what each step of the debate changed, and its price; empty without a debate."""
    return [
        (
            debate.titles[step.role],
            f"{step.total.corrected:,}",
            f"{step.total.regressed:,}",
            format_signed(step.total.net, 0),
            _points(step.gain),
            _money(debate.prices[step.role]),
        )
        for step in (debate.flip_table.steps if debate.flip_table else ())
    ]


def _measure_rows(again: repeated_runs.RepeatedRuns) -> list[tuple[str | int, ...]]:
    return [
        (
            name.replace("_", " "),
            measure.n,
            format_number(measure.mean),
            format_number(measure.sd),
            format_interval(measure.interval if measure.sd else None) or MISSING,  # no width would claim too much
        )
        for name, measure in again.measures.items()
    ]


def _confusion_matrices(
    session: ProjectSession, report: EvaluationReport
) -> Iterable[tuple[str, Sequence[str], Sequence[Sequence[int]]]]:
    """Yield title, names and matrix of each label or dimension, of a choice those of all labels together."""
    codebook = report.run.settings.codebook
    match codebook.kind:
        case "choice":
            yield "", codebook.names, report.scores.confusion
        case "rating":
            for label in codebook.labels:
                matrix = rating_confusion(session, report.run, label.id, report.reference)
                yield label.name, [format_rating(point) for point in codebook.scale_of(label.id).points], matrix
        case "multilabel":
            for name, counts in report.scores.counts.items():
                yield name, ("present", "absent"), ((counts.tp, counts.fn), (counts.fp, counts.tn))


def _data_facts(session: ProjectSession, run: RunRow, report: EvaluationReport) -> list[tuple[str, str]]:
    """Return facts on the documents of the project and of the run, and on the labels in the reference."""
    documents, noun = session.store.documents, reference_names(report.reference).noun
    files = dict.fromkeys(imported.file_name for imported in documents.imports() if imported.file_name)
    return [
        ("Files", ", ".join(files) or MISSING),
        ("Documents in the project", f"{documents.count():,}"),
        ("Documents with gold", f"{documents.with_gold(run.settings.codebook):,}"),
        ("Documents in this run", f"{run.documents:,}"),
        ("Mean length in this run", f"{documents.mean_length(run.run_id):,.0f} characters"),
        ("Verdicts, unresolved, failed", f"{run.verdicts:,}, {run.unresolved:,}, {run.failed:,}"),
        *(
            (f"{name} present in {noun}", f"{counts.positives:,} of {report.scores.labels[name].n:,}")
            for name, counts in report.scores.counts.items()
        ),
    ]


def _verdict_shares(session: ProjectSession, run: RunRow) -> list[tuple[str, str, str, str]]:
    """Return for each label how many verdicts give it, how many decide it, and the share."""
    codebook, values = run.settings.codebook, annotation_arrays.verdict_arrays(session, run).verdicts
    given = annotation_arrays.given_labels(codebook, values).sum(axis=0)
    decided = np.broadcast_to((~np.isnan(values)).sum(axis=0), given.shape)
    return [
        (name, f"{count:,}", f"{documents:,}", format_percent(count / documents, 1) if documents else MISSING)
        for name, count, documents in zip(codebook.names, given, decided, strict=True)
    ]


def _label_tables(scores: scoring.Scores) -> list[tuple[list[str], list[list[str]]]]:
    """Return head and rows of tables with the scores of each label, each as wide as a page."""
    names, cells = scores.table(_cell)
    head = ["n", *(["TP", "FP", "FN", "TN"] if scores.counts else []), *names]
    for name, label in scores.labels.items():
        counts = (label.n, *(astuple(label.counts) if label.counts else ()))
        cells[name][:0] = [f"{count:,}" for count in counts]
    first = len(head) - len(names) + BESIDE_COUNTS
    ends = [0, *range(first, len(head), PER_TABLE), len(head)]
    return [
        (["", *head[start:end]], [[name, *row[start:end]] for name, row in cells.items()])
        for start, end in pairwise(ends)
    ]


def _alternative(session: ProjectSession, run: RunRow) -> str:
    """Return the result of the alternative annotator test, and the documents that it is based on."""
    test = alt_test.may_replace(session, run)
    return f"{test.sentence} ({alt_test.describe_coverage(session, run)})" if test.people else test.sentence


def _points(gain: Estimate) -> str:
    return format_points(gain.value) + (f"\n{format_interval(gain.interval, 'points')}" if gain.interval else "")


def _money(price: debate_effect.StepCost) -> str:
    if price.per_label:
        return format_money(price.per_label)
    return f"{format_tokens(price.tokens_per_label)} tokens" if price.tokens_per_label else MISSING


def _cell(estimate: Estimate) -> str:
    """Return a score, and its interval on a second line."""
    return "\n".join(filter(None, (format_number(estimate.value), format_interval(estimate.shown_interval))))
