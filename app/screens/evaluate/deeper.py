"""The views of Evaluate that go deeper: errors, stability, people and seats. Each is worked out when looked at."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app.pages import open_page
from app.screens.evaluate import error_analysis, model_recommendations, stability
from app.state import state
from app.widgets import confusion, layout
from app.widgets.labels import pick
from core.debate.protocols import family
from core.runs import RunRow
from core.services.evaluation import alt_test, coverage, drift, evaluated, repeated_runs
from core.services.evaluation.error_analysis import Mistake, documents
from core.services.evaluation.grids import Reference
from core.services.evaluation.model_recommendations import suggestions
from core.services.session import ProjectSession

SHOWN = 50  # documents that are listed at a time
ALL, STEADY = "All", "In every iteration"


@st.fragment
def errors(
    session: ProjectSession, run: RunRow, reference: Reference, show: Callable[[ProjectSession, RunRow, str], None]
) -> None:
    """One label's errors, the documents behind them, and the one picked, which ``show`` draws."""
    codebook = run.settings.codebook
    labels = {label.id: label.name for label in codebook.labels}
    chosen = pick(codebook, key="errors-label")
    told = evaluated.errors(session, run, chosen, reference)
    side, word = error_analysis.findings(told, codebook.kind, reference)
    on = coverage.words(told.counted, reference)
    among = f"“{word}” stands in them" if word else ""
    with layout.panel("Documents", among, counted=on, key="errors-documents") as head:
        with head:
            only = ALL
            if told.iterations > 1:
                only = st.segmented_control(
                    "which", [ALL, STEADY], default=ALL, required=True, label_visibility="collapsed", key="errors-only"
                )
            if st.button("Change the definition", key="errors-define", icon=":material/edit:", type="tertiary"):
                state.codebook.select_label(chosen)
                open_page("codebook")
        found, total = documents(
            session, run, chosen, reference, side=side, consistent=only == STEADY, word=word, limit=SHOWN
        )
        if not found:
            st.caption(f"No document is wrong so on {labels[chosen]}.")
            return
        more = f", the first {SHOWN} shown" if total > SHOWN else ""
        confusion.cases(
            [_line(row) for row in found],
            head=labels[chosen],
            told=f"{total:,} {'document' if total == 1 else 'documents'}, wrong most often first{more}",
            picked=state.evaluate.document,
            key="errors-cases",
            on_document=_clicked,
        )
    shown = state.evaluate.document
    if shown is not None:
        show(session, run, shown)


def _line(row: Mistake) -> dict[str, str]:
    words = [*(f"[{tag}]" for tag in row.tags), confusion.excerpt(row.text)]
    return {"id": row.document_id, "excerpt": " ".join(words)}


def _clicked() -> None:
    clicked = st.session_state["errors-cases"]["document"]
    if clicked:
        state.evaluate.document = str(clicked)


def repeated(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """What the iterations say."""
    told = evaluated.repeated(session, run, reference)
    if told is None:
        st.caption("No iteration has a verdict yet.")
        return
    sure = evaluated.certain(session, run, reference)
    each = coverage.together([coverage.of_run(session, row, reference) for row in repeated_runs.siblings(session, run)])
    stability.stability(told, sure, run.settings.codebook, coverage.words(each, reference), reference)


def role_models_and_people(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Who suits which seat, whether the model may replace the people, and drift."""
    left, right = st.columns([1.2, 1], gap="small")
    with left:
        found = evaluated.resolve(session, run, reference)
        if found:
            pooled = [
                coverage.of_run(session, row, reference) for row in evaluated.pooled(session, run) if row.verdicts
            ]
            on = coverage.words(coverage.together(pooled), reference)
            model_recommendations.role_models(
                found, suggestions(found, [family(role) for role in run.settings.role_models]), on
            )
    people_panel = layout.panel("May the model replace the people?", "alternative annotator test", key="who-replace")
    with right if found else left, people_panel:
        chosen = st.segmented_control(
            "people",
            list(model_recommendations.PEOPLE),
            default="trained",
            format_func=model_recommendations.PEOPLE.__getitem__,
            required=True,
            label_visibility="collapsed",
            key="who-people-are",
        )
        test = evaluated.replaced(session, run, chosen)
        model_recommendations.replace(test, coverage.words(alt_test.counted_by(session, run)))
    with right:
        drifted = drift.drifts(session, run)
        on = coverage.words(coverage.together([one.counted for one in drifted])) if drifted else ""
        with layout.panel("Drift", "canary documents, asked again", counted=on, key="who-drift") as head:
            with head:
                if run.verdicts and st.button("Run canaries", key="who-canaries", icon=":material/replay:"):
                    made = drift.again(session, run)
                    session.start_or_resume(made.run_id)
                    state.set_notice("ok", f"{made.documents} canaries are asked again", f"As run {made.run_id}.")
                    st.rerun()
            model_recommendations.drift(drifted)
        if not found:
            st.caption("Seats are advised for multilabel runs with verdicts.")
