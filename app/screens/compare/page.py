"""Compare page: scores, differences per document, and costs of several runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app import context
from app.pages import PageName
from app.state import state
from app.widgets import charts, layout
from app.widgets.document_drawer import DOCUMENTS_PER_PAGE, document_drawer, document_list, excerpt
from app.widgets.elements import choose, download, facts, line, literal, sentences, table
from app.widgets.metric_tables import estimate_data, estimate_html
from app.widgets.run_picker import baseline_models, latent_truth_note, reference_picker, run_differences, run_words
from core import csv_text
from core.codebook import Kind, are_comparable, label_noun
from core.debate import protocols
from core.documents import Reference
from core.formatting import (
    MISSING,
    format_count,
    format_number,
    format_p_value,
    format_percent,
    format_points,
    format_price,
    join_names,
    plural,
)
from core.runs import RunRow
from core.services.evaluation import annotation_arrays, run_comparison
from core.services.evaluation.reference import available_references
from core.services.evaluation.run_comparison import (
    OUTCOMES,
    ComparedRun,
    Comparison,
    Outcomes,
    comparison_report,
    name_in_sentence,
)
from core.services.project_session import ProjectSession
from core.stats.comparison import Pair, rule
from core.stats.flips import Outcome
from core.stats.intervals import format_estimate
from core.stats.metrics import Metric, main_metric, metrics
from core.stats.significance import McNemar

CHANGED: tuple[Outcome, ...] = ("regressed", "mixed", "corrected")
WORDS: dict[Outcome, str] = {
    "regressed": "Regressed",
    "mixed": "Both",
    "corrected": "Corrected",
    "wrong": "Still wrong",
    "right": "Still right",
}


def main() -> None:
    session = context.require_project()
    all_runs = annotation_arrays.ranked_runs(session)
    runs = [run for run in all_runs if run.verdicts]
    if len(runs) < 2:
        _empty_page(len(all_runs), len(runs))
        return
    viewed = _viewed(runs)
    comparable = _comparable(runs, viewed)
    is_alone = len(comparable) < 2
    if is_alone:  # offer other runs, because the selector could not leave this one
        comparable = next((group for run in runs if len(group := _comparable(runs, run)) > 1), comparable)
    with layout.header("Compare", "all runs are compared with the first one", key="compare-head"):
        selected = _runs(comparable, comparable[0] if is_alone else viewed)
    _baselines(selected)
    if is_alone:
        line(f"No other run has the same labels as “{viewed.title}”.")
    if len(selected) < 2:
        st.caption("Choose a second run of the same codebook.")
        return
    ids = tuple(run.run_id for run in selected)
    references = available_references(session, selected[0].run_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="compare-basis"):
        offered = {name: count for name, count in references.items() if not name.startswith("run:")}
        reference = reference_picker(offered)
        margin = _margin()
    comparison = run_comparison.comparison(session, ids, reference, margin)
    latent_truth_note(session, selected[0], reference)
    with st.container(horizontal=True, vertical_alignment="center", key="compare-summary"):
        with st.container(width="stretch"):
            sentences(*_summary(comparison))
        _downloads(session, ids, reference, comparison, margin)
    pair = _select_pair(selected, comparison)
    compared = [session.run(id) for id in (pair.first, pair.second)]
    basis = comparison.coverage.describe(reference)
    left, right = st.columns([1.5, 1], gap="small")
    with right:
        with layout.panel("Settings that differ", key="compare-settings"):
            run_differences(selected)
        _cost(comparison, basis)
        _significance(pair, selected[0].settings.codebook.kind)
        title = f"{compared[1].title} against {compared[0].title}"
        label = _label_differences(pair, selected[0].settings.codebook.kind, basis, title)
    with left:
        _score_table(comparison)
        _documents(session, run_comparison.outcomes(comparison, pair), label, basis)
    document_drawer(session, compared, selected[0].settings.codebook, key="compare-drawer")


def _empty_page(runs: int, with_verdict: int) -> None:
    words = "Two runs on the same documents can be compared: another protocol, model or prompt."
    if runs > 1:
        words += f" {with_verdict} of {runs} runs {plural(with_verdict, 'has', 'have')} a verdict."
    pages: dict[str, PageName] = {"Open Run": "run"} if runs else {}
    layout.empty_page("Compare", "Nothing to compare yet", words, pages, sign="bars")


def _baselines(selected: Sequence[RunRow]) -> None:
    """Draw which runs use built-in models."""
    baselines = [baseline_models(run) for run in selected]
    if len({*baselines}) == 1:
        line(baselines[0] and f"All runs: {baselines[0]}")
    else:
        pairs = zip(selected, baselines, strict=True)
        line("; ".join(f"{run.title}: {models}" for run, models in pairs if models not in run.title))


def _margin() -> float | None:
    """Draw the input of the equivalence margin, and return it, None without one."""
    chosen = st.session_state.get("compare-margin")
    with st.popover(f"Equivalence margin: {chosen:g}" if chosen else "Equivalence margin", key="compare-equivalence"):
        points = st.number_input(
            "Equivalence margin, points",
            0.5,
            50.0,
            None,
            0.5,
            key="compare-margin",
            width=240,
            placeholder="none",
            help="A difference of the main score up to this margin does not matter to you. Tests whether the runs "
            "are equivalent, or whether the second one is not inferior.",
        )
    return points / 100 if points else None


def _viewed(runs: Sequence[RunRow]) -> RunRow:
    """Return the first selected run, else the run last viewed, else the best run."""
    by_id = {run.run_id: run for run in runs}
    selected = [by_id[id] for id in state.compare.runs if id in by_id]
    return selected[0] if selected else by_id.get(state.run_id or "", runs[0])


def _comparable(runs: Sequence[RunRow], viewed: RunRow) -> list[RunRow]:
    """Return the runs with the same labels as a run, which is one of them."""
    codebook = viewed.settings.codebook
    return [run for run in runs if are_comparable(run.settings.codebook, codebook)]


def _runs(comparable: Sequence[RunRow], viewed: RunRow) -> list[RunRow]:
    """Show the run selector and return the selected runs.

    The default selection is the viewed run and one other run: if possible on as many documents (not a pilot), and from
    another experiment.
    """
    by_id = {run.run_id: run for run in comparable}
    default = [id for id in state.compare.runs if id in by_id]
    if not default:
        others = [run for run in comparable if run.run_id != viewed.run_id]
        others.sort(key=lambda run: (run.documents < viewed.documents, run.experiment_id == viewed.experiment_id))
        default = [*(run.run_id for run in others[:1]), viewed.run_id]
    ids = st.multiselect(
        "Runs",
        list(by_id),
        default=default,
        format_func=lambda id: run_words(by_id[id]),
        max_selections=run_comparison.MAX_COMPARED,
        label_visibility="collapsed",
        placeholder="Runs of one codebook",
        key="compare-runs",
        width=620,
    )
    state.compare.runs = tuple(ids)
    layout.write_url(runs=",".join(ids) or None)
    return [by_id[id] for id in ids]


def _downloads(
    session: ProjectSession, ids: Sequence[str], reference: Reference, comparison: Comparison, margin: float | None
) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", width="content"):
        name = f"{session.name}-{'-'.join(ids)}"

        def report() -> str:
            return json.dumps(comparison_report(session, ids, reference, margin), indent=2, ensure_ascii=False)

        download("JSON", report, f"{name}.json", type="tertiary", key="compare-json")

        def scores() -> str:
            return csv_text.to_csv(_score_rows(comparison))

        download("CSV", scores, f"{name}.csv", type="tertiary", key="compare-csv")


def _select_pair(selected: Sequence[RunRow], comparison: Comparison) -> Pair:
    """Show a selector if there are several pairs, and return the selected pair."""
    second = selected[1].run_id
    if len(comparison.pairs) > 1:
        titles = {run.run_id: literal(f"{run.title} against {selected[0].title}") for run in selected[1:]}
        name = "Compared pair of runs"
        second = choose(st.pills, name, titles, default=second, required=True, key="compare-second")
    return next(pair for pair in comparison.pairs if pair.second == second)


@st.fragment
def _documents(session: ProjectSession, outcomes: Outcomes, label: str, basis: str) -> None:
    """Draw the documents by outcome, only those on ``label`` if one is clicked."""
    counts = outcomes.counts
    words = f"on {label}" if label in outcomes.names else ""
    with layout.panel("Documents", words, counted=basis, key="compare-documents"):
        kinds = choose(
            st.pills,
            "Outcomes of documents",
            {kind: f"{WORDS[kind]} {counts[kind]:,}" for kind in OUTCOMES},
            default=[kind for kind in CHANGED if counts[kind]] or ["wrong"],
            selection_mode="multi",
            key="compare-kinds",
        )
        rows, total = run_comparison.outcome_page(session, outcomes, kinds, label=label, limit=DOCUMENTS_PER_PAGE)
        if not rows:
            st.caption("No document. Choose another outcome above, or click the label again to see all.")
            return
        more = f", the first {DOCUMENTS_PER_PAGE} shown" if total > DOCUMENTS_PER_PAGE else ""
        document_list(
            [
                {
                    "id": row.document_id,
                    "excerpt": excerpt(row.text),
                    "corrected": row.corrected,
                    "regressed": row.regressed,
                }
                for row in rows
            ],
            title="Id",
            note=f"{format_count(total, 'document')}{more}; + corrected, − regressed",
            listing=", ".join(WORDS[kind] for kind in kinds),
            key="compare-cases",
        )


RUN_ROWS: dict[str, tuple[Callable[[ComparedRun], float | None], Callable[[float | None], str]]] = {
    "documents": (lambda column: column.scores.n, lambda value: f"{value or 0:,.0f}"),
    "unresolved or failed, of the whole run": (
        lambda column: (column.run.unresolved + column.run.failed) / column.run.ended if column.run.ended else None,
        format_percent,
    ),
    "full cost per verdict": (lambda column: column.cost["usd_per_verdict"], format_price),
    "full tokens per verdict": (
        lambda column: column.cost["tokens_per_verdict"],
        lambda value: MISSING if value is None else f"{value:,.0f}",
    ),
    "seconds per verdict": (lambda column: column.cost["seconds_per_verdict"], lambda value: format_number(value, 2)),
}
"""Rows of the table below the metrics: the value of a run, and the value as text."""


def _summary(comparison: Comparison) -> list[str]:
    titles = {column.run.run_id: name_in_sentence(column.run) for column in comparison.columns}
    lines = [pair.sentence for pair in comparison.pairs]
    lines += [f"{titles[pair.second]}: {pair.equivalence.sentence}" for pair in comparison.pairs if pair.equivalence]
    if comparison.cochran is not None:
        lines.append(replace(comparison.cochran, names=tuple(titles[id] for id in comparison.cochran.names)).sentence())
    return lines


def _score_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the table: metrics as rows, runs and the ends of the intervals as columns."""
    columns = {column.run.run_id: column for column in comparison.columns}
    lines: list[dict[str, Any]] = []
    for metric in _defined_metrics(comparison):
        line: dict[str, Any] = {"metric": metric.name}
        for id, column in columns.items():
            line |= estimate_data(column.scores[metric.key], id, f"{id}_")
        lines.append(line)
    return lines + [
        {"metric": name, **{id: value(column) for id, column in columns.items()}}
        for name, (value, _) in RUN_ROWS.items()
    ]


