"""Tests of the lock of a project, and of links and foreign files beside it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from core.debate.turns import Reply
from core.errors import ProjectError, ProjectLocked
from core.store.project import Project
from core.store.reply_cache import ReplyLog

OPEN_SCRIPT = """
import sys
from core.store.project import Project
with Project(sys.argv[1], url="http://127.0.0.1:8501"):
    print("open", flush=True)
    sys.stdin.readline()
"""


def run_script(script, path):
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def wait_for(process):
    process.communicate("\n", timeout=60)


def test_lock_error_names_the_owning_process(path):
    owner = run_script(OPEN_SCRIPT, path)
    assert owner.stdout.readline() == "open\n"
    with pytest.raises(ProjectLocked) as caught:
        Project(path)
    assert caught.value.pid == owner.pid
    assert caught.value.url == "http://127.0.0.1:8501"
    wait_for(owner)
    with Project(path):
        pass


def test_killed_owner_leaves_no_lock(path):
    owner = run_script(OPEN_SCRIPT, path)
    owner.stdout.readline()
    owner.kill()
    owner.communicate(timeout=60)
    with Project(path, url="http://here"):
        note = json.loads(path.with_name(path.name + ".lock.json").read_text())
        assert note["url"] == "http://here"


def test_same_process_cannot_open_a_project_twice(path, tmp_path):
    (tmp_path / "sub").mkdir()
    with Project(path, url="http://127.0.0.1:8502"):
        with pytest.raises(ProjectLocked) as caught:
            Project(tmp_path / "sub" / ".." / path.name)
        assert caught.value.url == "http://127.0.0.1:8502"
    assert not path.with_name(path.name + ".lock.json").exists()


def test_lock_without_a_note_reports_unknown_pid(path):
    with FileLock(f"{path}.lock"), pytest.raises(ProjectLocked, match="pid unknown"):
        Project(path)


def test_database_that_another_program_has_open_is_refused(path):
    with Project(path):
        pass
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.readline()"
    other = run_script(script, path)
    other.stdout.readline()
    with pytest.raises(ProjectError, match="open in another program"):
        Project(path)
    wait_for(other)


def test_unwritable_folder_is_reported(path, monkeypatch):
    # Root can write anywhere, so the test replaces the first write, which is the lock file.
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(ProjectError, match="cannot be written"):
        Project(path)


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "other.txt"
    path.write_text("precious\n")
    return path


@pytest.mark.parametrize("name", ["project.duckdb.lock", ".moot-0.part", "project.duckdb.lock.json"])
def test_symlinks_next_to_a_project_do_not_redirect_its_notes(path, target, name, monkeypatch):
    monkeypatch.setattr("core.files.secrets.token_hex", lambda _size: "0")
    path.with_name(name).symlink_to(target)
    with suppress(ProjectError):
        Project(path).close()
    assert target.read_text() == "precious\n"


def linked(path):
    path.symlink_to(path.with_name("somewhere else"))


def endless(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("attack", [linked, endless, os.mkfifo, os.mkdir], ids=lambda attack: attack.__name__)
@pytest.mark.parametrize("suffix", [".wal", ".wal.checkpoint", ".replies", ".lock.json", ".lock"])
@pytest.mark.parametrize("new", [True, False])
def test_project_with_a_companion_that_is_not_a_regular_file_is_refused(path, suffix, attack, new):
    # Another user could create such a file in a shared folder; the log of DuckDB would follow the link.
    if not new:
        Project(path).close()
    companion = path.with_name(path.name + suffix)
    companion.unlink(missing_ok=True)
    attack(companion)
    with pytest.raises(ProjectError, match=re.escape(f"{companion} is not a regular file")):
        Project(path)
    assert path.exists() is not new
    assert not path.with_name("somewhere else").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("suffix", [".wal", ".replies", ".lock.json", ".lock", ".tmp"])
def test_project_with_a_companion_of_another_user_is_refused(path, suffix):
    # DuckDB and the reply log would write texts into a file that its owner can read.
    Project(path).close()
    companion = path.with_name(path.name + suffix)
    companion.mkdir() if suffix == ".tmp" else companion.touch()
    os.chown(companion, 12345, -1)
    with pytest.raises(ProjectError, match=re.escape(f"{companion} belongs to another user")):
        Project(path)
    os.chown(path, 12345, -1)
    Project(path).close()


@pytest.mark.parametrize("attack", [linked, Path.touch], ids=["link", "file"])
def test_project_whose_folder_for_temporary_files_is_not_a_folder_is_refused(path, attack):
    companion = path.with_name(path.name + ".tmp")
    attack(companion)
    with pytest.raises(ProjectError, match=re.escape(f"{companion} is not a folder")):
        Project(path)


@pytest.mark.parametrize(
    "note",
    [
        "[" * 900,
        "[" * 200_000,
        '{"pid": 1, "url": "\\u001b[2Jhttp://127.0.0.1:8501"}',
        '{"pid": 1, "url": ["x"]}',
        '{"pid": 1, "url": "http://127.0.0.1:8501@evil.example"}',
        '{"pid": "x", "url": null}',
        '{"pid": 1e999}',
    ],
)
def test_address_in_a_forged_lock_note_is_ignored(path, note):
    with FileLock(f"{path}.lock"):
        path.with_name(path.name + ".lock.json").write_text(note)
        with pytest.raises(ProjectLocked) as caught:
            Project(path)
        assert caught.value.url is None


def test_symlinks_next_to_a_project_do_not_redirect_its_reply_log(path, target, monkeypatch):
    monkeypatch.setattr("core.files.secrets.token_hex", lambda _size: "0")
    reply = Reply("a reply", key="k" * 32)
    with Project(path) as project:
        log = path.with_name(path.name + ".replies")
        log.symlink_to(target)
        with pytest.raises(ProjectError):
            asyncio.run(project.replies.commit(reply))
        log.unlink()
        log.with_name(".moot-0.part").symlink_to(target)
        writer = ReplyLog(log)
        writer.append(reply)
        with pytest.raises(FileExistsError):
            writer._rewrite()
        writer.close()
        log.unlink()
    assert target.read_text() == "precious\n"
