"""Tests of model capabilities: read from model lists, probed by small requests, and stored."""

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
from core.llm.connections import PRESETS, parse_connection
from core.llm.models import ModelLibrary
from core.llm.probe import ModelInfo, fetch_model_info
from core.runs import RoleModel, RunSettings
from tests.servers.ollama import PLAIN, THINKER, ollama
from tests.servers.scripted import Behaviour, Scripted, event, piece, reply_with, stream


def info_from(behave: Behaviour, *, model: str = "m", native: bool = False) -> tuple[ModelInfo, list[str]]:
    with Scripted(behave) as server:
        connection = parse_connection(
            "ollama" if native else "local", server.url.removesuffix("/v1") if native else server.url
        )

        async def go() -> ModelInfo:
            models = ModelLibrary([connection])
            try:
                return await fetch_model_info(models.session, connection, None, model)
            finally:
                await models.close()

        return asyncio.run(go()), server.paths


def listing(*entries: Any, props: Any = None, status: int = 200) -> Behaviour:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        reply = props if request.path == "/props" else {"data": list(entries)}
        return web.json_response(reply, status=status)

    return behave


@pytest.mark.parametrize(
    ("entry", "context"),
    [
        ({"id": "m", "max_model_len": 4096, "owned_by": "vllm"}, 4096),
        ({"id": "m", "owned_by": "openai", "max_input_tokens": 128000, "max_output_tokens": 16384}, 128000),  # LiteLLM
        ({"id": "m", "context_length": 131072}, 131072),
        ({"id": "alias-of-the-only-one", "max_model_len": 512}, 512),
        ({"id": "m"}, None),
        ({"id": "m", "max_model_len": "many"}, None),
        ("m", None),
    ],
)
def test_context_is_read_from_the_model_list(entry: Any, context: int | None) -> None:
    assert info_from(listing(entry))[0].context == context


def test_llama_cpp_context_is_read_from_its_properties() -> None:
    behave = listing({"id": "m", "owned_by": "llamacpp"}, props={"default_generation_settings": {"n_ctx": 1280}})
    info, paths = info_from(behave)
    assert info.context == 1280
    assert paths == ["/v1/models", "/props"]


def test_ollama_context_and_thinking_are_read() -> None:
    with ollama() as server:
        connection = parse_connection("ollama", server.url.removesuffix("/v1"))

        async def go() -> list[ModelInfo]:
            models = ModelLibrary([connection])
            try:
                return [await fetch_model_info(models.session, connection, None, model) for model in (THINKER, PLAIN)]
            finally:
                await models.close()

        assert asyncio.run(go()) == [ModelInfo(8192, True), ModelInfo(2048, False)]


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("reply", [[], {"data": 3}, None, {"model_info": 5, "capabilities": {}}])
def test_malformed_model_info_is_ignored(reply: Any, status: int) -> None:
    async def behave(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response(reply, status=status)

    for native in (False, True):
        assert info_from(behave, native=native)[0] == ModelInfo()


def test_context_of_published_models_is_known_without_a_request() -> None:
    openai = next(connection for connection in PRESETS if connection.name == "openai")

    async def go() -> ModelInfo:
        return await fetch_model_info(None, openai, None, "gpt-4.1-mini")  # type: ignore[arg-type]

    info = asyncio.run(go())
    assert info.context is not None
    assert info.context > 100_000


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
    assert loaded.get(far, "m").refused_params == {"temperature"}
    assert loaded.get(near, "m").refused_params == set(), "another server may use the local address by now"
    assert loaded.get(near, "m").context == 4096
    old = [{**row, "at": time.time() - REMEMBERED_SECONDS - 1} for row in rows]
    later = Capabilities()
    later.recall(old)
    assert later.seen(far, "m") is None
