"""Tests of iterations: mean and spread, stability, difference rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.stats.repeated_runs import CONSISTENCIES, difference_rate, repeated, stability
from tests.each_row import each_row


def test_mean_sd_and_interval_by_hand() -> None:
    # 2, 4, 6: mean 4, sd 2, half width t(2, .975) 4.3027 * 2 / sqrt 3 = 4.968
    result = repeated([2.0, None, 4.0, 6.0])
    assert (result.n, result.missing, result.mean, result.sd, result.low, result.high) == (3, 1, 4.0, 2.0, 2.0, 6.0)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx((4 - 4.9683, 4 + 4.9683), abs=1e-4)


def test_too_few_iterations_have_no_spread() -> None:
    assert repeated([]).mean is None
    assert repeated([None]).missing == 1
    result = repeated([0.5])
    assert (result.mean, result.sd, result.interval) == (0.5, None, None)
    same = repeated([0.1, 0.1, 0.1])
    assert same.sd == 0
    assert same.interval is not None
    assert same.interval.low == same.interval.high


def test_interval_of_a_score_stays_within_its_range() -> None:
    interval = repeated([0.97, 0.99], "f1").interval
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(0.98 - 12.7062 * 0.01, abs=1e-4), 1.0)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(lambda values: max(values) - min(values) > 1e-3))
def test_interval_agrees_with_scipy(values: list[float]) -> None:
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    ours = repeated(values).interval
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_stability_by_hand() -> None:
    none = np.nan
    reference = [[1, 0], [1, 0], [1, 0], [1, none], [none, none]]
    first = [[1, 0], [0, 0], [1, 0], [1, 1], [1, 1]]
    second = [[1, 0], [0, 1], [1, 1], [1, 0], [1, none]]
    result = stability(reference, [first, second], ["a", "b"])
    # d0 is right twice, d1 wrong twice, d2 right and then wrong on b; d3 is right with gold on a only; d4 has no gold.
    assert [CONSISTENCIES[document] if document >= 0 else None for document in result.documents] == [
        "right",
        "wrong",
        "inconsistent",
        "right",
        None,
    ]
    assert result.counts == {"right": 2, "inconsistent": 1, "wrong": 1, "unresolved": 0}
    assert result.labels["a"] == {"right": 3, "inconsistent": 0, "wrong": 1, "unresolved": 0}
    assert result.labels["b"] == {"right": 1, "inconsistent": 2, "wrong": 0, "unresolved": 0}
    assert result.unanimous.value == pytest.approx(6 / 9)  # b of d4 is resolved in one iteration only


def test_iterations_with_ratings_a_point_apart_are_not_unanimous() -> None:
    # 5 and 5 agree, 5 and 4.5 as well. 1 and 3 are both wrong, and the last document has no gold.
    reference = [[5], [5], [5], [np.nan]]
    result = stability(reference, [[[5], [1], [5], [2]], [[5], [3], [4.5], [4]]], ["a"], kind="rating")
    assert result.counts == {"right": 2, "inconsistent": 0, "wrong": 1, "unresolved": 0}
    assert result.unanimous.value == 2 / 4


def test_one_iteration_is_consistent_and_an_unresolved_value_is_not_wrong() -> None:
    result = stability([[1], [1], [0]], [[[1], [np.nan], [1]]], ["a"])
    assert result.counts == {"right": 1, "inconsistent": 0, "wrong": 1, "unresolved": 1}
    assert result.unanimous.value is None


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_stability_agrees_with_a_count_by_document(seed: int, iterations: int) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.integers(-1, 2, (12, 2))
    predicted = [rng.integers(-1, 2, (12, 2)) for _ in range(iterations)]
    gaps = [np.where(values < 0, np.nan, values) for values in (reference, *predicted)]
    result = stability(gaps[0], gaps[1:], ["a", "b"])
    for row in range(12):
        gold = [column for column in range(2) if reference[row, column] >= 0]
        if not gold:
            assert result.documents[row] == -1
        elif any(grid[row, column] < 0 for grid in predicted for column in gold):
            assert CONSISTENCIES[result.documents[row]] == "unresolved"
        else:
            right = [all(grid[row, column] == reference[row, column] for column in gold) for grid in predicted]
            expected = "right" if all(right) else "inconsistent" if any(right) else "wrong"
            assert CONSISTENCIES[result.documents[row]] == expected


@each_row(
    ("answers", "requests", "rate"),
    [
        ("aaaaa", 5, 1.0),
        ("aaaab", 5, 0.6),  # (4 - 1) / 5
        ("aaabb", 5, 0.2),
        ("aabbc", 5, 0.0),
        ("aaabc", 5, 0.4),
        ("aaaa", 5, 0.8),  # one reply is unreadable
        ("", 5, 0.0),
        ("a", 1, 1.0),
    ],
)
def test_difference_rate_of_the_two_most_common_answers(answers: str, requests: int, rate: float) -> None:
    assert difference_rate(list(answers), requests) == pytest.approx(rate)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.integers(0, 3))
def test_difference_rate_is_between_0_and_1(answers: list[str], unread: int) -> None:
    requests = max(1, len(answers) + unread)
    assert 0.0 <= difference_rate(answers, requests) <= 1.0
