"""Confusion matrices with selectable cells, and the documents of the selected cell."""

from __future__ import annotations

import streamlit as st

from app.components import component, reported
from app.screens.evaluate import flips
from app.state import state
from app.widgets import charts, layout
from app.widgets.document_drawer import DOCUMENTS_PER_PAGE, document_list, excerpt
from app.widgets.elements import page_number, pagination
from app.widgets.labels import label_data
from core.formatting import format_count
from core.services.evaluation.debate_effect import DebateEffect, noun
from core.services.evaluation.evaluation import CELLS, EvaluationReport, cell_documents
from core.services.evaluation.reference import reference_names
from core.services.project_session import ProjectSession

_CONFUSION_MATRIX = component("confusion_matrix")


@st.fragment
def confusion_panel(session: ProjectSession, evaluation: EvaluationReport, debate: DebateEffect) -> None:
    codebook = evaluation.run.settings.codebook
    reference = reference_names(evaluation.reference).noun
    with layout.panel(
        "Confusion matrix",
        f"rows: {reference}, columns: verdict; {evaluation.row_shares}",
        note="click a cell to read its documents",
        counted=evaluation.describe_coverage(),
        key="evaluate-confusion",
    ):
        if codebook.kind == "choice":
            _choice_matrix(evaluation, reference)
        else:
            _label_matrices(evaluation, reference)
        column = st.container()
        if debate.flip_table is not None:
            left, column = st.columns([1, 1.15], gap="medium")
            with left:
                flips.flip_table(debate.flip_table, codebook, debate.titles, noun(evaluation.run))
        with column:
            _cases(session, evaluation, debate)


def _label_matrices(evaluation: EvaluationReport, reference: str) -> None:
    """Draw a 2x2 matrix for each label. A click selects a cell."""
    labels = []
    for label in label_data(evaluation.run.settings.codebook):
        counts = evaluation.scores.counts[label["name"]]
        note = f"{counts.positives:,} present" if counts.positives else "none present"
        labels.append({**label, "note": note, **{cell: getattr(counts, cell) for cell in CELLS}})
    _CONFUSION_MATRIX(
        key="evaluate-cells",
        data={"labels": labels, "reference": reference, "selected": state.evaluate.cell},
        on_cell_change=_cell_clicked,
    )


def _cell_clicked() -> None:
    if clicked := reported("evaluate-cells", "cell"):
        state.evaluate.cell = (str(clicked[0]), str(clicked[1]))


def _choice_matrix(evaluation: EvaluationReport, reference: str) -> None:
    """Draw the matrix of all labels. A click selects a cell."""
    labels = {label.name: label.id for label in evaluation.run.settings.codebook.labels}
    true, predicted = charts.confusion_heatmap(
        evaluation.scores.confusion,
        list(labels),
        reference,
        key=f"evaluate-matrix-{evaluation.run.run_id}",
        title="Confusion matrix",
    )
    if true in labels and predicted in labels:  # the selection may be one of another project
        state.evaluate.cell = (labels[true], labels[predicted])


def _picked(evaluation: EvaluationReport) -> tuple[str, str] | None:
    """Return the selected cell, else a cell with many errors. None without errors.

    The default is the largest error cell (single choice) or the larger error cell of the label with most errors.
    """
    names = evaluation.run.settings.codebook.label_names
    cell = state.evaluate.cell
    choice = evaluation.run.settings.codebook.kind == "choice"
    if cell is not None and cell[0] in names and cell[1] in (names if choice else CELLS):
        return cell
    if choice:
        wrong = [
            (count, true, predicted)
            for true, line in zip(names, evaluation.scores.confusion, strict=True)
            for predicted, count in zip(names, line, strict=True)
            if true != predicted and count
        ]
        return max(wrong)[1:] if wrong else None
    counts = {id: evaluation.scores.counts[name] for id, name in names.items()}
    worst = max(counts, key=lambda id: counts[id].fn + counts[id].fp)
    fn, fp = counts[worst].fn, counts[worst].fp
    if not fn + fp:
        return None
    return worst, "fn" if fn >= fp else "fp"


def _cases(session: ProjectSession, evaluation: EvaluationReport, debate: DebateEffect) -> None:
    cell = _picked(evaluation)
    if cell is None:
        st.caption("There are no errors. Click a cell to read its documents.")
        return
    labels = {label.id: label for label in evaluation.run.settings.codebook.labels}
    label = labels[cell[0]]
    reference = reference_names(evaluation.reference).noun
    if evaluation.run.settings.codebook.kind == "choice":
        ids = list(labels)
        total = evaluation.scores.confusion[ids.index(cell[0])][ids.index(cell[1])]
        true, predicted = label.name, labels[cell[1]].name
        head = true if true == predicted else f"{true} as {predicted}"
    else:
        total = getattr(evaluation.scores.counts[label.name], cell[1])
        true, predicted = ("present" if value else "absent" for value in CELLS[cell[1]])
        head = f"{label.name}, {cell[1].upper()}"
    pages = -(-total // DOCUMENTS_PER_PAGE)
    key = f"evaluate-case-page-{evaluation.run.run_id}-{'-'.join(cell)}"
    number = page_number(pages, key=key)
    rows = cell_documents(
        session,
        evaluation.run,
        *cell,
        reference=evaluation.reference,
        offset=(number - 1) * DOCUMENTS_PER_PAGE,
        limit=DOCUMENTS_PER_PAGE,
    )
    document_list(
        [{"id": row.document_id, "excerpt": excerpt(row.text), "role": row.error_by} for row in rows],
        title=head,
        note=f"{format_count(total, 'document')}: {reference} {true}, verdict {predicted}",
        heading="error introduced by" if any(row.error_by for row in rows) else "",
        roles=debate.titles,
        key="evaluate-cases",
    )
    pagination(pages, key=key)
