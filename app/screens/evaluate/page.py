"""Evaluate: a run against gold or against what people settled."""

from __future__ import annotations

import json

import streamlit as st

from app import context
from app.pages import open_page
from app.screens.evaluate import by_ambiguity, charts, debate_effect, deeper, panel_ablation, ratings
from app.state import EvaluateState, state
from app.widgets import confusion_drilldown, debate_flow, empty_state, layout
from app.widgets.metrics import Metric, MetricNote, interval_words, numbers
from app.widgets.run_picker import run_date, run_picker, selected_run
from core.runs import RunRow
from core.services.evaluation import coverage, drift, evaluate, evaluated, html_report, references, reports, stages
from core.services.evaluation import debate_effect as worth
from core.services.evaluation.grids import Reference
from core.services.evaluation.scoring import Evaluation
from core.services.session import ProjectSession

AT_A_GLANCE = 3  # truths that are shown side by side; more go into a list


def main() -> None:
    """Draw the screen."""
    session = context.current_project()
    runs = drift.ranked_runs(session) if session is not None else []
    if session is None or not runs:
        layout.header("Evaluate")
        if empty_state.empty(
            "No run to evaluate",
            "When a run has verdicts, this page says how right they are and what the debate changed.",
            ["Open Run"],
            sign="bars",
            key="evaluate-none",
        ):
            open_page("run")
        return
    run = selected_run(runs, key="evaluate-run")
    version = f", codebook v{run.settings.codebook_version}" if run.settings.codebook_version else ""
    right = layout.header("Evaluate", f"{session.run_name(run.run_id)}{version}, {run_date(run)}", key="evaluate-head")
    with right:
        run_picker(runs, key="evaluate-run")
    known = evaluate.references(session, run.run_id)
    with right:
        reference = _reference_switch(known)
    if not known[reference]:
        _no_reference(session, known)
        return
    with right:
        _report(session, run, reference)
    rating = run.settings.codebook.kind == "rating"
    if rating:
        ratings.key_numbers(session, run, reference)
    else:
        scores = evaluated.evaluation(session, run, reference)
        _numbers(scores)
        if not scores.n:
            _nothing_counts(scores)
            return
    view = st.segmented_control(
        "what to look at",
        list(EvaluateState.TABS),
        default="scores",
        format_func=EvaluateState.TABS.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=EvaluateState.tab.key,
        persist_state="session",
    )
    layout.write_url(tab=view)
    match view:
        case "debate":
            told = evaluated.debate(session, run, reference)
            panel_ablation.groups(session, run, reference)
            debate_effect.worth(told, worth.noun(run), stages.role_titles(run), _counted(session, run, reference))
        case "errors":
            deeper.errors(session, run, reference, confusion_drilldown.case)
        case "stability":
            deeper.repeated(session, run, reference)
            by_ambiguity.apart(session, run, reference)
        case "models":
            deeper.role_models_and_people(session, run, reference)
        case _ if rating:
            ratings.dimensions(session, run, reference)
        case _:
            found = evaluated.evaluation(session, run, reference)
            _bars_and_flow(session, found)
            confusion_drilldown.behind(session, found)
    session.prefetcher.work(lambda: evaluated.rest(session, run, reference))


def _reference_switch(known: dict[Reference, int]) -> Reference:
    wanted = evaluated.usual(known, state.evaluate.reference)
    names = list(known)

    def words(name: Reference) -> str:
        return f"{references.of(name).title} {known[name]:,}"

    if len(names) <= AT_A_GLANCE:
        chosen = st.segmented_control(
            "against",
            names,
            default=wanted,
            format_func=words,
            label_visibility="collapsed",
            required=True,
            key="evaluate-truth",
        )
    else:
        chosen = st.selectbox(
            "against",
            names,
            index=names.index(wanted),
            format_func=lambda name: f"against {words(name)}",
            label_visibility="collapsed",
            width=230,
            key="evaluate-truth-list",
        )
    state.evaluate.reference = chosen
    layout.write_url(reference=chosen)
    return chosen


def _no_reference(session: ProjectSession, known: dict[Reference, int]) -> None:
    del session
    other = "nothing is reviewed yet" if not known["reviewed"] else "this run's documents are not among the reviewed"
    pressed = empty_state.empty(
        "No truth to compare with",
        f"The file has no gold column for these documents and {other}. "
        "About 30 reviewed documents give a first figure.",
        ["Review 30", "Map a gold column"],
        sign="bars",
        key="evaluate-no-truth",
    )
    if pressed == "Review 30":
        open_page("review")
    elif pressed:
        open_page("data")


