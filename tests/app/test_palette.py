"""Writing on shaded cells: the ink that stands out more, in both themes."""

from __future__ import annotations

import pytest

from app.views.palette import blend, contrast, legible, palette


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
