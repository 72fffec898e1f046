"""The tab Stability: scores over iterations, consistency of documents, calibration, and scores by ambiguity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import streamlit as st

from app.widgets import charts, layout
from app.widgets.elements import line, sentences, table
from app.widgets.metric_tables import estimate_data, estimate_html, share_html
from core.codebook import Codebook
from core.documents import Reference
from core.errors import UsageError
from core.formatting import MISSING, format_number, format_percent
from core.runs import RunRow
from core.services.evaluation import ambiguity
from core.services.evaluation.annotation_arrays import step_titles
from core.services.evaluation.calibration import Certainty, CertaintySource, certainty
from core.services.evaluation.repeated_runs import RepeatedRuns, repeats
from core.services.project_session import ProjectSession
from core.stats.debate_rounds import Round
from core.stats.intervals import format_estimate, format_interval
from core.stats.metrics import Metric, main_metric, metrics
from core.stats.repeated_runs import Repeated

CERTAINTIES: dict[CertaintySource, tuple[str, str, str]] = {
    "votes": ("the votes", "share of votes", "a share of votes"),
    "classifier": ("the classifier", "the classifier's own", "its certainty"),
    "logprobs": ("the model", "probability of the label's words", "its certainty"),
}
"""Source of a certainty, its measure, and its name in a sentence."""
RUNS = 6  # iterations whose own scores are shown


def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    repeated = repeats(session, run, reference)
    if repeated is None:
        st.caption("No iteration has a verdict yet.")
        return
    left, right = st.columns([1.25, 1], gap="small")
    with left:
        _measures(session, repeated, run.settings.codebook, repeated.scored.describe(reference))
    with right:
        _documents(repeated, run.settings.codebook, reference)
        _certainty(certainty(session, run, reference), reference)
    by_ambiguity(session, run, reference)


def _measures(session: ProjectSession, result: RepeatedRuns, codebook: Codebook, basis: str) -> None:
    if len(result.runs) == 1:
        words = "Models can answer differently each time. Run 3 or more iterations to see how much the scores vary."
        layout.empty("One iteration", words, {"Open Run": "run"}, sign="bars", key="stability-measures")
        return
    title, first = f"{len(result.runs)} iterations", session.run_name(result.runs[0])
    help = (
        "Intervals are Student's t over iterations; equal iterations have none. The tab Scores of an iteration has the "
        "intervals of its own scores."
    )
    with layout.panel(title, f"of {first}", counted=basis, help=help, key="stability-measures"):
        rows = [
            _row(metric.name, repeated, [result.by_run[run].get(metric.key) for run in result.runs])
            for metric in metrics(codebook.kind)
            if (repeated := result.measures[metric.key]).n
        ]
        main = main_metric(codebook.kind, per_label=True)
        rows += [
            _row(f"{main.name} {label}", repeated, [result.by_label[label][run] for run in result.runs])
            for label, repeated in result.labels.items()
        ]
        numbers = [f"No. {number}" for number in range(1, len(result.runs[:RUNS]) + 1)]
        table(["Metric", "Mean", "SD", "95% interval", *numbers], rows)


def _row(name: str, repeated: Repeated, scores: Sequence[float | None]) -> list[str]:
    interval = repeated.interval if repeated.sd else None  # without variation, its width of 0 would claim too much
    summary = [format_number(repeated.mean), format_number(repeated.sd), format_interval(interval) or MISSING]
    return [name, *summary, *map(format_number, scores[:RUNS])]


def _documents(result: RepeatedRuns, codebook: Codebook, reference: Reference) -> None:
    counts = result.stability.counts
    if len(result.runs) < 2:
        return
    labels = result.stability.labels if codebook.kind != "choice" else {}
    rows = [
        {"name": label, "consistency": name, "count": count}
        for label, label_counts in {"All labels": counts, **labels}.items()
        for name, count in label_counts.items()
    ]
    share = format_estimate(result.stability.inconsistent, percent=True)
    words = f"{counts['inconsistent']:,} of {sum(counts.values()):,} documents inconsistent: {share}"
    basis = result.counted.describe(reference)
    with layout.panel("Consistency over iterations", words, counted=basis, key="stability-documents"):
        charts.draw(
            charts.consistency_bars(rows), rows, key="stability-consistency", title="Consistency over iterations"
        )


def _certainty(result: Certainty, reference: Reference) -> None:
    calibration = result.calibration
    of, measure, name = CERTAINTIES[result.kind]
    title = f"Calibration of {of}"
    basis = result.counted.describe(reference) if result.counted is not None else ""
    with layout.panel(title, result.voters, counted=basis, key="stability-certainty"):
        if calibration is None or not calibration.n:
            st.caption(result.why_not)
            return
        rows = [
            {"certainty": bin.certainty, **estimate_data(bin.right, "right"), "n": bin.n} for bin in calibration.bins
        ]
        charts.draw(charts.reliability(rows, f"certainty: {measure}"), rows, key="stability-reliability", title=title)
        st.caption(
            f"Expected calibration error {calibration.ece:.3f} (without an interval, as it depends on the bins), "
            f"Brier score {format_estimate(calibration.brier)} on {calibration.n:,} cases. "
            f"On the dashed line, {name} equals the share of correct values."
        )


_SUBSET_SCORES = ("accuracy", "macro_f1", "macro_spearman", "macro_mae")
"""Keys of the scores of ambiguous and normal documents."""


def by_ambiguity(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw the scores of both parts by the selected pre-pass; without a pre-pass, explain how to make one."""
    with layout.panel("Ambiguous and normal documents", "by an earlier vote of one model", key="evaluate-ambiguity"):
        prepasses = ambiguity.prepasses(session)
        if not prepasses:
            line(
                "No run with repeated votes has finished. Run the protocol Single annotator with the method Vote to "
                "find the documents on which a model disagrees with itself."
            )
            return
        left, right = st.columns(2)
        prepass = left.selectbox("Vote", prepasses, format_func=session.run_name, key="ambiguity-vote")
        theta = right.number_input(
            "Ambiguity threshold",
            0.0,
            1.0,
            0.5,
            0.1,
            key="ambiguity-theta",
            help="A document is ambiguous if the shares of its two most common answers differ by at most this.",
        )
        try:
            result = ambiguity.scores_by_ambiguity(session, run.run_id, str(prepass), float(theta), reference=reference)
        except UsageError as error:
            st.text(str(error))
            return
        layout.counted(ambiguity.coverage_by_ambiguity(session, run, str(prepass), reference).describe(reference))
        shown = [metric for metric in metrics(run.settings.codebook.kind) if metric.key in _SUBSET_SCORES]
        heads = ["Documents", "Count", "Share", "Scored", *(metric.name for metric in shown)]
        table(heads, [[name.capitalize(), *part_cells(part, shown)] for name, part in result.items()])
        if agreement := list(agreement_rows([part.rounds for part in result.values()], step_titles(run))):
            table(["Step", "Agreement", *map(str.capitalize, result)], agreement, text=("Agreement",))
            sentences("Agreement needs no reference. It counts every document on which several agents decided.")


def agreement_rows(parts: Sequence[Sequence[Round]], titles: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield rows with the agreement of each step's agents, by part: with the majority, and of each two in sequence."""
    for step in zip(*parts, strict=True):
        name = step[0].name
        yield [name, "with the majority", *(share_html(round_.with_majority) for round_ in step)]
        for pairs in zip(*(round_.consecutive for round_ in step), strict=True):
            first, second, _ = pairs[0]
            agents = f"{titles.get(first, first)} and {titles.get(second, second)}"
            yield [name, agents, *(share_html(share) for *_, share in pairs)]


def part_cells(part: ambiguity.DocumentSubset, shown: Sequence[Metric]) -> list[str]:
    """Return the documents, their share, the scored ones and the scores of a part, as cells of a table."""
    scores = part.scores
    if scores is None:
        return [f"{part.documents:,}", format_percent(part.share), "0", *[MISSING] * len(shown)]
    estimates = (estimate_html(scores[metric.key]) for metric in shown)
    return [f"{part.documents:,}", format_percent(part.share), f"{scores.n:,}", *estimates]
