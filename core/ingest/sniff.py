"""What a file really is, whatever its name says: from its first bytes."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import BinaryIO, Literal, TypeAlias

Container: TypeAlias = Literal["spreadsheet", "parquet", "other"]

HEAD = 65_536
"""How many bytes are looked at."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is not text: how to read it, what to call it, and what its owner can do."""

    container: Container
    what: str
    remedy: str


_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CONVERT = "Save the table as csv, xlsx, jsonl or parquet."
_UNPACK = "Unpack it and open the file inside."
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip archive", _UNPACK),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\xfd7zXZ\x00", "an xz archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a rar archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", _UNPACK),
    (b"%PDF-", "a PDF document", _CONVERT),
    (b"\x89PNG\r\n", "a PNG picture", _CONVERT),
    (b"\xff\xd8\xff", "a JPEG picture", _CONVERT),
    (b"GIF8", "a GIF picture", _CONVERT),
    (b"{\\rtf", "a rich text document", _CONVERT),
    (b"SQLite format 3\x00", "an SQLite database", _CONVERT),
    (b"ARROW1\x00\x00", "an Arrow file", _CONVERT),
    (b"\x7fELF", "a program", _CONVERT),
    (b"\x80\x04\x95", "a Python pickle, which is never loaded", _CONVERT),
)


def container(head: bytes, stream: BinaryIO) -> Found | None:
    """What the file is if it is a known kind that is not text; None for text and for binary of no known kind.

    ``stream`` is looked into only for a zip archive, and its position is restored.
    """
    if head.startswith(b"PAR1"):
        return Found("parquet", "a Parquet file", "Rename it to end in .parquet.")
    if head.startswith(_OFFICE):
        return Found("spreadsheet", "an old Excel file", "Rename it to end in .xls, or save it as csv in Excel.")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip(stream)
    if head[8:12] == b"DUCK":
        return Found("other", "a DuckDB database", "Open it with --project if it is a Moot project.")
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        return Found("other", "a web page", "Download the file itself; the page may ask you to log in first.")
    for magic, what, remedy in _MAGIC:
        if head.startswith(magic):
            return Found("other", what, remedy)
    return None


def _zip(stream: BinaryIO) -> Found:
    place = stream.tell()
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            kind = archive.read("mimetype")[:80] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError):
        return Found("other", "a damaged zip archive", "Get the file again.")
    finally:
        stream.seek(place)
    if any(name.startswith("xl/") for name in names):
        return Found("spreadsheet", "an Excel file", "Rename it to end in .xlsx, or save it as csv in Excel.")
    if b"spreadsheet" in kind:
        return Found("spreadsheet", "an OpenDocument spreadsheet", "Rename it to end in .ods.")
    if any(name.startswith("word/") for name in names):
        return Found("other", "a Word document", _CONVERT)
    return Found("other", "a zip archive", _UNPACK)


def is_binary(head: bytes) -> bool:
    """Whether the bytes cannot be text in any encoding: too many control characters, NULs among them.

    UTF-16 and UTF-32 must be excluded before (see ``encoding.wide``). A text with a few NULs passes: up to a tenth of
    the bytes in a small file, up to a fiftieth in a larger one. Random bytes hold 11% control characters.
    """
    if not head:
        return False
    control = len(head) - len(head.translate(None, _CONTROL))
    share = control / len(head)
    return (share > 0.1 and control >= 6) or (share > 0.02 and control >= 16)


_CONTROL = bytes(code for code in (*range(32), 127) if code not in b"\t\n\v\f\r\x1a\x1b\x1c\x1d\x1e\x1f")
