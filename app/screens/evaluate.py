"""Evaluate: a run against gold or against what people settled."""

from __future__ import annotations

import json

import streamlit as st

from app import desks, state
from app.views import address, empty, header, panel
from app.views.evaluate import apart, cells, charts, debate_worth, deeper, flow, group_styles, rated
from app.views.numbers import Figure, Line, interval_words, numbers
from app.views.runs import looked_at, run_date, run_picker
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import counted, evaluate, evaluated, printout, reports, stages, truth_words, worth
from core.studio.evaluation.grids import Truth
from core.studio.evaluation.scoring import Evaluation
from core.studio.reviewing import review

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
    rating = run.settings.codebook.kind == "rating"
    if rating:
        rated.key_numbers(desk, run, truth)
    else:
        scores = evaluated.evaluation(desk, run, truth)
        _numbers(scores)
        if not scores.n:
            _nothing_counts(scores)
            return
    view = st.segmented_control(
        "what to look at",
        list(state.PARTS),
        default="scores",
        format_func=state.PARTS.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=state.PART,
        persist_state="session",
    )
    address.keep(part=view)
    match view:
        case "debate":
            told = evaluated.debate(desk, run, truth)
            group_styles.groups(desk, run, truth)
            debate_worth.worth(told, worth.noun(run), stages.role_titles(run), _counted(desk, run, truth))
        case "errors":
            deeper.errors(desk, run, truth, cells.case)
        case "stability":
            deeper.repeated(desk, run, truth)
            apart.apart(desk, run, truth)
        case "who":
            deeper.seats_and_people(desk, run, truth)
        case _ if rating:
            rated.dimensions(desk, run, truth)
        case _:
            found = evaluated.evaluation(desk, run, truth)
            _bars_and_flow(desk, found)
            cells.behind(desk, found)
    desk.ahead.work(lambda: evaluated.rest(desk, run, truth))


def _truth_switch(known: dict[Truth, int]) -> Truth:
    wanted = evaluated.usual(known, state.truth())
    names = list(known)

    def words(name: Truth) -> str:
        return f"{truth_words.of(name).title} {known[name]:,}"

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
    address.keep(truth=chosen)
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


def _nothing_counts(found: Evaluation) -> None:
    """No document has both a verdict and truth: every chart would be empty."""
    noun = truth_words.of(found.truth).noun
    pressed = empty.empty(
        "No verdict to score",
        f"No document of this run has both a verdict and {noun}. What is unresolved can be decided in Review; a run "
        "with other seats or definitions may resolve it.",
        ["Open Review", "Open Run"],
        sign="bars",
        key="evaluate-nothing",
    )
    if pressed:
        st.switch_page("screens/review.py" if pressed == "Open Review" else "screens/run.py")


def _report(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Download the numbers. The file is made when it is asked for."""
    with st.popover("Report", icon=":material/download:"):
        name = f"{desk.name}-{run.run_id}-{truth}"
        st.download_button(
            "JSON",
            lambda: json.dumps(reports.full(desk, run.run_id, truth, errors=True), indent=2, ensure_ascii=False),
            f"{name}.json",
            "application/json",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "CSV",
            lambda: evaluate.as_csv(reports.scored(desk, run.run_id, truth)),
            f"{name}.csv",
            "text/csv",
            on_click="ignore",
            width="stretch",
        )
        st.download_button(
            "A page to print",
            lambda: printout.page(desk, run.run_id, truth),
            f"{name}.html",
            "text/html",
            on_click="ignore",
            width="stretch",
        )


def _numbers(found: Evaluation) -> None:
    out = found.left_out
    truth = truth_words.of(found.truth).noun
    reasons = [
        Line("by the debate", f"{out.unresolved:,} unresolved", "unres") if out.unresolved else None,
        Line("at the provider", f"{out.failed:,} failed", "wrong") if out.failed else None,
        Line("for their debate", f"{out.waiting:,} wait") if out.waiting else None,
        Line("words to the codebook", f"{out.examples:,} lent") if out.examples else None,
        Line(f"{_documents(out.without_truth)} no {truth}") if out.without_truth else None,
    ]
    lines = tuple(line for line in reasons if line is not None)
    right = _joined(f"{found.exact_count:,} of {found.n:,}", interval_words(found.exact))
    figures = [
        Figure("Macro F1", found.macro.f1, lines=(Line(interval_words(found.macro.f1, named=True)),)),
        Figure("Micro F1", found.micro.f1, lines=(Line(interval_words(found.micro.f1)),)),
        Figure(
            "Label accuracy",
            found.accuracy,
            lines=(Line(_joined(interval_words(found.accuracy), f"{found.cells:,} labels")),),
        ),
        Figure(f"All {len(found.labels)} right", found.exact, lines=(Line(right),)),
    ]
    if found.run.settings.codebook.kind == "choice":
        figures = [Figure("Accuracy", found.exact, lines=(Line(right),)), figures[0]]
    left = Figure("Left out", text=f"{out.excluded + out.examples:,}", lines=lines or (Line("Every document counts."),))
    numbers([*figures, left], key="evaluate-numbers")


def _documents(count: int) -> str:
    return "1 document has" if count == 1 else f"{count:,} documents have"


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _counted(desk: Desk, run: RunRow, truth: Truth) -> debate_worth.CountedOn:
    return debate_worth.CountedOn(
        *(counted.words(of(desk, run, truth), truth) for of in (counted.of_run, counted.of_debate, counted.of_rounds))
    )


def _bars_and_flow(desk: Desk, found: Evaluation) -> None:
    if found.ledger is not None:
        left, right = st.columns([1.06, 1], gap="small")
    else:
        left, right = st.container(), None
    told = "the mark is the value, the light part its 95% interval"
    on = counted.words(counted.of_run(desk, found.run, found.truth), found.truth)
    with left, panel.panel("Per label", told, counted=on, key="evaluate-bars") as head:
        with head:
            panel.role_legend({role.role: role.title for role in charts.others(found)})
        charts.score_bars(found, key="evaluate-scores")
    if found.ledger is not None and right is not None:
        cells_in = f"{found.ledger.cells:,} {worth.noun(found.run)}s"
        on = counted.words(counted.of_debate(desk, found.run, found.truth), found.truth)
        with right, panel.panel("What did the debate change?", cells_in, counted=on, key="evaluate-flow"):
            # As high as the bars beside it, but for the sentence, where these are not endless.
            height = min(480, max(190, charts.ROW * (len(found.labels) + 2) - 66))
            flow.flow(found.ledger, found.titles, found.told, height=height, key="evaluate-ribbons")


main()
