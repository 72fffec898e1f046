from __future__ import annotations

from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import cochrans_q as theirs
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_theirs
from statsmodels.stats.multitest import multipletests

from core.stats.multiple_tests import cochrans_q, holm
from core.stats.significance import mcnemar, mcnemar_of


def test_cochran_by_hand() -> None:
    # Right: A 4, B 2, C 1 of 5; T 7; rows 3 2 1 1 0. Q = 2 (3 (16 + 4 + 1) - 49) / (21 - 15) = 28 / 6
    reference = [1, 1, 1, 1, 1]
    said = {"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 0, 0], "C": [1, 0, 0, 0, 0]}
    found = cochrans_q(reference, said)
    assert (found.n, found.right, found.df) == (5, (4, 2, 1), 2)
    assert found.statistic == pytest.approx(28 / 6)
    assert found.sentence().startswith("They may all be equally good (Cochran's Q(2) = 4.67, p = 0.097")


def test_cochran_where_nothing_tells_them_apart() -> None:
    same = cochrans_q([1, 0], {"A": [1, 1], "B": [1, 1]})
    assert (same.statistic, same.p) == (None, 1.0)
    assert "nothing tells them apart" in same.sentence()
    none = cochrans_q([-1, 1], {"A": [1, -1], "B": [1, 1]})
    assert (none.n, none.excluded, none.p) == (0, 1, None)
    assert "not defined" in none.sentence()
    with pytest.raises(ValueError, match="two or more"):
        cochrans_q([1], {"A": [1]})


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_cochran_as_statsmodels(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 2, 30)
    said = {str(number): rng.integers(0, 2, 30) for number in range(k)}
    found = cochrans_q(reference, said)
    expected = theirs(np.stack([said[name] == reference for name in said], axis=1))
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    if k == 2:
        one, two = said.values()
        b, c = mcnemar_of(reference, one, two).only_first, mcnemar_of(reference, one, two).only_second
        assert found.statistic == pytest.approx((b - c) ** 2 / (b + c))


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_mcnemar_as_statsmodels(first: int, second: int, both: int) -> None:
    result = mcnemar(first, second, first + second + both)
    expected = mcnemar_theirs([[both, first], [second, 0]], exact=result.exact, correction=True)
    if first != second:  # with as many gained as lost theirs corrects a difference of 0 up to 1
        assert result.p == pytest.approx(float(expected.pvalue))
    if result.statistic is not None and first != second:
        assert result.statistic == pytest.approx(float(expected.statistic))


@patch("gc.collect")  # statsmodels collects garbage at each call, which takes 0.1 s
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(collect: Mock, values: list[float]) -> None:
    assert holm(values) == pytest.approx(tuple(multipletests(values, method="holm")[1]))


def test_holm_passes_over_tests_that_were_none() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx((0.02, None, 0.04))
    assert holm([]) == ()
