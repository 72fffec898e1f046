"""Tests of the colours of both themes and of the text colour on shaded cells."""

from __future__ import annotations

import pytest

from app.widgets import charts
from app.widgets.palette import blend, both_themes, colours, contrast, palette, role_token, single_theme, text_colour
from tests.each_row import each_row


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


def test_blend_starts_and_ends_with_its_colours():
    assert blend("#000000", "#ffffff", 0) == "#000000"
    assert blend("#000000", "#fff", 1) == "#ffffff"
    assert blend("#000000", "#ffffff", 0.5) == "#808080"


@each_row("dark", [False, True])
def test_text_is_legible_on_every_shade_of_a_matrix(dark):
    shades = palette(dark)
    backgrounds = [blend(shades["bg2"], shades["bar"], charts.FULL_CELL * step / 20) for step in range(21)]
    assert all(contrast(text_colour(background, shades), background) > 4.5 for background in backgrounds)


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
