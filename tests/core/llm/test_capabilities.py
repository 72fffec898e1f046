"""Tests of refused parameters with error messages of real servers: left out, remembered and reported."""
# ruff: noqa: E501  (error messages are quoted verbatim)

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any

import pytest

from core import errors
from core.debate.turns import Usage
from core.llm.capabilities import Capabilities, ModelCapabilities
from core.llm.connections import Connection
from core.llm.failures import from_event, from_status
from core.prompts import Message
from core.runs import RoleModel
from tests.core.llm.asking import MESSAGES, ask, refusing
from tests.each_row import each_row
from tests.servers.scripted import event, piece, reply_with, sending

FINE = reply_with("fine")


def error_body(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def has(name: str) -> Any:
    return lambda body: name in body


@each_row(
    ("name", "status", "words", "sampling"),
    [
        ("temperature", 400, error_body("Unsupported value: 'temperature' does not support 0.2 with this model."), {"temperature": 0.2}),
        ("temperature", 400, error_body("Unsupported parameter.", param="temperature", code="unsupported_value"), {"temperature": 0.2}),
        ("temperature", 400, error_body("temperature参数非法。请检查文档。", code="1214"), {"temperature": 0.2}),  # Zhipu
        ("temperature", 400, {"statusCode": 400, "message": ["temperature must not be greater than 1"], "error": "Bad Request"}, {"temperature": 1.5}),
        ("seed", 400, {"type": "https://tools.ietf.org/html/rfc7231", "title": "A validation error occurred.", "errors": {"seed": ["It is unknown."]}}, {"seed": 3}),
        ("top_p", 422, {"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}, {"top_p": 0.5}),
        ("seed", 400, [error_body('Unknown name "seed": Cannot find field.')], {"seed": 3}),
        ("stream_options", 400, error_body("Unrecognized request argument supplied: stream_options"), {}),
        ("reasoning_effort", 400, error_body("This model does not support reasoning.effort"), {"reasoning_effort": "low"}),
        ("reasoning_effort", 400, {"code": "invalid-argument", "error": "Model grok-4 does not support parameter reasoningEffort."}, {"reasoning_effort": "low"}),
        ("reasoning_effort", 400, error_body("Thinking level is not supported for this model."), {"reasoning_effort": "low"}),
        ("reasoning_effort", 400, [error_body("Budget 0 is invalid. This model only works in thinking mode.")], {"reasoning_effort": "none"}),  # Gemini
        ("reasoning_effort", 400, [error_body("The model does not support setting thinking_budget to 0.")], {"reasoning_effort": "none"}),
        ("reasoning_effort", 400, error_body("Reasoning is mandatory for this endpoint and cannot be disabled."), {"reasoning_effort": "none"}),
        ("top_p", 400, error_body("`temperature` and `top_p` cannot both be specified for this model. Please use only one."), {"temperature": 0.2, "top_p": 0.9}),
        ("stream", 400, error_body("Your organization must be verified to stream this model.", param="stream"), {}),
        ("stream", 501, error_body("Streaming is not implemented."), {}),
    ],
)  # fmt: skip
def test_refused_parameter_is_left_out_once(name: str, status: int, words: Any, sampling: dict[str, Any]) -> None:
    outcome = ask(refusing(FINE, (has(name), status, words)), times=2, **sampling)
    assert [name in body for body in outcome.sent] == [True, False, False]
    assert outcome.reply.text == "fine"
    assert outcome.reply.refused_params == (name,)
    assert ("stream" in outcome.sent[-1]) or "stream_options" not in outcome.sent[-1]


def test_parameter_is_left_out_only_with_the_value_that_was_refused() -> None:
    capabilities = ModelCapabilities()
    refusal = errors.BadRequest("refused")
    refusal.server_text = "temperature: Input should be less than or equal to 1"
    assert capabilities.learn(refusal, {"temperature": 1.5, "seed": 3})
    assert capabilities.accepted({"temperature": 1.5, "seed": 3}) == {"seed": 3}
    assert capabilities.accepted({"temperature": 0}) == {"temperature": 0}
    refusal.server_text = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."
    assert capabilities.learn(refusal, {"reasoning_effort": "minimal"})
    assert capabilities.accepted({"reasoning_effort": "high"}) == {"reasoning_effort": "high"}
    assert capabilities.learn(refusal, {"reasoning_effort": "minimal"}), "of a request that was sent meanwhile"
    assert capabilities.refusals == ["reasoning_effort=minimal", "temperature=1.5"]
    refusal.server_text = "logprobs are not supported with reasoning models."
    assert capabilities.learn(refusal, {"reasoning_effort": "high", "logprobs": True})
    assert capabilities.accepted({"reasoning_effort": "high", "logprobs": True}) == {"reasoning_effort": "high"}
    refusal.server_text = "Unrecognized request argument supplied: seed"
    assert capabilities.learn(refusal, {"seed": 3})
    assert capabilities.accepted({"seed": 4}) == {}, "the next iteration"
    assert capabilities.learn(refusal, {"seed": 4}), "of an iteration that was sent meanwhile"
    assert capabilities.refusals[2:] == ["seed", "temperature=1.5"]


@each_row(
    "words",
    [
        error_body("For this model, temperature is not supported."),
        error_body("model m: the parameter temperature is not supported here"),
        error_body("Unsupported model parameter: temperature"),
        {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]},
        error_body("temperature must go along with an end token that is required"),
    ],
)
def test_refusal_in_other_words_is_not_read_as_missing_model_or_schema(words: Any) -> None:
    outcome = ask(refusing(FINE, (has("temperature"), 400, words)), temperature=0.2, json_schema="on")
    assert outcome.reply.refused_params == ("temperature",)
    assert "response_format" in outcome.sent[-1]
    assert len(outcome.sent) == 2


@each_row(
    "words",
    [
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        "max_tokens参数非法。请检查文档。",
    ],
)
def test_output_limit_uses_its_newer_name_or_is_left_out(words: str) -> None:
    outcome = ask(refusing(FINE, (has("max_tokens"), 400, error_body(words))), max_tokens=77)
    assert outcome.sent[-1]["max_completion_tokens"] == 77
    assert outcome.reply.refused_params == ()
    neither = error_body("max_tokens is not supported")
    rules = (
        (has("max_tokens"), 400, neither),
        (has("max_completion_tokens"), 400, error_body("no max_completion_tokens")),
    )
    outcome = ask(refusing(FINE, *rules), times=2)
    assert not {"max_tokens", "max_completion_tokens"} & outcome.sent[-1].keys()
    assert len(outcome.sent) == 4


def test_refusal_to_send_a_reply_that_reached_its_limit_is_a_cut_reply() -> None:
    words = "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens."
    outcome = ask(refusing(FINE, (has("max_tokens"), 400, error_body(words, type="invalid_request_error"))), times=2)
    assert [(reply.text, reply.finish_reason) for reply in outcome.replies] == [("", "length")] * 2
    assert outcome.capabilities.limit == "max_tokens"
    assert len(outcome.sent) == 2


def test_too_high_output_limit_is_lowered_to_the_servers_maximum() -> None:
    words = error_body("max_tokens is too large: 4000. This model supports at most 512 completion tokens.")
    outcome = ask(refusing(FINE, (lambda body: body["max_tokens"] > 512, 400, words)), times=2, max_tokens=4000)
    assert [body["max_tokens"] for body in outcome.sent] == [4000, 512, 512]


@each_row(
    "words",
    [
        "`max_tokens` must be less than or equal to `512`, the maximum value for `max_tokens` is less than the `context_window` for this model",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 512]",
        "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 512]",
        "max_tokens: 4000 > 512, which is the maximum allowed number of output tokens for m",
        "Unable to submit request because it has a maxOutputTokens value of 4000 but the supported range is from 1 (inclusive) to 513 (exclusive).",
        "Input validation error: `max_new_tokens` must be <= 512. Given: 4000",
        "The maximum tokens you requested exceeds the model limit of 512. Try again with a maximum tokens value that is lower than 512.",
    ],
)
def test_maximum_is_found_in_the_words_of_many_servers(words: str) -> None:
    rule = (lambda body: body["max_tokens"] > 512, 400, error_body(words))
    assert [body["max_tokens"] for body in ask(refusing(FINE, rule), max_tokens=4000).sent] == [4000, 512]


@each_row(
    "words",
    [
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 600 input tokens (4000 > 4096 - 600).",
        "This model's maximum context length is 4096 tokens. However, you requested 4600 tokens (600 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 4600 tokens.",
        "input length and `max_tokens` exceed context limit: 600 + 4000 > 4096, decrease input length or `max_tokens` and try again",
        "Prompt contains 600 tokens and 0 draft tokens, too large for model with 4096 maximum context length",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 600 `inputs` tokens and 4000 `max_new_tokens`",
        "Request too large for model `m` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 4096, Requested 4600, please reduce your message size and try again.",
        "Request too large for m on tokens per min (TPM): Limit 4096, Requested 4600. The input or output tokens must be reduced in order to run successfully.",
    ],
)
def test_output_limit_is_lowered_to_half_of_a_stated_context(words: str) -> None:
    rule = (lambda body: body["max_tokens"] + 600 > 4096, 400, error_body(words))
    sent = ask(refusing(FINE, rule), times=2, max_tokens=4000).sent
    assert [body["max_tokens"] for body in sent] == [4000, 2048, 2048]


def test_output_limit_is_lowered_although_another_request_in_flight_learned_the_context_first() -> None:
    known: list[ModelCapabilities] = []

    def too_long(body: dict[str, Any]) -> bool:
        known[0].context = 8192  # another request was refused while this one was on its way
        return bool(body["max_tokens"] + 3000 > 8192)

    words = error_body("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.")
    sent = ask(refusing(FINE, (too_long, 400, words)), max_tokens=6000, before=known.append).sent
    assert [body["max_tokens"] for body in sent] == [6000, 4096]


def test_prompt_that_exceeds_the_stated_context_alone_is_refused_after_one_repetition() -> None:
    sent: list[int] = []

    def too_long(body: dict[str, Any]) -> bool:
        sent.append(body["max_tokens"])
        return True

    with pytest.raises(errors.ContextTooLong):
        ask(refusing(FINE, (too_long, 400, error_body("maximum context length is 4096 tokens"))), max_tokens=4000)
    assert sent == [4000, 2048]


def test_tokens_beyond_the_context_are_not_taken_for_the_context() -> None:
    known: list[ModelCapabilities] = []
    sent: list[int] = []

    def too_long(body: dict[str, Any]) -> bool:
        sent.append(body["max_tokens"])
        return True

    words = error_body("prompt too long; exceeded max context length by 2012 tokens")
    with pytest.raises(errors.ContextTooLong):
        ask(refusing(FINE, (too_long, 400, words)), max_tokens=4000, before=known.append)
    assert (sent, known[0].context) == ([4000], None)


@each_row(("tokens", "expected"), [(4096, errors.ContextTooLong), (4095, errors.EmptyReply)])
def test_empty_reply_to_a_prompt_beyond_the_context_is_too_long(tokens: int, expected: type[errors.ModelError]) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 0}}  # LM Studio

    def publish(capabilities: ModelCapabilities) -> None:
        capabilities.context = 4096

    with pytest.raises(expected) as caught:
        ask(sending(event(piece(finish="stop")), event(usage)), before=publish)
    assert caught.value.billed[0] == tokens


