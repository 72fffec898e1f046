"""Reports of an evaluation: JSON with every analysis, and CSV of the scores."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from core.annotations import VERDICT, Reference
from core.codebook import Codebook
from core.csv_text import to_csv
from core.export import replacing
from core.formatting import (
    MISSING,
    format_interval,
    format_money,
    format_number,
    format_percent,
    format_signed,
    format_timestamp,
    format_tokens,
)
from core.runs import RunRow
from core.services.evaluation import (
    alt_test,
    calibration,
    debate_effect,
    drift,
    error_analysis,
    model_recommendations,
    panel_ablation,
    repeated_runs,
    run_data,
    scores,
)
from core.services.evaluation.debate_effect import DebateEffect, Price, summary
from core.services.evaluation.reference import reference_names
from core.services.evaluation.repeated_runs import RepeatedRuns
from core.services.evaluation.scores import EvaluationReport, evaluate, plain, rating_confusion
from core.services.session import ProjectSession, check_output_path
from core.stats import metrics
from core.stats.alt_test import EPSILONS
from core.stats.intervals import Estimate
from core.stats.metrics import Metric, Scores


def full_report(
    session: ProjectSession,
    run: RunRow,
    reference: Reference = "gold",
    annotator: str = VERDICT,
    *,
    errors: bool = False,
    epsilon: float = EPSILONS["trained"],
) -> dict[str, Any]:
    """Return one run of ``moot evaluate --json``: ``scores.to_json`` and every further analysis under its own key.

    The keys are ``left_out``, ``cost``, ``debate`` (corrections and regressions), ``panel_styles`` (of a panel that
    rates), ``iterations``, ``calibration``, ``alternative_test`` and ``drift``, each with the fields of its value (see
    ``plain``). ``errors`` adds the error analysis of each label, which reads texts. Raises UsageError for an unknown
    reference.
    """
    found = evaluate(session, run, reference, annotator)
    several = len(repeated_runs.siblings(session, run)) > 1
    debate = debate_effect.debate_effect(session, run, reference)
    report = scores.to_json(found) | {
        "reference": reference,
        "annotator": annotator,
        "cost": scores.cost_of_run(session, run),
        "left_out": dict(found.coverage.left_out),
        "debate": plain(debate),
        "panel_styles": plain(panel_ablation.all_styles(session, run, reference)),
        "iterations": plain(repeated_runs.repeats(session, run, reference)) if several else None,
        "calibration": plain(calibration.certainty(session, run, reference)),
        "alternative_test": plain(alt_test.may_replace(session, run, epsilon)),
        "drift": plain(drift.drifts(session, run)),
    }
    if errors:
        report["errors"] = {
            label.name: plain(error_analysis.of_label(session, run, label.id, reference))
            for label in run.settings.codebook.labels
        }
    return report


def role_models(session: ProjectSession, rows: Sequence[RunRow], reference: Reference = "gold") -> dict[str, Any]:
    """Return the key ``role_models`` of ``moot evaluate --json``.

    It has the scores of each model over these runs, and a recommendation for each role of the last run's protocol.
    """
    runs = model_recommendations.comparable_runs(session, rows[-1], rows) if rows else ()
    roles = tuple(rows[-1].settings.role_models) if rows else ()
    return {
        "models": plain(model_recommendations.model_scores(session, runs, reference)),
        "recommendations": plain(model_recommendations.recommend_models(session, runs, roles, reference)),
    }


def to_table(report: EvaluationReport) -> str:
    """Return the scores as CSV: a row for each label, each mean over labels, and ``all`` for the other scores.

    A score with an interval has the columns ``SCORE_low`` and ``SCORE_high``. Undefined values are empty.
    """
    found = report.scores
    each = metrics.metrics(found.kind, per_label=True)
    rows = []
    for name, label in found.labels.items():
        counts = (
            {"tp": label.counts.tp, "fp": label.counts.fp, "fn": label.counts.fn, "tn": label.counts.tn}
            if label.counts
            else {}
        )
        rows.append({"name": name, "n": label.n, **counts, **_cells([(m, m.key, label[m.key]) for m in each])})
    overall = metrics.metrics(found.kind)
    for average in dict.fromkeys(metric.average for metric in overall):
        own = [
            (metric, metric.base or metric.key, found[metric.key]) for metric in overall if metric.average == average
        ]
        rows.append({"name": average or "all", "n": found.n, **_cells(own)})
    return to_csv(rows)


def _cells(values: Sequence[tuple[Metric, str, Estimate]]) -> dict[str, float | None]:
    """Return values under their keys, then the ends of the intervals."""
    cells = {key: estimate.value for _, key, estimate in values}
    for metric, key, estimate in values:
        if metric.interval is not None:
            cells[f"{key}_low"] = estimate.interval.low if estimate.interval else None
            cells[f"{key}_high"] = estimate.interval.high if estimate.interval else None
    return cells


_STYLE = """
@page { size: A4; margin: 14mm; }
body { font: 12px/1.45 Inter, system-ui, sans-serif; color: #1a1f28; max-width: 190mm; margin: 24px auto; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 13px; margin: 18px 0 4px; break-after: avoid; }
p { margin: 4px 0; } .q { color: #4a5361; } tr { break-inside: avoid; }
@media print { body { margin: 0; max-width: none; } }
table { border-collapse: collapse; width: 100%; font-size: 11px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 2px 6px; white-space: pre; border-bottom: 1px solid #e1e4e9; }
th { color: #4a5361; font-weight: 500; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
.key { display: flex; gap: 26px; margin: 10px 0 2px; } .key b { display: block; font-size: 22px; }
svg { display: block; margin-top: 4px; } svg text { font: 10.5px Inter, system-ui, sans-serif; fill: #1a1f28; }
.page { break-inside: avoid; }
.matrices { display: flex; flex-wrap: wrap; gap: 8px 22px; } .matrix { width: auto; print-color-adjust: exact; }
.matrix caption { text-align: left; font-weight: 600; padding: 4px 0; } .matrix td { padding: 4px 8px; }
.matrix .same { outline: 1.5px solid #1a1f28; outline-offset: -1.5px; }
"""
# The label colours of the light theme, in the order of their numbers.
BESIDE_COUNTS, PER_TABLE = 4, 5
"""Scores in the first table of labels, beside the counts, and in each further one: as many as a page is wide."""
_COLOURS = ("#1C806C", "#CF559F", "#955800", "#1B4E86", "#7C9A10", "#A50F1A", "#8468D6", "#B08775")


def label_table(session: ProjectSession, run: RunRow) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows: how often a run gives each label (of ratings the mean), and scores if there is gold."""
    codebook = run.settings.codebook
    values = run_data.verdict_arrays(session, run).verdicts
    if codebook.kind == "choice":
        given = [f"{np.count_nonzero(values == code):,}" for code in range(len(codebook.labels))]
    elif codebook.kind == "rating":
        known = [column[~np.isnan(column)] for column in values.T]
        given = [format_number(float(column.mean()) if len(column) else None, 2) for column in known]
    else:
        given = [f"{np.count_nonzero(column == 1):,}" for column in values.T]
    found = evaluate(session, run).scores
    shown = [
        metric
        for metric in metrics.metrics(codebook.kind, per_label=True)
        if found.n and metric.key in ("precision", "recall", "f1", "spearman")
    ]
    headings = ["label", "mean" if codebook.kind == "rating" else "given", *(metric.name for metric in shown)]
    rows = [
        [name, count, *(metric.format(found.labels[name][metric.key].value) for metric in shown)]
        for name, count in zip(codebook.names, given, strict=True)
    ]
    return headings, rows


def save_html_report(session: ProjectSession, run: RunRow, path: Path, reference: Reference = "gold") -> Path:
    """Write the report to a file. Raises UsageError as ``html_report``, ExportError if the file cannot be written."""
    text = html_report(session, run, reference)
    with replacing(check_output_path(session.path, path)) as file:
        file.write(text.encode())
    return path


def html_report(session: ProjectSession, run: RunRow, reference: Reference = "gold") -> str:
    """Return the report as HTML. Raises UsageError for an unknown reference."""
    found = evaluate(session, run, reference)
    scores, full = found.scores, full_report(session, run, reference)
    codebook = run.settings.codebook
    parts = [
        f"<h1>{escape(codebook.name)}: {escape(session.run_name(run.run_id))}</h1>",
        f'<p class="q">{escape(_about(full))}. Codebook version {run.settings.codebook_version}, '
        f"printed {format_timestamp(time.time())}.</p>",
        _key_numbers(found, full["cost"]["usd_per_document"]),
        f'<p class="q">{escape(found.describe_basis())}.</p>',
        f"<h2>Per {'dimension' if codebook.kind == 'rating' else 'label'}</h2>",
        _bars(scores, codebook) if codebook.kind != "rating" else "",
        _labels(scores),
        "<h2>Confusion matrices</h2>",
        f'<p class="q">Rows: {escape(reference_names(reference).noun)}, columns: verdict, shares of the row.</p>',
        _confusion_matrices(session, found),
        "<h2>All scores</h2>",
        _overall(scores),
        "<h2>Data</h2>",
        _data_facts(session, run, found),
        *_debate(debate_effect.debate_effect(session, run, reference)),
        *_iterations(repeated_runs.repeats(session, run, reference)),
        "<h2>Alternative annotator test</h2>",
        f"<p>{escape(full['alternative_test']['sentence'])}</p>",
        '<p class="q">Intervals are 95%: Wilson score intervals with the effective number of independent cases, '
        "combined for means over labels. A dash is an undefined score: a label without positives has no recall and no "
        "F1 and is left out of the macro mean.</p>",
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(codebook.name)} {escape(run.run_id)}'
        f"</title><style>{_STYLE}</style><body>{''.join(parts)}</body></html>"
    )


def _about(full: Mapping[str, Any]) -> str:
    role_models = ", ".join(f"{role} {spec}" for role, spec in full["roles"].items())
    return f"Protocol {full['protocol']} ({role_models}) against {reference_names(full['reference']).noun}"


def _key_numbers(found: EvaluationReport, cost: float | None) -> str:
    cells = []
    for metric in metrics.metrics(found.scores.kind):
        if metric.headline:
            estimate = found.scores[metric.key]
            interval = f'<span class="q">{_interval(estimate)}</span>' if estimate.interval else ""
            cells.append(f"<div>{escape(metric.name)}<b>{metric.format(estimate.value)}</b>{interval}</div>")
    excluded = sum(found.coverage.left_out.values()) - found.coverage.count("no_reference")
    share = f'<span class="q">{format_percent(excluded / (found.n + excluded))} left out</span>' if excluded else ""
    cells.append(f"<div>Documents<b>{found.n:,}</b>{share}</div>")
    if cost is not None:
        cells.append(f"<div>Cost per document<b>{format_money(cost)}</b></div>")
    return f'<div class="key">{"".join(cells)}</div>'


def _bars(scores: Scores, codebook: Codebook) -> str:
    """Return F1 of each label as a bar with its interval, in SVG without a library."""
    width, row, left = 420, 20, 150
    shapes = []
    for place, label in enumerate(codebook.labels):
        f1 = scores.labels[label.name]["f1"]
        top = place * row
        colour = _COLOURS[(label.colour - 1) % len(_COLOURS)]
        shapes.append(f'<text x="0" y="{top + 13}">{escape(label.name[:26])}</text>')
        shapes.append(f'<rect x="{left}" y="{top + 4}" width="{width}" height="11" fill="#f5f6f8"/>')
        if f1.value is not None:
            filled = width * f1.value
            shapes.append(f'<rect x="{left}" y="{top + 4}" width="{filled:.1f}" height="11" fill="{colour}"/>')
        if f1.interval is not None:
            low, high = left + width * f1.interval.low, left + width * f1.interval.high
            shapes.append(f'<path d="M{low:.1f} {top + 9.5}H{high:.1f}" stroke="#1a1f28" stroke-width="1.6"/>')
        shapes.append(f'<text x="{left + width + 8}" y="{top + 13}">{format_number(f1.value)}</text>')
    height = row * len(codebook.labels)
    return f'<svg class="page" width="{left + width + 60}" height="{height}" role="img">{"".join(shapes)}</svg>'


def _confusion_matrices(session: ProjectSession, found: EvaluationReport) -> str:
    """Return the matrix of each label or dimension, of a choice that of all labels."""
    run, scores = found.run, found.scores
    codebook = run.settings.codebook
    if codebook.kind == "choice":
        matrices = [_matrix("", codebook.names, scores.confusion)]
    elif codebook.kind == "rating":
        matrices = [
            _matrix(
                label.name,
                [str(point) for point in codebook.scale_of(label.id).points],
                rating_confusion(session, run, label.id, found.reference),
            )
            for label in codebook.labels
        ]
    else:
        counted = scores.counts.items()
        matrices = [_matrix(name, ("present", "absent"), ((c.tp, c.fn), (c.fp, c.tn))) for name, c in counted]
    return f'<div class="matrices">{"".join(matrices)}</div>'


def _matrix(title: str, names: Sequence[str], matrix: Sequence[Sequence[int]]) -> str:
    """Return a confusion matrix as a table: count and share of the row, which shades the cell; a framed diagonal."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ""
    for row, (name, line) in enumerate(zip(names, matrix, strict=True)):
        total = sum(line)
        cells = ""
        for column, count in enumerate(line):
            share = count / total if total else 0.0
            text = f"{count:,} ({format_percent(share)})" if count else "0"
            framed = ' class="same"' if row == column else ""
            cells += f'<td{framed} style="background: rgb(42 53 80 / {0.45 * share:.3f})">{text}</td>'
        body += f"<tr><td>{escape(name)}</td>{cells}</tr>"
    return f'<table class="page matrix"><caption>{escape(title)}</caption><tr><th></th>{head}</tr>{body}</table>'


def _data_facts(session: ProjectSession, run: RunRow, found: EvaluationReport) -> str:
    """Return a table of facts on the documents of the project and of the run, and on the labels in the reference."""
    documents, noun = session.store.documents, reference_names(found.reference).noun
    facts = [
        ["Files", ", ".join(dict.fromkeys(one.file_name for one in documents.imports() if one.file_name)) or MISSING],
        ["Documents in the project", f"{documents.count():,}"],
        ["Documents with gold", f"{documents.with_gold():,}"],
        ["Documents in this run", f"{run.documents:,}"],
        ["Mean length in this run", f"{documents.mean_length(run.run_id):,.0f} characters"],
        ["Verdicts, unresolved, failed", f"{run.verdicts:,}, {run.unresolved:,}, {run.failed:,}"],
    ]
    facts += [
        [f"{name} present in {noun}", f"{counts.positives:,} of {found.scores.labels[name].n:,}"]
        for name, counts in found.scores.counts.items()
    ]
    return _table(["", ""], facts)


def _labels(scores: Scores) -> str:
    """Return the scores of each label in tables of the width of a page."""
    each = metrics.metrics(scores.kind, per_label=True)
    counted = []
    for name, label in scores.labels.items():
        counts = label.counts
        cells = [] if counts is None else [f"{count:,}" for count in (counts.tp, counts.fp, counts.fn, counts.tn)]
        counted.append([name, f"{label.n:,}", *cells])
    names = ["", "n", *(["TP", "FP", "FN", "TN"] if scores.counts else [])]
    parts = [each[:BESIDE_COUNTS]] + [each[at : at + PER_TABLE] for at in range(BESIDE_COUNTS, len(each), PER_TABLE)]
    tables = []
    for place, part in enumerate(parts):
        shown = 1 if place else len(names)  # the counts are in the first table
        rows = [
            [*own[:shown], *(_cell(metric, scores.labels[own[0]][metric.key]) for metric in part)] for own in counted
        ]
        tables.append(_table([*names[:shown], *(metric.name for metric in part)], rows))
    return "".join(tables)


def _overall(scores: Scores) -> str:
    each = metrics.metrics(scores.kind)
    return _table(["score", "value"], [[metric.name, _cell(metric, scores[metric.key])] for metric in each])


def _debate(debate: DebateEffect) -> Iterable[str]:
    flip_table = debate.flip_table
    if flip_table is None:
        return ()
    rows = [
        [
            debate.titles[step.role],
            f"{step.total.corrected:,}",
            f"{step.total.regressed:,}",
            format_signed(step.total.net, 0),
            _money(debate.prices[step.role]),
        ]
        for step in flip_table.steps
    ]
    return (
        "<h2>Effect of the debate</h2>",
        f"<p>{escape(''.join(words for words, _ in summary(debate, debate.noun)))}</p>",
        _table(["step", "corrected", "regressed", "net", f"per {debate.noun} gained"], rows),
    )


def _iterations(again: RepeatedRuns | None) -> Iterable[str]:
    if again is None or len(again.runs) < 2:
        return ()
    rows = [
        [name.replace("_", " "), str(one.n), format_number(one.mean), format_number(one.sd),
         format_interval(one.interval.low, one.interval.high) if one.interval else MISSING]
        for name, one in again.measures.items()
    ]  # fmt: skip
    statuses = ", ".join(f"{count:,} {name}" for name, count in again.stability.counts.items())
    return (
        f"<h2>{len(again.runs)} iterations</h2>",
        _table(["measure", "n", "mean", "sd", "95% interval"], rows),
        f"<p>Documents over iterations: {escape(statuses)}.</p>",
    )


def _money(price: Price) -> str:
    if price.per_label:
        return format_money(price.per_label)
    return f"{format_tokens(price.tokens_per_label)} tokens" if price.tokens_per_label else MISSING


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="page"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _cell(metric: Metric, estimate: Estimate) -> str:
    return metric.format(estimate.value) + (f"\n{_interval(estimate)}" if estimate.interval else "")


def _interval(estimate: Estimate) -> str:
    interval = estimate.interval
    return "" if interval is None else format_interval(interval.low, interval.high)
