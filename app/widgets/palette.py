"""Design tokens as chart colours, each with a light and a dark value, so that charts follow the theme."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import itemgetter

from app.components import ROLES, tokens

_BOTH = r"light-dark\((#\w+),\s*(#\w+)\)"
_PAIR = re.compile(rf"--([\w-]+):\s*{_BOTH}")
_COLOUR = re.compile(_BOTH)


@cache
def palette(dark: bool) -> Mapping[str, str]:
    """Return the colours of one theme by token name (``l1``, ``r-critic``, ``tx2``)."""
    return {name: night if dark else day for name, day, night in _PAIR.findall(tokens())}


@cache
def colours() -> Mapping[str, str]:
    """Return CSS colours (``light-dark(#fff, #000)``) by token name. The browser applies the theme."""
    return {name: both_themes(itemgetter(name)) for name in palette(False)}


def both_themes(colour_of: Callable[[Mapping[str, str]], str]) -> str:
    """Return the CSS colour of a function of the palette, evaluated for both themes."""
    return f"light-dark({colour_of(palette(False))},{colour_of(palette(True))})"


def single_theme(text: str, dark: bool) -> str:
    """Return ``text`` with each two-theme colour replaced by the colour of one theme, for formats without CSS."""
    return _COLOUR.sub(r"\2" if dark else r"\1", text)


def role_token(role: str) -> str:
    """Return the colour token of a role: ``extractor`` for ``--r-extractor`` and the CSS class ``extractor``."""
    name = role.lower()
    for token in ROLES:
        if name.startswith(token):
            return token
    if name.startswith(("prosecut", "defen", "proponent", "opponent")):
        return "advocate"
    return "person" if name.startswith(("you", "author")) else "panelist"


def role_colour(role: str) -> str:
    return colours()[f"r-{role_token(role)}"]


def blend(start: str, end: str, share: float) -> str:
    """Return the linear mix of two colours (``#rrggbb``), at ``share`` (0 to 1) of the way."""
    share = min(1.0, max(0.0, share))
    channels = zip(bytes.fromhex(start[1:]), bytes.fromhex(end[1:]), strict=True)
    return "#" + bytes(round(a + (b - a) * share) for a, b in channels).hex()
