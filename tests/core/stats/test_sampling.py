"""Tests of estimates over all documents from a reviewed sample that is mostly chosen by a queue."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from core.stats import sampling
from core.stats.intervals import Estimate
from core.stats.metric_intervals import Design, prediction_powered
from core.stats.sampling import WeightedSample
from core.stats.scoring import score
from core.stats.sequential_tests import confidence_sequence
from tests.core.stats.samples import share_of, uniform_sample
from tests.each_row import each_row


def test_weights_of_draws_by_hand() -> None:
    # Ten documents, reviewed in this order: queue, draw, queue, draw, with z = 1 0 1 1.
    # First draw: 1 reviewed before (sum 1), 9 left, z 0: (1 + 9 * 0) / 10 = 0.1. Second draw: 3 before (sum 2), 7
    # left, z 1: (2 + 7 * 1) / 10 = 0.9. The mean is 0.5. Weights: 2 / 2 = 1 for the first queue document, which counts
    # in both draws; (9 + 1) / 2 = 5 for the first draw; 1 / 2 for the second queue document; 7 / 2 for the second
    # draw.
    sample = uniform_sample(np.array([False, True, False, True]), 10)
    assert sample.estimates([1, 0, 1, 1]).tolist() == pytest.approx([0.1, 0.9])
    assert sampling.kept_mean(sample, np.array([1.0, 0, 1, 1]))[0] == pytest.approx(0.5)
    assert sample.weights.tolist() == pytest.approx([1, 5, 0.5, 3.5])
    assert sample.weights.sum() == pytest.approx(10)
    assert sample.weights @ np.array([1, 0, 1, 1]) / 10 == pytest.approx(0.5)


def test_each_draw_has_the_probability_of_its_size_among_unreviewed_documents() -> None:
    # Sizes are 1 2 3 4, then 4 1 1 1 in a second frame. Order: document 3 (4 of 10), 1 by hand, 0 (4 of 5, 2 is left).
    first, second = np.array([1.0, 2, 3, 4]), np.array([4.0, 1, 1, 1])
    sample = WeightedSample.of_draws([3, 1, 0], [first, None, second], 4)
    assert sample.probabilities.tolist() == pytest.approx([0.4, 0.0, 0.8])
    assert sample.drawn == 2


def test_draws_in_proportion_to_size_are_unbiased_in_every_order() -> None:
    # All orders of two draws of three documents, weighted by probability; the sizes of the second draw depend on z.
    z, first = np.array([1.0, 0.0, 0.5]), np.array([0.2, 0.5, 0.3])
    mean = 0.0
    for counts in range(3):
        second = np.array([0.6, 0.3, 0.1]) if z[counts] else np.array([0.1, 0.1, 0.8])
        for two in {0, 1, 2} - {counts}:
            sample = WeightedSample.of_draws([counts, two], [first, second], 3)
            mean += float(np.prod(sample.probabilities)) * sampling.kept_mean(sample, z[[counts, two]])[0]
    assert mean == pytest.approx(z.mean())


def test_sizes_favour_doubtful_and_rare_verdicts_and_are_all_positive() -> None:
    given = np.zeros((100, 2), dtype=bool)
    given[:4, 0], given[4:54, 1] = True, True
    doubted = np.zeros((100, 1), dtype=bool)
    doubted[90:] = True
    sizes = sampling.draw_sizes(given, doubted, 0.4)
    assert sizes.sum() == pytest.approx(1)
    assert sizes.min() == pytest.approx(0.004)
    rare, common, doubt, other = sizes[0], sizes[4], sizes[95], sizes[60]
    assert rare > doubt > common > other
    assert sampling.draw_sizes(given[:, :0], doubted[:, :0], 0.5).tolist() == pytest.approx([0.01] * 100)
    with pytest.raises(ValueError, match="an even part of"):
        sampling.draw_sizes(given, doubted, 0.05)
    with pytest.raises(ValueError, match="no documents"):
        sampling.draw_sizes(np.zeros((0, 2)), np.zeros((0, 1)), 0.5)


def test_sample_is_calibrated_to_known_totals() -> None:
    # Six of ten documents are drawn with equal probability; that four of the ten have the verdict is known.
    order = np.array([0, 1, 2, 5, 6, 7])
    verdict = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], dtype=np.float64)
    sample = uniform_sample(np.ones(6, dtype=bool), 10)
    design = Design(sample=sample, order=order, auxiliary=verdict[:, None])
    weights = design.weights(10)
    assert weights @ verdict == pytest.approx(4)
    assert Design(sample=sample, order=order).weights(10) @ verdict != pytest.approx(4)
    perfect = design.roots(verdict[:, None] * np.isin(np.arange(10), order)[:, None])
    assert np.abs(perfect).max() < 1e-9, "the part explained by the verdict has no variance"


def test_metric_without_an_interval_has_no_estimate() -> None:
    reference, verdict = np.full((60, 1), -1.0), np.zeros((60, 1))
    reference[:20] = 0.0
    verdict[30] = 1.0
    design = Design(sample=uniform_sample(np.ones(20, dtype=bool), 60), order=np.arange(20))
    found = score("multilabel", reference, verdict, ["rare"], design=design).labels["rare"]
    assert found["f1"] == found["precision"] == Estimate()
    assert found["accuracy"].interval is not None


def test_estimate_is_unbiased_over_all_random_orders() -> None:
    # The queue has the order 0, 1, 2. The sample is a uniform draw, a document of the queue and another draw.
    # The mean over all draws equals the true mean, although the sample is not random.
    reference = np.array([1.0, 0.0, 0.0])
    total, cases = 0.0, 0
    for first in range(3):
        queued = next(number for number in range(3) if number != first)
        (last,) = {0, 1, 2} - {first, queued}
        sample = uniform_sample(np.array([True, False, True]), 3)
        total += float(share_of(sample, reference[[first, queued, last]]).value or 0)
        cases += 1
    assert total / cases == pytest.approx(1 / 3)


def test_no_estimate_from_too_few_draws() -> None:
    nothing = uniform_sample(np.zeros(0, dtype=bool), 40)
    assert share_of(nothing, []) == Estimate()
    assert prediction_powered(nothing, [], [], 0.5) == Estimate()
    queue_only = uniform_sample(np.zeros(9, dtype=bool), 40)
    assert prediction_powered(queue_only, np.ones(9), np.ones(9), 0.5).value is None
    few = uniform_sample(np.ones(sampling.MIN_DRAWS - 1, dtype=bool), 40)
    ones = np.ones(sampling.MIN_DRAWS - 1)
    assert share_of(few, ones) == prediction_powered(few, ones, ones, 1.0) == Estimate(1.0, None)
    with pytest.raises(ValueError, match="3 reviewed of 2"):
        uniform_sample(np.ones(3, dtype=bool), 2)


def test_predictions_have_the_weight_that_they_earn() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(float)
    sample = uniform_sample(np.ones(60, dtype=bool), 200)
    perfect = prediction_powered(sample, y[:60], y[:60], float(y.mean()))
    assert perfect.value == pytest.approx(y.mean())
    plain = share_of(sample, y[:60])
    for useless in (np.zeros(60), np.ones(60), 1 - y[:60]):  # without variation, and wrong throughout
        result = prediction_powered(sample, y[:60], useless, 0.5)
        assert result.value == pytest.approx(plain.value)
    noisy = np.where(rng.random(200) < 0.8, y, 1 - y)
    estimates, predicted = sample.estimates(y[:60]), sample.estimates(noisy[:60])
    tuning = np.cov(estimates, predicted, ddof=0)[0, 1] / predicted.var()
    assert 0 < tuning < 1
    result = prediction_powered(sample, y[:60], noisy[:60], float(noisy.mean()))
    assert result.value == pytest.approx(estimates.mean() + tuning * (noisy.mean() - predicted.mean()))


def test_sample_without_errors_has_an_interval_below_one() -> None:
    result = share_of(uniform_sample(np.ones(30, dtype=bool), 1000), np.ones(30))
    assert result.value == pytest.approx(1.0)
    assert result.interval is not None
    assert 0.85 < result.interval.low < 0.97
    complete = share_of(uniform_sample(np.ones(30, dtype=bool), 30), np.ones(30))
    assert complete.interval is not None
    assert complete.interval.low == pytest.approx(1.0)


def test_unequal_probability_draws_are_unbiased_and_covered() -> None:
    # Two strata, one of them drawn four times as often.
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.random(1800) < 0.05, rng.random(200) < 0.6]).astype(float)
    chance = np.concatenate([np.ones(1800), np.full(200, 4.0)])
    results, covered = [], 0
    for _ in range(200):
        order = np.argsort(rng.exponential(size=2000) / chance)[:150]  # successive draws in proportion to chance
        sizes = chance[order]
        left = chance.sum() - sizes.cumsum() + sizes  # the sum over the documents that are not drawn yet
        estimate = share_of(WeightedSample(sizes / left, 2000), values[order])
        assert estimate.interval is not None
        results.append(estimate.value)
        covered += float(values.mean()) in estimate.interval
    assert np.mean(results) == pytest.approx(values.mean(), abs=0.006)
    assert covered >= 183  # expected 190 (95% of 200) with standard deviation 3


def test_number_of_further_draws_for_a_width() -> None:
    # Half the width of 100 draws in a large population needs four times as many, that is 300 more.
    sample = uniform_sample(np.ones(100, dtype=bool), 1_000_000)
    now = share_of(sample, np.arange(100) % 2)
    assert now.interval is not None
    width = now.interval.high - now.interval.low
    assert sampling.draws_needed(sample, width / 2, now) == pytest.approx(300, abs=1)
    assert sampling.draws_needed(sample, width, now) == 0
    small = uniform_sample(np.ones(100, dtype=bool), 120)
    assert sampling.draws_needed(small, 0.001, share_of(small, np.arange(100) % 2)) == 20
    assert sampling.draws_needed(sample, 0.1, Estimate(0.5, None)) is None


# -- simulations with known true values


def _reviews(
    documents: int, positives: float, right: float, reviewed: int, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, WeightedSample]:
    """Return the reference, the verdicts, the review order and the sample of a queue that prefers errors."""
    rng = np.random.default_rng(seed)
    reference = rng.random(documents) < positives
    verdict = np.where(rng.random(documents) < right, reference, ~reference)
    ranked = iter(np.argsort(-((reference != verdict) + 1.2 * rng.random(documents))).tolist())
    shuffled = iter(rng.permutation(documents).tolist())
    chosen: dict[int, bool] = {}

    def next_document(order: Iterator[int]) -> int:
        return next(number for number in order if number not in chosen)

    while len(chosen) < reviewed:
        draw = bool(rng.random() < share)
        chosen[next_document(shuffled if draw else ranked)] = draw
    order = np.array(list(chosen))
    return (
        reference.astype(float),
        verdict.astype(float),
        order,
        uniform_sample(np.array(list(chosen.values())), documents),
    )


REPEATED = 300
ERROR = (0.95 * 0.05 / REPEATED) ** 0.5  # standard error of a coverage of 95%: 1.3%


@each_row("share", [0.25, 1.0])
def test_intervals_cover_and_powered_ones_are_narrower(share: float) -> None:
    # 300 studies of 1,500 documents with 15% wrong verdicts, 400 of them reviewed (150 if all are draws).
    covered = dict.fromkeys(("accuracy", "f1", "sample", "powered"), 0)
    off: dict[str, list[float]] = {name: [] for name in covered}
    widths: dict[str, list[float]] = {name: [] for name in covered}
    for seed in range(REPEATED):
        y, f, order, sample = _reviews(1500, 0.3, 0.85, 150 if share == 1.0 else 400, share, seed)
        tp, wrong = y * f, (y != f).astype(float)
        design = Design(sample=sample, order=np.arange(len(order)))
        scores = score("multilabel", y[order][:, None], f[order][:, None], ["a"], design=design)
        by_stage = {
            "accuracy": (scores["accuracy"], 1 - wrong.mean()),
            "f1": (scores["macro_f1"], 2 * tp.sum() / (2 * tp + wrong).sum()),
            "sample": (share_of(sample, y[order]), y.mean()),
            "powered": (prediction_powered(sample, y[order], f[order], float(f.mean())), y.mean()),
        }
        for name, (estimate, true) in by_stage.items():
            assert estimate.interval is not None
            assert estimate.value is not None
            covered[name] += bool(true in estimate.interval)
            off[name].append(estimate.value - true)
            widths[name].append(estimate.interval.high - estimate.interval.low)
    for name, count in covered.items():
        assert abs(count / REPEATED - 0.95) <= 3 * ERROR, (name, count / REPEATED)
        assert abs(np.mean(off[name])) < 0.015, name
    assert np.mean(widths["powered"]) < 0.8 * np.mean(widths["sample"])


def test_unweighted_mean_of_a_queue_is_biased() -> None:
    # The unweighted mean over documents of the queue underestimates the accuracy of the verdicts.
    y, f, order, sample = _reviews(1500, 0.3, 0.85, 400, 0.25, 1)
    right = (y == f).astype(float)
    assert right[order].mean() < right.mean() - 0.2
    assert share_of(sample, right[order]).value == pytest.approx(right.mean(), abs=0.05)


def test_shares_after_discards_are_of_the_documents_that_would_be_kept() -> None:
    # 200 studies: documents with the label are discarded more often than others, by a queue that prefers them.
    covered = {"powered": 0, "always": 0}
    widths: dict[bool, list[float]] = {True: [], False: []}
    off = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        f = (rng.random(1000) < 0.3).astype(float)
        y = np.where(rng.random(1000) < 0.1, 1 - f, f)
        kept = rng.random(1000) > np.where(f == 1, 0.2, 0.05)
        sizes = np.where(f == 1, 1.5, 1.0)
        order = np.argsort(rng.exponential(size=1000) / sizes)[:150]
        sample = WeightedSample.of_draws(order, [sizes] * 150, 1000)
        reference, true = np.where(kept, y, np.nan)[order], y[kept].mean()
        estimate = prediction_powered(sample, reference, f[order], float(f.mean()))
        always = confidence_sequence(sample, reference, f[order], float(f.mean()), planned=100)
        assert estimate.value is not None
        assert estimate.interval is not None
        covered["powered"] += true in estimate.interval
        covered["always"] += all(true in interval for interval in always)
        off.append(estimate.value - true)
        for is_domain, each in ((True, estimate), (False, share_of(sample, reference))):
            assert each.interval is not None
            widths[is_domain].append(each.interval.high - each.interval.low)
    assert abs(np.mean(off)) < 0.0075
    assert 182 <= covered["powered"] <= 198
    assert covered["always"] >= 190
    assert np.mean(widths[True]) < 0.85 * np.mean(widths[False]), "verdicts help after discards, too"


def test_share_of_few_kept_documents_has_their_uncertainty() -> None:
    # 300 studies: a tenth of 100 draws is kept, and most kept documents have the label.
    covered = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y, kept = rng.random(1000) < 0.9, rng.random(1000) < 0.1
        order = rng.permutation(1000)[:100]
        reference = np.where(kept, y, np.nan)[order]
        interval = share_of(WeightedSample.of_draws(order, [np.ones(1000)] * 100, 1000), reference).interval
        assert interval is not None
        covered += y[kept].mean() in interval
    assert covered >= 280


def test_discards_do_not_widen_the_share_of_a_frequent_label_by_the_error_of_their_number() -> None:
    # 200 studies of the default queue, with and without discarding 3 of 10 documents: 7 of 10 draws count.
    widths: dict[bool, list[float]] = {True: [], False: []}
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y, kept = rng.random(1000) < 0.9, rng.random(1000) < 0.7
        f = np.where(rng.random(1000) < 0.15, ~y, y).astype(float)
        sizes = sampling.draw_sizes(f[:, None], (rng.random(1000) < 0.1)[:, None], 0.5)
        order = np.argsort(rng.exponential(size=1000) / sizes)[:100]
        sample = WeightedSample.of_draws(order, [sizes] * 100, 1000)
        for discards in (True, False):
            reference = np.where(kept | (not discards), y, np.nan)[order]
            estimate = prediction_powered(sample, reference, f[order], float(f.mean()))
            assert estimate.value is not None
            assert estimate.interval is not None
            widths[discards].append(estimate.interval.high - estimate.interval.low)
            covered += discards and y[kept].mean() in estimate.interval
            ends = confidence_sequence(sample, reference, f[order], float(f.mean()), planned=100)[-1]
            assert sampling.kept_mean(sample, reference, f[order], float(f.mean()))[0] in ends or ends.high == 1
    assert np.mean(widths[True]) < 1.2 * np.mean(widths[False])
    assert covered >= 182


def test_only_discarded_documents_give_no_share() -> None:
    nothing = np.full(30, np.nan)
    assert share_of(uniform_sample(np.ones(30, dtype=bool), 100), nothing) == Estimate()
    assert share_of(uniform_sample(np.ones(30, dtype=bool), 30), nothing) == Estimate()
    assert confidence_sequence(uniform_sample(np.ones(30, dtype=bool), 100), nothing, nothing, 0.0, planned=9) == []
    by_hand = WeightedSample(np.append(np.full(30, 0.01), 0), 100)
    picked = np.append(nothing, 1.0)
    assert share_of(by_hand, picked) == Estimate(), "a document that was picked says nothing about the others"
    assert confidence_sequence(by_hand, picked, np.zeros(31), 0.0, planned=9) == []
