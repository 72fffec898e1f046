"""Tests of model lists and embeddings from servers that send endless, huge or malformed responses."""

from __future__ import annotations

import contextlib
import gzip
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from core.errors import ModelError, OtherProtocol, Unauthorised, Unreachable
from core.llm import embeddings, model_info, sdk
from core.llm.connections import Dialect, parse_connection
from tests.each_row import each_row
from tests.servers.scripted import Scripted
from tests.servers.tls import TlsFront

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
ENDLESS = HEAD + b"transfer-encoding: chunked\r\n\r\n"
CHUNK = b"10000\r\n" + b" " * 65536 + b"\r\n"
Attack = Callable[[socket.socket], None]


def trickle(start: bytes, piece: bytes) -> Attack:
    """Send a piece every 50 ms without end."""

    def attack(client: socket.socket) -> None:
        client.sendall(start)
        while True:
            client.sendall(piece)
            time.sleep(0.05)

    return attack


def flood(client: socket.socket) -> None:
    """Send white space as fast as possible, without end."""
    client.sendall(ENDLESS)
    while True:
        client.sendall(CHUNK)


def response(body: bytes, *headers: bytes) -> Attack:
    """Send a complete response."""

    def attack(client: socket.socket) -> None:
        length = b"content-length: %d\r\n" % len(body)
        client.sendall(HEAD + length + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body)

    return attack