@each_row(("tokens", "refused"), [(7159, False), (7160, True), (7168, True), (7169, False)])
def test_prompt_whose_beginning_the_server_dropped_is_too_long(tokens: int, refused: bool) -> None:
    # Xinference keeps the last "context - max_tokens - 8" tokens of a longer prompt and reports only these.
    usage = {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 4, "total_tokens": tokens + 4}}
    behave = sending(event(piece("fine", finish="stop")), event(usage))

    def publish(capabilities: ModelCapabilities) -> None:
        capabilities.context = 8192

    if not refused:
        assert ask(behave, max_tokens=1024, before=publish).reply.text == "fine"
        return
    with pytest.raises(errors.ContextTooLong, match="read only the end of a prompt") as caught:
        ask(behave, max_tokens=1024, before=publish)
    assert caught.value.billed == (tokens, 4, 0)
    assert caught.value.partial == "fine"


@each_row(
    ("headers", "words", "wait"),
    [
        ({"retry-after": "7"}, "slow", 7.0),
        ({"retry-after-ms": "150"}, "slow", 0.15),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "slow", 0.0),
        ({"llm_provider-retry-after": "60"}, "No deployments available for selected model. Passed model=m.", 60.0),
        ({"x-ratelimit-reset": "9"}, "slow", 9.0),
        ({"x-ratelimit-reset": "1500000000"}, "slow", 0.0),
        ({"x-ratelimit-reset": "1500000000000"}, "slow", 0.0),
        ({}, "Rate limit reached. Please try again in 6.2s.", 6.2),
        ({}, "Rate limit reached. Please try again in 250ms.", 0.25),
        ({}, "Rate limit reached. Please try again in 1m26.4s.", 86.4),
        ({}, "Rate limit reached. Please try again in 20 seconds.", 20.0),
        ({}, "Rate limit exceeded. Please wait 1 minute 5 seconds before retrying.", 65.0),
        ({"retry-after": "7s"}, "slow", 7.0),
        (
            {},
            "You exceeded your current quota, please check your plan and billing details. Please retry in 37.4s.",
            37.4,
        ),
        (
            {},
            "You exceeded your current quota, please check your plan and billing details. "
            "For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit",
            None,
        ),
        ({}, "slow down", None),
    ],
)
def test_requested_wait_of_a_rate_limit_is_found(headers: dict[str, str], words: str, wait: float | None) -> None:
    error = from_status(429, json.dumps(error_body(words)).encode(), headers, RoleModel(connection="c", model="m"))
    assert (type(error), error.retry_after) == (errors.RateLimited, wait)


