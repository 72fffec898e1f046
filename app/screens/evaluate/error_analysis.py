"""The tab Errors: the errors of one label by cue words, length, number of labels and tags, and their documents."""

from __future__ import annotations

import streamlit as st

from app.pages import open_page
from app.state import state
from app.widgets import charts, layout
from app.widgets.document_drawer import DOCUMENTS_PER_PAGE, document_list, excerpt
from app.widgets.elements import facts, literal, segments
from app.widgets.labels import pick
from app.widgets.metric_tables import estimate_data
from core.documents import Reference
from core.formatting import format_count
from core.runs import RunRow
from core.services.evaluation.error_analysis import (
    SIDES,
    ErrorSide,
    LabelErrors,
    documents,
    label_with_most_errors,
    of_label,
)
from core.services.evaluation.evaluation import EvaluationReport, evaluate
from core.services.project_session import ProjectSession
from core.stats.error_analysis import Band

ALL, CONSISTENT = "All", "In every iteration"
NAMES: dict[bool, dict[ErrorSide, str]] = {
    False: {"false_negative": "False negatives", "false_positive": "False positives"},
    True: {"false_negative": "Too low", "false_positive": "Too high"},
}
"""Names of both kinds of error, by whether the label is a rating."""


@st.fragment
def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    codebook = run.settings.codebook
    evaluation = evaluate(session, run, reference)
    label_id = pick(codebook, key="errors-label", default=label_with_most_errors(session, run, reference))
    errors = of_label(session, run, label_id, reference)
    left, right = st.columns([1.2, 1], gap="small")
    with left:
        side, word = _cue_words(errors, evaluation)
    with right:
        _shares(errors, evaluation)
    basis = errors.counted.describe(reference)
    containing = f"containing “{word}”" if word else ""
    with layout.panel("Documents", containing, counted=basis, key="errors-documents") as head:
        with head:
            extent = ALL
            if errors.iterations > 1:
                extent = segments("Documents shown", [ALL, CONSISTENT], default=ALL, key="errors-only")
            if st.button("Edit the definition", key="errors-define", icon=":material/edit:", type="tertiary"):
                state.codebook.select_label(label_id)
                open_page("codebook")
        rows, total = documents(
            session,
            run,
            label_id,
            reference,
            side=side,
            consistent=extent == CONSISTENT,
            word=word,
            limit=DOCUMENTS_PER_PAGE,
        )
        if not rows:
            st.caption(f"No such errors on {literal(codebook.label_names[label_id])}.")
            return
        more = f", the first {DOCUMENTS_PER_PAGE} shown" if total > DOCUMENTS_PER_PAGE else ""
        document_list(
            [
                {"id": row.document_id, "excerpt": " ".join([*(f"[{tag}]" for tag in row.tags), excerpt(row.text)])}
                for row in rows
            ],
            title=codebook.label_names[label_id],
            note=f"{format_count(total, 'document')}, most frequent errors first{more}",
            key="errors-cases",
        )


def _cue_words(result: LabelErrors, evaluation: EvaluationReport) -> tuple[ErrorSide, str]:
    """Draw the words that are typical of one side of the errors. Return the selected side and word, which may be ""."""
    run, kind = evaluation.run, evaluation.run.settings.codebook.kind
    basis = result.counted.describe(evaluation.reference)
    subtitle = "bar: how much more typical of these errors than of correct documents (TF-IDF difference)"
    with layout.panel("Cue words", subtitle, counted=basis, key="errors-cues"):
        sides = SIDES[kind]
        by_side = {errors.side: errors for errors in result.sides}
        titles = {name: f"{NAMES[kind == 'rating'][name]} {by_side[name].wrong:,}" for name in sides}
        default = max(sides, key=lambda name: by_side[name].wrong)
        side = segments("Kind of error", titles, default=default, key="errors-side")
        errors = by_side[side]
        note = "Repeat the run to see which errors are consistent."
        if result.iterations > 1:
            note = f"{errors.consistent:,} of them in all {result.iterations} iterations."
            if errors.debated < errors.wrong:  # an iteration was stopped
                note = (
                    f"All {result.iterations} iterations have debated {errors.debated:,} of them, and "
                    f"{errors.consistent:,} have this error in each."
                )
        st.caption(f"{sides[side].capitalize()}. {note}")
        if not errors.cues:
            st.caption(
                "No word occurs in two of these errors and in a larger share of them than of the correct documents."
            )
            return side, ""
        rows = [
            {
                "name": cue.word,
                "value": cue.weight,
                "words": f"{format_count(len(cue.errors), 'error')}, {cue.hits:,} correct",
                "colour": "wrong",
            }
            for cue in errors.cues
        ]
        key = f"errors-words-{run.run_id}-{result.label_id}-{side}"
        title = f"Cue words {run.run_id} {run.settings.codebook.label_names[result.label_id]} {side}"
        word = charts.bars(rows, key=key, title=title, unit="TF-IDF difference", share=False, select=True)
    # After a review, or in another project, the selected word may be none of these.
    return side, word if any(word == cue.word for cue in errors.cues) else ""


def _shares(result: LabelErrors, evaluation: EvaluationReport) -> None:
    """Draw the error rates by length and by number of labels, and the number of errors by type."""
    basis, marks = evaluation.describe_basis(result.counted), "line: 95% interval"
    if evaluation.basis.is_estimate:
        marks += "; right: counts of reviewed documents, unweighted"
    subtitle = f"error rate by number of words; {marks}"
    with layout.panel("By length", subtitle, counted=basis, key="errors-length"):
        _bands(result.by_length, "words", key="errors-length-chart")
    if result.by_labels:
        subtitle = f"error rate by labels present in the reference; {marks}"
        with layout.panel("By number of labels", subtitle, counted=basis, key="errors-labels"):
            _bands(result.by_labels, "labels", key="errors-labels-chart")
    counted = result.counted.describe(evaluation.reference)
    with layout.panel("By error type", "as set in Review", counted=counted, key="errors-tags"):
        if result.tags:
            facts([(tag, f"{count:,}") for tag, count in result.tags.items()])
        else:
            st.caption("No error has a type yet. Set error types in Review.")


def _bands(bands: tuple[Band, ...], unit: str, *, key: str) -> None:
    if not bands:
        st.caption("No document has a reference and a verdict.")
        return
    rows = [
        {
            "name": f"{band.low:,}" if band.low == band.high else f"{band.low:,} to {band.high:,}",
            **estimate_data(band.share),
            "words": f"{band.wrong:,} of {band.n:,}",
            "colour": "bar",
        }
        for band in bands
    ]
    charts.bars(rows, key=key, title=f"Error rate by {unit}", unit=f"error rate, by {unit}")
