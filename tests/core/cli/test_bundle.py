"""Tests of exporting and importing a bundle on the command line."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from core.export import FORMATS
from tests.core.cli.invoking import annotate, moot, write


def test_exported_bundle_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.", "A good breakfast near the station.")
    run_id = annotate(tmp_path).json["run_id"]
    project, packed, again = tmp_path / "p.duckdb", tmp_path / "all.zip", tmp_path / "again.duckdb"
    moot("export", "--project", project, "--format", "bundle", "--output", packed)
    with zipfile.ZipFile(packed) as archive:
        assert f"prompts/{run_id}/judge.md" in archive.namelist()
        assert "friendly" in archive.read(f"debates/{run_id}-1.html").decode()
    moot("import", packed, "--project", again)
    assert moot("runs", "--project", again, "--json").json == moot("runs", "--project", project, "--json").json
    resumed = annotate(tmp_path, "--resume", run_id, project="again.duckdb").json
    assert (resumed["calls"], resumed["status"]) == (6, "done")
    moot("export", "--project", project, "--format", "bundle", "--run", "r9", "--output", packed, code=2)
    moot("import", packed, "--project", again, code=2)
    moot("import", tmp_path / "texts.jsonl", "--project", tmp_path / "other.duckdb", code=2)
    assert not (tmp_path / "other.duckdb").exists()


def test_help_of_export_names_all_formats() -> None:
    shown = moot("export", "--help").stdout
    assert not [name for name in FORMATS if name not in shown], (
        "add them to the help of --format in core/cli/project.py"
    )


def test_export_does_not_overwrite_the_project(tmp_path: Path) -> None:
    write(tmp_path, "The staff were friendly.")
    annotate(tmp_path)
    project = ("--project", tmp_path / "p.duckdb")
    before = sorted(path.name for path in tmp_path.iterdir())
    for form in ("csv", "bundle", "codebook"):
        result = moot("export", *project, "--format", form, "--output", tmp_path / "p.duckdb", code=2)
        assert "belongs to the open project" in result.stderr
    moot("export", *project, "--format", "csv", "--output", tmp_path / "p.duckdb.lock", code=2)
    moot("evaluate", *project, "--html", tmp_path / "p.duckdb", code=2)
    shutil.copy(tmp_path / "p.duckdb", tmp_path / "other.duckdb")
    for command in (("export", *project, "--format", "csv", "--output"), ("evaluate", *project, "--html")):
        assert "is a DuckDB database" in moot(*command, tmp_path / "other.duckdb", code=2).stderr
    assert (tmp_path / "other.duckdb").read_bytes() == (tmp_path / "p.duckdb").read_bytes()
    (tmp_path / "other.duckdb").unlink()
    assert (
        "nowhere does not exist" in moot("evaluate", *project, "--html", tmp_path / "nowhere" / "x.html", code=2).stderr
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert moot("runs", *project, "--json").json["runs"][0]["verdicts"] == 1
    for option in (("--html", tmp_path / "critic.html"), ("--errors",)):
        critic = moot("evaluate", *project, "--annotator", "critic", *option, code=2)
        assert f"{option[0]} is about the verdicts" in critic.stderr
    moot("evaluate", *project, "--html", tmp_path / "p.duckdb.html")
    assert "Hotel aspects" in (tmp_path / "p.duckdb.html").read_text("utf-8")