@pytest.mark.parametrize(
    "error",
    [
        {"code": 429, "message": "You exceeded your current quota. Please retry in 21.2s."},
        {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 21.2s."},
        "litellm.RateLimitError: Too many tokens per minute. Please try again in 21.2s.",
    ],
    ids=["code", "type", "text"],
)
def test_requested_wait_of_a_rate_limit_within_a_stream_is_found(error: object) -> None:
    limited = from_event(error, RoleModel(connection="c", model="m"))
    assert (type(limited), limited.retry_after) == (errors.RateLimited, 21.2)


def test_quota_for_hours_is_spent() -> None:
    words = error_body("You exceeded your current quota. Please retry in 14h22m.")
    with pytest.raises(errors.QuotaSpent):
        ask(refusing(FINE, (lambda _body: True, 429, words)))


def test_loading_model_is_waited_for() -> None:
    with pytest.raises(errors.ServerFault, match="Loading model") as caught:
        ask(refusing(FINE, (lambda _body: True, 503, error_body("Loading model", code=503, type="unavailable_error"))))
    assert caught.value.retry_after == 10
    assert "Resume the run when the model is loaded" in caught.value.remedy


def test_message_of_a_provider_behind_a_router_is_read() -> None:
    raw = {"error": {"message": "Unsupported value: 'temperature' does not support 0.2 with this model."}}
    words = error_body("Provider returned error", code=400, metadata={"raw": json.dumps(raw), "provider_name": "X"})
    assert ask(refusing(FINE, (has("temperature"), 400, words)), temperature=0.2).reply.refused_params == (
        "temperature",
    )


def test_error_of_a_proxy_within_the_detail_of_its_framework_is_read() -> None:
    body = {"detail": error_body("Incorrect API key provided.", type="invalid_request_error", code="invalid_api_key")}
    with pytest.raises(errors.Unauthorised, match=r"answered 403 for m: Incorrect API key provided\. "):  # lm-proxy 3.3
        ask(refusing(FINE, (lambda _body: True, 403, body)))


@each_row(
    "body",
    [
        {"timestamp": "2026", "status": 400, "error": "Bad Request", "message": "the moon is full", "path": "/v1"},
        {"code": 20015, "msg": "the moon is full"},
        {"type": "https://tools.ietf.org/html/rfc7231", "title": "the moon is full", "status": 400},
        {"error": {"type": "odd", "reason": "the moon is full"}},
        {"error": None, "message": "the moon is full"},
        {"error": ["the moon is full"]},
    ],
)
def test_cause_is_shown_wherever_the_body_names_it(body: Any) -> None:
    with pytest.raises(errors.BadRequest, match="the moon is full"):
        ask(refusing(FINE, (lambda _body: True, 400, body)))
    with pytest.raises(errors.ServerFault, match=r"in mid-stream: .*the moon is full"):
        ask(sending(event({"error": body})))


def test_error_that_is_true_adds_nothing_to_the_message() -> None:
    words = {"error": True, "message": "the moon is full"}
    with pytest.raises(errors.BadRequest, match="answered 400 for m: the moon is full"):
        ask(refusing(FINE, (lambda _body: True, 400, words)))


def test_code_stands_for_an_empty_message() -> None:
    body = {"detail": error_body("", type="invalid_request_error", code="invalid_api_key")}  # FastChat
    with pytest.raises(errors.Unauthorised, match=r"answered 401 for m: invalid_api_key invalid_request_error\. "):
        ask(refusing(FINE, (lambda _body: True, 401, body)))


def test_schema_that_is_too_large_is_left_out() -> None:  # Claude
    words = error_body(
        "The compiled grammar is too large. Simplify your tool schemas or reduce the number of strict tools."
    )
    outcome = ask(refusing(FINE, (has("response_format"), 400, words)), json_schema="on")
    assert outcome.reply.refused_params == ("response_format",)


def test_schema_that_a_model_failed_to_follow_is_left_out() -> None:
    words = error_body("Failed to generate JSON. Please adjust your prompt.", code="json_validate_failed")
    assert ask(refusing(FINE, (has("response_format"), 400, words)), json_schema="on").reply.text == "fine"


def test_error_page_is_shown_as_text() -> None:
    page = (
        b"<html>\r\n<head><title>502 Bad Gateway</title><style>b{}</style></head>\r\n<body><h1>nginx</h1></body></html>"
    )
    error = from_status(502, page, {}, RoleModel(connection="c", model="m"))
    assert error.message == "c answered 502 for m: 502 Bad Gateway nginx."


def test_missing_page_of_a_web_interface_suggests_the_address() -> None:
    page = b"<!DOCTYPE html><html><head><title>Xinference</title></head><body><a>Launch Model</a></body></html>"
    error = from_status(404, page, {}, RoleModel(connection="c", model="m"))
    assert "ends in /v1" in error.remedy
    assert (
        "ends in /v1"
        not in from_status(404, b'{"error": "model m not found"}', {}, RoleModel(connection="c", model="m")).remedy
    )


def test_forbidding_web_page_suggests_a_firewall() -> None:
    page = b"<!DOCTYPE html><title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>"
    role_model = RoleModel(connection="c", model="m")
    assert "firewall" in from_status(403, page, {}, role_model).remedy
    assert "firewall" not in from_status(401, page, {}, role_model).remedy
    assert "firewall" not in from_status(403, b'{"error": "invalid key"}', {}, role_model).remedy
    page = b"<title>Access denied</title>Your country, region, or territory is not supported."
    assert "region" in from_status(403, page, {}, role_model).remedy


@each_row(
    ("status", "words"),
    [
        (400, "System role not supported"),
        (500, "System role not supported"),
        (400, "Only user and assistant roles are supported!"),
        (400, "A conversation must alternate between user and assistant roles."),
        (
            400,
            "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
        ),
        (422, "[{'loc': ['body', 'messages', 0, 'role'], 'msg': \"Input should be 'user' or 'assistant'\"}]"),
    ],
)
def test_refused_system_message_is_merged_into_the_user_message(status: int, words: str) -> None:
    rules = (lambda body: body["messages"][0]["role"] == "system", status, error_body(words))
    outcome = ask(refusing(FINE, rules))
    assert outcome.sent[-1]["messages"] == [{"role": "user", "content": "You label.\n\nText."}]


def test_roles_alternate_for_a_model_without_system_messages() -> None:
    messages = (*MESSAGES, Message("user", "Answer again."), Message("assistant", "#Food"), Message("user", "Sure?"))
    sent = ModelCapabilities(no_system=True).messages(messages)
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", "You label.\n\nText.\n\nAnswer again."),
        ("assistant", "#Food"),
        ("user", "Sure?"),
    ]


