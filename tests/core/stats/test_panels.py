"""Tests of scores of rater groups against scipy and Krippendorff's alpha, and of worked differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.stats import panels
from core.stats.agreement import kendall, krippendorff_alpha, pearson, spearman
from core.stats.intervals import Estimate
from tests.each_row import each_row

rated = st.one_of(st.integers(1, 5).map(float), st.just(float("nan")))
tables = st.integers(2, 9).flatmap(lambda n: st.tuples(*[st.lists(rated, min_size=n, max_size=n) for _ in range(4)]))


@settings(deadline=None, max_examples=50)
@given(tables)
def test_scores_agree_with_plain_measures(table):
    reference, *members = (np.array(row) for row in table)
    result = panels.scores(reference, members)
    mean = panels.panel_mean(members)
    known = ~np.isnan(reference) & ~np.isnan(mean)
    x, y = reference[known], mean[known]
    expected = {
        "pearson": pearson(x, y),
        "spearman": spearman(x, y) if len(x) else None,
        "kendall": kendall(x, y),
        "alpha": krippendorff_alpha(np.column_stack(members), level="ordinal"),
    }
    for name, value in expected.items():
        assert result[name].value == (None if value is None else pytest.approx(value, abs=1e-9)), name


def test_equal_means_of_a_panel_are_ties_on_every_scale():
    from scipy import stats

    rng = np.random.default_rng(3)
    members = {name: rng.integers(1, 11, 60).astype(float)[:, None] for name in "abc"}
    reference = rng.integers(1, 11, 60).astype(float)
    sums = sum(members.values())[:, 0]
    after = panels.before_after(reference[:, None], members, members, ["Tone"])["Tone"].after
    assert after["spearman"].value == pytest.approx(stats.spearmanr(reference, sums)[0], abs=1e-12)
    assert after["kendall"].value == pytest.approx(stats.kendalltau(reference, sums)[0], abs=1e-12)


def test_teams_of_a_panel_count_alike_whatever_their_size():
    # A parent alone, and three teachers with the means 4, 2, 3 and 3. The last teacher rated two documents.
    members = [[1, 2, 3, np.nan], [5, 1, 3, 2], [4, 2, 3, 4], [3, 3, np.nan, np.nan]]
    teams = ["Parents", "Teachers", "Teachers", "Teachers"]
    assert panels.panel_mean(members, teams).tolist() == [2.5, 2.0, 3.0, 3.0]
    assert panels.panel_mean(members).tolist() == [3.25, 2.0, 3.0, 3.0]
    reference = [2.0, 1.0, 4.0, 4.0]
    assert panels.scores(reference, members, teams=teams)["spearman"].value == pytest.approx(1)
    assert panels.scores(reference, members)["spearman"].value < 0.5
    gain = panels.gains(reference, [[1, 2, 3, 4]] * 4, members, teams=teams)["spearman"].value
    assert gain == pytest.approx(1 - spearman(np.array(reference), np.arange(4.0)))


def rated_by_two(documents: int):
    """Return a reference with the ratings of two careless and two careful members."""
    rng = np.random.default_rng(2)
    reference = rng.integers(1, 6, documents).astype(float)
    careless, careful = (
        [np.clip(reference + rng.integers(-off, off + 1, documents), 1, 5) for _ in range(2)] for off in (3, 1)
    )
    return reference, careless, careful


def test_gain_is_the_difference_of_the_scores():
    reference, careless, careful = rated_by_two(60)
    old, new = (panels.scores(reference, side) for side in (careless, careful))
    gain = panels.gains(reference, careless, careful)
    for name in panels.MEASURES:
        assert gain[name].value == pytest.approx(new[name].value - old[name].value), name
        assert gain[name].clear, name
        assert gain[name].value in gain[name].interval


def test_repeated_documents_in_one_group_do_not_narrow_the_interval():
    reference, careless, careful = rated_by_two(20)
    groups = np.repeat(np.arange(20), 9)
    again, *copies = ([np.repeat(grid, 9) for grid in side] for side in ([reference], careless, careful))
    single = panels.scores(reference, careful), panels.gains(reference, careless, careful)
    grouped = panels.scores(again[0], copies[1], groups), panels.gains(again[0], *copies, groups)
    for estimates, copied in zip(single, grouped, strict=True):
        for name in ("spearman", "pearson"):
            assert copied[name].value == pytest.approx(estimates[name].value, abs=1e-9)
            low, high = estimates[name].interval.low, estimates[name].interval.high
            assert copied[name].interval.high - copied[name].interval.low > 0.95 * (high - low)
    one_group = panels.scores(reference, careful, np.zeros(20, dtype=np.int64))
    assert {estimate.interval for estimate in one_group.values()} == {None}


def test_panel_worked_example():
    # Means 1.5, 2.5, 2, 4: ranks 1, 3, 2, 4 against 1 to 4. Spearman 1 - 6 * 2 / 60, Kendall (5 - 1) / 6.
    result = panels.scores([1, 2, 3, 4], [[1, 2, 2, 4], [2, 3, 2, 4]])
    assert result["spearman"].value == pytest.approx(0.8)
    assert result["kendall"].value == pytest.approx(4 / 6)
    assert result["spearman"].interval is None  # four documents say too little about the possible error
    interval = panels.scores([1, 2, 3, 4] * 3, [[1, 2, 2, 4] * 3, [2, 3, 2, 4] * 3])["spearman"].interval
    assert interval is not None
    assert -1 <= interval.low <= 0.8 <= interval.high <= 1


def test_difference_of_equal_groups_is_zero():
    reference, member = [1, 2, 3, 4, 5, 5], [[1, 2, 2, 4, 4, 5]]
    gain = panels.gains(reference, member, member)["spearman"]
    assert (gain.value, gain.interval) == (0.0, None), "six documents are too few for an interval"
    assert panels.scores(reference, member)["alpha"].value is None  # a single member has no agreement
    assert panels.gains(reference, member, member)["alpha"].value is None


def test_perfect_correlations_do_not_show_the_possible_error():
    reference = [1, 2, 3, 4, 5]
    gain = panels.gains(reference, [reference[::-1]], [reference])["spearman"]
    assert (gain.value, gain.interval) == (pytest.approx(2.0), None)


def test_gain_in_agreement_of_more_than_one_has_an_interval():
    rng = np.random.default_rng(1)
    reference = rng.integers(1, 6, 20).astype(float)
    together = [np.clip(reference + (rng.random(20) < 0.15), 1, 5) for _ in range(2)]
    opposed = [reference, 6 - together[0]]
    gain = panels.gains(reference, opposed, together)["alpha"]
    assert gain.value is not None
    assert gain.interval is not None
    assert 1 < gain.interval.low < gain.value < gain.interval.high


@each_row(("reference", "member"), [([], []), ([3], [3]), ([3, 3, 3], [1, 2, 3]), ([1, 2], [float("nan")] * 2)])
def test_ratings_without_spread_have_no_score(reference, member):
    assert panels.scores(reference, [member, member])["spearman"] == Estimate()
    assert panels.gains(reference, [member, member], [member])["spearman"] == Estimate()
