"""ROUGE-L by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.rouge import rouge_l


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("police killed the gunman", "police kill the gunman", 2 * 3 / 8),  # police the gunman (Lin's own example)
        ("police ended the gunman", "The gunman, police killed.", 2 * 2 / 8),  # the gunman
        ("Same words.", "same WORDS", 1.0),
        ("nothing", "alike", 0.0),
        ("", "alike", None),
        ("...", "alike", None),
    ],
)
def test_worked(text: str, reference: str, score: float | None) -> None:
    assert rouge_l(text, reference) == score


@given(st.text(max_size=40), st.text(max_size=40))
def test_is_a_share_and_does_not_care_who_is_the_reference(one: str, other: str) -> None:
    score = rouge_l(one, other)
    assert score == rouge_l(other, one)
    assert score is None or 0 <= score <= 1
