"""Tests of the discussion protocol (Algorithm 1 of Tseng et al.): consensus, weighted votes, ties, failures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.codebook import Kind
from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reply, ReplyError, Request
from core.formatting import format_count
from tests.core.debate.canned_debates import (
    CODEBOOKS,
    PRICE,
    SERVICE,
    Responder,
    context_of,
    decision_text,
    run_debate,
)

SPEC = PROTOCOLS["discussion"]
BOOM = Reply(error=ReplyError("server fault", "boom"))


def replies_by_round(*rounds: str) -> Responder:
    """Choose labels by round and annotator.

    In round r, annotator i answers the label with the i-th letter of ``rounds[r]`` (S, P or R); ``-`` is an unreadable
    reply and ``!`` a failed request.
    """
    names = {"S": "Service", "P": "Price", "R": "Room"}

    def respond(request: Request, _number: int) -> Reply | str:
        letter = rounds[request.round]["abcdefghi".index(request.role[-1])]
        if letter == "!":
            return BOOM
        return "Who knows." if letter == "-" else decision_text("choice", names[letter])

    return respond


def run_discussion(*rounds: str, **params: object):
    verdict, requests = run_debate(
        SPEC, context_of(SPEC, "choice", annotators=len(rounds[0]), **params), replies_by_round(*rounds)
    )
    return verdict, [request for request in requests if not request.reask]


@pytest.mark.parametrize(
    ("rounds", "label", "note"),
    [
        (("SSS",), SERVICE, "consensus without discussion"),
        (("SSP", "SSS"), SERVICE, "consensus after 1 round of discussion"),
        (("SSP", "SPP", "PPP"), PRICE, "consensus after 2 rounds of discussion"),
        (("SSP", "SSP", "SPP"), PRICE, "no consensus after 2 rounds of discussion, the majority counts"),
    ],
)
def test_discussion_ends_with_consensus(rounds: tuple[str, ...], label: str, note: str) -> None:
    verdict, requests = run_discussion(*rounds)
    assert verdict.values == {"label": label}
    assert verdict.notes[0] == note
    assert len(requests) == 3 * len(rounds)  # n(1 + r)
    assert [request.round for request in requests] == [number for number in range(len(rounds)) for _ in range(3)]


def test_weighted_votes_decide_without_a_consensus() -> None:
    for weights in ("2.2, 0.85, 0.9", "reviewed: 2.2, 0.85, 0.9"):
        assert run_discussion(*("SPP",) * 3, weights=weights)[0].values == {"label": SERVICE}
    weighted, _ = run_discussion(*("SPP",) * 3, weights="1.5, 0.85, 0.9")
    assert weighted.values == {"label": PRICE}
    assert weighted.notes[0] == "no consensus after 2 rounds of discussion, the weighted majority counts"
    assert run_discussion(*("S-P",) * 3, weights="0.8, 5, 0.9")[0].values == {"label": PRICE}, (
        "an unreadable reply has no vote"
    )


@pytest.mark.parametrize("weights", ["1, 2", "1, 2, x", "reviewed: 1, 2", "0, 1, 1", "-1, 1, 1", "nan, 1, 1"])
def test_wrong_weights_are_refused(weights: str) -> None:
    codebook = context_of(SPEC, "choice", annotators=3).codebook
    assert "weights are equal, reviewed, or 3 numbers" in SPEC.check(
        SPEC.parse_params({"annotators": 3, "weights": weights}), codebook
    )
    assert not SPEC.check(SPEC.parse_params({"weights": "1, 0.5, 2"}), codebook)
    rating = context_of(SPEC, "rating", annotators=3).codebook
    assert not SPEC.check(SPEC.parse_params({"weights": weights}), rating), "ratings have no weights"


@pytest.mark.parametrize("rounds", [("SSPP",) * 3, ("SPR",) * 3, ("SP",) * 3])
def test_tie_is_unresolved(rounds: tuple[str, ...]) -> None:
    verdict, _ = run_discussion(*rounds)
    assert verdict.status == "unresolved"
    assert "a tie" in verdict.reasons["label"]


def test_every_annotator_sees_all_replies_under_fixed_letters() -> None:
    _, requests = run_discussion("SSP", "SSP", "SSP")
    assert len({request.messages for request in requests[:3]}) == 1
    for number, request in enumerate(requests[3:6]):
        prompt = request.messages[1].content
        assert request.replies_to == ("annotator_a", "annotator_b", "annotator_c")
        for letter in "ABC":
            assert f"Annotator {letter}:" in prompt
        assert f"You are Annotator {'ABC'[number]}." in prompt
        assert prompt.count("Round 1:") == 1
        assert "Round 2" not in prompt
    assert requests[6].messages[1].content.count("<analysis") == 6
    assert requests[6].messages[1].content.count("Round 1:") == 1
    assert "Round 2:" in requests[6].messages[1].content


def test_failed_annotator_keeps_its_earlier_answer() -> None:
    verdict, requests = run_discussion("SSP", "!PP", "!PP")
    assert verdict.values == {"label": PRICE}
    assert len(requests) == 9
    # The failed reply is left out: round 2 contributes two replies instead of three.
    assert requests[6].messages[1].content.count("<analysis") == 5


def test_other_annotators_decide_if_one_fails() -> None:
    verdict, requests = run_discussion("SS!", "SS!", "SS!")
    assert verdict.values == {"label": SERVICE}
    assert len(requests) == 3  # two of three agree, so the failed annotator is not asked again
    assert verdict.notes == ("consensus without discussion", "2 of 3 voted; the others gave nothing that can be read")
    assert run_discussion("SS-")[0].values == {"label": SERVICE}


def test_single_readable_annotator_is_neither_a_consensus_nor_a_majority() -> None:
    assert run_discussion("S!!", "S!!", "S!!")[0].status == "failed"
    verdict, _ = run_discussion("S--", "S--", "S--")
    assert (verdict.status, [note for note in verdict.notes if "consensus" in note]) == ("unresolved", [])
    verdict, requests = run_discussion("S!!", "SS!")
    assert verdict.values == {"label": SERVICE}
    assert len(requests) == 6


def test_debate_fails_at_once_if_all_annotators_fail() -> None:
    verdict, requests = run_discussion("!!!")
    assert verdict.status == "failed"
    assert len(requests) == 3
    verdict, requests = run_discussion("---")
    assert (verdict.status, [note for note in verdict.notes if "consensus" in note]) == ("unresolved", [])
    assert len(requests) == 3


def test_ratings_within_the_distance_agree_on_their_median() -> None:
    context = context_of(SPEC, "rating", weights="reviewed")  # stored for another kind of codebook

    def respond(request: Request, _number: int) -> str:
        return decision_text("rating", ratings={"Service": 3 + (request.role[-1] == "c"), "Price": 2, "Room": 5})

    verdict, requests = run_debate(SPEC, context, respond)
    assert len(requests) == 3
    assert list(verdict.values.values()) == [3, 2, 5]
    strict = context_of(SPEC, "rating", within=0)
    verdict, requests = run_debate(SPEC, strict, respond)
    assert len(requests) == 9
    assert verdict.notes == ("no consensus after 2 rounds of discussion, the median counts",)


@given(
    data=st.data(),
    annotators=st.integers(2, 5),
    rounds=st.integers(0, 3),
    kind=st.sampled_from(["multilabel", "choice"]),
)
def test_number_of_requests_is_n_times_one_plus_r(
    data: st.DataObject, annotators: int, rounds: int, kind: Kind
) -> None:
    respond: Responder = lambda _request, _number: decision_text(kind, data.draw(st.sampled_from(["Service", "Price"])))  # noqa: E731
    verdict, requests = run_debate(SPEC, context_of(SPEC, kind, annotators=annotators, rounds=rounds), respond)
    last = max(request.round for request in requests)
    assert len(requests) == annotators * (1 + last)
    assert last <= rounds
    assert verdict.status in ("verdict", "unresolved")
    if last < rounds:
        assert verdict.notes[0] == _consensus(last)


def _consensus(rounds: int) -> str:
    how = f"after {format_count(rounds, 'round')} of" if rounds else "without"
    return f"consensus {how} discussion"


def test_distance_of_ratings_has_an_effect_on_ratings_alone() -> None:
    (within,) = (param for param in SPEC.params if param.name == "within")
    assert [kind for kind in CODEBOOKS if within.has_effect(SPEC.parse_params(), kind)] == ["rating"]
