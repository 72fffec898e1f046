"""Tests of scores of rater groups against scipy and Krippendorff's alpha, and of worked differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats import panels
from core.stats.agreement import kendall, krippendorff_alpha, pearson, spearman
from core.stats.intervals import Estimate

rated = st.one_of(st.integers(1, 5).map(float), st.just(float("nan")))
tables = st.integers(2, 9).flatmap(lambda n: st.tuples(*[st.lists(rated, min_size=n, max_size=n) for _ in range(4)]))


@settings(deadline=None)
@given(tables)
def test_scores_of_the_sample_agree_with_plain_measures(table):
    reference, *members = (np.array(one) for one in table)
    found = panels.scores(reference, members, panels.draws(len(reference), resamples=3))
    mean = panels.mean_of(np.stack(members))
    known = ~np.isnan(reference) & ~np.isnan(mean)
    x, y = reference[known], mean[known]
    expected = {
        "pearson": pearson(x, y),
        "spearman": spearman(x, y) if len(x) else None,
        "kendall": kendall(x, y),
        "alpha": krippendorff_alpha(np.column_stack(members), "ordinal"),
    }
    for name, value in expected.items():
        assert panels.estimate(found[name]).value == (None if value is None else pytest.approx(value, abs=1e-9)), name


def test_weighted_resample_equals_repeated_documents():
    rng = np.random.default_rng(1)
    reference = rng.integers(1, 6, 30).astype(float)
    members = [np.clip(reference + rng.integers(-1, 2, 30), 1, 5) for _ in range(3)]
    weights = panels.draws(30, resamples=5)
    assert weights.shape == (6, 30)
    assert weights.sum(axis=1).tolist() == [30.0] * 6
    found = panels.scores(reference, members, weights)
    for row in range(5):
        again = np.repeat(np.arange(30), weights[row + 1].astype(int))
        mean = np.mean(members, axis=0)[again]
        assert found["spearman"][row + 1] == pytest.approx(spearman(reference[again], mean))
        assert found["kendall"][row + 1] == pytest.approx(kendall(reference[again], mean))
        alpha = krippendorff_alpha(np.column_stack(members)[again], "ordinal")
        assert found["alpha"][row + 1] == pytest.approx(alpha)


def test_equal_means_of_a_panel_are_ties_on_every_scale():
    from scipy import stats

    rng = np.random.default_rng(3)
    members = {name: rng.integers(1, 11, 60).astype(float)[:, None] for name in "abc"}
    reference = rng.integers(1, 11, 60).astype(float)
    sums = sum(members.values())[:, 0]
    found = panels.before_after(reference[:, None], members, members, ["Tone"], [(1, 10)])["Tone"].after
    assert found.spearman.value == pytest.approx(stats.spearmanr(reference, sums)[0], abs=1e-12)
    assert found.kendall.value == pytest.approx(stats.kendalltau(reference, sums)[0], abs=1e-12)


def test_groups_are_drawn_as_a_whole():
    groups = np.repeat([7, 3, 9], [1, 2, 3])
    weights = panels.draws(6, groups, resamples=50)
    assert (weights[:, 1] == weights[:, 2]).all()
    assert (weights[:, 3] == weights[:, 5]).all()
    assert weights[1:, [0, 1, 3]].sum(axis=1).tolist() == [3.0] * 50
    assert len(panels.draws(6, np.zeros(6, dtype=np.int64))) == 1, "one group has no resamples"


def test_repeated_documents_in_one_group_do_not_narrow_the_interval():
    rng = np.random.default_rng(2)
    reference = rng.integers(1, 6, 20).astype(float)
    member = np.clip(reference + rng.integers(-2, 3, 20), 1, 5)
    own = panels.estimate(panels.scores(reference, [member], panels.draws(20))["spearman"]).interval
    again, copied = np.repeat(reference, 9), [np.repeat(member, 9)]
    weights = panels.draws(180, np.repeat(np.arange(20), 9))
    grouped = panels.estimate(panels.scores(again, copied, weights)["spearman"])
    assert own is not None
    assert grouped.interval is not None
    assert (grouped.interval.low, grouped.interval.high) == pytest.approx((own.low, own.high))


def test_panel_worked_example():
    # Means 1.5, 2.5, 2, 4: ranks 1, 3, 2, 4 against 1 to 4. Spearman 1 - 6 * 2 / 60, Kendall (5 - 1) / 6.
    found = panels.scores([1, 2, 3, 4], [[1, 2, 2, 4], [2, 3, 2, 4]], panels.draws(4, resamples=50))
    assert panels.estimate(found["spearman"]).value == pytest.approx(0.8)
    assert panels.estimate(found["kendall"]).value == pytest.approx(4 / 6)
    interval = panels.estimate(found["spearman"]).interval
    assert interval is not None
    assert -1 <= interval.low <= 0.8 <= interval.high <= 1 + 1e-12


def test_difference_of_equal_groups_is_zero_with_zero_width():
    weights = panels.draws(6, resamples=60)
    one = panels.scores([1, 2, 3, 4, 5, 5], [[1, 2, 2, 4, 4, 5]], weights)
    gain = panels.gains(one, one)["spearman"]
    assert (gain.value, gain.interval.low, gain.interval.high) == (0.0, 0.0, 0.0)  # type: ignore[union-attr]
    assert panels.estimate(one["alpha"]).value is None  # a single member has no agreement
    assert panels.gains(one, one)["alpha"].value is None


@pytest.mark.parametrize(
    ("reference", "member"), [([], []), ([3], [3]), ([3, 3, 3], [1, 2, 3]), ([1, 2], [float("nan")] * 2)]
)
def test_ratings_without_spread_have_no_score(reference, member):
    found = panels.scores(reference, [member, member], panels.draws(len(reference), resamples=4))
    assert panels.estimate(found["spearman"]) == Estimate(None, None)
