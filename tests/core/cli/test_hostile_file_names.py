"""Tests of ``moot annotate`` on files whose names are hostile: they become ids, raters, cells and messages."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from tests.core.cli.invoking import moot, rows

HOSTILE = (
    "=cmd|' C calc'!A0.csv",
    "@SUM(A1).csv",
    "a\x1b[2J.csv",
    "a\nmoot: done.csv",
    "\u202evsc.exe.csv",
    os.fsdecode(b"a\xff.csv"),
    "**b** [x](http:owned.example).csv",
    "--project=.csv",
    "x" * 251 + ".csv",
)
CODEBOOK = '{"name": "x", "unit": "review", "labels": [{"name": "Staff", "keywords": ["staff"]}]}'


def write(folder: Path, number: int, name: str, text: str, id: int = 1) -> Path:
    path = folder / str(number) / name
    path.parent.mkdir()
    path.write_text(f"id,text,Staff\n{id},{text},1\n")
    return path


def annotate(folder: Path, *files: Path, code: int = 0):
    (folder / "c.yaml").write_text(CODEBOOK)
    result = moot(
        "annotate",
        *files,
        "--id",
        "id",
        "--text",
        "text",
        "--codebook",
        folder / "c.yaml",
        "--gold-same-names",
        "--json",
        "--project",
        folder / "p.duckdb",
        code=code,
    )
    assert "\x1b" not in result.stderr
    assert "\u202e" not in result.stderr
    assert "\nmoot: done" not in result.stderr
    return result


@pytest.mark.parametrize("text", ["The same text.", "Text {}."])
def test_names_of_several_files_are_shown_as_text(tmp_path: Path, text: str) -> None:
    names = (*HOSTILE, HOSTILE[0])
    files = [write(tmp_path, number, name, text.format(number)) for number, name in enumerate(names)]
    annotate(tmp_path, *files)
    moot("export", "--project", tmp_path / "p.duckdb", "--format", "csv", "--output", tmp_path / "o.csv")
    exported = (tmp_path / "o.csv").read_text(encoding="utf-8-sig")
    assert not {"\x1b", "\u202e"} & set(exported)
    for line in csv.DictReader(exported.splitlines()):
        assert not line["file"].startswith(("=", "@"))
        assert not line["document_id"].startswith(("=", "@"))
    stored = rows(tmp_path, "SELECT count(*) FROM documents")
    assert stored == [(len(names) if "{}" in text else 1,)]


def test_rejected_rows_name_their_file_as_text(tmp_path: Path) -> None:
    files = [write(tmp_path, number, name, "Good.", number) for number, name in enumerate(HOSTILE[:5])]
    for file in files:
        file.write_text(file.read_text() + "too,many,fields,here\n")
    assert "read 10, kept 5, rejected 5" in annotate(tmp_path, *files).stderr


@pytest.mark.parametrize(("name", "message"), [(b"a\xff.csv", "not UTF-8"), (b"x" * 251 + b".csv", "too long")])
def test_name_that_cannot_name_a_project_needs_the_option(tmp_path: Path, name: bytes, message: str) -> None:
    file = write(tmp_path, 0, os.fsdecode(name), "Text.")
    (tmp_path / "c.yaml").write_text(CODEBOOK)
    result = moot("annotate", file, "--text", "text", "--codebook", tmp_path / "c.yaml", code=2)
    assert message in result.stderr
    assert "Choose another path for the project." in result.stderr


def test_json_names_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    found = moot("doctor", "--project", tmp_path / os.fsdecode(b"a\xff.duckdb"), "--json", code=1)
    assert "a\ufffd.duckdb" in " ".join(check["result"] for check in found.json["checks"])
