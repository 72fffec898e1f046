"""Tests of the divergence of distributions and of ROUGE-L against worked numbers and scipy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from core.stats.similarity import divergence, rouge_l

COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6).filter(
    lambda pairs: sum(a for a, _ in pairs) > 0 and sum(b for _, b in pairs) > 0
)


@given(COUNTS)
def test_divergence_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    p, q = ([pair[side] for pair in pairs] for side in (0, 1))
    found = divergence(p, q)
    assert found.kl == pytest.approx(entropy([x + 0.5 for x in p], [x + 0.5 for x in q]), abs=1e-12)
    assert found.js == pytest.approx(float(jensenshannon(p, q, 2)), abs=1e-7)


def test_divergence_by_hand_and_degenerate() -> None:
    # Half and half against a single value: 0.5 log(0.5 / 1) plus infinity.
    assert divergence([1, 1], [2, 0], prior=0).kl is None
    assert divergence([3, 3], [5, 5]).kl == 0
    assert divergence([1, 0], [0, 1]).js == pytest.approx(1)
    nothing = divergence([0, 0], [1, 1])
    assert (nothing.reference, nothing.predicted, nothing.kl, nothing.js) == (None, None, None, None)
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
