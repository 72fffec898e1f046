"""Tests of the checks of ``moot doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.core.cli.invoking import annotate, moot, write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    before = os.umask(0o077)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):  # other tests make folders with their own permissions
        monkeypatch.setenv(name, str(tmp_path / name))
    write(tmp_path, "The staff were friendly.")
    annotate(tmp_path)
    yield tmp_path / "p.duckdb"
    os.umask(before)


def checks(project: Path, code: int) -> dict[str, tuple[str, str]]:
    found = moot("doctor", "--project", project, "--json", code=code).json["checks"]
    return {one["name"]: (one["result"], one["remedy"]) for one in found}


def test_healthy_project_passes_every_check(project: Path) -> None:
    found = checks(project, 0)
    assert "all readable" in found["Project"][0]
    assert "duckdb" in found["Packages"][0]
    assert "free at" in found["Disk"][0]
    assert found["Connection builtin"][0] == "answers, 2 models"
    assert found["Permissions of the project"] == ("for you alone", "")
    assert not [name for name, (result, _) in found.items() if result.endswith(".")], "the command adds the full stop"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_project_that_other_users_can_read_is_reported(project: Path) -> None:
    project.chmod(0o644)
    assert checks(project, 1)["Permissions of the project"][1] == f"Run: chmod go= {project}"


def test_damaged_and_crafted_projects_are_reported(project: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(project)) as connection:
        connection.execute("CREATE MACRO count(x) AS 7")
    assert "changed by another program" in checks(project, 1)["Project"][0]
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(project.read_bytes()[:5000])
    assert checks(damaged, 1)["Project"][1]
    assert "There is no project" in checks(tmp_path / "none.duckdb", 1)["Project"][0]
