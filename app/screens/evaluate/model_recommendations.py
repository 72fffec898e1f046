"""Who should sit where, may the model replace the people, and do the models still answer as they did."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.screens.evaluate import debate_effect
from app.widgets import layout, plots
from core.services.evaluation import alt_test
from core.services.evaluation.drift import Drift
from core.services.evaluation.model_recommendations import Profile, Suggestion
from core.stats.alt_test import Alternative, People

PEOPLE: dict[People, str] = {
    "experts": "Experts 0.2",
    "trained": "Trained 0.15",
    "crowd": "Crowd 0.1",
}


def role_models(found: Sequence[Profile], advised: Sequence[Suggestion], on: str) -> None:
    """Each model's profile and the advice; ``on`` says how many documents it stands on."""
    sub = "the models' own lists, all runs of this codebook"
    with layout.panel("Who suits which seat", sub, counted=on, key="who-seats"):
        rows = [
            {
                "name": one.spec,
                "role_model": one.role_model,
                "precision": one.counts.precision,
                "recall": one.counts.recall,
                "n": one.counts.n,
            }
            for one in found
            if one.counts.precision is not None and one.counts.recall is not None
        ]
        if rows:
            plots.scatter(rows, key="who-profiles")
        lines = "".join(_line(one) for one in advised)
        st.html(f'<div class="moot-told">{lines}</div>')


def _line(one: Suggestion) -> str:
    words = f"{one.spec}. {one.ground}" if one.spec else one.ground
    return f"<span><b>{escape(one.role_model.capitalize())}:</b> {escape(words)}</span>"


def replace(test: Alternative, on: str) -> None:
    """The alternative annotator test; ``on`` says how many documents it stands on."""
    st.html(f'<div class="moot-line">{escape(test.sentence)}</div>')
    if test.people:
        layout.counted(on)
        import pandas as pd

        rows = [
            {
                "left out": one.person,
                "n": one.n,
                "model": one.model_wins,
                "person": one.person_wins,
                "p": one.p,
                "replaceable": one.replaceable,
            }
            for one in test.people
        ]
        as_good = "Share of the documents on which the {} agrees with the other people at least as well as the {}"
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            key="who-people",
            column_config={
                "model": st.column_config.NumberColumn(format="percent", help=as_good.format("model", "person")),
                "person": st.column_config.NumberColumn(format="percent", help=as_good.format("person", "model")),
                "p": st.column_config.NumberColumn(format="%.3f"),
            },
        )
    st.caption(alt_test.EPSILON_WORDS)


def drift(found: Sequence[Drift]) -> None:
    """What canary runs found."""
    if not found:
        st.caption(
            "Providers change models without a word. Run some documents again now and then: a change beyond what "
            "iterations show at one time is drift."
        )
        return
    debate_effect.facts([(one.later, one.sentence) for one in found])
