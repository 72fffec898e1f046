"""Tests of the checks of ``moot doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from aiohttp import web

from core.llm.connections import parse_connection
from core.services import doctor, preferences
from tests.core.cli.invoking import annotate, moot, write
from tests.servers.scripted import Scripted


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
    checks = moot("doctor", "--project", project, "--json", code=code).json["checks"]
    return {check["name"]: (check["result"], check["remedy"]) for check in checks}


def test_healthy_project_passes_every_check(project: Path) -> None:
    result = checks(project, 0)
    assert "all readable" in result["Project"][0]
    assert "duckdb" in result["Packages"][0]
    assert "free at" in result["Disk"][0]
    assert result["Connection builtin"][0] == "answers, 2 models"
    assert result["Permissions of the project"] == ("for you alone", "")
    assert not [name for name, (result, _) in result.items() if result.endswith(".")], "the command adds the full stop"


def test_missing_drive_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: False)  # as of Z: on Windows, whose parent is itself
    check = doctor._disk(tmp_path / "projects")
    assert (check.result, check.remedy[:18]) == (f"{tmp_path.anchor} does not exist", "Connect the drive,")


def test_missing_package_is_reported(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("duckdb", "not-installed"))
    result, remedy = checks(project, 1)["Packages"]
    assert "duckdb" in result
    assert remedy == "Install what is missing: not-installed."


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_command_that_corrects_permissions_is_quoted(project: Path) -> None:
    project = project.rename(project.with_name("hotel reviews.duckdb"))
    project.chmod(0o644)
    assert checks(project, 1)["Permissions of the project"][1] == f"Run: chmod go= '{project}'"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_project_that_other_users_can_read_is_reported(project: Path) -> None:
    project.chmod(0o644)
    assert checks(project, 1)["Permissions of the project"][1] == f"Run: chmod go= {project}"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_open_folders_are_counted_apart_from_files(tmp_path: Path) -> None:
    paths = [tmp_path, tmp_path / "file"]
    paths[1].touch()
    for path in paths:
        path.chmod(0o755)  # other tests change the umask
    assert doctor._permissions("", paths).result == "other users can reach 1 folder and 1 file"


def test_damaged_and_crafted_projects_are_reported(project: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(project)) as connection:
        connection.execute("CREATE MACRO count(x) AS 7")
    assert "changed by another program" in checks(project, 1)["Project"][0]
    damaged = tmp_path / "damaged.duckdb"
    damaged.write_bytes(project.read_bytes()[:5000])
    assert checks(damaged, 1)["Project"][1]
    assert "There is no project" in checks(tmp_path / "none.duckdb", 1)["Project"][0]


def test_local_server_that_rejects_the_key_needs_attention_and_a_stopped_one_does_not(project: Path) -> None:
    async def reject(_request: web.Request, _body: dict[str, Any]) -> web.StreamResponse:
        error = {"message": "No connected db.", "type": "no_db_connection", "param": None, "code": "400"}
        return web.json_response({"error": error}, status=400)  # LiteLLM without a database

    with Scripted(reject) as server:
        preferences.change(connections=(parse_connection("lite", server.url),))
        assert checks(project, 1)["Connection lite"][1] == "Set MOOT_LITE_API_KEY or type a key on the Models page."
    assert checks(project, 0)["Connection lite"][1] == ""
