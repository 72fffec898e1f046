"""Tests of what is published on a model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from core.llm.connections import PRESETS, parse_connection
from core.llm.model_info import ModelInfo, fetch_model_info
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel
from tests.each_row import each_row
from tests.servers import ollama
from tests.servers.scripted import Behaviour, Scripted


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


@each_row(
    ("known", "context"),
    [
        ({"id": "m", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 4096}, 4096),
        ({"id": "m", "state": "not-loaded", "max_context_length": 131072}, None),
        ({"id": "other", "loaded_context_length": 4096}, None),
    ],
)
def test_lm_studio_context_is_that_of_the_loaded_model(known: dict[str, Any], context: int | None) -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        listed = {"id": "m", "object": "model", "owned_by": "organization_owner"}
        return web.json_response({"data": [known if request.path == "/api/v0/models" else listed]})

    info, paths = info_from(behave)
    assert (info.context, paths) == (context, ["/v1/models", "/api/v0/models"])


def test_ollama_context_and_thinking_are_read() -> None:
    infos = [info_from(ollama.answer, model=model, native=True)[0] for model in (ollama.THINKER, ollama.PLAIN)]
    assert infos == [ModelInfo(8192, True), ModelInfo(2048, False)]


def test_copy_of_a_cloud_model_of_ollama_has_no_price_once_the_server_names_its_host() -> None:
    async def behave(request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        return web.json_response({"remote_host": "https://ollama.com:443", "capabilities": ["thinking"]})

    with Scripted(behave) as server:
        connection = parse_connection("ollama", server.url.removesuffix("/v1"), "ollama")
        role_model = RoleModel(connection="ollama", model="mine", base_url=connection.base_url)

        async def go() -> tuple[bool, bool]:
            models = ModelLibrary([connection])
            try:
                before = models.priced(role_model)
                await models.fetch_capabilities(role_model)
                return before, models.priced(role_model)
            finally:
                await models.close()

        assert asyncio.run(go()) == (True, False)


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
