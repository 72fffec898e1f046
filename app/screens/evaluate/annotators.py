"""The tab Annotators and models: model recommendations, the alternative annotator test, and drift."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from markupsafe import Markup

from app.state import ReviewState, run_slow, state
from app.widgets import charts, layout
from app.widgets.elements import button, facts, line, table
from app.widgets.metric_tables import estimate_data, share_html
from core.documents import Reference
from core.formatting import format_count, format_p_value
from core.runs import RunRow
from core.services.evaluation import alt_test, coverage, model_drift
from core.services.evaluation.model_recommendations import (
    ModelScores,
    Recommendation,
    comparable_runs,
    model_scores,
    recommend_models,
    roles_by_sentence,
)
from core.services.project_session import ProjectSession
from core.services.review.agreement import rater_agreement
from core.stats.alt_test import EPSILONS, Alternative, People

TEST_HELP = (
    "Each person is left out in turn, and the remaining people are the reference. Model: share of the n documents on "
    "which the model agrees with them at least as well as the person left out. Person: the same for that person "
    "against the model; ties count for both. p: chance of such a result if the model were worse than the allowance. "
    "Replaceable: p is small enough, corrected for several people."
)
PEOPLE: dict[People, str] = {"experts": "experts", "trained": "trained annotators", "crowd": "crowd workers"}


def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    rows = comparable_runs(session, run)
    results = model_scores(session, rows, reference)
    scored = {result.run_id for result in results}
    coverages = [coverage.of_run(session, row, reference) for row in rows if row.run_id in scored]
    basis = coverage.merge(coverages).describe(reference) if coverages else ""
    left, right = st.columns([1, 1.2], gap="small")
    with left:
        _recommendations(results, recommend_models(session, rows, tuple(run.settings.role_models), reference), basis)
    with right:
        subtitle = "can the model replace human annotators?"
        with layout.panel("Alternative annotator test", subtitle, help=TEST_HELP, key="models-alt-test"):
            kind = st.selectbox(
                "The annotators are",
                list(PEOPLE),
                index=1,
                format_func=PEOPLE.__getitem__,
                key="models-people-kind",
                help="The model may be worse than a person by this share of the documents, because it costs less: "
                + ", ".join(f"{EPSILONS[kind]:g} for {name}" for kind, name in PEOPLE.items()),
            )
            test = alt_test.may_replace(session, run, EPSILONS[kind])
            shared = rater_agreement(session, run).documents
            _alternative_test(test, alt_test.describe_coverage(session, run), shared)
        _drift(session, run)


def _recommendations(results: Sequence[ModelScores], advised: Sequence[Recommendation], basis: str) -> None:
    subtitle = "macro scores of each model's own lists, in its latest run with this codebook" if results else ""
    with layout.panel("Model per role", subtitle, counted=basis, key="models-roles"):
        rows = [
            {
                "name": result.spec,
                "role": result.role,
                "title": result.title,
                "run": result.run_id,
                **estimate_data(result.scores["macro_precision"], "precision", "precision_"),
                **estimate_data(result.scores["macro_recall"], "recall", "recall_"),
                "n": result.scores.n,
            }
            for result in results
            if result.scores["macro_precision"].value is not None and result.scores["macro_recall"].value is not None
        ]
        if rows:
            charts.draw(charts.scatter(rows), rows, key="models-profiles", title="Model per role")
        for sentence, titles in roles_by_sentence(advised).items():
            line(Markup("<b>{}:</b> {}").format(titles, sentence))


def _open_agreement() -> None:
    ReviewState.view.set("Agreement")
    state.next_page = "review"


def _alternative_test(test: Alternative, basis: str, shared: int) -> None:
    """Draw the test; without it a link to the agreement of the raters, if they share documents."""
    line(test.sentence)
    if not test.people and shared:
        help = "Review, Agreement: kappa and alpha of the raters in the gold"
        button("Agreement of the raters", "models-raters", _open_agreement, icon="balance", type="tertiary", help=help)
    if test.people:
        layout.counted(basis)
        rows = [
            [
                row.person,
                f"{row.n:,}",
                share_html(row.model_wins, 0),
                share_html(row.person_wins, 0),
                format_p_value(row.p),
                "yes" if row.replaceable else "no",
            ]
            for row in test.people
        ]
        table(["Person left out", "n", "Model", "Person", "Significance", "Replaceable"], rows, text=["Replaceable"])


def _drift(session: ProjectSession, run: RunRow) -> None:
    drifts = model_drift.drifts(session, run)
    basis = coverage.merge([drift.counted for drift in drifts]).describe() if drifts else ""
    with layout.panel("Drift", "canary documents, repeated later", counted=basis, key="models-drift") as head:
        with head:
            if run.verdicts:
                repeat = partial(run_slow, _repeat_canaries, session, run)
                button("Check for drift", "models-canaries", state.once, "drift", repeat, icon="replay")
        if not drifts:
            st.caption(
                "Providers can change a model without notice. Repeat some documents from time to time: a change beyond "
                "the difference between iterations is drift."
            )
            return
        facts(((f"Canary {number}", drift.sentence) for number, drift in enumerate(drifts, 1)), text=True)


def _repeat_canaries(session: ProjectSession, run: RunRow) -> None:
    canary_run = model_drift.start_canary_run(session, run)
    session.start_or_resume(canary_run.run_id)
    started = f"{format_count(canary_run.documents, 'canary document')} started"
    state.set_notice("ok", started, f"In the run {canary_run.title}.")
