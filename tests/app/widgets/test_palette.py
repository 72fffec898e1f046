"""Tests of the colours of both themes and of the text colour on shaded cells."""

from __future__ import annotations

import pytest

from app.widgets import charts
from app.widgets.palette import blend, both_themes, colours, palette, role_token, single_theme
from tests.each_row import each_row


def contrast(first, second):
    """Return the contrast ratio of two colours, 1 to 21, by the relative luminance of WCAG 2.2."""
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [channel / 255 for channel in bytes.fromhex(colour[1:])]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


def test_blend_starts_and_ends_with_its_colours():
    assert blend("#000000", "#ffffff", 0) == "#000000"
    assert blend("#000000", "#ffffff", 1) == "#ffffff"
    assert blend("#000000", "#ffffff", 0.5) == "#808080"


@each_row("dark", [False, True])
def test_text_is_legible_on_every_shade_of_a_matrix(dark):
    shades = palette(dark)
    backgrounds = [blend(shades["bg2"], shades["bar"], charts.FULL_CELL * step / 20) for step in range(21)]
    assert all(contrast(shades["tx"], background) > 4.5 for background in backgrounds)


def test_colour_for_both_themes_is_resolved_for_one_theme():
    shade = colours()["tx2"]
    assert shade == f"light-dark({palette(False)['tx2']},{palette(True)['tx2']})"
    words = f'{{"color": "{shade}", "fill": "{both_themes(lambda shades: shades["bg"])}"}}'
    assert single_theme(words, True) == f'{{"color": "{palette(True)["tx2"]}", "fill": "{palette(True)["bg"]}"}}'
    assert single_theme(words, False) == f'{{"color": "{palette(False)["tx2"]}", "fill": "{palette(False)["bg"]}"}}'


@each_row(
    ("token", "roles"),
    [
        ("extractor", ["extractor", "Extractor"]),
        ("critic", ["critic"]),
        ("judge", ["judge_2"]),
        ("advocate", ["advocate", "prosecutor", "defender", "proponent", "opponent"]),
        ("person", ["person", "you", "author"]),
        ("panelist", ["annotator_b", "magistrate"]),
    ],
)
def test_roles_of_a_kind_share_a_colour(token, roles):
    assert {role_token(role) for role in roles} == {token}
    assert f"r-{token}" in palette(False)
