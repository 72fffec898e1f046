"""Evaluate: a run against gold or against what people settled."""

from __future__ import annotations

import json

import streamlit as st

from app import desks, state
from app.views import charts, confusion, empty, flow, header, marked_text, panel, transcript
from app.views.numbers import Figure, Line, interval_words, numbers
from app.views.runs import looked_at, run_date, run_picker
from core.runs import RunRow
from core.studio import evaluate, review, scoring
from core.studio.desk import Desk
from core.studio.grids import Truth
from core.studio.scoring import Evaluation

SHOWN = 50  # documents that a cell lists at a time
AT_A_GLANCE = 3  # truths that are shown side by side; more go into a list


def main() -> None:
    """Draw the screen."""
    desk = desks.looked_at()
    runs = review.runs(desk) if desk is not None else []
    if desk is None or not runs:
        header.header("Evaluate")
        if empty.empty(
            "No run to evaluate",
            "When a run has verdicts, this page says how right they are and what the debate changed.",
            ["Open Run"],
            sign="bars",
            key="evaluate-none",
        ):
            st.switch_page("screens/run.py")
        return
    run = looked_at(runs, key="evaluate-run")
    version = f", codebook v{run.settings.codebook_version}" if run.settings.codebook_version else ""
    right = header.header("Evaluate", f"{desk.run_name(run.run_id)}{version}, {run_date(run)}", key="evaluate-head")
    with right:
        run_picker(runs, key="evaluate-run")
    known = evaluate.truths(desk, run.run_id)
    with right:
        truth = _truth_switch(known)
    if not known[truth]:
        _no_truth(desk, known)
        return
    with right:
        _report(desk, run, truth)
    if run.settings.codebook.kind != "multilabel":
        _other_kinds(desk, run, truth)
        return
    found = scoring.evaluation(desk, run.run_id, truth)
    _numbers(found)
    _bars_and_flow(found)
    _behind(desk, found)


def _truth_switch(known: dict[Truth, int]) -> Truth:
    wanted = state.truth()
    if not known.get(wanted):
        wanted = next((name for name, count in known.items() if count), "gold")
    names = list(known)

    def words(name: Truth) -> str:
        return f"{evaluate.truth_words(name)} {known[name]:,}"

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
    state.compare_with(chosen)
    return chosen


def _no_truth(desk: Desk, known: dict[Truth, int]) -> None:
    del desk
    other = "nothing is reviewed yet" if not known["reviewed"] else "this run's documents are not among the reviewed"
    pressed = empty.empty(
        "No truth to compare with",
        f"The file has no gold column for these documents and {other}. "
        "About 30 reviewed documents give a first figure.",
        ["Review 30", "Map a gold column"],
        sign="bars",
        key="evaluate-no-truth",
    )
    if pressed == "Review 30":
        st.switch_page("screens/review.py")
    elif pressed:
        st.switch_page("screens/data.py")