def _nothing_counts(found: Evaluation) -> None:
    """No document has both a verdict and truth: every chart would be empty."""
    noun = references.of(found.reference).noun
    pressed = empty_state.empty(
        "No verdict to score",
        f"No document of this run has both a verdict and {noun}. What is unresolved can be decided in Review; a run "
        "with other seats or definitions may resolve it.",
        ["Open Review", "Open Run"],
        sign="bars",
        key="evaluate-nothing",
    )
    if pressed:
        open_page("review" if pressed == "Open Review" else "run")


def _report(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Download the numbers. The file is made when it is asked for."""
    with st.popover("Report", icon=":material/download:"):
        name = f"{session.name}-{run.run_id}-{reference}"
        st.download_button(
            "JSON",
            lambda: json.dumps(reports.full(session, run.run_id, reference, errors=True), indent=2, ensure_ascii=False),
            f"{name}.json",
            "application/json",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "CSV",
            lambda: evaluate.as_csv(reports.scored(session, run.run_id, reference)),
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "A page to print",
            lambda: html_report.page(session, run.run_id, reference),
            f"{name}.html",
            "text/html",
            on_click="ignore",
            width="stretch",
        )


def _numbers(found: Evaluation) -> None:
    out = found.left_out
    reference = references.of(found.reference).noun
    reasons = [
        MetricNote("by the debate", f"{out.unresolved:,} unresolved", "unres") if out.unresolved else None,
        MetricNote("at the provider", f"{out.failed:,} failed", "wrong") if out.failed else None,
        MetricNote("for their debate", f"{out.waiting:,} wait") if out.waiting else None,
        MetricNote("words to the codebook", f"{out.examples:,} lent") if out.examples else None,
        MetricNote(f"{_documents(out.without_reference)} no {reference}") if out.without_reference else None,
    ]
    lines = tuple(line for line in reasons if line is not None)
    right = _joined(f"{found.exact_count:,} of {found.n:,}", interval_words(found.exact))
    figures = [
        Metric("Macro F1", found.macro.f1, lines=(MetricNote(interval_words(found.macro.f1, named=True)),)),
        Metric("Micro F1", found.micro.f1, lines=(MetricNote(interval_words(found.micro.f1)),)),
        Metric(
            "Label accuracy",
            found.accuracy,
            lines=(MetricNote(_joined(interval_words(found.accuracy), f"{found.cells:,} labels")),),
        ),
        Metric(f"All {len(found.labels)} right", found.exact, lines=(MetricNote(right),)),
    ]
    if found.run.settings.codebook.kind == "choice":
        figures = [Metric("Accuracy", found.exact, lines=(MetricNote(right),)), figures[0]]
    left = Metric(
        "Left out", text=f"{out.excluded + out.examples:,}", lines=lines or (MetricNote("Every document counts."),)
    )
    numbers([*figures, left], key="evaluate-numbers")


def _documents(count: int) -> str:
    return "1 document has" if count == 1 else f"{count:,} documents have"


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _counted(session: ProjectSession, run: RunRow, reference: Reference) -> debate_effect.CountedOn:
    return debate_effect.CountedOn(
        *(
            coverage.words(of(session, run, reference), reference)
            for of in (coverage.of_run, coverage.of_debate, coverage.of_rounds)
        )
    )


def _bars_and_flow(session: ProjectSession, found: Evaluation) -> None:
    if found.flip_table is not None:
        left, right = st.columns([1.06, 1], gap="small")
    else:
        left, right = st.container(), None
    told = "the mark is the value, the light part its 95% interval"
    on = coverage.words(coverage.of_run(session, found.run, found.reference), found.reference)
    with left, layout.panel("Per label", told, counted=on, key="evaluate-bars") as head:
        with head:
            layout.role_legend({role.role: role.title for role in charts.others(found)})
        charts.score_bars(found, key="evaluate-scores")
    if found.flip_table is not None and right is not None:
        cells_in = f"{found.flip_table.cells:,} {worth.noun(found.run)}s"
        on = coverage.words(coverage.of_debate(session, found.run, found.reference), found.reference)
        with right, layout.panel("What did the debate change?", cells_in, counted=on, key="evaluate-flow"):
            # As high as the bars beside it, but for the sentence, where these are not endless.
            height = min(480, max(190, charts.ROW * (len(found.labels) + 2) - 66))
            debate_flow.flow(found.flip_table, found.titles, found.told, height=height, key="evaluate-ribbons")


main()
