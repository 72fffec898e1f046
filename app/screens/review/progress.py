"""Area below the review: accuracy estimate, suggested codebook examples, and the classifier."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.pages import open_page
from app.screens.review import accuracy_estimate as proof_view
from app.screens.review import codebook_examples
from app.screens.review import plan as plan_view
from app.state import ReviewState, state
from app.widgets.alerts import error_boxes
from app.widgets.common import download
from app.widgets.lessons import accepted_lessons
from core.errors import MootError
from core.runs import RunRow
from core.services import classifier
from core.services.codebooks import codebook as codebooks
from core.services.review import accuracy_estimate as proofs
from core.services.review import codebook_examples as teaching
from core.services.review import focus, plan, review
from core.services.review.codebook_examples import PART_NAMES, CodebookExample, Effect
from core.services.session import ProjectSession


def draw(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> None:
    """Draw the line below the review: a suggested example, else the accuracy estimate.

    ``document_id`` is the focused document.
    """
    asked = ReviewState.edited_example.pop()
    if asked is not None:
        _example_dialog(session, run, asked, actor)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="review-progress"):
        added = ReviewState.example_saved.pop()
        if added:
            st.html(f'<div class="moot-remark" role="status">{escape(added)}</div>', width="stretch")
        elif not _suggest(session, run, document_id, actor):
            with st.container(width="stretch"):
                current = plan.current_plan(session, run)
                if current is not None:
                    plan_view.line(session, run, current)
                else:
                    proof_view.line(proofs.estimate_accuracy(session, run))
        if st.button("Plan", type="tertiary", icon=":material/flag:", key="review-plan-open",
                     help="State what you want to claim, and see how many reviews it takes."):  # fmt: skip
            plan_view.dialog(session, run, actor)
        if st.button("Accuracy and classifier", type="tertiary", icon=":material/monitoring:", key="review-proof-open",
                     help="Accuracy of each label, and whether more review improves the classifier"):  # fmt: skip
            _accuracy_dialog(session, run)
    accepted_lessons(session)


def _suggest(session: ProjectSession, run: RunRow, document_id: str | None, actor: str) -> bool:
    """Draw a suggestion from the focused or the last corrected document. Returns True if there is one."""
    for place in dict.fromkeys((document_id, state.review.corrected_document)):
        suggestions = _suggestions(session, run, place, actor) if place is not None else []
        if suggestions:
            state.review.corrected_document = place
            _offer(session, run, suggestions, actor, elsewhere=place != document_id)
            return True
    return False


def _offer(
    session: ProjectSession,
    run: RunRow,
    suggestions: list[tuple[CodebookExample, Effect | None]],
    actor: str,
    *,
    elsewhere: bool,
) -> None:
    """Draw the first suggestion with words, else a button to choose words."""
    example, effect = next((one for one in suggestions if one[1] is not None), suggestions[0])
    words = f"Your correction of {escape(example.document_id)} can be added as an example of its label."
    if effect is not None:
        codebook = codebooks.shown(session, run.settings.codebook)
        words = codebook_examples.sentence(
            example, effect, codebook, more=len(suggestions) - 1, elsewhere=elsewhere
        )  # fmt: skip
    st.html(f'<div class="moot-example">{words}</div>', width="stretch")
    st.button(
        "Choose words" if effect is None else "Change words", type="secondary" if effect is None else "tertiary",
        on_click=ReviewState.edited_example.set, args=(example,), key="review-teach-change",
    )  # fmt: skip
    if effect is not None:
        st.button(
            f"Add as {PART_NAMES[example.part]}", icon=":material/add:", on_click=_keep,
            args=(session, run, example, actor), key="review-teach-add",
        )  # fmt: skip


def _suggestions(
    session: ProjectSession, run: RunRow, document_id: str, actor: str
) -> list[tuple[CodebookExample, Effect | None]]:
    """Return the suggestions from a document's corrections. Empty while the verdict is hidden from the reviewer."""
    found = review.load_record(session, run, document_id, actor=actor)
    if found is None or not found.reviews or focus.hidden(session, run, found, actor):
        return []
    return teaching.open_suggestions(session, run, found)


def _keep(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    """Add an example to the codebook. The next page run shows the result."""
    try:
        version = teaching.add_example(session, run, example, actor=actor)
    except MootError as error:
        state.review.example_saved = str(error)
    else:
        state.review.example_saved = f"Saved as version {version} of the codebook. New runs use it."


@st.dialog("Add as example", width="large")
def _example_dialog(session: ProjectSession, run: RunRow, example: CodebookExample, actor: str) -> None:
    chosen = codebook_examples.form(example, codebooks.shown(session, run.settings.codebook))
    if not chosen.text.strip():
        st.html('<div class="moot-remark q">Type or paste words of the text to preview the change.</div>')
        return
    with error_boxes():
        codebook_examples.effect(teaching.preview_example(session, run, chosen))
        st.html(
            '<div class="moot-remark q">This document is excluded from evaluations of runs whose codebook contains '
            "these words.</div>"
        )
        if st.button("Add example", type="primary", key="teach-keep"):
            _keep(session, run, chosen, actor)
            st.rerun()


@st.dialog("Accuracy and classifier", width="large")
def _accuracy_dialog(session: ProjectSession, run: RunRow) -> None:
    with st.spinner("Estimating the accuracy"):
        estimate = proofs.estimate_accuracy(session, run)
    proof_view.details(estimate, run.settings.codebook.kind)
    with st.container(border=True, key="accuracy-classifier", gap="small"):
        found = classifier.status(session)
        st.html(
            '<div class="moot-panel"><h2>Classifier</h2>'
            "<span>trained on your decisions, not a language model</span></div>"
        )
        proof_view.classifier_status(found)
        if found.ready:
            _classifier_buttons(session)
        with st.expander("Import a classifier"):
            imported_classifier(session)


def imported_classifier(session: ProjectSession) -> None:
    """Draw the import of a classifier file from another project, and the button that runs the classifier."""
    upload = st.file_uploader("A .skops file that Moot exported", type=["skops"], key="classifier-import")
    if upload is None:
        return
    with error_boxes():
        with st.spinner("Reading the classifier"):
            found = classifier.import_classifier(session, upload.getvalue(), upload.name)
        known, unknown = ", ".join(found.known), ", ".join(found.unknown)
        missing = f" Not trained on {unknown}: these stay unresolved." if unknown else ""
        st.html(
            f'<div class="moot-remark">Trained on {found.documents:,} documents of another project. '
            f"Labels: {escape(known)}.{escape(missing)} The classifier of this project stays unchanged.</div>"
        )
        if st.button("Annotate all documents with it", icon=":material/play_arrow:", key="classifier-import-annotate"):
            state.select_run(classifier.annotate_with_imported(session, found).run_id)
            open_page("run")


def _classifier_buttons(session: ProjectSession) -> None:
    with st.container(horizontal=True, gap="small"):
        if st.button("Annotate all documents", icon=":material/play_arrow:", key="classifier-annotate",
                     help="Starts a free local run. Compare it on Evaluate."):  # fmt: skip
            made = classifier.annotate(session)
            state.select_run(made.run_id)
            open_page("run")
        download(
            "Classifier file", lambda: classifier.body(session), f"{session.name}-classifier{classifier.SUFFIX}",
            type="tertiary", key="classifier-file", help="A skops file: contains no code and no pickle",
        )  # fmt: skip
        download(
            "Model card", lambda: classifier.card(session), f"{session.name}-classifier.md", "text/markdown",
            type="tertiary", icon="description", key="classifier-card", help="Training data and performance",
        )  # fmt: skip
