"""Evaluate: the scores of a run against a reference, and the analyses behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from app import context
from app.pages import open_page
from app.screens.evaluate import annotators, confusion, debate_effect, error_analysis, flips, score_bars, stability
from app.state import EvaluateState, with_default
from app.widgets import charts, layout
from app.widgets.alerts import notice
from app.widgets.document_drawer import document_drawer
from app.widgets.elements import line, segments, table
from app.widgets.file_import import begin_gold_mapping
from app.widgets.labels import pick
from app.widgets.metric_tables import (
    DisplayedMetric,
    agreement,
    dimension_table,
    estimate_html,
    metric_strip,
    score_metric,
    score_tables,
    strong,
)
from app.widgets.run_picker import (
    baseline_models,
    latent_truth_note,
    reference_picker,
    run_date,
    run_picker,
    runs_or_empty_page,
    selected_run,
)
from core.documents import Reference
from core.formatting import MISSING, format_count, format_percent, format_rating, join_names, plural
from core.runs import RunRow
from core.services.evaluation import coverage, prefetch, report
from core.services.evaluation.annotation_arrays import debate_statuses
from core.services.evaluation.debate_effect import DebateEffect, noun, summary
from core.services.evaluation.debate_effect import debate_effect as effect_of
from core.services.evaluation.evaluation import EvaluationReport, evaluate, rating_confusion, role_scores
from core.services.evaluation.reference import available_references, reference_names
from core.services.guided_path import REVIEWS
from core.services.project_session import ProjectSession
from core.stats.flips import FlipTable
from core.stats.intervals import Estimate, format_estimate
from core.stats.metrics import main_metric, metrics
from core.stats.scoring import Scores

MIN_SCORED_SHARE = 0.8
"""Share of the debated documents with a reference at or below which the page warns that few are scored."""


def main() -> None:
    session = context.require_project()
    words = "When a run has verdicts, this page shows its scores and the effect of the debate."
    runs = runs_or_empty_page(session, "Evaluate", "Nothing to evaluate yet", words, sign="bars")
    if not runs:
        return
    run = selected_run(runs)
    version = f"codebook v{run.settings.codebook_version}" if run.settings.codebook_version else ""
    references = available_references(session, run.run_id)
    subtitle = ", ".join(filter(None, [baseline_models(run), version, run_date(run)]))
    with layout.header("Evaluate", subtitle):
        run_picker(runs)
        reference = reference_picker(references)
        if references[reference]:
            _downloads(session, run, reference)
    if not references[reference]:
        present = int((debate_statuses(session, run) != "removed").sum())
        _no_reference(session, references, present)
        return
    latent_truth_note(session, run, reference)
    evaluation = evaluate(session, run, reference)
    ended = evaluation.n + evaluation.excluded - evaluation.coverage.left_out.get("waiting", 0)
    if 0 < evaluation.n <= MIN_SCORED_SHARE * ended:
        head = f"Only {evaluation.n:,} of {ended:,} debated documents {plural(evaluation.n, 'is', 'are')} scored"
        notice("warn", head, f"The others have no verdict, and may be harder. {_unresolved_remedy(run)}")
    _key_numbers(evaluation)
    if not evaluation.n:
        _no_scored_documents(evaluation, run)
        return
    key = with_default(EvaluateState.tab.key, "scores")
    tab = segments("Analysis", EvaluateState.TABS, key=key, persist_state="session")
    layout.write_url(tab=tab)
    match tab:
        case "debate":
            debate_effect.draw(session, run, reference)
        case "errors":
            error_analysis.draw(session, run, reference)
        case "stability":
            stability.draw(session, run, reference)
        case "models":
            annotators.draw(session, run, reference)
        case _ if run.settings.codebook.kind == "rating":
            _ratings(session, evaluation)
        case _:
            _scores(session, evaluation)
    document_drawer(session, [run], run.settings.codebook, key="evaluate-drawer")
    session.prefetcher.submit_latest(lambda: prefetch.prefetch_tabs(session, run, reference))


def _undefined_dimensions(scores: Scores, key: str) -> tuple[str, ...]:
    """Return a note on the dimensions without this score, which the mean leaves out, if there are any.

    A correlation is undefined for a dimension in which all verdicts or all reference ratings are equal.
    """
    undefined = [label for label in scores.labels.values() if label[key].value is None]
    defined = len(scores.labels) - len(undefined)
    if not undefined:
        return ()
    if not defined:
        return ("undefined: in each dimension, all verdicts or all reference ratings are equal",)
    count = len(undefined)
    others = plural(count, "other does not vary", "others do not vary")
    if not all(label.n for label in undefined):
        others = plural(count, "other has no reference or does not vary", "others have no reference or do not vary")
    return (f"over {defined} of {format_count(len(scores.labels), 'dimension')}; the {others}",)


def _no_reference(session: ProjectSession, references: dict[Reference, int], documents: int) -> None:
    """Draw the empty state of a run without a reference; ``documents`` are those that the project still has."""
    if not documents:
        words = "The documents of this run were replaced. Start a run on the new ones."
        layout.empty(
            "No documents to score", words, {"Open Run": "run"}, sign="bars", key="evaluate-replaced-documents"
        )
        return
    count = min(REVIEWS, documents)
    other = "nothing is reviewed yet" if not references["reviewed"] else "none of this run's documents is reviewed"
    words = f"The file has no gold column for these documents and {other}."
    maps_gold = layout.empty(
        "No reference to compare with",
        f"{words} About {format_count(count, 'reviewed document')} {plural(count, 'gives', 'give')} first scores.",
        {f"Review {count}": "review"},
        action="Map a gold column",
        sign="bars",
        key="evaluate-no-reference",
    )
    if maps_gold:
        begin_gold_mapping(session)
        open_page("data")


def _unresolved_remedy(run: RunRow) -> str:
    if run.settings.is_builtin:  # a word list replies the same again
        return "Add keywords on the Codebook page, or use a language model."
    return "Retry unresolved documents on Run, or use other models or definitions."


def _no_scored_documents(evaluation: EvaluationReport, run: RunRow) -> None:
    """Draw the empty state of a run without a document that has both a verdict and a reference."""
    noun, left_out = reference_names(evaluation.reference).noun, evaluation.coverage.left_out
    words = f"No document of this run has both a verdict and {noun}."
    advice = _unresolved_remedy(run)
    if "waiting" in left_out:
        advice = "Scores follow as debates end: watch or resume them on Run."
    elif set(left_out) == {"failed"}:
        advice = "Their debates failed: retry them on Run."
    elif "training_example" in left_out:
        words = f"The classifier of this run was trained on the documents with {noun}."
        advice = "Review others to score it on them."
    layout.empty(
        "No verdict to score",
        f"{words} {advice}",
        {"Open Review": "review", "Open Run": "run"},
        sign="bars",
        key="evaluate-nothing",
    )


def _downloads(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw the download menu. Each file is created on request."""

    def to_json() -> str:
        return json.dumps(report.full_report(session, run, reference, errors=True), indent=2, ensure_ascii=False)

    with st.popover("Report", icon=":material/download:"):
        for label, make, ending, mime in (
            ("JSON", to_json, "json", "application/json"),
            ("CSV", lambda: report.to_table(evaluate(session, run, reference)), "csv", "text/csv"),
            ("Printable report", lambda: report.html_report(session, run, reference), "html", "text/html"),
        ):
            name = f"{session.name}-{run.run_id}-{reference}.{ending}"
            st.download_button(label, make, name, mime, on_click="ignore", width="stretch")


