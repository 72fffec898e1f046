"""Tests of log probabilities from a server: certainty of decisions, calibration, review order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.services.evaluation import calibration
from core.services.workspace import Workspace
from core.store.review_queue import Viewpoint
from tests.core.cli.invoking import annotate, moot, rows, write
from tests.servers.running import llama_cpp, mock_llm

KEPT = "SELECT document_id, reading FROM turns WHERE role = 'annotator' ORDER BY document_id"


def certainties(folder: Path) -> list[dict[str, float]]:
    return [json.loads(reading)["certainty"] for _, reading in rows(folder, KEPT)]


def test_probed_server_gives_certainties_calibration_and_review_order(tmp_path: Path) -> None:
    names = ("Service", "Food", "Location")
    texts = {"Friendly staff.": {0}, "Cold breakfast at the beach.": {1}, "Staff and breakfast.": {1}, "Beach.": {2}}
    write(tmp_path, *texts)
    lines = [
        {"id": f"d{row}", "text": text, **{name: int(column in gold) for column, name in enumerate(names)}}
        for row, (text, gold) in enumerate(texts.items())
    ]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with mock_llm(slots=4, ttft=0, tpt=0) as url:
        server = ("--connection", f"logprobs={url}/v1", "--model", "logprobs/gpt-4o-mini")
        chosen = (*server, "--protocol", "single", "--gold-same-names")
        annotate(tmp_path, *chosen, project="before.duckdb")
        before = rows(tmp_path, "SELECT reading FROM turns", "before.duckdb")
        assert all(json.loads(reading)["certainty"] == {} for (reading,) in before), (
            "log probabilities are not requested before a probe"
        )
        probed = moot("models", "--connection", f"logprobs={url}/v1", "--probe", "--json").json
        assert probed["connections"][0]["probe"]["capabilities"]["logprobs"] is True
        annotate(tmp_path, *chosen)
        result = certainties(tmp_path)
        assert annotate(tmp_path, *chosen).json["cached_calls"] == len(texts)
    assert certainties(tmp_path) == [given for given in result for _ in range(2)], "reused replies keep theirs"
    assert all(result)
    assert all(0 < value <= 1 for certainties_of_row in result for value in certainties_of_row.values())
    workspace = Workspace()
    try:
        session = workspace.open(tmp_path / "p.duckdb")
        run, _ = session.store.runs.all()
        measured = calibration.certainty(session, run)
        assert (measured.kind, measured.why_not) == ("logprobs", "")
        assert measured.calibration is not None
        assert measured.calibration.n == sum(map(len, result))
        session.store.review_reasons.refresh(run.run_id, ())
        queue = session.store.review_queue.lines(Viewpoint(run.run_id), sort="certainty")
        order = [int(line.document_id[1:]) for line in queue.rows]
        assert order == sorted(range(len(result)), key=lambda row: min(result[row].values()))
    finally:
        workspace.close()


def test_llama_cpp_reports_certainties(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed")
    pytest.importorskip("gguf", reason="gguf is not installed")
    write(tmp_path, "Friendly staff.")
    with llama_cpp(tmp_path, "--ctx", "8192") as url:
        moot("models", "--connection", f"probed={url}", "--probe", "--json")
        annotate(
            tmp_path,
            "--connection",
            f"probed={url}",
            "--model",
            "probed/tiny-random",
            "--protocol",
            "single",
            "--param",
            "schema=on",
            "--param",
            "max_tokens=2048",
        )
    readable = [json.loads(reading) for _, reading in rows(tmp_path, KEPT)]
    assert [bool(one["certainty"]) for one in readable] == [any(one["values"].values()) for one in readable]
