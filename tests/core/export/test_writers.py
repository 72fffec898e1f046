"""Tests of the writers of results, including reading their files back."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.codebook import Codebook, Label, Scale, parse_codebook
from core.csv_text import escape_formula, to_csv, unescape_formula
from core.documents import Document, Evidence
from core.errors import ExportError, UsageError
from core.export import FORMATS, AnnotatorValues, ExportRow, replacing, write
from core.export.csv_writer import write_csv
from core.export.export_row import ABOUT, SharedColumns, result_names, source_columns
from core.export.parquet import write_parquet
from core.export.registry import ExportFormat
from core.ingest.document_builder import build_documents
from core.ingest.gold import GoldSource
from core.ingest.mapping import ColumnMapping
from core.ingest.mapping_suggestions import suggest_mapping
from core.ingest.read import read_table
from core.ingest.table import REVIEW_DETAILS

ASPECTS = parse_codebook({"labels": [{"name": "Price"}, {"name": "Room"}]})
PRICE, ROOM = (label.id for label in ASPECTS.labels)
SENTIMENT = parse_codebook({"kind": "choice", "labels": [{"name": "good"}, {"name": "=bad"}]})
FACETS = parse_codebook({"kind": "rating", "labels": [{"name": "fluency"}]})


def row(source: dict[str, Any], number: int = 1, **changes: Any) -> ExportRow:
    text = source.get("text")
    fields = {"text": text} if isinstance(text, str) else {}
    about: dict[str, Any] = {
        "run_id": "r1",
        "protocol": "ecj",
        "codebook_version": 3,
        "status": "verdict",
        "values": {PRICE: True, ROOM: False},
        "sources": {PRICE: "review", ROOM: "verdict"},
        "evidence": {
            "extractor": (Evidence(PRICE, "cheap", "text", 4, 9, "exact"),),
            "judge": (Evidence(PRICE, "gone", "text", -1, -1, "missing"),),
        },
        "roles": {"judge": "builtin/lexical"},
    }
    arguments = about | changes
    if "models" not in arguments:
        about["models"] = (
            AnnotatorValues("verdict", arguments["values"]),
            AnnotatorValues("judge", arguments["values"]),
        )
    return ExportRow(Document(str(number), fields, number - 1, source), **about | changes)


def quotes() -> list[dict[str, Any]]:
    return [
        {"role": "extractor", "quote": "cheap", "field": "text", "start": 4, "end": 9, "match": "exact"},
        {"role": "judge", "quote": "gone", "field": "text", "start": -1, "end": -1, "match": "missing"},
    ]


def columns_of(rows: list[Any], roles: tuple[str, ...] = ("judge",)) -> SharedColumns:
    """Return the source columns of the first row."""
    return SharedColumns(roles, tuple(source_columns(rows[0].document)) if rows else ())


def export(format: str, rows: list[Any], codebook: Codebook, path: Path, columns: SharedColumns | None = None) -> None:
    write(format, rows, codebook, columns or columns_of(rows), path)


def csv_rows(
    rows: list[ExportRow], codebook: Codebook = ASPECTS, columns: SharedColumns | None = None
) -> tuple[bytes, list[dict[str, str]]]:
    out = io.BytesIO()
    write_csv(rows, codebook, columns or columns_of(rows), out)
    return out.getvalue(), list(csv.DictReader(io.StringIO(out.getvalue().decode("utf-8-sig"), newline="")))


def test_csv_has_the_documented_layout() -> None:
    unresolved = row(
        {"id": "b", "text": "two", "n": None}, 2, values={PRICE: None}, sources={}, evidence={}, status="unresolved"
    )
    data, rows = csv_rows([row({"id": "a", "text": "is cheap", "n": -5}), unresolved])
    assert data.startswith(
        b'\xef\xbb\xbf"id","text","n","document_id","gold_Price","pred_Price","reviewed_Price","judge_Price"'
    )
    assert data.endswith(b'"r1","ecj","3","unresolved","Pending","","0","",""\r\n')
    first, second = rows
    assert json.loads(first.pop("evidence_Price")) == quotes()
    assert first == {
        "id": "a",
        "text": "is cheap",
        "n": "-5",
        "document_id": "1",
        "gold_Price": "",
        "pred_Price": "1",
        "reviewed_Price": "1",
        "judge_Price": "1",
        "gold_Room": "",
        "pred_Room": "0",
        "reviewed_Room": "",
        "judge_Room": "0",
        "evidence_Room": "",
        "run_id": "r1",
        "protocol": "ecj",
        "codebook_version": "3",
        "status": "verdict",
        "review_status": "Pending",
        "review_note": "",
        "review_flag": "0",
        "review_error_types": "",
        "reviewers": "",
    }
    assert (second["pred_Price"], second["pred_Room"], second["reviewed_Price"], second["n"]) == ("", "", "", "")


def test_csv_column_names_are_unique() -> None:
    _, (only,) = csv_rows([row({"text": "a", "status": "mine", "Price": "1", "pred_Price": "x"})])
    assert (only["status"], only["status_2"]) == ("mine", "verdict")
    assert (only["Price"], only["pred_Price"], only["pred_Price_2"]) == ("1", "x", "1")


def test_label_of_a_role_does_not_take_the_column_of_the_run_or_the_review() -> None:
    codebook = Codebook(labels=(Label(name="id"), Label(name="status"), Label(name="note")))
    names = result_names(SharedColumns(roles=("run", "review"), source=("text",)), codebook)
    assert names[-9:] == (*ABOUT, *REVIEW_DETAILS)
    assert {"run_id_2", "review_status_2", "review_note_2"} <= set(names[:-9])


def test_csv_formulas_are_escaped_and_numbers_are_not() -> None:
    source = {
        "text": "-5",
        "=n": "-5",
        "phone": "+4915",
        "f": "=A1",
        "cmd": "-2+3",
        "tab": "\t=1",
        "list": ["=x"],
        "ok": True,
        "id": 1.0,
    }
    data, (only,) = csv_rows([row(source)])
    assert only["text"] == "'-5"  # text columns are always escaped
    assert only["'=n"] == "-5"
    assert [only[name] for name in ("phone", "f", "cmd", "tab", "list", "ok", "id")] == [
        "+4915",
        "'=A1",
        "'-2+3",
        "'\t=1",
        '["=x"]',
        "true",
        "1",
    ]
    back = read_table(data, name="out.csv")
    assert back.row(0)["text"] == "-5"
    assert back.row(0)["=n"] == "-5"
    assert back.row(0)["f"] == "=A1"


def test_csv_values_of_choices_and_ratings() -> None:
    bad = SENTIMENT.labels[1].id
    _, (only,) = csv_rows([row({"text": "a"}, values={"label": bad}, evidence={})], SENTIMENT)
    assert only["pred_label"] == "'=bad"
    _, (only,) = csv_rows([row({"text": "a"}, values={FACETS.labels[0].id: 4}, evidence={})], FACETS)
    assert only["pred_fluency"] == "4"


def test_document_without_source_exports_its_fields() -> None:
    plain = ExportRow(Document("7", {"text": "a", "title": "b"}), "r", "single", 1, "failed")
    _, (only,) = csv_rows([plain])
    assert (only["text"], only["title"], only["document_id"], only["pred_Price"]) == ("a", "b", "7", "")


def test_export_without_rows_has_a_header() -> None:
    data, rows = csv_rows([])
    assert rows == []
    assert data.startswith(b'\xef\xbb\xbf"document_id","gold_Price"')


def test_tables_have_the_source_columns_of_all_documents(tmp_path: Path) -> None:
    columns = SharedColumns(("judge",), ("text", "x", "y"))
    rows = [row({"text": "a", "y": 2}), row({"text": "b", "x": 1}, 2)]
    assert [(line["x"], line["y"]) for line in csv_rows(rows, columns=columns)[1]] == [("", "2"), ("1", "")]
    write("parquet", rows, ASPECTS, columns, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").select(["x", "y"]).to_pylist() == [
        {"x": None, "y": 2},
        {"x": 1, "y": None},
    ]


def test_rows_with_columns_that_the_table_lacks_are_refused(tmp_path: Path) -> None:
    for format in ("csv", "jsonl", "parquet"):
        with pytest.raises(ExportError, match="Document '2' has columns that the table does not have: x"):
            export(format, [row({"text": "a"}), row({"text": "b", "x": 1}, 2)], ASPECTS, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_jsonl_has_the_documented_layout(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    open_ = row(
        {"text": "b\ud800", "labels": ["mine"]}, 2, values={PRICE: None}, reasons={PRICE: "no decision"}, evidence={}
    )
    columns = SharedColumns(("judge",), ("text", "n", "labels"))
    export("jsonl", [row({"text": "is cheap", "n": [1]}), open_], ASPECTS, path, columns)
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert first == {
        "text": "is cheap",
        "n": [1],
        "labels": None,
        "document_id": "1",
        "gold_Price": None,
        "pred_Price": True,
        "reviewed_Price": True,
        "judge_Price": True,
        "evidence_Price": quotes(),
        "gold_Room": None,
        "pred_Room": False,
        "reviewed_Room": None,
        "judge_Room": False,
        "evidence_Room": [],
        "labels_2": {
            "Price": {"value": True, "source": "review", "evidence": quotes()},
            "Room": {"value": False, "source": "verdict", "evidence": []},
        },
        "roles": {"judge": "builtin/lexical"},
        "run_id": "r1",
        "protocol": "ecj",
        "codebook_version": 3,
        "status": "verdict",
        "review_status": "Pending",
        "review_note": "",
        "review_flag": False,
        "review_error_types": [],
        "reviewers": [],
    }
    assert (second["text"], second["labels"]) == ("b\ufffd", ["mine"])
    assert second["labels_2"]["Price"] == {"value": None, "source": "review", "evidence": [], "reason": "no decision"}
    back = read_table(path, name=path.name)
    assert back.columns == tuple(first), "nested values are no columns"
    assert back.row(0) == first
    assert suggest_mapping(back).gold == (GoldSource("reviewed_Price", "label", "Price", "reviewed"),)


def test_parquet_has_the_documented_layout(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    rows = [
        row({"text": "is cheap", "n": 1, "x": None, "tags": ["a"]}),
        row({"text": "b", "n": 2, "x": None, "tags": None}, 2),
    ]
    export("parquet", rows, ASPECTS, path)
    table = pq.read_table(path)
    assert {name: str(table.schema.field(name).type) for name in ("text", "n", "x", "tags", "pred_Price")} == {
        "text": "string",
        "n": "int64",
        "x": "null",
        "tags": "string",
        "pred_Price": "bool",
    }
    assert table.column("evidence_Price").to_pylist()[0] == quotes()
    assert read_table(path, name=path.name).row(0)["evidence_Price"] == quotes()
    assert table.column("tags").to_pylist() == ['["a"]', None]


def test_parquet_columns_have_the_type_of_all_their_cells(tmp_path: Path) -> None:
    cells = [None, None, 1, 2, 2.5, 3, True, "x", {"a": 1}, 2**70]
    rows = [row({"a": cell, "b": number, "text": f"t{number}"}, number) for number, cell in enumerate(cells)]
    for end, type, expected in (
        (2, "null", [None, None]),
        (4, "int64", [None, None, 1, 2]),
        (6, "double", [None, None, 1.0, 2.0, 2.5, 3.0]),
        (10, "string", None),
    ):
        with (tmp_path / "out.parquet").open("w+b") as file:
            write_parquet(iter(rows[:end]), ASPECTS, columns_of(rows), file, batch=1)
        table = pq.read_table(tmp_path / "out.parquet")
        assert str(table.schema.field("a").type) == type
        assert table.column("b").to_pylist() == list(range(end))
        assert table.column("text").to_pylist() == [f"t{n}" for n in range(end)]
        if expected is not None:
            assert table.column("a").to_pylist() == expected
    assert table.column("a").to_pylist()[6:] == ["true", "x", '{"a":1}', str(2**70)]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_parquet_rounds_no_number_of_a_mixed_column(tmp_path: Path, batch: int) -> None:
    for cells, expected in (
        ([2**60 + 1, None, 1.5], [str(2**60 + 1), None, "1.5"]),  # such as the ids of posts
        ([123456789012345.0, "x"], ["123456789012345", "x"]),
        ([1, 2.5, "x"], ["1", "2.5", "x"]),
        ([1, 2**60 + 1], [1, 2**60 + 1]),
    ):
        rows = [row({"a": cell, "text": f"t{number}"}, number) for number, cell in enumerate(cells)]
        with (tmp_path / "out.parquet").open("w+b") as file:
            write_parquet(iter(rows), ASPECTS, columns_of(rows), file, batch=batch)
        assert pq.read_table(tmp_path / "out.parquet").column("a").to_pylist() == expected


def test_parquet_of_choices_and_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    good = SENTIMENT.labels[0].id
    export("parquet", [row({"text": "a"}, values={"label": good}, evidence={})], SENTIMENT, path)
    assert pq.read_table(path).column("pred_label").to_pylist() == ["good"]
    export("parquet", [row({"text": "a\udc00"}, values={FACETS.labels[0].id: 4}, evidence={})], FACETS, path)
    assert pq.read_table(path).column("pred_fluency").to_pylist() == [4.0]
    assert pq.read_table(path).column("text").to_pylist() == ["a\ufffd"]
    export("parquet", [], ASPECTS, path)
    assert "pred_Price" in pq.read_table(path).column_names


def test_transcript_has_a_line_for_each_turn(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    turns = [{"turn": 1, "text": "a\nb", "messages": [{"role": "user", "content": "\ud800"}], "reading": {2: "x"}}]
    write("transcript", turns, ASPECTS, SharedColumns(), path)
    (line,) = path.read_text().splitlines()
    turns[0] |= {"messages": [{"role": "user", "content": "\ufffd"}], "reading": {"2": "x"}}
    assert [json.loads(line)] == turns


def test_error_of_an_unknown_format_lists_all_formats(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Export format 'jsnl' does not exist\. Did you mean 'jsonl'\?") as raised:
        export("jsnl", [], ASPECTS, tmp_path / "x")
    assert f"Formats: {', '.join(FORMATS)}, bundle" in str(raised.value)


def test_target_file_is_replaced_only_after_complete_writing(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")

    def failing() -> Iterator[ExportRow]:
        yield row({"text": "a"})
        assert path.read_text() == "old"
        raise KeyboardInterrupt

    for format in ("csv", "parquet", "jsonl"):
        with pytest.raises(KeyboardInterrupt):
            write(format, failing(), ASPECTS, SharedColumns(source=("text",)), path)
        assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
        assert path.read_text() == "old"
    export("csv", [row({"text": "a"})], ASPECTS, path)
    assert path.stat().st_mode & 0o077 == 0o666 & ~_umask() & 0o077


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_unwritable_targets_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"Folder .* does not exist"):
        export("csv", [], ASPECTS, tmp_path / "gone" / "out.csv")
    for folder in (tmp_path, Path(), Path("/")):
        with pytest.raises(ExportError, match="is a folder"):
            export("csv", [], ASPECTS, folder)
    with pytest.raises(ExportError, match=r"Folder .* does not exist"):
        export("huggingface", [], ASPECTS, tmp_path / "gone" / "set")
    assert not (tmp_path / "gone").exists()


def test_pipes_devices_and_standard_output_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", Path("-"), Path(os.devnull).with_name("moot-export")):
        with pytest.raises(ExportError, match="is not an ordinary file"):
            export("csv", [], ASPECTS, target)
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_full_disk_is_an_export_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(items: Any, codebook: Codebook, columns: SharedColumns, file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(FORMATS, "full", ExportFormat("full", "Full", "", full, ".x", "text/plain"))
    with pytest.raises(ExportError, match=r"The disk refused out\.x: No space left on device\. Free some space"):
        export("full", [], ASPECTS, tmp_path / "out.x")
    assert list(tmp_path.iterdir()) == []


DISK_LIMIT_SCRIPT = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from core.codebook import parse_codebook
from core.documents import Document
from core.errors import ExportError
from core.export import ExportRow, write
from core.export.export_row import SharedColumns
rows = (ExportRow(Document(str(n), {"text": f"{n * n * 7919:x}" * 9}), "r", "ecj", 1, "verdict") for n in range(50_000))
try:
    columns = SharedColumns(source=("text",))
    write(sys.argv[1], rows, parse_codebook({"labels": [{"name": "Price"}]}), columns, Path(sys.argv[2]))
except ExportError as error:
    print(error)
"""


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_write_error_of_the_operating_system_is_reported(format: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", DISK_LIMIT_SCRIPT, format, str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert "The disk refused out: File too large" in done.stdout, done.stderr
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


class Tracked(str):
    """A text that can be referred to weakly."""


def test_rows_are_streamed_and_not_kept_in_memory(tmp_path: Path) -> None:
    import gc
    import weakref

    references: list[weakref.ref[Any]] = []

    def rows() -> Iterator[ExportRow]:
        for number in range(20_000):
            text = Tracked(f"text {number}")
            if number % 1000 == 0:
                references.append(weakref.ref(text))
                gc.collect(0)
                assert sum(reference() is not None for reference in references) <= 12
            yield row({"text": text}, number, evidence={})

    for format in ("csv", "jsonl", "parquet"):
        references.clear()
        write(format, rows(), ASPECTS, SharedColumns(source=("text",)), tmp_path / "out")


def test_replacing_raises_other_errors_unchanged(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "x") as file:
        file.write(bytes(1 // 0))
    assert list(tmp_path.iterdir()) == []


any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
risky = st.text(st.sampled_from("'=+-@＝＋－＠\t\r\n1a,\";|"), max_size=8)


@given(any_text | risky)
@example("'=1")
@example("''")
@example("\n=1")
@example("＝1")
def test_escaping_is_undone_exactly(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text
    assert escape_formula(text)[:1] not in set("=+-@＝＋－＠\t\r\n")


printable = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\r\n"), max_size=30)


@given(st.lists(st.tuples(printable | risky, printable | risky), min_size=1, max_size=6))
@example([("", ""), ("a", "b;c;d")])
def test_texts_survive_every_format(pairs: list[tuple[str, str]]) -> None:
    rows = [row({"text": text, "other": other}, number) for number, (text, other) in enumerate(pairs)]
    for format in ("csv", "jsonl", "parquet"):
        out = io.BytesIO()
        FORMATS[format].write(rows, ASPECTS, columns_of(rows), out)
        table = read_table(out.getvalue(), name=f"out.{format}")
        assert list(zip(table.column("text"), table.column("other"), strict=True)) == pairs
        documents = build_documents(table, ColumnMapping("text", id="document_id"), None, empties="keep").documents
        assert [document.text for document in documents] == [text for text, _ in pairs]
        assert not table.rejected


def test_gold_has_a_column_for_each_label() -> None:
    _, (only,) = csv_rows([ExportRow(Document("1", {"text": "a"}), "r1", "ecj", 1, "open", gold={PRICE: True})])
    assert (only["gold_Price"], only["gold_Room"]) == ("1", "")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_readme_of_an_unreviewed_export_does_not_mention_reviews(format: str, tmp_path: Path) -> None:
    plain = row({"text": "a"}, sources={PRICE: "verdict", ROOM: "verdict"})
    export(format, [plain], ASPECTS, tmp_path / "out.x")
    readme = (tmp_path / "out.README.md").read_text()
    assert "All labels of 1 document are model output" in readme
    assert "| judge_NAME | last decision of the role judge |" in readme
    assert "word-list baseline is not a language model" in readme
    reviewer = AnnotatorValues("ann", {PRICE: True})
    export(format, [plain, row({"text": "b"}, 2, reviewers=(reviewer,))], ASPECTS, tmp_path / "out.x")
    assert "1 of 2 documents have labels decided by 1 person" in (tmp_path / "out.README.md").read_text()


def test_readme_explains_the_values_of_a_rating_in_a_sentence(tmp_path: Path) -> None:
    codebook = Codebook(kind="rating", labels=(Label(name="Grammar"),), scale=Scale(min=1, max=5))
    export("csv", [ExportRow(Document("1", {"text": "a"}), "r1", "ecj", 1, "open")], codebook, tmp_path / "out.csv")
    readme = (tmp_path / "out.README.md").read_text()
    assert "NAME is the name of a dimension. A value is a number on the scale (1 to 5); an empty cell" in readme


@pytest.mark.parametrize("kind", ["multilabel", "choice", "rating"])
def test_readme_of_a_table_has_all_columns_of_the_result(kind: str, tmp_path: Path) -> None:
    codebook = parse_codebook({"kind": kind, "labels": [{"name": "Good"}, {"name": "Bad"}]})
    written = ExportRow(Document("1", {"text": "a"}), "r1", "ecj", 1, "open")
    export("csv", [written], codebook, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        _, *header = next(csv.reader(file))
    rows = re.findall(r"^\| (.+?) \| .+ \|$", (tmp_path / "out.README.md").read_text(), re.M)
    columns = [name for row in rows[2:] for name in row.split(", ")]
    named = [name.replace("NAME", label) for label in codebook.names for name in columns]
    assert sorted(header) == sorted(set(named))


HOSTILE = "[a](http://owned.example)![b](http://owned.example/b.png)<script>alert(1)</script>|\n# c"


@pytest.mark.parametrize("format", ["csv", "parquet", "huggingface"])
def test_names_in_a_readme_are_shown_as_they_are(format: str, tmp_path: Path) -> None:
    codebook = ASPECTS.model_copy(update={"name": HOSTILE, "unit": HOSTILE, "guideline": f"{HOSTILE}\n\n{HOSTILE}"})
    written = row({"text": "a"}, run_name=HOSTILE, roles={"judge": HOSTILE})
    export(format, [written], codebook, tmp_path / "out.x")
    (readme,) = tmp_path.rglob("*README.md")
    shown = readme.read_text()
    assert "owned.example" in shown
    assert not re.search(r"(?<!\\)[\]<]\(?(http|script)|^# c", shown, re.M)


def test_names_of_columns_are_no_formulas() -> None:
    text = to_csv([{"=cmd|' /C calc'!A0": 1, "plain": "@SUM(1)"}])
    assert text.splitlines() == ["\ufeff'=cmd|' /C calc'!A0,plain", "1,'@SUM(1)"]


def test_logical_values_are_numbers() -> None:
    """In R 4.2.2, read.csv makes a column of True and False one of texts."""
    assert to_csv([{"declined": True, "n": None}, {"declined": False, "n": 0.5}]).splitlines()[1:] == ["1,", "0,0.5"]
