"""Scores of a run on ambiguous and on other documents, split by an earlier vote of one model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.widgets.common import facts
from app.widgets.layout import counted, panel
from core.annotations import Reference
from core.errors import UsageError
from core.formatting import format_count, format_number, format_percent
from core.runs import RunRow
from core.services.evaluation import ambiguity
from core.services.evaluation.coverage import describe
from core.services.session import ProjectSession

_FIGURES = (("accuracy", "accuracy"), ("f1", "macro F1"), ("spearman", "Spearman"), ("mae", "mean absolute error"))


def draw(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """Draw the scores of both parts by the selected pre-pass; without a pre-pass, explain how to make one."""
    with panel("Ambiguous and normal documents", "by an earlier vote of one model", key="evaluate-apart"):
        known = ambiguity.prepasses(session)
        if not known:
            st.html(
                '<div class="moot-sentences"><span>No prepass run has finished. Run the protocol Single annotator with '
                "the method Vote to find the documents on which a model disagrees with itself.</span></div>"
            )
            return
        left, right = st.columns(2)
        chosen = left.selectbox("Vote", known, key="apart-vote")
        theta = right.number_input(
            "Ambiguity threshold", 0.0, 1.0, 0.5, 0.1, key="apart-theta",
            help="A document is ambiguous if the shares of its two most common answers differ by at most this.",
        )  # fmt: skip
        try:
            result = ambiguity.scores_by_ambiguity(session, run.run_id, str(chosen), float(theta), reference=reference)
        except UsageError as error:
            st.text(f"{error.message} {error.remedy}")
            return
        counted(describe(ambiguity.coverage_by_ambiguity(session, run, str(chosen), reference), reference))
        facts([(name.capitalize(), part_words(result[name])) for name in ("ambiguous", "normal")])


def part_words(part: Mapping[str, Any]) -> str:
    """ "12 documents (18%), 9 of them scored: accuracy 0.61, macro F1 0.55"; what is undefined is left out."""
    share = "" if part["share"] is None else f" ({format_percent(part['share'])})"
    count = f"{format_count(part['documents'], 'document')}{share}"
    scores = part["scores"] or {}
    if scores.get("n", part["documents"]) != part["documents"]:
        count += f", {scores['n']:,} of them scored"
    values = {"accuracy": scores.get("accuracy"), **(scores.get("macro") or {})}
    known = ((words, values.get(name)) for name, words in _FIGURES)
    figures = [f"{words} {format_number(value, 2)}" for words, value in known if isinstance(value, float)]
    return f"{count}: {', '.join(figures)}" if figures else count
