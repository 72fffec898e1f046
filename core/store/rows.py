"""Rows of the tables: how values are stored and read, and how rows are added."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import orjson
from pydantic import TypeAdapter, ValidationError

from core.documents import Value, storable
from core.errors import ProjectError
from core.formatting import format_problem
from core.hashing import digest
from core.store.database import Cursor

T = TypeVar("T")
Columns: TypeAlias = Mapping[str, npt.NDArray[np.object_]]
"""Cells by column. DuckDB reads them as fast as Arrow, which imports pandas to convert Python values."""

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY


def dump(value: Any) -> str:
    """Return plain data as JSON text, with keys in the given order; NaN and infinities become null."""
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        return orjson.dumps(_cleaned(value), default=_plain, option=_OPTIONS).decode()


def load(text: str) -> Any:
    """Return the plain data in a JSON text from ``dump``, as lists and dicts. Raises ProjectError for another text."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise changed_outside() from error


def load_dict(text: str) -> dict[str, Any]:
    """Return the dict in a JSON text from ``dump``. Raises ProjectError for anything else."""
    data = load(text)
    if not isinstance(data, dict):
        raise changed_outside()
    return data


def validated(kind: TypeAdapter[T], data: object, what: str) -> T:
    """Return stored plain data as a value of this kind. Raises ProjectError, which names ``what``, for other data."""
    try:
        return kind.validate_python(data)
    except ValidationError as error:
        raise changed_outside(what, f" ({format_problem(error)})") from error


def changed_outside(what: str = "a value in its file", problem: str = "") -> ProjectError:
    """Return the error for stored data that Moot did not write; ``what`` names it."""
    return ProjectError(
        f"The project was changed by another program: {what} cannot be read{problem}.",
        "Open another project, or restore a copy of this one.",
    )


def value_text(value: Value | None) -> str | None:
    """Return an item's value as JSON text, None without a value."""
    return None if value is None else dump(value)


def value_of(text: str | None) -> Value | None:
    """Return the value in a JSON text, None for NULL."""
    return None if text is None else load(text)


@lru_cache(maxsize=64)  # all documents of a run have the same system prompts
def text_hash(text: str) -> str:
    """Return the key of a text in ``texts``."""
    return digest(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def _cleaned(value: Any) -> Any:
    """Return the same data with every string storable and integers beyond 64 bits as text."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(key) if isinstance(key, str) else key: _cleaned(item) for key, item in value.items()}
    if is_dataclass(value):
        return {field.name: _cleaned(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, int) and value.bit_length() > 63:
        return json.dumps(value)
    return value


def columns_of(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Return rows as columns for ``incoming``. A column holds one kind of value or None; strings are made storable."""
    by_column = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = []
    for column in by_column:
        cells = np.empty(len(column), dtype=np.object_)
        cells[:] = [storable(cell) if isinstance(cell, str) else cell for cell in column]
        arrays.append(cells)
    return dict(zip(names, arrays, strict=True))


@contextmanager
def incoming(cursor: Cursor, table: Columns) -> Iterator[None]:
    """Let SQL on this cursor read ``table`` as ``incoming``."""
    cursor.register("incoming", table)
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # an aborted transaction refuses; the next register replaces the view
            cursor.unregister("incoming")


def scalar(cursor: Cursor, sql: str, params: Sequence[Any] = ()) -> int:
    """Return the number that a query in a transaction of the writer gives."""
    return int(cursor.execute(sql, params).fetchall()[0][0])


def values_by_key(rows: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """Return rows of (key, inner key, JSON text) as the data in the texts by key and inner key."""
    values: dict[str, dict[str, Any]] = {}
    for key, inner, text in rows:
        values.setdefault(key, {})[inner] = load(text)
    return values


def add_row(cursor: Cursor, table: str, **row: Any) -> None:
    """Add one row, given by column."""
    insert(cursor, table, tuple(row), [tuple(row.values())])


def insert(
    cursor: Cursor, table: str, columns: Sequence[str], rows: Collection[Sequence[Any]], tail: str = ""
) -> list[Any]:
    """Add rows and return the rows of ``tail``, the end of the statement. An existing key fails without a tail."""
    if not rows:
        return []
    names = ", ".join(columns)
    with incoming(cursor, columns_of(columns, rows)):
        return cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM incoming {tail}").fetchall()


def insert_keyed(
    cursor: Cursor, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], keys_may_exist: bool
) -> None:
    """Add rows whose first cell is the key; of several rows with one key the first counts.

    With ``keys_may_exist``, rows with an existing key are left out, which is slower.
    """
    unique = {row[0]: row for row in reversed(rows)}.values()
    insert(cursor, table, columns, unique, "ON CONFLICT DO NOTHING" if keys_may_exist else "")


def excerpt(limit: int) -> str:
    """Return SQL for the first ``limit`` characters of ``text``, with an ellipsis if there are more."""
    return f"left(text, {limit}) || CASE WHEN length(left(text, {limit + 1})) > {limit} THEN '…' ELSE '' END"
