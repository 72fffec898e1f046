"""Tests of files: bounded UTF-8 text, atomic writes, full disks, and files that are open elsewhere on Windows."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from core.errors import CodebookError, InputError
from core.files import atomic_write, decode_text, is_disk_full, read_bytes, read_shared, read_text, replace_shared
from tests.each_row import each_row


def test_text_is_read_without_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: x\r\nkind: y\rz")
    assert read_text(path) == "name: x\nkind: y\nz"


def test_endless_and_large_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").write_bytes(b"x" * 11)
    for name, message in {
        "zero.yaml": "is not a file",
        "pipe.yaml": "is not a file",
        "large.yaml": "larger than",
        "none.yaml": "No such file",
        ".": "is not a file",
    }.items():
        with pytest.raises(InputError, match=message):
            read_bytes(tmp_path / name, max_bytes=10)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfea")
    with pytest.raises(InputError, match="not UTF-8"):
        read_text(tmp_path / "a.txt")
    with pytest.raises(CodebookError, match=r"a\.yaml is not UTF-8 text\. Save it as UTF-8\."):
        decode_text(b"\xff\xfea", "a.yaml", CodebookError)


@pytest.mark.parametrize("private", [True, False])
def test_file_is_replaced_when_its_content_is_on_disk(private: bool, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    synced: list[str] = []
    monkeypatch.setattr("core.files.os.fsync", lambda _file: synced.append(path.read_text(encoding="utf-8")))
    mask = os.umask(0o022)
    try:
        with atomic_write(path, private=private) as file:
            file.write(b"new")
    finally:
        os.umask(mask)
    assert synced == ["old"]
    assert path.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == (0o600 if private else 0o644)
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.writelines(b"new" * (1 // number) for number in (1, 0))
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_with_the_longest_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("\u8a55" * 85)  # 255 bytes
    with atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_write_does_not_follow_a_link_with_the_name_of_the_temporary_file(tmp_path: Path, monkeypatch: Any) -> None:
    target = tmp_path / "target.txt"
    target.write_text("precious", encoding="utf-8")
    monkeypatch.setattr("core.files.secrets.token_hex", lambda _size: "0")
    (tmp_path / ".moot-0.part").symlink_to(target)
    with pytest.raises(FileExistsError), atomic_write(tmp_path / "a.txt") as file:
        file.write(b"new")
    assert target.read_text(encoding="utf-8") == "precious"


@each_row(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "Kein Platz"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError("IO Error: No space left on device"), True),
        (OSError(errno.EACCES, "Permission denied", "/mnt/disk full of music"), False),
    ],
)
def test_full_disk_is_recognised_by_number_and_by_words(error: OSError, full: bool) -> None:
    assert is_disk_full(error) is full


def refusals(count: int, *, windows: bool) -> list[PermissionError]:
    """Return errors as ``os.replace`` raises them for a file that is open in another program."""
    errors = [PermissionError(13, "Access is denied") for _ in range(count)]
    for error in errors if windows else ():
        error.winerror = 5  # type: ignore[attr-defined]
    return errors


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "new").write_text("new", encoding="utf-8")
    (tmp_path / "old").write_text("old", encoding="utf-8")
    return tmp_path / "new", tmp_path / "old"


def refuse(monkeypatch: pytest.MonkeyPatch, errors: list[PermissionError]) -> None:
    replace = os.replace

    def refuse_first(*paths: Any) -> None:
        if errors:
            raise errors.pop()
        replace(*paths)

    monkeypatch.setattr("core.files.os.replace", refuse_first)
    monkeypatch.setattr("core.files.PAUSES", (0, 0, 0))


def test_file_that_windows_refuses_for_a_moment_is_replaced(files, monkeypatch):
    refuse(monkeypatch, refusals(3, windows=True))
    replace_shared(*files)
    assert read_shared(files[1]) == b"new"


@pytest.mark.parametrize(("count", "windows"), [(4, True), (1, False)])
def test_lasting_refusal_is_raised(count, windows, files, monkeypatch):
    refuse(monkeypatch, refusals(count, windows=windows))
    with pytest.raises(PermissionError):
        replace_shared(*files)
    assert files[1].read_text(encoding="utf-8") == "old"
