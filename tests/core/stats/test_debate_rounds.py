from __future__ import annotations

import statistics
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from core.codebook import Kind
from core.stats.debate_rounds import bound, vote_of
from core.stats.debate_rounds import rounds as debate_rounds
from core.stats.flips import objections
from core.stats.intervals import Estimate, wilson
from core.stats.metric_intervals import Design
from core.stats.panels import before_after

NAN = float("nan")


def most_common(values):
    """Return the most common value of some agents, NaN on a tie and without any."""
    counts = Counter(value for value in values if value == value).most_common()
    is_tie = len(counts) > 1 and counts[0][1] == counts[1][1]
    return NAN if is_tie or not counts else counts[0][0]


def median(values):
    return statistics.median(value for value in values if value == value)


def rounds(*arguments, decide=most_common, **options):
    """Return the rounds of agents that decide together by ``decide``."""
    return debate_rounds(*arguments, vote=lambda grids: vote_of(list(grids.values()), decide), **options)


def test_cells_with_the_same_values_are_decided_once() -> None:
    asked = []

    def decide(values):
        asked.append(values)
        return sum(value for value in values if value == value)

    votes = [[[1, 0.5], [1, NAN]], [[3, 1], [3, NAN]], [[NAN, 2], [NAN, NAN]]]
    np.testing.assert_array_equal(vote_of(votes, decide), [[4, 3.5], [4, 0]])
    np.testing.assert_array_equal(sorted(asked), sorted([[1, 3, NAN], [0.5, 1, 2], [NAN, NAN, NAN]]))
    assert vote_of(np.zeros((3, 0, 2)), decide).shape == (0, 2)


def test_rounds_worked_example() -> None:
    # One label, four documents, gold 1 1 0 0.
    reference = [[1], [1], [0], [0]]
    first = {"A": [[1], [0], [0], [1]], "B": [[1], [0], [1], [0]], "C": [[0], [1], [0], [0]]}
    second = {"A": [[1], [1], [0], [0]], "B": [[1], [0], [0], [0]], "C": [[1], [1], [0], [1]]}
    one, two = rounds(reference, [("first", first), ("second", second)])
    # The votes 1 0 0 0 are right on three. Each agent is right on two or three of four.
    assert (one.documents, one.unanimous.value, one.vote.value) == (4, 0.0, 0.75)
    assert one.mean.value == pytest.approx((2 + 2 + 3) / 12)
    assert one.upper_bound.value == 1.0
    assert one.with_majority.value == pytest.approx(2 / 3)
    assert [(a, b, share.value) for a, b, share in one.consecutive] == [("A", "B", 0.5), ("B", "C", 0.25)]
    # Then d0 and d2 are unanimous. C introduces an error on d3 and corrects d0, A corrects two, B corrects d2.
    assert (two.unanimous.value, two.vote.value) == (0.5, 1.0)
    assert [(agent.kept, agent.to_right, agent.to_wrong) for agent in two.agents] == [(2, 2, 0), (3, 1, 0), (2, 1, 1)]


def test_upper_bound_and_gap() -> None:
    reference = [[1], [1], [0], [NAN]]
    result = bound(reference, [[[[1], [0], [1], [1]]], [[[1], [1], [1], [1]]]], [[0], [1], [1], [1]])
    # The first step has d0 right, a later one also d1; the verdict has only d1 right.
    assert result.cells == 3
    shares = (result.at_first, result.ever, result.reached, result.gap)
    assert [share.value for share in shares] == [1 / 3, 2 / 3, 1 / 3, 0]
    nothing = bound([[NAN]], [[[[1]]]], [[1]])
    assert (nothing.cells, nothing.at_first, nothing.reached, nothing.gap) == (0, *[Estimate()] * 3)


