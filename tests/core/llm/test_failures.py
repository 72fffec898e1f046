"""Tests of connections that are not opened: the error names the mistake."""

from __future__ import annotations

import errno
import socket
import threading

import pytest

from core import errors
from core.llm import failures, http
from tests.core.llm.asking import ask_at


@pytest.mark.parametrize(
    ("scheme", "answer", "expected", "remedy"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", errors.OtherProtocol, "with http:// instead of https://"),
        ("https", b"", errors.Unreachable, "that the address is correct"),
        ("https", None, errors.Unreachable, "begin with http:// or with https://"),  # as llama.cpp waits
        ("http", b"", errors.CutStream, "begin with http:// or with https://"),  # as Python's TLS servers close it
    ],
)
def test_wrong_scheme_of_an_address_is_named(
    scheme: str, answer: bytes | None, expected: type[errors.ModelError], remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answer is None:
        monkeypatch.setattr(http, "CONNECT_SECONDS", 0.5)

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(65536)
            client.recv(65536) if answer is None else client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(errors.ModelError) as caught:
            ask_at(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1")
    assert type(caught.value) is expected
    assert remedy in caught.value.remedy


def test_connection_refused_by_windows_is_named_in_its_words() -> None:
    error = ConnectionRefusedError(errno.EINVAL, "The remote computer refused the network connection")
    error.winerror = 1225  # type: ignore[attr-defined]
    assert failures.describe_cause(error) == "the remote computer refused the network connection"
