"""Extractor, critic, judge: the inputs of each role, and the judge's restriction to named labels."""

from __future__ import annotations

from core.debate.protocols import PROTOCOLS
from tests.core.debate.playing import PRICE, SERVICE, context_of, play, says

ECJ = PROTOCOLS["ecj"]


def test_judge_cannot_add_labels_that_nobody_named() -> None:
    verdict, _ = play(ECJ, context_of(ECJ), n2=says("multilabel", "Service", "Price"))
    assert list(verdict.values.values()) == [True, False, False]
    assert verdict.notes == ("'Price' was named by neither analysis, left out",)


def test_judge_may_add_a_label_that_the_critic_mentions() -> None:
    verdict, _ = play(
        ECJ,
        context_of(ECJ),
        n1="I agree on Service, but the Price is spoken of too.",
        n2=says("multilabel", "Service", "Price"),
    )
    assert list(verdict.values.values()) == [True, True, False]
    assert not verdict.notes


def test_choice_named_by_neither_analysis_is_unresolved() -> None:
    verdict, _ = play(ECJ, context_of(ECJ, "choice"), n2=says("choice", "Price"))
    assert verdict.values == {"label": None}
    assert verdict.reasons == {"label": "'Price' was named by neither analysis"}
    verdict, _ = play(ECJ, context_of(ECJ, "choice"), n1="No: Price.", n2=says("choice", "Price"))
    assert verdict.values == {"label": PRICE}


def test_judge_gives_ratings_freely() -> None:
    verdict, _ = play(ECJ, context_of(ECJ, "rating"), n2=says("rating", ratings=2))
    assert set(verdict.values.values()) == {2}


def test_other_roles_replies_are_quoted_in_the_user_message() -> None:
    _, requests = play(
        ECJ, context_of(ECJ), n0="<think>Secret.</think>\nThe aspects present in this review are: #Service"
    )
    judge = requests[2]
    assert [message.role for message in judge.messages] == ["system", "user"]
    assert "<analysis" in judge.messages[1].content
    assert "Secret" not in judge.messages[1].content
    assert judge.replies_to == ("extractor", "critic")
    assert play(ECJ, context_of(ECJ))[0].values[SERVICE] is True
