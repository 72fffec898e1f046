"""Tests of opening and closing a project file: other file formats, disk errors, rescue copies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.errors import ProjectError, ProjectGone, StorageFull
from core.store import database
from core.store.database import check_path, copy_files, open_file, translate_error
from core.store.project import Project
from tests.servers import disks

pytestmark = pytest.mark.usefixtures("applied_schema")

FILL_DISK_SCRIPT = """
import random, resource, sys
from core.errors import StorageFull
from core.store.project import Project
project = Project(sys.argv[1])
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))
kept = 0
try:
    for n in range(100):
        project.store.settings.set(f"k{n}", "".join(random.choices("abcdefghij", k=100_000)))
        kept += 1
except StorageFull as error:
    assert "disk is full" in str(error)
assert 0 < kept < 100 and project._connection.value("SELECT count(*) FROM settings") == kept
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
project.store.settings.set("after", 1)
project.close()
print(kept)
"""

CREATE_ON_SMALL_DISK_SCRIPT = """
import resource, sys
from core.errors import StorageFull
from core.store.database import open_file
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
try:
    open_file(sys.argv[1])
except StorageFull as error:
    print(error)
"""


@pytest.fixture
def disk(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    try:
        with disks.small_disk(tmp_path) as disk:
            yield disk
    except disks.NoDisk as error:
        pytest.skip(str(error))


def test_new_project_can_be_reopened(path):
    with Project(path) as project:
        project.store.settings.set("a", 1)
        assert project.path == path
    with Project(path, create=False) as project:
        assert project.store.settings.get("a") == 1


def test_project_that_cannot_be_created_leaves_no_file(disk):
    (disk / "p.duckdb.replies").write_text("replies of a project that was here")
    disks.fill(disk)
    with pytest.raises(StorageFull):
        open_file(disk / "p.duckdb")
    assert {file.name for file in disk.glob("p*")} == {"p.duckdb.replies"}
    disks.empty(disk)
    open_file(disk / "p.duckdb").close()


@pytest.mark.parametrize("size", [20_000, 40_000, 60_000])
def test_disk_that_fills_up_while_a_project_is_created_is_reported(path, size):
    command = [sys.executable, "-c", CREATE_ON_SMALL_DISK_SCRIPT, str(path), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "disk is full" in done.stdout, done.stderr
    assert list(path.parent.glob("*.duckdb*")) == []


@pytest.mark.parametrize("content", [b"", b"id,text\n1,hello\n" * 1000, b"x"])
def test_other_file_formats_are_refused_and_unchanged(path, content):
    path.write_bytes(content)
    with pytest.raises(ProjectError, match="not a DuckDB file"):
        Project(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path], "the lock file and its note are removed"


def test_database_of_another_program_is_refused(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(ProjectError, match="another program"):
        Project(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]


@pytest.mark.parametrize("name", ["a?b.duckdb", "What now?/a.duckdb"])
def test_path_with_a_question_mark_is_refused(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(ProjectError, match="contains a question mark"):
        Project(path)
    assert list(path.parent.iterdir()) == []


def test_refused_access_to_files_is_a_project_error():
    error = translate_error(duckdb.PermissionException("Permission Error: Cannot access file"), "a.duckdb")
    assert isinstance(error, ProjectError)


def test_missing_folder_or_file_is_reported(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "no" / "a.duckdb", tmp_path / "file" / "a.duckdb"):
        with pytest.raises(ProjectError, match="does not exist"):
            Project(path)
    for path in (tmp_path, "", ".", "/"):
        with pytest.raises(ProjectError, match="is a folder"):
            check_path(Path(path))
        with pytest.raises(ProjectError, match="is a folder"):
            Project(path)
    with pytest.raises(ProjectError, match="There is no project"):
        Project(tmp_path / "a.duckdb", create=False)


def test_removed_working_folder_is_reported(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ProjectError, match=r"a\.duckdb: No such file or directory"):
        check_path(Path("a.duckdb"))


def test_read_only_file_is_reported(path, monkeypatch):
    with Project(path):
        pass
    monkeypatch.setattr("core.store.database.os.access", lambda file, _mode: file != path)
    with pytest.raises(ProjectError, match="read-only"):
        Project(path)
    monkeypatch.undo()
    with Project(path):
        pass


def test_full_disk_keeps_every_acknowledged_write(path):
    done = subprocess.run(
        [sys.executable, "-c", FILL_DISK_SCRIPT, str(path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    with Project(path) as project:
        assert project._connection.value("SELECT count(*) FROM settings") == int(done.stdout) + 1


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (duckdb.IOException("IO Error: No space left on device"), StorageFull, "disk is full"),
        (OSError(28, "No space left on device"), StorageFull, "disk is full"),
        (duckdb.IOException("IO Error: Input/output error"), ProjectError, "permissions"),
        (duckdb.OutOfMemoryException("Out of Memory Error: x"), ProjectError, "not enough memory"),
        (duckdb.FatalException("FATAL Error: broken"), ProjectError, "open it again"),
    ],
)
def test_disk_errors_become_moot_errors(error, kind, message):
    translated = translate_error(error, "p.duckdb")
    assert type(translated) is kind
    assert message in str(translated)


def test_programming_errors_are_not_translated():
    error = duckdb.BinderException("no such column")
    assert translate_error(error, "p.duckdb") is error
    assert isinstance(translate_error(ValueError("x"), "p.duckdb"), ValueError)


def test_external_access_is_off(path, tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    connection = open_file(path)
    with pytest.raises(ProjectError, match="disabled by configuration"):
        connection.rows(f"SELECT * FROM read_csv('{tmp_path}/a.csv')")
    connection.close()


def test_every_thread_reads_with_its_own_cursor(path):
    connection = open_file(path)
    barrier = threading.Barrier(8)

    def read(number):
        barrier.wait()
        return connection.rows("SELECT sum(range) + ? FROM range(10000)", [number])[0][0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [49995000 + number for number in range(8)]
    assert connection.arrow("SELECT 1 AS one").to_pylist() == [{"one": 1}]
    assert connection.row("SELECT 1 WHERE false") is None
    connection.close()


def test_integers_are_in_the_order_of_their_selections(path):
    connection = open_file(path)
    selections = ("count(*) FROM runs", "max(id) FROM imports", f"{2**64 - 1}", "count(*) + 1 FROM runs")
    assert connection.integers(selections) == (0, None, 2**64 - 1, 1)
    connection.close()


def test_closed_project_raises_project_error(path):
    project = Project(path)
    project.store.documents.count()
    project.close()
    project.close()
    with pytest.raises(ProjectError, match="is closed"):
        project.store.documents.count()
    with pytest.raises(ProjectError, match="is closed"):
        project.store.settings.set("a", 1)


@pytest.mark.parametrize("part", [slice(20_000, None), slice(12_288, 20_000)], ids=["cut", "overwritten"])
def test_truncated_or_overwritten_file_is_reported_as_damaged(path, part):
    open_file(path).close()
    kept = bytearray(path.read_bytes())
    kept[part] = b"" if part.stop is None else bytes(part.stop - part.start)
    path.write_bytes(kept)
    with pytest.raises(ProjectError, match="damaged or cut short"):
        open_file(path)
    assert path.read_bytes() == kept


def test_damaged_write_ahead_log_is_named(path):
    copy, log = path.with_name("copy.duckdb"), path.with_name("copy.duckdb.wal")
    with Project(path) as project:
        for number in range(200):
            project.store.settings.set(f"key {number}", number)
        copy.write_bytes(path.read_bytes())
        kept = bytearray(path.with_name(f"{path.name}.wal").read_bytes())
    kept[len(kept) // 2 : len(kept) // 2 + 8] = b"garbage!"
    log.write_bytes(kept)
    with pytest.raises(ProjectError, match=r"copy\.duckdb\.wal, .* is damaged"):
        open_file(copy)
    log.unlink()
    open_file(copy).close()


def test_query_has_a_time_limit(path, monkeypatch):
    monkeypatch.setitem(database.CONFIG, "max_execution_time", "200")
    endless = "WITH RECURSIVE t AS (SELECT 1 n UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t"
    opened = open_file(path)
    for read in (opened.rows, opened.row, opened.arrow, opened.numbers):
        with pytest.raises(ProjectError, match="took longer"):
            read(endless)
    assert opened.row("SELECT 1") == (1,)
    opened.close()


def test_closing_stops_queries(path):
    opened = open_file(path)
    failed = []

    def read():
        try:
            opened.rows("WITH RECURSIVE t AS (SELECT 1 n UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t")
        except ProjectError as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    while len(opened._cursors) < len(readers):
        time.sleep(0.01)
    opened.close()
    for reader in readers:
        reader.join(30)
    assert [str(error) for error in failed] == [f"{path} is closed. Open the project again."] * len(readers)


@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET max_execution_time = 0",
        "SET memory_limit = '900GB'",
        "COPY settings TO '/tmp/moot-attack.csv'",
        "ATTACH '/tmp/moot-attack.duckdb'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE '/tmp/moot-attack'",
        "IMPORT DATABASE '/tmp'",
        "SELECT * FROM glob('/*')",
    ],
)
def test_sql_cannot_access_anything_outside_the_project(path, statement):
    opened = open_file(path)
    with pytest.raises((duckdb.Error, ProjectError)):
        opened.rows(statement)
    opened.close()


def deleted(path):
    path.unlink()


def moved(path):
    path.rename(path.with_name("elsewhere.duckdb"))


def replaced(path):
    other = path.with_name("other.duckdb")
    Project(other).close()
    other.replace(path)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX folders")
def test_copy_of_a_project_is_on_disk_with_its_names(path, tmp_path, monkeypatch):
    Project(path).close()
    path.with_name("project.duckdb.replies").write_text("paid for")
    synced = {}

    def sync(descriptor):
        status = os.fstat(descriptor)
        synced[status.st_ino] = status.st_size

    target = tmp_path / "new" / "folder" / "copy.duckdb"
    target.parent.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", sync)
    copy_files(path, target)
    copies = [target, target.with_name("copy.duckdb.replies"), target.parent, target.parent.parent]
    assert synced == {status.st_ino: status.st_size for status in map(os.stat, copies)}


@pytest.mark.parametrize("rename", [os.link, os.rename])
def test_open_file_is_not_opened_under_another_name(path, rename):
    with Project(path) as project:
        project.store.settings.set("a", 1)
    other = path.with_name("other.duckdb")
    project = Project(path)
    try:
        rename(path, other)
        with pytest.raises(ProjectError, match=r"other\.duckdb is another name of .*project\.duckdb, which is open"):
            Project(other)
    finally:
        other.rename(path)
        project.close()
    assert not other.with_name("other.duckdb.lock").exists()
    path.rename(other)
    with Project(other) as renamed:
        assert renamed.store.settings.get("a") == 1


def test_file_with_two_names_is_opened_once_by_two_threads(path, monkeypatch):
    Project(path).close()
    other = path.with_name("other.duckdb")
    os.link(path, other)
    connect, results = database._connect, []

    def open_other():
        try:
            results.append(Project(other))
        except ProjectError as error:
            results.append(error)

    thread = threading.Thread(target=open_other)

    def connect_slowly(file):
        if file == path:
            thread.start()
            thread.join(0.5)  # it waits until this file is open
        return connect(file)

    monkeypatch.setattr(database, "_connect", connect_slowly)
    with Project(path):
        thread.join()
        (result,) = results
        if isinstance(result, Project):
            result.close()
    assert "is another name of" in str(result)


@pytest.mark.parametrize("attack", [deleted, moved, replaced])
def test_removed_project_file_is_reported_and_saved_as_a_copy(path, attack):
    project = Project(path)
    project.store.settings.set("a", 1)
    attack(path)
    with pytest.raises(ProjectGone, match=r"was (deleted or moved|replaced by another file) while it was open"):
        project.store.settings.set("b", 2)
    assert project.file_problem is not None
    with pytest.raises(ProjectGone) as error:
        project.close()
    copy = path.with_name("project-recovered.duckdb")
    assert str(copy) in str(error.value)
    project.close()
    with Project(copy) as copied:
        assert (copied.store.settings.get("a"), copied.store.settings.get("b")) == (1, 2)


def test_copy_is_saved_once_and_in_another_folder_if_its_folder_is_missing(path, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    project = Project(path)
    project.store.settings.set("a", 1)
    for left in list(path.parent.iterdir()):
        if left != home:
            left.unlink()
    monkeypatch.setattr("core.store.project.Project.path", path.parent / "nowhere" / path.name)
    copy = project.save_copy()
    assert copy.parent == home
    with pytest.raises(ProjectGone, match="home"):
        project.close()
    assert len(list(home.glob("*.duckdb"))) == 1


@pytest.mark.parametrize("content", [b"[" * 200_000, b"{}", b"\x00" * 100, b'{"key": []}\n[]\n', bytes(range(256))])
def test_foreign_reply_log_is_skipped(path, content):
    Project(path).close()
    path.with_name(path.name + ".replies").write_bytes(content)
    with Project(path) as project:
        assert not project.replies._keys


@pytest.mark.parametrize(
    ("attack", "message"), [(disks.fill, "disk is full"), (disks.make_read_only, "became read-only")]
)
def test_project_on_a_failing_disk_is_rescued_into_the_home_folder(disk, attack, message, tmp_path):
    project = Project(disk / "p.duckdb")
    project.store.settings.set("a", 1)
    assert project.file_problem is None
    attack(disk)
    with pytest.raises(StorageFull):
        project.store.settings.set("b", "x" * 200_000)
    assert message in str(project.file_problem)
    project.check_room()
    copy = project.rescue()
    project.close()
    assert copy == tmp_path / "home" / "p-recovered.duckdb"
    assert len(list(copy.parent.glob("*.duckdb"))) == 1
    with Project(copy) as copied:
        assert (copied.store.settings.get("a"), copied.store.settings.get("b")) == (1, None)


def test_project_needs_no_rescue_after_disk_space_is_freed(disk):
    with Project(disk / "p.duckdb") as project:
        disks.fill(disk)
        with pytest.raises(StorageFull):
            project.store.settings.set("b", "x" * 200_000)
        disks.empty(disk)
        project.store.settings.set("b", "x" * 200_000)
        assert project.file_problem is None


def test_rescue_needs_space_in_the_home_folder(path, monkeypatch):
    with Project(path) as project:
        monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=10))
        with pytest.raises(ProjectError, match="no room for a copy"):
            project.check_room()


@pytest.mark.parametrize(("name", "message"), [(b"a\xff.duckdb", "not UTF-8"), (b"x" * 248 + b".duckdb", "too long")])
def test_path_that_no_project_can_have_is_reported(tmp_path, name, message):
    with pytest.raises(ProjectError, match=message):
        open_file(tmp_path / os.fsdecode(name))
    assert list(tmp_path.iterdir()) == []
