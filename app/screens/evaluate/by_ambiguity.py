"""Ambiguous and normal documents apart: how right a run is where a model was not sure of itself, and where it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from app.screens.evaluate.debate_effect import facts
from app.widgets.layout import counted, panel
from core.errors import UsageError
from core.runs import RunRow
from core.services.evaluation import ambiguity
from core.services.evaluation.coverage import words
from core.services.evaluation.grids import Reference
from core.services.session import ProjectSession

_FIGURES = (("accuracy", "accuracy"), ("f1", "macro F1"), ("spearman", "Spearman"), ("mae", "mean absolute error"))


def apart(session: ProjectSession, run: RunRow, reference: Reference) -> None:
    """A card with the scores of both kinds of document by a pre-pass that the person chooses; without any pre-pass, how
    to make one."""
    with panel("Ambiguous and normal documents", "by an earlier vote of one model", key="evaluate-apart"):
        known = ambiguity.prepasses(session)
        if not known:
            st.html(
                '<div class="moot-told"><span>A run of the single annotator that votes (method: vote of k) tells on '
                "which documents a model does not agree with itself. None has ended in this project.</span></div>"
            )
            return
        left, right = st.columns(2)
        chosen = left.selectbox("Vote", known, key="apart-vote")
        theta = right.number_input(
            "Theta", 0.0, 1.0, 0.5, 0.1, key="apart-theta",
            help="Ambiguous: the two most common answers lie at most this share of the asks apart.",
        )  # fmt: skip
        try:
            told = ambiguity.apart(session, run.run_id, str(chosen), float(theta), reference=reference)
        except UsageError as error:
            st.text(f"{error.message} {error.remedy}")
            return
        counted(words(ambiguity.counted_apart(session, run, str(chosen), reference), reference))
        facts([(name.capitalize(), part_words(told[name])) for name in ("ambiguous", "normal")])


def part_words(part: Mapping[str, Any]) -> str:
    """ "12 documents (18%), 9 of them scored: accuracy 0.61, macro F1 0.55"; what is undefined is left out."""
    share = "" if part["share"] is None else f" ({part['share']:.0%})"
    count = f"{part['documents']:,} document{'' if part['documents'] == 1 else 's'}{share}"
    scores = part["scores"] or {}
    if scores.get("n", part["documents"]) != part["documents"]:
        count += f", {scores['n']:,} of them scored"
    values = {"accuracy": scores.get("accuracy"), **(scores.get("macro") or {})}
    said = [f"{words} {values[name]:.2f}" for name, words in _FIGURES if isinstance(values.get(name), float)]
    return f"{count}: {', '.join(said)}" if said else count
