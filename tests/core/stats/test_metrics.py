"""Tests of the metrics of every kind of codebook: worked examples, and the values of other libraries."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    hamming_loss,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

from core.stats import metrics, scoring
from core.stats.metrics import Counts
from core.stats.scoring import Scores, score
from tests import documented
from tests.core.stats.samples import means, scores_of
from tests.each_row import each_row

LABELS = ["Cleanliness", "Price", "Pool"]
# Cleanliness: tp 1, fp 1, fn 1, tn 1; Price: tp 2, fp 0, fn 0, tn 2; Pool never occurs, is predicted once.
REFERENCE = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
PREDICTED = [[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
CHOICES = ["bull", "bear", "flat"]
# gold bull: 2 right, 1 called bear; gold bear: 1 right, 2 called bull; flat never occurs
CHOICE_REFERENCE = ["bull", "bull", "bull", "bear", "bear", "bear", "bear", None]
CHOSEN = ["bull", "bull", "bear", "bear", "bull", "bull", None, "flat"]


def choice(reference: list[str | None], chosen: list[str | None]) -> Scores:
    """Score chosen label names."""
    coded = ([None if name is None else CHOICES.index(name) for name in side] for side in (reference, chosen))
    return score("choice", *(np.array(side, dtype=float) for side in coded), CHOICES)


@each_row(
    ("counts", "precision", "recall", "f1", "accuracy"),
    [
        (Counts(), None, None, None, None),
        (Counts(tn=5), None, None, None, 1.0),  # no positives, none predicted
        (Counts(fp=2, tn=3), 0.0, None, None, 0.6),  # no positives, some predicted
        (Counts(fn=2, tn=3), 0.0, 0.0, 0.0, 0.6),  # some positives, none predicted
        (Counts(fp=1, fn=1), 0.0, 0.0, 0.0, 0.0),
        (Counts(tp=4), 1.0, 1.0, 1.0, 1.0),
        (Counts(tp=140, fp=37, fn=3, tn=170), 140 / 177, 140 / 143, 280 / 320, 310 / 350),
    ],
)
def test_scores_of_counts(
    counts: Counts, precision: float | None, recall: float | None, f1: float | None, accuracy: float | None
) -> None:
    scores = scores_of(counts)
    assert scores.counts == counts
    result = tuple(scores[key].value for key in ("precision", "recall", "f1", "accuracy"))
    assert result == tuple(
        value if value is None else pytest.approx(value) for value in (precision, recall, f1, accuracy)
    )


def test_multilabel_worked_example() -> None:
    scores = score("multilabel", REFERENCE, PREDICTED, LABELS)
    assert scores.counts == {"Cleanliness": Counts(1, 1, 1, 1), "Price": Counts(2, 0, 0, 2), "Pool": Counts(0, 1, 0, 3)}
    assert (scores.n, scores.excluded) == (4, 0)
    # macro over the two labels with positives: (0.5 + 1) / 2, each
    assert means(scores, "macro") == (0.75, 0.75, 0.75)
    # micro: tp 3, fp 2, fn 1: 3/5, 3/4, 6/9
    assert means(scores, "micro") == (0.6, 0.75, pytest.approx(2 / 3))
    assert means(scores, "weighted") == (0.75, 0.75, 0.75)  # both labels have two positives
    assert scores["subset_accuracy"].value == 0.25  # only the first document
    assert scores["hamming_loss"].value == pytest.approx(3 / 12)


def test_means_leave_out_labels_without_support_of_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    # "a" is in every document, so that specificity is undefined; "b" is in none. "c": tn 1, fp 1.
    monkeypatch.setattr(metrics, "METRICS", (*documented.specificity(), *metrics.METRICS))
    reference, predicted = [[1, 0, 0], [1, 0, 0], [1, 0, 1]], [[1, 1, 0], [1, 1, 1], [0, 0, 1]]
    scores = score("multilabel", reference, predicted, ["a", "b", "c"])
    assert [label["specificity"].value for label in scores.labels.values()] == [None, pytest.approx(1 / 3), 0.5]
    assert scores["macro_specificity"].value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert scores["micro_specificity"].value == pytest.approx(2 / 5)
    assert scores["weighted_specificity"].value == pytest.approx(2 / 5)
    assert means(scores, "macro")[1] == pytest.approx((2 / 3 + 1) / 2)
    # A choice without a verdict is a choice of no label, so that it adds no false positive to any.
    strict = scoring.strict_scores("choice", [0, 0, 1], [0, -1, 1], ["a", "b"])
    assert strict["macro_specificity"].value == 1.0
    assert strict["macro_recall"].value == 0.75


def test_json_has_the_keys_of_the_contract() -> None:
    result = scoring.to_json(score("multilabel", REFERENCE, PREDICTED, LABELS))
    assert {"n", "excluded", "macro", "micro", "labels", "coverage"} <= set(result)
    assert {"precision": 0.75, "recall": 0.75, "f1": 0.75}.items() <= result["macro"].items()
    counts, scores = {"tp": 0, "fp": 1, "fn": 0, "tn": 3}, {"precision": 0.0, "recall": None, "f1": None}
    assert result["labels"]["Pool"] == {"n": 4, **counts, "accuracy": 0.75, **scores}
    chosen = scoring.to_json(choice(CHOICE_REFERENCE, CHOSEN))
    assert {"n", "excluded", "accuracy", "macro", "labels", "confusion"} <= set(chosen)
    assert chosen["confusion"]["bear"] == {"bull": 2, "bear": 1, "flat": 0}
    rated = scoring.to_json(score("rating", [[1], [2], [2]], [[1], [2], [1]], ["clarity"]))
    assert {"n", "excluded", "macro", "labels"} <= set(rated)
    registered = metrics.metrics("rating", per_label=True)
    assert list(rated["labels"]["clarity"]) == ["n", *(metric.key for metric in registered)]
    for data in (result, chosen, rated):
        assert json.loads(json.dumps(data, allow_nan=False)) == data, "plain numbers without NaN"


def test_documents_without_values_are_excluded_and_counted() -> None:
    reference = [[1, None], [1, 1], [None, None], [0, 1]]
    predicted = [[1, 0], [1, None], [1, 1], [0, 1]]
    scores = score("multilabel", reference, predicted, ["a", "b"])
    # Document 1 has gold on a only. Document 2 is excluded, as it has no verdict on b. Document 3 has no gold.
    assert (scores.n, scores.excluded) == (2, 1)
    assert scores.counts == {"a": Counts(tp=1, tn=1), "b": Counts(tp=1)}
    assert scores["subset_accuracy"].value == 1.0


@each_row(
    ("kind", "labels"),
    [("multilabel", ["a", "b"]), ("multilabel", []), ("choice", ["a", "b"]), ("rating", ["a"])],
)
def test_scores_without_documents_are_undefined(kind: metrics.Kind, labels: list[str]) -> None:
    nothing = np.zeros((0, 1 if kind == "choice" else len(labels)))
    scores = score(kind, nothing, nothing, labels)
    assert scores.n == 0
    assert {estimate.value for estimate in scores.overall.values()} == {None}


@each_row(
    ("kind", "reference", "predicted", "labels", "message"),
    [
        ("multilabel", [[2]], [[1]], ["a"], "1, 0 or no value"),
        ("multilabel", [[1, 0]], [[1, 0]], ["a"], "needs 1 columns"),
        ("multilabel", [[1, 0]], [[1]], ["a", "b"], "shapes differ"),
        ("choice", [0], [], ["a", "b"], "shapes differ"),
        ("choice", [4], [0], CHOICES, "at most 3"),
        ("rating", [[1]], [[1]], ["a", "b"], "needs 2 columns"),
    ],
)
def test_values_of_other_shapes_are_rejected(
    kind: metrics.Kind, reference: list[object], predicted: list[object], labels: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        score(kind, np.array(reference), np.array(predicted), labels)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 5), st.floats(0.05, 0.9))
def test_multilabel_agrees_with_scikit_learn(seed: int, documents: int, items: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, items)) < rate).astype(int)
    predicted = (rng.random((documents, items)) < rate).astype(int)
    scores = score("multilabel", reference, predicted, [f"l{index}" for index in range(items)], intervals=False)
    assert scores["subset_accuracy"].value == pytest.approx(accuracy_score(reference, predicted))
    assert scores["hamming_loss"].value == pytest.approx(hamming_loss(reference, predicted))
    for label, *columns in zip(scores.labels.values(), reference.T, predicted.T, strict=True):
        if label["mcc"].value is not None:
            assert label["mcc"].value == pytest.approx(matthews_corrcoef(*columns))
    present = np.flatnonzero(reference.any(axis=0)).tolist()
    if not present:
        assert scores["macro_f1"].value is None
        return
    micro = precision_recall_fscore_support(reference, predicted, average="micro", zero_division=0)[:3]
    assert means(scores, "micro") == pytest.approx(micro)
    for average in ("macro", "weighted"):
        theirs = precision_recall_fscore_support(
            reference, predicted, labels=present, average=average, zero_division=0
        )[:3]
        assert means(scores, average) == pytest.approx(theirs)


def test_choice_worked_example() -> None:
    scores = choice(CHOICE_REFERENCE, CHOSEN)
    assert (scores.n, scores.excluded) == (6, 1)
    assert scores.confusion == ((2, 1, 0), (2, 1, 0), (0, 0, 0))
    assert scores["accuracy"].value == 0.5
    assert scores.counts["bull"] == Counts(tp=2, fp=2, fn=1, tn=1)
    assert scores.counts["bear"] == Counts(tp=1, fp=1, fn=2, tn=2)
    assert scores.counts["flat"] == Counts(tn=6)
    # bull 2/4, 2/3, 4/7; bear 1/2, 1/3, 2/5
    assert means(scores, "macro") == (0.5, pytest.approx(0.5), pytest.approx((4 / 7 + 2 / 5) / 2))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_choice_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    reference, predicted = np.array(pairs).T
    scores = score("choice", reference, predicted, ["a", "b", "c", "d"], intervals=False)
    assert scores["accuracy"].value == pytest.approx(accuracy_score(reference, predicted))
    assert np.array(scores.confusion).tolist() == confusion_matrix(reference, predicted, labels=[0, 1, 2, 3]).tolist()
    present = sorted(set(reference.tolist()))
    for average in ("macro", "weighted"):
        theirs = precision_recall_fscore_support(
            reference, predicted, labels=present, average=average, zero_division=0
        )[:3]
        assert means(scores, average) == pytest.approx(theirs)
    if scores["mcc"].value is not None:
        assert scores["mcc"].value == pytest.approx(matthews_corrcoef(reference, predicted))


def test_rating_worked_example() -> None:
    # gold 1 2 3 4 5, rated 2 2 3 5 4: errors 1 0 0 1 -1
    scores = score("rating", [[1], [2], [3], [4], [5]], [[2], [2], [3], [5], [4]], ["clarity"])
    fields = scores.labels["clarity"]
    assert (scores.n, fields.n) == (5, 5)
    assert fields["mae"].value == pytest.approx(3 / 5)
    assert fields["bias"].value == pytest.approx(1 / 5)
    assert fields["exact"].value == pytest.approx(2 / 5)
    # deviations -2 -1 0 1 2 and -1.2 -1.2 -0.2 1.8 0.8: 7 / sqrt(10 * 6.8)
    assert fields["pearson"].value == pytest.approx(7 / np.sqrt(68))
    # ranks 1 2 3 4 5 and 1.5 1.5 3 5 4: 8.5 / sqrt(10 * 9.5)
    assert fields["spearman"].value == pytest.approx(8.5 / np.sqrt(95))
    # 8 pairs concordant, 1 discordant, 1 tied: 7 / sqrt(10 * 9)
    assert fields["kendall"].value == pytest.approx(7 / np.sqrt(90))
    assert fields["alpha"].value is not None
    assert 0 < fields["alpha"].value < 1


def test_rating_excludes_and_counts_missing_values() -> None:
    reference = [[1, 2], [2, np.nan], [3, 4], [np.nan, np.nan]]
    rated = [[1, 2], [2, 3], [3, np.nan], [1, 1]]
    scores = score("rating", reference, rated, ["a", "b"])
    assert (scores.n, scores.excluded) == (2, 1)
    assert (scores.labels["a"].n, scores.labels["b"].n) == (2, 1)
    assert scores.labels["a"]["pearson"].value == pytest.approx(1.0)
    assert scores.labels["b"]["pearson"].value is None
    assert scores.labels["b"]["exact"].value == 1.0
    assert scores["macro_pearson"].value == pytest.approx(1.0)  # mean of the only dimension with a correlation
    assert scores["macro_mae"].value == 0.0


def test_rating_constant_has_no_correlation() -> None:
    clarity = score("rating", [[3], [3], [3]], [[1], [2], [3]], ["a"]).labels["a"]
    assert (clarity["pearson"].value, clarity["spearman"].value, clarity["kendall"].value) == (None, None, None)
    assert clarity["mae"].value == 1.0
    assert clarity["alpha"].value is not None
    same = score("rating", [[3], [3]], [[3], [3]], ["a"]).labels["a"]
    assert (same["alpha"].value, same["exact"].value) == (None, 1.0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_rating_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    reference, rated = np.array(pairs, dtype=float).T
    fields = score("rating", reference[:, None], rated[:, None], ["a"]).labels["a"]
    if len(set(reference)) == 1 or len(set(rated)) == 1:
        assert fields["pearson"].value is fields["spearman"].value is fields["kendall"].value is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [
            float(test(reference, rated).statistic) for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)
        ]
    assert [fields["pearson"].value, fields["spearman"].value, fields["kendall"].value] == pytest.approx(expected)


def test_mean_of_a_metric_keeps_the_capitals_of_a_proper_name() -> None:
    metric = metrics.Metric("ac2", "Gwet's AC2", ("rating",), metrics._rated, per_label=True, averages=("macro",))
    assert [entry.name for entry in metrics._registry(metric)] == ["Mean Gwet's AC2", "Gwet's AC2"]
