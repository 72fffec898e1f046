"""The difference rate, with worked numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.ambiguity import d_rate, of_document


@pytest.mark.parametrize(
    ("answers", "asked", "rate"),
    [
        ("aaaaa", 5, 1.0),
        ("aaaab", 5, 0.6),  # (4 - 1) / 5
        ("aaabb", 5, 0.2),
        ("aabbc", 5, 0.0),
        ("aaabc", 5, 0.4),
        ("aaaa", 5, 0.8),  # one answer could not be read
        ("", 5, 0.0),
        ("a", 1, 1.0),
    ],
)
def test_the_difference_of_the_two_most_common(answers: str, asked: int, rate: float) -> None:
    assert d_rate(list(answers), asked) == pytest.approx(rate)


def test_a_document_goes_by_its_most_ambiguous_label() -> None:
    found = of_document({"a": [True] * 5, "b": [True, True, True, False, False]}, 5)
    assert found.items == {"a": 1.0, "b": pytest.approx(0.2)}
    assert found.rate == pytest.approx(0.2)
    assert found.ambiguous()
    assert not found.ambiguous(0.1)
    assert of_document({}, 5).rate == 0.0


def test_more_answers_than_asks_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="3 answers to 2 asks"):
        d_rate(["a", "a", "b"], 2)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.integers(0, 3))
def test_it_lies_between_0_and_1(answers: list[str], unread: int) -> None:
    asked = max(1, len(answers) + unread)
    assert 0.0 <= d_rate(answers, asked) <= 1.0
