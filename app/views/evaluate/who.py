"""Who should sit where, may the model replace the people, and do the models still answer as they did."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from app.views import panel
from app.views.evaluate import debate_worth, points
from core.evaluation.alternative import Alternative, People
from core.studio.evaluation import people
from core.studio.evaluation.advice import Profile, Suggestion
from core.studio.evaluation.drift import Drift

PEOPLE: dict[People, str] = {
    "experts": "Experts 0.2",
    "trained": "Trained 0.15",
    "crowd": "Crowd 0.1",
}


def seats(found: Sequence[Profile], advised: Sequence[Suggestion], on: str) -> None:
    """Each model's profile and the advice; ``on`` says how many documents it stands on."""
    sub = "the models' own lists, all runs of this codebook"
    with panel.panel("Who suits which seat", sub, counted=on, key="who-seats"):
        rows = [
            {
                "name": one.spec,
                "seat": one.seat,
                "precision": one.counts.precision,
                "recall": one.counts.recall,
                "n": one.counts.n,
            }
            for one in found
            if one.counts.precision is not None and one.counts.recall is not None
        ]
        if rows:
            points.scatter(rows, key="who-profiles")
        lines = "".join(_line(one) for one in advised)
        st.html(f'<div class="moot-told">{lines}</div>')


def _line(one: Suggestion) -> str:
    words = f"{one.spec}. {one.ground}" if one.spec else one.ground
    return f"<span><b>{escape(one.seat.capitalize())}:</b> {escape(words)}</span>"


def replace(test: Alternative, on: str) -> None:
    """The alternative annotator test; ``on`` says how many documents it stands on."""
    st.html(f'<div class="moot-line">{escape(test.sentence)}</div>')
    if test.people:
        panel.counted(on)
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
    st.caption(people.EPSILON_WORDS)


def drift(found: Sequence[Drift]) -> None:
    """What canary runs found."""
    if not found:
        st.caption(
            "Providers change models without a word. Run some documents again now and then: a change beyond what "
            "iterations show at one time is drift."
        )
        return
    debate_worth.facts([(one.later, one.sentence) for one in found])
