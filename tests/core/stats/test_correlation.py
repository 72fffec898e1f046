"""Tests of the divergence of distributions and of ROUGE-L against worked numbers and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from core.stats.correlation import divergence, rouge_l

COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6).filter(
    lambda pairs: sum(a for a, _ in pairs) > 0 and sum(b for _, b in pairs) > 0
)


@given(COUNTS)
def test_divergence_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    p, q = ([pair[side] for pair in pairs] for side in (0, 1))
    assert divergence(p, q) == pytest.approx(entropy([x + 0.5 for x in p], [x + 0.5 for x in q]), abs=1e-12)


def test_divergence_by_hand_and_degenerate() -> None:
    # With half a case added to each, 3/4 and 1/4 against 1/4 and 3/4: half of log 3.
    assert divergence([1, 0], [0, 1]) == pytest.approx(math.log(3) / 2)
    assert divergence([3, 3], [5, 5]) == 0
    assert np.isnan(divergence([[0, 0], [1, 1]], [[1, 1], [0, 0]])).all()
    assert np.isnan(divergence([], []))
    with pytest.raises(ValueError, match="same categories"):
        divergence([1], [1, 2])


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("police killed the gunman", "police kill the gunman", 2 * 3 / 8),  # "police the gunman", Lin's example
        ("police ended the gunman", "The gunman, police killed.", 2 * 2 / 8),  # "the gunman"
        ("Same words.", "same WORDS", 1.0),
        ("nothing", "alike", 0.0),
        ("", "alike", None),
        ("...", "alike", None),
    ],
)
def test_rouge_l_worked_example(text: str, reference: str, score: float | None) -> None:
    assert rouge_l(text, reference) == score


@given(st.text(max_size=40), st.text(max_size=40))
def test_rouge_l_is_a_share_and_symmetric(one: str, other: str) -> None:
    score = rouge_l(one, other)
    assert score == rouge_l(other, one)
    assert score is None or 0 <= score <= 1