def _defined_metrics(comparison: Comparison) -> list[Metric]:
    return [
        metric
        for metric in metrics(comparison.columns[0].scores.kind)
        if any(column.scores[metric.key].value is not None for column in comparison.columns)
    ]


def _score_table(comparison: Comparison) -> None:
    rows = [
        [metric.name, *(estimate_html(column.scores[metric.key]) for column in comparison.columns)]
        for metric in _defined_metrics(comparison)
    ]
    rows += [
        [name.capitalize(), *(form(value(column)) for column in comparison.columns)]
        for name, (value, form) in RUN_ROWS.items()
    ]
    subtitle = "on the same documents for every run, with 95% intervals"
    with layout.panel("Scores", subtitle, key="compare-columns"):
        table(["Metric", *(column.run.title for column in comparison.columns)], rows, wide="Scores")


def _cost(comparison: Comparison, basis: str) -> None:
    """Draw quality and cost; ``basis`` describes the shared documents, on which the quality of each run is measured."""
    unit = comparison.columns[0].unit
    subtitle, help = "green: no other run scores as well at a lower cost", charts.FULL_COST
    with layout.panel("Quality and cost", subtitle, counted=basis, help=help, key="compare-cost"):
        rows = [
            {
                "name": column.run.title,
                "cost": column.cost[f"{unit}_per_verdict"],
                **estimate_data(column.scores.main, "quality"),
                "efficient": column.efficient,
                "group": 1,
                "words": protocols.short_title(column.run.settings),
            }
            for column in comparison.columns
        ]
        metric = main_metric(comparison.columns[0].scores.kind)
        charts.frontier(rows, key="compare-frontier", unit=unit, quality=metric.name)


