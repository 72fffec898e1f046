"""Models that a connection offers, listed through the official packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.baseline import classifier_replies
from core.llm.connections import Connection
from core.llm.probe import model_entries
from core.llm.sdk import ask_ollama, ask_openai, translated_errors

if TYPE_CHECKING:
    import ollama
    import openai

LIST_SECONDS = 10.0
MOST_PAGES = 20
LIST_BYTES = 4_000_000
"""Longest response to a request for the list of models."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model at a server.

    Only Ollama reports ``size_bytes``, ``family``, ``parameters`` and ``loaded`` (in memory).
    """

    name: str
    size_bytes: int | None = None
    family: str = ""
    parameters: str = ""
    loaded: bool = False


def list_models(connection: Connection) -> tuple[ModelCard, ...]:
    """Return the models that a server lists, by name. Blocks for at most ``LIST_SECONDS``.

    Raises Unreachable, Unauthorised, or another ModelError with the server's answer.
    """
    if connection.dialect == "builtin":
        return (
            ModelCard("lexical", family="word lists"),
            ModelCard(classifier_replies.NAME, family="learns from your review"),
        )
    listed = _from_ollama if connection.dialect == "ollama" else _from_openai
    remedy = "If the address is correct, type the model's name yourself."
    with translated_errors(connection, "list its models", "its models", remedy):
        return tuple(sorted(listed(connection), key=lambda card: card.name))


def _from_openai(connection: Connection) -> list[ModelCard]:
    async def ask(client: openai.AsyncOpenAI) -> list[ModelCard]:
        cards: list[ModelCard] = []
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page: Any = await client.get("/models", cast_to=object, options={"params": after})
            listed = page.get("data") if isinstance(page, dict) else page
            entries = model_entries(listed)
            if not isinstance(listed, list) or (listed and not entries):
                raise ValueError("the response has no list of models")
            cards += [ModelCard(str(entry["id"])) for entry in entries if entry.get("id")]
            if listed is page or not page.get("has_more") or not page.get("last_id"):
                break
            after = {"after_id": str(page["last_id"])}
        return cards

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
