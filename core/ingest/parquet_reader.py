"""Reader of Parquet, in batches."""

from __future__ import annotations

import json
from typing import Any

from core.errors import InputError
from core.ingest.json_reader import with_nested_columns
from core.ingest.table import Table, TableSource, check_width, clean_columns, clean_value

_BATCH = 16_384


def read_parquet(source: TableSource) -> Table:
    """Return all columns as Python values: dates in ISO form, decimals as numbers, bytes as UTF-8 text, NaN as None.

    Numbers of classes (Hugging Face) become the names of the classes, and -1 becomes None. Values in structs and lists
    become columns as in json.
    InputError for a file that is not Parquet, is cut short, or has no rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = source.name
    source.stream.seek(0)
    try:
        file = pq.ParquetFile(source.stream)
        check_width(len(file.schema_arrow.names), name)
        columns, notes = clean_columns(file.schema_arrow.names)
        total = min(file.metadata.num_rows, source.max_rows or file.metadata.num_rows)
        if not total:
            raise InputError(f"{name} has columns ({', '.join(columns[:20])}) but no rows.", "Choose a file with rows.")
        data: list[list[Any]] = [[] for _ in columns]
        names_of_classes = _names_of_classes(file.schema_arrow)
        for batch in file.iter_batches(batch_size=min(_BATCH, total)):
            for cells, column, classes in zip(data, batch.columns, names_of_classes, strict=True):
                column_cells = _cells(column)
                cells.extend([_class_name(cell, classes) for cell in column_cells] if classes else column_cells)
            source.progress(min(1.0, len(data[0]) / total) if data else 1.0)
            if data and len(data[0]) >= total:
                break
    except MemoryError:
        raise  # Arrow's own is one of its exceptions too
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{name} cannot be read as Parquet: {str(error)[:300].rstrip('.')}.", "Write the file again."
        ) from error
    numbers = tuple(range(1, total + 1))
    all_columns, note = with_nested_columns(
        {column: tuple(cells[:total]) for column, cells in zip(columns, data, strict=True)}
    )
    columns, _ = clean_columns(tuple(all_columns))
    notes = (*notes, note) if note else notes
    return Table(name, "parquet", columns, tuple(all_columns.values()), numbers, numbers, total, notes=notes)


def _cells(column: Any) -> list[Any]:
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    cells: list[Any] = column.to_pylist()
    if types.is_boolean(column.type) or types.is_signed_integer(column.type):
        return cells
    if types.is_string(column.type) or types.is_large_string(column.type):
        return [clean_value(cell) if cell is not None and "\x00" in cell else cell for cell in cells]
    return [clean_value(cell) for cell in cells]


def _names_of_classes(schema: Any) -> list[list[str]]:
    """Return the class names of each column, or of its lists, as Hugging Face writes them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError, RecursionError):
        features = None
    return [_names(features.get(name)) if isinstance(features, dict) else [] for name in schema.names]


def _names(feature: Any) -> list[str]:
    match feature:
        case {"_type": "ClassLabel", "names": list(names)}:
            return [clean_value(str(name)) for name in names]
        case {"feature": inner} | [inner]:
            return _names(inner)
    return []


def _class_name(cell: Any, names: list[str]) -> Any:
    if isinstance(cell, list):
        return [_class_name(element, names) for element in cell]
    if isinstance(cell, int) and -1 <= cell < len(names):
        return names[cell] if cell >= 0 else None
    return cell
