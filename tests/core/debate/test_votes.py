"""Tests of consensus and votes on each kind of codebook: ties, weights, missing votes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reading, Reply, ReplyError
from core.debate.votes import MajorityVote, in_consensus, is_majority, majority_verdict
from tests.core.debate.canned_debates import CODEBOOKS, PRICE, ROOM, SERVICE, context_of

MULTI, CHOICE, RATING = CODEBOOKS["multilabel"], CODEBOOKS["choice"], CODEBOOKS["rating"]


def count_votes(votes, codebook, average="median", weights=None):
    """Return values and reasons of the items by the majority rule, from the votes by item."""
    rule = MajorityVote(average, weights)
    decided = {item: rule.decide([vote.get(item) for vote in votes], codebook) for item in codebook.items}
    values = {item: value for item, (value, _) in decided.items()}
    return values, {item: reason for item, (_, reason) in decided.items() if reason}


def lists(*present: set[str]) -> list[dict[str, bool]]:
    return [{item: item in own for item in MULTI.items} for own in present]


def test_weights_decide_and_equal_totals_tie() -> None:
    votes = [{SERVICE: True}, {SERVICE: False}, {SERVICE: False}]
    assert count_votes(votes, MULTI, weights=[2.2, 0.85, 0.9])[0][SERVICE] is True
    assert count_votes(votes, MULTI, weights=[1.5, 0.85, 0.9])[0][SERVICE] is False
    values, reasons = count_votes(votes, MULTI, weights=[0.3, 0.1, 0.2])
    assert values[SERVICE] is None
    assert reasons[SERVICE] == "a tie: 0.3 for absent and 0.3 for present"


def test_consensus_on_labels_needs_identical_lists() -> None:
    assert in_consensus(lists({SERVICE}, {SERVICE}), MULTI)
    assert not in_consensus(lists({SERVICE}, {SERVICE, PRICE}), MULTI)
    assert not in_consensus([{SERVICE: True, PRICE: False}], MULTI)  # Room has no decision
    assert not in_consensus([], MULTI)


def test_consensus_on_ratings_allows_a_distance() -> None:
    votes = [{SERVICE: 3, PRICE: 2, ROOM: 5}, {SERVICE: 4, PRICE: 2, ROOM: 5}]
    assert in_consensus(votes, RATING, 1)
    assert not in_consensus(votes, RATING, 0.5)
    assert in_consensus([{SERVICE: 4.4, PRICE: 2, ROOM: 5}, {SERVICE: 3.4, PRICE: 2, ROOM: 5}], RATING, 1)


def test_labels_are_voted_separately_and_a_tie_is_unresolved() -> None:
    values, reasons = count_votes(lists({SERVICE, PRICE}, {SERVICE}, {SERVICE, PRICE}, set()), MULTI)
    assert values == {SERVICE: True, PRICE: None, ROOM: False}
    assert reasons == {PRICE: "a tie: 2 for present and 2 for absent"}


@pytest.mark.parametrize(
    ("votes", "winner"),
    [
        ([SERVICE, SERVICE, PRICE], SERVICE),
        ([SERVICE, PRICE], None),
        ([SERVICE, PRICE, ROOM], None),
        ([SERVICE, SERVICE, PRICE, PRICE, ROOM], None),
        ([SERVICE, SERVICE, PRICE, ROOM], SERVICE),  # more than any other, though not more than half
    ],
)
def test_choice_needs_more_votes_than_any_other_label(votes: list[str], winner: str | None) -> None:
    values, reasons = count_votes([{"label": vote} for vote in votes], CHOICE)
    assert values == {"label": winner}
    assert bool(reasons) is (winner is None)


def test_ratings_take_the_median_or_the_mean() -> None:
    votes = [{SERVICE: 1, PRICE: 2}, {SERVICE: 5, PRICE: 3}, {SERVICE: 4}]
    assert count_votes(votes, RATING)[0] == {SERVICE: 4, PRICE: 2.5, ROOM: None}
    assert count_votes(votes, RATING, "mean")[0][SERVICE] == pytest.approx(3.3333)
    assert count_votes(votes, RATING)[1] == {ROOM: "nobody decided it"}


@given(st.lists(st.integers(1, 5), min_size=1, max_size=9))
def test_median_is_within_the_given_ratings(votes: list[int]) -> None:
    value = count_votes([{SERVICE: vote} for vote in votes], RATING)[0][SERVICE]
    assert isinstance(value, int | float)
    assert min(votes) <= value <= max(votes)


def test_majority_verdict_needs_more_than_half_readable_replies() -> None:
    assert is_majority(2, 3)
    assert not is_majority(1, 2)
    assert not is_majority(0, 0)
    context = context_of(PROTOCOLS["discussion"], "choice")
    good = Reply("x", reading=Reading(values={"label": PRICE}))
    unreadable = Reply("x", reading=Reading(problem="no decision line"))
    boom = Reply(error=ReplyError("server fault", "boom"))
    assert majority_verdict(context, [good, good, boom]).values == {"label": PRICE}
    assert majority_verdict(context, [good, good, boom]).notes == (
        "2 of 3 voted; the others gave nothing that can be read",
    )
    assert majority_verdict(context, [good, unreadable, unreadable]).reasons == {
        "label": "1 of 3 could be read: no decision line"
    }
    assert majority_verdict(context, [good, unreadable, boom]).status == "failed"


def test_note_on_another_name_is_true_of_a_label_that_was_not_asked_about() -> None:
    context = context_of(PROTOCOLS["discussion"], "choice")
    reply = Reply("x", reading=Reading(values={"label": PRICE}, unknown=("Depth",)))
    note = "'Depth' is not a label that was asked about"
    assert majority_verdict(context, [reply]).notes == (note,)
    assert context.verdict(reply).notes == (note,)


def test_item_needs_values_from_more_than_half_of_the_roles() -> None:
    context = context_of(PROTOCOLS["discussion"])
    full, part = (Reply("x", reading=Reading(values=v)) for v in ({SERVICE: True, PRICE: False}, {SERVICE: True}))
    boom = Reply(error=ReplyError("server fault", "boom"))
    verdict = majority_verdict(context, [full, full, part, part])
    assert verdict.values == {SERVICE: True, PRICE: None, ROOM: None}
    assert verdict.reasons == {PRICE: "only 2 of 4 decided it", ROOM: "nobody decided it"}
    assert majority_verdict(context, [full, full, part, boom, boom]).values[PRICE] is None
    assert majority_verdict(context, [full, full, part]).values[PRICE] is False