def test_demand_for_alternating_roles_is_learned_without_a_system_message() -> None:
    messages = (Message("user", "Text."), Message("user", "Answer again."))
    rule = (lambda body: len(body["messages"]) > 1, 400, error_body("Conversation roles must alternate user/assistant"))
    sent = ask(refusing(FINE, rule), messages=messages).sent
    assert [len(body["messages"]) for body in sent] == [2, 1]


def test_highest_price_of_a_token_follows_from_stated_costs() -> None:
    capabilities = ModelCapabilities()
    assert capabilities.highest_cost(Usage(1, 1)) is None
    capabilities.note_cost(Usage(100, 10), 0.02)
    assert capabilities.highest_usd == pytest.approx([0.0002, 0.002])
    capabilities.note_cost(Usage(200, 1, cached_tokens=150), 0.015)  # the cached tokens may have cost less
    assert capabilities.highest_usd == pytest.approx([0.0002, 0.002])
    capabilities.note_cost(Usage(1000, 100), 0.11)
    assert capabilities.highest_cost(Usage(10, 10)) == pytest.approx(10 * 0.00011 + 10 * 0.0011)
    capabilities.note_cost(Usage(10, 10), 1.0)  # the server has raised its prices
    assert capabilities.highest_usd == pytest.approx([0.1, 0.1])


