"""Read text files of users, such as codebooks and templates: regular files of a bounded size in UTF-8."""

from __future__ import annotations

import stat
from pathlib import Path

from core.errors import InputError

MAX_BYTES = 10_000_000


def read_bytes(path: Path, *, most: int) -> bytes:
    """Return the bytes of a file.

    Raises InputError for a file that cannot be read, is not a regular file (a device never ends), or is larger than
    ``most`` bytes.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path} is not a file.", "Check the path.")
        if found.st_size > most:
            raise InputError(f"{path} is larger than {most / 1e6:,.0f} MB.", "Use a smaller file.")
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from error


def read_text(path: Path, *, most: int = MAX_BYTES) -> str:
    """Return the text of a UTF-8 file without its byte order mark. Raises InputError as ``read_bytes``."""
    try:
        return read_bytes(path, most=most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from error
