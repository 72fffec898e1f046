"""Models of a server: their list, and what is published on one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson

from core.baseline import classifier_replies
from core.documents import storable
from core.llm.connections import Connection, key_headers
from core.llm.failures import parse_error_body
from core.llm.http import read_start
from core.llm.prices import provider_of
from core.llm.sdk import ask_ollama, ask_openai, translated_errors
from core.runs import LEXICAL_MODEL

if TYPE_CHECKING:
    import ollama
    import openai

FACT_SECONDS = 3.0
_MAX_BYTES = 8_000_000
_MAX_CONTEXT = 100_000_000
_CONTEXT_KEYS = (
    "max_model_len", "loaded_context_length", "context_length", "max_context_length", "context_window",
    "max_input_tokens",
)  # fmt: skip
"""Keys of the context length in model lists of vLLM, LM Studio, OpenRouter, LiteLLM and others."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Published information on a model. ``context`` in tokens and ``reasons`` are None if not reported.

    ``passed_on`` is True if Ollama sends its requests to another machine.
    """

    context: int | None = None
    reasons: bool | None = None
    passed_on: bool = False


async def fetch_model_info(
    session: aiohttp.ClientSession, connection: Connection, key: str | None, model: str
) -> ModelInfo:
    """Return the published information on a model: from its server, or from genai-prices.

    Empty for the built-in model and for servers that do not answer within ``FACT_SECONDS``.
    """
    if connection.is_builtin:
        return ModelInfo()
    provider = provider_of(connection)
    if provider and (context := await asyncio.to_thread(_context_window, provider, model)):
        return ModelInfo(context)
    headers = key_headers(key)
    try:
        async with asyncio.timeout(FACT_SECONDS):
            if connection.dialect == "ollama":
                return _of_ollama(await _json(session, f"{connection.base_url}/api/show", headers, {"model": model}))
            return await _of_openai(session, connection, headers, model)
    except (TimeoutError, aiohttp.ClientError, ValueError, OSError):
        return ModelInfo()


async def _of_openai(
    session: aiohttp.ClientSession, connection: Connection, headers: Mapping[str, str], model: str
) -> ModelInfo:
    entries = _entries(await _json(session, f"{connection.base_url}/models", headers)) or []
    only: dict[str, Any] = entries[0] if len(entries) == 1 else {}
    entry = next((entry for entry in entries if entry.get("id") == model), only)
    context = next((_count(entry[name]) for name in _CONTEXT_KEYS if name in entry), None)
    root = connection.base_url.removesuffix("/v1")
    if context is None and entry.get("owned_by") == "organization_owner":  # LM Studio
        listed = _entries(await _json(session, f"{root}/api/v0/models", headers)) or []
        context = next((_count(known.get("loaded_context_length")) for known in listed if known["id"] == model), None)
    if context is None and entry.get("owned_by") == "llamacpp":
        props = await _json(session, f"{root}/props", headers)
        generation = props.get("default_generation_settings") if isinstance(props, dict) else None
        context = _count(generation.get("n_ctx")) if isinstance(generation, dict) else None  # of one slot
    return ModelInfo(context=context)


def _entries(response: Any) -> list[dict[str, Any]] | None:
    """Return the models in a response of ``/models``, each with its ``id``; None without a list of models.

    Together and GitHub send the bare list, Cohere lists names under another key.
    """
    listed = response.get("data", response.get("models")) if isinstance(response, dict) else response
    models = listed if isinstance(listed, list) else []
    entries = [{"id": model} if isinstance(model, str) else model for model in models if isinstance(model, dict | str)]
    named = [{**entry, "id": entry.get("id") or entry.get("name")} for entry in entries]
    return named if named or listed == [] else None


def _of_ollama(response: Any) -> ModelInfo:
    info = response.get("model_info") if isinstance(response, dict) else None
    abilities = response.get("capabilities") if isinstance(response, dict) else None
    details = info if isinstance(info, dict) else {}
    context = next((_count(value) for name, value in details.items() if str(name).endswith(".context_length")), None)
    reasons = "thinking" in abilities if isinstance(abilities, list) else None
    return ModelInfo(context, reasons, passed_on=isinstance(response, dict) and bool(response.get("remote_host")))


def _context_window(provider: str, model: str) -> int | None:
    from genai_prices import data_snapshot

    try:
        _, priced_model = data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return _count(priced_model.context_window)


async def _json(
    session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None
) -> Any:
    method = "GET" if body is None else "POST"
    async with session.request(method, url, json=body, headers=dict(headers), allow_redirects=False) as response:
        if response.status != 200:
            return None
        return orjson.loads(await read_start(response, _MAX_BYTES))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_CONTEXT
    return value if is_count else None


LIST_SECONDS = 10.0
MAX_PAGES = 20
LIST_BYTES = 4_000_000
"""Longest response to a request for the list of models."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model at a server; only Ollama reports more than its name. ``loaded`` means in memory."""

    name: str
    size_bytes: int | None = None
    family: str = ""
    parameters: str = ""
    loaded: bool = False


def list_models(connection: Connection) -> tuple[ModelCard, ...]:
    """Return the models that a server lists, by name. Blocks for at most ``LIST_SECONDS``.

    Raises Unreachable, Unauthorised, or another ModelError with the server's answer.
    """
    if connection.is_builtin:
        return (
            ModelCard(LEXICAL_MODEL, family="word lists"),
            ModelCard(classifier_replies.NAME, family="learns from your review"),
        )
    list_cards = _from_ollama if connection.dialect == "ollama" else _from_openai
    remedy = "If the address is correct, type the model's name yourself."
    with translated_errors(connection, "list its models", "its models", remedy):
        return tuple(sorted(list_cards(connection), key=lambda card: card.name))


def _from_openai(connection: Connection) -> list[ModelCard]:
    async def ask(client: openai.AsyncOpenAI) -> list[ModelCard]:
        cards: dict[str, ModelCard] = {}
        after: dict[str, str] = {}
        for _ in range(MAX_PAGES):
            page: Any = await client.get("/models", cast_to=object, options={"params": after})
            if (entries := _entries(page)) is None:
                problem = parse_error_body(orjson.dumps(page))[0] if isinstance(page, dict) else ""
                raise ValueError(f"the response has no list of models{': ' * bool(problem)}{problem}")
            names = [storable(str(entry["id"])) for entry in entries if entry.get("id")]
            cards |= {name: ModelCard(name) for name in names}
            last = str(page.get("last_id") or "") if isinstance(page, dict) and page.get("has_more") else ""
            if last in ("", *after.values()):
                break
            after = {"after_id": last}
        return list(cards.values())

    return ask_openai(connection, LIST_SECONDS, LIST_BYTES, ask)


def _from_ollama(connection: Connection) -> list[ModelCard]:
    async def ask(client: ollama.AsyncClient) -> list[ModelCard]:
        loaded = await _loaded(client)
        return [
            ModelCard(
                name=model.model or "",
                loaded=model.model in loaded,
                size_bytes=int(model.size) if model.size else None,
                family=(model.details.family or "") if model.details else "",
                parameters=(model.details.parameter_size or "") if model.details else "",
            )
            for model in (await client.list()).models
        ]

    return ask_ollama(connection, LIST_SECONDS, LIST_BYTES, ask)


async def _loaded(client: ollama.AsyncClient) -> frozenset[str]:
    """Return the names of the loaded models; none if a server does not report them."""
    import ollama

    try:
        return frozenset(model.model or "" for model in (await client.ps()).models)
    except (ollama.ResponseError, ValueError, TypeError, AttributeError):
        return frozenset()
