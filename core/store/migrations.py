"""The schema of a project file and the migration of older files.

The migrations are ``schema/<number>_<name>.sql``. They are append-only, and each is applied in one transaction with its
row in ``moot_schema``. A higher number than the newest one here means that a newer Moot made the file. Other digests
mean that a development version made it.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from pathlib import Path

from duckdb import DuckDBPyConnection

from core.errors import ProjectError
from core.hashing import digest

_FOLDER = Path(__file__).parent / "schema"
_NAME = re.compile(r"^(\d{4})_\w+\.sql$")


@lru_cache(maxsize=1)
def scripts() -> tuple[tuple[int, str], ...]:
    """Return all migrations as (number, SQL), in order, counting from 1 without a gap."""
    found = sorted((int(match[1]), path) for path in _FOLDER.iterdir() if (match := _NAME.match(path.name)))
    return tuple((number, path.read_text(encoding="utf-8")) for number, path in found)


def newest() -> int:
    """Return the schema version that this Moot writes."""
    return scripts()[-1][0]


def version_of(cursor: DuckDBPyConnection) -> int | None:
    """Return the schema version of the open file: 0 for an empty database, None if it is not a Moot project."""
    tables = {
        name
        for (name,) in cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal "
            "UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
    }
    if "moot_schema" not in tables:
        return None if tables else 0
    version: int = cursor.execute("SELECT coalesce(max(version), 0) FROM moot_schema").fetchall()[0][0]
    return version


def migrate(cursor: DuckDBPyConnection, *, path: str, upto: int | None = None) -> None:
    """Migrate the open file to version ``upto`` (the newest if None); a file at that version is left unchanged.

    Raises ProjectError if the file belongs to another program, a newer Moot made it, or its scripts have changed since.
    DuckDB's own errors pass through.
    """
    version = version_of(cursor)
    if version is None:
        raise ProjectError(
            f"{path} is a file of another program, not a Moot project.",
            "Name another file with --project; this one was left as it is.",
        )
    if version > newest():
        raise ProjectError(
            f"{path} was made by a newer Moot (schema {version}, this one knows {newest()}).",
            "Update Moot to open it.",
        )
    if version and _applied(cursor) != {number: digest(script) for number, script in scripts() if number <= version}:
        raise ProjectError(
            f"{path} was made by another state of Moot's development.",
            "Open it with the Moot that made it, export what you need, and import that into a new project.",
        )
    for number, script in scripts():
        if version < number <= (upto or newest()):
            _apply(cursor, number, script)


def _applied(cursor: DuckDBPyConnection) -> dict[int, str]:
    """Return the digests of the scripts that created the file, by number."""
    return {row[0]: str(row[2]) if len(row) > 2 else "" for row in cursor.execute("FROM moot_schema").fetchall()}


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
        cursor.execute("ROLLBACK")
        raise
