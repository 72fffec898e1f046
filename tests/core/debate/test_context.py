"""Second attempts: after an unreadable reply with the reason, after a cut reply with twice the output limit."""

from __future__ import annotations

from core.debate.context import parse_reply
from core.debate.protocols import PROTOCOLS
from core.debate.turns import Reply, Request
from tests.core.debate.playing import DOCUMENT, context_of, says

SINGLE = PROTOCOLS["single"]


def asked(first: Reply, second: Reply) -> tuple[list[Request], Reply]:
    """Return the requests for a decision and the reply that counts."""
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


def test_cut_reply_is_asked_for_once_more_with_twice_the_limit() -> None:
    whole = Reply(says("multilabel", "Service"))
    sent, reply = asked(Reply("Final Decision: Serv", finish_reason="length"), whole)
    assert [request.limit_factor for request in sent] == [1, 2]
    assert sent[0].messages == sent[1].messages
    assert reply.reading.present == (context_of(SINGLE).codebook.labels[0].id,)
    role_model = context_of(SINGLE).settings.role_models["annotator"]
    assert [request.output_limit(role_model) for request in sent] == [1024, 2048]


def test_reply_that_is_cut_twice_names_the_limit() -> None:
    _, reply = asked(Reply("Final Decision: Serv", finish_reason="length"), Reply("Final Dec", finish_reason="length"))
    assert "cut by the output limit" in reply.reading.problem
    assert "64 tokens" in reply.reading.problem


def test_readable_reply_that_was_cut_counts_if_the_second_is_unreadable() -> None:
    cut = Reply("Final Decision: Service\nBecause the st", finish_reason="length")
    _, reply = asked(cut, Reply("I cannot say."))
    assert reply.text == cut.text


def test_unreadable_reply_is_asked_for_once_more_naming_unread_words() -> None:
    sent, reply = asked(Reply("Final Decision: Service, Sauna"), Reply(says("multilabel", "Service")))
    assert [request.limit_factor for request in sent] == [1, 1]
    assert '"Sauna"' in sent[1].messages[-1].content
    assert reply.readable
