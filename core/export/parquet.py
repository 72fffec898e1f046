"""Parquet in batches. Rows wait in a temporary file until the type of each source column is known."""

from __future__ import annotations

import itertools
import pickle
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Literal, TypeAlias

from core.codebook import Codebook
from core.export.export_row import ANNOTATORS, QUOTE_KEYS, ExportRow, SharedColumns, result_cells, result_names
from core.ingest.table import as_text, clean_value

BATCH = 5_000

TypeName: TypeAlias = Literal["null", "bool", "int64", "double", "string"]
"""The type of a source column in Arrow; null if every cell is None."""

_TEXTS = frozenset((str, type(None)))


def write_parquet(
    rows: Iterable[ExportRow], codebook: Codebook, columns: SharedColumns, file: BinaryIO, *, batch: int = BATCH
) -> None:
    """Write typed source columns, document id, the run, and per label gold, verdict, review, roles and evidence.

    Values are bool in a multilabel codebook, double in a rating, string in a choice. Source columns are bool, int64,
    double or string; lists and dicts are JSON text. A column that mixes whole numbers and fractions is double if that
    rounds no whole number, any other mixture is text. ExportError if a row has other source columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = iter(rows)
    kinds: list[set[type]] = [set() for _ in columns.source]
    largest = [0] * len(kinds)
    chunks = 0
    with tempfile.TemporaryFile() as waiting:
        while chunk := list(itertools.islice(rows, batch)):
            cells = list(zip(*(result_cells(row, columns, codebook) for row in chunk), strict=True))
            for index, column in enumerate(cells[: len(kinds)]):
                kinds[index].update(map(type, column))
                largest[index] = max([largest[index], *(abs(cell) for cell in column if type(cell) is int)])
            pickle.dump(cells, waiting, pickle.HIGHEST_PROTOCOL)
            chunks += 1
        waiting.seek(0)
        types = [*map(_type_name, kinds, largest)]
        schema = _schema(columns, codebook, types)
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for _ in range(chunks):
                arrays = [
                    _array(_converted(cells, column_type), field.type)
                    for cells, field, column_type in itertools.zip_longest(pickle.load(waiting), schema, types)
                ]
                writer.write_table(pa.table(arrays, schema))


def _type_name(kinds: set[type], largest: int) -> TypeName:
    """Return the narrowest type for cells of these types, the ``largest`` whole number among them."""
    kinds = kinds - {type(None)}
    if not kinds:
        return "null"
    if kinds == {bool}:
        return "bool"
    if kinds == {int} and largest < 2**63:
        return "int64"
    return "double" if kinds <= {int, float} and largest < 2**53 else "string"


def _schema(columns: SharedColumns, codebook: Codebook, types: Sequence[TypeName]) -> Any:
    import pyarrow as pa

    text = pa.string()
    quote = pa.struct([(key, pa.int64() if key in ("start", "end") else text) for key in ("role", *QUOTE_KEYS)])
    value = {"multilabel": pa.bool_(), "rating": pa.float64(), "choice": text}[codebook.kind]
    item = [value] * (len(ANNOTATORS) + len(columns.roles)) + [pa.list_(quote)]
    arrow_types: list[Any] = [
        *(pa.type_for_alias(name) for name in types),
        text,  # the document
        *item * len(codebook.items),
        *(text, text, pa.int64(), text, text),  # of ``ABOUT``
        *(text, pa.bool_(), text, text),  # of ``REVIEW_DETAILS``
    ]
    return pa.schema(list(zip(result_names(columns, codebook), arrow_types, strict=True)))


def _converted(cells: Sequence[Any], column_type: TypeName | None) -> Sequence[Any]:
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
