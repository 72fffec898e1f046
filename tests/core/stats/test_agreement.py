"""Tests of agreement against worked examples, and against other libraries on random inputs."""

from __future__ import annotations

import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.metrics import confusion_matrix
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_theirs

from core.stats.agreement import (
    cohen_kappa,
    divergence,
    fleiss_disagreement,
    fleiss_kappa,
    krippendorff_alpha,
    over_items,
    rouge_l,
    table_agreement,
    with_interval,
)
from core.stats.intervals import Estimate
from tests.each_row import each_row

NAN = float("nan")
LEVELS = ["nominal", "ordinal"]
SEEDS = st.integers(0, 2**32 - 1)
# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, example C: 4 observers, 12 units, 7 missing values.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
UNITS = np.array(OBSERVERS).T


@each_row(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_alpha_reproduces_krippendorffs_example(level: str, value: float) -> None:
    # The twelfth unit has a single value and does not count.
    for units in (UNITS, UNITS[:11]):
        assert krippendorff_alpha(units, level=level) == pytest.approx(value, abs=5e-4)  # type: ignore[arg-type]


def test_alpha_of_two_observers_by_hand() -> None:
    # Units aa, ab, bb: n = 6, three a and three b. D_o = 2/6; D_e = 2 * 3 * 3 / (6 * 5) = 0.6; alpha = 1 - 0.556.
    assert krippendorff_alpha([["a", "a"], ["a", "b"], ["b", "b"]]) == pytest.approx(4 / 9)


def test_cohen_by_hand() -> None:
    # 45 both yes, 15 and 25 different, 15 both no: p_o 0.60; p_e 0.6 * 0.7 + 0.4 * 0.3 = 0.54; kappa 0.06 / 0.46.
    first = ["yes"] * 45 + ["yes"] * 15 + ["no"] * 25 + ["no"] * 15
    second = ["yes"] * 45 + ["no"] * 15 + ["yes"] * 25 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.1304, abs=1e-4)


# The usual example of Fleiss' kappa with 14 raters, 10 subjects and 5 categories; kappa is 0.210.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def test_fleiss_worked_example() -> None:
    assert fleiss_kappa([np.repeat(np.arange(5), row) for row in FLEISS]) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_with_gaps_agrees_with_irrcac() -> None:
    # The data set cac.raw4raters of irrCAC is the same example C: Fleiss 0.76117.
    assert fleiss_kappa(UNITS) == pytest.approx(0.76117, abs=5e-6)


def test_ac1_stays_high_where_prevalence_lowers_kappa() -> None:
    # 118 both present, 5 and 2 different, none both absent: p_o 0.944; shares 0.972 and 0.028.
    annotations = [[1, 1]] * 118 + [[1, 0]] * 5 + [[0, 1]] * 2
    # p_e = 0.972 * 0.028 * 2 = 0.0544; (0.944 - 0.0544) / 0.9456
    assert table_agreement([[0, 2], [5, 118]], "ac1") == pytest.approx(0.9408, abs=1e-4)
    kappa = cohen_kappa(*np.array(annotations).T)
    assert kappa is not None
    assert kappa < 0


def test_agreement_is_undefined_without_variation() -> None:
    agreed = [["a", "a"], ["a", "a"]]
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert fleiss_kappa(agreed) is None
    assert krippendorff_alpha(agreed) is None
    assert table_agreement([[2, 0], [0, 0]], "ac1") == 1.0  # a second category was available
    alone = [["a", None], [None, "b"], [None, None]]
    assert fleiss_kappa(alone) is krippendorff_alpha(alone) is cohen_kappa(*np.array(alone).T) is None
    with pytest.raises(ValueError, match="same shape"):
        cohen_kappa([1], [1, 2])


def test_minus_one_is_missing_as_a_code_and_valid_on_a_scale() -> None:
    coded = np.array([[1, 1], [0, -1], [0, 0], [1, 0]])
    known = coded[[0, 2, 3]]
    assert fleiss_kappa(coded[:3]) == cohen_kappa(*coded[:3].T) == 1.0
    assert krippendorff_alpha(coded) == krippendorff_alpha(known)
    assert krippendorff_alpha(coded, level="ordinal") != pytest.approx(krippendorff_alpha(known, level="ordinal"))


def test_full_agreement_is_one() -> None:
    annotations = [[1, 1, 1], [2, 2, 2], [3, 3, 3]]
    assert fleiss_kappa(annotations) == pytest.approx(1.0)
    for level in LEVELS:
        assert krippendorff_alpha(annotations, level=level) == pytest.approx(1.0)  # type: ignore[arg-type]
    assert cohen_kappa([1, 2, 3], [1, 2, 3]) == pytest.approx(1.0)


def cohen(answers: np.ndarray, weights: np.ndarray) -> float | None:
    return cohen_kappa(answers[:, 0], answers[:, 1], weights)


def nominal_alpha(answers: np.ndarray, weights: np.ndarray) -> float | None:
    return krippendorff_alpha(answers, weights=weights)


