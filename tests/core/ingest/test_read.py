"""Tests of reading arbitrary bytes: the result is a table or an input error."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InputError, UsageError
from core.ingest import child_process
from core.ingest.read import SUFFIXES, parse_table, read_table, read_text_file
from core.ingest.table import TableSource, join_tables
from tests.each_row import each_row

PIECES = st.sampled_from(
    [
        b"id,text\n",
        b'"',
        b'""',
        b"1,a\n",
        b"\r",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"=1+1",
        b"{",
        b'{"text": ',
        b"[",
        b"]",
        b"}",
        b"\\ud800",
        b"1e999",
        b"\t;|,",
        b"sep=;\n",
        b"NaN",
        b"\xf0\x9f\x98\x80",
        b"\\u0000",
    ]
)
FILES = st.lists(PIECES | st.binary(max_size=8), max_size=40).map(b"".join)
TEXTS = sorted(suffix for suffix, format in SUFFIXES.items() if format in ("csv", "tsv", "json", "jsonl"))


@given(data=FILES, suffix=st.sampled_from([*TEXTS, ".other", ""]))
@settings(max_examples=400)
def test_any_text_file_gives_a_table_or_an_input_error(data: bytes, suffix: str) -> None:
    try:
        table = read_table(data, name=f"a{suffix}")
    except (InputError, UsageError):
        return
    assert table.read == len(table) + len(table.rejected)
    assert len(set(table.columns)) == len(table.columns) == len(table.data)
    assert all(len(column) == len(table) for column in table.data)


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["a", "b"] * 50, "n": list(range(100))}), out)
    return out.getvalue()


Damage: TypeAlias = list[tuple[int, int]]
"""Positions, which go on at the start of the file after its end, and their new bytes."""
DAMAGE = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), min_size=1, max_size=6)


def read_damaged(stream: BinaryIO, name: str, damages: list[Damage]) -> Iterator[str]:
    """Read a file several times, each time with other damage, and yield the errors that Moot does not name."""
    good = stream.read()
    for damage in damages:
        data = bytearray(good)
        for position, byte in damage:
            data[position % len(good)] = byte
        try:
            parse_table(TableSource(io.BytesIO(data), name))
        except (InputError, UsageError, MemoryError):
            pass
        except Exception as error:
            yield f"{damage}: {error!r}"


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet"])
@given(damages=st.lists(DAMAGE, min_size=30, max_size=30))
@settings(max_examples=1, suppress_health_check=list(HealthCheck))
def test_damaged_binary_file_gives_a_table_or_an_input_error(
    name: str, child_processes: None, xlsx: Callable[..., bytes], damages: list[Damage]
) -> None:
    good = xlsx({"S": [["text"], ["a"]]}) if name == "a.xlsx" else parquet()
    unnamed = []
    with suppress(InputError):  # a library may crash
        arguments = {"name": name, "damages": damages}
        unnamed += child_process.run("tests.core.ingest.test_read:read_damaged", good, arguments)
    assert not unnamed


def pdf(text: str) -> bytes:
    """Return a PDF with one page: a header, five objects and their table."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(out)
    return out + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def test_persona_sources_are_read_verbatim_and_pdfs_as_text(tmp_path: Path) -> None:
    assert read_text_file("Müde\r\nEltern.".encode("cp1252"), "a.txt") == "Müde\nEltern."
    assert read_text_file("# Parents\n\nwant \ud800 rest".encode("utf-8", "surrogatepass"), "a.md").startswith(
        "# Parents"
    )
    assert read_text_file(pdf("Parents want short questions."), "a.PDF") == "Parents want short questions."
    path = tmp_path / "notes.txt"
    path.write_text("Words.", encoding="utf-8")
    assert read_text_file(path, path.name) == "Words."


@each_row(
    ("content", "name", "problem"),
    [
        (b"x", "a.docx", "not a supported text file"),
        (b" \n 12", "a.txt", "has no words"),
        (pdf(""), "scan.pdf", "It may be scanned"),
        (b"%PDF-1.4 broken", "a.pdf", "cannot be read as a PDF"),
        (Path("/no/such.txt"), "such.txt", "cannot be read"),
    ],
)
def test_unreadable_persona_sources_are_rejected(content: bytes | Path, name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_text_file(content, name)


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("read", "table"):
        monkeypatch.setattr(f"core.ingest.{module}.MAX_ROWS", 3)
    with pytest.raises(InputError, match="has 4 rows; at most 3 can be read"):
        parse_table(TableSource(io.BytesIO(b"text\na\nb\nc\nd\n"), "a.csv"))
    table = parse_table(TableSource(io.BytesIO(b"text\na\nb\n"), "a.csv"))
    with pytest.raises(InputError, match="The files have 4 rows; at most 3 can be read"):
        join_tables([table, table])
