from __future__ import annotations

import numpy as np
import pytest

from core.stats.debate_rounds import bound, rounds, vote_of
from core.stats.flips import objections
from core.stats.panels import before_after, normalised

NAN = float("nan")


def test_votes_take_majority_or_median() -> None:
    votes = [[[1, 0]], [[1, 1]], [[0, NAN]]]
    assert vote_of(votes, measured=False).tolist()[0][0] == 1
    assert np.isnan(vote_of(votes, measured=False)[0][1])  # a tie
    assert vote_of([[[1.0]], [[2.0]], [[5.0]]], measured=True).tolist() == [[2.0]]
    assert np.isnan(vote_of([[[NAN]], [[NAN]]], measured=False)).all()


def test_rounds_worked_example() -> None:
    # One label, four documents, gold 1 1 0 0.
    reference = [[1], [1], [0], [0]]
    first = {"A": [[1], [0], [0], [1]], "B": [[1], [0], [1], [0]], "C": [[0], [1], [0], [0]]}
    second = {"A": [[1], [1], [0], [0]], "B": [[1], [0], [0], [0]], "C": [[1], [1], [0], [1]]}
    one, two = rounds(reference, [("first", first), ("second", second)])
    # The votes 1 0 0 0 are right on three. Each agent is right on two or three of four.
    assert (one.documents, one.unanimous, one.vote) == (4, 0.0, 0.75)
    assert one.mean == pytest.approx((2 + 2 + 3) / 12)
    assert one.upper_bound == 1.0
    assert one.with_majority == pytest.approx(2 / 3)
    assert one.consecutive == (("A", "B", 0.5), ("B", "C", 0.25))
    # Then d0 and d2 are unanimous. C introduces an error on d3 and corrects d0, A corrects two, B corrects d2.
    assert (two.unanimous, two.vote) == (0.5, 1.0)
    assert [(agent.kept, agent.to_right, agent.to_wrong) for agent in two.agents] == [(2, 2, 0), (3, 1, 0), (2, 1, 1)]


def test_upper_bound_and_gap() -> None:
    reference = [[1], [1], [0], [NAN]]
    found = bound(reference, [[[[1], [0], [1], [1]]], [[[1], [1], [1], [1]]]], [[0], [1], [1], [1]])
    # The first step has d0 right, a later one also d1; the verdict has only d1 right.
    assert (found.cells, found.at_first, found.ever, found.reached) == (3, 1 / 3, 2 / 3, 1 / 3)
    assert found.gap == 0
    nothing = bound([[NAN]], [[[[1]]]], [[1]])
    assert (nothing.cells, nothing.at_first, nothing.reached, nothing.gap) == (0, None, None, None)


def test_rating_is_right_if_less_than_a_point_away() -> None:
    (only,) = rounds([[3.0], [3.5]], [("once", {"A": [[3.0], [4.0]], "B": [[4.0], [2.0]]})], measured=True)
    assert only.agents[0].accuracy == 1.0
    assert only.agents[1].accuracy == 0.0
    assert only.upper_bound == 1.0


def test_objections_worked_example() -> None:
    #        justified, followed | unjustified, followed | justified, ignored | missed | agreed | unread
    reference = [[1], [1], [0], [0], [1], [1]]
    claim = [[0], [1], [1], [1], [1], [1]]
    critic = [[1], [0], [0], [1], [1], [-1]]
    verdict = [[1], [0], [1], [1], [1], [1]]
    found = objections(reference, claim, critic, verdict)
    assert (found.cells, found.raised, found.justified, found.followed) == (5, 3, 2, 2)
    assert (found.followed_rightly, found.followed_wrongly, found.ignored_rightly, found.missed) == (1, 1, 0, 1)
    assert found.precision.value == found.recall.value == pytest.approx(2 / 3)
    silent = objections([[1]], [[1]], [[1]], [[1]])
    assert (silent.precision.value, silent.recall.value, silent.followed_share.value) == (None, None, None)


def test_panel_before_and_after_worked_example() -> None:
    # 3.08 on a scale of 1 to 5 is 0.52 of the range.
    assert normalised([[3.08, 0.5]], [(1, 5), (0, 2)])[0].tolist() == pytest.approx([0.52, 0.25])
    reference = [[1.0], [2.0], [5.0]]
    before = {"a": [[5.0], [4.0], [1.0]], "b": [[5.0], [4.0], [1.0]]}
    after = {"a": [[1.0], [2.0], [5.0]], "b": [[1.0], [2.0], [4.0]]}
    found = before_after(reference, before, after, ["clarity"], [(1, 5)])["clarity"]
    assert found.before.spearman == pytest.approx(-1)
    assert found.before.absolute["spearman"] == pytest.approx(1)
    assert found.after.kendall == pytest.approx(1)
    assert found.alpha_before == pytest.approx(1)
    assert found.alpha_after is not None
    assert found.alpha_after < 1
    assert found.after.mae == pytest.approx(0.125 / 3)
    with pytest.raises(ValueError, match="no width"):
        normalised([[1]], [(3, 3)])


def test_early_agreement_is_carried_over_to_later_rounds() -> None:
    # Three documents, gold 1 1 0. All agree on d0 at once, so only d1 and d2 are discussed; B gives no list on d2.
    reference = [[1], [1], [0]]
    first = {"A": [[1], [0], [1]], "B": [[1], [1], [0]]}
    second = {"A": [[NAN], [1], [0]], "B": [[NAN], [1], [NAN]]}
    one, two = rounds(reference, [("first", first), ("second", second)])
    assert (one.asked, one.documents, one.unanimous, one.vote, one.upper_bound) == (3, 3, 1 / 3, 1 / 3, 1.0)
    # After the second round all three documents are right and unanimous, including d0, which was not discussed again.
    assert (two.asked, two.documents, two.unanimous, two.vote, two.mean) == (2, 3, 1.0, 1.0, 1.0)
    assert two.agreement.value == pytest.approx(1.0)
    assert [(agent.kept, agent.to_right, agent.to_wrong) for agent in two.agents] == [(0, 2, 0), (1, 0, 0)]


def test_agent_without_a_value_in_a_round_keeps_its_last_value() -> None:
    steps = [("turn 1", {"A": [[3.0]], "B": [[5.0]], "C": [[4.0]]}), ("other", {"X": [[1.0]], "Y": [[1.0]]}),
             ("turn 2", {"B": [[4.0]], "C": [[4.0]]})]  # fmt: skip
    last = rounds([[4.0]], steps, measured=True)[2]
    assert [(agent.agent, agent.accuracy) for agent in last.agents] == [("A", 0.0), ("B", 1.0), ("C", 1.0)]
    assert (last.vote, last.mean) == (1.0, pytest.approx(2 / 3))
