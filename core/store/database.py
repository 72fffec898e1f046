"""The one connection to a project file: taken under a lock, closed with a checkpoint.

While it is open nothing may open, copy or hash the file by other means: closing such a handle drops DuckDB's own lock.
"""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet, WeakValueDictionary

import duckdb
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from core.errors import MootError, ProjectError, ProjectGone, StorageFull
from core.files import is_disk_full
from core.store import migrations
from core.store.project_lock import COMPANIONS, PROJECT_SUFFIXES, ProjectLock

if TYPE_CHECKING:
    import pyarrow as pa

Cursor: TypeAlias = DuckDBPyConnection

QUERY_SECONDS = 120
"""Time limit of one query."""
STOP_SECONDS = 10.0
"""Longest wait for a query to stop when the project is closed."""
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "50%",
    "max_execution_time": str(QUERY_SECONDS * 1000),
    "pandas_analyze_sample": 2**32,
    "lock_configuration": "true",
}
"""Nothing is read or fetched from outside: no files, no extensions. Nothing in a project can change that.

The type of a column of Python values follows from all of them, not from a sample.
"""
MAX_PARSED = 500
"""Most queries that stay parsed."""
_parsed: dict[str, duckdb.Statement] = {}
"""Parsed queries by their text, for every connection."""

_DAMAGED = ("Corrupt database file", "Could not read enough bytes from file")


def translate_error(error: Exception, path: Path | str) -> Exception:
    """Return DuckDB's error as one that a user can act on; any other error unchanged."""
    if isinstance(error, MootError) or not isinstance(error, duckdb.Error | OSError):
        return error
    text = str(error)
    is_full = is_disk_full(error)
    if is_full or "read-only file system" in text.lower():
        state, remedy = ("full", "Free some space") if is_full else ("read-only", "Make it writable")
        return StorageFull(
            f"The disk is {state}: {path} could not be written.",
            f"{remedy} and continue; everything confirmed as saved is safe.",
        )
    if "Conflicting lock" in text or "being used by another process" in text:
        return ProjectError(f"{path} is open in another program.", "Close it there, or open another project.")
    if isinstance(error, duckdb.ConnectionException) and "closed" in text:
        return ProjectError(f"{path} is closed.", "Open the project again.")
    if isinstance(error, duckdb.InterruptException):
        return ProjectError(
            f"{path}: a query took longer than {QUERY_SECONDS} seconds and was stopped.",
            "Close other programs and try again, or work on fewer documents.",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return ProjectError(f"{path}: there is not enough memory for this.", "Close other programs and try again.")
    if "while replaying WAL" in text:
        return ProjectError(
            f"{path}.wal, which holds the latest changes, is damaged ({_first_line(text)}).",
            "Restore a copy, or import a bundle of the project. Without this file, the project opens as it was when it "
            "was last closed.",
        )
    if any(mark in text for mark in _DAMAGED):
        return ProjectError(
            f"{path} is damaged or cut short ({_first_line(text)}).",
            "Restore a copy, or import a bundle of the project; this file was not changed.",
        )
    if isinstance(error, duckdb.FatalException) or "has been invalidated" in text:
        return ProjectError(
            f"{path}: DuckDB reported an internal error ({_first_line(text)}).", "Close the project and open it again."
        )
    if (
        isinstance(error, duckdb.IOException | duckdb.PermissionException | OSError)
        or "Failed to commit: Cannot open" in text
        or "Failed to commit: Could not" in text
    ):
        return ProjectError(f"{path}: {_first_line(text)}.", "Check the disk and the file's permissions.")
    return error


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0].rstrip(".")


