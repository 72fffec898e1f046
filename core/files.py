"""Files: shipped folders, bounded text files of users, atomic writes, files that another program may have open."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from core.errors import InputError, MootError

T = TypeVar("T")

MAX_BYTES = 10_000_000

PAUSES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds before each further attempt."""

_FULL_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_WORDS = ("no space left", "disk full", "not enough space", "quota exceeded", "file too large")

_PACKAGE = Path(__file__).resolve().parent

_lock = threading.Lock()


def shipped_folder(name: str) -> Path:
    """Return the folder ``prompts`` or ``sample_data`` of a wheel or checkout. Raises MootError if it is missing."""
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise MootError(f"The folder '{name}' is missing from this installation of Moot.", "Install Moot again.")


def file_stem(name: str) -> str:
    """Return a name as a part of a file name: in lower case, with underscores between its words."""
    return "_".join("".join(character if character.isalnum() else " " for character in name.lower()).split())


def read_bytes(path: Path, *, max_bytes: int) -> bytes:
    """Return the bytes of a file of the user.

    Raises InputError for a file that cannot be read, is not a regular file (a device never ends), or is larger than
    ``max_bytes`` bytes.
    """
    try:
        file_stat = path.stat()
        if not stat.S_ISREG(file_stat.st_mode):
            raise InputError(f"{path} is not a file.", "Check the path.")
        if file_stat.st_size > max_bytes:
            raise InputError(f"{path} is larger than {max_bytes / 1e6:,.0f} MB.", "Use a smaller file.")
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error


def read_text(path: Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a UTF-8 file as ``decode_text``. Raises InputError as ``read_bytes``."""
    return decode_text(read_bytes(path, max_bytes=max_bytes), str(path))


def decode_text(content: bytes, name: str, error_type: type[MootError] = InputError) -> str:
    """Return UTF-8 text without its byte order mark and carriage returns. Raises ``error_type`` for other bytes."""
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise error_type(f"{name} is not UTF-8 text.", "Save it as UTF-8.") from error


@contextmanager
def atomic_write(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block succeeds and is removed when it fails. Raises OSError.

    The file is in the folder of the target, so that the replacement is atomic, and is synced to disk before. Only its
    owner can read a ``private`` file.
    """
    part = path.with_name(f".moot-{secrets.token_hex(8)}.part")  # short, because the target's name may be long
    mode = 0o600 if private else 0o666
    try:
        with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        replace_shared(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def own_problem(path: Path, owners: Container[int] = (), *, folder: bool = False) -> str | None:
    """Return why a file or folder is unsafe to use, None if it is safe or missing.

    Whoever can write to the folder around it could leave one there first: a link leads what is written to another file,
    a pipe or a device never ends, and another user can read a file of their own. ``owners`` are trusted like this user.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if folder and not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if not folder and not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid != getattr(os, "geteuid", lambda: 0)() and status.st_uid not in owners:
        return "belongs to another user"
    return None


def is_disk_full(error: Exception) -> bool:
    """Return True if an error of the operating system or of DuckDB says that the disk or the user's quota is full."""
    text = str(getattr(error, "strerror", None) or error).lower()
    return getattr(error, "errno", None) in _FULL_CODES or any(words in text for words in _FULL_WORDS)


def read_shared(path: Path) -> bytes:
    """Return the content of a file that may be open elsewhere. Raises OSError."""
    return _patiently(path.read_bytes)


def replace_shared(source: Path, target: Path) -> None:
    """Rename a file, also over an existing one that may be open elsewhere. Raises OSError."""
    _patiently(lambda: os.replace(source, target))


def _patiently(action: Callable[[], T]) -> T:
    """Repeat what Windows refuses for a moment, for example while a virus scanner reads the file."""
    for pause in PAUSES:
        try:
            with _lock:
                return action()
        except PermissionError as error:
            if not hasattr(error, "winerror"):  # another system than Windows, on which waiting changes nothing
                raise
            time.sleep(pause)
    return action()
