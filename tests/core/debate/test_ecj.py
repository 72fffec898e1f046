"""Extractor, Critic, Judge: who hears whom, and that the judge keeps to what was named."""

from __future__ import annotations

from core.debate.protocols import PROTOCOLS
from tests.core.debate.playing import PRICE, SERVICE, context_of, play, says

ECJ = PROTOCOLS["ecj"]


def test_the_judge_decides_among_what_was_named_only() -> None:
    verdict, _ = play(ECJ, context_of(ECJ), n2=says("multilabel", "Service", "Price"))
    assert list(verdict.values.values()) == [True, False, False]
    assert verdict.notes == ("'Price' was named by neither analysis, left out",)


def test_a_label_that_the_critic_names_in_words_alone_may_be_added() -> None:
    verdict, _ = play(
        ECJ,
        context_of(ECJ),
        n1="I agree on Service, but the Price is spoken of too.",
        n2=says("multilabel", "Service", "Price"),
    )
    assert list(verdict.values.values()) == [True, True, False]
    assert not verdict.notes


def test_a_choice_that_neither_analysis_made_is_unresolved() -> None:
    verdict, _ = play(ECJ, context_of(ECJ, "choice"), n2=says("choice", "Price"))
    assert verdict.values == {"label": None}
    assert verdict.reasons == {"label": "'Price' was named by neither analysis"}
    verdict, _ = play(ECJ, context_of(ECJ, "choice"), n1="No: Price.", n2=says("choice", "Price"))
    assert verdict.values == {"label": PRICE}


def test_ratings_are_the_judge_s_own() -> None:
    verdict, _ = play(ECJ, context_of(ECJ, "rating"), n2=says("rating", ratings=2))
    assert set(verdict.values.values()) == {2}


def test_others_speak_as_material_in_a_user_message() -> None:
    _, requests = play(
        ECJ, context_of(ECJ), n0="<think>Secret.</think>\nThe aspects present in this review are: #Service"
    )
    judge = requests[2]
    assert [message.role for message in judge.messages] == ["system", "user"]
    assert "<analysis" in judge.messages[1].content
    assert "Secret" not in judge.messages[1].content
    assert judge.replies_to == ("extractor", "critic")
    assert play(ECJ, context_of(ECJ))[0].values[SERVICE] is True
