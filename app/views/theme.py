"""Tells the script of a switch between light and dark, which Streamlit (1.67) keeps to itself until the next rerun."""

from __future__ import annotations

import streamlit as st

from app.components import component

_THEME = component("theme_observer")


def follow() -> None:
    """Have the page rerun when its theme is switched: pictures to take away are made in the colours that are shown.
    Draws nothing."""
    with st.container(key="unseen-theme"):
        _THEME(key="theme", on_switched_change=lambda: None)
