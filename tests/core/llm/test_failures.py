"""Tests of addresses with the wrong scheme (http or https): the error names the mistake quickly."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Awaitable, Callable

import pytest

from core import errors
from core.codebook import Codebook
from core.debate.turns import Request
from core.documents import Document
from core.llm import failures, http
from core.llm.connections import parse_connection
from core.llm.model_library import ModelLibrary
from core.prompts import Message
from core.runs import RoleModel, RunSettings
from tests.each_row import each_row

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
"""TLS alert "handshake failure"."""


def failure(serve: Serve, scheme: str, before: bool = False) -> tuple[errors.ModelError, int]:
    """Return the error of a request to this server with this scheme, and the number of connections.

    With ``before`` the server counts as having answered an earlier request.
    """
    seen: list[int] = []

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(1)
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    async def go() -> errors.ModelError:
        server = await asyncio.start_server(counted, "127.0.0.1", 0)
        models = ModelLibrary(
            [parse_connection("local", f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")]
        )
        role_model = models.resolve(RoleModel(connection="local", model="m"))
        models.capabilities.get(models.connection("local"), "m").at = 1.0 if before else 0.0
        settings = RunSettings(protocol="single", codebook=Codebook(), role_models={}, templates={})
        ask = Request("annotator", (Message("user", "Text."),), form="labels")
        try:
            with pytest.raises(errors.ModelError) as caught:
                await models.ask(role_model, ask, settings, Document("1", {"text": "T"}), lambda *_: None)
            return caught.value
        finally:
            await models.close()
            server.close()

    return asyncio.run(go()), len(seen)


async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer any request with status 400, like a web server that cannot parse it."""
    await reader.read(20)
    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")


async def waiting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait for the end of the request head, which a TLS greeting does not have."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 404 Not Found\r\n\r\n")


async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    while await reader.read(100):
        pass


async def secure(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Act as a TLS server: close the connection without a TLS greeting."""
    if (await reader.read(20)).startswith(b"\x16\x03"):
        writer.write(ALERT)


async def closing(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Close every connection."""
    await reader.read(20)


@pytest.fixture(autouse=True)
def _short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(failures, "LOOK_SECONDS", 0.3)


@each_row("serve", [plain, waiting])
def test_https_to_a_plain_http_server_is_named(serve: Serve) -> None:
    error, _ = failure(serve, "https")
    assert type(error) is errors.OtherProtocol
    assert "speaks plain HTTP" in error.message
    assert "as http://127.0.0.1:" in error.remedy
    assert not error.retryable


def test_https_to_a_silent_server_suggests_http() -> None:
    error, seen = failure(silent, "https")
    assert type(error) is errors.OtherProtocol
    assert "does not begin TLS" in error.message
    assert "http://127.0.0.1:" in error.remedy
    assert seen == 2


def test_http_to_a_tls_server_is_named() -> None:
    error, _ = failure(secure, "http")
    assert type(error) is errors.OtherProtocol
    assert "as https://127.0.0.1:" in error.remedy


def test_server_that_closes_every_connection_is_not_called_another_protocol() -> None:
    assert type(failure(closing, "http")[0]) is errors.CutStream
    assert type(failure(closing, "https")[0]) is errors.Unreachable


def test_server_that_answered_before_is_not_called_another_protocol() -> None:
    # A server that is slow or stops during a run is therefore retried as usual.
    assert type(failure(silent, "https", before=True)[0]) is errors.Unreachable
    error, seen = failure(secure, "http", before=True)
    assert type(error) is errors.CutStream
    assert seen == 1


def test_connection_refused_by_windows_is_named_in_its_words() -> None:
    error = ConnectionRefusedError(errno.EINVAL, "The remote computer refused the network connection")
    error.winerror = 1225  # type: ignore[attr-defined]
    assert failures.describe_cause(error) == "the remote computer refused the network connection"
