from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from core.stats import choice
from core.stats.counts import Counts
from core.stats.multilabel import Averages

LABELS = ["bull", "bear", "flat"]
# gold bull: 2 right, 1 called bear; gold bear: 1 right, 2 called bull; flat never occurs
REFERENCE = ["bull", "bull", "bull", "bear", "bear", "bear", "bear", None]
SAID = ["bull", "bull", "bear", "bear", "bull", "bull", None, "flat"]


def test_a_worked_example() -> None:
    scores = choice.evaluate(REFERENCE, SAID, LABELS)
    assert (scores.n, scores.excluded) == (6, 1)
    assert scores.confusion == ((2, 1, 0), (2, 1, 0), (0, 0, 0))
    assert scores.accuracy == 0.5
    assert scores.labels["bull"] == Counts(tp=2, fp=2, fn=1, tn=1)
    assert scores.labels["bear"] == Counts(tp=1, fp=1, fn=2, tn=2)
    assert scores.labels["flat"] == Counts(tn=6)
    # bull 2/4, 2/3, 4/7; bear 1/2, 1/3, 2/5
    assert scores.macro == Averages(0.5, pytest.approx(0.5), pytest.approx((4 / 7 + 2 / 5) / 2))


def test_the_json() -> None:
    result = choice.to_json(choice.evaluate(REFERENCE, SAID, LABELS))
    assert list(result)[:6] == ["n", "excluded", "accuracy", "macro", "labels", "confusion"]
    assert result["confusion"]["bear"] == {"bull": 2, "bear": 1, "flat": 0}
    assert result["labels"]["flat"]["f1"] is None
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_nothing_to_score() -> None:
    scores = choice.evaluate(["bull"], [None], LABELS)
    assert (scores.n, scores.excluded, scores.accuracy, scores.macro.f1) == (0, 1, None, None)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="'sideways' is not among"):
        choice.evaluate(["sideways"], ["bull"], LABELS)
    with pytest.raises(ValueError, match="shapes differ"):
        choice.evaluate(["bull"], [], LABELS)
    with pytest.raises(ValueError, match="below 3"):
        choice.from_codes([3], [0], LABELS)
    with pytest.raises(ValueError, match="3 by 3"):
        choice.from_confusion([[1, 2]], LABELS)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_as_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    reference, said = np.array(pairs).T
    scores = choice.from_codes(reference, said, ["a", "b", "c", "d"])
    assert scores.accuracy == pytest.approx(accuracy_score(reference, said))
    assert np.array(scores.confusion).tolist() == confusion_matrix(reference, said, labels=[0, 1, 2, 3]).tolist()
    present = sorted(set(reference.tolist()))
    theirs = precision_recall_fscore_support(reference, said, labels=present, average="macro", zero_division=0)[:3]
    assert (scores.macro.precision, scores.macro.recall, scores.macro.f1) == pytest.approx(theirs)
