from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.stats import rating


def test_a_worked_example() -> None:
    # gold 1 2 3 4 5, rated 2 2 3 5 4: errors 1 0 0 1 -1
    scores = rating.evaluate([[1], [2], [3], [4], [5]], [[2], [2], [3], [5], [4]], ["clarity"])
    one = scores.dimensions["clarity"]
    assert (scores.n, one.n) == (5, 5)
    assert one.mae == pytest.approx(3 / 5)
    assert one.bias == pytest.approx(1 / 5)
    assert one.exact == pytest.approx(2 / 5)
    # deviations -2 -1 0 1 2 and -1.2 -1.2 -0.2 1.8 0.8: 7 / sqrt(10 * 6.8)
    assert one.pearson == pytest.approx(7 / np.sqrt(68))
    # ranks 1 2 3 4 5 and 1.5 1.5 3 5 4: 8.5 / sqrt(10 * 9.5)
    assert one.spearman == pytest.approx(8.5 / np.sqrt(95))
    # 8 pairs concordant, 1 discordant, 1 tied: 7 / sqrt(10 * 9)
    assert one.kendall == pytest.approx(7 / np.sqrt(90))
    assert one.alpha is not None
    assert 0 < one.alpha < 1


def test_what_has_no_value_is_left_out_and_counted() -> None:
    reference = [[1, 2], [2, np.nan], [3, 4], [np.nan, np.nan]]
    rated = [[1, 2], [2, 3], [3, np.nan], [1, 1]]
    scores = rating.evaluate(reference, rated, ["a", "b"])
    assert (scores.n, scores.excluded) == (2, 1)
    assert (scores.dimensions["a"].n, scores.dimensions["b"].n) == (2, 1)
    assert scores.dimensions["a"].pearson == pytest.approx(1.0)
    assert scores.dimensions["b"].pearson is None
    assert scores.dimensions["b"].exact == 1.0
    assert scores.macro["pearson"] == pytest.approx(1.0)  # of the one dimension that has it
    assert scores.macro["mae"] == 0.0


def test_a_constant_has_no_correlation() -> None:
    one = rating.evaluate([[3], [3], [3]], [[1], [2], [3]], ["a"]).dimensions["a"]
    assert (one.pearson, one.spearman, one.kendall) == (None, None, None)
    assert one.mae == 1.0
    assert one.alpha is not None
    same = rating.evaluate([[3], [3]], [[3], [3]], ["a"]).dimensions["a"]
    assert (same.alpha, same.exact) == (None, 1.0)


def test_nothing_to_score() -> None:
    scores = rating.evaluate(np.zeros((0, 1)), np.zeros((0, 1)), ["a"])
    assert scores.n == 0
    assert set(scores.macro.values()) == {None}
    with pytest.raises(ValueError, match="dimensions"):
        rating.evaluate([[1]], [[1]], ["a", "b"])


def test_the_json() -> None:
    result = rating.to_json(rating.evaluate([[1], [2], [2]], [[1], [2], [1]], ["clarity"]))
    assert list(result) == ["n", "excluded", "macro", "labels"]
    assert list(result["labels"]["clarity"]) == ["n", *rating.SCORES]
    assert json.loads(json.dumps(result, allow_nan=False)) == result


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_as_scipy(pairs: list[tuple[int, int]]) -> None:
    reference, rated = np.array(pairs, dtype=float).T
    one = rating.evaluate(reference[:, None], rated[:, None], ["a"]).dimensions["a"]
    if len(set(reference)) == 1 or len(set(rated)) == 1:
        assert one.pearson is one.spearman is one.kendall is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [
            float(test(reference, rated).statistic) for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)
        ]
    assert [one.pearson, one.spearman, one.kendall] == pytest.approx(expected)