def test_intervals_of_the_upper_bound_by_hand() -> None:
    # One label, five documents: the first step has d0 to d3 right, the verdict d0 and d4.
    gold, first, verdict = np.ones((5, 1)), [[1], [1], [1], [1], [0]], [[1], [0], [0], [0], [1]]
    result = bound(gold, [[first]], verdict)
    assert (result.at_first.interval, result.reached.interval) == (wilson(4, 5), wilson(2, 5))
    theirs = stats.ttest_1samp([0, 1, 1, 1, -1], 0.0).confidence_interval(0.95)
    assert result.gap.interval is not None
    assert (result.gap.interval.low, result.gap.interval.high) == pytest.approx((theirs.low, min(theirs.high, 1.0)))
    # Two documents of one author count as one.
    grouped = bound(gold, [[first]], verdict, design=Design(groups=np.array([0, 0, 1, 2, 3])))
    assert grouped.at_first.value == 4 / 5
    assert grouped.at_first.interval != result.at_first.interval


def test_intervals_of_rounds_and_bound_cover_the_true_shares() -> None:
    # 30 authors of 2 documents with 3 labels. Half of the authors are hard, so that cells and documents are dependent.
    rng, hits = np.random.default_rng(5), []
    for _ in range(120):
        hard = np.repeat(rng.random(30) < 0.5, 2)[:, None]
        gold = (rng.random((60, 3)) < 0.4).astype(float)
        agents = {name: np.where(rng.random((60, 3)) < np.where(hard, 0.35, 0.05), 1 - gold, gold) for name in "AB"}
        verdict = np.where(rng.random((60, 3)) < np.where(hard, 0.3, 0.02), 1 - gold, gold)
        groups = np.repeat(np.arange(30), 2)
        design = Design(groups=groups)
        (round_row,) = rounds(gold, [("first", agents)], design=design, groups=groups)
        limit = bound(gold, [list(agents.values())], verdict, design=design)
        either = 1 - (0.35**2 + 0.05**2) / 2
        alike = (0.35**2 + 0.65**2 + 0.05**2 + 0.95**2) / 2
        truth = [
            (round_row.mean, 0.8),
            (round_row.agents[0].accuracy, 0.8),
            (round_row.upper_bound, either),
            (limit.at_first, either),
            (limit.reached, 0.84),
            (limit.gap, either - 0.84),
            (round_row.consecutive[0][2], alike),
            (round_row.with_majority, (1 + alike) / 2),
        ]
        hits.append([value in estimate.interval for estimate, value in truth])
    assert np.mean(hits, axis=0).min() > 0.9


def test_agreement_in_a_round_has_an_interval_over_documents() -> None:
    rng = np.random.default_rng(1)
    one_label = {name: rng.integers(0, 2, (40, 1)).astype(float) for name in "ABC"}
    (once,) = rounds(one_label["A"], [("r", one_label)])
    (repeated,) = rounds(
        np.repeat(one_label["A"], 4, axis=1),
        [("r", {name: np.repeat(answers, 4, axis=1) for name, answers in one_label.items()})],
    )
    assert repeated.agreement.value == pytest.approx(once.agreement.value)
    for end in ("low", "high"):  # four copies of a label are no more documents
        ours, copied = (getattr(scores.agreement.interval, end) for scores in (once, repeated))
        assert copied == pytest.approx(ours, abs=0.02)


def test_agreement_is_not_that_of_the_frequencies_of_labels() -> None:
    rng = np.random.default_rng(3)
    shares = np.array([0.9, 0.1, 0.1, 0.1])
    chance = {name: (rng.random((500, 4)) < shares).astype(float) for name in "ABC"}
    (only,) = rounds(chance["A"], [("r", chance)])
    assert only.agreement.value == pytest.approx(0.0, abs=0.05)
    assert only.agreement.interval is not None
    assert only.agreement.interval.low < 0 < only.agreement.interval.high


def test_rating_is_right_if_less_than_a_point_away() -> None:
    (only,) = rounds([[3.0], [3.5]], [("once", {"A": [[3.0], [4.0]], "B": [[4.0], [2.0]]})], kind="rating")
    assert [agent.accuracy.value for agent in only.agents] == [1.0, 0.0]
    assert only.upper_bound.value == 1.0
    assert only.unanimous.value == 0.0
    (near,) = rounds([[3.0], [3.5]], [("once", {"A": [[3.0], [4.0]], "B": [[3.25], [2.0]]})], kind="rating")
    assert near.unanimous.value == 1 / 2


