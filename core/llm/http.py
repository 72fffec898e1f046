"""HTTP requests to model servers: post JSON, read the response to its end, and turn failures into ModelErrors.

Chat uses aiohttp, because streams over the openai package take ten times the processor time of aiohttp, and over its
HTTP client alone three times. Rare requests (``core.llm.sdk``: model lists, embeddings, batches) use the packages.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError

from core import errors
from core.llm.connections import key_headers
from core.llm.failures import ADDRESS_REMEDY, describe_cause, from_status, not_connected, server_message
from core.llm.request import encode_body
from core.llm.streaming import END_OF_STREAM_SECONDS, ReplyBuilder
from core.runs import RoleModel

CONNECT_SECONDS = 10.0
DRAIN_SECONDS = 0.05
"""Longest wait for the end of a response after its last content."""


@contextlib.asynccontextmanager
async def post(
    session: aiohttp.ClientSession, url: str, body: dict[str, Any], builder: ReplyBuilder
) -> AsyncIterator[aiohttp.ClientResponse]:
    """POST JSON and yield the response if its status is 200 or 201. Raises every failure as a ModelError."""
    request, role_model = builder.request, builder.request.role_model
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=request.idle_timeout)
    content_headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
    with _model_errors(builder):
        sending = await _post_reconnecting(
            session,
            url,
            data=encode_body(body),
            headers={**content_headers, **key_headers(request.key)},
            timeout=timeout,
            allow_redirects=False,
        )
        async with sending as response:
            if response.status not in (200, 201):
                raise from_status(response.status, await read_start(response, 65536), response.headers, role_model)
            if response.content_type != "text/html":
                yield response
                return
            with contextlib.suppress(errors.MalformedStream):
                yield response  # some servers send JSON under the default type of their framework
            if not builder.finish_reason:
                raise errors.MalformedStream(f"{role_model.connection} sent a web page, not a reply.", ADDRESS_REMEDY)


@contextlib.contextmanager
def _model_errors(builder: ReplyBuilder) -> Iterator[None]:
    """Raise a ModelError in place of each error of aiohttp."""
    role_model = builder.request.role_model
    try:
        yield
    except aiohttp.ServerTimeoutError as error:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            raise errors.Unreachable(
                f"{role_model.connection} at {role_model.base_url} "
                f"did not complete a connection within {CONNECT_SECONDS:.0f} s."
            ) from error
        raise builder.silence_error() from error
    except (aiohttp.ClientConnectorError, ssl.SSLError, aiohttp.InvalidURL) as error:
        raise not_connected(f"{role_model.connection} at {role_model.base_url}", error) from error
    except aiohttp.ClientResponseError as error:
        if "content-encoding" in error.message:
            raise _wrong_compression(role_model, error.message) from error
        raise errors.MalformedStream(
            f"{role_model.connection} sent a response that is not HTTP ({server_message(error.message)})."
        ) from error
    except (aiohttp.ClientError, ConnectionError, asyncio.IncompleteReadError) as error:
        if isinstance(error.__cause__, ContentEncodingError):
            raise _wrong_compression(role_model, error.__cause__.message) from error
        raise errors.CutStream(
            f"{role_model.connection} closed the connection on {role_model.model} ({describe_cause(error)})."
        ) from error


def _wrong_compression(role_model: RoleModel, reason: str) -> errors.MalformedStream:
    return errors.MalformedStream(
        f"{role_model.connection} sent data that cannot be unpacked ({server_message(reason)}).",
        "Switch off the compression of the server or of a proxy in front of it.",
    )


def reuse_tracing() -> aiohttp.TraceConfig:
    """Return a trace configuration that marks requests on a reused connection, for the session of ``post``."""

    async def mark_reuse(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(mark_reuse)
    return config


async def _post_reconnecting(session: aiohttp.ClientSession, url: str, **options: Any) -> aiohttp.ClientResponse:
    """Return the response to a POST, on a new connection if a reused one was closed, as llama.cpp does silently."""
    while True:
        trace = SimpleNamespace(reused=False)
        try:
            return await session.post(url, trace_request_ctx=trace, **options)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not trace.reused:
                raise


async def read_start(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return at most ``max_bytes`` of the body; less if the connection breaks or ``END_OF_STREAM_SECONDS`` are over."""
    received = bytearray()
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, RuntimeError):  # as in ``Lines``
        async with asyncio.timeout(END_OF_STREAM_SECONDS):
            while len(received) < max_bytes and (piece := await response.content.read(max_bytes - len(received))):
                received += piece
    return bytes(received)


async def drain(response: aiohttp.ClientResponse) -> None:
    """Read a complete response to its end, if it comes at once: only then the connection serves the next call."""
    if response.content.at_eof():
        return
    with contextlib.suppress(aiohttp.ClientError, TimeoutError, RuntimeError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while await response.content.readany():
                pass
