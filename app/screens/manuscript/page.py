"""For your paper: methods, tables, prompts and model versions, references, and the design file of the review."""

from __future__ import annotations

import re
from functools import partial
from html import escape
from urllib.parse import urljoin

import streamlit as st

from app import context
from app.widgets import layout
from app.widgets.alerts import error_boxes
from app.widgets.elements import MAX_COLUMNS, button, download, heading, line, literal, remark
from app.widgets.run_picker import latent_truth_note, reference_picker, run_picker, runs_or_empty_page
from core.documents import Reference
from core.runs import RunRow
from core.services import manuscript
from core.services.evaluation import corrected_regression
from core.services.evaluation.reference import available_references
from core.services.manuscript_formats import SUFFIXES, Form, Listing, Manuscript, ManuscriptTable, html_table, write
from core.services.project_session import ProjectSession

_FORMS: dict[Form, str] = {"markdown": "Markdown", "html": "HTML", "latex": "LaTeX"}


def main() -> None:
    session = context.require_project()
    words = "Start a run first. This page then writes the methods paragraph, the tables and the appendix."
    runs = runs_or_empty_page(session, "For your paper", "Nothing to write about yet", words, sign="lines")
    if not runs:
        return
    with layout.header("For your paper"):
        run = run_picker(runs)
        reference = reference_picker(available_references(session, run.run_id))
    latent_truth_note(session, run, reference)
    paper = manuscript.build(session, run, reference)
    with st.container(horizontal=True, gap="small", key="manuscript-downloads"):
        _downloads(session, run.run_id, reference, paper)
        help = "A mean, trend or regression on the labels, corrected by your reviews"
        if button("Regression", "manuscript-regression", icon="show_chart", help=help):
            _regression(session, run)
    with st.container(border=True, key="manuscript-text"):
        _preview(paper)


def _downloads(session: ProjectSession, run_id: str, reference: Reference, paper: Manuscript) -> None:
    base = urljoin(st.context.url or "", "/")  # the file is read elsewhere: its links need the whole address
    compared_with = re.sub(r"\W+", "-", reference)  # such as run:r0002/critic
    for form, title in _FORMS.items():
        content, name = partial(write, paper, form, base=base), f"{run_id}-{compared_with}-manuscript{SUFFIXES[form]}"
        download(title, content, name, key=f"manuscript-{form}")
    download("BibTeX", paper.bibtex, "moot.bib", key="manuscript-bibtex")
    download(
        "Design file",
        lambda: manuscript.design_file(session, session.run(run_id)),
        f"{run_id}-design.csv",
        help="For R and Python: each document with its selection probability, weight, reviewed values and verdicts",
        key="manuscript-design",
    )


def _preview(paper: Manuscript) -> None:
    line(paper.title)
    for title, blocks in paper.sections.items():
        heading(title)
        for block in blocks:
            match block:
                case str():
                    st.html(f'<p class="moot-manuscript">{escape(block)}</p>')
                case Listing():
                    with st.expander(literal(block.title)):
                        st.code(block.text, language=None, wrap_lines=True)
                case ManuscriptTable():
                    _table(block)
    heading("References")
    st.code(paper.bibtex, language=None, wrap_lines=True)


def _table(block: ManuscriptTable) -> None:
    region = f'tabindex="0" role="region" aria-label="{escape(block.caption)}"' if len(block.head) > MAX_COLUMNS else ""
    st.html(f'<div class="moot-scroll" {region}>{html_table(block, css="moot-estimate")}</div>')


# -- regressions


@st.dialog("Regression on labels", width="large")
def _regression(session: ProjectSession, run: RunRow) -> None:
    """Draw the dialog: outcome, predictors and family, the coefficients, and the regressions of the paper."""
    names = [*run.settings.codebook.names, *corrected_regression.columns(session, run)]
    left, right = st.columns(2)
    outcome = left.selectbox("Outcome", names, key="regression-outcome")
    family = right.segmented_control(
        "Family",
        corrected_regression.FAMILIES,
        default="linear",
        format_func=str.capitalize,
        required=True,
        key="regression-family",
        help="Linear for differences in means or shares, logistic for log odds of a label",
    )
    predictors = st.multiselect(
        "Predictors",
        [name for name in names if name != outcome],
        key="regression-predictors",
        placeholder="None: the mean",
        help="Labels, and columns of the file with numbers, dates or few different texts",
    )
    formula = corrected_regression.Formula(outcome, tuple(predictors), family)
    saved = corrected_regression.saved_formulas(session, run)
    save = partial(corrected_regression.save_formulas, session, run)
    with error_boxes():
        analysis = corrected_regression.analyse(session, run, formula)
        _table(ManuscriptTable(*corrected_regression.table(analysis), caption=str(formula)))
        remark(
            f"{analysis.sentence}. Errors of the model do not bias the estimates. Those from the verdicts alone are "
            "shown for comparison.",
            "q",
        )
        added = [*saved, formula]
        if button("Add to the paper", "regression-add", save, added, type="primary", disabled=formula in saved):
            st.rerun()
    for saved_formula in saved:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(f"In the paper: {saved_formula} ({saved_formula.family})")
            key = f"regression-remove-{saved_formula} {saved_formula.family}"  # by number, the next would get it
            others = [other for other in saved if other != saved_formula]
            if button("Remove", key, save, others, type="tertiary"):
                st.rerun()


main()
