"""Tests of files that are open elsewhere, with the errors of Windows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core import shared_files


def refusals(count: int, *, windows: bool) -> list[PermissionError]:
    """Return errors as ``os.replace`` raises them for a file that is open in another program."""
    found = [PermissionError(13, "Access is denied") for _ in range(count)]
    for error in found if windows else ():
        error.winerror = 5  # type: ignore[attr-defined]
    return found


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

    monkeypatch.setattr("core.shared_files.os.replace", refuse_first)
    monkeypatch.setattr(shared_files, "PAUSES", (0, 0, 0))


def test_file_that_windows_refuses_for_a_moment_is_replaced(files, monkeypatch):
    refuse(monkeypatch, refusals(3, windows=True))
    shared_files.replace(*files)
    assert shared_files.read_bytes(files[1]) == b"new"


@pytest.mark.parametrize(("count", "windows"), [(4, True), (1, False)])
def test_lasting_refusal_is_raised(count, windows, files, monkeypatch):
    refuse(monkeypatch, refusals(count, windows=windows))
    with pytest.raises(PermissionError):
        shared_files.replace(*files)
    assert files[1].read_text(encoding="utf-8") == "old"
