"""A run that rates: its key numbers, its dimensions, and where ratings and truth meet."""

from __future__ import annotations

import streamlit as st

from app.screens.evaluate.rater_comparison import beside
from app.widgets import layout, plots
from app.widgets.labels import pick
from app.widgets.metrics import Metric, MetricNote, numbers
from core.runs import RunRow
from core.services.cache import remembered
from core.services.evaluation import coverage, evaluate, scoring
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession

TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "mae": "mean abs. error",
    "exact": "exactly right",
    "alpha": "Krippendorff's α",
}
"""What columns are called that are not called what they are."""


def key_numbers(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """The means over dimensions."""
    report = remembered(
        session, lambda: evaluate.report(session, run.run_id, reference), "report", run.run_id, reference
    )
    macro = report["macro"]
    out = scoring.not_counted(session, run, reference)

    def shown(name: str) -> str:
        return "–" if macro[name] is None else f"{macro[name]:.3f}".replace("-", "−")

    numbers(
        [
            Metric("Mean Spearman", text=shown("spearman"), lines=(MetricNote("rank correlation, over dimensions"),)),
            Metric("Mean Kendall", text=shown("kendall"), lines=(MetricNote("tau-b, over dimensions"),)),
            Metric("Mean absolute error", text=shown("mae"), lines=(MetricNote("in points of the scale"),)),
            Metric("Mean alpha", text=shown("alpha"), lines=(MetricNote("Krippendorff's, ordinal"),)),
            Metric(
                "Left out",
                text=f"{out.excluded + out.examples:,}",
                lines=(
                    MetricNote(f"{report['n']:,} documents count"),
                    MetricNote(f"{out.without_reference:,} have no truth"),
                ),
            ),
        ],
        key="evaluate-numbers",
    )


def dimensions(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Each dimension's scores, and how ratings and truth meet on one of them."""
    import pandas as pd

    report = remembered(
        session, lambda: evaluate.report(session, run.run_id, reference), "report", run.run_id, reference
    )
    on = coverage.words(coverage.of_run(session, run, reference), reference)
    with layout.panel("Dimensions", "bias above 0 is lenient", counted=on, key="evaluate-table"):
        frame = pd.DataFrame([{"dimension": name, **scores} for name, scores in report["labels"].items()])
        shown = {
            name: st.column_config.NumberColumn(TITLES.get(name, name), format="%.3f")
            for name in frame.columns
            if name not in ("dimension", "n")
        }
        st.dataframe(frame, hide_index=True, key="evaluate-frame", column_config=shown)
    with layout.panel("Where they meet", "rows are the truth rounded, columns the verdict", key="evaluate-meet"):
        chosen = pick(run.settings.codebook, key="evaluate-dimension")
        rows, points = scoring.meeting(session, run, chosen, reference)
        layout.counted(coverage.words(coverage.on_item(session, run, chosen, reference), reference))
        plots.heat(rows, points, points, key=f"evaluate-meeting-{chosen}", x_title="verdict", y_title="truth")
    beside(report)
