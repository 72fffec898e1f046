from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

from core.stats import multilabel
from core.stats.counts import Counts

LABELS = ["Cleanliness", "Price", "Pool"]
# Cleanliness: tp 1, fp 1, fn 1, tn 1; Price: tp 2, fp 0, fn 0, tn 2; Pool never occurs, is said once.
REFERENCE = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
SAID = [[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]]


def test_a_worked_example() -> None:
    scores = multilabel.from_grids(REFERENCE, SAID, LABELS)
    assert scores.labels == {"Cleanliness": Counts(1, 1, 1, 1), "Price": Counts(2, 0, 0, 2), "Pool": Counts(0, 1, 0, 3)}
    assert (scores.n, scores.excluded) == (4, 0)
    # macro over the two labels with positives: (0.5 + 1) / 2, each
    assert scores.macro == multilabel.Averages(0.75, 0.75, 0.75)
    # micro: tp 3, fp 2, fn 1: 3/5, 3/4, 6/9
    assert scores.micro == multilabel.Averages(0.6, 0.75, pytest.approx(2 / 3))
    assert scores.weighted == multilabel.Averages(0.75, 0.75, 0.75)  # two positives each
    assert scores.subset_accuracy == 0.25  # the first document alone
    assert scores.hamming_loss == pytest.approx(3 / 12)


def test_the_json_is_the_contract_s() -> None:
    result = multilabel.to_json(multilabel.from_grids(REFERENCE, SAID, LABELS))
    assert list(result)[:5] == ["n", "excluded", "macro", "micro", "labels"]
    assert result["macro"] == {"precision": 0.75, "recall": 0.75, "f1": 0.75}
    assert result["labels"]["Pool"] == {
        "n": 4, "tp": 0, "fp": 1, "fn": 0, "tn": 3, "accuracy": 0.75, "precision": 0.0, "recall": None, "f1": None
    }  # fmt: skip
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_counts_alone_are_enough() -> None:
    whole = multilabel.from_grids(REFERENCE, SAID, LABELS)
    assert multilabel.evaluate(whole.labels, exact=1) == whole
    without = multilabel.evaluate(whole.labels, n=5, excluded=2)
    assert (without.n, without.excluded, without.subset_accuracy) == (5, 2, None)


def test_what_has_no_value_is_left_out_and_counted() -> None:
    reference = [[1, None], [1, 1], [None, None], [0, 1]]
    said = [[1, 0], [1, None], [1, 1], [0, 1]]
    scores = multilabel.from_grids(reference, said, ["a", "b"])
    # document 1 has gold for a alone; 2 has no verdict for b: excluded whole; 3 has no gold
    assert (scores.n, scores.excluded) == (2, 1)
    assert scores.labels == {"a": Counts(tp=1, tn=1), "b": Counts(tp=1)}
    assert scores.subset_accuracy == 1.0


def test_nothing_to_score() -> None:
    for scores in (multilabel.from_grids(np.zeros((0, 2)), np.zeros((0, 2)), ["a", "b"]), multilabel.evaluate({})):
        assert scores.n == 0
        assert scores.macro == scores.micro == scores.weighted == multilabel.Averages(None, None, None)
        assert scores.subset_accuracy is scores.hamming_loss is None
    only_negatives = multilabel.from_grids([[0]], [[1]], ["a"])
    assert only_negatives.macro == only_negatives.micro == multilabel.Averages(None, None, None)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="2 columns for 1"):
        multilabel.from_grids([[1, 0]], [[1, 0]], ["a"])
    with pytest.raises(ValueError, match="shapes differ"):
        multilabel.from_grids([[1, 0]], [[1]], ["a", "b"])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 5), st.floats(0.05, 0.9))
def test_as_scikit_learn(seed: int, documents: int, items: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, items)) < rate).astype(int)
    said = (rng.random((documents, items)) < rate).astype(int)
    scores = multilabel.from_grids(reference, said, [f"l{index}" for index in range(items)])
    assert scores.subset_accuracy == pytest.approx(accuracy_score(reference, said))
    assert scores.hamming_loss == pytest.approx(hamming_loss(reference, said))
    present = np.flatnonzero(reference.any(axis=0)).tolist()
    if not present:
        assert scores.macro.f1 is None
        return
    micro = precision_recall_fscore_support(reference, said, average="micro", zero_division=0)[:3]
    assert (scores.micro.precision, scores.micro.recall, scores.micro.f1) == pytest.approx(micro)
    for ours, average in ((scores.macro, "macro"), (scores.weighted, "weighted")):
        theirs = precision_recall_fscore_support(reference, said, labels=present, average=average, zero_division=0)[:3]
        assert (ours.precision, ours.recall, ours.f1) == pytest.approx(theirs)
