"""Results: what was collected, annotators against authors, predictivity, click rates, and the export."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any

import streamlit as st
from markupsafe import Markup

from app.state import state, with_default
from app.widgets.elements import download, job_progress, line, literal, running_job, table
from app.widgets.layout import panel
from app.widgets.metric_tables import DisplayedMetric, estimate_html, metric_strip, share_html
from core.formatting import MISSING, format_count, format_duration, format_number, format_percent, plural
from core.services.author_labelling import files, labelling, report
from core.services.background_jobs import OnStep
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.stats.intervals import Estimate, Interval, format_interval

ARMS = {"selector": "Selected labels", "keywords": "Keyword baseline"}


def draw(session: ProjectSession) -> None:
    results = report.author_report(session)
    collection = results.collection
    excluded = ", ".join(f"{count} {rule}" for rule, count in collection.excluded.items()) or "none excluded"
    seconds = format_duration(collection.seconds) if collection.seconds is not None else MISSING
    metric_strip(
        [
            DisplayedMetric("Texts", text=f"{collection.texts:,}", notes=(excluded,)),
            DisplayedMetric(
                "Questions", text=f"{collection.asked:,}", notes=(f"by {format_count(collection.authors, 'author')}",)
            ),
            *(
                DisplayedMetric(name, share, notes=(format_interval(share.interval),))
                for name, share in (("Completion", collection.completion), ("Abstentions", collection.abstention))
            ),
            DisplayedMetric("Time per answer", text=seconds, notes=("median, reading time included",)),
        ]
    )
    comparison_panel(session)
    left, right = st.columns((1.3, 1), gap="small")  # the tables are on the left
    with left:
        _labels(results)
        _clicks(results)
    with right:
        _predictivity(session, results)
        _export(session)


def _labels(results: report.AuthorReport) -> None:
    with panel("Labels", "what authors were asked", key="authors-features"):
        rows = [
            (
                feature.name,
                f"{feature.asked:,}",
                f"{feature.answered:,}",
                f"{feature.abstained:,}",
                share_html(feature.accuracy),
                format_number(feature.uncertainty, 2),
            )
            for feature in results.features
        ]
        table(("Label", "Asked", "Answered", "Abstained", "Predicted correctly", "Uncertainty"), rows)
        line("Abstentions are counted separately. They are not used as answers.")
        learned = [
            (feature.name, answer, ", ".join(words))
            for feature in results.features
            for answer, words in feature.keywords.items()
        ]
        if learned:
            with st.expander("Words that the predictors learned"):
                table(("Label", "Answer", "Words of its texts"), learned, text=("Answer", "Words of its texts"))


def comparison_panel(session: ProjectSession) -> None:
    """Draw the table of annotators against authors, and the button that lets a model answer, once authors have."""
    results = report.author_report(session)
    if not results.collection.answered:
        return
    with panel("Annotators against authors", "on the same questions", key="authors-comparison"):
        if results.groups:
            _groups(results)
        else:
            line("No annotator has answered these questions. Let a model answer, or a person under Answer for others.")
        copies = st.number_input(
            "Annotations per question",
            1,
            20,
            key=with_default("authors-copies", report.COPIES),
            width=240,
            help="By the model. For three models with one each, as in the paper, let each answer once.",
        )
        work = partial(report.annotate, copies=int(copies))
        _run(session, "Let a model answer", "authors-annotate", "new answer", report.ANNOTATION_JOB, work)


def _groups(results: report.AuthorReport) -> None:
    """Draw the tables of the groups of annotators, and for questions with several answers by their agreement."""
    rows = [
        (
            group.group,
            f"{group.labels:,}",
            f"{group.abstained:,}",
            f"{group.unresolved:,}",
            share_html(group.accuracy),
            estimate_html(group.kappa, 2),
            format_number(group.kl_meaning, 2),
            format_number(group.kl_position, 2),
            format_number(group.seconds, 1),
            report.format_answer_cost(group.cost_usd, group.seconds),
        )
        for group in results.groups
    ]
    counts = ("Annotators", "Labels", "Abstained", "Unresolved")
    measures = ("Accuracy", "Kappa", "KL meaning", "KL position", "Seconds per answer", "Cost per answer")
    table((*counts, *measures), rows, wide="Annotators against authors")
    strata = [
        (
            group.group,
            f"{stratum.agreeing} {plural(stratum.agreeing, 'agrees', 'agree')}",
            f"{stratum.questions:,}",
            share_html(stratum.accuracy),
        )
        for group in results.groups
        for stratum in group.strata
    ]
    if strata:  # questions with several answers
        with st.expander("By number of agreeing annotators"):
            table(("Annotators", "Agreement", "Questions", "Accuracy"), strata, text=("Agreement",))
    line(
        f"In brackets: 95% intervals over {results.unit}. KL divergences have none, as few questions bias them upwards."
    )


def _predictivity(session: ProjectSession, results: report.AuthorReport) -> None:
    if not results.groups and not results.predictivity:
        return
    with panel("Predictivity", "which earlier labels predict the next answer", key="authors-predictivity"):
        for test in reversed(results.predictivity):
            rows = [
                (
                    row.source,
                    f"{row.predictions:,}",
                    _share_markup(row.accuracy, row.interval),
                    format_percent(row.deviation, 1),
                    ", ".join(f"{n}: {format_percent(share)}" for n, share in row.by_same.items()),
                )
                for row in test.results
            ]
            heads = ("Earlier labels by", "Predictions", "Accuracy", "Std", "Same conversation")
            table(heads, rows, wide=f"Predictivity by {test.model}")
            line(f"Predicted by {test.model} {report.format_basis(test.answers, results.answers)}.")
        if results.predictivity:
            line(
                "From five earlier answers of the same author, three repeats. Last column: accuracy by how many of the "
                "five come from the same conversation, on too few predictions for intervals."
            )
        else:
            line("Not run yet. It predicts answers of authors who answered more than five questions.")
        job, work = report.PREDICTIVITY_JOB, report.run_predictivity
        _run(session, "Run the test", "authors-predict", "prediction", job, work)


def _share_markup(share: float | None, interval: list[float] | None) -> Markup:
    return share_html(Estimate(share, Interval(*interval) if interval else None))


def _run(
    session: ProjectSession, label: str, key: str, unit: str, name: str, work: Callable[..., Coroutine[Any, Any, int]]
) -> None:
    """Draw a choice of model and a button that starts work with it as the job ``name``, or the progress of the job."""

    def finish(count: int) -> None:
        state.set_notice("ok", f"The model gave {format_count(count, unit)}")

    job = running_job(session, name, finish)
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    specs = dict.fromkeys((planning.DEFAULT_ROLE_MODEL.spec, labelling.load_settings(session).model))
    is_running = job is not None
    model: dict[str, Any] = {"key": f"{key}-model", "accept_new_options": True, "disabled": is_running}
    spec = left.selectbox("Model", list(specs), **model)
    if job is not None:
        job_progress(job, key)
    if right.button(label, key=key, width="stretch", disabled=is_running):

        def start(report: OnStep) -> Future[int]:
            def report_with_model(share: float, step: str) -> None:
                report(share, f"{literal(str(spec))}: {step}")

            return session.engine.submit(work(session, str(spec), report=report_with_model))

        session.start_job(name, start, literal(str(spec)))
        st.rerun()


def _clicks(results: report.AuthorReport) -> None:
    with panel("Suggestions", "click-through rate, by day", key="authors-clicks"):
        if not any(row.impressions for row in results.clicks):
            line("Nothing was suggested yet. Suggestions need a catalogue (Settings) and the warm-up answers.")
            return
        rows = [
            (
                row.day or "All days",
                ARMS[row.arm],
                f"{row.impressions:,}",
                f"{row.clicks:,}",
                _share_markup(row.rate, row.interval),
            )
            for row in results.clicks
            if row.impressions or not row.day
        ]
        table(("Day (UTC)", "Chosen by", "Impressions", "Clicks", "Rate"), rows, text=("Chosen by",))
        line("Rates of one author, and of more clicks than impressions, have no interval.")


def _export(session: ProjectSession) -> None:
    with panel("Export", "answers with their provenance, masked", key="authors-export"), st.container(horizontal=True):
        for suffix in (".csv", ".jsonl"):
            content, name = partial(files.export_labels, session, suffix), f"{session.name}-authors{suffix}"
            download(f"Download {suffix[1:]}", content, name, key=f"authors-download-{suffix}")