def _key_numbers(evaluation: EvaluationReport) -> None:
    share = f" ({format_percent(1 - (evaluation.scores.coverage or 0.0))})" if evaluation.excluded else ""
    notes = _exclusion_notes(evaluation) or ["All documents are scored."]
    excluded = DisplayedMetric("No verdict", text=f"{evaluation.excluded:,}{share}", notes=tuple(notes))
    metric_strip([*_headline_scores(evaluation), excluded])


def _headline_scores(evaluation: EvaluationReport) -> list[DisplayedMetric]:
    scores = evaluation.scores
    documents = f"estimated from {evaluation.n:,}" if evaluation.basis.is_estimate else f"{{right}} of {evaluation.n:,}"
    captions = {"subset_accuracy": documents, "accuracy": format_count(scores.cells, "label")}
    if scores.kind == "choice":
        captions = {"accuracy": documents}
    numbers = []
    for metric in metrics(scores.kind):
        if metric.headline:
            right = round((scores[metric.key].value or 0.0) * evaluation.n)
            note = captions.get(metric.key, "").format(right=f"{right:,}")
            number = score_metric(metric, scores[metric.key], note)
            if scores.kind == "rating":
                undefined = _undefined_dimensions(scores, metric.key.removeprefix("macro_"))
                number = replace(number, notes=(*number.notes, *undefined))
            numbers.append(number)
    return numbers


