"""The tab Scores of a run that rates: dimensions, confusion matrix, raters and ROUGE-L."""

from __future__ import annotations

from app.widgets import charts, layout
from app.widgets.common import table
from app.widgets.labels import pick
from app.widgets.metrics import dimension_table
from core.formatting import format_number
from core.services.evaluation import coverage
from core.services.evaluation.reference import reference_names
from core.services.evaluation.scores import EvaluationReport, rating_confusion
from core.services.session import ProjectSession


def draw(session: ProjectSession, found: EvaluationReport) -> None:
    """Draw the tab."""
    on = found.describe_basis()
    with layout.panel("Scores per dimension", "bias above 0 is lenient", counted=on, key="evaluate-table"):
        dimension_table(found.scores)
    _confusion(session, found)
    if found.median is not None:
        with layout.panel("Scores per rater", "Spearman's correlation", key="evaluate-raters"):
            _raters(found)
    if found.overlap:
        with layout.panel("ROUGE-L baseline", "word overlap, Spearman's correlation", key="evaluate-overlap"):
            _overlap(found)


def _confusion(session: ProjectSession, found: EvaluationReport) -> None:
    run, reference = found.run, found.reference
    noun = reference_names(reference).noun
    with layout.panel("Confusion matrix", f"rows: {noun}, rounded; columns: verdict", key="evaluate-meet"):
        chosen = pick(run.settings.codebook, key="evaluate-dimension")
        points = [str(point) for point in run.settings.codebook.scale_of(chosen).points]
        matrix = rating_confusion(session, run, chosen, reference)
        layout.counted(coverage.describe(coverage.on_item(session, run, chosen, reference), reference))
        charts.confusion_heatmap(matrix, points, key=f"evaluate-confusion-{chosen}", x_title="verdict", y_title=noun)


def _raters(found: EvaluationReport) -> None:
    """Draw each rater, the mean and the median of them, and their agreement, by dimension."""
    assert found.median is not None
    sides = {**found.raters, "mean": found.scores, "median": found.median}
    rows = [
        [
            name,
            *(format_number(side.labels[name]["spearman"].value) for side in sides.values()),
            format_number(found.agreement[name]),
        ]
        for name in found.scores.labels
    ]
    table(["Dimension", *sides, "agreement of the raters (alpha)"], rows)


def _overlap(found: EvaluationReport) -> None:
    fields = found.overlap
    rows = [
        [
            name,
            *(format_number(own.labels[name]["spearman"]) for own in fields.values()),
            format_number(found.scores.labels[name]["spearman"].value),
        ]
        for name in found.scores.labels
    ]
    heads = [f"with {field} (mean F1 {format_number(own.mean)})" for field, own in fields.items()]
    table(["Dimension", *heads, "this run"], rows)
