"""The design tokens as plain colours, for charts, which know no css."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import streamlit as st

from app.views.component import tokens

_PAIR = re.compile(r"--([\w-]+):\s*light-dark\((#\w+),\s*(#\w+)\)")


@cache
def palette(dark: bool) -> Mapping[str, str]:
    """Token name (``l1``, ``r-critic``, ``tx2``) to its colour in one of the themes."""
    return {name: night if dark else day for name, day, night in _PAIR.findall(tokens())}


def colours() -> Mapping[str, str]:
    """The palette of the theme that this session looks at."""
    return palette(st.context.theme.type == "dark")


def role_colour(role: str, shades: Mapping[str, str]) -> str:
    """A role's stable colour, as own components have it (``roleColour`` in common.js)."""
    name = role.lower()
    for known in ("extractor", "critic", "judge", "advocate"):
        if name.startswith(known):
            return shades[f"r-{known}"]
    if name.startswith(("prosecut", "defen", "proponent", "opponent")):
        return shades["r-advocate"]
    return shades["r-person" if name.startswith(("person", "you", "author")) else "r-panel"]
