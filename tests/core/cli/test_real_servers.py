"""Tests of runs with the llama.cpp server and a tiny random model."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.files import shipped_folder
from tests.core.cli.invoking import annotate, interrupt_twice, moot, rows, until, write
from tests.servers.running import llama_cpp

pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed")
pytest.importorskip("gguf", reason="gguf is not installed")

KEY = "sk-toy-0123456789"
RANDOM_MODEL = ("--model", "toy/tiny-random", "--param", "max_tokens=48")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama")  # with two layers, a greedy reply does not end
    with llama_cpp(folder, "--slots", "2", "--api-key", KEY, "--ctx", "16384", layers=2) as url:
        yield url


@pytest.fixture(scope="module")
def terse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose JSON ends in a decision before the output limit."""
    folder = tmp_path_factory.mktemp("terse")
    with llama_cpp(folder, "--slots", "2", "--api-key", KEY, "--ctx", "16384", quote=7) as url:
        yield url


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_TOY_API_KEY", KEY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *(f"The staff were friendly, breakfast was cold ({index})." for index in range(5)))
    return tmp_path


def get(url: str) -> Any:
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def count_busy_slots(url: str, *, tokens: int = 0) -> int:
    """Return how many slots of the server are busy with a reply of at least this many tokens so far."""
    slots = get(f"{url.removesuffix('/v1')}/slots")
    return sum(slot["is_processing"] and slot["next_token"][0]["n_decoded"] >= tokens for slot in slots)


@pytest.mark.parametrize(
    ("protocol", "params"),
    [
        ("single", ("method=self_refine",)),
        ("discussion", ("annotators=2", "rounds=1")),
        ("courtroom", ("judges=2", "bench=parallel", "trials=all", "shots=0")),
        ("ecj", ("extra_rounds=1",)),
        (str(shipped_folder("sample_data") / "protocols" / "second_reading.yaml"), ()),
    ],
    ids=lambda given: Path(given).stem if isinstance(given, str) else "",
)
def test_every_protocol_runs_on_a_real_server(folder: Path, terse: str, protocol: str, params: tuple[str, ...]) -> None:
    # A schema makes the random model give decisions, so debates finish.
    options = [word for param in (*params, "schema=on", "max_tokens=300") for word in ("--param", param)]
    model = ("--connection", f"toy={terse}", "--model", "toy/tiny-random", "--limit", 1)
    result = annotate(folder, *model, "--protocol", protocol, *options).json
    assert (result["documents"], result["failed"], result["status"]) == (1, 0, "done")
    assert result["calls"] >= 2


def test_random_text_is_unresolved_and_its_tokens_are_counted_once(folder: Path, server: str) -> None:
    # A schema would let the random model end a decision now and then.
    chosen = ("--connection", f"toy={server}", *RANDOM_MODEL, "--param", "schema=off")
    result = annotate(folder, *chosen).json
    assert result["documents"] == result["verdicts"] + result["unresolved"] + result["failed"] == 5
    assert (result["failed"], result["status"], result["cost_usd"]) == (0, "done", None)
    assert result["unresolved"] == 5
    replies = rows(folder, "SELECT finish_reason, prompt_tokens, completion_tokens, estimated FROM replies")
    assert len(replies) == result["calls"]
    assert (result["prompt_tokens"], result["completion_tokens"]) == tuple(
        sum(row[at] for row in replies) for at in (1, 2)
    )
    assert not any(row[3] for row in replies)
    assert all(row[2] in (48, 96) for row in replies if row[0] == "length"), (
        "a cut reply is retried with twice the limit"
    )
    assert all(raw for (raw,) in rows(folder, "SELECT text FROM replies")), "the raw text is kept"
    again = annotate(folder, *chosen).json
    assert (again["run_id"], again["calls"], again["cached_calls"]) == ("r0002", 0, result["calls"])


def test_replies_depend_on_the_seed(folder: Path, server: str) -> None:
    chosen = ("--connection", f"toy={server}", *RANDOM_MODEL, "--limit", "2", "--concurrency", "1")
    replies = []
    for project, seed in (("a.duckdb", 7), ("b.duckdb", 7), ("c.duckdb", 8)):
        annotate(folder, *chosen, "--seed", seed, project=project)
        replies.append(rows(folder, "SELECT text FROM replies ORDER BY key", project))
    assert replies[0] == replies[1] != replies[2]


