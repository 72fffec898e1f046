"""Tests of hostile files: none may crash this process, fill its memory or block it."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.ingest import child_process
from core.ingest.read import parse_table, read_table, read_text_file
from core.ingest.table import TableSource
from tests.core.ingest.conftest import zip_ods
from tests.each_row import each_row

SHEET = """<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{dimension}
<sheetData>{rows}</sheetData></worksheet>"""
Book: TypeAlias = Callable[..., bytes]
CELL = '<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'
FAR = f"""<row r="1">{CELL.format(place="A1", text="text")}</row>
<row r="1048576">{CELL.format(place="XFD1048576", text="far")}</row>"""


@pytest.fixture(autouse=True)
def small_limits(child_processes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "0.3")


def workbook(xlsx: Book, sheet: Iterator[str] | str) -> bytes:
    """Return a workbook with a single sheet of this XML."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(xlsx({"S": [["text"]]}))) as good,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name in good.namelist():
            with archive.open(name, "w") as file:
                if not name.startswith("xl/worksheets/sheet"):
                    file.write(good.read(name))
                    continue
                for part in (sheet,) if isinstance(sheet, str) else sheet:
                    file.write(part.encode())
    return out.getvalue()


def far_cell_declared(xlsx: Book) -> bytes:
    return workbook(xlsx, SHEET.format(dimension='<dimension ref="A1:XFD1048576"/>', rows=FAR))


def far_cell(xlsx: Book) -> bytes:
    return workbook(xlsx, SHEET.format(dimension="", rows=FAR))


def far_cell_with_a_false_dimension(xlsx: Book) -> bytes:
    return workbook(xlsx, SHEET.format(dimension='<dimension ref="A1:B2"/>', rows=FAR))


def huge_cell(xlsx: Book) -> bytes:
    def parts() -> Iterator[str]:
        start, end = SHEET.format(dimension="", rows="|").split("|")
        yield f'{start}<row r="1">{CELL.format(place="A1", text="text")}</row><row r="2">'
        yield CELL.format(place="A2", text="|").split("|")[0]
        for _ in range(300):
            yield "x" * 1_000_000
        yield CELL.format(place="A2", text="|").split("|")[1] + "</row>" + end

    return workbook(xlsx, parts())


def parquet_of_one_value(_: Book) -> bytes:
    out = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int32)), ["x" * 100])
    pq.write_table(pa.table({"text": column}), out, compression="zstd")
    return out.getvalue()


def deep_json(_: Book) -> bytes:
    return b"[" * 50_000_000


def wide_json(_: Book) -> bytes:
    return b"[" + b'{"a":{}},' * 3_000_000 + b'{"a":1}]'


TEXT_CELL = '<table:table-cell office:value-type="string"{more}><text:p>{text}</text:p></table:table-cell>'


def ods(cells: str, *, rows: str = "1", declaration: str = "") -> bytes:
    """Return an OpenDocument spreadsheet with a header and one row of these cells, repeated."""
    head = f"<table:table-row>{TEXT_CELL.format(text='text', more='')}</table:table-row>"
    row = f'<table:table-row table:number-rows-repeated="{rows}">{cells}</table:table-row>'
    return zip_ods(head + row, declaration)


def repeated(count: int) -> str:
    return TEXT_CELL.format(text="x", more=f' table:number-columns-repeated="{count}"')


ENTITIES = (
    '<!DOCTYPE a [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]>"
)
FILE_ENTITY = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
ODS_ATTACKS: dict[str, Callable[[], bytes]] = {
    "a row of 16,384 cells, a million times": lambda: ods(repeated(16384), rows="1048576"),
    "100 million rows": lambda: ods(repeated(8), rows="100000000"),
    "more rows than a number can count": lambda: ods(repeated(1), rows=str(2**64)),
    "a negative number of rows": lambda: ods(repeated(1), rows="-5"),
    "more columns than a sheet has": lambda: ods(repeated(2**32 - 1)),
    "a number of columns of 31 digits": lambda: ods(repeated(10**30)),
    "300 million spaces": lambda: ods(TEXT_CELL.format(text='a<text:s text:c="300000000"/>b', more="")),
    "two thousand million spaces": lambda: ods(TEXT_CELL.format(text='a<text:s text:c="2147483648"/>b', more="")),
    "entities that expand to a gigabyte": lambda: ods(TEXT_CELL.format(text="&j;", more=""), declaration=ENTITIES),
    "a local file as an entity": lambda: ods(TEXT_CELL.format(text="&a;", more=""), declaration=FILE_ENTITY),
    "150 MB of text": lambda: ods(TEXT_CELL.format(text="x" * 150_000_000, more="")),
}


