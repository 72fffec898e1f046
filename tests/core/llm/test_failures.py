"""Tests of connections that are not opened: the error names the mistake."""

from __future__ import annotations

import errno
import socket
import threading

import pytest

from core import errors
from core.llm import failures, http
from core.llm.capabilities import ModelCapabilities
from tests.core.llm.asking import ask_at


@pytest.mark.parametrize(
    ("scheme", "answer", "replied", "expected", "remedy"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", False, errors.OtherProtocol, "http:// instead of https://."),
        ("https", b"", False, errors.Unreachable, "that the address is correct."),
        ("https", None, False, errors.Unreachable, "begin with http:// or with https://."),  # as llama.cpp waits
        ("https", None, True, errors.Unreachable, "that the address is correct."),
        ("http", b"", False, errors.CutStream, "begin with http:// or with https://."),  # as Python's TLS servers close
        ("http", b"reset", False, errors.CutStream, "begin with http:// or with https://."),  # as its blocking ones
        ("http", b"", True, errors.CutStream, "whether the server stopped."),
    ],
)
def test_wrong_scheme_of_an_address_is_named(
    scheme: str,
    answer: bytes | None,
    replied: bool,
    expected: type[errors.ModelError],
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if answer is None:
        monkeypatch.setattr(http, "CONNECT_SECONDS", 0.5)

    def serve() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(1 if answer == b"reset" else 65536)
            if answer != b"reset":  # else the unread rest resets the connection
                client.recv(65536) if answer is None else client.sendall(answer)

    def before(capabilities: ModelCapabilities) -> None:
        capabilities.at = float(replied)  # the time of the last reply

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(errors.ModelError) as caught:
            ask_at(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1", before=before)
    assert type(caught.value) is expected
    assert caught.value.remedy.endswith(remedy)


@pytest.mark.parametrize(
    ("error", "variables", "is_named"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), {"HTTPS_PROXY": "http://proxy:8080"}, True),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), {"all_proxy": "http://proxy:8080"}, True),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), {}, False),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), {"HTTPS_PROXY": "http://proxy:8080"}, False),
    ],
)
def test_proxy_that_is_not_used_is_named(
    error: OSError, variables: dict[str, str], is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("does not use a proxy" in failures.not_connected("openai at https://x", error).remedy) == is_named


def test_connection_refused_by_windows_is_named_in_its_words() -> None:
    error = ConnectionRefusedError(errno.EINVAL, "The remote computer refused the network connection")
    error.winerror = 1225  # type: ignore[attr-defined]
    assert failures.describe_cause(error) == "the remote computer refused the network connection"