def test_test_of_a_model_keeps_its_prices() -> None:
    known, connection = Capabilities(), Connection(name="far", base_url="https://models.invalid/v1")
    learned = known.get(connection, "m")
    learned.reasons, learned.at = True, time.time()
    learned.note_cost(Usage(100, 10), 0.02)
    known.forget(connection, "m")
    assert known.get(connection, "m") == ModelCapabilities(highest_usd=learned.highest_usd)
    again = Capabilities()
    again.recall(json.loads(json.dumps([{"base_url": connection.base_url, "model": "m", **asdict(learned)}])))
    assert again.get(connection, "m") == learned


def test_refusal_without_a_fallback_is_raised() -> None:
    with pytest.raises(errors.BadRequest, match="temperature"):
        ask(refusing(FINE, (lambda _body: True, 400, error_body("temperature, always temperature"))), temperature=1.0)
    words = error_body("the stream is broken")  # the Ollama API always streams
    with pytest.raises(errors.BadRequest):
        ask(refusing(FINE, (lambda _body: True, 400, words)), dialect="ollama")


def test_parameter_names_in_a_model_name_are_ignored() -> None:
    # Only the message of the server is searched for parameter names; a model can be named "seed-1" and a connection
    # "stream".
    error = from_status(400, b'{"error": {"message": "bad"}}', {}, RoleModel(connection="stream", model="seed-1"))
    assert error.server_text == "bad"