def _label_differences(pair: Pair, kind: Kind, basis: str, title: str) -> str:
    """Draw differences per label with intervals and return the clicked label; ``basis`` describes the documents."""
    measure, noun = "share off by less than a point" if kind == "rating" else "F1", label_noun(kind)
    drawn, without = [], []
    for test in pair.labels:
        value, interval = test.difference.value, test.difference.interval
        if value is None:
            without.append(test.name)
            continue
        ends = (interval.low, interval.high) if interval else (value, value)
        points = {name: 100 * share for name, share in zip(("value", "low", "high"), (value, *ends), strict=True)}
        words = f"{format_points(value)}{'' if test.verdict in ('none', 'unknown') else ' *'}"
        tone = {"better": "right", "worse": "wrong"}.get(test.verdict, "")
        drawn.append({"name": test.name, **points, "words": words, "tone": tone})
    subtitle = f"difference in {measure}, 95% interval"
    help = f"Click a {noun} to list its documents. Colour and asterisk mark a significant difference: {rule(kind)}"
    with layout.panel(title, subtitle, counted=basis, help=help, key="compare-labels"):
        if not drawn:
            st.caption(f"No {noun} is present in the reference of the shared documents.")
            return ""
        unit = f"difference in {measure}, points"
        picked = charts.forest(drawn, key=f"compare-forest-{pair.second}", title=title, unit=unit)
        if without:
            line(f"Not shown, as {measure} is undefined in at least one run: {join_names(without)}.", "q xs")
        return picked


