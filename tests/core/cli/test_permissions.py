"""Tests of file permissions: files and folders created by Moot are readable by their owner only."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.cli.studio import _write_private
from core.export.registry import FORMATS
from tests.core.cli.invoking import annotate, moot, write
from tests.servers.running import free_port, wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture
def open_folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder that all users can read, with a umask that makes new files readable for all."""
    before = os.umask(0o022)
    folder = tmp_path / "shared"
    folder.mkdir()
    write(folder, "The staff were friendly.", "A good breakfast near the station.")
    yield folder
    os.umask(before)


def created(folder: Path) -> dict[str, int]:
    """Return the permissions of all files and folders below a folder, except the input files."""
    file_names = ("texts.jsonl", "codebook.yaml", "said.txt")
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
        if path.name not in file_names
    }


def check(folder: Path) -> None:
    wrong = {
        name: oct(mode)
        for name, mode in created(folder).items()
        if mode not in ((0o700,) if (folder / name).is_dir() else (0o600,))
    }
    assert wrong == {}


def test_projects_and_exports_are_private(open_folder: Path) -> None:
    run_id = annotate(open_folder).json["run_id"]
    project = ("--project", open_folder / "p.duckdb")
    for name in (*FORMATS, "bundle"):
        os.umask(0o022)
        moot("export", *project, "--run", run_id, "--format", name, "--output", open_folder / f"out-{name}", code=None)
    os.umask(0o022)
    moot("evaluate", *project, "--html", open_folder / "report.html")
    os.umask(0o022)
    moot("import", open_folder / "out-bundle", "--project", open_folder / "again.duckdb")
    assert len(created(open_folder)) >= 8
    check(open_folder)


def test_studio_creates_private_files_only(open_folder: Path) -> None:
    port = free_port()
    folders = {f"XDG_{name}_HOME": str(open_folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    command = [sys.executable, "-c", "from core.cli import main; main()", "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | folders, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", process.poll, 60)
        names = created(open_folder)
        assert any(name.endswith(".duckdb") for name in names)
        assert any(name.endswith(f"open-{process.pid}.html") for name in names)
        assert any(name.endswith("preferences.json") for name in names)
        check(open_folder)
    finally:
        process.terminate()
        process.wait(30)
    check(open_folder)


def test_private_file_is_not_written_through_a_symbolic_link(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("kept")
    page = tmp_path / "open-1.html"
    page.symlink_to(target)
    _write_private(page, "secret")
    assert target.read_text() == "kept"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
