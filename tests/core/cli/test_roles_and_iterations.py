"""Tests of the number of calls per role model, iteration and document, counted at the servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.cli.invoking import annotate, arguments, moot, rows, until, write
from tests.servers.running import free_port, mock_llm, stats
from tests.servers.scripted import ECJ, Scripted, debating, role_of


@pytest.fixture(scope="module")
def mock() -> Iterator[str]:
    with mock_llm(slots=8, ttft=0.005, tpt=0.0001) as url:
        yield url


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    with mock_llm(slots=8, ttft=0.005, tpt=0.0001) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, *(f"Text {index}. The staff were friendly, breakfast was cold." for index in range(6)))
    return tmp_path


def count_calls(url: str) -> dict[str, Any]:
    """Return and reset the numbers of calls by role."""
    counted = stats(url)
    urllib.request.urlopen(urllib.request.Request(f"{url}/reset", data=b"", method="POST")).close()
    return {**counted["by_role"], "all": counted["calls"], "api": counted["by_api"]}


def test_each_role_calls_the_server_of_its_model(folder: Path, mock: str, other: str) -> None:
    count_calls(mock), count_calls(other)
    role_models = ("--role", "extractor=a/small", "--role", "judge=b/large")
    result = annotate(folder, "--connection", f"a={mock}/v1", "--connection", f"b={other}/v1", *role_models).json
    assert (result["status"], result["failed"]) == ("done", 0)
    at_mock, at_other = count_calls(mock), count_calls(other)
    probe = 1
    assert at_mock["extractor"] == 6 + probe  # the mock counts the probe as an extractor call
    assert (at_other["judge"], at_other["extractor"]) == (6, probe)
    assert "critic" not in at_mock | at_other  # the built-in model is the critic
    assert result["calls"] == 18
    resolve = dict(rows(folder, "SELECT DISTINCT role, role_model FROM turns"))
    names = {
        role: (json.loads(role_model)["connection"], json.loads(role_model)["model"])
        for role, role_model in resolve.items()
    }
    assert names == {"extractor": ("a", "small"), "critic": ("builtin", "lexical"), "judge": ("b", "large")}


def test_another_judge_model_repeats_judge_calls_only(folder: Path, mock: str, other: str) -> None:
    places = ("--connection", f"a={mock}/v1", "--connection", f"b={other}/v1", "--model", "a/m")
    annotate(folder, *places)
    count_calls(mock), count_calls(other)
    result = annotate(folder, *places, "--role", "judge=b/m").json
    assert (result["calls"], result["cached_calls"]) == (6, 12)
    assert count_calls(mock)["all"] == 1  # the probe
    assert count_calls(other)["judge"] == 6


def test_openai_and_ollama_models_share_a_debate(folder: Path, mock: str, other: str) -> None:
    count_calls(other)
    role_models = ("--role", "extractor=a/m", "--role", "judge=ollama/m")
    places = ("--connection", f"a={mock}/v1", "--connection", f"ollama={other}")
    result = annotate(folder, *places, *role_models).json
    assert (result["status"], result["failed"], result["cost_usd"]) == ("done", 0, None)
    assert count_calls(other)["api"] == {"ollama": 7}


def test_limit_selects_the_first_documents_and_a_later_run_reuses_them(folder: Path, mock: str) -> None:
    chosen = ("--connection", f"a={mock}/v1", "--model", "a/m")
    first = annotate(folder, *chosen, "--limit", "2").json
    assert (first["documents"], first["calls"]) == (2, 6)
    assert rows(folder, "SELECT document_id FROM verdicts ORDER BY 1") == [("d0",), ("d1",)]
    every = annotate(folder, *chosen, "--limit", "100").json
    assert (every["documents"], every["calls"], every["cached_calls"]) == (6, 12, 6)


def test_second_iteration_makes_new_calls_in_the_same_experiment(folder: Path, mock: str) -> None:
    count_calls(mock)
    chosen = ("--connection", f"a={mock}/v1", "--model", "a/m", "--iterations", "2", "--seed", "5", "--limit", "3")
    result = annotate(folder, *chosen).json
    assert [run["run_id"] for run in result["runs"]] == ["r0001", "r0002"]
    assert [(run["documents"], run["calls"], run["cached_calls"], run["status"]) for run in result["runs"]] == [
        (3, 9, 0, "done")
    ] * 2
    assert (result["run_id"], result["documents"], result["calls"], result["status"]) == ("r0001", 6, 18, "done")
    assert result["documents"] == result["verdicts"] + result["unresolved"] + result["failed"]
    assert count_calls(mock)["all"] == 18 + 1
    assert rows(folder, "SELECT DISTINCT experiment_id FROM runs") == [("r0001",)]
    again = annotate(folder, *chosen).json
    assert (again["calls"], again["cached_calls"]) == (0, 18)


def test_iterations_behind_one_that_pauses_are_put_on_hold(folder: Path, mock: str) -> None:
    priced = ("--connection", f"a={mock}/v1", "--model", "a/m", "--price", "a/m=1/10")
    result = annotate(folder, *priced, "--iterations", "3", "--budget", "0.0001", code=3)
    assert [run["status"] for run in result.json["runs"]] == ["paused"] * 3
    assert "r0002 and r0003 are on hold. Resume each, for example with --resume r0002 --price" in result.stderr
    reasons = rows(folder, "SELECT stop_code, message FROM runs WHERE run_id > 'r0001'")
    assert reasons == [("on_hold", "r0001")] * 2
    resumed = annotate(folder, *priced, "--resume", "r0001", "--budget", "5")
    assert "r0002 and r0003, of the same experiment, are still paused. Resume each, for example with" in resumed.stderr
    assert resumed.stderr.endswith("--resume r0002 --price=a/m=1/10 --connection=a=" + f"{mock}/v1 --budget=5\n")
    annotate(folder, *priced, "--resume", "r0002", "--budget", "5")
    resumed = annotate(folder, *priced, "--resume", "r0003", "--budget", "5")
    assert "still paused" not in resumed.stderr


def test_each_iteration_has_its_own_seed(folder: Path) -> None:
    with Scripted(debating()) as server:
        chosen = ("--connection", f"a={server.url}", "--model", "a/m", "--limit", "1", "--iterations", "2")
        annotate(folder, *chosen, "--seed", "5")
        seeds = [body["seed"] for body in server.requests if role_of(body) != "probe"]
    assert seeds == [5, 5, 5, 6, 6, 6]


def test_resuming_a_finished_run_makes_no_calls(folder: Path, mock: str) -> None:
    chosen = ("--connection", f"a={mock}/v1", "--model", "a/m")
    done = annotate(folder, *chosen).json
    count_calls(mock)
    again = annotate(folder, *chosen, "--resume", "r0001").json
    assert count_calls(mock)["all"] == 0
    assert {**again, "seconds": 0} == {**done, "seconds": 0}
    result = annotate(folder, *chosen, "--resume", "r0009", code=2)
    assert "Run 'r0009' does not exist" in result.stderr


def test_error_names_the_missing_connection_of_a_resumed_run(folder: Path) -> None:
    with Scripted(debating(judge="?")) as server:
        annotate(folder, "--connection", f"a={server.url}", "--model", "a/m")
    result = annotate(folder, "--resume", "r0001", "--retry", "unresolved", code=2)
    assert "Add --connection a=URL" in result.stderr


def test_models_are_listed_and_probed_with_the_format_of_runs(mock: str, other: str) -> None:
    closed_port = free_port()
    places = ("--connection", f"a={mock}/v1", "--connection", f"ollama={other}")
    result = moot("models", *places, "--connection", f"c=http://127.0.0.1:{closed_port}/v1", "--probe", "--json").json
    a, ollama, c = result["connections"]
    assert [connection["connection"] for connection in (a, ollama, c)] == ["a", "ollama", "c"]
    for server in (a, ollama):
        assert [model["name"] for model in server["models"]] == ["gpt-4o-mini", "mock"]
        assert server["error"] is None
        assert set(server["probe"]) == {"model", "error", "in_format", "seconds", "dropped", "capabilities"}
        assert (server["probe"]["model"], server["probe"]["error"]) == ("gpt-4o-mini", None)
    assert (ollama["models"][0]["parameters"], ollama["models"][0]["size_bytes"]) == ("7B", 4_000_000_000)
    assert (c["kind"], c["models"], "probe" in c) == ("unreachable", [], False)


def test_probe_reports_refused_parameters_and_format(folder: Path) -> None:
    with Scripted(debating(probe="The aspects present in this text are: #Weather")) as server:
        place = ("--connection", f"a={server.url}")
        result = annotate(folder, *place, "--model", "a/m", "--limit", "1")
        server.behave = debating(probe="I love rain.")
        unformatted = annotate(folder, *place, "--model", "a/m", "--limit", "2")
    assert "expected format" not in result.stderr
    assert 'the model answers, but not in the expected format. It replied "I love rain.".' in unformatted.stderr
    assert unformatted.json["verdicts"] == 2
    assert ECJ["judge"] in {text for (text,) in rows(folder, "SELECT text FROM replies")}


RESTORE_SIGINT = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""Restores Ctrl-C: a shell ignores it in background processes, and child processes inherit that."""


def test_ctrl_c_before_the_run_leaves_no_project(folder: Path) -> None:
    with mock_llm(ttft=60) as url:
        chosen = arguments(folder, "--connection", f"a={url}/v1", "--model", "a/m")
        process = subprocess.Popen(
            [sys.executable, "-c", f"{RESTORE_SIGINT}; from core.cli import main; main()", *map(str, chosen)],
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        until(lambda: bool(stats(url)["active"]))
        process.send_signal(signal.SIGINT)
        try:
            _, output = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output.strip().splitlines()[-1]) == (3, "moot: interrupted")
    assert not (folder / "p.duckdb").exists()
