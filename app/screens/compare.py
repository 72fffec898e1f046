"""Compare: runs side by side, what became of each document, and what the better one costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

import streamlit as st

from app import desks, state
from app.views import address, empty, header, panel
from app.views.evaluate import cells, compared, confusion
from app.views.runs import run_words
from core.runs import RunRow
from core.studio import tables
from core.studio.desk import Desk
from core.studio.evaluation import compare, counted, evaluate, outcomes, truth_words
from core.studio.evaluation.compare import Comparison, Pair
from core.studio.evaluation.grids import Truth
from core.studio.evaluation.outcomes import OUTCOMES, Outcome, Outcomes
from core.studio.memo import remembered
from core.studio.reviewing import review

SHOWN = 50  # documents that are listed at a time
MOST = 6  # runs side by side
CHANGED: tuple[Outcome, ...] = ("broken", "mixed", "fixed")


def main() -> None:
    """Draw the screen."""
    desk = desks.looked_at()
    known = review.runs(desk) if desk is not None else []
    runs = [run for run in known if run.verdicts]
    if desk is None or len(runs) < 2:
        header.header("Compare")
        barren = f" Of the {len(known)} runs here {len(runs) or 'none'} has a verdict." if len(known) > 1 else ""
        if empty.empty(
            "Nothing to compare yet",
            f"Two runs on the same documents can be compared: another protocol, model or prompt.{barren}",
            ["Open Run"],
            sign="bars",
            key="compare-none",
        ):
            st.switch_page("screens/run.py")
        return
    with header.header("Compare", "the first run is what the others are compared with", key="compare-head"):
        chosen = _runs(runs)
    if len(chosen) < 2:
        st.caption("Choose a second run of the same codebook.")
        return
    ids = tuple(run.run_id for run in chosen)
    truth = _truth(desk, chosen[0])
    found = remembered(desk, lambda: compare.comparison(desk, ids, truth), "comparison", ids, truth)
    with st.container(horizontal=True, vertical_alignment="center", key="compare-told"):
        with st.container(width="stretch"):
            compared.sentences(found)
        _downloads(desk, ids, truth, found)
    left, right = st.columns([1.5, 1], gap="small")
    with left:
        compared.columns(found)
    with right:
        compared.cost(found, _each(desk, chosen, truth))
    _pair(desk, chosen, found, truth)


def _runs(runs: Sequence[RunRow]) -> list[RunRow]:
    """The runs that are compared: by default the one looked at and the latest that labels the same."""
    by_id = {run.run_id: run for run in runs}
    before = [id for id in state.compared() if id in by_id]
    looked = by_id.get(before[0] if before else state.run_id() or "", runs[0])
    same = [run for run in runs if compare.alike(run.settings.codebook, looked.settings.codebook)]
    others = [run for run in same if run.run_id != looked.run_id and run.experiment_id != looked.experiment_id]
    others = others or [run for run in same if run.run_id != looked.run_id]
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
    state.compare(chosen)
    address.keep(runs=",".join(chosen) or None)
    return [by_id[id] for id in chosen]


def _truth(desk: Desk, first: RunRow) -> Truth:
    known = {name: count for name, count in evaluate.truths(desk, first.run_id).items() if not name.startswith("run:")}
    wanted = state.truth()
    if not known.get(wanted):
        wanted = next((name for name, count in known.items() if count), "gold")
    if sum(bool(count) for count in known.values()) < 2:
        return wanted
    names = list(known)
    chosen = st.segmented_control(
        "against",
        names,
        default=wanted,
        format_func=lambda name: f"{truth_words.of(name).title} {known[name]:,}",
        required=True,
        label_visibility="collapsed",
        key="compare-truth",
    )
    state.compare_with(chosen)
    address.keep(truth=chosen)
    return chosen


def _downloads(desk: Desk, ids: Sequence[str], truth: Truth, found: Comparison) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", width="content"):
        st.download_button(
            "JSON",
            lambda: json.dumps(outcomes.told(desk, ids, truth), indent=2, ensure_ascii=False),
            f"{desk.name}-{'-'.join(ids)}.json",
            "application/json",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
            key="compare-json",
        )
        st.download_button(
            "CSV",
            lambda: tables.as_csv(compared.rows(found)),
            f"{desk.name}-{'-'.join(ids)}.csv",
            "text/csv",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
            key="compare-csv",
        )


def _pair(desk: Desk, chosen: Sequence[RunRow], found: Comparison, truth: Truth) -> None:
    """One of the others against the first."""
    second = chosen[1].run_id
    if len(found.pairs) > 1:
        second = st.pills(
            "against the first",
            [run.run_id for run in chosen[1:]],
            default=second,
            format_func=lambda id: f"{id} against {chosen[0].run_id}",
            required=True,
            label_visibility="collapsed",
            key="compare-second",
        )
    _outcomes(desk, chosen[0], outcomes.of_pair(found, second), truth)


@st.fragment
def _outcomes(desk: Desk, first: RunRow, pair: Pair, truth: Truth) -> None:
    """Differences per label, and the documents behind them; a click on a label filters these."""
    one, two = pair.first, pair.second
    each = remembered(desk, lambda: outcomes.outcomes(desk, one, two, truth), "outcomes", one, two, truth)
    runs = [row for id in (one, two) if (row := desk.store.runs.get(id)) is not None]
    on = counted.words(counted.shared(desk, runs, truth), truth)
    left, right = st.columns([1, 1.15], gap="small")
    with left:
        label = compared.labels(pair, first.settings.codebook.kind, on)
        compared.tests(pair)
    with right:
        _documents(desk, each, label, on)
    shown = state.case()
    if shown is not None:
        run = desk.store.runs.get(pair.second)
        if run is not None:
            before, after = st.columns(2, gap="small")
            with before:
                cells.case(desk, first, shown, key="compare-before", stacked=True)
            with after:
                cells.case(desk, run, shown, key="compare-after", stacked=True)


def _each(desk: Desk, runs: Sequence[RunRow], truth: Truth) -> str:
    """How many documents each of the runs has, in words; once when they all have the same."""
    said = {run.run_id: counted.words(counted.of_run(desk, run, truth), truth) for run in runs}
    words = set(said.values())
    return f"each run: {words.pop()}" if len(words) == 1 else ". ".join(f"{id}: {own}" for id, own in said.items())


def _documents(desk: Desk, each: Outcomes, label: str, on: str) -> None:
    counts = each.counts
    words = f"on {label}" if label in each.names else ""
    with panel.panel("Document by document", words, counted=on, key="compare-documents"):
        kinds = st.pills(
            "outcome",
            list(OUTCOMES),
            default=[kind for kind in CHANGED if counts[kind]] or ["wrong"],
            format_func=lambda kind: f"{compared.WORDS[kind]} {counts[kind]:,}",
            selection_mode="multi",
            label_visibility="collapsed",
            key="compare-kinds",
        )
        rows, total = outcomes.page(desk, each, cast(list[Outcome], kinds), label=label, limit=SHOWN)
        if not rows:
            st.caption("No document. Choose another outcome above, or click the label again to see all.")
            return
        more = f", the first {SHOWN} shown" if total > SHOWN else ""
        confusion.cases(
            [
                {
                    "id": row.document_id,
                    "words": confusion.excerpt(row.text),
                    "mended": list(row.mended),
                    "broken": list(row.broken),
                }
                for row in rows
            ],
            head="Documents",
            told=f"{total:,}{more}; + mended, − broken",
            picked=state.case(),
            key="compare-cases",
            on_document=_clicked,
        )


def _clicked() -> None:
    clicked = st.session_state["compare-cases"]["document"]
    if clicked:
        state.pick_case(str(clicked))


main()
