"""Models that a connection offers, listed through the official packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core import errors
from core.baseline import classifier_model
from core.llm.connections import Connection, find_key
from core.llm.failures import hide_key

LIST_SECONDS = 10.0


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


def list_models(place: Connection) -> tuple[ModelCard, ...]:
    """Return the models that a server lists, by name. Blocks for at most ``LIST_SECONDS``.

    Raises Unreachable, Unauthorised, or another ModelError with the server's answer.
    """
    if place.dialect == "builtin":
        return (
            ModelCard("lexical", family="word lists"),
            ModelCard(classifier_model.NAME, family="learns from your review"),
        )
    key = find_key(place)
    try:
        listed = (_from_ollama if place.dialect == "ollama" else _from_openai)(place, key)
    except errors.ModelError as error:
        hide_key(error, key)
        raise
    return tuple(sorted(listed, key=lambda card: card.name))


def _from_openai(place: Connection, key: str | None) -> list[ModelCard]:
    import openai
    from openai import DefaultHttpx2Client, OpenAI

    client = OpenAI(
        base_url=place.base_url,
        api_key=key or "none",
        max_retries=0,
        timeout=LIST_SECONDS,
        http_client=DefaultHttpx2Client(follow_redirects=False, trust_env=False),
    )
    with client:
        try:
            return [ModelCard(str(model.id)) for model in client.models.list()]
        except openai.APIConnectionError as error:
            raise _unreachable(place, error) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise errors.Unauthorised(
                f"{place.name} answered {error.status_code}: {error.message}.", _key_remedy(place)
            ) from error
        except openai.APIStatusError as error:
            raise errors.BadRequest(
                f"{place.name} answered {error.status_code} when asked for its models.",
                "It may still answer: type the model's name yourself.",
            ) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise _unreadable(place) from error


def _from_ollama(place: Connection, key: str | None) -> list[ModelCard]:
    import httpx
    import ollama

    headers = {"authorization": f"Bearer {key}"} if key else {}
    client = ollama.Client(
        place.base_url, timeout=LIST_SECONDS, headers=headers, follow_redirects=False, trust_env=False
    )
    try:
        loaded = _loaded(client)
        return [
            ModelCard(
                name=model.model or "",
                loaded=model.model in loaded,
                size_bytes=int(model.size) if model.size else None,
                family=(model.details.family or "") if model.details else "",
                parameters=(model.details.parameter_size or "") if model.details else "",
            )
            for model in client.list().models
        ]
    except (httpx.HTTPError, ConnectionError) as error:
        raise _unreachable(place, error) from error
    except ollama.ResponseError as error:
        if error.status_code in (401, 403):
            raise errors.Unauthorised(f"{place.name} answered {error.status_code}.", _key_remedy(place)) from error
        raise errors.BadRequest(f"{place.name} answered {error.status_code}: {error.error}.", "") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise _unreadable(place) from error
    finally:
        client._client.close()


def _loaded(client: Any) -> frozenset[str]:
    """Return the names of the loaded models; none if a server does not report them."""
    import ollama

    try:
        return frozenset(model.model or "" for model in client.ps().models)
    except (ollama.ResponseError, ValueError, TypeError, AttributeError):
        return frozenset()


def _unreachable(place: Connection, error: Exception) -> errors.Unreachable:
    return errors.Unreachable(
        f"{place.name} at {place.base_url} cannot be reached ({str(error).rstrip('.')}).",
        "Is the server running, and the address right?",
    )


def _unreadable(place: Connection) -> errors.MalformedStream:
    return errors.MalformedStream(
        f"{place.name} sent a list of models that cannot be read.", "Type the model's name yourself."
    )


def _key_remedy(place: Connection) -> str:
    return f"Set {place.environment_variables[-1]} or type a key on the Models page."
