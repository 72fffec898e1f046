"""Tests of the measures against other libraries on random inputs."""

from __future__ import annotations

import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_theirs

from core.stats import agreement
from core.stats.scoring import score
from tests.core.stats.samples import means

SEEDS = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_subset_accuracy_hamming_loss_and_weighted_means_agree_with_scikit_learn(seed: int, labels: int) -> None:
    rng = np.random.default_rng(seed)
    reference, predicted = rng.integers(0, 2, (25, labels)), rng.integers(0, 2, (25, labels))
    result = score("multilabel", reference, predicted, [str(number) for number in range(labels)])
    assert result["subset_accuracy"].value == pytest.approx(metrics.accuracy_score(reference, predicted))
    wrong = (reference != predicted).mean()
    assert result["hamming_loss"].value == pytest.approx(wrong)
    if labels > 1:
        assert result["hamming_loss"].value == pytest.approx(metrics.hamming_loss(reference, predicted))
    for label in range(labels):
        matthews = result.labels[str(label)]["mcc"].value
        if matthews is not None:
            assert matthews == pytest.approx(metrics.matthews_corrcoef(reference[:, label], predicted[:, label]))
    for name in ("weighted", "micro"):
        p, r, f, _ = metrics.precision_recall_fscore_support(
            reference if labels > 1 else reference.ravel(),
            predicted if labels > 1 else predicted.ravel(),
            average=name if labels > 1 else "binary",
            zero_division=0,
        )
        assert means(result, name) == pytest.approx((p, r, f))


@settings(deadline=None)
@given(SEEDS, st.integers(2, 5))
def test_choice_scores_agree_with_scikit_learn(seed: int, labels: int) -> None:
    rng = np.random.default_rng(seed)
    reference, predicted = rng.integers(0, labels, 30), rng.integers(0, labels, 30)
    result = score("choice", reference, predicted, [str(number) for number in range(labels)])
    present = sorted({*reference})
    p, r, f, _ = metrics.precision_recall_fscore_support(
        reference, predicted, labels=present, average="weighted", zero_division=0
    )
    assert means(result, "weighted") == pytest.approx((p, r, f))
    if result["mcc"].value is not None:
        assert result["mcc"].value == pytest.approx(metrics.matthews_corrcoef(reference, predicted))


@settings(deadline=None)
@given(SEEDS, st.integers(2, 4), st.integers(2, 30))
def test_pair_agreement_agrees_with_statsmodels_and_krippendorff(seed: int, size: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, size, n), rng.integers(0, size, n)
    table = metrics.confusion_matrix(first, second, labels=list(range(size)))
    kappa, ac1, alpha = (float(agreement.table_agreement(table, name)) for name in ("kappa", "ac1", "alpha"))
    if not np.isnan(kappa):
        assert kappa == pytest.approx(float(cohens_kappa(table, return_results=False)))
    pair = np.column_stack([first, second])
    shares = np.bincount(pair.ravel(), minlength=size) / pair.size
    chance = (shares * (1 - shares)).sum() / (size - 1)
    assert ac1 == pytest.approx(((first == second).mean() - chance) / (1 - chance))
    ours = (agreement.cohen_kappa(first, second), agreement.krippendorff_alpha(pair))
    for value, coefficient in zip((kappa, alpha), ours, strict=True):
        expected = np.nan if coefficient is None else coefficient
        assert value == pytest.approx(expected, nan_ok=True)
    if len(np.unique(pair)) > 1:
        theirs = krippendorff.alpha(pair.T.astype(float), level_of_measurement="nominal")
        assert alpha == pytest.approx(theirs)


def test_pair_agreement_is_undefined_without_variation() -> None:
    tables = [[[0, 0], [0, 9]], [[0, 0], [0, 0]]]
    assert np.isnan(agreement.table_agreement(tables, "kappa")).all()
    assert np.isnan(agreement.table_agreement(tables, "alpha")).all()
    assert agreement.table_agreement(tables, "ac1").tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 5), st.sampled_from(["nominal", "ordinal"]))
def test_alpha_with_missing_values_agrees_with_krippendorff(seed: int, raters: int, level: str) -> None:
    rng = np.random.default_rng(seed)
    predicted = rng.integers(-1, 4, (15, raters)).astype(float)
    predicted[rng.random(predicted.shape) < 0.3] = np.nan
    ours = agreement.krippendorff_alpha(predicted, level=level)
    times = rng.integers(1, 4, len(predicted))
    weighted = agreement.krippendorff_alpha(predicted, times.astype(float), level)
    assert weighted == pytest.approx(agreement.krippendorff_alpha(predicted.repeat(times, axis=0), level=level))
    pairable = predicted[(~np.isnan(predicted)).sum(axis=1) >= 2]
    if ours is not None and len(np.unique(pairable[~np.isnan(pairable)])) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = krippendorff.alpha(predicted.T, level_of_measurement=level)
        assert ours == pytest.approx(theirs)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 5))
def test_fleiss_agrees_with_statsmodels(seed: int, raters: int) -> None:
    rng = np.random.default_rng(seed)
    predicted = rng.integers(0, 3, (12, raters))
    ours = agreement.fleiss_kappa(predicted)
    if ours is not None:
        assert ours == pytest.approx(fleiss_theirs(aggregate_raters(predicted)[0]))