def test_objections_worked_example() -> None:
    #        justified, followed | unjustified, followed | justified, ignored | missed | agreed | unread
    reference = [[1], [1], [0], [0], [1], [1]]
    claim = [[0], [1], [1], [1], [1], [1]]
    critic = [[1], [0], [0], [1], [1], [-1]]
    verdict = [[1], [0], [1], [1], [1], [1]]
    result = objections(reference, claim, critic, verdict)
    assert (result.cells, result.raised, result.justified, result.followed) == (5, 3, 2, 2)
    assert (result.followed_rightly, result.followed_wrongly, result.ignored_rightly, result.missed) == (1, 1, 0, 1)
    assert result.precision.value == result.recall.value == pytest.approx(2 / 3)
    silent = objections([[1]], [[1]], [[1]], [[1]])
    assert (silent.precision.value, silent.recall.value, silent.followed_share.value) == (None, None, None)


def test_panel_before_and_after_worked_example() -> None:
    reference = [[1.0], [2.0], [5.0]]
    before = {"a": [[5.0], [4.0], [1.0]], "b": [[5.0], [4.0], [1.0]]}
    after = {"a": [[1.0], [2.0], [5.0]], "b": [[1.0], [2.0], [4.0]]}
    result = before_after(reference, before, after, ["clarity"])["clarity"]
    assert result.before["spearman"].value == pytest.approx(-1)
    assert result.after["kendall"].value == pytest.approx(1)
    assert result.before["alpha"].value == pytest.approx(1)
    assert result.after["alpha"].value is not None
    assert result.after["alpha"].value < 1


def test_early_agreement_is_carried_over_to_later_rounds() -> None:
    # Three documents, gold 1 1 0. All agree on d0 at once, so only d1 and d2 are discussed; B gives no list on d2.
    reference = [[1], [1], [0]]
    first = {"A": [[1], [0], [1]], "B": [[1], [1], [0]]}
    second = {"A": [[NAN], [1], [0]], "B": [[NAN], [1], [NAN]]}
    one, two = rounds(reference, [("first", first), ("second", second)])
    assert (one.asked, one.documents) == (3, 3)
    assert [share.value for share in (one.unanimous, one.vote, one.upper_bound)] == [1 / 3, 1 / 3, 1.0]
    # After the second round all three documents are right and unanimous, including d0, which was not discussed again.
    assert (two.asked, two.documents) == (2, 3)
    assert [share.value for share in (two.unanimous, two.vote, two.mean)] == [1.0, 1.0, 1.0]
    assert two.agreement.value == pytest.approx(1.0)
    assert [(agent.kept, agent.to_right, agent.to_wrong) for agent in two.agents] == [(0, 2, 0), (1, 0, 0)]


def test_agent_without_a_value_in_a_round_keeps_its_last_value() -> None:
    steps = [
        ("turn 1", {"A": [[3.0]], "B": [[5.0]], "C": [[4.0]]}),
        ("other", {"X": [[1.0]], "Y": [[1.0]]}),
        ("turn 2", {"B": [[4.0]], "C": [[4.0]]}),
    ]
    last = rounds([[4.0]], steps, kind="rating", decide=median)[2]
    assert [(agent.agent, agent.accuracy.value) for agent in last.agents] == [("A", 0.0), ("B", 1.0), ("C", 1.0)]
    assert (last.vote.value, last.mean.value) == (1.0, pytest.approx(2 / 3))


@pytest.mark.parametrize("kind", ["multilabel", "rating"])
def test_agreement_is_undefined_if_only_one_agent_answered(kind: Kind) -> None:
    answers = np.ones((3, 2))
    (step,) = rounds(answers, [("first", {"A": answers, "B": np.full((3, 2), NAN)})], kind=kind)
    assert (step.agreement, step.mean.value) == (Estimate(), 1.0)
