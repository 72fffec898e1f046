"""A project leaves as a bundle and comes back as a project, from the command line."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.core.cli.invoking import annotate, moot, write


def test_out_and_in_again(tmp_path: Path) -> None:
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
    moot("import", packed, "--project", again, code=2)
    moot("import", tmp_path / "texts.jsonl", "--project", tmp_path / "other.duckdb", code=2)
    assert not (tmp_path / "other.duckdb").exists()
