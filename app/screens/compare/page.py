"""Compare page: scores, differences per document, and costs of several runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import streamlit as st

from app import context
from app.screens.compare import sections
from app.state import state
from app.widgets import layout
from app.widgets.common import download, literal
from app.widgets.document_drawer import document_drawer, document_list, excerpt
from app.widgets.empty_state import empty_page
from app.widgets.run_picker import reference_picker, run_words
from core import csv_text
from core.annotations import Reference
from core.runs import RunRow
from core.services.evaluation import compare, coverage, latent, run_data
from core.services.evaluation.compare import OUTCOMES, Comparison, Outcome, Outcomes, Pair
from core.services.evaluation.reference import available_references
from core.services.session import ProjectSession

SHOWN = 50  # documents that are listed at a time
MOST = 6  # runs side by side
CHANGED: tuple[Outcome, ...] = ("regressed", "mixed", "corrected")


def main() -> None:
    """Draw the screen."""
    session = context.require_project()
    known = run_data.ranked_runs(session)
    runs = [run for run in known if run.verdicts]
    if len(runs) < 2:
        without_verdicts = f" {len(runs)} of {len(known)} runs have a verdict." if len(known) > 1 else ""
        empty_page(
            "Compare",
            "Nothing to compare yet",
            f"Two runs on the same documents can be compared: another protocol, model or prompt.{without_verdicts}",
            {"Open Run": "run"},
            sign="bars",
        )
        return
    with layout.header("Compare", "all runs are compared with the first one", key="compare-head"):
        chosen = _runs(runs)
    if len(chosen) < 2:
        st.caption("Choose a second run of the same codebook.")
        return
    ids = tuple(run.run_id for run in chosen)
    references = available_references(session, chosen[0].run_id)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="compare-basis"):
        reference = reference_picker(
            {name: count for name, count in references.items() if not name.startswith("run:")}, key="compare-reference"
        )
        points = st.number_input(
            "Margin, points", 0.5, 50.0, None, 0.5, key="compare-margin", width=150, placeholder="none",
            help="A difference of the main score up to this margin does not matter to you. Tests whether the runs are "
            "equivalent, or the second not inferior.",
        )  # fmt: skip
    margin = points / 100 if points else None
    found = compare.comparison(session, ids, reference, margin)
    if reference == latent.LATENT:
        st.caption(latent.warning(session))
    with st.container(horizontal=True, vertical_alignment="center", key="compare-summary"):
        with st.container(width="stretch"):
            sections.summary(found)
        _downloads(session, ids, reference, found, margin)
    pair = _select_pair(session, chosen, found)
    left, right = st.columns([1.5, 1], gap="small")
    with left:
        sections.columns(found)
    with right:
        sections.settings(chosen)
        sections.cost(found, _each(session, chosen, reference))
        sections.tests(pair)
    _outcomes(session, chosen[0], pair, reference)
    compared = [session.run(id) for id in (pair.first, pair.second)]
    document_drawer(session, compared, chosen[0].settings.codebook, key="compare-drawer")


def _runs(runs: Sequence[RunRow]) -> list[RunRow]:
    """Show the run selector and return the selected runs.

    Only runs with the same labels as the viewed run can be selected. The default selection is the viewed run and one
    other run: if possible on as many documents (not a pilot), and from another experiment.
    """
    by_id = {run.run_id: run for run in runs}
    before = [id for id in state.compare.runs if id in by_id]
    looked = by_id.get(before[0] if before else state.run_id or "", runs[0])
    same = [run for run in runs if compare.alike(run.settings.codebook, looked.settings.codebook)]
    others = sorted(
        (run for run in same if run.run_id != looked.run_id),
        key=lambda run: (run.documents < looked.documents, run.experiment_id == looked.experiment_id),
    )
    begin = [*(run.run_id for run in others[:1]), looked.run_id]
    if before:
        begin = [id for id in before if by_id[id] in same]
    chosen = st.multiselect(
        "Runs",
        [run.run_id for run in same],
        default=begin,
        format_func=lambda id: run_words(by_id[id]),
        max_selections=MOST,
        label_visibility="collapsed",
        placeholder="Runs of one codebook",
        key="compare-runs",
        width=620,
    )
    state.compare.runs = tuple(chosen)
    layout.write_url(runs=",".join(chosen) or None)
    return [by_id[id] for id in chosen]


def _downloads(
    session: ProjectSession, ids: Sequence[str], reference: Reference, found: Comparison, margin: float | None
) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", width="content"):
        name = f"{session.name}-{'-'.join(ids)}"

        def report() -> str:
            found = compare.comparison_report(session, ids, reference, margin)
            return json.dumps(found, indent=2, ensure_ascii=False)

        def table() -> str:
            return csv_text.to_csv(sections.rows(found))

        download("JSON", report, f"{name}.json", "application/json", type="tertiary", key="compare-json")
        download("CSV", table, f"{name}.csv", "text/csv", type="tertiary", key="compare-csv")


def _select_pair(session: ProjectSession, chosen: Sequence[RunRow], found: Comparison) -> Pair:
    """Show a selector if there are several pairs, and return the selected pair."""
    second = chosen[1].run_id
    if len(found.pairs) > 1:
        second = st.pills(
            "against the first",
            [run.run_id for run in chosen[1:]],
            default=second,
            format_func=lambda id: literal(f"{session.run_name(id)} against {chosen[0].title}"),
            required=True,
            label_visibility="collapsed",
            key="compare-second",
        )
    return compare.of_pair(found, second)


@st.fragment
def _outcomes(session: ProjectSession, first: RunRow, pair: Pair, reference: Reference) -> None:
    """Draw differences per label and their documents; a click on a label filters the documents."""
    one, two = pair.first, pair.second
    each = compare.outcomes(session, one, two, reference)
    runs = [session.run(id) for id in (one, two)]
    on = coverage.describe(coverage.shared(session, runs, reference), reference)
    left, right = st.columns([1, 1.15], gap="small")
    with left:
        title = f"{runs[1].title} against {runs[0].title}"
        label = sections.labels(pair, first.settings.codebook.kind, on, title)
    with right:
        _documents(session, each, label, on)


def _each(session: ProjectSession, runs: Sequence[RunRow], reference: Reference) -> str:
    """Return the documents counted for each run in words; once if they are the same for all."""
    coverages = {run.title: coverage.describe(coverage.of_run(session, run, reference), reference) for run in runs}
    words = set(coverages.values())
    return (
        f"each run: {words.pop()}"
        if len(words) == 1
        else ". ".join(f"{name}: {own}" for name, own in coverages.items())
    )


def _documents(session: ProjectSession, each: Outcomes, label: str, on: str) -> None:
    counts = each.counts
    words = f"on {label}" if label in each.names else ""
    with layout.panel("Documents", words, counted=on, key="compare-documents"):
        kinds = st.pills(
            "outcome",
            list(OUTCOMES),
            default=[kind for kind in CHANGED if counts[kind]] or ["wrong"],
            format_func=lambda kind: f"{sections.WORDS[kind]} {counts[kind]:,}",
            selection_mode="multi",
            label_visibility="collapsed",
            key="compare-kinds",
        )
        rows, total = compare.page(session, each, cast(list[Outcome], kinds), label=label, limit=SHOWN)
        if not rows:
            st.caption("No document. Choose another outcome above, or click the label again to see all.")
            return
        more = f", the first {SHOWN} shown" if total > SHOWN else ""
        document_list(
            [
                {
                    "id": row.document_id,
                    "excerpt": excerpt(row.text),
                    "corrected": list(row.corrected),
                    "regressed": list(row.regressed),
                }
                for row in rows
            ],
            title="Documents",
            note=f"{total:,}{more}; + corrected, − regressed",
            listing=", ".join(sections.WORDS[cast(Outcome, kind)] for kind in kinds),
            key="compare-cases",
        )


main()
