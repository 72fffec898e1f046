"""Tests of the reader of Parquet files."""

from __future__ import annotations

import datetime
import decimal
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import InputError
from core.ingest.read import read_table


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def test_values_of_parquet_files_are_read() -> None:
    data = parquet(
        {
            "id": [1, 2],
            "text": ["a\x00b", None],
            "tags": [["x"], []],
            "nested": [{"a": 1}, None],
            "when": [datetime.datetime(2026, 1, 2, 3, 4), None],
            "price": [decimal.Decimal("1.50"), None],
            "key": pa.array([decimal.Decimal("1765234567890123457"), None], pa.decimal128(38, 0)),
            "x": pa.array([float("nan"), 0.5]),
            "raw": [b"caf\xc3\xa9", None],
            "kind": pa.array(["p", "q"]).dictionary_encode(),
            "big": pa.array([2**64 - 1, 1], pa.uint64()),
        },
        row_group_size=1,
    )
    table = read_table(data, name="data.parquet")
    assert table.row(0) == {
        "id": 1,
        "text": "ab",
        "tags": ["x"],
        "nested": {"a": 1},
        "when": "2026-01-02T03:04:00",
        "price": 1.5,
        "key": 1765234567890123457,
        "x": None,
        "raw": "café",
        "kind": "p",
        "big": "18446744073709551615",
        "nested.a": 1,
    }
    assert table.row(1)["text"] is None
    assert (table.read, table.line_numbers) == (2, (1, 2))


def test_values_in_structs_and_lists_of_annotations_become_columns_as_in_json() -> None:
    rows = [
        {
            "review": {"text": f"Review {row}", "stars": row},
            "votes": [{"annotator": "anna", "label": "pos"}, {"annotator": "ben", "label": "pos" if row else "neg"}],
        }
        for row in range(4)
    ]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    table = read_table(out.getvalue(), name="data.parquet")
    assert table.columns == ("review", "votes", "review.text", "review.stars", "votes.label_r1", "votes.label_r2")
    assert table.row(0) == read_table(json.dumps(rows).encode(), name="data.json").row(0)
    assert table.column("votes.label_r2") == ("neg", "pos", "pos", "pos")


def test_numbers_of_hugging_face_classes_become_their_names() -> None:
    classes = {"names": ["World", "Sport"], "_type": "ClassLabel"}
    features = {
        "label": classes,
        "tags": {"feature": classes, "_type": "List"},
        "old": [classes],
        "n": {"dtype": "int8"},
    }
    data = pa.table({"label": [0, -1], "tags": [[1, 0], []], "old": [[1], None], "n": [1, 2]})
    out = io.BytesIO()
    pq.write_table(data.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})}), out)
    table = read_table(out.getvalue(), name="train.parquet")
    assert table.row(0) == {"label": "World", "tags": ["Sport", "World"], "old": ["Sport"], "n": 1}
    assert table.row(1) == {"label": None, "tags": [], "old": None, "n": 2}  # -1 is a class that is not known
    damaged = io.BytesIO()
    pq.write_table(data.replace_schema_metadata({"huggingface": "{"}), damaged)
    assert read_table(damaged.getvalue(), name="train.parquet").column("label") == (0, -1)


def test_unreadable_parquet_files_are_rejected() -> None:
    good = parquet({"text": ["a"]})
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(good[:-20], name="data.parquet")
    with pytest.raises(InputError, match=r"[^.]\.$"):
        read_table(b"PAR1 nope", name="data.parquet")
    with pytest.raises(InputError, match=r"columns \(text\) but no rows"):
        read_table(parquet({"text": pa.array([], pa.string())}), name="data.parquet")