@each_row(
    ("status", "body", "expected"),
    [
        (400, error_body("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), errors.Unauthorised),
        (400, error_body("Incorrect API key provided: sk-12***. Get one at the console."), errors.Unauthorised),
        (403, error_body("Project does not have access to model `gpt-x`", code="model_not_found"), errors.NoSuchModel),
        (400, error_body("gpt-x is not a valid model ID"), errors.NoSuchModel),
        (400, {"object": "error", "message": "The model `m` does not exist.", "code": 400}, errors.NoSuchModel),
        (404, {"error": "model 'm' not found"}, errors.NoSuchModel),
        (404, {"detail": "Not Found"}, errors.NoSuchModel),
        (405, {"detail": "Method Not Allowed"}, errors.NoSuchModel),
        (402, error_body("Insufficient Balance"), errors.QuotaSpent),
        (429, error_body("You exceeded your current quota, please check your plan and billing details."), errors.QuotaSpent),
        (400, error_body("Your credit balance is too low to access the API."), errors.QuotaSpent),
        (400, error_body("You have reached your specified API usage limits. You will regain access on 2026-04-01."), errors.QuotaSpent),
        (429, {"message": "Tokens per minute limit exceeded", "type": "too_many_tokens_error", "param": "quota", "code": "token_quota_exceeded"}, errors.RateLimited),
        (429, error_body("Rate limit reached for gpt-x on tokens per min (TPM): Limit 10000, Used 9800"), errors.RateLimited),
        (429, error_body("Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 15000."), errors.ContextTooLong),
        (403, error_body("Your chosen model requires moderation and your input was flagged"), errors.Refused),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 6018, "n_ctx": 1280,
              "message": "request (6018 tokens) exceeds the available context size (1280 tokens), try increasing it"}}, errors.ContextTooLong),
        (400, {"object": "error", "type": "BadRequestError", "code": 400, "message": "This model's maximum context length is 4096 tokens. "
               "However, you requested 5120 tokens (4096 in the messages, 1024 in the completion)."}, errors.ContextTooLong),
        (400, error_body("'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 512 tokens "
                   "and your request has 100 input tokens (1024 > 512 - 100)."), errors.ContextTooLong),
        (400, error_body("The decoder prompt (length 5000) is longer than the maximum model length of 4096."), errors.ContextTooLong),
        (400, error_body("Your messages resulted in 9001 tokens.", code="context_length_exceeded"), errors.ContextTooLong),
        (400, error_body("prompt is too long: 210000 tokens > 200000 maximum"), errors.ContextTooLong),
        (400, error_body("The input token count (40000) exceeds the maximum number of tokens allowed (32768)."), errors.ContextTooLong),
        (400, error_body("This model's maximum prompt length is 131072 but the request contains 140000 tokens."), errors.ContextTooLong),
        (400, error_body("input is too long for requested model"), errors.ContextTooLong),
        (400, error_body("tokens in request more than max tokens allowed", code="1261"), errors.ContextTooLong),
        (400, error_body("Model Not Exist"), errors.NoSuchModel),
        (400, error_body("litellm.BadRequestError: You passed in model=m. There are no healthy deployments for this model\n\nLiteLLM: model group "
                   "'m' failed with the error above. No fallback was attempted.", type="invalid_request_error", code="400"), errors.NoSuchModel),
        (400, "<html><h1>400</h1>The plain HTTP request was sent to HTTPS port</html>", errors.OtherProtocol),
        (400, "Client sent an HTTP request to an HTTPS server.", errors.OtherProtocol),
        (400, error_body("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens`"), errors.ContextTooLong),
        (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500", "error_type": "validation"}, errors.ContextTooLong),
        (400, error_body("Range of input length should be [1, 30720]", code="invalid_parameter_error"), errors.ContextTooLong),
        (400, error_body("input tokens exceed the configured limit of 272000 tokens."), errors.ContextTooLong),
        (400, error_body("Provider returned error", code=400, metadata={"raw": '{"error":{"message":"maximum context length is 8192 tokens"}}'}), errors.ContextTooLong),
        (413, {}, errors.ContextTooLong),
        (400, {"error": "Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)"}, errors.ContextTooLong),
        (500, error_body("Prompt length 5000 is greater than max_seq_len 4096"), errors.ContextTooLong),
        (400, error_body("Unable to submit request because the input token count is 1200000 but model only supports up to 1048576."), errors.ContextTooLong),
        (400, error_body("Invalid request: Your request exceeded model token limit: 8192"), errors.ContextTooLong),
        (400, error_body("Prompt 超长", code="1261"), errors.ContextTooLong),
        (400, {"error_code": 336007, "error_msg": "the max input characters is 20000"}, errors.ContextTooLong),
        (400, {"errors": [{"message": "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model"}]}, errors.ContextTooLong),
        (400, error_body("The sum of prompt length (5000.0) and query length (0) should not exceed max_num_tokens (4096)"), errors.ContextTooLong),
        (410, {"error": "The requested model is deprecated and no longer supported by provider x"}, errors.NoSuchModel),
        (400, error_body("The model `m` has been decommissioned and is no longer supported.", code="model_decommissioned"), errors.NoSuchModel),
        (400, error_body("Authentication Error, Invalid proxy server token passed.", type="auth_error"), errors.Unauthorised),
        (400, error_body("No connected db.", type="no_db_connection", param=None, code="400"), errors.Unauthorised),
        (424, {"error": "Request failed during generation: Server error: CUDA error", "error_type": "generation"}, errors.ServerFault),
        (498, error_body("Flex tier capacity exceeded"), errors.ServerFault),
        (204, "", errors.MalformedStream),
        (500, error_body("the request exceeds the available context size"), errors.ContextTooLong),
        (529, error_body("Overloaded"), errors.ServerFault),
        (400, error_body("Unable to access model m.", code="model_not_available"), errors.NoSuchModel),
        (400, {"detail": "Server is pinned to '/models/tiny'; requested 'm'."}, errors.NoSuchModel),  # transformers serve
        (400, {"object": "error", "message": "Only tiny allowed now, your model m", "code": 40301}, errors.NoSuchModel),  # FastChat
        (400, {"message": "The provided model identifier is invalid."}, errors.NoSuchModel),
        (422, {"detail": [{"msg": "Extra inputs are not permitted", "input": {"content": "We did not get any credit."}}]},
         errors.BadRequest),
        (403, error_body("user quota is not enough (request id: 2024)", code="insufficient_user_quota"), errors.QuotaSpent),  # One API
        (403, {"code": "INSUFFICIENT_BALANCE", "message": "Insufficient account balance"}, errors.QuotaSpent),
        (403, {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}, errors.QuotaSpent),
        (403, {"code": 403, "reason": "NOT_ENOUGH_BALANCE", "message": "not enough balance"}, errors.QuotaSpent),
        (429, {"error": "you (x) have reached your session usage limit, upgrade for higher limits"}, errors.QuotaSpent),
        (403, {"code": "The caller does not have permission to execute the specified operation",
               "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}, errors.Refused),  # xAI
        (400, {"message": "ThrottlingException: Too many tokens, please wait before trying again."}, errors.RateLimited),
        (500, {"detail": "An error occurred (ThrottlingException): Too many tokens, please wait before trying again."}, errors.RateLimited),
        (429, error_body("Rate limit of 150 per 86400s exceeded for UserByModelByDay. Please wait 30000 seconds before retrying."), errors.LongWait),
        (499, error_body("The operation was cancelled.", status="CANCELLED"), errors.ServerFault),  # Gemini
        (400, error_body("Tool choice is none, but model called a tool", code="tool_use_failed"), errors.ServerFault),  # Groq
        (400, error_body("Parsing failed. The model generated output that could not be parsed.", code="output_parse_failed"), errors.ServerFault),
        (400, {"error": "The model has crashed without additional information. (Exit code: 6)"}, errors.ServerFault),  # LM Studio
        (400, {"error": 'Failed to load model "m". Error: Operation canceled.'}, errors.ServerFault),
        (412, error_body("Account x is suspended, possibly due to reaching the monthly spending limit."), errors.QuotaSpent),
        (403, {"code": "The caller does not have permission", "error": "Your newly created team doesn't have any credits yet."}, errors.QuotaSpent),
        (400, error_body("Budget has been exceeded! Current cost: 10.2, Max budget: 10.0", type="budget_exceeded"), errors.QuotaSpent),
        (400, error_body("Access denied, please make sure your account is in good standing.", code="Arrearage"), errors.QuotaSpent),
        (429, {"error": "you have reached your weekly usage limit, upgrade for higher limits"}, errors.QuotaSpent),
        (429, error_body("Rate limit exceeded: free-models-per-day."), errors.QuotaSpent),
        (429, [error_body("Your project has exceeded its monthly spending cap.", status="RESOURCE_EXHAUSTED")], errors.QuotaSpent),  # Gemini
        (429, [error_body("Your prepayment credits are depleted.", status="RESOURCE_EXHAUSTED")], errors.QuotaSpent),
        (400, error_body("This request has been flagged for potentially high-risk cyber activity.", code="cyber_policy"), errors.Refused),  # OpenAI
        (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "It appears to violate our Usage Policy."}}, errors.Refused),  # Claude
        (403, error_body("Your account has been flagged for unusual activity."), errors.Unauthorised),
        (429, error_body("Rate limit reached on tokens per day (TPD). Please try again in 1m26.4s."), errors.RateLimited),
        (429, error_body("余额不足或无可用资源包,请充值。", code="1113"), errors.QuotaSpent),
        (400, error_body("Output blocked by content filtering policy", type="invalid_request_error"), errors.Refused),  # Claude
        (400, error_body("Input data may contain inappropriate content.", code="data_inspection_failed"), errors.Refused),
        (400, error_body("系统检测到输入或生成内容可能包含不安全或敏感内容,请您避免输入易产生敏感内容的提示语。", code="1301"), errors.Refused),
    ],
)  # fmt: skip
def test_error_messages_of_servers_map_to_error_types(
    status: int, body: Any, expected: type[errors.ModelError]
) -> None:
    with pytest.raises(errors.ModelError) as caught:
        ask(refusing(FINE, (lambda _body: True, status, body)), max_tokens=100)
    assert type(caught.value) is expected
    assert caught.value.remedy