def test_interval_of_kappa_is_a_jackknife_by_hand() -> None:
    # Four pairs 1-1, four 0-0, two 1-0: p_o = .8, p_e = .6 * .4 + .4 * .6 = .48, kappa = .32 / .52 = 8/13. Without a
    # pair 1-1: p_o = 7/9, p_e = (5 * 3 + 4 * 6) / 81, kappa = 4/7; so without 0-0. Without 1-0: p_o = 8/9, p_e = 40/81,
    # kappa = 32/41. The variance is 9/10 of the sum of squares, and t(9) = 2.262.
    result = with_interval(cohen, np.repeat([[1, 1], [0, 0], [1, 0]], [4, 4, 2], axis=0))
    assert result.value == pytest.approx(8 / 13)
    left_out = np.array([4 / 7] * 8 + [32 / 41] * 2)
    error = np.sqrt(0.9 * ((left_out - left_out.mean()) ** 2).sum())
    middle, half = np.arctanh(8 / 13), 2.262157 * error / (1 - (8 / 13) ** 2)
    assert result.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (np.tanh(middle - half), np.tanh(middle + half))
    )


@each_row(
    ("answers", "value"),
    [
        ([[1, 1], [0, 0], [1, 1]], 1.0),  # without errors, the data do not show how many are possible
        ([[1, 0]], 0.0),  # one unit
        ([[1, 1], [0, 0], [1, 0]] * 3, 0.4),  # nine units, which would cover in less than 90%
        ([[0, 0], [0, 0], [0, 0], [1, 0]], 0.0),  # undefined without the last unit, as only one value is left
        ([[1, -1], [-1, 0]], None),  # no unit with two ratings
    ],
)
def test_no_interval_where_the_data_do_not_show_the_error(answers: list[list[int]], value: float | None) -> None:
    result = with_interval(cohen, np.array(answers))
    assert result.value == (None if value is None else pytest.approx(value))
    assert result.interval is None


def test_interval_does_not_depend_on_the_order_of_units_and_allows_gaps() -> None:
    first = with_interval(nominal_alpha, UNITS)
    assert first == with_interval(nominal_alpha, UNITS[::-1])
    assert first.interval is not None
    assert -1 <= first.interval.low < 0.743 < first.interval.high <= 1


def test_copies_of_a_unit_in_its_group_do_not_change_the_interval() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 60)
    answers = np.where(rng.random((60, 3)) < 0.7, truth[:, None], rng.integers(0, 3, (60, 3)))
    single = with_interval(lambda grid, times: fleiss_kappa(grid, times), answers)
    copies = with_interval(
        lambda grid, times: fleiss_kappa(grid, times), np.repeat(answers, 4, axis=0), np.repeat(np.arange(60), 4)
    )
    assert copies.value == pytest.approx(single.value)
    assert single.interval is not None
    assert copies.interval is not None
    assert copies.interval.low == pytest.approx(single.interval.low, abs=0.01)
    assert copies.interval.high == pytest.approx(single.interval.high, abs=0.01)


def test_interval_of_many_distinct_answers_leaves_out_random_parts() -> None:
    rng = np.random.default_rng(3)
    answers = rng.normal(size=(2500, 1)) + 0.7 * rng.normal(size=(2500, 3))
    result = with_interval(lambda grid, times: krippendorff_alpha(grid, times, "ordinal"), answers)
    parts = [krippendorff_alpha(answers[start : start + 100], level="ordinal") or 0.0 for start in range(0, 2500, 100)]
    error = float(np.std(parts, ddof=1)) / 5  # of the mean of 25 independent samples
    assert result.interval is not None
    assert (result.interval.high - result.interval.low) / 2 == pytest.approx(1.96 * error, rel=0.3)


COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=6).filter(
    lambda pairs: sum(a for a, _ in pairs) > 0 and sum(b for _, b in pairs) > 0
)


@given(COUNTS)
def test_divergence_agrees_with_scipy(pairs: list[tuple[int, int]]) -> None:
    p, q = ([pair[side] for pair in pairs] for side in (0, 1))
    assert divergence(p, q) == pytest.approx(entropy([x + 0.5 for x in p], [x + 0.5 for x in q]), abs=1e-12)


def test_divergence_by_hand_and_degenerate() -> None:
    # With half a case added to each, 3/4 and 1/4 against 1/4 and 3/4: half of log 3.
    assert divergence([1, 0], [0, 1]) == pytest.approx(math.log(3) / 2)
    assert divergence([3, 3], [5, 5]) == 0
    assert np.isnan(divergence([[0, 0], [1, 1]], [[1, 1], [0, 0]])).all()
    assert np.isnan(divergence([], []))


@each_row(
    ("text", "reference", "score"),
    [
        ("police killed the gunman", "police kill the gunman", 2 * 3 / 8),  # "police the gunman", Lin's example
        ("police ended the gunman", "The gunman, police killed.", 2 * 2 / 8),  # "the gunman"
        ("Same words.", "same WORDS", 1.0),
        ("nothing", "alike", 0.0),
        ("", "alike", None),
        ("...", "alike", None),
    ],
)
def test_rouge_l_worked_example(text: str, reference: str, score: float | None) -> None:
    assert rouge_l(text, reference) == score


