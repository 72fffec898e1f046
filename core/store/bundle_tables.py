"""Export and restore all tables of a project as Arrow, for bundles."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import orjson

from core.errors import InputError, ProjectError
from core.files import replace_shared
from core.store import migrations
from core.store.database import CONFIG, Cursor, ReadRepository, check_path, translate_error
from core.store.project_lock import check_folder
from core.store.rows import dump

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 20_000
_VERSIONS = "moot_schema"
_LOCATIONS = {"batch_dir": "", "ray_address": "", "ray_dir": ""}
"""Settings of an engine that name folders and a cluster; they cannot mean those of another machine."""

Tables: TypeAlias = "Iterable[tuple[str, Iterable[pa.RecordBatch]]]"


class Dump(ReadRepository):
    """Reader of all tables. Reads one consistent state of the file, even during writes."""

    def tables(self) -> Generator[tuple[str, pa.RecordBatchReader], None, None]:
        """Yield every table by name, in batches. Read each reader to its end before requesting the next."""
        import pyarrow as pa

        cursor = self._connection.cursor()
        try:
            cursor.execute("BEGIN")
            for name in _tables(cursor):
                reader = cursor.sql(f'SELECT * FROM "{name}"').to_arrow_reader(ROWS_AT_ONCE)
                yield name, pa.RecordBatchReader.from_batches(reader.schema, self._translated(reader))
        except duckdb.Error as error:
            raise translate_error(error, self._connection.path) from error
        finally:
            cursor.close()

    def _translated(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches; raise the error of a damaged block as Moot's own."""
        try:
            yield from batches
        except (duckdb.Error, OSError) as error:
            raise translate_error(error, self._connection.path) from error


def restore(path: Path, schema: int, tables: Tables) -> None:
    """Create a project file at ``path`` from tables of this schema version.

    Tables of an older schema can be restored too: opening the file migrates them. The folders and the cluster that runs
    name are cleared. The file appears only when it is complete. Raises ProjectError if the file exists, the folder
    cannot be written or the tables come from a newer Moot. Raises InputError if the tables are not those of a project,
    and ValueError for a schema that never existed and for settings that are not JSON.
    """
    if schema < 1:
        raise ValueError(f"{schema} is not the number of a schema")
    check_path(path)
    check_folder(path)
    if path.exists():
        raise ProjectError(f"{path} exists already.", "Name another file.")
    if schema > migrations.newest():
        raise ProjectError(
            f"This was made by a newer Moot (schema {schema}, this one knows {migrations.newest()}).", "Update Moot."
        )
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        _fill(part, schema, tables)
        _put(part, path)
    except FileExistsError:
        raise ProjectError(f"{path} exists already.", "Name another file.") from None
    except OSError as error:
        raise translate_error(error, path) from error
    finally:
        for leftover in (part, part.with_name(f"{part.name}.wal")):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def _put(part: Path, path: Path) -> None:
    """Rename the finished file to its path, but never over a file created in the meantime."""
    path.touch(exist_ok=False)
    try:
        replace_shared(part, path)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _fill(part: Path, schema: int, tables: Tables) -> None:
    import pyarrow as pa

    try:
        root = duckdb.connect(str(part), config={**CONFIG, "memory_limit": "1GB", "threads": 2})
    except duckdb.Error as error:
        raise translate_error(error, part) from error
    try:
        migrations.migrate(root, path=str(part), upto=schema)
        names = set(_tables(root))
        root.execute("BEGIN")
        for name, batches in tables:
            if name not in names:
                raise InputError(f"A project has no table '{name}'.", "The bundle was not made by Moot, or edited.")
            for batch in batches:
                _append(root, name, batch)
        if (run_id := migrations.foreign_run(root)) is not None:
            raise InputError(f"{run_id!r} is not the name of a run.", "The bundle was not made by Moot, or edited.")
        _clear_locations(root)
        last: int = root.execute("SELECT coalesce(max(seq), 0) FROM events").fetchall()[0][0]
        root.execute(f"CREATE OR REPLACE SEQUENCE event_seq START WITH {int(last) + 1}")
        root.execute("COMMIT")
        root.execute("CHECKPOINT")
    except (duckdb.ConversionException, duckdb.BinderException, duckdb.ConstraintException, pa.ArrowException) as error:
        raise InputError(
            f"The tables do not fit a project ({str(error).splitlines()[0]}).", "The bundle is damaged or was edited."
        ) from error
    except duckdb.Error as error:
        raise translate_error(error, part) from error
    finally:
        root.close()


def _append(root: Cursor, name: str, batch: pa.RecordBatch) -> None:
    root.register("incoming", batch)
    root.execute(f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming')
    root.unregister("incoming")


def _clear_locations(root: Cursor) -> None:
    """Clear the locations in the settings of all runs and in the stored plans, and close the batches in a folder."""
    for table, key, column in (("runs", "run_id", "settings"), ("settings", "name", "value")):
        for row, text in root.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
            settings = orjson.loads(text)
            if (cleared := _without_locations(settings)) != settings:
                root.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", [dump(cleared), row])
                if table == "runs":
                    close = "UPDATE batches SET outcome = 'not in the bundle' WHERE outcome IS NULL AND run_id = ?"
                    root.execute(close, [row])


def _without_locations(settings: Any) -> Any:
    """Return the settings of an engine, or a list of such settings, without locations; all else unchanged."""
    if isinstance(settings, list):
        return [_without_locations(entry) for entry in settings]
    engine = settings.get("engine") if isinstance(settings, dict) else None
    if isinstance(engine, dict) and any(map(engine.get, _LOCATIONS)):
        return settings | {"engine": engine | _LOCATIONS}
    return settings


def _tables(cursor: Cursor) -> list[str]:
    rows = cursor.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND table_name <> ? ORDER BY table_name", [_VERSIONS]
    ).fetchall()
    return [name for (name,) in rows]
