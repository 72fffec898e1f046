"""Whole runs on Ollama's own API, as far as it was mocked by us: thinking, show, and a schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.cli.invoking import annotate, moot, rows, write
from tests.servers.ollama import PLAIN, THINKER, ollama
from tests.servers.scripted import Scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    with ollama() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *(f"Text {index}. The staff were kind." for index in range(3)))
    return tmp_path


def at(server: Scripted, model: str, *more: object) -> tuple[object, ...]:
    return ("--connection", f"ollama={server.url.removesuffix('/v1')}", "--model", f"ollama/{model}", *more)


def test_a_thinker_thinks_as_long_as_it_is_told(folder: Path, server: Scripted) -> None:
    told = annotate(folder, *at(server, THINKER, "--param", "reasoning_effort=low"))
    assert (told.json["verdicts"], told.json["cost_usd"]) == (3, 0.0)
    assert [body["think"] for body in server.requests[:2]] == ["low", True], "levels are refused once, by the probe"
    assert all(body["think"] is True for body in server.requests[2:])
    assert {row[0] for row in rows(folder, "SELECT DISTINCT reasoning FROM replies")} == {"Let me see."}
    assert {row[0] for row in rows(folder, "SELECT DISTINCT estimated FROM replies")} == {False}


def test_one_that_cannot_think_is_asked_without_and_it_is_said(folder: Path, server: Scripted) -> None:
    told = annotate(folder, *at(server, PLAIN, "--param", "reasoning_effort=low"))
    assert told.json["verdicts"] == 3
    assert "refuses think" in told.stderr
    assert sum("think" in body for body in server.requests) == 1


def test_a_schema_is_kept_to(folder: Path, server: Scripted) -> None:
    told = annotate(folder, *at(server, PLAIN, "--param", "schema=on"))
    assert told.json["verdicts"] == 3
    texts = {row[0] for row in rows(folder, "SELECT text FROM replies JOIN turns USING (key) WHERE role = 'judge'")}
    assert len(texts) == 1
    assert texts.pop().startswith("{")


def test_an_unknown_model_stops_the_run_with_one_request(folder: Path, server: Scripted) -> None:
    told = annotate(folder, *at(server, "gone"), code=2)
    assert len(server.paths) == 1
    assert "not found" in told.stderr


def test_the_longest_document_is_weighed_against_the_context(tmp_path: Path, server: Scripted) -> None:
    write(tmp_path, "Text.", "word " * 2000)
    told = annotate(tmp_path, *at(server, PLAIN, "--param", "on_long=cut"))
    assert "The longest document (d1) needs about" in told.stderr
    assert "is 2,048 tokens" in told.stderr
    assert "will be truncated" in told.stderr
    roomy = annotate(tmp_path, *at(server, THINKER), project="q.duckdb")
    assert "longest document" not in roomy.stderr


def test_models_tells_sizes_families_and_with_a_probe_what_the_first_can_do(server: Scripted) -> None:
    place = ("--connection", f"ollama={server.url.removesuffix('/v1')}")
    (one,) = moot("models", *place, "--probe", "--json").json["connections"]
    assert [(model["name"], model["family"], model["size_bytes"]) for model in one["models"]] == [
        (PLAIN, "llama", 800_000_000), (THINKER, "llama", 4_900_000_000),
    ]  # fmt: skip
    assert [model["loaded"] for model in one["models"]] == [False, True]
    able = one["probe"]["capabilities"]
    assert (able["context"], able["seed"], able["schema"], able["reasoning"]) == (2048, True, "full", False)
    assert "free" in moot("models", *place).stdout
    assert "context 2,048 tokens" in moot("models", *place, "--probe").stdout