@each_row("make", ODS_ATTACKS.values())
def test_hostile_open_document_spreadsheet_is_refused(make: Callable[[], bytes]) -> None:
    with pytest.raises(InputError, match=r"MOOT_READ_MEMORY_GB|cannot be read as a workbook|columns; at most"):
        read_table(make(), name="a.ods")


def test_open_document_spreadsheet_with_a_repeated_empty_end_is_read() -> None:
    empty = '<table:table-cell table:number-columns-repeated="16383"/></table:table-row>'
    end = f'{empty}<table:table-row table:number-rows-repeated="1048573"><table:table-cell/>'
    assert read_table(ods(TEXT_CELL.format(text="good", more="") + end), name="a.ods").column("text") == ("good",)


ATTACKS: dict[str, tuple[str, Callable[[Book], bytes]]] = {
    "a cell at the last place of a sheet": ("a.xlsx", far_cell_declared),
    "the same without a dimension": ("a.xlsx", far_cell),
    "the same with a false dimension": ("a.xlsx", far_cell_with_a_false_dimension),
    "a cell of 300 MB": ("a.xlsx", huge_cell),
    "20 million rows of one value": ("a.parquet", parquet_of_one_value),
    "50 million opening brackets": ("a.json", deep_json),
    "3 million objects": ("a.json", wide_json),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_file_over_the_memory_limit_is_refused(attack: tuple[str, Callable[[Book], bytes]], xlsx: Book) -> None:
    name, make = attack
    data = make(xlsx)
    with pytest.raises(InputError, match=r"MOOT_READ_MEMORY_GB|is not JSON"):
        read_table(data, name=name)


def test_memory_limit_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"text\n" + b"a word or two\n" * 30_000
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "0.05")
    with pytest.raises(InputError, match=r"more than 0\.05 GB"):
        read_table(data, name="a.csv")
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "1")
    assert len(read_table(data, name="a.csv")) == 30_000


def test_pdf_bomb_is_refused() -> None:
    content = zlib.compress(b"BT /F1 12 Tf (aaaa) Tj ET\n" * 12_000_000, 1)
    pdf = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Length LENGTH/Filter/FlateDecode>>stream\nCONTENT\nendstream endobj\ntrailer<</Root 1 0 R>>"
    )
    pdf = pdf.replace(b"LENGTH", b"%d" % len(content)).replace(b"CONTENT", content)
    with pytest.raises(InputError):
        read_text_file(pdf, "a.pdf")


# -- functions that run in the child process


def stuck(stream: BinaryIO, name: str) -> Iterator[int]:
    held = []
    with contextlib.suppress(MemoryError):
        while True:
            held.append(bytes(4096))
    while True:
        yield from ()


def endless(stream: BinaryIO, name: str) -> Iterator[int]:
    while True:
        time.sleep(0.01)
        yield 0


def crash(stream: BinaryIO, name: str) -> Iterator[int]:
    yield 1
    os.kill(os.getpid(), signal.SIGSEGV)


def crash_within_a_line(stream: BinaryIO, name: str) -> Iterator[int]:
    yield 1
    for descriptor in range(1, 10):  # one of them has the answers
        with contextlib.suppress(OSError):
            os.write(descriptor, b'v"half')
    os.kill(os.getpid(), signal.SIGSEGV)


def noisy(stream: BinaryIO, name: str) -> Iterator[int]:
    yield 1
    print("printed", flush=True)
    os.write(1, b"\r 50% |####    |\n")
    yield 2


def flood(stream: BinaryIO, name: str) -> Iterator[str]:
    while True:
        yield "x" * 1_000_000


def report_environment(stream: BinaryIO, name: str, path: str) -> Iterator[Any]:
    yield sorted(os.environ)
    try:
        Path(path).write_bytes(b"x" * 10_000_000)
    except OSError as error:
        yield type(error).__name__


HERE = "tests.core.ingest.test_child_process"


