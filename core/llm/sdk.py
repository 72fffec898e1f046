"""Clients from the official openai and ollama packages, with their errors translated into Moot's."""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from core import errors
from core.llm.connections import Connection, find_key, key_headers
from core.llm.failures import ADDRESS_REMEDY, from_status, hide_key, not_connected, server_message
from core.runs import RoleModel

if TYPE_CHECKING:
    import ollama
    import openai

T = TypeVar("T")

_importing = threading.Lock()


def _import_ollama() -> None:
    """Import the package ollama without the proxies and certificates of the environment.

    The package creates a client when it is imported. A proxy or certificate file that this client cannot use would end
    the import with an error.
    """
    import httpx

    with _importing:
        if "ollama" not in sys.modules:
            client = httpx.Client
            httpx.Client = partial(client, trust_env=False, verify=trusted_signers())  # type: ignore[assignment,misc]
            try:
                import ollama  # noqa: F401
            finally:
                httpx.Client = client  # type: ignore[misc]


def openai_client(
    connection: Connection, key: str | None, seconds: float, max_bytes: int, retries: int
) -> openai.AsyncOpenAI:
    """Return a client of an OpenAI-compatible server, which follows no redirects.

    A request without an answer for ``seconds`` raises APITimeoutError. A response of more than ``max_bytes`` bytes
    raises ValueError, or APIConnectionError with that cause.
    """
    import openai

    client = openai.DefaultAsyncHttpx2Client(**_options(key, seconds, max_bytes))
    return openai.AsyncOpenAI(
        base_url=connection.base_url,
        api_key=key or "none",
        http_client=client,
        max_retries=retries,
        default_headers=_UNCOMPRESSED,
    )


@lru_cache(maxsize=1)
def trusted_signers() -> ssl.SSLContext:
    """Return the context of HTTPS with the signers that the system trusts; reading them takes long."""
    return ssl.create_default_context()


def ask_openai(
    connection: Connection, seconds: float, max_bytes: int, ask: Callable[[openai.AsyncOpenAI], Awaitable[T]]
) -> T:
    """Return what ``ask`` returns for a client of an OpenAI-compatible server, without retries.

    Blocks for at most ``seconds``; then TimeoutError is raised. ``max_bytes`` as in ``openai_client``.
    """
    client = openai_client(connection, find_key(connection), seconds, max_bytes, retries=0)
    return asyncio.run(_within(seconds, client, ask(client)))


def ask_ollama(
    connection: Connection, seconds: float, max_bytes: int, ask: Callable[[ollama.AsyncClient], Awaitable[T]]
) -> T:
    """Return what ``ask`` returns for a client of an Ollama server; the rest as in ``ask_openai``."""
    _import_ollama()
    import ollama

    options = _options(find_key(connection), seconds, max_bytes)
    client = ollama.AsyncClient(connection.base_url, headers=_UNCOMPRESSED, **options)
    return asyncio.run(_within(seconds, client, ask(client)))


async def _within(seconds: float, client: AbstractAsyncContextManager[Any], answer: Awaitable[T]) -> T:
    async with client, asyncio.timeout(seconds):
        return await answer


_UNCOMPRESSED = {"accept-encoding": "identity"}
"""A compressed response could unpack to any size."""


_HEADERS = frozenset({
    "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
    "transfer-encoding",
})  # fmt: skip
"""Headers of the packages that are sent."""


def _options(key: str | None, seconds: float, max_bytes: int) -> dict[str, Any]:
    """Return the options of a client that follows no redirects and uses no proxy of the environment."""
    return {
        "timeout": seconds,
        "follow_redirects": False,
        "trust_env": False,
        "verify": trusted_signers(),
        "event_hooks": _hooks(key, max_bytes),
    }


