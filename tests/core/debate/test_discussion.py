"""Algorithm 1 of Tseng et al., branch by branch: consensus in each round and in none, ties, annotators that fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Kind
from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reply, ReplyError, Request
from tests.core.debate.playing import PRICE, SERVICE, Hand, context_of, play, says

SPEC = PROTOCOLS["discussion"]
BOOM = Reply(error=ReplyError("server fault", "boom"))


def choosing(*rounds: str) -> Hand:
    """In round r annotator i chooses the label that the i-th letter of ``rounds[r]`` stands for: S, P or R; ``-`` is
    nothing that can be read, ``!`` a fault."""
    names = {"S": "Service", "P": "Price", "R": "Room"}

    def hand(request: Request, _number: int) -> Reply | str:
        letter = rounds[request.round]["abcdefghi".index(request.role[-1])]
        if letter == "!":
            return BOOM
        return "Who knows." if letter == "-" else says("choice", names[letter])

    return hand


def held(*rounds: str, **params: object):
    verdict, requests = play(SPEC, context_of(SPEC, "choice", annotators=len(rounds[0]), **params), choosing(*rounds))
    return verdict, [request for request in requests if not request.retry]


@pytest.mark.parametrize(
    ("rounds", "label", "how"),
    [
        (("SSS",), SERVICE, "consensus in round 0"),
        (("SSP", "SSS"), SERVICE, "consensus in round 1"),
        (("SSP", "SPP", "PPP"), PRICE, "consensus in round 2"),
        (("SSP", "SSP", "SPP"), PRICE, "no consensus in 2 rounds, the majority counts"),
    ],
)
def test_discussion_ends_with_consensus(rounds: tuple[str, ...], label: str, how: str) -> None:
    verdict, requests = held(*rounds)
    assert verdict.values == {"label": label}
    assert verdict.notes[0] == how
    assert len(requests) == 3 * len(rounds)  # n(1 + r)
    assert [request.round for request in requests] == [number for number in range(len(rounds)) for _ in range(3)]


def test_weighted_votes_decide_without_a_consensus() -> None:
    assert held(*("SPP",) * 3, weights="2.2, 0.85, 0.9")[0].values == {"label": SERVICE}
    assert held(*("SPP",) * 3, weights="1.5, 0.85, 0.9")[0].values == {"label": PRICE}
    assert held(*("S-P",) * 3, weights="0.8, 5, 0.9")[0].values == {"label": PRICE}, "who cannot be read has no vote"


@pytest.mark.parametrize("weights", ["1, 2", "1, 2, x", "0, 1, 1", "-1, 1, 1", "nan, 1, 1"])
def test_wrong_weights_are_refused(weights: str) -> None:
    codebook = context_of(SPEC, "choice", annotators=3).codebook
    assert "weights are equal, reviewed, or 3 numbers" in SPEC.check(
        SPEC.parse_params({"annotators": 3, "weights": weights}), codebook
    )
    assert not SPEC.check(SPEC.parse_params({"weights": "1, 0.5, 2"}), codebook)
    rating = context_of(SPEC, "rating", annotators=3).codebook
    assert "median" in SPEC.check(SPEC.parse_params({"weights": "1, 1, 2"}), rating)


@pytest.mark.parametrize("rounds", [("SSPP",) * 3, ("SPR",) * 3, ("SP",) * 3])
def test_a_tie_is_unresolved(rounds: tuple[str, ...]) -> None:
    verdict, _ = held(*rounds)
    assert verdict.status == "unresolved"
    assert "a tie" in verdict.reasons["label"]


def test_every_annotator_sees_all_replies_under_fixed_letters() -> None:
    _, requests = held("SSP", "SSP", "SSP")
    assert len({request.messages for request in requests[:3]}) == 1
    for place, request in enumerate(requests[3:6]):
        told = request.messages[1].content
        assert request.replies_to == ("annotator_a", "annotator_b", "annotator_c")
        for letter in "ABC":
            assert f"Annotator {letter}:" in told
        assert f"You are Annotator {'ABC'[place]}." in told
        assert "Round 2" not in told
    assert requests[6].messages[1].content.count("<analysis") == 6
    assert "Round 2:" in requests[6].messages[1].content


def test_failed_annotator_keeps_its_earlier_answer() -> None:
    verdict, requests = held("SSP", "!PP", "!PP")
    assert verdict.values == {"label": PRICE}
    assert len(requests) == 9
    # what failed is not heard: of round 2 there are two voices
    assert requests[6].messages[1].content.count("<analysis") == 5


def test_other_annotators_decide_without_a_failing_one() -> None:
    verdict, requests = held("SS!", "SS!", "SS!")
    assert verdict.values == {"label": SERVICE}
    assert len(requests) == 3  # two of three agree, the third is not waited for
    assert verdict.notes == ("consensus in round 0", "2 of 3 voted; the others gave nothing that can be read")
    assert held("SS-")[0].values == {"label": SERVICE}


def test_single_readable_annotator_is_not_a_consensus() -> None:
    assert held("S!!", "S!!", "S!!")[0].status == "failed"
    assert held("S--", "S--", "S--")[0].status == "unresolved"
    verdict, requests = held("S!!", "SS!")
    assert verdict.values == {"label": SERVICE}
    assert len(requests) == 6


def test_debate_fails_at_once_if_all_annotators_fail() -> None:
    verdict, requests = held("!!!")
    assert verdict.status == "failed"
    assert len(requests) == 3
    verdict, requests = held("---")
    assert verdict.status == "unresolved"
    assert len(requests) == 3


def test_ratings_within_the_distance_agree_on_their_median() -> None:
    context = context_of(SPEC, "rating")

    def hand(request: Request, _number: int) -> str:
        return says("rating", ratings={"Service": 3 + (request.role[-1] == "c"), "Price": 2, "Room": 5})

    verdict, requests = play(SPEC, context, hand)
    assert len(requests) == 3
    assert list(verdict.values.values()) == [3, 2, 5]
    strict = context_of(SPEC, "rating", within=0)
    assert len(play(SPEC, strict, hand)[1]) == 9


def test_consensus_on_labels_needs_identical_lists() -> None:
    hand: Hand = lambda request, _: says("multilabel", "Service", *["Price"] * (request.role[-1] == "a"))  # noqa: E731
    verdict, requests = play(SPEC, context_of(SPEC), hand)
    assert len(requests) == 9
    assert list(verdict.values.values()) == [True, False, False]


@given(
    data=st.data(),
    roles=st.integers(2, 5),
    most=st.integers(0, 3),
    kind=st.sampled_from(["multilabel", "choice"]),
)
def test_number_of_requests_is_n_times_one_plus_r(data: st.DataObject, roles: int, most: int, kind: Kind) -> None:
    hand: Hand = lambda _ask, _number: says(kind, data.draw(st.sampled_from(["Service", "Price"])))  # noqa: E731
    verdict, requests = play(SPEC, context_of(SPEC, kind, annotators=roles, rounds=most), hand)
    last = max(request.round for request in requests)
    assert len(requests) == roles * (1 + last)
    assert last <= most
    assert verdict.status in ("verdict", "unresolved")
    if last < most:
        assert verdict.notes[0] == f"consensus in round {last}"
