"""Tests of scoring: intervals, differences, JSON and excluded documents."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats import metrics, scoring
from core.stats.arrays import BinaryGrid, one_hot
from core.stats.intervals import Estimate, Interval, t_quantile, wilson
from core.stats.metric_intervals import Design, ratio
from core.stats.sampling import WeightedSample
from core.stats.scoring import difference, interval_p, score
from tests.core.stats.samples import uniform_sample
from tests.each_row import each_row

ABC = ["a", "b", "c"]


def grids(documents: int = 80, seed: int = 1) -> tuple[BinaryGrid, BinaryGrid, BinaryGrid]:
    """Return a reference, an annotator with 70% correct cells and one with 90%."""
    rng = np.random.default_rng(seed)
    reference = (rng.random((documents, 3)) < 0.4).astype(np.int8)
    weak = np.where(rng.random(reference.shape) < 0.3, 1 - reference, reference).astype(np.int8)
    strong = np.where(rng.random(reference.shape) < 0.1, 1 - reference, reference).astype(np.int8)
    return reference, weak, strong


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
    monkeypatch.setattr(scoring, "_CELLS_AT_ONCE", 500)
    assert score("multilabel", reference, weak, ABC) == first


def test_difference_of_a_better_annotator_is_clear() -> None:
    reference, weak, strong = grids()
    assert difference("multilabel", reference, weak, strong, ABC)["macro_f1"].clear is True
    assert difference("multilabel", reference, weak, weak, ABC)["micro_f1"].value == 0


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


def test_difference_of_perfect_precisions_has_a_width() -> None:
    # Of 30 documents the first annotator finds 20, the second 28, without an error: Wilson's lower limits are 0.839
    # and 0.879. The difference is 0, and nothing shows that it is exact.
    reference = np.repeat([[1], [0]], [30, 20], axis=0)
    first, second = (np.repeat([[1], [0]], [found, 50 - found], axis=0) for found in (20, 28))
    gap = difference("multilabel", reference, first, second, ["a"]).labels["a"]["precision"]
    assert gap.value == 0
    assert gap.interval is not None
    assert (gap.interval.low, gap.interval.high) == pytest.approx((-0.121, 0.161), abs=0.001)


def test_difference_of_correlations_without_intervals_has_none() -> None:
    # Eight groups of five documents are too few for the interval of kappa, so also for that of a difference.
    reference, weak, strong = grids(documents=40)
    design = Design(groups=np.arange(40) // 5)
    gap = difference("multilabel", reference, weak, strong, ABC, design=design).labels["a"]["kappa"]
    assert score("multilabel", reference, weak, ABC, design=design).labels["a"]["kappa"].interval is None
    assert gap.value is not None
    assert gap.interval is None


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


def test_scores_of_a_label_have_the_interval_of_a_share() -> None:
    # All five positives are found, so every resample finds all of them and the bootstrap would have zero width.
    reference = [[1]] * 5 + [[0]] * 5
    result = score("multilabel", reference, reference, ["a"])
    label = result.labels["a"]
    assert label["recall"] == Estimate(1.0, wilson(5, 5))
    assert label["precision"] == Estimate(1.0, wilson(5, 5))
    # F* is 5 of 5 with lower end 0.566, so the lower end of F1 is 2 * 0.566 / 1.566. A mean over one label equals it.
    assert label["f1"].interval is not None
    assert (label["f1"].interval.low, label["f1"].interval.high) == (pytest.approx(0.7225, abs=1e-4), 1.0)
    for key in ("precision", "recall", "f1"):
        assert result[f"macro_{key}"] == result[f"micro_{key}"] == label[key]
    assert result["accuracy"].interval == wilson(10, 10)
    nothing = score("multilabel", reference, np.zeros((10, 1)), ["a"]).labels["a"]
    assert nothing["precision"] == Estimate(0.0, None)  # 0 by convention without predictions
    assert nothing["recall"] == Estimate(0.0, wilson(0, 5))
    less = difference("multilabel", reference, reference, [[1]] * 3 + [[0]] * 7, ["a"]).labels["a"]["recall"]
    assert less.value == pytest.approx(-0.4)
    assert less.interval is not None
    assert less.interval.low < -0.4 < less.interval.high


@each_row("documents", [2, 10, 80])
def test_label_accuracy_has_the_interval_of_the_ratio_of_right_cells(documents: int) -> None:
    reference, weak, _ = grids(documents, seed=3)
    right = (reference == weak).sum(axis=1)
    expected = ratio(right, np.full(documents, 3), Design())
    result = score("multilabel", reference, weak, ABC)["accuracy"]
    assert result.value == pytest.approx(expected.value)
    assert (result.interval is None) == (expected.interval is None)
    if result.interval is not None and expected.interval is not None:
        ends = (expected.interval.low, expected.interval.high)
        assert (result.interval.low, result.interval.high) == pytest.approx(ends, rel=1e-6)


def test_choice_equals_multilabel_of_its_one_hot_codes() -> None:
    rng = np.random.default_rng(2)
    reference, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    predicted[0] = -1
    expected = score("choice", reference, predicted, ABC)
    result = score("multilabel", one_hot(reference, 3), one_hot(predicted, 3), ABC)
    assert result["macro_f1"].value == pytest.approx(expected["macro_f1"].value)
    assert result["micro_f1"].value == pytest.approx(expected["accuracy"].value)
    assert (result.n, result.excluded) == (59, 1)


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
    result = score("multilabel", reference, reference, ["a", "b"])
    for key in ("macro_f1", "micro_f1", "accuracy"):
        interval = result[key].interval
        assert interval is not None
        assert interval.low < 0.75
        assert interval.high == pytest.approx(1.0)
    assert result.labels["b"]["f1"].interval is not None


def test_annotators_that_are_equal_on_a_sample_may_differ_on_other_documents() -> None:
    # The second annotator misses the label in 4% of the documents that have it: 20 of these often show no error.
    covered = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        reference = np.repeat([[1, 0], [0, 1]], [20, 80], axis=0)
        second = np.where(rng.random(reference.shape) < np.array([[0.04, 0.0]]), 0, reference)
        gap = difference("multilabel", reference, reference, second, ["a", "b"]).labels["a"]["recall"]
        covered += -0.04 in (gap.interval or Interval(9, 9))
    assert covered >= 280
    equal = difference("multilabel", reference, reference, reference, ["a", "b"])
    # The upper limit of a share of 0 in n cases: the root of 2.5%, for a mean over two labels of twice the rarer ones.
    for estimate, cases in ((equal.labels["a"]["f1"], 20), (equal["macro_f1"], 40), (equal["accuracy"], 100)):
        bound = 1 - 0.025 ** (1 / cases)
        assert estimate == Estimate(0.0, Interval(pytest.approx(-bound), pytest.approx(bound)))


def test_annotators_with_the_same_verdicts_on_all_documents_have_an_exact_difference_in_a_sample() -> None:
    rng = np.random.default_rng(0)
    truth, order = rng.integers(0, 3, 300), np.arange(100)
    verdicts = np.where(rng.random(300) < 0.8, truth, 0)
    reference = np.where(np.arange(300) < 100, truth, -1)
    design = Design(sample=WeightedSample.of_draws(order, [np.ones(300)] * 100, 300), order=order)
    equal = difference("choice", reference, verdicts, verdicts, ["a", "b", "c"], design=design)
    assert equal["accuracy"] == equal["macro_f1"] == Estimate(0.0, Interval(0.0, 0.0))
    others = verdicts.copy()
    others[100:150] = (verdicts[100:150] + 1) % 3
    unknown = difference("choice", reference, verdicts, others, ["a", "b", "c"], design=design)
    assert unknown["macro_f1"] == Estimate(0.0, None), "they differ on documents without a review"


def test_annotators_that_differ_only_where_both_are_wrong_are_not_known_to_be_equally_accurate() -> None:
    """The limits are those of binom.test(0, 200) of R 4.2.2: such documents may be this frequent."""
    reference = np.arange(200) % 3
    first = np.where(np.arange(200) < 80, (reference + 1) % 3, reference)
    second = np.where(np.arange(200) < 2, (reference + 2) % 3, first)
    gap = difference("choice", reference, first, second, ["a", "b", "c"])
    expected = Estimate(0.0, Interval(pytest.approx(-0.01827534036), pytest.approx(0.01827534036)))
    assert (gap["accuracy"], gap["macro_recall"]) == (expected, expected)
    assert gap["macro_f1"].value == pytest.approx(0.0, abs=0.001)
    bounds = gap["macro_f1"].interval
    assert bounds is not None
    assert (bounds.high - bounds.low) / 2 == pytest.approx(0.01827534036), "as if they were equal"
    census = Design(sample=uniform_sample([True] * 200, 200), order=np.arange(200))
    known = difference("choice", reference, first, second, ["a", "b", "c"], design=census)
    assert known["accuracy"] == Estimate(0.0, Interval(0.0, 0.0))


def test_interval_of_a_difference_covers_rare_gains_among_changed_errors() -> None:
    # 5% of documents change from one error to another, and 0.5% are right with the second annotator alone.
    def draw(rng: np.random.Generator, documents: int) -> list[np.ndarray]:
        reference = rng.integers(0, 3, documents)
        first = np.where(rng.random(documents) < 0.7, reference, (reference + rng.integers(1, 3, documents)) % 3)
        chance, is_wrong = rng.random(documents), first != reference
        second = np.where(is_wrong & (chance < 0.05 / 0.3), 3 - reference - first, first)
        return [reference, first, np.where(is_wrong & (chance > 1 - 0.005 / 0.3), reference, second)]

    labels = ["a", "b", "c"]
    reference, *annotators = draw(np.random.default_rng(0), 400_000)
    before, after = (score("choice", reference, side, labels, intervals=False)["macro_f1"].value for side in annotators)
    assert before is not None
    assert after is not None
    gaps = [difference("choice", *draw(np.random.default_rng(seed), 200), labels)["macro_f1"] for seed in range(1, 101)]
    # From the influences alone it covered 63%: a third of the samples have no gain that shows its spread.
    assert sum(after - before in (gap.interval or Interval(9, 9)) for gap in gaps) >= 95


def test_interval_of_a_difference_in_a_sample_covers_rare_gains_among_changed_errors() -> None:
    # 9% of documents change from one error to another, and 0.6% are right with the second annotator alone.
    covered, known = 0, 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth, chance, order = rng.integers(0, 3, 2000), rng.random(2000), np.arange(150)
        first = np.where(rng.random(2000) < 0.7, truth, (truth + rng.integers(1, 3, 2000)) % 3)
        is_wrong = first != truth
        second = np.where(is_wrong & (chance < 0.3), 3 - truth - first, first)
        second = np.where(is_wrong & (chance > 0.98), truth, second)
        before, after = (
            score("choice", truth, side, list("abc"), intervals=False).main.value for side in (first, second)
        )
        assert before is not None
        assert after is not None
        reference = np.where(np.arange(2000) < 150, truth, -1)
        design = Design(sample=WeightedSample.of_draws(order, [np.ones(2000)] * 150, 2000), order=order)
        interval = difference("choice", reference, first, second, ["a", "b", "c"], design=design).main.interval
        known += interval is not None
        covered += interval is not None and after - before in interval
    assert known == 100
    assert covered >= 95


KINDS: tuple[metrics.Kind, ...] = ("multilabel", "choice", "rating")


@each_row(("documents", "correlation"), [(10, 0.0), (10, 0.6), (15, 0.6), (40, 0.6)])
def test_intervals_of_few_correlated_ratings_cover(documents, correlation):
    rng = np.random.default_rng(5)

    def rated(count):
        values = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], count)
        return np.digitize(values, [-0.5, 0.5]).astype(float)

    true = np.corrcoef(rated(200_000).T)[0, 1]
    samples = [rated(documents) for _ in range(200)]
    scored = [score("rating", values[:, :1], values[:, 1:], ["x"]).labels["x"]["pearson"] for values in samples]
    intervals = [estimate.interval for estimate in scored if estimate.interval is not None]
    assert len(intervals) > 190
    # Within three standard errors of 95%. With the normal quantile it was 83% to 87% of 10 documents.
    assert np.mean([interval.low <= true <= interval.high for interval in intervals]) > 0.9


def test_intervals_of_few_errors_of_ratings_cover():
    # 500 studies of eight documents with errors around 0.3, which students' t covers in 95%.
    covered = np.zeros(3)
    for seed in range(500):
        errors = np.random.default_rng(seed).normal(0.3, 1.0, (8, 2))
        scores = score("rating", np.full((8, 2), 3.0), 3 + errors, ["x", "y"])
        estimates = [scores.labels["x"]["bias"], scores.labels["y"]["bias"], scores["macro_bias"]]
        covered += [0.3 in (estimate.interval or Interval(9, 9)) for estimate in estimates]
    assert np.abs(covered - 475).max() <= 13
    half = t_quantile(7) * errors[:, 0].std(ddof=1) / 8**0.5
    interval = scores.labels["x"]["bias"].interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(
        (errors[:, 0].mean() - half, errors[:, 0].mean() + half), abs=1e-4
    )


def test_errors_of_fewer_than_four_documents_or_groups_have_no_interval():
    errors = np.array([[0.0], [1.0], [2.0], [2.0], [1.0], [0.0], [1.0], [3.0]])
    groups = np.array([0, 0, 0, 1, 1, 1, 2, 3])
    for count, few in ((3, True), (4, False)):
        scores = score("rating", np.zeros((count, 1)), errors[:count], ["x"])
        assert (scores.labels["x"]["mae"].interval is None) == few
        within = groups < count
        scores = score("rating", np.zeros((within.sum(), 1)), errors[within], ["x"], design=Design(groups[within]))
        assert (scores.labels["x"]["mae"].interval is None) == few


def test_correlations_of_fewer_than_ten_ratings_have_no_interval():
    reference, ratings = [[n % 4] for n in range(10)], [[n % 3] for n in range(10)]
    few, enough = (score("rating", reference[:n], ratings[:n], ["x"]).labels["x"]["spearman"] for n in (9, 10))
    assert few.value is not None
    assert few.interval is None
    assert enough.interval is not None


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
    result = difference(kind, reference, first, second, ABC)
    one, two = (score(kind, reference, side, ABC, intervals=False) for side in (first, second))
    assert (result.n, result.excluded) == (one.n, one.excluded)
    pairs = [(result[key], one[key], two[key]) for key in result.overall]
    for name, label in result.labels.items():
        pairs += [(label[key], one.labels[name][key], two.labels[name][key]) for key in label.scores]
    for change, before, after in pairs:
        if before.value is None or after.value is None:
            assert change.value is None
        else:
            assert change.value == pytest.approx(after.value - before.value)


def test_accuracy_of_a_choice_differs_by_whole_documents() -> None:
    # A wrong choice is wrong on two of three labels but counts as one wrong document.
    result = difference("choice", [0, 1, 2, 0], [0, 1, 2, 1], [0, 1, 2, 0], ABC)
    assert result["accuracy"].value == 0.25


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(KINDS), st.integers(0, 2**32 - 1), st.integers(0, 30))
def test_json_has_every_metric(kind: metrics.Kind, seed: int, documents: int) -> None:
    rng = np.random.default_rng(seed)
    outcome = score(kind, annotations(kind, rng, documents), annotations(kind, rng, documents), ABC)
    result = scoring.to_json(outcome)
    for metric in metrics.metrics(kind):
        value = result
        for key in metric.path:
            value = value[key]
        assert value == outcome[metric.key].value
    for name, label in outcome.labels.items():
        fields = result["labels"][name] | result.get("measures", {}).get(name, {})
        assert all(fields[key] == estimate.value for key, estimate in label.scores.items())
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_strict_scores_count_excluded_documents_as_wrong() -> None:
    reference, predicted = [[1, 0], [1, 1], [None, None]], [[1, 0], [None, 1], [1, 1]]
    strict = scoring.strict_scores("multilabel", reference, predicted, ["a", "b"])
    assert strict["accuracy"].value == 0.5
    assert strict["micro_recall"].value == pytest.approx(1 / 3)
    chosen = scoring.strict_scores("choice", [0, 1, 1], [0, 1, -1], ["a", "b"])
    assert chosen["accuracy"] == Estimate(pytest.approx(2 / 3), wilson(2, 3))
    assert scoring.strict_scores("rating", [[1]], [[1]], ["a"]) == {}


@each_row("kind", KINDS)
def test_scores_are_exact_if_all_documents_are_reviewed(kind: metrics.Kind) -> None:
    # Regression: correlations and mean errors had neither a value nor an interval, as nothing was left to estimate.
    rng, names = np.random.default_rng(3), ["a", "b", "c"]
    reference, predicted = (np.nan_to_num(annotations(kind, rng, 25), nan=1.0) for _ in range(2))
    design = Design(sample=uniform_sample(np.ones(25, dtype=bool), 25), order=rng.permutation(25))
    plain = score(kind, reference, predicted, names)
    result = score(kind, reference, predicted, names, design=design)
    per_label = [(plain.labels[name].scores, result.labels[name].scores) for name in names]
    for expected, exact in [(plain.overall, result.overall), *per_label]:
        for key, estimate in exact.items():
            assert estimate.value == pytest.approx(expected[key].value), key
            if estimate.interval is not None:
                assert (estimate.interval.low, estimate.interval.high) == pytest.approx((estimate.value,) * 2), key
    assert result.main.interval is not None


def test_exact_difference_is_certain() -> None:
    assert interval_p(Estimate(0.02, Interval(0.02, 0.02))) == 0
    assert interval_p(Estimate(0.0, Interval(0.0, 0.0))) == 1
    assert interval_p(Estimate(0.02, Interval(-0.01, 0.05))) == pytest.approx(0.191, abs=1e-3)
    assert interval_p(Estimate(0.02, None)) is None


def test_p_of_few_groups_has_the_distribution_of_the_interval() -> None:
    half = 0.01 * 2.5706  # the quantile of Student's t with 5 degrees of freedom
    interval = Interval(0.0403 - half, 0.0403 + half)
    assert interval_p(Estimate(0.0403, interval), 5) == pytest.approx(0.0100, abs=1e-4)
    assert interval_p(Estimate(0.025706, Interval(0.0, 2 * half)), 5) == pytest.approx(0.05, abs=1e-5)


def test_p_of_a_difference_does_not_depend_on_the_order_of_the_annotators() -> None:
    reference, weak, strong = grids(20)
    both = np.where(np.arange(20)[:, None] % 3 > 0, weak, strong)
    p, reverse = (
        scoring.randomization_test("multilabel", reference, *sides, ABC) for sides in ((weak, both), (both, weak))
    )
    assert p == reverse
    assert p is not None
    assert 0.01 < p < 0.5


def test_interval_of_a_weighted_difference_does_not_depend_on_the_order_of_the_annotators() -> None:
    rng = np.random.default_rng(7)
    right = (rng.random((26, 3)) < 0.5).astype(int)  # weights let its exact match sum to 1 + 2e-16
    weak = np.where(rng.random((26, 3)) < 0.2, 1 - right, right)
    order = rng.permutation(26)[:17]
    sample = WeightedSample.of_draws(order, [rng.random(26) + 0.1] * 17, 26)
    design = Design(sample=sample, order=order, auxiliary=np.column_stack([np.ones(26), right]))
    reference = np.full(right.shape, -1)
    reference[order] = right[order]
    gain = difference("multilabel", reference, weak, right, ABC, design=design)["subset_accuracy"].interval
    loss = difference("multilabel", reference, right, weak, ABC, design=design)["subset_accuracy"].interval
    assert gain is not None
    assert loss is not None
    assert (gain.low, gain.high) == pytest.approx((-loss.high, -loss.low))


def test_reviewed_documents_on_which_annotators_differ_are_the_units_of_their_difference() -> None:
    rng = np.random.default_rng(3)
    first = (rng.random((200, 3)) < 0.5).astype(int)
    second = first.copy()
    order = np.arange(40)
    design = Design(sample=uniform_sample([True] * 40, 200), order=order)
    reference = np.full(first.shape, -1)
    reference[order] = first[order]

    def gap(level: float = 0.95) -> Estimate:
        return difference("multilabel", reference, first, second, ABC, design=design, level=level)["accuracy"]

    assert gap().interval == Interval(0.0, 0.0), "the annotators are the same"
    second[100] = 1 - second[100]
    assert gap() == Estimate(0.0, None), "the annotators differ on a document that is not reviewed"
    reference[:4, 0] = second[:4, 0] = 1 - first[:4, 0]
    second[4, 0] = 1 - first[4, 0]
    assert gap().interval is None, "five documents may favour one annotator by chance"
    second[5, 0] = 1 - first[5, 0]
    wide, narrow = gap().interval, gap(0.5).interval
    assert wide is not None
    assert narrow is not None
    ratio_of_widths = t_quantile(5) / t_quantile(5, 0.5)  # six such documents
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(ratio_of_widths)


def test_table_has_the_chosen_metrics_of_each_label():
    reference, predicted = np.array([[1, 0], [1, 1]]), np.array([[1, 0], [0, 1]])
    scores = score("multilabel", reference, predicted, ("A", "B"), intervals=False)
    shown = ("precision", "recall", "f1")
    names, cells = scores.table(lambda estimate: f"{estimate.value:.2f}", lambda metric: metric.key in shown)
    assert (names, cells) == (["Precision", "Recall", "F1"], {"A": ["1.00", "0.50", "0.67"], "B": ["1.00"] * 3})
    assert len(scores.table(str)[0]) == len(metrics.metrics("multilabel", per_label=True))


def test_differences_of_runs_in_a_queue_for_their_comparison_cover() -> None:
    # 150 studies of 1,000 documents with three labels. The queue prefers the 40% on which the runs may differ, so that
    # few of the others, with large weights, decide the calibration.
    covered = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        reference = (rng.random((1000, 3)) < 0.3).astype(int)
        first, second = (np.where(rng.random(reference.shape) < 0.15, 1 - reference, reference) for _ in range(2))
        second = np.where(rng.random((1000, 1)) < 0.6, first, second)
        sizes = np.where((first != second).any(axis=1), 20.0, 1.0)
        order = np.argsort(rng.exponential(size=1000) / sizes)[:150]
        known = np.full(reference.shape, -1)
        known[order] = reference[order]
        sample = WeightedSample.of_draws(order, [sizes] * 150, 1000)
        variables = np.column_stack([np.ones(1000), first, second]).astype(float)
        design = Design(sample=sample, order=order, auxiliary=variables)
        gap = difference("multilabel", known, first, second, ABC, design=design)["accuracy"].interval
        true = (second == reference).mean() - (first == reference).mean()
        covered += gap is not None and true in gap
    assert covered >= 135


def test_agreement_on_a_label_of_one_document_has_no_interval() -> None:
    # Only the reference gives the label, once: the interval of alpha would be -0.3 to 0.2 whatever the true value is.
    reference, predicted = np.zeros((30, 1), dtype=int), np.zeros((30, 1), dtype=int)
    reference[0] = 1
    label = score("multilabel", reference, predicted, ["a"]).labels["a"]
    assert label["alpha"].value == pytest.approx(0.0, abs=0.02)
    assert [label[key].interval for key in ("kappa", "ac1", "alpha", "mcc")] == [None] * 4


def test_difference_of_kappa_is_wider_for_few_documents() -> None:
    # The same documents a hundred times have the same difference. Its standard error falls with the root of the number.
    rng = np.random.default_rng(0)
    reference = rng.integers(0, 2, 30)
    first, second = (np.where(rng.random(30) < 0.2, 1 - reference, reference) for _ in range(2))
    differ = int((first != second).sum())

    def width(times: int) -> float:
        sides = (np.tile(side, times) for side in (reference, first, second))
        interval = difference("choice", *sides, ["a", "b"])["kappa"].interval
        assert interval is not None
        return interval.high - interval.low

    def factor(times: int) -> float:
        n = 30 * times
        return float(t_quantile(n - 2) * (n / (n - 2)) ** 0.5 * (1 + 1 / (differ * times)) ** 0.5)

    assert width(1) / width(100) == pytest.approx(10 * factor(1) / factor(100), rel=1e-3)


def test_two_groups_of_few_documents_leave_a_difference_uncertain() -> None:
    # Two groups have a correlation of 1 or -1. With it, the difference of 50 points had the interval 49.1 to 50.1.
    reference, groups = np.ones((8, 1), dtype=int), np.array([1, 1, 0, 0, 1, 1, 1, 0])
    first, second = np.array([[0, 0, 0, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1, 0, 1]])[:, :, None]
    wide, narrow = (
        difference("multilabel", reference, first, second, ["a"], design=Design(groups=groups), level=level)["accuracy"]
        for level in (0.95, 0.9)
    )
    assert wide.interval is not None
    assert narrow.interval is not None
    assert wide.interval.low < narrow.interval.low < 0 < narrow.interval.high < wide.interval.high
