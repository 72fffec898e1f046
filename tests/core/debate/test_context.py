"""Tests of retries: an unreadable reply is retried with the reason, a cut reply with twice the output limit."""

from __future__ import annotations

import pytest

from core.codebook import Kind
from core.debate.context import parse_reply
from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reply, ReplyError, Request
from tests.core.debate.canned_debates import DOCUMENT, PRICE, ROOM, SERVICE, context_of, decision_text, run_debate
from tests.each_row import each_row

SINGLE = PROTOCOLS["single"]


def request_decision(first: Reply, second: Reply, kind: Kind = "multilabel") -> tuple[list[Request], Reply]:
    """Return the requests for one decision and the reply that is used."""
    context = context_of(SINGLE, kind)
    sent: list[Request] = []
    steps = context.ask("annotator", form=context.form)
    requests = next(steps)
    try:
        for reply in (first, second):
            sent += requests
            requests = steps.send((parse_reply(requests[0], reply, context.codebook, DOCUMENT),))
    except StopIteration as end:
        return sent, end.value
    raise AssertionError("more than two requests")


def test_cut_reply_is_retried_once_with_twice_the_limit() -> None:
    complete = Reply(decision_text("multilabel", "Service"))
    sent, reply = request_decision(Reply("Final Decision: Serv", finish_reason="length"), complete)
    assert [request.limit_factor for request in sent] == [1, 2]
    assert sent[0].messages == sent[1].messages
    assert reply.reading.present == (context_of(SINGLE).codebook.labels[0].id,)
    role_model = context_of(SINGLE).settings.role_models["annotator"]
    assert [request.output_limit(role_model) for request in sent] == [1024, 2048]


def test_problem_of_a_reply_cut_twice_names_the_limit() -> None:
    _, reply = request_decision(
        Reply("Final Decision: Serv", finish_reason="length", output_limit=32),
        Reply("Final Dec", finish_reason="length", output_limit=64),
    )
    assert "cut by the output limit" in reply.reading.problem
    assert "64 tokens" in reply.reading.problem


def test_readable_cut_reply_is_used_if_the_retry_is_unreadable() -> None:
    cut = Reply("Final Decision: Service\nBecause the st", finish_reason="length")
    _, reply = request_decision(cut, Reply("I cannot say."))
    assert reply.text == cut.text


@pytest.mark.parametrize("kind", ["timeout", "context too long"])
def test_readable_cut_reply_is_used_if_the_retry_fails(kind: str) -> None:
    cut = Reply("Final Decision: Service\nBecause the st", finish_reason="length")
    _, reply = request_decision(cut, Reply(error=ReplyError(kind, "boom")))
    assert reply.text == cut.text


@pytest.mark.parametrize("text", ["", "<think>Long."])
def test_cut_reply_without_text_is_not_used_if_the_retry_fails(text: str) -> None:
    context = context_of(SINGLE)
    steps = context.ask_all((context.request("annotator"),))
    next(steps)
    steps.send((Reply(text, finish_reason="length"),))
    failed = Reply(error=ReplyError("length limit", "boom"))
    with pytest.raises(StopIteration) as end:
        steps.send((failed,))
    assert end.value.value == (failed,)


@pytest.mark.parametrize("text", ["", "<think>Hm. Service.</think>"])
def test_reply_without_text_is_retried_also_if_no_decision_is_needed(text: str) -> None:
    ecj = PROTOCOLS["ecj"]
    objection, cut = "Price is nowhere named.", Reply("An objection that", finish_reason="length")
    verdict, requests = run_debate(ecj, context_of(ecj), n1=text, n2=objection)
    assert [request.role for request in requests] == ["extractor", "critic", "critic", "judge"]
    assert "the reply is" in requests[2].messages[-1].content
    assert objection in requests[3].messages[1].content
    assert verdict.status == "verdict"
    _, requests = run_debate(ecj, context_of(ecj), n1=text, n2=text)
    assert "(This reply is empty.)" in requests[3].messages[1].content
    _, requests = run_debate(ecj, context_of(ecj), n1=cut, n2=text)
    assert cut.text in requests[3].messages[1].content  # a second reply without text is not used


def test_unreadable_reply_is_retried_once_naming_the_unread_words() -> None:
    sent, reply = request_decision(
        Reply("Final Decision: Service, Sauna"), Reply(decision_text("multilabel", "Service"))
    )
    assert [request.limit_factor for request in sent] == [1, 1]
    assert '"Sauna"' in sent[1].messages[-1].content
    assert reply.readable


def test_problem_says_whether_unknown_names_are_labels_of_the_codebook() -> None:
    request, codebook = Request("judge_1", (), item=SERVICE), context_of(SINGLE).codebook
    problems = [
        parse_reply(request, Reply(decision_text("multilabel", name)), codebook, DOCUMENT).reading.problem
        for name in ("Price", "Sauna")
    ]
    assert problems[0] == 'the decision names labels that were not asked about: "Price"'
    assert problems[1] == 'the decision names what is not in the codebook: "Sauna"'


def test_reasoning_of_an_unreadable_reply_is_not_sent_back() -> None:
    sent, _ = request_decision(Reply("<think>Long.</think>\nI cannot say."), Reply("Hm."))
    assert [message.content.strip() for message in sent[1].messages[2:-1]] == ["I cannot say."]
    sent, _ = request_decision(Reply("<think>Long.</think>"), Reply("Hm."))
    assert [message.role for message in sent[1].messages[2:]] == ["user"]


def test_missing_rating_is_requested_once_more_and_other_ratings_are_kept() -> None:
    partial = Reply(decision_text("rating", ratings={"Service": 3, "Price": 4, "Room": 9}))
    complete = Reply(decision_text("rating"))
    sent, reply = request_decision(partial, complete, "rating")
    assert "Room: 9 is outside 1 to 5" in sent[1].messages[-1].content
    assert reply.text == complete.text
    _, reply = request_decision(partial, Reply("I cannot say."), "rating")
    assert reply.text == partial.text


def test_second_reply_with_the_missing_rating_alone_adds_to_the_first() -> None:
    partial = Reply("<think>Hm.</think>" + decision_text("rating", ratings={"Service": 3, "Price": 4}))
    rest = Reply(decision_text("rating", ratings={"Room": 2}))
    sent, reply = request_decision(partial, rest, "rating")
    assert reply.reading.values == {SERVICE: 3, PRICE: 4, ROOM: 2}
    assert not reply.reading.undecided
    turn = parse_reply(sent[1], rest, context_of(SINGLE, "rating").codebook, DOCUMENT)
    assert turn.reading.values == reply.reading.values  # the role's stored values are those that the debate uses
    assert [words in reply.text for words in ("Service: 3", "Room: 2", "Hm.")] == [True, True, False]
    _, reply = request_decision(partial, Reply("Final Ratings:\nService: n/a\nPrice: 5\n"), "rating")
    assert reply.reading.values == {PRICE: 5}
    assert set(reply.reading.undecided) == {SERVICE, ROOM}


@each_row(
    "text",
    [
        "Final Ratings:\nService: 3\nPrice: n/a\nRoom: 4",
        '{"ratings": {"Service": 3, "Room": 4}, "undecided": [{"label": "Price", "reason": "no word on it"}]}',
    ],
)
def test_rating_that_the_role_leaves_open_is_not_requested_again(text: str) -> None:
    context = context_of(SINGLE, "rating")
    steps = context.ask("annotator", form=context.form)
    (request,) = next(steps)
    with pytest.raises(StopIteration):
        steps.send((parse_reply(request, Reply(text), context.codebook, DOCUMENT),))
