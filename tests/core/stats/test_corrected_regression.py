"""Tests of corrected regressions against ppi-python 0.2.3, statsmodels, and a simulation with known coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from core.stats import sampling
from core.stats.corrected_regression import Coefficient, Family, Regression, Rows, regression
from core.stats.metric_intervals import prediction_powered
from core.stats.sampling import WeightedSample
from tests.core.stats import other_libraries
from tests.core.stats.other_libraries import DOCUMENTS, REVIEWED
from tests.core.stats.samples import uniform_sample
from tests.each_row import each_row

ONES = np.ones(DOCUMENTS)


def corrected(family: Family, predictors: np.ndarray, tuning: float | None = None) -> Regression:
    """Return the regression on the documents of ``other_libraries`` with equal selection probabilities."""
    _, human, model, order = other_libraries.documents()
    rows = [Rows(outcome, predictors) for outcome in (model, human, 1 - model)]
    sample = WeightedSample.of_draws(order, [ONES] * REVIEWED, DOCUMENTS)
    return regression(family, rows[0], rows[1].take(order), rows[2], order, sample, tuning=tuning)


def values(fitted: Regression) -> list[float | None]:
    return [coefficient.estimate.value for coefficient in fitted.coefficients]


def ends(coefficient: Coefficient) -> list[float]:
    assert coefficient.estimate.interval is not None
    return [coefficient.estimate.interval.low, coefficient.estimate.interval.high]


@each_row(
    ("tuning", "share", "logistic"),
    [(1.0, 0.40745583, [-0.44637322, 0.95560901]), (0.5, 0.40369125, [-0.47008158, 0.92196525])],
)
def test_point_estimates_agree_with_ppi_python(tuning: float, share: float, logistic: list[float]) -> None:
    x, *_ = other_libraries.documents()
    assert other_libraries.random_weights() == pytest.approx(uniform_sample(np.ones(REVIEWED), DOCUMENTS).weights)
    assert values(corrected("linear", ONES[:, None], tuning)) == pytest.approx([share], abs=1e-7)
    assert values(corrected("logistic", np.column_stack([ONES, x]), tuning)) == pytest.approx(logistic, abs=1e-6)


def test_intervals_are_close_to_those_of_ppi_python() -> None:
    # The library treats the other documents as a second sample and weights all reviewed documents equally, so the ends
    # of the intervals agree within 15%.
    x, *_ = other_libraries.documents()
    X = np.column_stack([ONES, x])
    expected = {
        "mean": [(0.36424512, 0.44748023)],
        "linear": [(0.36341764, 0.44351832), (0.15281987, 0.22635206)],
        "logistic": [(-0.64947984, -0.26869586), (0.69875282, 1.16621857)],
    }
    fits = {"mean": corrected("linear", ONES[:, None])}
    fits |= {"linear": corrected("linear", X), "logistic": corrected("logistic", X)}
    for name, intervals in expected.items():
        for coefficient, interval in zip(fits[name].coefficients, intervals, strict=True):
            assert ends(coefficient) == pytest.approx(interval, abs=0.15 * (interval[1] - interval[0])), name


def test_regression_on_a_constant_is_the_prediction_powered_share() -> None:
    _, human, model, order = other_libraries.documents()
    result = corrected("linear", ONES[:, None])
    sample = WeightedSample.of_draws(order, [ONES] * REVIEWED, DOCUMENTS)
    share = prediction_powered(sample, human[order], model[order], float(model.mean()))
    assert values(result) == pytest.approx([share.value], abs=1e-9)


@each_row("family", ["linear", "logistic"])
def test_regression_on_all_reviewed_documents_equals_that_on_human_labels(family: Family) -> None:
    import statsmodels.api as sm  # takes long

    # The expected standard errors are robust and clustered, without the small-sample correction of statsmodels.
    x, human, model, _ = other_libraries.documents()
    x, human, model = x[:200], human[:200], model[:200]
    X = np.column_stack([np.ones(200), x, x > 1])
    order, groups = np.arange(200)[::-1], np.repeat(np.arange(40), 5)
    rows = [Rows(outcome, X.astype(float)) for outcome in (model, human, 1 - model)]
    sample = WeightedSample(np.zeros(200), 200)
    known = sm.OLS(human, X) if family == "linear" else sm.Logit(human, X)
    options = {"disp": False} if family == "logistic" else {}
    for codes in (None, groups):
        fitted = regression(family, rows[0], rows[1].take(order), rows[2], order, sample, groups=codes)
        kinds = (
            {"cov_type": "HC0"}
            if codes is None
            else {"cov_type": "cluster", "cov_kwds": {"groups": groups, "use_correction": False}}
        )
        robust = known.fit(**options, **kinds)
        assert values(fitted) == pytest.approx(robust.params, abs=1e-6)
        assert [coefficient.error for coefficient in fitted.coefficients] == pytest.approx(robust.bse, rel=1e-5)


def study(seed: int, *, as_predictor: bool = False) -> Regression:
    """Return the regression on 2,000 documents with model errors that depend on the predictor.

    120 documents are reviewed as drawn by the queue.
    """
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(2000)
    human = (rng.random(2000) < 1 / (1 + np.exp(0.7 - 0.6 * x))).astype(float)
    missed, added = rng.random(2000) < np.where(x > 0, 0.05, 0.25), rng.random(2000) < np.where(x > 0, 0.2, 0.03)
    model = np.where(human == 1, ~missed, added).astype(float)
    sizes = sampling.draw_sizes(model[:, None] == 1, (rng.random((2000, 1)) < 0.1), 0.5)
    order = np.argsort(rng.exponential(size=2000) / sizes)[:120]
    sample = WeightedSample.of_draws(order, [sizes] * 120, 2000)
    ones = np.ones(2000)
    if as_predictor:
        outcome = 1 + 0.8 * human + rng.standard_normal(2000)
        rows = [Rows(outcome, np.column_stack([ones, label])) for label in (model, human, 1 - model)]
        return regression("linear", rows[0], rows[1].take(order), rows[2], order, sample)
    rows = [Rows(label, np.column_stack([ones, x])) for label in (model, human, 1 - model)]
    return regression("logistic", rows[0], rows[1].take(order), rows[2], order, sample)


@each_row(("as_predictor", "truth"), [(False, 0.6), (True, 0.8)])
def test_corrected_intervals_cover_and_naive_intervals_do_not(as_predictor: bool, truth: float) -> None:
    # The benchmark simulates more than these 40 studies.
    slopes = [study(seed, as_predictor=as_predictor).coefficients[1] for seed in range(40)]
    covered = sum(ends(slope)[0] <= truth <= ends(slope)[1] for slope in slopes)
    naive = sum(slope.naive.interval is not None and truth in slope.naive.interval for slope in slopes)
    assert covered >= 33
    assert naive <= 13


def test_regressions_that_cannot_be_estimated_are_refused() -> None:
    x, _, model, order = other_libraries.documents()
    rows = Rows(model, np.column_stack([ONES, x, 2 * x]))
    sample = WeightedSample.of_draws(order, [ONES] * REVIEWED, DOCUMENTS)
    with pytest.raises(ValueError, match="collinear"):
        regression("linear", rows, rows.take(order), rows, order, sample)
    few = WeightedSample.of_draws(order[:6], [ONES] * 6, DOCUMENTS)
    rows = Rows(model, np.column_stack([ONES, x]))
    with pytest.raises(ValueError, match="7 random draws"):
        regression("linear", rows, rows.take(order[:6]), rows, order[:6], few)
    separated = Rows((x > 0).astype(float), np.column_stack([ONES, x]))
    with pytest.raises(ValueError, match="no finite solution"):
        regression("logistic", separated, separated.take(order), separated, order, sample)


def test_large_predictors_such_as_years_are_estimated() -> None:
    x, *_ = other_libraries.documents()
    years = 2015 + np.rint(3 * x)
    for family in ("linear", "logistic"):
        plain = corrected(family, np.column_stack([ONES, years - 2015]), 1.0)
        shifted = corrected(family, np.column_stack([ONES, years]), 1.0)
        assert shifted.coefficients[1].estimate.value == pytest.approx(plain.coefficients[1].estimate.value, rel=1e-4)
        assert shifted.coefficients[1].error == pytest.approx(plain.coefficients[1].error, rel=1e-4)


@each_row("outcome", [np.arange(30.0) % 5, np.ones(30)])
def test_perfect_fit_has_neither_interval_nor_p(outcome: np.ndarray) -> None:
    rows = Rows(outcome, np.column_stack([np.ones(30), np.arange(30.0) % 5]))
    everything = WeightedSample(np.zeros(30), 30)
    fitted = regression("linear", rows, rows, rows, np.arange(30), everything)
    assert [coefficient.error for coefficient in fitted.coefficients] == [0.0, 0.0]
    assert all(coefficient.estimate.interval is coefficient.p is None for coefficient in fitted.coefficients)
