from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from core.stats.counts import Counts

cell = st.integers(0, 30)


def test_scores_of_a_row_of_the_ecj_paper() -> None:
    # Table 9, gpt-4.1-mini, iteration 1, with FP and FN exchanged: 140 TP, 3 FN, 37 FP, 350 documents.
    counts = Counts(tp=140, fp=37, fn=3, tn=170)
    assert (counts.n, counts.positives, counts.predicted, counts.wrong) == (350, 143, 177, 40)
    assert counts.accuracy == pytest.approx(0.8857, abs=1e-4)  # 310/350
    assert counts.precision == pytest.approx(0.7910, abs=1e-4)  # 140/177
    assert counts.recall == pytest.approx(0.9790, abs=1e-4)  # 140/143
    assert counts.f1 == pytest.approx(0.8750, abs=1e-4)  # 280/320


@pytest.mark.parametrize(
    ("counts", "precision", "recall", "f1", "accuracy"),
    [
        (Counts(), None, None, None, None),
        (Counts(tn=5), None, None, None, 1.0),  # no positives, none predicted
        (Counts(fp=2, tn=3), 0.0, None, None, 0.6),  # no positives, some predicted
        (Counts(fn=2, tn=3), 0.0, 0.0, 0.0, 0.6),  # some positives, none predicted
        (Counts(fp=1, fn=1), 0.0, 0.0, 0.0, 0.0),
        (Counts(tp=4), 1.0, 1.0, 1.0, 1.0),
    ],
)
def test_degenerate_counts(
    counts: Counts, precision: float | None, recall: float | None, f1: float | None, accuracy: float | None
) -> None:
    assert (counts.precision, counts.recall, counts.f1, counts.accuracy) == (precision, recall, f1, accuracy)


def test_counts_can_be_added() -> None:
    assert Counts(1, 2, 3, 4) + Counts(10, 20, 30, 40) == Counts(11, 22, 33, 44)


def test_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Counts(tp=-1)


@settings(deadline=None, max_examples=60)
@given(cell, cell, cell, cell)
def test_counts_agree_with_scikit_learn(tp: int, fp: int, fn: int, tn: int) -> None:
    counts = Counts(tp, fp, fn, tn)
    reference = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    predicted = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    if not counts.n:
        return
    precision, recall, f1, _ = precision_recall_fscore_support(reference, predicted, average="binary", zero_division=0)
    assert counts.accuracy == pytest.approx(accuracy_score(reference, predicted))
    if counts.positives:
        assert (counts.precision, counts.recall, counts.f1) == pytest.approx((precision, recall, f1))
    else:
        assert counts.recall is counts.f1 is None
