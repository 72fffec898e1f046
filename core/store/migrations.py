"""The schema of a project file and the migration of older files.

The migrations are ``schema/<number>_<name>.sql``. They are append-only, and each is applied in one transaction with its
row in ``moot_schema``.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from core.errors import ProjectError
from core.hashing import digest

_FOLDER = Path(__file__).parent / "schema"
_NAME = re.compile(r"^(\d{4})_\w+\.sql$")
_RUN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@lru_cache(maxsize=1)
def scripts() -> tuple[tuple[int, str], ...]:
    """Return all migrations as (number, SQL), in order, counting from 1 without a gap."""
    numbered = sorted((int(match[1]), path) for path in _FOLDER.iterdir() if (match := _NAME.match(path.name)))
    return tuple((number, path.read_text(encoding="utf-8")) for number, path in numbered)


def newest() -> int:
    """Return the schema version that this Moot writes."""
    return scripts()[-1][0]


def migrate(cursor: DuckDBPyConnection, *, path: str, upto: int | None = None) -> None:
    """Migrate the open file to version ``upto`` (the newest if None); a file at that version is left unchanged.

    Raises ProjectError if the file belongs to another program, a newer Moot made it, or its scripts have changed since.
    Raises it also if the file has any definition that differs from the schema: a view or macro in a file from somebody
    else would run that person's SQL. Nothing in the file runs before this check. DuckDB's own errors pass through.
    """
    definitions = _definitions(cursor)
    applied: dict[int, str] = {}
    if definitions:
        (own_table,) = (row for row in _expected(newest()) if row[:2] == ("table", "main.moot_schema"))
        if own_table not in definitions:  # a generated column in a table of this name would run foreign SQL
            raise ProjectError(
                f"{path} is a file of another program, not a Moot project.",
                "Open another file; this one was not changed.",
            )
        applied = _applied(cursor)
    version = max(applied, default=0)
    if version > newest():
        raise ProjectError(
            f"{path} was made by a newer Moot (schema {version}, this one knows {newest()}).", "Update Moot to open it."
        )
    if version and applied != {number: digest(script) for number, script in scripts() if number <= version}:
        raise ProjectError(
            f"{path} was made by a different development version of Moot.",
            "Open it with the Moot that made it, export what you need, and import that into a new project.",
        )
    if version and (changed := definitions ^ _expected(version)):
        kind, name, _ = min(changed)
        raise ProjectError(
            f"{path} was changed by another program: its {kind} {name.removeprefix('main.')} is not Moot's.",
            "It was not opened, because it could run foreign SQL. Ask for a bundle of the project and import that.",
        )
    for number, script in scripts():
        if version < number <= (upto or newest()):
            _apply(cursor, number, script)


def foreign_run(cursor: DuckDBPyConnection) -> str | None:
    """Return the id of a run that Moot did not give, None if there is none: ids become names of files and folders."""
    ids: list[tuple[str]] = cursor.execute("SELECT run_id FROM runs").fetchall()
    return next((run_id for (run_id,) in ids if not _RUN.fullmatch(run_id)), None)


_CATALOG = {
    "schema": "schema_name, '', ''",
    "type": "schema_name, type_name, logical_type",
    "sequence": "schema_name, sequence_name, ''",
    "function": "schema_name, function_name, [parameters, [macro_definition]]",
    "table": "schema_name, table_name, sql",
    "view": "schema_name, view_name, sql",
    "index": "schema_name, index_name, sql",
    "trigger": "schema_name, trigger_name, sql",
}


def _definitions(cursor: DuckDBPyConnection) -> frozenset[tuple[str, str, str]]:
    """Return everything that the open file defines, as (kind, name, definition).

    The built-in table functions are named in full, and no other function is used: a macro in the file can shadow them.
    """
    ((database,),) = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal"
    ).fetchall()
    definitions = set()
    for kind, columns in _CATALOG.items():
        source = f"system.main.duckdb_{'indexes' if kind == 'index' else kind + 's'}()"
        internal = "" if kind in ("sequence", "index", "trigger") else "AND NOT internal"
        sql = f"SELECT {columns} FROM {source} WHERE database_name = ? {internal}"
        for schema, name, definition in cursor.execute(sql, [database]).fetchall():
            definitions.add((kind, f"{schema}.{name}", str(definition)))
    return frozenset(definitions)


@lru_cache(maxsize=4)
def _expected(version: int) -> frozenset[tuple[str, str, str]]:
    """Return the definitions of a file at a version."""
    with duckdb.connect() as connection:
        migrate(connection, path="", upto=version)
        return _definitions(connection)


def _applied(cursor: DuckDBPyConnection) -> dict[int, str]:
    """Return the digests of the scripts that created the file, by number."""
    rows = cursor.execute("FROM main.moot_schema LIMIT 1000").fetchall()
    return {version: digest for version, _, digest in rows}


def _apply(cursor: DuckDBPyConnection, number: int, script: str) -> None:
    cursor.execute("BEGIN")
    try:
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS moot_schema "
            "(version INTEGER PRIMARY KEY, unix_time DOUBLE NOT NULL, digest VARCHAR NOT NULL)"
        )
        cursor.execute(script)
        cursor.execute("INSERT INTO moot_schema VALUES (?, ?, ?)", [number, time.time(), digest(script)])
        cursor.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):  # a failed commit has ended the transaction already
            cursor.execute("ROLLBACK")
        raise
