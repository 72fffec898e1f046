"""Tests of reading arbitrary bytes: the result is a table or an input error."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InputError, UsageError
from core.ingest.read import SUFFIXES, read_table

PIECES = st.sampled_from(
    [b"id,text\n", b'"', b'""', b"1,a\n", b"\r", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"=1+1", b"{",
     b'{"text": ', b"[", b"]", b"}", b"\\ud800", b"1e999", b"\t;|,", b"sep=;\n", b"NaN", b"\xf0\x9f\x98\x80",
     b"\\u0000"]
)  # fmt: skip
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


@pytest.mark.parametrize("name", ["a.xlsx", "a.parquet"])
def test_damaged_binary_file_gives_a_table_or_an_input_error(
    name: str, child_processes: None, xlsx: Callable[..., bytes]
) -> None:
    good = xlsx({"S": [["text"], ["a"]]}) if name == "a.xlsx" else parquet()

    @given(data=st.data())
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    def attack(data: Any) -> None:
        damaged = bytearray(good)
        for _ in range(data.draw(st.integers(1, 6))):
            damaged[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
        with suppress(InputError, UsageError):
            read_table(bytes(damaged), name=name)

    attack()