class DatabaseConnection:
    """An open project file. Reading is safe from every thread, because each thread has its own cursor.

    ``open_file`` creates a connection. Call ``close`` once, after closing the writer. ``created`` is True if opening
    created the file.
    """

    def __init__(self, path: Path, root: Cursor, lock: ProjectLock, *, created: bool) -> None:
        self.path = path
        self.created = created
        self._root = root
        self._lock = lock
        self._local = threading.local()
        self._cursors: WeakSet[Cursor] = WeakSet()
        self._guard = threading.Lock()
        self._closed = False
        self._identity = _identity(path)
        _open_files[self._identity] = self

    def file_problem(self) -> ProjectGone | None:
        """Return an error if the path no longer names the open file, else None."""
        identity = _identity(self.path)
        if identity == self._identity:
            return None
        change = "deleted or moved" if identity is None else "replaced by another file"
        return ProjectGone(
            f"{self.path} was {change} while it was open.",
            "Active runs are paused. Nothing is lost as long as Moot is open: save a copy before you close it.",
        )

    def read_only_problem(self) -> ProjectGone | None:
        """Return an error if the file system became read-only, as Linux does after an error of the disk.

        Tried by writing the file's own times, because recent kernels do not report the state of such a file system.
        """
        try:
            status = self.path.stat()
            os.utime(self.path, ns=(status.st_atime_ns, status.st_mtime_ns))
        except OSError as error:
            if error.errno == errno.EROFS:
                return ProjectGone(
                    f"{self.path} became read-only while it was open.",
                    "Everything confirmed as saved is safe: save a copy on another disk and continue with it.",
                )
        return None

    def cursor(self) -> Cursor:
        """Return a new cursor, to be closed by the caller. Raises ProjectError if the project is closed."""
        with self._guard:
            self._require_open()
            cursor = self._root.cursor()
            self._cursors.add(cursor)
            return cursor

    def rows(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query, read with this thread's cursor."""
        with self.reading() as cursor:
            return _execute(cursor, sql, params).fetchall()

    def row(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, None if there is none."""
        return next(iter(self.rows(sql, params)), None)

    def value(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> Any:
        """Return the first value of the first row of a query, None if there is none."""
        row = self.row(sql, params)
        return row[0] if row else None

    def column(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """Return the first value of every row of a query."""
        return [row[0] for row in self.rows(sql, params)]

    def integers(self, selections: Sequence[str]) -> tuple[int | None, ...]:
        """Return the integer of each selection, such as ``count(*) FROM runs``, read at the same time.

        They are the rows of one query. DuckDB would spend milliseconds on the best order to join them as columns.
        """
        numbered = (f"SELECT {place}, (SELECT {selection})::HUGEINT" for place, selection in enumerate(selections))
        return tuple(value for _, value in sorted(self.rows(" UNION ALL ".join(numbered))))

    def arrow(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> pa.Table:
        """Return all rows of a query as an Arrow table."""
        with self.reading() as cursor:
            table: pa.Table = cursor.sql(sql, params=params or None).to_arrow_table()
            return table

    def records(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> list[dict[str, Any]]:
        """Return all rows of a query, each with its values by column name."""
        with self.reading() as cursor:
            names = [column[0] for column in _execute(cursor, sql, params).description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def numbers(self, sql: str, params: Sequence[Any] | dict[str, Any] = ()) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a query of numbers without NULL as arrays; Arrow would import pandas for this."""
        with self.reading() as cursor:
            columns = _execute(cursor, sql, params).fetchnumpy()
            return {name: np.asarray(column) for name, column in columns.items()}

    @property
    def is_open(self) -> bool:
        """True until the connection is closed."""
        return not self._closed

    def close(self) -> None:
        """Close every cursor, checkpoint and release the file. Harmless if repeated.

        Raises StorageFull if the disk refuses the checkpoint; the log keeps everything acknowledged.
        """
        with self._guard:
            if self._closed:
                return
            self._closed = True
        try:
            for cursor in list(self._cursors):
                _stop(cursor)
            self._root.execute("CHECKPOINT")
        except (duckdb.Error, OSError) as error:
            raise translate_error(error, self.path) from error
        finally:
            self._root.close()
            self._lock.release()
            _open_files.pop(self._identity, None)

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Yield this thread's cursor for queries, which ``close`` interrupts. Errors are raised as Moot's own."""
        cursor: Cursor | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self.cursor()
        try:
            yield cursor
        except (duckdb.Error, OSError) as error:
            self._require_open()  # closing interrupts queries
            raise translate_error(error, self.path) from error

    def _require_open(self) -> None:
        if self._closed:
            raise ProjectError(f"{self.path} is closed.", "Open the project again.")


_open_files: WeakValueDictionary[tuple[int, int] | None, DatabaseConnection] = WeakValueDictionary()
"""Open project files of this process by device and inode: a file can have several names, or be moved."""
_opening = threading.Lock()
"""Held while a file is opened, so that two names of one file cannot be opened at the same time."""


class ReadRepository:
    """Read access to one family of a project's contents, from any thread."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._connection = connection


def _execute(cursor: Cursor, sql: str, params: Sequence[Any] | dict[str, Any]) -> Cursor:
    """Execute a query. Its text is parsed only once, because parsing takes up to half of the time of a short query."""
    statement = _parsed.get(sql)
    if statement is None:
        if len(_parsed) >= MAX_PARSED:
            _parsed.clear()
        (statement,) = cursor.extract_statements(sql)
        _parsed[sql] = statement
    return cursor.execute(statement, params)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _stop(cursor: Cursor) -> None:
    """Close a cursor, and interrupt its query in another thread until it ends."""
    deadline = time.monotonic() + STOP_SECONDS
    while True:
        with suppress(duckdb.ConnectionException):  # it is closed already
            cursor.interrupt()
        try:
            cursor.close()
            return
        except duckdb.ResourceInUseException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def open_file(path: str | os.PathLike[str], *, url: str | None = None, create: bool = True) -> DatabaseConnection:
    """Lock, connect and migrate the project at ``path``; create a missing file if ``create`` is set.

    A file that cannot be created completely is deleted. Raises ProjectLocked if the file is already open (also in this
    process), StorageFull, and ProjectError for a file or folder that cannot be used.
    """
    check_path(Path(path))
    resolved = Path(path).expanduser().resolve()
    if not create and not resolved.exists():
        raise ProjectError(f"There is no project at {resolved}.", "Check the path.")
    with _opening:
        lock = ProjectLock(resolved, url)
        earlier = data_files(resolved)
        created = resolved not in earlier
        root: Cursor | None = None
        try:
            if not created and (other := _open_files.get(_identity(resolved))) is not None:
                raise ProjectError(
                    f"{resolved} is another name of {other.path}, which is open.",
                    "Use the open project, or close it first.",
                )
            root = _connect(resolved)
            migrations.migrate(root, path=str(resolved))
            if (run_id := migrations.foreign_run(root)) is not None:
                raise ProjectError(
                    f"{run_id!r} in {resolved} is not the name of a run.", "Another program changed the file."
                )
        except BaseException as error:
            if root is not None:
                root.close()
            for file in set(data_files(resolved)).difference(earlier) if created else ():
                with suppress(OSError):
                    file.unlink()
            lock.forget()
            if isinstance(error, duckdb.Error):
                raise translate_error(error, resolved) from error
            raise
        return DatabaseConnection(resolved, root, lock, created=created)


def check_path(path: Path) -> None:
    """Raise ProjectError if no project can have this path.

    Refused are folders, names that are too long, names that are not UTF-8 (DuckDB needs it), and names with a question
    mark (where DuckDB inserts the suffix of its log).
    """
    try:
        absolute = path.expanduser().absolute()
        os.fspath(absolute).encode()
        if absolute.is_dir():
            raise ProjectError(
                f"{absolute} is a folder, not a project file.", "Name a file in it, such as moot.duckdb."
            )
        with suppress(FileNotFoundError, NotADirectoryError):
            absolute.with_name(absolute.name + COMPANIONS[0]).stat()  # exists() hides this error from Python 3.14 on
        if not any("?" in part for part in absolute.parts[1:]):
            return
        problem = f"{absolute} contains a question mark, which DuckDB cannot use"
    except UnicodeEncodeError:
        problem = f"{path} is not UTF-8 text"
    except OSError as error:
        problem = f"{path}: {error.strerror}"
    raise ProjectError(f"{problem}.", "Choose another path for the project.")


def data_files(path: Path) -> list[Path]:
    """Return the existing files of a project, without those of its lock."""
    files = (path.with_name(path.name + suffix) for suffix in PROJECT_SUFFIXES if not suffix.startswith(".lock"))
    return [file for file in files if file.exists()]


def copy_files(path: Path, target: Path) -> None:
    """Copy the files of a closed project to new files, and sync them. Raises StorageFull and ProjectError."""
    copies: list[Path] = []
    try:
        for file in data_files(path):
            copy = target.with_name(target.name + file.name.removeprefix(path.name))
            with file.open("rb") as source, copy.open("xb") as destination:
                copies.append(copy)
                shutil.copyfileobj(source, destination)
                destination.flush()
                os.fsync(destination.fileno())
        for folder in target.parents[:2]:  # the first may be new as well
            _sync_names(folder)
    except OSError as error:
        for copy in copies:
            copy.unlink(missing_ok=True)
        raise translate_error(error, target) from error


def _sync_names(folder: Path) -> None:
    """Write the names in a folder to disk, if the system can (Windows opens no folders)."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _connect(path: Path) -> Cursor:
    if path.exists() and not os.access(path, os.W_OK):
        raise ProjectError(f"{path} is read-only.", "Make it writable, or copy it to one of your folders.")
    try:
        root = duckdb.connect(str(path), config={**CONFIG, "threads": min(4, os.cpu_count() or 1)})
    except duckdb.Error as error:
        if "not a valid DuckDB database" in str(error):
            raise ProjectError(
                f"{path} is not a Moot project: it is not a DuckDB file.",
                "Open another file; this one was not changed.",
            ) from error
        raise translate_error(error, path) from error
    return root