@given(st.text(max_size=40), st.text(max_size=40))
def test_rouge_l_is_a_share_and_symmetric(one: str, other: str) -> None:
    score = rouge_l(one, other)
    assert score == rouge_l(other, one)
    assert score is None or 0 <= score <= 1


def test_coefficient_of_several_items_weights_them_by_their_chance_disagreement() -> None:
    # shares of 3/8, 1/8 and 0 present: 1 - p_e is 2 * 3/8 * 5/8, 2 * 1/8 * 7/8 and 0
    even, rare, never = [[1, 1], [1, 0], [0, 0], [0, 0]], [[1, 0], [0, 0], [0, 0], [0, 0]], [[0, 0]] * 4
    answers = np.array([even, rare, never], dtype=float).transpose(1, 0, 2)
    kappa = over_items(fleiss_disagreement, answers)
    assert kappa.value == pytest.approx(1 - (1 / 4 + 1 / 4 + 0) / (15 / 32 + 7 / 32 + 0))
    assert over_items(fleiss_disagreement, answers[:, 2:]).value is None


def test_interval_of_one_item_is_that_of_its_coefficient() -> None:
    rng = np.random.default_rng(5)
    answers, groups = rng.integers(0, 3, (60, 3)).astype(float), np.repeat(np.arange(20), 3)
    answers[:6, 1:] = NAN  # a single answer has a part in chance agreement alone
    for codes in (None, groups):
        one = over_items(fleiss_disagreement, answers[:, None, :], codes)
        assert_equal(one, with_interval(fleiss_kappa, answers, codes))
        copies = over_items(fleiss_disagreement, np.repeat(answers[:, None, :], 4, axis=1), codes)
        assert_equal(copies, one)


def assert_equal(first: Estimate, second: Estimate) -> None:
    assert first.value == pytest.approx(second.value)
    assert first.interval is not None
    assert second.interval is not None
    assert first.interval.low == pytest.approx(second.interval.low)
    assert first.interval.high == pytest.approx(second.interval.high)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 4), st.integers(2, 30))
def test_pair_agreement_agrees_with_statsmodels_and_krippendorff(seed: int, size: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, size, n), rng.integers(0, size, n)
    table = confusion_matrix(first, second, labels=list(range(size)))
    kappa, ac1, alpha = (float(table_agreement(table, name)) for name in ("kappa", "ac1", "alpha"))
    if not np.isnan(kappa):
        assert kappa == pytest.approx(float(cohens_kappa(table, return_results=False)))
    pair = np.column_stack([first, second])
    shares = np.bincount(pair.ravel(), minlength=size) / pair.size
    chance = (shares * (1 - shares)).sum() / (size - 1)
    assert ac1 == pytest.approx(((first == second).mean() - chance) / (1 - chance))
    ours = (cohen_kappa(first, second), krippendorff_alpha(pair))
    for value, coefficient in zip((kappa, alpha), ours, strict=True):
        expected = np.nan if coefficient is None else coefficient
        assert value == pytest.approx(expected, nan_ok=True)
    if len(np.unique(pair)) > 1:
        theirs = krippendorff.alpha(pair.T.astype(float), level_of_measurement="nominal")
        assert alpha == pytest.approx(theirs)


def test_pair_agreement_is_undefined_without_variation() -> None:
    tables = [[[0, 0], [0, 9]], [[0, 0], [0, 0]]]
    assert np.isnan(table_agreement(tables, "kappa")).all()
    assert np.isnan(table_agreement(tables, "alpha")).all()
    assert table_agreement(tables, "ac1").tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 5), st.sampled_from(["nominal", "ordinal"]))
def test_alpha_with_missing_values_agrees_with_krippendorff(seed: int, raters: int, level: str) -> None:
    rng = np.random.default_rng(seed)
    predicted = rng.integers(-1, 4, (15, raters)).astype(float)
    predicted[rng.random(predicted.shape) < 0.3] = np.nan
    ours = krippendorff_alpha(predicted, level=level)
    times = rng.integers(1, 4, len(predicted))
    weighted = krippendorff_alpha(predicted, times.astype(float), level)
    assert weighted == pytest.approx(krippendorff_alpha(predicted.repeat(times, axis=0), level=level))
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
    ours = fleiss_kappa(predicted)
    if ours is not None:
        assert ours == pytest.approx(fleiss_theirs(aggregate_raters(predicted)[0]))


def test_agreement_with_two_rare_answers_has_no_interval() -> None:
    # Each rater gave the rare answer once. With intervals of such tables, alpha of .36 was covered in 43% of studies.
    answers = np.zeros((12, 2))
    answers[0, 0] = answers[1, 1] = 1
    for coefficient in (krippendorff_alpha, fleiss_kappa):
        estimate = with_interval(coefficient, answers)
        assert estimate.value == pytest.approx(coefficient(answers))
        assert estimate.interval is None
    assert over_items(fleiss_disagreement, answers[:, None].repeat(3, axis=1)).interval is None
    answers[2] = 1
    assert with_interval(krippendorff_alpha, answers).interval is not None
