"""The files of a project, and its lock: one process at a time may open it."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import InputError, ProjectError, ProjectLocked
from core.files import atomic_write, own_problem, read_text

PROJECT_SUFFIXES = ("", ".wal", ".replies", ".lock", ".lock.json")
"""Endings of the files that belong to a project: database, write-ahead log, reply log and lock."""
COMPANIONS = (".wal.checkpoint", ".wal.recovery", ".wal", ".replies", ".lock.json", ".lock")
"""Suffixes of the files beside a project, the longest first."""
_SPILL = ".tmp"
"""Suffix of the folder for data that does not fit into memory."""

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d{1,5}")


class ProjectLock:
    """The lock on ``FILE.lock`` with ``{pid, url}`` in ``FILE.lock.json``.

    Raises ProjectLocked if another process, or this process, already holds the lock. Raises ProjectError if the folder
    is missing or cannot be written, or if a file beside the project is not safe.
    """

    def __init__(self, path: Path, url: str | None = None) -> None:
        _check_companions(path)
        self._path = path
        self._note = path.with_name(path.name + ".lock.json")
        self._lock = FileLock(path.with_name(path.name + ".lock"), timeout=0, thread_local=False, mode=0o600)
        self._new = not Path(self._lock.lock_file).exists()
        check_folder(path)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise ProjectLocked(str(path), *_read_note(self._note)) from error
        except OSError as error:
            raise _unwritable(path.parent, error.strerror or str(error)) from error
        self._write_note(url)

    def _write_note(self, url: str | None) -> None:
        """Record the address at which this process shows the project. A note that cannot be written is left out."""
        with suppress(OSError), atomic_write(self._note, private=True) as file:
            file.write(json.dumps({"pid": os.getpid(), "url": url}).encode())

    def release(self) -> None:
        """Release the lock. Harmless if repeated."""
        if self._lock.is_locked:
            with suppress(OSError):
                self._note.unlink()
            self._lock.release()

    def forget(self) -> None:
        """Release the lock, and delete its file if it is new or the project is not there (any more)."""
        if self._new or not self._path.exists():
            with suppress(OSError):  # Windows removes no open file
                Path(self._lock.lock_file).unlink()
        self.release()


def _read_note(note: Path) -> tuple[int | None, str | None]:
    try:
        data = json.loads(read_text(note, max_bytes=1000))
        url = data["url"]
        return int(data["pid"]), url if isinstance(url, str) and _ADDRESS.fullmatch(url) else None
    except (InputError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None, None


def check_folder(path: Path) -> None:
    """Raise ProjectError if the folder of a project is missing or cannot be written."""
    if not path.parent.is_dir():
        raise ProjectError(f"The folder {path.parent} does not exist.", "Create it first, or name another file.")
    if not os.access(path.parent, os.W_OK):
        raise _unwritable(path.parent, "Permission denied")


def _unwritable(folder: Path, reason: str) -> ProjectError:
    return ProjectError(
        f"{folder} cannot be written ({reason}).",
        "Copy the project to one of your folders, name another project file, or correct the permissions.",
    )


def _check_companions(path: Path) -> None:
    """Raise ProjectError if a file that belongs to the project is a link, a pipe or a device, or another user's."""
    owners: set[int] = set()
    with suppress(FileNotFoundError, NotADirectoryError):
        owners.add(path.stat().st_uid)
    for suffix in (*COMPANIONS, _SPILL):
        companion = path.with_name(path.name + suffix)
        if problem := own_problem(companion, owners, folder=suffix == _SPILL):
            raise ProjectError(
                f"{companion} {problem}, so {path.name} was not opened.",
                "Delete it, or move the project to a folder that only you can write to.",
            )
