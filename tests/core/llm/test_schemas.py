"""Replies held to a JSON schema: when one is asked for, what it says, and what happens where a server has none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.codebook import Codebook, Label, Scale
from core.debate.evidence import locate_evidence
from core.debate.reading.parse import read
from core.debate.turns import ReplyForm, Request
from core.engine.debate import request_hash
from core.llm.models import ModelLibrary
from core.llm.schemas import request_schema, schema_for, without_bounds
from core.runs import RoleModel, RunSettings, Sampling
from tests.core.llm.asking import BOOK, MESSAGES, ask, refusing
from tests.servers.scripted import saying

HELD = '{"reasoning": "kind staff", "labels": [{"label": "Service", "quotes": ["kind"]}]}'
CHOICE = Codebook(kind="choice", labels=(Label(name="Good"), Label(name="Bad")))
RATING = Codebook(kind="rating", labels=(Label(name="Clarity"),), scale=Scale(min=1, max=3))


def asking(form: ReplyForm, retry: int = 0) -> Request:
    return Request("judge", MESSAGES, form=form, retry=retry)


def test_it_is_asked_for_as_the_role_model_says_and_only_where_a_decision_is_owed() -> None:
    def when(mode: str) -> list[bool]:
        asks = [asking("text"), asking("labels"), asking("labels", retry=1)]
        return [request_schema(Sampling(json_schema=mode), one, BOOK) is not None for one in asks]  # type: ignore[arg-type]

    assert when("off") == [False, False, False]
    assert when("auto") == [False, False, True]
    assert when("on") == [False, True, True]


def test_what_a_schema_allows_is_what_the_parser_reads() -> None:
    labels = schema_for(asking("labels"), BOOK)
    assert labels["required"] == ["reasoning", "labels"]
    assert labels["properties"]["labels"]["maxItems"] == 2
    assert labels["properties"]["labels"]["items"]["properties"]["label"]["enum"] == ["Service", "Food"]
    assert read(HELD, "labels", BOOK).present == (BOOK.labels[0].id,)
    assert locate_evidence(HELD, BOOK, {"text": "They were kind."})[0].start == 10
    choice = schema_for(asking("choice"), CHOICE)
    assert choice["properties"]["label"]["enum"] == ["Good", "Bad"]
    said = '{"reasoning": "", "quotes": [], "label": "Bad"}'
    assert read(said, "choice", CHOICE).values == {"label": CHOICE.labels[1].id}
    ratings = schema_for(asking("ratings"), RATING)
    assert ratings["properties"]["ratings"]["properties"]["Clarity"] == {"type": "integer", "enum": [1, 2, 3]}
    said = '{"reasoning": "", "ratings": {"Clarity": 3}}'
    assert list(read(said, "ratings", RATING).values.values()) == [3]


def test_bounds_go_and_a_label_that_is_called_like_one_stays() -> None:
    odd = Codebook(kind="rating", labels=(Label(name="maxItems"),))
    plain = without_bounds(schema_for(asking("ratings"), odd))
    assert "maxLength" not in json.dumps(plain)
    assert "maxItems" in plain["properties"]["ratings"]["properties"]


def test_a_schema_goes_out_with_a_word_on_it_and_what_was_meant_is_in_the_key() -> None:
    told = ask(saying(HELD), json_schema="on")
    body = told.sent[0]
    assert body["response_format"]["json_schema"]["schema"] == schema_for(asking("labels"), BOOK)
    assert '"reasoning", "labels"' in body["messages"][-1]["content"]
    assert told.known.schema == "full"

    def key(mode: str, retry: int) -> str:
        role_model = RoleModel(connection="local", model="m", sampling=Sampling(json_schema=mode))  # type: ignore[arg-type]
        run = RunSettings(protocol="single", codebook=BOOK, role_models={}, templates={})
        one = asking("labels", retry)
        return request_hash(role_model, one, ModelLibrary().salt(role_model, one, run), 0)

    assert key("off", 0) == key("auto", 0) != key("on", 0)
    assert key("auto", 1) == key("on", 1) != key("off", 1)


def test_a_refused_schema_is_given_up_and_the_question_goes_out_as_text() -> None:
    words = {"error": {"message": "response_format of type json_schema is not supported by this model"}}
    told = ask(
        refusing(saying("none"), (lambda body: "response_format" in body, 400, words)), times=2, json_schema="on"
    )
    assert ["response_format" in body for body in told.sent] == [True, False, False]
    assert told.sent[1]["messages"][-1]["content"] == "Text."
    assert (told.reply.refused_params, told.known.schema) == (("response_format",), "none")


def test_bounds_that_are_refused_go_first() -> None:
    words = {"error": {"message": "Invalid schema for response_format: 'maxLength' is not permitted."}}
    bounded = (lambda body: "maxLength" in json.dumps(body.get("response_format", "")), 400, words)
    told = ask(refusing(saying(HELD), bounded), times=2, json_schema="on")
    assert [str(body["response_format"]).count("maxItems") for body in told.sent] == [2, 0, 0]
    assert (told.reply.refused_params, told.known.schema) == ((), "plain")


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_a_weak_server_that_breaks_on_a_schema_is_asked_without(dialect: Any) -> None:
    async def weak(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "response_format" in body or "format" in body:
            return web.Response(status=500, text="Internal Server Error")
        if dialect == "ollama":
            return web.json_response({"message": {"content": "none"}, "done": True})
        return web.json_response({"choices": [{"message": {"content": "none"}, "finish_reason": "stop"}]})

    told = ask(weak, dialect=dialect, times=2, json_schema="on")
    assert [one.text for one in told.replies] == ["none", "none"]
    assert len(told.sent) == 3  # the second ask knows
    assert told.known.schema == "none"
    assert told.reply.usage.estimated


def test_a_server_that_is_just_broken_has_said_nothing_on_schemas() -> None:
    seen = []

    def prepare(known: Any) -> None:
        seen.append(known)

    with pytest.raises(errors.ServerFault):
        ask(refusing(saying(HELD), (lambda _body: True, 500, {})), json_schema="on", before=prepare)
    assert seen[0].schema == ""