def test_every_model_error_has_its_own_kind_and_remedy() -> None:
    kinds = [
        member for member in vars(errors).values() if isinstance(member, type) and issubclass(member, errors.ModelError)
    ]
    kinds.remove(errors.ModelError)
    assert len({one.kind for one in kinds}) == len({one.advice for one in kinds}) == len(kinds) == 20
    assert all(error_class("It failed.").remedy == error_class.advice for error_class in kinds)
    assert errors.NoSuchModel.kind == "no such model"  # stored rows contain it


def test_part_of_the_model_errors_can_be_retried() -> None:
    assert errors.Unreachable.retryable
    assert not errors.Redirected.retryable  # although it is Unreachable
    assert not errors.Unauthorised.retryable


def test_stream_cut_after_finish_reason_is_complete() -> None:
    outcome = ask(sending(event(piece("all of it", finish="stop")), drop=True))
    assert outcome.reply.text == "all of it"
    assert outcome.reply.usage.estimated


def test_thinking_parts_are_separated_from_the_text() -> None:
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    outcome = ask(
        sending(event(piece(content=thought)), event(piece(content=[{"type": "text", "text": "yes"}], finish="stop")))
    )
    assert (outcome.reply.text, outcome.reply.reasoning) == ("yes", "hm")
    assert outcome.capabilities.reasons


