"""Settings of the writing desk. Every valid change is saved at once."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.state import bound
from app.widgets.alerts import error_notices
from app.widgets.common import line
from app.widgets.layout import panel
from core.authors.questions import MAX_ASKED
from core.services.authors import writing_desk as desks
from core.services.runs import planning
from core.services.session import ProjectSession


def draw(session: ProjectSession) -> None:
    """Draw the settings."""
    now = desks.load_settings(session)

    def field(name: str, value: Any) -> dict[str, Any]:
        def save(changed: Any) -> None:
            with error_notices():
                desks.save_settings(session, **{name: changed})

        return bound(f"authors-set-{name}", value, save)

    left, right = st.columns(2, gap="small")
    with left, panel("Model and questions", key="authors-settings"):
        plan = planning.load_plan(session)
        known = (one.spec for one in (*plan.models, planning.DEFAULT_ROLE_MODEL))
        specs = list(dict.fromkeys((now.model, *known)))
        st.selectbox(
            "Model", specs, accept_new_options=True, **field("model", now.model),
            help="connection/model. It filters, predicts, writes questions and chats.",
        )  # fmt: skip
        if words := desks.model_notice(now.model):
            line(words)
        first, second = st.columns(2)
        first.number_input(
            "Questions per text", 1, MAX_ASKED, **field("m", now.m), help="The most uncertain labels are asked."
        )
        second.number_input(
            "Reading time (s)", 0.0, 60.0, step=1.0, **field("reading_seconds", now.reading_seconds),
            help="A question can be answered after this time.",
        )  # fmt: skip
        first.number_input(
            "Selected labels (k)", 1, 100, **field("k", now.k),
            help="The most relevant labels; only these are asked and used for suggestions.",
        )  # fmt: skip
        second.number_input(
            "Relevant labels needed", 1, 100, **field("min_relevant", now.min_relevant),
            help="No questions about a text with fewer relevant labels.",
        )  # fmt: skip
        st.toggle(
            "Select predictors before they run", **field("predictors_first", now.predictors_first),
            help="Runs only k predictors per text: cheaper with many labels and a paid model.",
        )  # fmt: skip
    with right, panel("Privacy and suggestions", key="authors-privacy"):
        st.text_area(
            "Names to mask", height=80, help="One on each line, in addition to frequent given names.",
            **bound(
                "authors-set-names", "\n".join(now.names),
                lambda text: _save_names(session, text),
            ),
        )  # fmt: skip
        st.number_input(
            "Answers before suggestions", 0, 100_000, **field("warm_up", now.warm_up),
            help="Warm-up: this many answers are collected before anything is suggested.",
        )  # fmt: skip
        st.text_area(
            "Catalogue of suggestions (YAML)", height=220, **field("catalogue", now.catalogue),
            placeholder='- name: Light tent\n  text: Under two kilos.\n  keywords: [tent]\n  labels: {Purchase: "Yes"}',
            help="Entries with name, text, keywords for the baseline, and values by name of a label.",
        )  # fmt: skip


def _save_names(session: ProjectSession, text: str) -> None:
    with error_notices():
        desks.save_settings(session, names=tuple(filter(None, map(str.strip, text.split("\n")))))
