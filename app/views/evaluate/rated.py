"""A run that rates: its key numbers, its dimensions, and where ratings and truth meet."""

from __future__ import annotations

import streamlit as st

from app.views import panel
from app.views.evaluate import plots
from app.views.evaluate.beside import beside
from app.views.labels import pick
from app.views.numbers import Figure, Line, numbers
from core.runs import RunRow
from core.studio.desk import Desk
from core.studio.evaluation import counted, evaluate, scoring
from core.studio.evaluation.grids import Truth
from core.studio.memo import remembered

TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "mae": "mean abs. error",
    "exact": "exactly right",
    "alpha": "Krippendorff's α",
}
"""What columns are called that are not called what they are."""


def key_numbers(desk: Desk, run: RunRow, truth: Truth) -> None:
    """The means over dimensions."""
    report = remembered(desk, lambda: evaluate.report(desk, run.run_id, truth), "report", run.run_id, truth)
    macro = report["macro"]
    out = scoring.not_counted(desk, run, truth)

    def shown(name: str) -> str:
        return "–" if macro[name] is None else f"{macro[name]:.3f}".replace("-", "−")

    numbers(
        [
            Figure("Mean Spearman", text=shown("spearman"), lines=(Line("rank correlation, over dimensions"),)),
            Figure("Mean Kendall", text=shown("kendall"), lines=(Line("tau-b, over dimensions"),)),
            Figure("Mean absolute error", text=shown("mae"), lines=(Line("in points of the scale"),)),
            Figure("Mean alpha", text=shown("alpha"), lines=(Line("Krippendorff's, ordinal"),)),
            Figure(
                "Left out",
                text=f"{out.excluded + out.examples:,}",
                lines=(Line(f"{report['n']:,} documents count"), Line(f"{out.without_truth:,} have no truth")),
            ),
        ],
        key="evaluate-numbers",
    )


def dimensions(desk: Desk, run: RunRow, truth: Truth) -> None:
    """Each dimension's scores, and how ratings and truth meet on one of them."""
    import pandas as pd

    report = remembered(desk, lambda: evaluate.report(desk, run.run_id, truth), "report", run.run_id, truth)
    on = counted.words(counted.of_run(desk, run, truth), truth)
    with panel.panel("Dimensions", "bias above 0 is lenient", counted=on, key="evaluate-table"):
        frame = pd.DataFrame([{"dimension": name, **scores} for name, scores in report["labels"].items()])
        shown = {
            name: st.column_config.NumberColumn(TITLES.get(name, name), format="%.3f")
            for name in frame.columns
            if name not in ("dimension", "n")
        }
        st.dataframe(frame, hide_index=True, key="evaluate-frame", column_config=shown)
    with panel.panel("Where they meet", "rows are the truth rounded, columns the verdict", key="evaluate-meet"):
        chosen = pick(run.settings.codebook, key="evaluate-dimension")
        rows, points = scoring.meeting(desk, run, chosen, truth)
        panel.counted(counted.words(counted.on_item(desk, run, chosen, truth), truth))
        plots.heat(rows, points, points, key=f"evaluate-meeting-{chosen}", x_title="verdict", y_title="truth")
    beside(report)
