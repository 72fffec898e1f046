"""Clients from the official openai and ollama packages, with their errors translated into Moot's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core import errors
from core.llm.connections import Connection, find_key
from core.llm.failures import from_status, hide_key, printable
from core.runs import RoleModel

if TYPE_CHECKING:
    import ollama
    import openai


@contextmanager
def openai_client(place: Connection, seconds: float, retries: int = 0) -> Iterator[openai.OpenAI]:
    """Open a client of an OpenAI-compatible server, which follows no redirects. ``seconds`` limit each request."""
    import openai

    client = openai.OpenAI(
        base_url=place.base_url,
        api_key=find_key(place) or "none",
        max_retries=retries,
        timeout=seconds,
        http_client=openai.DefaultHttpx2Client(follow_redirects=False, trust_env=False),
    )
    with client:
        yield client


@contextmanager
def ollama_client(place: Connection, seconds: float) -> Iterator[ollama.Client]:
    """Open a client of an Ollama server, which follows no redirects. ``seconds`` limit each request."""
    import ollama

    key = find_key(place)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    client = ollama.Client(place.base_url, timeout=seconds, headers=headers, follow_redirects=False, trust_env=False)
    try:
        yield client
    finally:
        client._client.close()


@contextmanager
def translated_errors(place: Connection, action: str, model: str, remedy: str = "") -> Iterator[None]:
    """Raise ModelError in place of the packages' errors, without the key that a server may echo.

    ``action`` completes "the server did not ...", ``model`` is what it was asked for. ``remedy`` is the advice for
    refusals other than of the key, and for replies that cannot be used.
    """
    import httpx
    import ollama
    import openai

    try:
        try:
            yield
        except openai.APITimeoutError as error:
            raise errors.TimedOut(f"{place.name} took too long to {action}.", "") from error
        except (openai.APIConnectionError, httpx.HTTPError, ConnectionError) as error:
            raise errors.Unreachable(
                f"{place.name} at {place.base_url} cannot be reached to {action} ({str(error).rstrip('.')}).",
                "Is the server running, and the address right?",
            ) from error
        except openai.APIStatusError as error:
            response = error.response
            raise _refused(place, response.status_code, response.content, response.headers, model, remedy) from error
        except ollama.ResponseError as error:
            raise _refused(place, error.status_code, str(error.error).encode(), {}, model, remedy) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError) as error:
            raise errors.MalformedStream(
                f"{place.name} did not {action} as expected: {printable(error)}.", remedy
            ) from error
    except errors.ModelError as error:
        hide_key(error, find_key(place))
        raise


def _refused(
    place: Connection, status: int, body: bytes, headers: Mapping[str, str], model: str, remedy: str
) -> errors.ModelError:
    role_model = RoleModel(connection=place.name, model=model, base_url=place.base_url)
    error = from_status(status, body, headers, role_model)
    if isinstance(error, errors.Unauthorised):
        error.remedy = place.key_remedy
    elif remedy:
        error.remedy = remedy
    return error
