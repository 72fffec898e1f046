"""Colours for both themes at once, and writing on shaded cells: the ink that stands out more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.widgets.palette import blend, both, colours, contrast, legible, palette, plain, role_token


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


def test_a_blend_begins_and_ends_at_its_colours():
    assert blend("#000000", "#ffffff", 0) == "#000000"
    assert blend("#000000", "#fff", 1) == "#ffffff"
    assert blend("#000000", "#ffffff", 0.5) == "#808080"


@pytest.mark.parametrize("dark", [False, True])
def test_every_shade_of_a_matrix_can_be_read(dark):
    shades = palette(dark)
    grounds = [blend(shades["bg2"], shades["bar"], step / 20) for step in range(21)]
    assert all(contrast(legible(ground, shades), ground) > 3.9 for ground in grounds)


def test_a_colour_for_both_themes_becomes_that_of_one_where_css_is_unknown():
    shade = colours()["tx2"]
    assert shade == f"light-dark({palette(False)['tx2']},{palette(True)['tx2']})"
    words = f'{{"color": "{shade}", "fill": "{both(lambda shades: shades["bg"])}"}}'
    assert plain(words, True) == f'{{"color": "{palette(True)["tx2"]}", "fill": "{palette(True)["bg"]}"}}'
    assert plain(words, False) == f'{{"color": "{palette(False)["tx2"]}", "fill": "{palette(False)["bg"]}"}}'


def test_role_colours_follow_the_cases_that_the_browser_is_tested_with():
    cases = json.loads((Path(__file__).parents[1] / "js" / "role_colours.json").read_text("utf-8"))
    css_classes = {"panel": "panelist"}  # "panel" is the class of something else
    assert {role: css_classes.get(role_token(role), role_token(role)) for role in cases} == cases
