"""Design tokens as chart colours, each with a light and a dark value, so that charts follow the theme."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import itemgetter

from app.components import tokens

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


_ROLE_TOKENS = ("extractor", "critic", "judge", "advocate")


def role_token(role: str) -> str:
    """Return the colour token of a role: ``extractor`` for ``--r-extractor`` and the CSS class ``extractor``."""
    name = role.lower()
    for token in _ROLE_TOKENS:
        if name.startswith(token):
            return token
    if name.startswith(("prosecut", "defen", "proponent", "opponent")):
        return "advocate"
    return "person" if name.startswith(("person", "you", "author")) else "panelist"


def role_colour(role: str, shades: Mapping[str, str]) -> str:
    """Return the colour of a role from a palette."""
    return shades[f"r-{role_token(role)}"]


def blend(start: str, end: str, share: float) -> str:
    """Return the linear mix of two colours (``#rrggbb``), at ``share`` (0 to 1) of the way."""
    share = min(1.0, max(0.0, share))
    mixed = (round(a + (b - a) * share) for a, b in zip(_channels(start), _channels(end), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (``#rrggbb``), 1 to 21, by the relative luminance of WCAG 2.2."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def text_colour(ground: str, shades: Mapping[str, str]) -> str:
    """Return the text colour on a background: the text colour or the page colour, whichever has more contrast."""
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
