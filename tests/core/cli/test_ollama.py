"""Tests of runs with a mock of the Ollama API: thinking, model details and a schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.cli.invoking import annotate, moot, rows, write
from tests.servers.ollama import PLAIN, THINKER, answer
from tests.servers.scripted import Scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(answer) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *(f"Text {index}. The staff were kind." for index in range(3)))
    return tmp_path


def at(server: Scripted, model: str, *more: object) -> tuple[object, ...]:
    return ("--connection", f"ollama={server.url.removesuffix('/v1')}", "--model", f"ollama/{model}", *more)


def test_reasoning_effort_is_sent_as_think(folder: Path, server: Scripted) -> None:
    result = annotate(folder, *at(server, THINKER, "--param", "reasoning_effort=low"))
    assert (result.json["verdicts"], result.json["cost_usd"]) == (3, 0.0)
    assert [body["think"] for body in server.requests[:2]] == ["low", True], (
        "only the probe sends a level, which is refused"
    )
    assert all(body["think"] is True for body in server.requests[2:])
    assert {row[0] for row in rows(folder, "SELECT DISTINCT reasoning FROM replies")} == {"Let me see."}
    assert {row[0] for row in rows(folder, "SELECT DISTINCT estimated FROM replies")} == {False}


def test_thinking_is_dropped_with_a_note_for_a_model_without_it(folder: Path, server: Scripted) -> None:
    result = annotate(folder, *at(server, PLAIN, "--param", "reasoning_effort=low"))
    assert result.json["verdicts"] == 3
    assert "refuses think" in result.stderr
    assert sum("think" in body for body in server.requests) == 1


def test_schema_is_followed(folder: Path, server: Scripted) -> None:
    result = annotate(folder, *at(server, PLAIN, "--param", "schema=on"))
    assert result.json["verdicts"] == 3
    texts = {row[0] for row in rows(folder, "SELECT text FROM replies JOIN turns USING (key) WHERE role = 'judge'")}
    assert len(texts) == 1
    assert texts.pop().startswith("{")


def test_unknown_model_stops_the_run_after_one_request(folder: Path, server: Scripted) -> None:
    result = annotate(folder, *at(server, "gone"), code=2)
    assert len(server.paths) == 1
    assert "not found" in result.stderr


def test_longest_document_is_compared_with_the_context(tmp_path: Path, server: Scripted) -> None:
    write(tmp_path, "Text.", "word " * 2000)
    result = annotate(tmp_path, *at(server, PLAIN, "--param", "on_long=cut"))
    assert "The longest document (d1) needs about" in result.stderr
    assert "is 2,048 tokens" in result.stderr
    assert "will be truncated" in result.stderr
    roomy = annotate(tmp_path, *at(server, THINKER), project="q.duckdb")
    assert "longest document" not in roomy.stderr


def test_models_lists_sizes_families_and_probed_capabilities(server: Scripted) -> None:
    place = ("--connection", f"ollama={server.url.removesuffix('/v1')}")
    (one,) = moot("models", *place, "--probe", "--json").json["connections"]
    assert [(model["name"], model["family"], model["size_bytes"]) for model in one["models"]] == [
        (PLAIN, "llama", 800_000_000),
        (THINKER, "llama", 4_900_000_000),
    ]
    assert [model["loaded"] for model in one["models"]] == [False, True]
    able = one["probe"]["capabilities"]
    assert (able["context"], able["seed"], able["schema"], able["reasoning"]) == (2048, True, "full", False)
    assert "free" in moot("models", *place).stdout
    assert "context 2,048 tokens" in moot("models", *place, "--probe").stdout