def _report(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Download the numbers. The file is made when it is asked for."""
    with st.popover("Report", icon=":material/download:"):
        name = f"{desk.name}-{run.run_id}-{truth}"
        st.download_button(
            "JSON",
            lambda: json.dumps(evaluate.report(desk, run.run_id, truth), indent=2, ensure_ascii=False),
            f"{name}.json",
            "application/json",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "CSV",
            lambda: evaluate.as_csv(evaluate.report(desk, run.run_id, truth)),
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            width="stretch",
        )


def _numbers(found: Evaluation) -> None:
    out = found.left_out
    truth = "gold" if found.truth == "gold" else "review"
    reasons = [
        Line("by the debate", f"{out.unresolved:,} unresolved", "unres") if out.unresolved else None,
        Line("at the provider", f"{out.failed:,} failed", "wrong") if out.failed else None,
        Line("for their debate", f"{out.waiting:,} wait") if out.waiting else None,
        Line(f"{_documents(out.without_truth)} no {truth}") if out.without_truth else None,
    ]
    lines = tuple(line for line in reasons if line is not None)
    labels = len(found.labels)
    numbers(
        [
            Figure("Macro F1", found.macro.f1, lines=(Line(interval_words(found.macro.f1, named=True)),)),
            Figure("Micro F1", found.micro.f1, lines=(Line(interval_words(found.micro.f1)),)),
            Figure(
                "Label accuracy",
                found.accuracy,
                lines=(Line(_joined(interval_words(found.accuracy), f"{found.cells:,} labels")),),
            ),
            Figure(
                f"All {labels} right",
                found.exact,
                lines=(Line(_joined(f"{found.exact_count:,} of {found.n:,}", interval_words(found.exact))),),
            ),
            Figure("Left out", text=f"{out.excluded:,}", lines=lines or (Line("Every document counts."),)),
        ],
        key="evaluate-numbers",
    )


def _documents(count: int) -> str:
    return "1 document has" if count == 1 else f"{count:,} documents have"


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _bars_and_flow(found: Evaluation) -> None:
    deciding = found.ledger.roles[-1] if found.ledger else (found.roles[-1].role if found.roles else "")
    others = [role for role in found.roles if role.role != deciding] if found.ledger else []
    if found.ledger is not None:
        left, right = st.columns([1.06, 1], gap="small")
    else:
        left, right = st.container(), None
    told = "the mark is the value, the light part its 95% interval"
    with left, panel.panel("Per label", told, key="evaluate-bars") as head:
        with head:
            panel.role_legend({role.role: role.title for role in others})
        charts.score_bars(_score_rows(found, others), found.titles, key="evaluate-scores")
    if found.ledger is not None and right is not None:
        with right, panel.panel("What did the debate change?", f"{found.ledger.cells:,} labels", key="evaluate-flow"):
            # As high as the bars beside it, but for the sentence.
            height = max(190, charts.ROW * (len(found.labels) + 2) - 66)
            flow.flow(found.ledger, found.titles, found.told, height=height, key="evaluate-ribbons")


def _score_rows(found: Evaluation, others: list[scoring.RoleResult]) -> list[charts.ScoreRow]:
    rows = [
        charts.ScoreRow(
            label.name,
            f"{label.counts.positives:,} present",
            label.colour,
            (label.precision, label.recall, label.f1),
            {role.role: (own.precision, own.recall, own.f1) for role in others if (own := role.counts[label.name])},
        )
        for label in found.labels
    ]
    scored = sum(label.counts.positives > 0 for label in found.labels)
    means = {role.role: (macro.precision, macro.recall, macro.f1) for role in others if (macro := role.macro)}
    mean = charts.ScoreRow(
        "Macro",
        f"{scored} label{'' if scored == 1 else 's'}",
        0,
        (found.macro.precision, found.macro.recall, found.macro.f1),
        means,
    )
    return [*rows, mean]


@st.fragment
def _behind(desk: Desk, found: Evaluation) -> None:
    """The matrices, the documents behind a cell, and one of them."""
    codebook = found.run.settings.codebook
    truth = "gold" if found.truth == "gold" else "review"
    with panel.panel(
        "Confusion",
        f"rows are the {'gold' if truth == 'gold' else 'review'}, columns the verdict; shares are of the row",
        note="click a cell to read its documents",
        key="evaluate-confusion",
    ):
        confusion.confusion(
            found.counts, codebook, truth=truth, picked=state.cell(), key="evaluate-cells", on_cell=_cell_clicked
        )
        left, right = st.columns([1, 1.15], gap="medium") if found.ledger is not None else (None, st.container())
        if left is not None and found.ledger is not None:
            with left:
                flow.changes(found.ledger, codebook, found.titles, key="evaluate-changes")
        with right:
            _cases(desk, found)
    shown = state.case()
    if shown is not None:
        _case(desk, found.run, shown)


def _cell_clicked() -> None:
    clicked = st.session_state["evaluate-cells"]["cell"]
    if clicked:
        state.pick_cell((str(clicked[0]), str(clicked[1])))


def _case_clicked() -> None:
    clicked = st.session_state["evaluate-cases"]["document"]
    if clicked:
        state.pick_case(str(clicked))


def _cases(desk: Desk, found: Evaluation) -> None:
    labels = {label.id: label for label in found.labels}
    cell = state.cell()
    if cell is None or cell[0] not in labels:
        worst = max(found.labels, key=lambda label: label.counts.wrong)
        if not worst.counts.wrong:
            st.caption("Every label agrees. Click a cell to read its documents.")
            return
        cell = (worst.id, "fn" if worst.counts.fn >= worst.counts.fp else "fp")
        state.pick_cell(cell)
    label = labels[cell[0]]
    total = getattr(label.counts, cell[1])
    pages = max(1, -(-total // SHOWN))
    number = st.pagination(pages, key="evaluate-case-page") if pages > 1 else 1
    rows = scoring.cases(desk, found.run.run_id, *cell, truth=found.truth, offset=(number - 1) * SHOWN, limit=SHOWN)
    said_true, said = confusion.WORDS[cell[1]]
    truth = "gold" if found.truth == "gold" else "the review"
    confusion.cases(
        [{"id": row.document_id, "words": " ".join(row.text[:300].split())[:200], "by": row.lost_by} for row in rows],
        head=f"{label.name}, {cell[1].upper()}",
        told=f"{total:,} {'document' if total == 1 else 'documents'} where {truth} says {said_true} "
        f"and the verdict says {said}",
        by="lost by" if any(row.lost_by for row in rows) else "",
        roles=found.titles,
        picked=state.case(),
        key="evaluate-cases",
        on_document=_case_clicked,
    )


def _case(desk: Desk, run: RunRow, document_id: str) -> None:
    known = review.dossier(desk, run, document_id)
    replay = desk.replay(run.run_id, document_id)
    if known is None:
        return
    with panel.panel("Document", document_id, key="evaluate-case") as head:
        with head:
            if st.button("Open in Review", key="evaluate-open", icon=":material/rule:", type="tertiary"):
                state.open_document(document_id)
                st.switch_page("screens/review.py")
            st.button(
                "Close",
                key="evaluate-close",
                icon=":material/close:",
                type="tertiary",
                on_click=lambda: state.pick_case(None),
            )
        left, right = st.columns([1, 1.15], gap="medium")
        with left:
            evidence = [quote for quotes in known.evidence.values() for quote in quotes]
            marked_text.marked_text(
                known.document.fields, run.settings.codebook, evidence, height=420, key=f"evaluate-text-{document_id}"
            )
        with right:
            if replay is not None:
                transcript.transcript(
                    replay,
                    run.settings.codebook,
                    review.roles(run),
                    framed=False,
                    height=420,
                    key=f"evaluate-said-{document_id}",
                )


def _other_kinds(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Choice and rating codebooks: the report as a table."""
    import pandas as pd

    report = evaluate.report(desk, run.run_id, truth)
    figures = [Figure("Documents", text=f"{report['n']:,}"), Figure("Left out", text=f"{report['excluded']:,}")]
    if "accuracy" in report:
        shown = report["accuracy"]
        figures.insert(0, Figure("Accuracy", text="–" if shown is None else f"{shown:.3f}"))
    numbers(figures, key="evaluate-numbers")
    with panel.panel("Scores", f"{run_date(run)}", key="evaluate-table"):
        st.dataframe(pd.DataFrame(report["labels"]).T, key="evaluate-frame")
    if "confusion" in report:
        with panel.panel("Confusion", "rows are the gold, columns the verdict", key="evaluate-matrix"):
            st.dataframe(pd.DataFrame(report["confusion"]).T, key="evaluate-matrix-frame")


main()