def _significance(pair: Pair, kind: Kind) -> None:
    gained, lost = pair.documents.only_second, pair.documents.only_first
    excluded = f", {pair.scores.excluded:,} excluded" if pair.scores.excluded else ""
    # Ratings are right less than a point off; "Exact match" in the scores is stricter.
    right = "Right on all dimensions in one run only" if kind == "rating" else "Exact matches of one run only"
    main_p = format_p_value(pair.main.adjusted) if pair.main.p is not None else MISSING
    results = [
        ("Shared documents with a reference", f"{pair.scores.n:,}{excluded}"),
        (right, f"{gained:,} gained, {lost:,} lost"),
        ("McNemar's test on documents", _mcnemar_words(pair.documents)),
        ("Test of the main score", main_p),
    ]
    if pair.documents.groups is not None:
        results.append(("Independent groups", f"{pair.documents.groups:,}"))
    if pair.equivalence is not None:
        results.append(("Equivalence", pair.equivalence.sentence))
    if (odds := pair.documents.odds_ratio()).value is not None:
        results.append(("Odds ratio, gained to lost documents", format_estimate(odds, digits=2)))
    over = [test.sentence().rstrip(".") for test in (pair.paired, pair.welch) if test is not None]
    results += [("Over iterations, in points", words) for words in over]
    if pair.effect_size is not None:
        results.append(("Hedges' g over iterations", format_number(pair.effect_size, 2)))
    help = "Runs with two or more iterations also have t-tests over iterations."
    if pair.welch is not None:
        help = (
            "Iterations of different runs are independent: if the t-tests differ, use Welch's. Hedges' g restates "
            "their difference in standard deviations, without an interval of its own."
        )
    with layout.panel("Significance", help=help, key="compare-tests"):
        facts(results)


def _mcnemar_words(test: McNemar) -> str:
    if test.p is None:
        return "none for a sample: selection favours some errors" if test.n else "no document to compare"
    verdict = f"a significant {test.direction}" if test.significant() else "not significant"
    return f"{format_p_value(test.p)} (exact): {verdict}"


main()
