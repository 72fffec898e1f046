"""Tests of the metrics of every kind of codebook: worked examples, other libraries, intervals and differences."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, confusion_matrix, hamming_loss, precision_recall_fscore_support

from core.stats import metrics
from core.stats.arrays import BinaryGrid, one_hot
from core.stats.intervals import Estimate, wilson
from core.stats.metrics import Counts, Scores, difference, score
from tests.core.stats.samples import scores_of

LABELS = ["Cleanliness", "Price", "Pool"]
# Cleanliness: tp 1, fp 1, fn 1, tn 1; Price: tp 2, fp 0, fn 0, tn 2; Pool never occurs, is predicted once.
REFERENCE = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
PREDICTED = [[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
CHOICES = ["bull", "bear", "flat"]
# gold bull: 2 right, 1 called bear; gold bear: 1 right, 2 called bull; flat never occurs
CHOICE_REFERENCE = ["bull", "bull", "bull", "bear", "bear", "bear", "bear", None]
CHOSEN = ["bull", "bull", "bear", "bear", "bull", "bull", None, "flat"]


def means(scores: Scores, average: str) -> tuple[float | None, ...]:
    """Return the mean precision, recall and F1 over labels."""
    return tuple(scores[f"{average}_{key}"].value for key in ("precision", "recall", "f1"))


def choice(reference: list[str | None], chosen: list[str | None]) -> Scores:
    """Score chosen label names."""
    coded = ([None if name is None else CHOICES.index(name) for name in side] for side in (reference, chosen))
    return score("choice", *(np.array(side, dtype=float) for side in coded), CHOICES)


@pytest.mark.parametrize(
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
    found = tuple(scores[key].value for key in ("precision", "recall", "f1", "accuracy"))
    assert found == tuple(one if one is None else pytest.approx(one) for one in (precision, recall, f1, accuracy))


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


def test_json_has_the_keys_of_the_contract() -> None:
    result = metrics.to_json(score("multilabel", REFERENCE, PREDICTED, LABELS))
    assert {"n", "excluded", "macro", "micro", "labels", "coverage"} <= set(result)
    assert result["macro"] == {"precision": 0.75, "recall": 0.75, "f1": 0.75}
    assert result["labels"]["Pool"] == {
        "n": 4, "tp": 0, "fp": 1, "fn": 0, "tn": 3, "accuracy": 0.75, "precision": 0.0, "recall": None, "f1": None
    }  # fmt: skip
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_documents_without_values_are_excluded_and_counted() -> None:
    reference = [[1, None], [1, 1], [None, None], [0, 1]]
    predicted = [[1, 0], [1, None], [1, 1], [0, 1]]
    scores = score("multilabel", reference, predicted, ["a", "b"])
    # Document 1 has gold on a only. Document 2 is excluded, as it has no verdict on b. Document 3 has no gold.
    assert (scores.n, scores.excluded) == (2, 1)
    assert scores.counts == {"a": Counts(tp=1, tn=1), "b": Counts(tp=1)}
    assert scores["subset_accuracy"].value == 1.0


def test_multilabel_without_documents() -> None:
    for labels in (["a", "b"], []):
        scores = score("multilabel", np.zeros((0, len(labels))), np.zeros((0, len(labels))), labels)
        assert scores.n == 0
        assert {estimate.value for estimate in scores.overall.values()} == {None}
    only_negatives = score("multilabel", [[0]], [[1]], ["a"])
    assert means(only_negatives, "macro") == means(only_negatives, "micro") == (None, None, None)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="1, 0 or no value"):
        score("multilabel", [[2]], [[1]], ["a"])
    with pytest.raises(ValueError, match="needs 1 columns"):
        score("multilabel", [[1, 0]], [[1, 0]], ["a"])
    with pytest.raises(ValueError, match="shapes differ"):
        score("multilabel", [[1, 0]], [[1]], ["a", "b"])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 5), st.floats(0.05, 0.9))
def test_multilabel_agrees_with_scikit_learn(seed: int, documents: int, items: int, rate: float) -> None:
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, items)) < rate).astype(int)
    predicted = (rng.random((documents, items)) < rate).astype(int)
    scores = score("multilabel", reference, predicted, [f"l{index}" for index in range(items)], intervals=False)
    assert scores["subset_accuracy"].value == pytest.approx(accuracy_score(reference, predicted))
    assert scores["hamming_loss"].value == pytest.approx(hamming_loss(reference, predicted))
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


def test_choice_json() -> None:
    result = metrics.to_json(choice(CHOICE_REFERENCE, CHOSEN))
    assert {"n", "excluded", "accuracy", "macro", "labels", "confusion"} <= set(result)
    assert result["confusion"]["bear"] == {"bull": 2, "bear": 1, "flat": 0}
    assert result["labels"]["flat"]["f1"] is None
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_choice_without_verdicts() -> None:
    scores = choice(["bull"], [None])
    assert (scores.n, scores.excluded, scores["accuracy"].value, scores["macro_f1"].value) == (0, 1, None, None)


def test_choice_rejects_invalid_input() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        choice(["bull"], [])
    with pytest.raises(ValueError, match="below 3"):
        score("choice", [3], [0], CHOICES)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_choice_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    reference, predicted = np.array(pairs).T
    scores = score("choice", reference, predicted, ["a", "b", "c", "d"], intervals=False)
    assert scores["accuracy"].value == pytest.approx(accuracy_score(reference, predicted))
    assert np.array(scores.confusion).tolist() == confusion_matrix(reference, predicted, labels=[0, 1, 2, 3]).tolist()
    present = sorted(set(reference.tolist()))
    theirs = precision_recall_fscore_support(reference, predicted, labels=present, average="macro", zero_division=0)[:3]
    assert means(scores, "macro") == pytest.approx(theirs)


def test_rating_worked_example() -> None:
    # gold 1 2 3 4 5, rated 2 2 3 5 4: errors 1 0 0 1 -1
    scores = score("rating", [[1], [2], [3], [4], [5]], [[2], [2], [3], [5], [4]], ["clarity"])
    one = scores.labels["clarity"]
    assert (scores.n, one.n) == (5, 5)
    assert one["mae"].value == pytest.approx(3 / 5)
    assert one["bias"].value == pytest.approx(1 / 5)
    assert one["exact"].value == pytest.approx(2 / 5)
    # deviations -2 -1 0 1 2 and -1.2 -1.2 -0.2 1.8 0.8: 7 / sqrt(10 * 6.8)
    assert one["pearson"].value == pytest.approx(7 / np.sqrt(68))
    # ranks 1 2 3 4 5 and 1.5 1.5 3 5 4: 8.5 / sqrt(10 * 9.5)
    assert one["spearman"].value == pytest.approx(8.5 / np.sqrt(95))
    # 8 pairs concordant, 1 discordant, 1 tied: 7 / sqrt(10 * 9)
    assert one["kendall"].value == pytest.approx(7 / np.sqrt(90))
    assert one["alpha"].value is not None
    assert 0 < one["alpha"].value < 1


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
    one = score("rating", [[3], [3], [3]], [[1], [2], [3]], ["a"]).labels["a"]
    assert (one["pearson"].value, one["spearman"].value, one["kendall"].value) == (None, None, None)
    assert one["mae"].value == 1.0
    assert one["alpha"].value is not None
    same = score("rating", [[3], [3]], [[3], [3]], ["a"]).labels["a"]
    assert (same["alpha"].value, same["exact"].value) == (None, 1.0)


def test_rating_without_documents() -> None:
    scores = score("rating", np.zeros((0, 1)), np.zeros((0, 1)), ["a"])
    assert scores.n == 0
    assert {estimate.value for estimate in scores.overall.values()} == {None}
    with pytest.raises(ValueError, match="needs 2 columns"):
        score("rating", [[1]], [[1]], ["a", "b"])


def test_rating_json() -> None:
    result = metrics.to_json(score("rating", [[1], [2], [2]], [[1], [2], [1]], ["clarity"]))
    assert {"n", "excluded", "macro", "labels"} <= set(result)
    each = metrics.metrics("rating", per_label=True)
    assert list(result["labels"]["clarity"]) == ["n", *(metric.key for metric in each)]
    assert json.loads(json.dumps(result, allow_nan=False)) == result


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(1, 5)), min_size=2, max_size=40))
def test_rating_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    reference, rated = np.array(pairs, dtype=float).T
    one = score("rating", reference[:, None], rated[:, None], ["a"]).labels["a"]
    if len(set(reference)) == 1 or len(set(rated)) == 1:
        assert one["pearson"].value is one["spearman"].value is one["kendall"].value is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [
            float(test(reference, rated).statistic) for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)
        ]
    assert [one["pearson"].value, one["spearman"].value, one["kendall"].value] == pytest.approx(expected)


ABC = ["a", "b", "c"]


def grids(documents: int = 80, seed: int = 1) -> tuple[BinaryGrid, BinaryGrid, BinaryGrid]:
    """Return a reference, an annotator with 70% correct cells and one with 90%."""
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, 3)) < 0.4).astype(np.int8)
    weak = np.where(rng.random(reference.shape) < 0.3, 1 - reference, reference).astype(np.int8)
    strong = np.where(rng.random(reference.shape) < 0.1, 1 - reference, reference).astype(np.int8)
    return reference, weak, strong


def test_values_do_not_depend_on_resampling() -> None:
    reference, weak, _ = grids()
    result = score("multilabel", reference, weak, ABC)
    expected = score("multilabel", reference, weak, ABC)
    assert result["macro_f1"].value == pytest.approx(expected["macro_f1"].value)
    assert result["micro_precision"].value == pytest.approx(expected["micro_precision"].value)
    assert result["micro_recall"].value == pytest.approx(expected["micro_recall"].value)
    assert result.labels["b"]["f1"].value == pytest.approx(expected.labels["b"]["f1"].value)
    assert result["accuracy"].value == pytest.approx(1 - (expected["hamming_loss"].value or 0))
    assert (result.n, result.excluded) == (80, 0)


def test_resampling_has_the_distribution_of_drawing_documents() -> None:
    reference, weak, _ = grids()
    rows = np.random.default_rng(7).integers(0, len(reference), (3000, len(reference)))
    agreed = (reference & weak)[rows].sum(axis=1)
    plain = (2 * agreed / (reference + weak)[rows].sum(axis=1)).mean(axis=1)  # F1 = 2 tp / (2 tp + fp + fn)
    interval = score("multilabel", reference, weak, ABC)["macro_f1"].interval
    assert interval is not None
    low, high = np.quantile(plain, [0.025, 0.975])
    # The 2.5% quantile of 3,000 draws with a spread of about 0.03 varies by less than 0.005.
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.006)


def test_scores_are_independent_of_row_order_and_chunk_size(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, weak, _ = grids()
    first = score("multilabel", reference, weak, ABC)
    order = np.random.default_rng(0).permutation(len(reference))
    assert score("multilabel", reference[order], weak[order], ABC) == first
    monkeypatch.setattr(metrics, "_CELLS", 500)
    assert score("multilabel", reference, weak, ABC) == first


def test_paired_difference_is_the_difference_of_the_scores() -> None:
    reference, weak, strong = grids()
    result = difference("multilabel", reference, weak, strong, ABC)
    one, two = (score("multilabel", reference, predicted, ABC) for predicted in (weak, strong))
    assert result["macro_f1"].value == pytest.approx((two["macro_f1"].value or 0) - (one["macro_f1"].value or 0))
    assert result["macro_f1"].clear is True
    same = difference("multilabel", reference, weak, weak, ABC)
    assert same["micro_f1"].interval is not None
    assert (same["micro_f1"].value, same["micro_f1"].interval.low, same["micro_f1"].interval.high) == (0, 0, 0)


def test_pairing_narrows_the_interval() -> None:
    # The second differs from the first on three of 80 documents, so pairing cancels nearly all noise.
    reference, weak, _ = grids()
    touched = weak.copy()
    touched[:3] = reference[:3]
    paired = difference("multilabel", reference, weak, touched, ABC)["micro_f1"].interval
    unpaired = score("multilabel", reference, weak, ABC)["micro_f1"].interval
    assert paired is not None
    assert unpaired is not None
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2


def test_difference_excludes_documents_without_a_verdict_on_either_side() -> None:
    reference, weak, strong = grids(documents=20)
    weak[0, 1] = -1
    strong[5] = -1
    reference[7] = -1
    reference[8, 0] = -1  # without gold on one label the others count
    result = difference("multilabel", reference, weak, strong, ABC)
    assert (result.n, result.excluded) == (17, 2)


def test_undefined_scores_have_no_interval() -> None:
    result = score("multilabel", [[0, 1], [0, 1], [0, 0]], [[0, 1], [0, 0], [0, 0]], ["never", "b"])
    assert result.labels["never"]["recall"] == result.labels["never"]["f1"]
    assert (result.labels["never"]["f1"].value, result.labels["never"]["f1"].interval) == (None, None)
    assert result["macro_f1"].value == pytest.approx(2 / 3)  # only b has a score
    assert result["macro_f1"].interval is not None
    single = score("multilabel", [[1, 1]], [[1, 1]], ["a", "b"])
    assert single["macro_f1"].value == 1.0
    assert single["macro_f1"].interval is not None  # a single document has a wide interval
    assert single["macro_f1"].interval.low < 0.6
    empty = score("multilabel", np.zeros((0, 1)), np.zeros((0, 1)), ["a"])
    assert (empty.n, empty["accuracy"].value, empty["macro_f1"].value) == (0, None, None)


def test_scores_of_a_label_have_the_interval_of_a_share() -> None:
    # All five positives are found, so every resample finds all of them and the bootstrap would have zero width.
    reference = [[1]] * 5 + [[0]] * 5
    found = score("multilabel", reference, reference, ["a"])
    label = found.labels["a"]
    assert label["recall"] == Estimate(1.0, wilson(5, 5))
    assert label["precision"] == Estimate(1.0, wilson(5, 5))
    # F* is 5 of 5 with lower end 0.566, so the lower end of F1 is 2 * 0.566 / 1.566. A mean over one label equals it.
    assert label["f1"].interval is not None
    assert (label["f1"].interval.low, label["f1"].interval.high) == (pytest.approx(0.7225, abs=1e-4), 1.0)
    for key in ("precision", "recall", "f1"):
        assert found[f"macro_{key}"] == found[f"micro_{key}"] == label[key]
    assert found["accuracy"].interval == wilson(10, 10)
    nothing = score("multilabel", reference, np.zeros((10, 1)), ["a"]).labels["a"]
    assert nothing["precision"] == Estimate(0.0, None)  # 0 by convention without predictions
    assert nothing["recall"] == Estimate(0.0, wilson(0, 5))
    less = difference("multilabel", reference, reference, [[1]] * 3 + [[0]] * 7, ["a"]).labels["a"]["recall"]
    assert less.value == pytest.approx(-0.4)
    assert less.interval is not None
    assert less.interval.low < -0.4 < less.interval.high


def test_choice_equals_multilabel_of_its_one_hot_codes() -> None:
    rng = np.random.default_rng(2)
    reference, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    predicted[0] = -1
    expected = score("choice", reference, predicted, ABC)
    result = score("multilabel", one_hot(reference, 3), one_hot(predicted, 3), ABC)
    assert result["macro_f1"].value == pytest.approx(expected["macro_f1"].value)
    assert result["micro_f1"].value == pytest.approx(expected["accuracy"].value)
    assert (result.n, result.excluded) == (59, 1)


def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(ValueError, match="level"):
        difference("multilabel", [[1]], [[1]], [[0]], ["a"], level=95)
    with pytest.raises(ValueError, match="needs 2 columns"):
        score("multilabel", [[1]], [[1]], ["a", "b"])


def test_interval_covers_a_known_f1() -> None:
    # Half of the documents are positive and 80% of each half are right: precision, recall and F1 are 0.8.
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(120):
        reference = (rng.random((150, 1)) < 0.5).astype(np.int8)
        predicted = np.where(rng.random((150, 1)) < 0.2, 1 - reference, reference)
        interval = score("multilabel", reference, predicted, ["a"])["macro_f1"].interval
        covered += interval is not None and 0.8 in interval
    # Expected are 95% of 120, that is 114, with standard deviation 2.4.
    assert covered >= 106


def test_perfect_sample_does_not_give_a_zero_width_interval() -> None:
    reference = np.array([[1, 0], [0, 1], [1, 1], [0, 1]])
    found = score("multilabel", reference, reference, ["a", "b"])
    for key in ("macro_f1", "micro_f1", "accuracy"):
        interval = found[key].interval
        assert interval is not None
        assert interval.low < 0.75
        assert interval.high == pytest.approx(1.0)
    assert found.labels["b"]["f1"].interval is not None
    # The difference of two identical annotators is exactly zero.
    same = difference("multilabel", reference, reference, reference, ["a", "b"])["macro_f1"]
    assert same.interval is not None
    assert (same.interval.low, same.interval.high) == (0.0, 0.0)


KINDS: tuple[metrics.Kind, ...] = ("multilabel", "choice", "rating")


def annotations(kind: metrics.Kind, rng: np.random.Generator, documents: int) -> np.ndarray:
    """Return random values, some of them missing."""
    width = 1 if kind == "choice" else 3
    values = rng.integers(0, {"multilabel": 2, "choice": 3, "rating": 5}[kind], (documents, width)).astype(float)
    values[rng.random(documents) < 0.1] = np.nan
    return values


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_difference_is_the_difference_of_the_scores(kind: metrics.Kind, seed: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    reference, first, second = (annotations(kind, rng, documents) for _ in range(3))
    lacking = np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1)
    first[lacking] = second[lacking] = np.nan
    found = difference(kind, reference, first, second, ABC)
    one, two = (score(kind, reference, side, ABC, intervals=False) for side in (first, second))
    assert (found.n, found.excluded) == (one.n, one.excluded)
    pairs = [(found[key], one[key], two[key]) for key in found.overall]
    for name, label in found.labels.items():
        pairs += [(label[key], one.labels[name][key], two.labels[name][key]) for key in label.scores]
    for change, before, after in pairs:
        if before.value is None or after.value is None:
            assert change.value is None
        else:
            assert change.value == pytest.approx(after.value - before.value)


def test_accuracy_of_a_choice_differs_by_whole_documents() -> None:
    # A wrong choice is wrong on two of three labels but counts as one wrong document.
    found = difference("choice", [0, 1, 2, 0], [0, 1, 2, 1], [0, 1, 2, 0], ABC)
    assert found["accuracy"].value == 0.25


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.integers(0, 30))
def test_json_has_every_metric(kind: metrics.Kind, seed: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    found = score(kind, annotations(kind, rng, documents), annotations(kind, rng, documents), ABC)
    result = metrics.to_json(found)
    for metric in metrics.metrics(kind):
        value = result
        for key in metric.path:
            value = value[key]
        assert value == found[metric.key].value
    for name, label in found.labels.items():
        each = result["labels"][name] | result.get("measures", {}).get(name, {})
        assert all(each[key] == estimate.value for key, estimate in label.scores.items())
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_strict_scores_count_excluded_documents_as_wrong() -> None:
    reference, predicted = [[1, 0], [1, 1], [None, None]], [[1, 0], [None, 1], [1, 1]]
    strict = metrics.strict_scores("multilabel", reference, predicted, ["a", "b"])
    assert strict["accuracy"].value == 0.5
    assert strict["micro_recall"].value == pytest.approx(1 / 3)
    chosen = metrics.strict_scores("choice", [0, 1, 1], [0, 1, -1], ["a", "b"])
    assert chosen["accuracy"] == Estimate(pytest.approx(2 / 3), wilson(2, 3))
    assert metrics.strict_scores("rating", [[1]], [[1]], ["a"]) == {}
