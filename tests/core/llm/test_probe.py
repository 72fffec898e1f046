"""Tests of model capabilities: probed by small requests, and stored."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from aiohttp import web

from core.codebook import Codebook
from core.errors import BadRequest
from core.llm.capabilities import REMEMBERED_SECONDS, Capabilities, ModelCapabilities
from core.llm.connections import parse_connection
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel, RunSettings
from tests.servers.scripted import Behaviour, Scripted, event, piece, reply_with, stream


def probe(behave: Behaviour) -> tuple[ModelCapabilities, int]:
    with Scripted(behave) as server:

        async def go() -> ModelCapabilities:
            models = ModelLibrary([parse_connection("local", server.url)])
            role_model = models.resolve(RoleModel(connection="local", model="m"))
            run = RunSettings(protocol="single", codebook=Codebook(), role_models={}, templates={})
            try:
                return await models.probe_capabilities(role_model, run)
            finally:
                await models.close()

        return asyncio.run(go()), len(server.requests)


def test_capable_server_is_recognised_with_four_requests() -> None:
    async def capable(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if request.path != "/v1/chat/completions":
            return web.json_response({"data": []})
        text = '{"reasoning": "", "labels": []}' if "response_format" in body else f"words of seed {body.get('seed')}"
        reply = piece(text, finish="stop", reasoning_content="hm")
        if body.get("logprobs"):
            reply["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": -0.1}]}
        return await stream(request, event(reply))

    capabilities, requests = probe(capable)
    assert requests == 4
    assert (capabilities.seed, capabilities.logprobs, capabilities.schema, capabilities.reasons) == (
        True,
        True,
        "full",
        True,
    )


def test_server_that_ignores_parameters_is_recognised() -> None:
    counted = iter(range(100))

    async def ignoring(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if request.path != "/v1/chat/completions":
            return web.Response(status=404)
        return await reply_with(f"number {next(counted)}")(request, body)

    capabilities, _ = probe(ignoring)
    assert (capabilities.seed, capabilities.logprobs, capabilities.schema, capabilities.reasons) == (
        False,
        False,
        "ignored",
        False,
    )


@pytest.mark.parametrize(
    ("cut", "schema"), [('{"reasoning": "It rained and rai', "full"), ("It rained and", "ignored")]
)
def test_start_of_a_cut_reply_shows_whether_the_schema_was_followed(cut: str, schema: str) -> None:
    async def cutting(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if request.path != "/v1/chat/completions":
            return web.json_response({"data": []})
        with_schema = "response_format" in body
        text, finish = (cut, "length") if with_schema else ("a word", "stop")
        return await stream(request, event(piece(text, finish=finish)))

    assert probe(cutting)[0].schema == schema


def test_server_that_fails_on_schemas_is_recognised() -> None:
    async def failing(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if request.path != "/v1/chat/completions":
            return web.json_response({"data": []})
        return web.Response(status=500) if "response_format" in body else await reply_with("a word")(request, body)

    assert probe(failing)[0].schema == "none"


def test_capabilities_are_stored_except_refusals_of_local_servers() -> None:
    stored = Capabilities()
    far, near = parse_connection("far", "https://models.example/v1"), parse_connection("near", "http://127.0.0.1:9/v1")
    refusal = BadRequest("refused")
    refusal.server_text = "no temperature"
    for connection in (far, near):
        capabilities = stored.get(connection, "m")
        capabilities.learn(refusal, {"temperature": 1.0})
        capabilities.context = 4096
    stored.get(near, "never answered")
    rows = json.loads(json.dumps(stored.to_json()))
    assert {row["model"] for row in rows} == {"m"}
    loaded = Capabilities()
    loaded.recall(rows)
    assert loaded.get(far, "m").refused_params == {"temperature": [1.0]}
    assert loaded.get(near, "m").refused_params == {}, "another server may use the local address by now"
    assert loaded.get(near, "m").context == 4096
    old = [{**row, "at": time.time() - REMEMBERED_SECONDS - 1} for row in rows]
    later = Capabilities()
    later.recall(old)
    assert later.seen(far, "m") is None


def test_lowest_limits_of_other_processes_stay() -> None:
    near = parse_connection("near", "http://127.0.0.1:9/v1")
    limited, other, driver = Capabilities(), Capabilities(), Capabilities()
    for capabilities, limit, context, at in ((limited, 256, 4096, 1.0), (other, None, 8192, 2.0)):
        known = capabilities.get(near, "m")
        known.max_output_tokens, known.context, known.at = limit, context, at
    for capabilities in (limited, other):
        driver.lower_limits(capabilities.to_json())
    seen = driver.seen(near, "m")
    assert seen is not None
    assert (seen.max_output_tokens, seen.context, seen.at) == (256, 4096, 2.0)
