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


def blend(one: str, other: str, share: float) -> str:
    """The colour between two (``#rrggbb``) at ``share`` (0 to 1) of the way, mixed as a linear scale does."""
    share = min(1.0, max(0.0, share))
    mixed = (round(a + (b - a) * share) for a, b in zip(_channels(one), _channels(other), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (``#rrggbb``), 1 to 21, by the relative luminance of WCAG 2.2."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def legible(ground: str, shades: Mapping[str, str]) -> str:
    """The colour of writing on ``ground``: that of text or that of the page, whichever stands out more."""
    return max((shades["tx"], shades["bg"]), key=lambda ink: contrast(ink, ground))


def _channels(colour: str) -> tuple[int, ...]:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))


def _luminance(colour: str) -> float:
    parts = [channel / 255 for channel in _channels(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
