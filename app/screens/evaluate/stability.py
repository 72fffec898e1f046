"""How sure are we: iterations, documents that waver, and whether votes can be believed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets import layout, plots
from core.codebook import Codebook
from core.services.evaluation import coverage
from core.services.evaluation.calibration import Certainty, Kind
from core.services.evaluation.grids import Reference
from core.services.evaluation.repeated_runs import RepeatedRuns
from core.stats.iterations import Repeated

TITLES: dict[Kind, str] = {"votes": "Can the votes be believed?", "student": "Can the student's certainty be believed?"}
AXES: dict[Kind, str] = {"votes": "certainty: share of votes", "student": "certainty: the student's own"}
HONEST: dict[Kind, str] = {"votes": "a share of votes", "student": "its certainty"}
RUNS = 6  # iterations whose own scores are shown
NAMES = {
    "macro_f1": "Macro F1",
    "micro_f1": "Micro F1",
    "accuracy": "Accuracy",
    "subset_accuracy": "All labels right",
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
    "mcc": "Matthews",
    "macro_spearman": "Mean Spearman",
    "macro_kendall": "Mean Kendall",
    "macro_mae": "Mean absolute error",
    "macro_alpha": "Mean alpha",
}


def stability(told: RepeatedRuns, sure: Certainty, codebook: Codebook, on: str, reference: Reference) -> None:
    """Draw what the iterations tell; ``on`` says how many documents the scores stand on."""
    left, right = st.columns([1.25, 1], gap="small")
    with left:
        _measures(told, on)
        _documents(told, codebook, reference)
    with right:
        _certainty(sure, reference)


def _measures(told: RepeatedRuns, on: str) -> None:
    import pandas as pd

    n = len(told.runs)
    title = "One iteration" if n == 1 else f"{n} iterations"
    with layout.panel(title, ", ".join(told.runs), counted=on, key="stability-measures"):
        rows = [
            _row(NAMES[name], one, [told.by_run[run].get(name) for run in told.runs], told.runs)
            for name, one in told.measures.items()
            if name in NAMES and one.n
        ]
        score = "F1" if "macro_f1" in told.measures else "Spearman"
        rows += [
            _row(f"{score} {label}", one, [told.by_label[label][run] for run in told.runs], told.runs)
            for label, one in told.labels.items()
        ]
        numbers = [name for name in rows[0] if name != "measure"]
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            key="stability-table",
            height="content",
            column_config={name: st.column_config.TextColumn(name, alignment="right") for name in numbers},
        )
        if n == 1:
            st.caption(
                "Models answer differently when asked again. Run with 3 or more iterations for sd and intervals."
            )
        else:
            st.caption("Intervals are 95%, Student's t over iterations.")


def _row(name: str, one: Repeated, scores: Sequence[float | None], runs: Sequence[str]) -> dict[str, str]:
    span = one.interval
    return {
        "measure": name,
        "mean": _figure(one.mean),
        "sd": _figure(one.sd),
        "95% interval": f"{span.low:.3f} to {span.high:.3f}" if span else "–",
        **{run: _figure(score) for run, score in list(zip(runs, scores, strict=True))[:RUNS]},
    }


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _documents(told: RepeatedRuns, codebook: Codebook, reference: Reference) -> None:
    counts = told.stability.counts
    if len(told.runs) < 2:
        return
    rows = [{"name": "All labels", "standing": name, "count": count} for name, count in counts.items()]
    if codebook.kind != "choice":
        for label, own in told.stability.labels.items():
            rows += [{"name": label, "standing": name, "count": count} for name, count in own.items()]
    words = f"{counts['wavering']:,} of {sum(counts.values()):,} documents waver"
    on = coverage.words(told.counted, reference)
    with layout.panel("In every iteration right, or wrong", words, counted=on, key="stability-documents"):
        plots.standings(rows, key="stability-standings")


def _certainty(told: Certainty, reference: Reference) -> None:
    found = told.calibration
    on = coverage.words(told.counted, reference) if told.counted is not None else ""
    with layout.panel(TITLES[told.kind], told.whose, counted=on, key="stability-certainty"):
        if found is None or not found.n:
            st.caption(told.why_not)
            return
        rows = [
            {
                "certainty": one.certainty,
                "right": one.right.value,
                "low": one.right.interval.low if one.right.interval else None,
                "high": one.right.interval.high if one.right.interval else None,
                "n": one.n,
            }
            for one in found.bins
        ]
        plots.reliability(rows, key="stability-reliability", certainty=AXES[told.kind])
        st.caption(
            f"Expected calibration error {found.ece:.3f}, Brier score {found.brier:.3f} on {found.n:,} cases. "
            f"On the dashed line {HONEST[told.kind]} is the chance to be right."
        )