def test_content_of_one_part_is_read() -> None:
    outcome = ask(sending(event(piece(content={"type": "text", "text": "yes"}, finish="stop"))))
    assert outcome.reply.text == "yes"


def test_output_limit_without_any_text_fails_the_second_attempt_of_a_plain_text_role() -> None:
    # A request for a decision gets an unreadable reply instead, and its label is unresolved.
    behave = sending(event(piece(reasoning_content="hm " * 9)), event(piece(finish="length")))
    outcome = ask(behave, form="text", max_tokens=8)
    assert (outcome.reply.text, outcome.reply.finish_reason) == ("", "length")
    with pytest.raises(errors.LengthLimit, match="output limit of 16 tokens") as caught:
        ask(behave, form="text", reask=1, limit_factor=2, max_tokens=8)
    assert "max_tokens" in caught.value.remedy
    outcome = ask(behave, reask=1, max_tokens=8)
    assert (outcome.reply.text, outcome.reply.finish_reason) == ("", "length")


@each_row(
    ("status", "words", "remedy"),
    [
        # LiteLLM 1.108 without a key, if its package prisma is missing; transformers serve for an unknown model
        (500, "Internal Server Error", "missing key or an unknown model"),
        (401, error_body("litellm.AuthenticationError: AuthenticationError: OpenAIException - Invalid API Key\n\nLiteLLM: "
                         "model group 'm' failed with the error above. No fallback was attempted."), "configuration of the proxy"),
        (401, error_body("Authentication Error, LiteLLM Virtual Key expected. Received=sk-w****, expected to start with 'sk-'."),
         "the key for this connection"),
    ],
)  # fmt: skip
def test_remedy_says_which_key_to_correct(status: int, words: Any, remedy: str) -> None:
    with pytest.raises(errors.ModelError) as caught:
        ask(refusing(FINE, (lambda _body: True, status, words)))
    assert remedy in caught.value.remedy


@each_row("words", ["model requires more system memory (8 GiB) than is available", "CUDA out of memory"])
def test_server_out_of_memory_suggests_a_smaller_model(words: str) -> None:
    with pytest.raises(errors.ServerFault, match="smaller model"):
        ask(refusing(FINE, (lambda _body: True, 500, error_body(words))))