def _hooks(key: str | None, max_bytes: int) -> dict[str, list[Any]]:
    """Return the hooks of a client for its headers, and to end a response of more than ``max_bytes`` with ValueError.

    The packages would send environment variables such as OLLAMA_API_KEY and OPENAI_ORG_ID to any server.
    """

    async def clean(request: Any) -> None:
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers.update(key_headers(key))

    async def limit(response: Any) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ValueError("the response is compressed although that was not asked for")
        stream, bytes_read = response.stream, 0

        class Limited(type(stream)):  # type: ignore[misc]
            def __init__(self) -> None:
                pass

            async def __aiter__(self) -> AsyncIterator[bytes]:
                nonlocal bytes_read
                async for piece in stream:
                    bytes_read += len(piece)
                    if bytes_read > max_bytes:
                        raise ValueError(f"the response has more than {max_bytes:,} bytes")
                    yield piece

            async def aclose(self) -> None:
                await stream.aclose()

        response.stream = Limited()

    return {"request": [clean], "response": [limit]}


@contextmanager
def translated_errors(connection: Connection, action: str, model: str, remedy: str = "") -> Iterator[None]:
    """Raise ModelError in place of the packages' errors, without the key that a server may echo.

    ``action`` completes "the server did not ...", ``model`` is what it was asked for. ``remedy`` is the advice for
    refusals other than of the key, and for replies that cannot be used.
    """
    _import_ollama()
    import httpx
    import httpx2
    import ollama
    import openai

    try:
        try:
            yield
        except (openai.APITimeoutError, httpx.TimeoutException, httpx2.TimeoutException, TimeoutError) as error:
            raise errors.TimedOut(f"{connection.name} took too long to {action}.", "") from error
        except (openai.APIConnectionError, httpx.HTTPError, httpx2.HTTPError, ConnectionError) as error:
            if isinstance(error.__cause__, ValueError):
                raise _unexpected(connection, action, error.__cause__, remedy) from error
            cause = error.__cause__ or error  # openai's own error says only "Connection error."
            raise not_connected(f"{connection.name} at {connection.base_url}", cause, action) from error
        except openai.APIStatusError as error:
            response = error.response
            raise _refused(
                connection, response.status_code, response.content, response.headers, model, remedy
            ) from error
        except ollama.ResponseError as error:
            raise _refused(connection, error.status_code, str(error.error).encode(), {}, model, remedy) from error
        except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise _unexpected(connection, action, error, remedy) from error
    except errors.ModelError as error:
        hide_key(error, find_key(connection))
        raise


_CHECK_ADDRESS = "Check the address, which for most servers ends in /v1."


def _unexpected(connection: Connection, action: str, cause: BaseException, remedy: str) -> errors.ModelError:
    if isinstance(cause, UnicodeEncodeError) and cause.encoding == "ascii":  # the key is in a header
        problem = (
            f"The key for {connection.name} has letters or marks outside ASCII, such as typographic quotation marks."
        )
        return errors.Unauthorised(problem, connection.key_remedy)
    return errors.MalformedStream(
        f"{connection.name} did not {action} as expected: {server_message(cause)}.",
        f"{_CHECK_ADDRESS} {remedy}" if remedy else "",
    )


def _refused(
    connection: Connection, status: int, body: bytes, headers: Mapping[str, str], model: str, remedy: str
) -> errors.ModelError:
    role_model = RoleModel(connection=connection.name, model=model, base_url=connection.base_url)
    error = from_status(status, body, headers, role_model)
    if isinstance(error, errors.Unauthorised) and error.remedy == errors.Unauthorised.advice:
        error.remedy = (
            f"The server rejected the key that was sent. {connection.key_remedy}"
            if find_key(connection)
            else connection.key_remedy
        )
    elif remedy and error.remedy == ADDRESS_REMEDY:
        error.remedy = f"{_CHECK_ADDRESS} {remedy}"
    elif remedy and not isinstance(error, (errors.Redirected, errors.Unauthorised)):
        error.remedy = remedy
    return error
