from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from core.stats.calibration import calibration


def test_calibration_by_hand() -> None:
    # Certainty 0.9 four times with three right, 0.6 twice with two right: (4 * 0.15 + 2 * 0.4) / 6.
    result = calibration([0.9, 0.9, 0.9, 0.9, 0.6, 0.6, np.nan, 0.9], [1, 1, 1, 0, 1, 1, 1, -1])
    assert (result.n, result.excluded, len(result.bins)) == (6, 2, 2)
    assert result.ece == pytest.approx(1.4 / 6)
    assert result.worst == pytest.approx(0.4)
    assert [(bin_.n, bin_.right.value) for bin_ in result.bins] == [(2, 1.0), (4, 0.75)]


def test_calibration_without_data() -> None:
    empty = calibration([], [])
    assert (empty.n, empty.bins, empty.ece, empty.worst, empty.brier.value) == (0, (), None, None, None)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_calibration_agrees_with_scikit_learn(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, came = rng.random(n), rng.integers(0, 2, n)
    result = calibration(predicted, came)
    assert result.brier.value == pytest.approx(brier_score_loss(came, predicted, pos_label=1))
    if 0 < came.sum() < n:
        shares, means = calibration_curve(came, predicted, n_bins=10)
        assert [bin_.right.value for bin_ in result.bins] == pytest.approx(list(shares))
        assert [bin_.certainty for bin_ in result.bins] == pytest.approx(list(means))
        sizes = [bin_.n for bin_ in result.bins]
        assert result.ece == pytest.approx(float(np.average(np.abs(shares - means), weights=sizes)))
