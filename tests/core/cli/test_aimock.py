"""Tests of runs with aimock, an independent mock of the OpenAI and Ollama APIs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.core.cli.invoking import annotate, moot, rows, write
from tests.servers.running import aimock, find_aimock


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return find_aimock()
    except RuntimeError as missing:
        pytest.skip(str(missing))


def fixture(
    head: str, content: str | None = None, *, user: str = "", once: bool = False, **more: Any
) -> dict[str, Any]:
    """Return a reply to requests with this start of the system prompt; ``once`` limits it to the first request."""
    match = {"systemMessage": head} | ({"userMessage": user} if user else {}) | ({"sequenceIndex": 0} if once else {})
    response = more.pop("response", None) or {"content": content, "reasoning": more.pop("reasoning", "")}
    return {"match": match, "response": response, **more}


LIMITED = {"error": {"message": "Slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 1}
BROKEN = {"error": {"message": "Out of order", "type": "server_error"}, "status": 500}
FIRST = "You are an expert annotator"
SERVICE = "The aspects present in this review are: #Service"
ANSWERS = [
    {
        "match": {"userMessage": "the weather"},
        "response": {"content": "The aspects present in this text are: #Weather"},
    },
    fixture(FIRST, user="Text 1.", once=True, response=LIMITED),
    fixture(
        FIRST,
        f"{SERVICE}, and more",
        user="Text 2.",
        once=True,
        truncateAfterChunks=3,
        latency=30,
    ),
    fixture("You are the critic", user="Text 3.", once=True, response=BROKEN),
    # One UTF-16 unit per chunk, so an emoji is split.
    fixture(FIRST, f"Kind 😀 staff.\n{SERVICE}", reasoning="Hm 😀.", chunkSize=1),
    fixture("You are the critic", f"I agree. {SERVICE}"),
    fixture("You are the judge", "Final Decision: The present aspects are: Service", reasoning="So be it."),
]


@pytest.mark.parametrize("dialect", ["openai", "ollama"])
def test_run_survives_rate_limits_cut_streams_and_faults(tmp_path: Path, program: Path, dialect: str) -> None:
    write(tmp_path, *(f"Text {index}. The staff were kind." for index in range(4)))
    with aimock(program, tmp_path, ANSWERS) as url:
        address = f"{dialect}={url}/v1" if dialect == "openai" else f"{dialect}={url}"
        chosen = ("--connection", address, "--model", f"{dialect}/gpt-4o")
        result = annotate(tmp_path, *chosen).json
        again = annotate(tmp_path, *chosen).json
        (listed,) = moot("models", "--connection", address, "--probe", "--json").json["connections"]
    assert (result["verdicts"], result["failed"], result["calls"], result["status"]) == (4, 0, 12, "done")
    assert (again["calls"], again["cached_calls"]) == (0, 12)
    assert result["seconds"] >= 1, "the server requests a wait of one second"
    attempts = rows(tmp_path, "SELECT document_id, role, kind FROM attempts ORDER BY ALL")
    assert attempts == [
        ("d1", "extractor", "rate limited"),
        ("d2", "extractor", "cut stream"),
        ("d3", "critic", "server fault"),
    ]
    ((partial,),) = rows(tmp_path, "SELECT text FROM attempts WHERE document_id = 'd2'")
    assert partial, "the text before the cut is stored, as it may be billed"
    assert SERVICE.startswith(partial)
    reasoning = dict(rows(tmp_path, "SELECT text, reasoning FROM replies"))
    has_reasoning = dialect == "openai"  # the Ollama API of aimock has no reasoning
    assert reasoning[f"Kind 😀 staff.\n{SERVICE}"] == ("Hm 😀." if has_reasoning else "")
    assert reasoning["Final Decision: The present aspects are: Service"] == ("So be it." if has_reasoning else "")
    # The Ollama API of aimock reports zero tokens, so usage is estimated.
    assert set(rows(tmp_path, "SELECT estimated FROM replies")) == {(dialect == "ollama",)}
    assert result["prompt_tokens"] > 12 < result["completion_tokens"]
    assert listed["probe"]["error"] is None
    assert listed["probe"]["in_format"] is True


def test_batch_run_uses_the_files_and_batches_api(tmp_path: Path, program: Path) -> None:
    write(tmp_path, "Text 0.", "Text 1.")
    with aimock(program, tmp_path, ANSWERS) as url:
        chosen = ("--connection", f"openai={url}/v1", "--model", "openai/gpt-4o", "--engine", "batch")
        result = annotate(tmp_path, *chosen).json
    # All batch replies are the same text without a decision, so extractor and judge are retried.
    assert (result["unresolved"], result["failed"], result["calls"], result["status"]) == (2, 0, 10, "done")
    assert rows(tmp_path, "SELECT DISTINCT text FROM replies") == [("Mock batch completion",)]
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT remote_id) FROM batches WHERE outcome = 'collected'") == [
        (5, 5)
    ]