def test_endless_reader_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_READ_SECONDS", "1")
    with pytest.raises(InputError, match=r"a.csv could not be read within 1 seconds.*MOOT_READ_SECONDS"):
        list(child_process.run(f"{HERE}:endless", b"", {"name": "a.csv"}))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_reader_that_is_stuck_at_its_memory_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "0.05")
    monkeypatch.setattr(child_process, "_STUCK_SECONDS", 1)
    with pytest.raises(InputError, match=r"a.csv made its reader crash, perhaps because it needs more than 0\.05 GB"):
        list(child_process.run(f"{HERE}:stuck", b"", {"name": "a.csv"}))


@each_row(
    ("attack", "message"),
    [
        ("crash", "made its reader crash"),
        ("crash_within_a_line", "made its reader crash"),
        ("flood", "more than 0.3 GB"),
    ],
)
def test_crash_or_flood_of_a_reader_is_contained(attack: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(child_process.run(f"{HERE}:{attack}", b"", {"name": "a.csv"}))


def test_output_of_a_library_is_no_answer() -> None:
    assert list(child_process.run(f"{HERE}:noisy", b"", {"name": "a.csv"})) == [1, 2]


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
def test_reader_process_has_no_keys_and_writes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    path = str(tmp_path / "written")
    known, failed = child_process.run(f"{HERE}:report_environment", b"", {"name": "a.csv", "path": path})
    assert not [name for name in known if "KEY" in name]
    assert failed == "OSError"


def children() -> set[str]:
    """Return the ids of the child processes of this process."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


def test_closing_early_ends_the_child_process() -> None:
    before = children()
    values = child_process.run(f"{HERE}:endless", b"", {"name": "a.csv"})
    assert next(values) == 0
    assert len(children() - before) == 1
    values.close()  # type: ignore[attr-defined]
    assert children() == before


def test_child_process_returns_the_same_table() -> None:
    lines = '{"a": "é\\u2028", "n": 1.5, "l": [1, {"b": null}], "i": 9007199254740993}\n[]\n{"a": true, "x": ""}\n'
    for data, name in ((lines.encode(), "a.jsonl"), (b"id;text\n1;a\n2\n3;'=b\n", "a.csv")):
        assert read_table(data, name=name) == parse_table(TableSource(io.BytesIO(data), name))
    with pytest.raises(InputError, match="is empty"):
        read_table(b"", name="a.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "a.xlsx"])
def test_only_the_needed_rows_are_read(name: str, xlsx: Book) -> None:
    rows = [f"text {number}" for number in range(5_000)]
    out = io.BytesIO()
    pq.write_table(pa.table({"text": rows}), out)
    files = {
        "a.csv": "\n".join(["text", *rows]).encode(),
        "a.jsonl": "\n".join(f'{{"text": "{row}"}}' for row in rows).encode(),
        "a.json": ("[" + ",".join(f'{{"text": "{row}"}}' for row in rows) + "]").encode(),
        "a.parquet": out.getvalue(),
        "a.xlsx": xlsx({"S": [["text"], *([row] for row in rows)]}),
    }
    table = read_table(files[name], name=name, max_rows=3)
    assert table.column("text") == ("text 0", "text 1", "text 2")
    assert table.read == 3
    assert "Only the first 3 rows were read." in table.notes


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt", "a.pdf"])
def test_link_to_an_endless_device_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError):
        read_text_file(path, name) if name.endswith(("txt", "pdf")) else read_table(path, name=name)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_pipe_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"text\nThe staff were kind.\n")
    os.close(writer)
    try:
        table = read_table(Path(f"/dev/fd/{reader}"), name=str(reader))
    finally:
        os.close(reader)
    assert table.column("text") == ("The staff were kind.",)


def test_endless_pipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_READ_MEMORY_GB", "0.01")
    with subprocess.Popen(
        [sys.executable, "-c", "while True: print('text,' * 9999)"], stdout=subprocess.PIPE
    ) as endless:
        assert endless.stdout is not None
        with pytest.raises(InputError, match=r"stdin sends more than 0\.01 GB") as caught:
            list(child_process.run("core.ingest.read:serve_table", endless.stdout, {"name": "stdin"}))
        endless.kill()
    assert "MOOT_READ_MEMORY_GB" in caught.value.remedy


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_folder_for_temporary_files_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process.tempfile, "TemporaryFile", lambda: io.BufferedWriter(io.FileIO("/dev/full", "w")))
    with pytest.raises(InputError, match=r"could not be copied to .*: No space left on device. Free some space"):
        read_table(b"text\nx\n", name="a.csv")
