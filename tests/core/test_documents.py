"""Tests of the comparison of values."""

from __future__ import annotations

from core.documents import differs
from core.stats.scoring import score
from tests.each_row import each_row


@each_row(("rating", "reference"), [(3.6667, 14 / 3), (2.3333, 10 / 3), (4, 3), (3.3333, 7 / 3)])
def test_means_that_are_a_point_apart_differ_however_they_are_rounded(rating: float, reference: float) -> None:
    assert differs(rating, reference)
    assert score("rating", [[reference]], [[rating]], ["Tone"])["near"].value == 0


def test_means_that_are_less_than_a_point_apart_agree() -> None:
    assert not differs(3.6667, 4.5)
    assert differs(True, False)
    assert not differs("Warm", "Warm")
