"""Tests of ``moot keywords``: proposals from a file, and the codebook with the proposals."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.codebook import load_yaml
from tests.core.cli.invoking import moot

BOOK = """
unit: note
labels:
  - {name: Birds, description: "Sparrows, finches and their nests.", keywords: [feather]}
  - {name: Engines}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    texts = ["A finch sang.", "Two finches sang.", "Sparrows.", "One sparrow.", "It rained."]
    (tmp_path / "notes.csv").write_text("\n".join(["text", *texts]), encoding="utf-8")
    (tmp_path / "book.yaml").write_text(BOOK, encoding="utf-8")
    return tmp_path / "notes.csv", tmp_path / "book.yaml"


def test_keywords_are_proposed_and_labels_without_words_named(files: tuple[Path, Path]) -> None:
    texts, codebook = files
    result = moot("keywords", texts, "--text", "text", "--codebook", codebook, "--json").json
    assert result["documents"] == 5
    assert [(one["label"], one["keyword"], one["documents"]) for one in result["keywords"]] == [
        ("Birds", "finches", 2),
        ("Birds", "sparrows", 2),
    ]
    assert result["labels_without_keywords"] == ["Engines"]
    without_header = moot("keywords", texts, "--no-header", "--text", "text", "--codebook", codebook, "--json").json
    assert without_header["documents"] == 6, "the first line is a text, too"
    shown = moot("keywords", texts, "--text", "text", "--codebook", codebook)
    assert "no keywords for Engines" in shown.stderr
    assert codebook.read_text(encoding="utf-8") == BOOK, "the codebook file is not changed"


def test_codebook_is_written_only_on_request(files: tuple[Path, Path], tmp_path: Path) -> None:
    texts, codebook = files
    output = tmp_path / "more.yaml"
    moot("keywords", texts, "--text", "text", "--codebook", codebook, "--label", "birds", "--output", output)
    labels = load_yaml(output.read_text(encoding="utf-8")).labels
    assert [label.keywords for label in labels] == [("feather", "finches", "sparrows"), ()]


def test_input_is_not_overwritten(files: tuple[Path, Path]) -> None:
    texts, codebook = files
    before = [file.read_bytes() for file in files]
    for output in files:
        result = moot("keywords", texts, "--text", "text", "--codebook", codebook, "--output", output, code=2)
        assert "is an input of this command" in result.stderr
    assert [file.read_bytes() for file in files] == before


def test_unknown_label_is_refused(files: tuple[Path, Path]) -> None:
    texts, codebook = files
    result = moot("keywords", texts, "--text", "text", "--codebook", codebook, "--label", "Fish", code=2)
    assert "has no label 'Fish'" in result.stderr


def test_rejected_rows_are_named(files: tuple[Path, Path]) -> None:
    texts, codebook = files
    texts.write_text("id;text\n1;A finch sang.\n2;A finch; and more\n3;Two finches.\n", encoding="utf-8")
    result = moot("keywords", texts, "--text", "text", "--codebook", codebook, "--json")
    assert result.json["documents"] == 2
    assert "read 3, kept 2, rejected 1:" in result.stderr


def test_open_labels_have_no_keywords(files: tuple[Path, Path]) -> None:
    texts, codebook = files
    codebook.write_text(f"{BOOK}  - {{name: Mood, open: options, include: [It rained.]}}\n", encoding="utf-8")
    texts.write_text("text\nIt rained.\nIt rained and rained.\n", encoding="utf-8")
    result = moot("keywords", texts, "--text", "text", "--codebook", codebook, "--json").json
    assert (result["keywords"], result["labels_without_keywords"]) == ([], ["Engines"])
