"""Tests of retries: an unreadable reply is retried with the reason, a cut reply with twice the output limit."""

from __future__ import annotations

from core.debate.context import parse_reply
from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reply, Request
from tests.core.debate.canned_debates import DOCUMENT, context_of, decision_text

SINGLE = PROTOCOLS["single"]


def request_decision(first: Reply, second: Reply) -> tuple[list[Request], Reply]:
    """Return the requests for one decision and the reply that is used."""
    context = context_of(SINGLE)
    sent: list[Request] = []
    steps = context.ask("annotator", form="labels")
    requests = next(steps)
    try:
        for reply in (first, second):
            sent += requests
            requests = steps.send((parse_reply(requests[0], reply, context.codebook, DOCUMENT, 64),))
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
        Reply("Final Decision: Serv", finish_reason="length"), Reply("Final Dec", finish_reason="length")
    )
    assert "cut by the output limit" in reply.reading.problem
    assert "64 tokens" in reply.reading.problem


def test_readable_cut_reply_is_used_if_the_retry_is_unreadable() -> None:
    cut = Reply("Final Decision: Service\nBecause the st", finish_reason="length")
    _, reply = request_decision(cut, Reply("I cannot say."))
    assert reply.text == cut.text


def test_unreadable_reply_is_retried_once_naming_the_unread_words() -> None:
    sent, reply = request_decision(
        Reply("Final Decision: Service, Sauna"), Reply(decision_text("multilabel", "Service"))
    )
    assert [request.limit_factor for request in sent] == [1, 1]
    assert '"Sauna"' in sent[1].messages[-1].content
    assert reply.readable