def _exclusion_notes(evaluation: EvaluationReport) -> list[str]:
    """Return why documents are not scored, with their numbers, and the score if those without a verdict were wrong."""
    left_out = evaluation.coverage.left_out
    reasons: dict[coverage.Reason, tuple[str, str, str]] = {
        "unresolved": ("unresolved", "unres", "by the debate"),
        "failed": ("failed", "wrong", "by the provider"),
        "waiting": ("waiting", "", "for their debate"),
    }
    notes: list[str] = []
    for reason, (words, tone, text) in reasons.items():
        if count := left_out.get(reason):
            notes.append(strong(f"{count:,} {words}", tone) + f" {text}")
    if evaluation.excluded and (strict := evaluation.strict_main).value is not None:
        wrong = "all documents without a verdict" if evaluation.basis.design == "sample" else "these"
        notes.append(f"{main_metric(evaluation.scores.kind).name} {format_estimate(strict)} with {wrong} as wrong")
    for reason in coverage.WITHOUT_REFERENCE:
        if count := left_out.get(reason):
            words = coverage.REASONS[reason].format(reference=evaluation.missing)
            notes.append(f"not counted: {format_count(count, 'document')} {words}")
    return notes


def _scores(session: ProjectSession, evaluation: EvaluationReport) -> None:
    run, reference = evaluation.run, evaluation.reference
    debate = effect_of(session, run, reference)
    roles = role_scores(session, run, reference)
    flip_table = debate.flip_table
    columns = st.columns([1.06, 1], gap="small") if flip_table is not None else [st.container()]
    basis = evaluation.describe_basis()
    with columns[0]:
        subtitle = "line: value, light bar: 95% interval"
        with layout.panel("Scores per label", subtitle, counted=basis, key="evaluate-bars") as head:
            titles = {role: debate.titles.get(role, role) for role in score_bars.other_roles(roles, debate)}
            with head:
                layout.role_legend(titles)
            score_bars.draw_score_bars(evaluation, roles, debate)
            for reason in _undefined_scores(evaluation):
                line(reason)
    if flip_table is not None:
        with columns[1]:
            _flow(session, evaluation, debate, flip_table)
    agreement(evaluation.scores, reference_names(reference).noun, basis, key="evaluate-agreement")
    score_tables(evaluation.scores)
    confusion.confusion_panel(session, evaluation, debate)


def _undefined_scores(evaluation: EvaluationReport) -> list[str]:
    """Return the reasons why labels lack precision, recall or F1; empty if none does."""
    noun, labels = reference_names(evaluation.reference).noun, evaluation.scores.labels
    unknown = [name for name, scores in labels.items() if not scores.n]
    counts = {name: counts for name, counts in evaluation.scores.counts.items() if name not in unknown}
    absent = [name for name, label_counts in counts.items() if not label_counts.positives]
    unpredicted = [name for name, label_counts in counts.items() if not label_counts.tp + label_counts.fp]
    not_in_verdicts = "never present in a verdict"

    def left_out(names: list[str]) -> str:
        return f"the macro means leave {plural(len(names), 'it', 'them')} out"

    reasons = (
        (unknown, f"without {noun}, so {left_out(unknown)}"),
        (absent, f"never present in {noun}, so recall and F1 are undefined ({MISSING}) and {left_out(absent)}"),
        ([name for name in unpredicted if name not in absent], f"{not_in_verdicts}, so precision is 0 by convention"),
        ([name for name in unpredicted if name in absent], f"{not_in_verdicts}, so precision is undefined ({MISSING})"),
    )
    return [f"{join_names(names)}: {reason}." for names, reason in reasons if names]


