"""The views of Evaluate that go deeper: errors, stability, people and seats. Each is worked out when looked at."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from app import prepare, state
from app.views import panel
from app.views.evaluate import confusion, error_analysis, stability, who
from app.views.labels import pick
from core.debate.protocols import family
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import advice, counted, drift, evaluated, mistakes, people, repeats
from core.studio.evaluation.grids import Truth

SHOWN = 50  # documents that are listed at a time
ALL, STEADY = "All", "In every iteration"


@st.fragment
def errors(desk: Desk, run: RunRow, truth: Truth, show: Callable[[Desk, RunRow, str], None]) -> None:
    """One label's errors, the documents behind them, and the one picked, which ``show`` draws."""
    codebook = run.settings.codebook
    labels = {label.id: label.name for label in codebook.labels}
    chosen = pick(codebook, key="errors-label")
    told = evaluated.errors(desk, run, chosen, truth)
    side, word = error_analysis.findings(told, codebook.kind, truth)
    on = counted.words(told.counted, truth)
    among = f"“{word}” stands in them" if word else ""
    with panel.panel("Documents", among, counted=on, key="errors-documents") as head:
        with head:
            only = ALL
            if told.iterations > 1:
                only = st.segmented_control(
                    "which", [ALL, STEADY], default=ALL, required=True, label_visibility="collapsed", key="errors-only"
                )
            if st.button("Change the definition", key="errors-define", icon=":material/edit:", type="tertiary"):
                prepare.edit_label(chosen)
                st.switch_page("screens/codebook.py")
        found, total = mistakes.documents(
            desk, run, chosen, truth, side=side, consistent=only == STEADY, word=word, limit=SHOWN
        )
        if not found:
            st.caption(f"No document is wrong so on {labels[chosen]}.")
            return
        more = f", the first {SHOWN} shown" if total > SHOWN else ""
        confusion.cases(
            [_line(row) for row in found],
            head=labels[chosen],
            told=f"{total:,} {'document' if total == 1 else 'documents'}, wrong most often first{more}",
            picked=state.case(),
            key="errors-cases",
            on_document=_clicked,
        )
    shown = state.case()
    if shown is not None:
        show(desk, run, shown)


def _line(row: mistakes.Mistake) -> dict[str, str]:
    words = [*(f"[{tag}]" for tag in row.tags), confusion.excerpt(row.text)]
    return {"id": row.document_id, "words": " ".join(words)}


def _clicked() -> None:
    clicked = st.session_state["errors-cases"]["document"]
    if clicked:
        state.pick_case(str(clicked))


def repeated(desk: Desk, run: RunRow, truth: Truth) -> None:
    """What the iterations say."""
    told = evaluated.repeated(desk, run, truth)
    if told is None:
        st.caption("No iteration has a verdict yet.")
        return
    sure = evaluated.certain(desk, run, truth)
    each = counted.together([counted.of_run(desk, row, truth) for row in repeats.siblings(desk, run)])
    stability.stability(told, sure, run.settings.codebook, counted.words(each, truth), truth)


def seats_and_people(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Who suits which seat, whether the model may replace the people, and drift."""
    left, right = st.columns([1.2, 1], gap="small")
    with left:
        found = evaluated.seated(desk, run, truth)
        if found:
            pooled = [counted.of_run(desk, row, truth) for row in evaluated.pooled(desk, run) if row.verdicts]
            on = counted.words(counted.together(pooled), truth)
            who.seats(found, advice.suggestions(found, [family(role) for role in run.settings.seats]), on)
    people_panel = panel.panel("May the model replace the people?", "alternative annotator test", key="who-replace")
    with right if found else left, people_panel:
        chosen = st.segmented_control(
            "people",
            list(who.PEOPLE),
            default="trained",
            format_func=who.PEOPLE.__getitem__,
            required=True,
            label_visibility="collapsed",
            key="who-people-are",
        )
        test = evaluated.replaced(desk, run, chosen)
        who.replace(test, counted.words(people.counted_by(desk, run)))
    with right:
        drifted = drift.drifts(desk, run)
        on = counted.words(counted.together([one.counted for one in drifted])) if drifted else ""
        with panel.panel("Drift", "canary documents, asked again", counted=on, key="who-drift") as head:
            with head:
                if run.verdicts and st.button("Run canaries", key="who-canaries", icon=":material/replay:"):
                    made = drift.again(desk, run)
                    desk.go(made.run_id)
                    state.say_next("ok", f"{made.documents} canaries are asked again", f"As run {made.run_id}.")
                    st.rerun()
            who.drift(drifted)
        if not found:
            st.caption("Seats are advised for multilabel runs with verdicts.")
