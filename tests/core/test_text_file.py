"""Tests of reading text files: only UTF-8 files of bounded size are accepted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import InputError
from core.text_file import read_bytes, read_text


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
            read_bytes(tmp_path / name, most=10)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfea")
    with pytest.raises(InputError, match="not UTF-8"):
        read_text(tmp_path / "a.txt")