def test_only_the_too_long_document_fails(tmp_path: Path) -> None:
    short = [f"The staff were friendly ({index})." for index in range(4)]
    write(tmp_path, *short[:2], "word " * 2000, *short[2:])
    with llama_cpp(tmp_path, "--slots", "2", "--api-key", KEY, "--ctx", "2560") as url:
        result = annotate(tmp_path, "--connection", f"toy={url}", *RANDOM_MODEL, code=1)
    assert (result.json["failed"], result.json["unresolved"] + result.json["verdicts"]) == (1, 4)
    assert result.json["status"] == "done"
    ((document, verdict),) = rows(tmp_path, "SELECT document_id, verdict FROM verdicts WHERE status = 'failed'")
    assert (document, json.loads(verdict)["error"]["kind"]) == ("d2", "context too long")
    assert rows(tmp_path, "SELECT count(*) FROM attempts") == [(1,)], "the request is not retried"


def test_ctrl_c_twice_frees_the_slots_of_llama_cpp(folder: Path, server: str) -> None:
    endless = (
        "--param",
        "temperature=0",
        "--param",
        "max_tokens=3000",
    )  # with greedy decoding this model does not stop
    chosen = ("--connection", f"toy={server}", "--model", "toy/tiny-random", *endless, "--concurrency", "2")
    # Both replies have begun, so that each call that is cut has a partial reply.
    code, result, err = interrupt_twice(folder, chosen, lambda: count_busy_slots(server, tokens=20) == 2)
    assert (code, result["status"], result["calls"], result["failed"]) == (3, "stopped", 0, 0), err
    assert "--resume r0001" in err
    assert "Traceback" not in err
    until(lambda: count_busy_slots(server) == 0, seconds=1)
    cut = rows(folder, "SELECT kind, text <> '' AND completion_tokens > 0 FROM attempts")
    assert cut == [("cancelled", True)] * 2, "partial replies may be billed"


def test_models_of_a_server_are_listed_and_the_first_is_probed(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (connection,) = moot("models", "--connection", f"toy={server}", "--probe", "--json").json["connections"]
    assert (connection["connection"], connection["base_url"], connection["error"]) == ("toy", server, None)
    assert [model["name"] for model in connection["models"]] == ["tiny-random"]
    assert (connection["probe"]["model"], connection["probe"]["error"], connection["probe"]["in_format"]) == (
        "tiny-random",
        None,
        False,
    )
    capabilities = connection["probe"]["capabilities"]
    assert (capabilities["context"], capabilities["schema"], capabilities["seed"], capabilities["refuses"]) == (
        16384,
        "full",
        True,
        [],
    )
    monkeypatch.setenv("MOOT_TOY_API_KEY", "sk-wrong-0123456789")
    result = moot("models", "--connection", f"toy={server}", "--probe", "--json")
    (connection,) = result.json["connections"]
    assert (connection["kind"], connection["models"]) == ("unauthorised", [])
    assert "sk-wrong" not in result.stdout + result.stderr


def test_schema_makes_random_replies_readable(folder: Path, terse: str) -> None:
    options = ("--model", "toy/tiny-random", "--param", "max_tokens=900", "--param", "schema=on", "--limit", "2")
    result = annotate(folder, "--connection", f"toy={terse}", *options).json
    assert (result["verdicts"], result["failed"]) == (2, 0)
    texts = rows(folder, "SELECT text FROM replies JOIN turns USING (key) WHERE role <> 'critic'")
    assert len(texts) == 4
    assert all({"reasoning", "labels"} <= json.loads(text).keys() for (text,) in texts)


def test_schema_auto_applies_to_the_second_attempt(folder: Path, terse: str) -> None:
    options = ("--model", "toy/tiny-random", "--param", "max_tokens=900", "--param", "schema=auto", "--limit", "1")
    result = annotate(folder, "--connection", f"toy={terse}", *options).json
    assert (result["verdicts"], result["calls"]) == (1, 5)


def test_embeddings_of_a_server_resolve_a_choice_without_keywords(tmp_path: Path) -> None:
    write(tmp_path, "The sea was calm.", "The wind rose.")
    (tmp_path / "codebook.yaml").write_text(
        "{kind: choice, labels: [{name: Alpha, description: happy}, {name: Beta, description: sad}]}"
    )
    without = annotate(tmp_path, project="words.duckdb")
    assert (without.json["verdicts"], without.json["unresolved"]) == (0, 2)
    assert "Alpha and Beta have no keywords" in without.stderr
    with llama_cpp(tmp_path, "--embeddings") as url:
        local = ("--connection", f"local={url}", "--model", "builtin/lexical@local/tiny-random")
        result = annotate(tmp_path, *local).json
        assert (result["verdicts"], result["unresolved"]) == (2, 0)
        again = annotate(tmp_path, *local).json
    assert again["calls"] == 0, "replies based on vectors are stored too"
    assert again["verdicts"] == 2
    assert (
        rows(tmp_path, "SELECT count(*) FROM replies WHERE text LIKE '%by vectors, it has a probability of%'")[0][0]
        >= 2
    )
    refused = annotate(tmp_path, "--model", "builtin/lexical@nowhere/tiny", project="x.duckdb", code=2)
    assert "cannot compare texts" in refused.stderr
