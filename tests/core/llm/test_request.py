"""Tests of JSON schemas for replies: conditions for a schema, its contents, and servers that refuse it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from core import errors
from core.codebook import Codebook, Label, Scale
from core.debate.quote_location import locate_evidence
from core.debate.reading.parse import read
from core.debate.turns import ReplyForm, Request
from core.engine.pending_turns import request_hash
from core.llm.capabilities import ModelCapabilities
from core.llm.model_library import ModelLibrary
from core.llm.request import instruction, request_schema, schema_for, without_bounds
from core.runs import RoleModel, RunSettings, Sampling
from tests.core.llm.asking import BOOK, MESSAGES, ask, refusing
from tests.each_row import each_row
from tests.servers.scripted import reply_with

REPLY = '{"reasoning": "kind staff", "labels": [{"label": "Service", "quotes": ["kind"]}]}'
CHOICE = Codebook(kind="choice", labels=(Label(name="Good"), Label(name="Bad")))
RATING = Codebook(kind="rating", labels=(Label(name="Clarity"),), scale=Scale(min=1, max=3))


def request_for(form: ReplyForm, reask: int = 0) -> Request:
    return Request("judge", MESSAGES, form=form, reask=reask)


def test_schema_is_requested_by_mode_and_only_for_decisions() -> None:
    def has_schema(mode: str) -> list[bool]:
        requests = [request_for("text"), request_for("labels"), request_for("labels", reask=1)]
        return [request_schema(Sampling(json_schema=mode), request, BOOK) is not None for request in requests]  # type: ignore[arg-type]

    assert has_schema("off") == [False, False, False]
    assert has_schema("auto") == [False, False, True]
    assert has_schema("on") == [False, True, True]


def test_schema_and_parser_accept_the_same_replies() -> None:
    labels = schema_for(request_for("labels"), BOOK)
    assert labels["required"] == ["reasoning", "labels"]
    assert labels["properties"]["labels"]["maxItems"] == 2
    assert labels["properties"]["labels"]["items"]["properties"]["label"]["enum"] == ["Service", "Food"]
    assert read(REPLY, BOOK).present == (BOOK.labels[0].id,)
    assert locate_evidence(REPLY, BOOK, {"text": "They were kind."})[0].start == 10
    choice = schema_for(request_for("choice"), CHOICE)
    assert choice["properties"]["label"]["enum"] == ["Good", "Bad"]
    reply = '{"reasoning": "", "quotes": [], "label": "Bad"}'
    assert read(reply, CHOICE).values == {"label": CHOICE.labels[1].id}
    ratings = schema_for(request_for("ratings"), RATING)
    assert ratings["properties"]["ratings"]["properties"]["Clarity"] == {"type": "integer", "enum": [1, 2, 3]}
    reply = '{"reasoning": "", "ratings": {"Clarity": 3}}'
    assert list(read(reply, RATING).values.values()) == [3]


def test_schema_of_an_answer_alone_has_no_place_for_reasons() -> None:
    forms: dict[ReplyForm, Codebook] = {"labels": BOOK, "choice": CHOICE, "ratings": RATING}
    schemas = {
        form: schema_for(Request("annotator", MESSAGES, form=form, answer_only=True), book)
        for form, book in forms.items()
    }
    assert {form: schema["required"] for form, schema in schemas.items()} == {
        "labels": ["labels"],
        "choice": ["label"],
        "ratings": ["ratings"],
    }
    assert schemas["labels"]["properties"]["labels"]["items"]["required"] == ["label"]
    assert read('{"labels": [{"label": "Service"}]}', BOOK).present == (BOOK.labels[0].id,)
    assert read('{"label": "Bad"}', CHOICE).values == {"label": CHOICE.labels[1].id}
    assert 'Its only key is "label".' in instruction(schemas["choice"])
    assert "List only the aspects that are present." in instruction(schemas["labels"])


def test_schema_has_the_scale_of_each_dimension() -> None:
    scales = (Scale(min=0, max=2), Scale(min=-1, max=1), Scale(min=0, max=100))
    labels = tuple(Label(name=name, scale=scale) for name, scale in zip(("A", "B", "C"), scales, strict=True))
    ratings = schema_for(request_for("ratings"), Codebook(kind="rating", labels=labels))["properties"]["ratings"]
    assert ratings["properties"] == {
        "A": {"type": "integer", "enum": [0, 1, 2]},
        "B": {"type": "integer", "enum": [-1, 0, 1]},
        "C": {"type": "integer", "minimum": 0, "maximum": 100},
    }


def test_schema_leaves_out_the_excluded_label_of_a_request() -> None:
    good, bad = CHOICE.labels
    request = Request("magistrate", MESSAGES, form="choice", excluded_label=good.id)
    schema = request_schema(Sampling(json_schema="on"), request, CHOICE)
    assert schema is not None
    assert schema["properties"]["label"]["enum"] == [bad.name]


def test_removing_bounds_keeps_a_label_named_like_one() -> None:
    odd = Codebook(kind="rating", labels=(Label(name="maxItems"),))
    plain = without_bounds(schema_for(request_for("ratings"), odd))
    assert "maxLength" not in json.dumps(plain)
    assert "maxItems" in plain["properties"]["ratings"]["properties"]


def test_schema_is_described_in_the_prompt_and_part_of_the_request_key() -> None:
    outcome = ask(reply_with(REPLY), json_schema="on")
    body = outcome.sent[0]
    assert body["response_format"]["json_schema"]["schema"] == schema_for(request_for("labels"), BOOK)
    assert '"reasoning", "labels"' in body["messages"][-1]["content"]
    assert outcome.capabilities.schema == "full"

    def key(mode: str, reask: int) -> str:
        role_model = RoleModel(connection="local", model="m", sampling=Sampling(json_schema=mode))  # type: ignore[arg-type]
        run = RunSettings(protocol="single", codebook=BOOK, role_models={"judge": role_model}, templates={})
        request = request_for("labels", reask)
        return request_hash(ModelLibrary(), request, run)

    assert key("off", 0) == key("auto", 0) != key("on", 0)
    assert key("auto", 1) == key("on", 1) != key("off", 1)


def test_refused_schema_falls_back_to_plain_text() -> None:
    words = {"error": {"message": "response_format of type json_schema is not supported by this model"}}
    outcome = ask(
        refusing(reply_with("none"), (lambda body: "response_format" in body, 400, words)), times=2, json_schema="on"
    )
    assert ["response_format" in body for body in outcome.sent] == [True, False, False]
    assert outcome.sent[1]["messages"][-1]["content"] == "Text."
    assert (outcome.reply.refused_params, outcome.capabilities.schema) == (("response_format",), "none")


def test_refused_bounds_are_removed_before_the_schema() -> None:
    words = {"error": {"message": "Invalid schema for response_format: 'maxLength' is not permitted."}}
    bounded = (lambda body: "maxLength" in json.dumps(body.get("response_format", "")), 400, words)
    outcome = ask(refusing(reply_with(REPLY), bounded), times=2, json_schema="on")
    assert [str(body["response_format"]).count("maxItems") for body in outcome.sent] == [2, 0, 0]
    assert (outcome.reply.refused_params, outcome.capabilities.schema) == ((), "plain")


@pytest.mark.parametrize(
    ("dialect", "status", "text"),
    [
        ("openai", 500, "Internal Server Error"),
        ("ollama", 500, "Internal Server Error"),
        ("openai", 400, "Request contains an invalid argument."),  # Gemini
    ],
)
def test_schema_is_dropped_for_a_server_that_fails_on_it(dialect: Any, status: int, text: str) -> None:
    async def failing(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "response_format" in body or "format" in body:
            return web.Response(status=status, text=text)
        if dialect == "ollama":
            return web.json_response({"message": {"content": "none"}, "done": True})
        return web.json_response({"choices": [{"message": {"content": "none"}, "finish_reason": "stop"}]})

    outcome = ask(failing, dialect=dialect, times=3, json_schema="on")
    assert [reply.text for reply in outcome.replies] == ["none"] * 3
    assert len(outcome.sent) == 5  # the third call omits the schema
    assert outcome.capabilities.schema == "none"
    assert outcome.reply.usage.estimated


def test_request_with_a_schema_is_repeated_if_another_request_learns_its_refusal_meanwhile() -> None:
    known: list[ModelCapabilities] = []

    def has_schema(body: dict[str, Any]) -> bool:
        if "response_format" in body:
            known[0].schema = "none"
        return "response_format" in body

    words = {"error": {"message": "Request contains an invalid argument."}}
    outcome = ask(refusing(reply_with("none"), (has_schema, 400, words)), json_schema="on", before=known.append)
    assert outcome.reply.text == "none"
    assert ["response_format" in body for body in outcome.sent] == [True, False]


def test_error_that_passes_is_not_taken_for_a_refused_schema() -> None:
    errors_left = iter([True])
    passing = (lambda _body: next(errors_left, False), 400, {"error": {"message": "Bad request."}})
    outcome = ask(refusing(reply_with(REPLY), passing), times=2, json_schema="on")
    assert ["response_format" in body for body in outcome.sent] == [True, False, True]
    assert outcome.capabilities.schema == "full"


def test_general_server_error_does_not_change_the_schema_capability() -> None:
    seen = []

    def prepare(capabilities: Any) -> None:
        seen.append(capabilities)

    with pytest.raises(errors.ServerFault):
        ask(refusing(reply_with(REPLY), (lambda _body: True, 500, {})), json_schema="on", before=prepare)
    assert seen[0].schema == ""


@each_row("status", [502, 503, 504, 529])
def test_overloaded_server_is_not_taken_for_one_without_schemas(status: int) -> None:
    seen: list[Any] = []
    refusals = iter([True])  # a second request would be answered
    behave = refusing(reply_with(REPLY), (lambda _body: next(refusals, False), status, {}))
    with pytest.raises(errors.ServerFault) as caught:
        ask(behave, json_schema="on", before=seen.append)
    assert caught.value.status == status
    assert seen[0].schema == ""
