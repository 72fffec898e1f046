"""Tests of projects: samples, new projects, rename, duplicate, delete, archive."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import BinaryIO

import pytest

from core.codebook import Codebook, Label
from core.documents import Document
from core.errors import ProjectError, ProjectLocked, StorageFull, UsageError
from core.services import preferences, projects
from core.services.author_labelling.labelling import AuthorDrafts
from core.services.data import sample_projects
from core.services.project_session import ProjectSession
from core.services.runs import planning
from core.services.workspace import Workspace
from core.store.project import Project
from core.store.project_lock import ProjectLock
from tests.core.services import sessions
from tests.each_row import each_row


def test_sample_project_is_created_once_with_gold_and_version_1(workspace: Workspace) -> None:
    path = sample_projects.ensure_sample(workspace)
    assert path == preferences.projects_folder() / "hotel-aspects.duckdb"
    assert sample_projects.ensure_sample(workspace) == path
    store = workspace.open(path).store
    version = store.codebooks.latest()
    assert version is not None
    assert version.number == 1
    assert store.documents.count() == store.documents.with_gold() == 96
    cleanliness = version.codebook.find("Cleanliness")
    assert cleanliness is not None
    # According to sample_data/README.md 37 reviews mention cleanliness.
    assert ("gold", cleanliness.id, True, 37) in store.documents.gold_counts()


def test_changes_to_the_sample_project_are_kept(workspace: Workspace) -> None:
    session = workspace.open(sample_projects.ensure_sample(workspace))
    session.store.documents.replace_all([])
    session.store.codebooks.save(Codebook(labels=(Label(name="Other"),)))
    sample_projects.ensure_sample(workspace)
    assert session.store.documents.count() == 0
    latest = session.store.codebooks.latest()
    assert latest is not None
    assert latest.codebook.names == ("Other",)


def test_unknown_sample_is_rejected(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="Samples: hotel-aspects"):
        sample_projects.ensure_sample(workspace, "moon-landing")


def test_sample_cards_describe_their_contents() -> None:
    assert [card.description for card in sample_projects.sample_cards()] == [
        "96 reviews, 5 labels, several per text",
        "66 sentences, 3 labels, one per text",
        "33 pairs of sentences, 3 labels, one per text",
        "44 questions and answers, 4 dimensions",
    ]


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\\b", "..", ".hidden", "con", "what?", "a" * 81, "x."])
def test_invalid_project_name_is_rejected(workspace: Workspace, name: str) -> None:
    with pytest.raises(UsageError):
        projects.create_project(workspace, name)
    assert workspace.sessions() == ()


def test_short_name_of_many_bytes_is_not_said_to_have_many_characters(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="too long"):
        projects.create_project(workspace, "酒店评论" * 7)


def test_new_project_is_empty_and_its_name_cannot_be_reused(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "  Münchner   Briefe.duckdb ")
    assert session.path == preferences.projects_folder() / "Münchner Briefe.duckdb"
    with pytest.raises(UsageError, match="already exists"):
        projects.create_project(workspace, "münchner briefe")
    assert projects.free_name("Münchner Briefe.csv") == "Münchner Briefe 2"
    assert projects.free_name("../.x") == "x"
    long = "é" * 60
    projects.create_project(workspace, projects.free_name(f"{long}.csv"))
    assert projects.free_name(f"{long}.csv") == f"{'é' * 39} 2"


def test_long_name_survives_the_bin(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "Customer reviews 2024 pilot study")
    deleted = projects.delete_project(workspace, session.path)
    assert projects.restore_project(workspace, deleted) == session.path


def test_case_of_a_name_can_be_changed(workspace: Workspace) -> None:
    path = projects.create_project(workspace, "reviews").path
    path = projects.rename_project(workspace, path, "Reviews")
    assert path.name == "Reviews.duckdb"
    assert projects.rename_project(workspace, path, "Reviews") == path
    assert path.exists()


def test_listing_projects_does_not_open_them(workspace: Workspace, tmp_path: Path) -> None:
    session = projects.create_project(workspace, "here")
    session.store.documents.add([Document("a", {"text": "x"})])
    other = tmp_path / "other.duckdb"
    other.write_bytes(b"never read")
    missing = tmp_path / "gone.duckdb"
    preferences.update(lambda saved: saved.with_recent(missing).with_recent(other))
    rows = projects.recent(workspace)
    assert [(row.name, row.open, row.documents) for row in rows] == [("other", False, None), ("here", True, 1)]
    assert rows[0].size == 10


def test_last_project_is_reopened_unless_it_is_broken(workspace: Workspace, tmp_path: Path) -> None:
    good = tmp_path / "good.duckdb"
    Project(good).close()
    bad = tmp_path / "bad.duckdb"
    bad.write_bytes(b"this is no database " * 1000)
    preferences.update(lambda saved: saved.with_recent(good).with_recent(bad))
    assert projects.open_last(workspace).path == good


def test_sample_is_opened_if_there_is_no_project(workspace: Workspace) -> None:
    assert projects.open_last(workspace).name == "hotel-aspects"


def test_project_open_in_another_process_is_not_skipped(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked_project = tmp_path / "held.duckdb"
    locked_project.touch()
    preferences.update(lambda saved: saved.with_recent(locked_project))

    def locked(path: Path, **_: object) -> None:
        raise ProjectLocked(str(path), 4127, "http://127.0.0.1:8501")

    monkeypatch.setattr(workspace, "open", locked)
    with pytest.raises(ProjectLocked):
        projects.open_last(workspace)


def test_rename_moves_the_files_and_opens_the_project_again(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "draft")
    session.store.documents.add([Document("a", {"text": "x"})])
    with pytest.raises(UsageError, match="not a valid file name"):
        projects.rename_project(workspace, session.path, "a/b")
    path = projects.rename_project(workspace, session.path, "Hotel letters")
    assert path.name == "Hotel letters.duckdb"
    assert [(row.name, row.open, row.documents) for row in projects.recent(workspace)] == [("Hotel letters", True, 1)]
    assert not [file for file in path.parent.iterdir() if file.name.startswith("draft")]


def test_rename_can_change_only_the_case_on_file_systems_that_ignore_case(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlink_ignoring_case(path: Path, missing_ok: bool = False) -> None:
        found = [file for file in path.parent.iterdir() if file.name.casefold() == path.name.casefold()]
        for file in found:
            os.unlink(file)
        if not (found or missing_ok):
            raise FileNotFoundError(path)

    session = projects.create_project(workspace, "reviews")
    session.store.documents.add([Document("a", {"text": "x"})])
    monkeypatch.setattr(Path, "unlink", unlink_ignoring_case)
    path = projects.rename_project(workspace, session.path, "Reviews")
    assert path.name in {file.name for file in path.parent.iterdir()}
    assert [(row.name, row.open, row.documents) for row in projects.recent(workspace)] == [("Reviews", True, 1)]


def test_duplicate_copies_the_documents(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "one")
    session.store.documents.add([Document("a", {"text": "x"})])
    copy = projects.duplicate_project(workspace, session.path)
    assert [row.name for row in projects.recent(workspace)] == ["one", "one 2"]
    assert workspace.open(copy).store.documents.count() == 1


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
@each_row("change", ["rename", "duplicate", "close"])
def test_other_tab_waits_to_open_a_project_that_is_closed(workspace: Workspace, tmp_path: Path, change: str) -> None:
    session = workspace.open(tmp_path / f"{change}.duckdb")
    changes: dict[str, Callable[[], object]] = {
        "rename": lambda: projects.rename_project(workspace, session.path, "renamed"),
        "duplicate": lambda: projects.duplicate_project(workspace, session.path),
        "close": lambda: workspace.close_project(session.path),
    }
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as other_tab:
        opened: list[Future[ProjectSession]] = []

        def open_during(step: Callable[..., None]) -> Callable[..., None]:
            def run(*args: Path) -> None:
                opened.append(other_tab.submit(workspace.open, session.path, create=False))
                assert not wait(opened, 0.1).done
                step(*args)

            return run

        patch.setattr(projects, "copy_files", open_during(projects.copy_files))
        patch.setattr(projects, "_move", open_during(projects._move))
        if change == "close":
            patch.setattr(session, "close", open_during(session.close))
        changes[change]()
        if change == "rename":
            assert isinstance(opened[0].exception(5), ProjectError)
        else:
            assert opened[0].result(5) in workspace.sessions()
    names = [session.name for session in workspace.sessions()]
    assert "rename" not in names
    for path in [session.path for session in workspace.sessions()]:
        workspace.close_project(path)


@pytest.mark.parametrize("is_open", [False, True])
def test_other_process_cannot_open_a_project_that_is_copied_or_moved(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    path = projects.create_project(workspace, "one").path
    if not is_open:
        workspace.close_project(path)

    def after_an_attempt(step: Callable[..., None]) -> Callable[..., None]:
        def run(*files: Path) -> None:
            with pytest.raises(ProjectLocked):
                ProjectLock(path)
            step(*files)

        return run

    monkeypatch.setattr(projects, "copy_files", after_an_attempt(projects.copy_files))
    monkeypatch.setattr(projects, "_move", after_an_attempt(projects._move))
    projects.duplicate_project(workspace, path)
    projects.rename_project(workspace, path, "two")
    assert [session.name for session in workspace.sessions()] == ["two"] * is_open
    assert not [file for file in path.parent.iterdir() if file.name.startswith("one.")]


def test_duplicate_is_private_and_does_not_follow_links(workspace: Workspace, tmp_path: Path) -> None:
    session = projects.create_project(workspace, "one")
    path = session.path
    workspace.close_project(path)
    path.chmod(0o644)
    path.with_name("one.duckdb.replies").touch()
    foreign = tmp_path / "foreign"
    foreign.write_text("kept")
    link = path.with_name("one 2.duckdb.replies")
    link.symlink_to(foreign)
    before = os.umask(0o077)
    try:
        with pytest.raises(ProjectError, match="exists"):
            projects.duplicate_project(workspace, path)
        assert foreign.read_text() == "kept"
        assert not path.with_name("one 2.duckdb").exists()
        link.unlink()
        copy = projects.duplicate_project(workspace, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_project_with_a_linked_lock_is_not_moved(workspace: Workspace, tmp_path: Path) -> None:
    path = projects.create_project(workspace, "one").path
    workspace.close_project(path)
    lock = path.with_name("one.duckdb.lock")
    lock.unlink()
    lock.symlink_to(tmp_path / "foreign")
    with pytest.raises(ProjectError, match="not a regular file"):
        projects.delete_project(workspace, path)
    assert not (tmp_path / "foreign").exists()


def test_duplicate_that_cannot_be_written_opens_the_project_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = projects.create_project(workspace, "one")

    def fail(*_files: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", fail)
    with pytest.raises(StorageFull):
        projects.duplicate_project(workspace, session.path)
    assert [open_session.path for open_session in workspace.sessions()] == [session.path]
    assert not session.path.with_name("one 2.duckdb").exists()


def rename(workspace: Workspace, path: Path) -> None:
    projects.rename_project(workspace, path, "two")


@pytest.mark.parametrize("move", [rename, projects.delete_project])
@pytest.mark.parametrize("is_open", [False, True])
def test_project_whose_files_cannot_be_moved_stays_as_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, move: Callable[[Workspace, Path], object], is_open: bool
) -> None:
    path = projects.create_project(workspace, "one").path
    replies = path.with_name("one.duckdb.replies")
    if not is_open:
        workspace.close_project(path)
        replies.write_text("paid for")
    files, move_file = projects.data_files(path), Path.rename

    def fail(file: Path, target: Path) -> Path:
        if file == (path if is_open else replies):
            raise PermissionError(errno.EACCES, "Permission denied")
        return move_file(file, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(ProjectError, match="Permission denied"):
        move(workspace, path)
    assert projects.data_files(path) == files
    assert [session.path for session in workspace.sessions()] == [path] * is_open
    assert projects.deleted_projects() == ()


def test_project_with_an_active_run_of_the_lab_is_not_moved(tmp_path: Path) -> None:
    with sessions.studio(tmp_path) as (workspace, session):
        settings = planning.project_settings(session, planning.Plan(protocol="single", pace=1.0))
        run = session.store.runs.create(settings, session.store.documents.ids(), purpose="lab")
        status = session.start_or_resume(run.run_id)
        with pytest.raises(UsageError, match="hotel is in use: a run is active"):
            rename(workspace, session.path)
        session.stop(run.run_id)
        status.result()
        rename(workspace, session.path)


def test_project_with_an_active_job_is_neither_moved_nor_copied(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "one")
    session.start_job("a model writes personas", lambda _: Future(), "Waiting")
    for change in (rename, projects.duplicate_project, projects.delete_project):
        with pytest.raises(UsageError, match="one is in use: a model writes personas"):
            change(workspace, session.path)
    session.jobs["a model writes personas"].stop()
    rename(workspace, session.path)


def test_project_renamed_like_a_vanished_archived_one_is_listed(workspace: Workspace) -> None:
    path, vanished = (projects.create_project(workspace, name).path for name in ("one", "two"))
    projects.set_archived(workspace, vanished, archived=True)
    vanished.unlink()
    workspace.close_project(path)
    opened_at = preferences.load().recent[str(path)]
    assert projects.rename_project(workspace, path, "two") == vanished
    assert [listed.name for listed in projects.recent(workspace)] == ["two"]
    assert preferences.load().recent == {str(vanished): opened_at}


def test_rename_keeps_an_unsent_text(workspace: Workspace) -> None:
    path = projects.create_project(workspace, "one").path
    workspace.shared(AuthorDrafts, path).of("p1").text = "My first"
    path = projects.rename_project(workspace, path, "two")
    assert workspace.shared(AuthorDrafts, path).of("p1").text == "My first"
    again = projects.create_project(workspace, "one").path
    assert workspace.shared(AuthorDrafts, again).of("p1").text == ""


def test_new_project_does_not_get_the_unsent_text_of_a_deleted_one(workspace: Workspace) -> None:
    path = projects.create_project(workspace, "one").path
    workspace.shared(AuthorDrafts, path).of("p1").text = "My first"
    deleted = projects.delete_project(workspace, path)
    again = projects.create_project(workspace, "one").path
    assert workspace.shared(AuthorDrafts, again).of("p1").text == ""
    restored = projects.restore_project(workspace, deleted)
    assert workspace.shared(AuthorDrafts, restored).of("p1").text == "My first"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second disk")
def test_project_stays_complete_if_the_bin_is_on_a_full_disk(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = projects.create_project(workspace, "one").path
    workspace.close_project(path)
    replies = path.with_name("one.duckdb.replies")
    replies.write_text("paid for")

    def copy(source: BinaryIO, destination: BinaryIO) -> None:
        destination.write(source.read(4))
        if source.name == str(replies):
            raise OSError(errno.ENOSPC, "No space left on device")

    with tempfile.TemporaryDirectory(dir="/dev/shm") as bin:
        monkeypatch.setattr(projects, "_bin", lambda: Path(bin))
        with monkeypatch.context() as full:
            full.setattr(shutil, "copyfileobj", copy)
            with pytest.raises(StorageFull):
                projects.delete_project(workspace, path)
        assert list(Path(bin).iterdir()) == []
        assert path.exists()
        assert replies.read_text() == "paid for"
        deleted = projects.delete_project(workspace, path)
        assert not path.exists()
        assert not replies.exists()
        assert projects.restore_project(workspace, deleted) == path
        assert replies.read_text() == "paid for"


def test_two_tabs_empty_the_bin(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        projects.delete_project(workspace, projects.create_project(workspace, name).path)
    delete, load = shutil.rmtree, projects._deleted

    def delete_in_both_tabs(folder: Path) -> None:
        delete(folder)
        delete(folder)

    def load_after_deletion(folder: Path) -> projects.DeletedProject:
        delete(folder)
        return load(folder)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", delete_in_both_tabs)
        projects.empty_bin()
    assert projects.deleted_projects() == ()
    projects.delete_project(workspace, projects.create_project(workspace, "three").path)
    monkeypatch.setattr(projects, "_deleted", load_after_deletion)
    assert projects.deleted_projects() == ()


def test_file_of_the_bin_that_another_program_has_open_is_reported(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "The process cannot access the file: it is being used by another process")

    projects.delete_project(workspace, projects.create_project(workspace, "one").path)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(ProjectError, match=r"one\.duckdb is open in another program"):
        projects.empty_bin()


def test_project_is_copied_in_two_tabs_at_once(workspace: Workspace) -> None:
    path = projects.create_project(workspace, "one").path
    with ThreadPoolExecutor(3) as tabs:
        copies = list(tabs.map(lambda _: projects.duplicate_project(workspace, path), range(3)))
    assert sorted(copy.stem for copy in copies) == ["one 2", "one 3", "one 4"]


def test_deleted_project_is_restored_from_the_bin(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "one")
    session.store.documents.add([Document("a", {"text": "x"})])
    deleted = projects.delete_project(workspace, session.path)
    assert not session.path.exists()
    assert projects.recent(workspace) == ()
    assert [(deleted.name, deleted.origin) for deleted in projects.deleted_projects()] == [("one", session.path)]
    projects.create_project(workspace, "one")  # the name is in use again
    path = projects.restore_project(workspace, deleted)
    assert path.stem == "one 2"
    assert workspace.open(path).store.documents.count() == 1
    assert projects.deleted_projects() == ()
    deleted = projects.delete_project(workspace, path)
    projects.empty_bin()
    assert projects.deleted_projects() == ()
    with pytest.raises(ProjectError, match="one 2 is not in the bin any more"):
        projects.restore_project(workspace, deleted)


def test_path_of_a_deleted_project_is_on_disk_before_its_files_are_moved(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = projects.create_project(workspace, "one").path
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    move = projects._move

    def check_and_move(path: Path, target: Path) -> None:
        assert target.with_name(projects.ORIGIN).stat().st_ino in synced
        move(path, target)

    monkeypatch.setattr(projects, "_move", check_and_move)
    assert projects.delete_project(workspace, path).origin == path


def test_archived_project_is_closed_and_listed_separately(workspace: Workspace) -> None:
    session = projects.create_project(workspace, "old")
    projects.set_archived(workspace, session.path, archived=True)
    assert workspace.sessions() == ()
    assert projects.recent(workspace) == ()
    assert [row.name for row in projects.archived()] == ["old"]
    projects.set_archived(workspace, session.path, archived=False)
    assert [row.name for row in projects.recent(workspace)] == ["old"]


def test_project_open_in_another_process_is_not_moved(workspace: Workspace, tmp_path: Path) -> None:
    locked_project = tmp_path / "held.duckdb"
    with Project(locked_project), pytest.raises(ProjectLocked):
        projects.rename_project(workspace, locked_project, "mine")
    assert locked_project.is_file()


def test_reveal_without_a_file_manager_names_the_file(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="No file manager"):
        projects.reveal_project(Path("/somewhere/x.duckdb"))


@pytest.mark.skipif(sys.platform != "linux", reason="xdg-open")
def test_reveal_opens_the_folder_or_reports_the_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n', encoding="utf-8")
    opener.chmod(0o755)
    projects.reveal_project(Path("/somewhere/x.duckdb"))
    assert (tmp_path / "opened").read_text(encoding="utf-8") == "/somewhere\n"
    opener.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    with pytest.raises(UsageError, match="No file manager"):
        projects.reveal_project(Path("/somewhere/x.duckdb"))


def test_reveal_quotes_only_the_path_for_explorer(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def refuse(command: str, **_: object) -> None:
        started.append(command)
        raise OSError

    monkeypatch.setattr("core.services.projects.sys.platform", "win32")
    monkeypatch.setattr("core.services.projects.subprocess.Popen", refuse)
    with pytest.raises(UsageError, match="No file manager"):
        projects.reveal_project(Path("my project, 2.duckdb"))
    assert started == ['explorer /select,"my project, 2.duckdb"']
