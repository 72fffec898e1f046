"""Tests of the ECJ protocol: the inputs of extractor, critic and judge, and the labels that the judge may choose."""

from __future__ import annotations

from core.debate.protocols import PROTOCOLS
from tests.core.debate.canned_debates import PRICE, SERVICE, context_of, decision_text, run_debate

ECJ = PROTOCOLS["ecj"]


def test_judge_cannot_add_labels_named_by_neither_analysis() -> None:
    verdict, _ = run_debate(ECJ, context_of(ECJ), n2=decision_text("multilabel", "Service", "Price"))
    assert list(verdict.values.values()) == [True, False, False]
    assert verdict.notes == ("'Price' was chosen by no earlier reply, left out",)


def test_judge_may_add_a_label_that_the_critic_mentions() -> None:
    verdict, _ = run_debate(
        ECJ,
        context_of(ECJ),
        n1="I agree on Service, but the Price is spoken of too.",
        n2=decision_text("multilabel", "Service", "Price"),
    )
    assert list(verdict.values.values()) == [True, True, False]
    assert not verdict.notes


def test_judge_may_choose_labels_that_an_analysis_left_open() -> None:
    open_label = "Undecided: Price\nThe aspects present in this review are: #Service"
    verdict, _ = run_debate(ECJ, context_of(ECJ), n0=open_label, n2=decision_text("multilabel", "Service", "Price"))
    assert list(verdict.values.values()) == [True, True, False]
    verdict, _ = run_debate(ECJ, context_of(ECJ, "choice"), n0="Undecided: Price", n2=decision_text("choice", "Price"))
    assert verdict.values == {"label": PRICE}


def test_choice_named_by_neither_analysis_is_unresolved() -> None:
    verdict, _ = run_debate(ECJ, context_of(ECJ, "choice"), n2=decision_text("choice", "Price"))
    assert verdict.values == {"label": None}
    assert verdict.reasons == {"label": "'Price' was chosen by no earlier reply"}
    verdict, _ = run_debate(ECJ, context_of(ECJ, "choice"), n1="No: Price.", n2=decision_text("choice", "Price"))
    assert verdict.values == {"label": PRICE}


def test_ratings_of_the_judge_are_not_restricted() -> None:
    verdict, _ = run_debate(ECJ, context_of(ECJ, "rating"), n2=decision_text("rating", ratings=2))
    assert set(verdict.values.values()) == {2}


def test_other_roles_replies_are_quoted_in_the_user_message() -> None:
    _, requests = run_debate(
        ECJ, context_of(ECJ), n0="<think>Secret.</think>\nThe aspects present in this review are: #Service"
    )
    judge = requests[2]
    assert [message.role for message in judge.messages] == ["system", "user"]
    assert "<analysis" in judge.messages[1].content
    assert "Secret" not in judge.messages[1].content
    assert judge.replies_to == ("extractor", "critic")
    assert run_debate(ECJ, context_of(ECJ))[0].values[SERVICE] is True


def test_extra_rounds_with_the_instructions_of_the_paper_show_earlier_replies() -> None:
    spec = PROTOCOLS["ecj"]
    context = context_of(spec, extra_rounds=1, preset="paper")
    _, requests = run_debate(spec, context)
    shown = ["The debate so far:" in request.messages[1].content for request in requests]
    assert shown == [False, False, False, True, True]


def test_critic_sees_the_debate_in_the_order_of_its_rounds() -> None:
    texts = [f"Reply {number}.\nThe aspects present in this review are: #Service" for number in range(5)]
    _, requests = run_debate(ECJ, context_of(ECJ, extra_rounds=1), lambda _request, number: texts[number])
    places = [requests[3].messages[1].content.index(f"Reply {number}.") for number in range(3)]
    assert places == sorted(places)
