"""Dialog for a regression on the labels of a run, corrected by its reviewed documents."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from app.widgets.alerts import error_boxes
from core.runs import RunRow
from core.services import paper
from core.services.evaluation import regression
from core.services.evaluation.regression import FAMILIES, Formula
from core.services.paper import Table
from core.services.session import ProjectSession


@st.dialog("Regression on labels", width="large")
def dialog(session: ProjectSession, run: RunRow) -> None:
    """Draw the dialog: outcome, predictors and family, the coefficients, and the regressions of the paper."""
    names = [*regression.labels(run.settings.codebook), *regression.columns(session, run)]
    left, right = st.columns(2)
    outcome = left.selectbox("Outcome", names, key="regression-outcome")
    family = right.segmented_control(
        "Family", list(FAMILIES), default="linear", format_func=lambda name: FAMILIES[name].capitalize(),
        required=True, key="regression-family",
        help="Linear for differences in means or shares, logistic for log odds of a label",
    )  # fmt: skip
    predictors = st.multiselect(
        "Predictors", [name for name in names if name != outcome], key="regression-predictors",
        placeholder="None: the mean",
        help="Labels, and columns of the file with numbers, dates or few different texts",
    )  # fmt: skip
    formula = Formula(outcome, tuple(predictors), family)
    kept = regression.kept(session, run)
    keep = partial(regression.keep, session, run)
    with error_boxes():
        found = regression.analyse(session, run, formula)
        st.html(paper.html_table(Table(*regression.table(found), caption=str(formula)), css="moot-estimate"))
        st.html(
            f'<div class="moot-remark q">{escape(found.sentence)}. Errors of the model do not bias the estimates; '
            "those of the verdicts alone are shown for comparison.</div>"
        )
        if st.button("Add to the paper", type="primary", key="regression-add", disabled=formula in kept,
                     on_click=keep, args=([*kept, formula],)):  # fmt: skip
            st.rerun()
    for place, one in enumerate(kept):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.text(f"In the paper: {one} ({one.family})")
            if st.button("Remove", type="tertiary", key=f"regression-remove-{place}",
                         on_click=keep, args=([other for other in kept if other != one],)):  # fmt: skip
                st.rerun()
