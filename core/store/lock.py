"""Ownership of a project file.

A lock file is held while the file is open; a note beside it names the owner for a process that finds it locked.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from core import text_file
from core.errors import InputError, ProjectError, ProjectLocked

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d{1,5}")


class Ownership:
    """The lock on ``FILE.lock`` with ``{pid, url}`` in ``FILE.lock.json``.

    Raises ProjectLocked if another process, or this process, already holds the lock. Raises ProjectError if the folder
    is missing or cannot be written.
    """

    def __init__(self, path: Path, url: str | None = None) -> None:
        self._path = path
        self._note = path.with_name(path.name + ".lock.json")
        self._lock = FileLock(path.with_name(path.name + ".lock"), timeout=0, thread_local=False, mode=0o600)
        self._new = not Path(self._lock.lock_file).exists()
        if not path.parent.is_dir():
            raise ProjectError(f"The folder {path.parent} does not exist.", "Create it first, or name another file.")
        try:
            self._lock.acquire()
        except Timeout as error:
            raise ProjectLocked(str(path), *_read_note(self._note)) from error
        except OSError as error:
            raise ProjectError(
                f"{path.parent} cannot be written ({error.strerror or error}).",
                "Copy the project to one of your folders, or correct the permissions.",
            ) from error
        self.note_url(url)

    def note_url(self, url: str | None) -> None:
        """Record the address at which this process shows the project. A note that cannot be written is left out."""
        draft = self._note.with_name(self._note.name + ".new")
        with suppress(OSError):
            draft.unlink(missing_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump({"pid": os.getpid(), "url": url}, file)
            os.replace(draft, self._note)

    def release(self) -> None:
        """Release the lock. Harmless if repeated."""
        if self._lock.is_locked:
            with suppress(OSError):
                self._note.unlink()
            self._lock.release()

    def forget(self) -> None:
        """Release the lock, and delete its files if they are new, because the file could not be opened as a project."""
        if not self._new:
            self.release()
        elif self._lock.is_locked:
            for left in (self._note, Path(self._lock.lock_file)):
                with suppress(OSError):  # Windows removes no open file
                    left.unlink()
            self._lock.release()


def _read_note(note: Path) -> tuple[int | None, str | None]:
    try:
        data = json.loads(text_file.read_text(note, most=1000))
        url = data["url"]
        return int(data["pid"]), url if isinstance(url, str) and _ADDRESS.fullmatch(url) else None
    except (InputError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None, None
