"""Tests of the client with the llama.cpp server and a tiny random model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core import errors
from core.llm.connections import parse_connection
from core.llm.model_info import list_models
from core.prompts import Message
from tests.core.llm.asking import ask_at
from tests.servers.running import llama_cpp

pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed")
pytest.importorskip("gguf", reason="gguf is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with llama_cpp(tmp_path_factory.mktemp("llama"), "--slots", "2", "--api-key", "sk-toy", "--ctx", "512") as url:
        yield url


def test_same_seed_repeats_the_reply_and_usage_is_exact(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "sk-toy")
    first, again = ask_at(server, times=2, max_tokens=24, temperature=0.8, seed=5).replies
    assert first.text
    assert first.text == again.text
    assert 0 < first.usage.completion_tokens <= 24
    assert not first.usage.estimated


def test_output_limit_gives_finish_reason_length(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "sk-toy")
    assert ask_at(server, max_tokens=2, temperature=0.8, seed=5).reply.finish_reason == "length"


def test_wrong_key_raises_unauthorised(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "wrong")
    with pytest.raises(errors.Unauthorised):
        ask_at(server)


def test_too_long_prompt_raises_context_too_long(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "sk-toy")
    with pytest.raises(errors.ContextTooLong):
        ask_at(server, messages=(Message("user", "word " * 3000),))


def test_models_are_listed(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_LOCAL_API_KEY", "sk-toy")
    assert [card.name for card in list_models(parse_connection("local", server))] == ["tiny-random"]
