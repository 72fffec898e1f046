"""Parquet in batches. A source column whose type changes between batches is widened without holding the rows."""

from __future__ import annotations

import functools
import itertools
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Literal, TypeAlias

from core.codebook import Codebook
from core.export.export_row import (
    ANNOTATORS,
    QUOTE_KEYS,
    ExportRow,
    SharedColumns,
    result_cells,
    result_names,
)
from core.ingest.table import as_text, clean_value

BATCH = 5_000

ColumnType: TypeAlias = Literal["null", "bool", "int53", "int64", "double", "string"]
"""The type of a source column: null while every cell is None, int53 for whole numbers that a double can hold."""

_TYPES: dict[type, ColumnType] = {type(None): "null", bool: "bool", int: "int53", float: "double"}

_TEXTS = frozenset((str, type(None)))


def write_parquet(
    rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO, *, batch: int = BATCH
) -> None:
    """Write typed source columns, document id, the run, and per label gold, verdict, review, roles and evidence.

    Values are bool in a multilabel codebook, double in a rating, string in a choice. Source columns are bool, int64,
    double or string; lists and dicts are JSON text. A column that mixes whole numbers and fractions is double if that
    rounds no whole number, any other mixture is text. ExportError if a row has other source columns. ``file`` must be
    readable too.
    """
    rows = iter(rows)
    out = _WideningWriter(file, columns, codebook)
    try:
        while chunk := list(itertools.islice(rows, batch)):
            out.write(list(zip(*(result_cells(row, columns, codebook) for row in chunk), strict=True)))
    finally:
        out.close()


def type_of(cells: Iterable[Any]) -> ColumnType:
    """Return the narrowest type for all of the cells; null for none."""
    types: set[ColumnType] = {_TYPES.get(cell_type, "string") for cell_type in {type(cell) for cell in cells}}
    if "int53" in types:
        largest = max(abs(cell) for cell in cells if type(cell) is int)
        types |= {"int64"} if largest >= 2**53 else set()
        types |= {"string"} if largest >= 2**63 else set()
    nothing: ColumnType = "null"
    return functools.reduce(widen, types, nothing)


def widen(first: ColumnType, second: ColumnType) -> ColumnType:
    """Return the narrowest type for both."""
    types = {first, second} - {"null"}
    if len(types) < 2:
        return next(iter(types), "null")
    if types == {"int53", "int64"}:
        return "int64"
    return "double" if types == {"int53", "double"} else "string"


class _WideningWriter:
    """A Parquet writer that can widen the types of its source columns after some batches are written."""

    def __init__(self, file: BinaryIO, columns: SharedColumns, codebook: Codebook) -> None:
        self._file = file
        self._columns = columns
        self._codebook = codebook
        value_types: dict[str, Literal["bool", "double", "string"]] = {
            "multilabel": "bool",
            "rating": "double",
            "choice": "string",
        }
        self._value = value_types[codebook.kind]
        self._types: list[ColumnType] = ["null"] * len(columns.source)
        self._writer: Any = None

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        """Append one batch, given column by column in the order of the schema."""
        import pyarrow as pa

        new_types = map(type_of, columns[: len(self._types)])
        types = [widen(column_type, new) for column_type, new in zip(self._types, new_types, strict=True)]
        if types != self._types:
            self._types = types
            if self._writer is not None:
                self._rewrite()
        schema = self._schema()
        arrays = [
            _array(_converted(cells, column_type), field.type)
            for cells, field, column_type in itertools.zip_longest(columns, schema, self._types)
        ]
        self._open().write_table(pa.table(arrays, schema))

    def close(self) -> None:
        """Write the footer; a file without batches has the schema alone."""
        self._open().close()

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, self._schema(), compression="zstd")
        return self._writer

    def _rewrite(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._writer.close()
        self._writer = None
        schema = self._schema()
        with tempfile.TemporaryFile() as before:
            self._file.seek(0)
            shutil.copyfileobj(self._file, before)
            self._file.seek(0)
            self._file.truncate()
            for batch in pq.ParquetFile(before).iter_batches(batch_size=BATCH):
                arrays = [
                    cells if cells.type == field.type else _array(_converted(cells.to_pylist(), widened), field.type)
                    for cells, field, widened in itertools.zip_longest(batch.columns, schema, self._types)
                ]
                self._open().write_table(pa.table(arrays, schema))

    def _schema(self) -> Any:
        import pyarrow as pa

        text = pa.string()
        quote = pa.struct([(key, pa.int64() if key in ("start", "end") else text) for key in ("role", *QUOTE_KEYS)])
        value = pa.type_for_alias(self._value)
        item = [value] * (len(ANNOTATORS) + len(self._columns.roles)) + [pa.list_(quote)]
        types: list[Any] = [
            *(pa.int64() if name == "int53" else pa.type_for_alias(name) for name in self._types),
            text,  # the document
            *item * len(self._codebook.items),
            *(text, text, pa.int64(), text, text),  # of ``ABOUT``
            *(text, pa.bool_(), text, text),  # of ``REVIEW_DETAILS``
        ]
        return pa.schema(list(zip(result_names(self._columns, self._codebook), types, strict=True)))


def _converted(cells: Sequence[Any], column_type: ColumnType | None) -> Sequence[Any]:
    """Return the cells of a source column converted to its type; a result column (no type) stays as it is."""
    if column_type == "double":
        return [None if cell is None else float(cell) for cell in cells]
    if column_type == "string" and not {*map(type, cells)} <= _TEXTS:
        return [cell if cell is None else as_text(cell) for cell in cells]
    return cells


def _array(cells: Sequence[Any], type: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.array(cells, type)
    except (UnicodeEncodeError, pa.ArrowException):  # a lone surrogate in a model's reply
        return pa.array([clean_value(cell) for cell in cells], type)