def _flow(session: ProjectSession, evaluation: EvaluationReport, debate: DebateEffect, flip_table: FlipTable) -> None:
    against = reference_names(evaluation.reference).noun
    cells = f"{format_count(flip_table.cells, noun(evaluation.run))} against {against}"
    basis = evaluation.describe_basis(coverage.of_debate(session, evaluation.run, evaluation.reference))
    with layout.panel("Effect of the debate", cells, counted=basis, key="evaluate-flow"):
        # As high as the bars beside it, within limits.
        height = min(480, max(190, score_bars.ROW * (len(evaluation.scores.labels) + 2) - 66))
        flips.flip_flow(flip_table, debate.titles, summary(debate), height)


# -- scores of ratings


def _ratings(session: ProjectSession, evaluation: EvaluationReport) -> None:
    """Draw the tab Scores of a run that rates: dimensions, confusion matrix, raters and ROUGE-L."""
    basis = evaluation.describe_basis()
    with layout.panel(
        "Scores per dimension",
        "bias above 0: higher than the reference; alpha is ordinal",
        counted=basis,
        key="evaluate-table",
    ):
        dimension_table(evaluation.scores, evaluation.basis.units)
    _dimension_confusion(session, evaluation)
    labels = evaluation.scores.labels
    if evaluation.median is not None:
        with layout.panel("Scores per rater", "Spearman's correlation", key="evaluate-raters"):
            sides = {**evaluation.raters, "mean": evaluation.scores, "median": evaluation.median}
            columns = [{name: side.labels[name]["spearman"] for name in labels} for side in sides.values()]
            _dimensions([*sides, "agreement of the raters (alpha)"], [*columns, evaluation.agreement])
    if fields := evaluation.overlap:
        with layout.panel("ROUGE-L baseline", "word overlap, Spearman's correlation", key="evaluate-overlap"):
            heads = [f"with {field} (mean F1 {format_estimate(overlap.mean)})" for field, overlap in fields.items()]
            columns = [{name: overlap.labels[name]["spearman"] for name in labels} for overlap in fields.values()]
            own = {name: scores["spearman"] for name, scores in labels.items()}
            _dimensions([*heads, "this run"], [*columns, own])


def _dimensions(heads: Sequence[str], columns: Sequence[Mapping[str, Estimate]]) -> None:
    """Draw a table of estimates by dimension; each column has its estimates by the name of the dimension."""
    rows = [[name, *(estimate_html(column[name]) for column in columns)] for name in columns[0]]
    table(["Dimension", *heads], rows)


def _dimension_confusion(session: ProjectSession, evaluation: EvaluationReport) -> None:
    run, reference = evaluation.run, evaluation.reference
    noun = reference_names(reference).noun
    words = f"rows: {noun}, rounded; columns: verdict; {evaluation.row_shares}"
    with layout.panel("Confusion matrix", words, key="evaluate-meet"):
        label_id = pick(run.settings.codebook, key="evaluate-dimension", default=evaluation.first_scored)
        points = [format_rating(point) for point in run.settings.codebook.scale_of(label_id).points]
        matrix = rating_confusion(session, run, label_id, reference)
        layout.counted(coverage.on_item(session, run, label_id, reference).describe(reference))
        title = f"Confusion matrix {run.settings.codebook.label_names[label_id]}"
        charts.confusion_heatmap(matrix, points, noun, key=f"evaluate-confusion-{label_id}", title=title)


main()
