"""Texts to vectors: by a server's embeddings endpoint, by MiniLM on this machine, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core import errors
from core.llm import minilm
from core.llm.connections import Connection, find_key
from core.llm.failures import hide_key
from core.runs import Seat

TFIDF, MINILM = "tfidf", "minilm"
"""Similarities that need no server: character n-grams, and MiniLM where it is installed."""

BATCH = 64
SECONDS = 60.0

Embed: TypeAlias = Callable[[Sequence[str]], npt.NDArray[np.float32]]


def embedder(spec: str, places: Mapping[str, Connection]) -> Embed | None:
    """What makes vectors of texts: None for ``tfidf``, which needs none, else ``minilm`` or ``connection/model``.

    Raises UsageError for a connection that is not known and for MiniLM where it is not installed. What is returned
    blocks while a server is asked and raises a ModelError when that fails.
    """
    spec = spec.strip() or TFIDF
    if spec == TFIDF:
        return None
    if spec == MINILM:
        minilm.embed([])
        return minilm.embed
    seat = Seat.parse(spec)
    place = places.get(seat.connection)
    if place is None or place.dialect == "builtin":
        known = ", ".join(name for name, one in places.items() if one.dialect != "builtin")
        raise errors.UsageError(
            f"'{spec}' is no way to compare texts.", f"Choose {TFIDF}, {MINILM}, or a model of: {known}."
        )
    asking = _ollama if place.dialect == "ollama" else _openai

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), BATCH):
            chunk = [text if text.strip() else "." for text in texts[start : start + BATCH]]
            found = asking(place, seat.model, chunk)
            if len(found) != len(chunk):
                raise errors.MalformedStream(
                    f"{place.name} sent {len(found)} vectors for {len(chunk)} texts.", "Is it a model for embeddings?"
                )
            rows += found
        return np.asarray(rows, dtype=np.float32)

    return embed


def _openai(place: Connection, model: str, texts: list[str]) -> list[Sequence[float]]:
    import openai
    from openai import DefaultHttpx2Client, OpenAI

    key = find_key(place)
    client = OpenAI(
        base_url=place.base_url,
        api_key=key or "none",
        max_retries=2,
        timeout=SECONDS,
        http_client=DefaultHttpx2Client(follow_redirects=False, trust_env=False),
    )
    with client, _without(key):
        try:
            answer = client.embeddings.create(model=model, input=texts, encoding_format="float")
            return [each.embedding for each in sorted(answer.data, key=lambda each: each.index)]
        except openai.APIConnectionError as error:
            raise _unreachable(place, error) from error
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise errors.Unauthorised(f"{place.name} answered {error.status_code}.", "Check its key.") from error
        except openai.APIStatusError as error:
            raise _refused(place, model, error.status_code, error.message) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise _unreadable(place) from error


def _ollama(place: Connection, model: str, texts: list[str]) -> list[Sequence[float]]:
    import httpx
    import ollama

    key = find_key(place)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    client = ollama.Client(place.base_url, timeout=SECONDS, headers=headers, follow_redirects=False, trust_env=False)
    with _without(key):
        try:
            return list(client.embed(model, texts).embeddings)
        except (httpx.HTTPError, ConnectionError) as error:
            raise _unreachable(place, error) from error
        except ollama.ResponseError as error:
            raise _refused(place, model, error.status_code, error.error) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise _unreadable(place) from error
        finally:
            client._client.close()


@contextmanager
def _without(key: str | None) -> Iterator[None]:
    """Errors leave without the key, which some servers echo."""
    try:
        yield
    except errors.ModelError as error:
        hide_key(error, key)
        raise


def _refused(place: Connection, model: str, status: int, words: str) -> errors.ModelError:
    if status == 404:
        return errors.NoSuchModel(f"{place.name} has no model '{model}' for embeddings.", "Choose another.")
    return errors.BadRequest(f"{place.name} answered {status}: {words}.", "Is it a model for embeddings?")


def _unreachable(place: Connection, error: Exception) -> errors.ModelError:
    return errors.Unreachable(
        f"{place.name} at {place.base_url} cannot be reached ({str(error).rstrip('.')}).", "Is the server running?"
    )


def _unreadable(place: Connection) -> errors.ModelError:
    return errors.MalformedStream(f"{place.name} sent no vectors that can be read.", "Is it a model for embeddings?")