ATTACKS: dict[str, Attack] = {
    "silence": lambda client: time.sleep(5),
    "status without end": trickle(b"HTTP/1.1 200 ", b"O"),
    "headers without end": trickle(HEAD, b"x-more: 1\r\n"),
    "body without end": trickle(ENDLESS, b"1\r\n \r\n"),
    "flood": flood,
    "gzip bomb": response(gzip.compress(b" " * 50_000_000), b"content-encoding: gzip"),
    "deep nesting": response(b"[" * 1_000_000),
    "deep objects": response(b'{"data":' * 400_000),
    "no object": response(b"[[[]]]"),
    "long number": response(b'{"data": [' + b"9" * 100_000 + b"]}"),
    "control characters": response(b'{"data": "\x1b[2J\x00"}'),
    "length too large": response(b"{}", b"content-length: 99999999999"),
    "half": lambda client: client.sendall(HEAD + b"content-length: 100\r\n\r\n{"),
    "not HTTP": lambda client: client.sendall(b"\x16\x03\x01" + b"\xff" * 100),
    "early hints without end": trickle(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
}


@pytest.fixture
def serve() -> Iterator[Callable[..., int]]:
    """Return a function that starts a server with this attack, records what it receives, and returns its port."""
    listeners: list[socket.socket] = []

    def started(attack: Attack, received: list[bytes] | None = None) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def handle(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                (received if received is not None else []).append(client.recv(65536))
                attack(client)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return int(listener.getsockname()[1])

    yield started
    for listener in listeners:
        listener.close()


@each_row("dialect", ["openai", "ollama"])
@each_row("key", ["", "the-own-key-of-this-connection"])
def test_no_header_comes_from_an_environment_variable_of_a_package(
    dialect: Dialect, key: str, monkeypatch: pytest.MonkeyPatch, serve: Callable[[Attack], int]
) -> None:
    for name in ("OLLAMA_API_KEY", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"SECRET-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Bearer SECRET\nx-more: SECRET")
    monkeypatch.setenv("MOOT_TOY_API_KEY", key)
    heads: list[bytes] = []
    port = serve(response(b'{"data": [], "models": []}', b"connection: close"), heads)
    connection = parse_connection("toy", f"http://127.0.0.1:{port}", dialect)
    model_info.list_models(connection)
    with pytest.raises(ModelError):
        embeddings.ServerEmbedder(connection, "tiny")(["a text"])
    assert len(heads) >= 2
    for head in heads:
        lines = head.lower().split(b"\r\n\r\n")[0].split(b"\r\n")
        assert b"secret" not in head.lower()
        assert [line for line in lines if b"authorization" in line] == (
            [f"authorization: bearer {key}".encode()] if key else []
        )


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
@pytest.mark.parametrize("resource", ["models", "embeddings"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_response_ends_with_an_error(
    attack: str, resource: str, dialect: str, serve: Callable[[Attack], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_info, "LIST_SECONDS", 0.5)
    monkeypatch.setattr(embeddings, "SECONDS", 0.5)
    port = serve(ATTACKS[attack])
    connection = parse_connection("toy", f"http://127.0.0.1:{port}" + ("/v1" if dialect == "openai" else ""), dialect)  # type: ignore[arg-type]
    embed = embeddings.embedder("toy/tiny", {"toy": connection})
    assert embed is not None
    with pytest.raises(ModelError) as error:
        model_info.list_models(connection) if resource == "models" else embed(["a text"])
    assert error.value.message.startswith("toy ")
    assert error.value.message.isprintable()


def test_rejected_key_and_missing_key_have_different_remedies(
    serve: Callable[[Attack], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = serve(lambda client: client.sendall(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"))
    connection = parse_connection("toy", f"http://127.0.0.1:{port}/v1")
    remedies = []
    for key in ("", "wrong"):
        monkeypatch.setenv("MOOT_TOY_API_KEY", key)
        with pytest.raises(Unauthorised) as error:
            model_info.list_models(connection)
        remedies.append(error.value.remedy)
    assert remedies == [connection.key_remedy, f"The server rejected the key that was sent. {connection.key_remedy}"]


def test_key_that_cannot_be_sent_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_TOY_API_KEY", "“sk-secret”")
    with pytest.raises(Unauthorised, match=r"The key for toy has .* outside ASCII") as error:
        model_info.list_models(parse_connection("toy", "http://127.0.0.1:9/v1"))
    assert "secret" not in str(error.value)


def test_list_of_models_behind_a_firewall_names_the_firewall(
    serve: Callable[[Attack], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_TOY_API_KEY", "right")
    page = b"<!doctype html><title>Attention Required!</title>"
    head = b"HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(page)
    port = serve(lambda client: client.sendall(head + page))
    with pytest.raises(Unauthorised, match="firewall"):
        model_info.list_models(parse_connection("toy", f"http://127.0.0.1:{port}/v1"))


@pytest.mark.parametrize(
    ("status", "body", "remedy"),
    [
        (404, b'{"detail":"Not Found"}', "Check the address, which for most servers ends in /v1. "),
        (503, b"", ""),
    ],
)
def test_missing_list_of_models_suggests_the_address(
    status: int, body: bytes, remedy: str, serve: Callable[[Attack], int]
) -> None:
    answer = b"HTTP/1.1 %d Status\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
    port = serve(lambda client: client.sendall(answer + body))
    with pytest.raises(ModelError) as error:
        model_info.list_models(parse_connection("toy", f"http://127.0.0.1:{port}/api"))
    assert error.value.remedy == f"{remedy}If the address is correct, type the model's name yourself."


def test_web_page_in_place_of_a_list_of_models_suggests_the_address(serve: Callable[[Attack], int]) -> None:
    page = b"<!doctype html><title>Open WebUI</title>"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: %d\r\n\r\n" % len(page)
    port = serve(lambda client: client.sendall(head + page))
    with pytest.raises(ModelError, match=r"has no list of models\. Check the address, .* ends in /v1"):
        model_info.list_models(parse_connection("toy", f"http://127.0.0.1:{port}"))


async def list_of_one_model(_request: web.Request, _body: dict[str, Any]) -> web.Response:
    return web.json_response({"data": [{"id": "tiny"}]})


@pytest.mark.parametrize(
    ("fault", "meaning", "remedy"),
    [
        ("expired", "it has expired (certificate has expired)", "Renew"),
        ("other host", "it names another server (IP address mismatch", "the name that the certificate names"),
        ("unknown signer", "does not know its signer (unable to get local issuer certificate)", "SSL_CERT_FILE"),
    ],
)
def test_untrusted_certificate_is_explained_and_its_signer_can_be_trusted(
    fault: str, meaning: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scripted(list_of_one_model) as server, TlsFront(tmp_path, server.port) as front:
        monkeypatch.setenv("SSL_CERT_FILE", str(front.signer))
        monkeypatch.setattr(sdk, "trusted_signers", sdk.trusted_signers.__wrapped__)
        connection = parse_connection("toy", f"https://127.0.0.1:{front.port}/v1")
        assert [card.name for card in model_info.list_models(connection)] == ["tiny"]
        front.present(fault)
        with pytest.raises(OtherProtocol) as error:
            model_info.list_models(connection)
    assert meaning in error.value.message
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    "listed",
    [
        {"object": "list", "data": [{"id": "m"}, {"id": "n"}]},
        [{"id": "m"}, {"id": "n"}],
        {"models": [{"name": "m", "endpoints": ["chat"]}, {"name": "n"}], "next_page_token": ""},
        {"object": "list", "data": ["m", "n"]},
        [{"name": "m", "from": "hub"}, {"name": "n"}],
        {"models": [{"name": "other"}], "data": [{"id": "m"}, {"id": "n"}]},
    ],
)
def test_models_are_listed_in_the_forms_of_many_servers(listed: object) -> None:
    async def answer(_request: web.Request, _body: dict[str, Any]) -> web.Response:
        return web.json_response(listed)

    with Scripted(answer) as server:
        cards = model_info.list_models(parse_connection("toy", server.url))
    assert [card.name for card in cards] == ["m", "n"]


def test_list_of_models_that_moved_names_its_new_address(serve: Callable[[Attack], int]) -> None:
    moved = b"HTTP/1.1 308 Moved\r\nlocation: https://new.example/v1/models\r\ncontent-length: 0\r\n\r\n"
    port = serve(lambda client: client.sendall(moved))
    with pytest.raises(ModelError, match=r"redirects to https://new\.example/v1/models .*Enter the final address"):
        model_info.list_models(parse_connection("toy", f"http://127.0.0.1:{port}/v1"))


def test_listed_names_can_be_stored_and_printed() -> None:
    async def answer(_request: web.Request, _body: dict[str, Any]) -> web.Response:
        return web.json_response({"data": [{"id": "tiny\ud800"}]})

    with Scripted(answer) as server:
        assert model_info.list_models(parse_connection("toy", server.url)) == (model_info.ModelCard("tiny\ufffd"),)


def test_failed_connection_names_its_cause() -> None:
    with Scripted(list_of_one_model) as server:
        pass
    with pytest.raises(Unreachable, match=r"cannot be reached to list its models \(connection refused\)\. Check"):
        model_info.list_models(parse_connection("toy", server.url))


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:1080"), ("HTTPS_PROXY", "ftp://127.0.0.1:1"), ("SSL_CERT_FILE", "missing.pem")],
)
def test_proxies_and_certificates_of_the_environment_are_not_read_for_a_model_list(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    script = (
        "from core.errors import Unreachable\n"
        "from core.llm import connections, model_info\n"
        "try:\n"
        "    model_info.list_models(connections.parse_connection('x', 'http://127.0.0.1:9/v1'))\n"
        "except Unreachable as error:\n"
        "    print(error)"
    )  # in a process of its own, because the package ollama reads the environment when it is imported
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "cannot be reached" in done.stdout, done.stderr
