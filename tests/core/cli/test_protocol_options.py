"""Tests of protocol options on the command line: parameters, presets, files, runs on ambiguous documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.files import shipped_folder
from tests.core.cli.invoking import annotate, moot, rows, write

SAMPLES = shipped_folder("sample_data")
BANK = (
    "annotate",
    str(SAMPLES / "central_bank.csv"),
    "--text",
    "text",
    "--id",
    "id",
    "--gold",
    "label=label",
    "--codebook",
    str(SAMPLES / "central_bank.yaml"),
    "--json",
)


def test_protocol_from_a_file_is_frozen_into_the_run(tmp_path: Path) -> None:
    project = tmp_path / "p.duckdb"
    codebook_path = tmp_path / "mine.yaml"
    codebook_path.write_text((SAMPLES / "protocols" / "second_reading.yaml").read_text("utf-8"), "utf-8")
    result = moot(*BANK, "--limit", 3, "--protocol", codebook_path, "--project", project).json
    assert result["documents"] == 3
    codebook_path.unlink()
    again = moot(*BANK, "--project", project, "--resume", result["run_id"]).json
    assert again["calls"] == result["calls"]
    for command in ("runs", "evaluate"):
        assert "Second reading" in moot(command, "--project", project).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--protocol", "discussion", "--param", "rounds=many"), "rounds is a whole number"),
        (("--protocol", "discussion", "--param", "annotators=99"), "From 2 to 9"),
        (("--protocol", "single", "--param", "method=magic"), "Choose one of: vanilla"),
        (("--protocol", "single", "--param", "preset=magic"), "Its presets are: paper"),
        (("--protocol", "ecj", "--param", "scope=each"), "not defined for a choice"),
        (("--protocol", "courtroom", "--role", "judge_9=builtin/lexical"), "has no role 'judge_9'"),
        (("--protocol", "custom"), "--protocol FILE.yaml"),
        (("--protocol", "nowhere.yaml"), "cannot be read"),
        (("--param", "theta=2"), "less than or equal to 1"),
        (("--param", "ambiguous=r0001"), "There is no project at"),
        (("--protocol", "discussion", "--param", "weights=reviewed"), "None of these models has labelled a reviewed"),
    ],
)
def test_invalid_options_are_refused_with_the_allowed_values(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    project = tmp_path / "p.duckdb"
    assert message in moot(*BANK, "--project", project, *options, code=2).stderr
    assert not project.exists()


def test_run_without_ambiguous_documents_imports_nothing(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    annotate(tmp_path, "--protocol", "single", "--param", "method=vote", "--param", "k=2")
    write(tmp_path, "The staff were friendly.", "The breakfast was good.")
    refused = annotate(tmp_path, "--param", "ambiguous=r0001", "--param", "theta=0", code=2)
    assert "No document is ambiguous by" in refused.stderr
    assert rows(tmp_path, "SELECT id FROM documents") == [("d0",)]


def test_run_on_ambiguous_documents_is_evaluated_separately(tmp_path: Path) -> None:
    project = ("--project", tmp_path / "p.duckdb")
    first = moot(*BANK, *project, "--limit", 6, "--protocol", "single", "--param", "method=vote", "--param", "k=2").json
    assert first["calls"] >= 12
    # The baseline is deterministic, so no resolved document is ambiguous.
    options = (*BANK, *project, "--protocol", "discussion", "--limit", 6, "--param", f"ambiguous={first['run_id']}")
    result = moot(*options, "--param", "theta=0.2", code=2)
    assert "No document is ambiguous by 'Single" in result.stderr
    assert "at threshold 0.2" in result.stderr
    other = moot(*options, "--param", "theta=1").json
    assert 0 < other["documents"] <= 6
    chosen = ("--param", f"ambiguous={first['run_id']}", "--param")
    resume = (*options[:-2], "--resume", other["run_id"], "--extend")
    extended = moot(*resume, *chosen, "theta=1")
    assert f"only by documents that are ambiguous by {first['run_id']} (theta 1)" in extended.stderr
    command = ("evaluate", *project, "--json", "--ambiguity")
    ambiguity = moot(*command, "r0001", "--run", other["run_id"]).json["runs"][0]["ambiguity"]
    assert ambiguity["ambiguous"]["documents"] + ambiguity["normal"]["documents"] == other["documents"]
    assert ambiguity["normal"]["share"] == 1.0
    assert f"{other['run_id']} has no votes" in moot(*command, other["run_id"], code=2).stderr
