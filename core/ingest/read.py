"""From a file or an upload to a table, whatever its format."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from core.errors import InputError
from core.ingest import sniff
from core.ingest.columnar import read_parquet
from core.ingest.delimited import read_delimited
from core.ingest.encoding import detect, wide
from core.ingest.lines import ROW_LIMIT, Progress
from core.ingest.records import NotJson, read_json, read_jsonl
from core.ingest.sheets import read_sheet
from core.ingest.table import Format, Table

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xls",
    ".ods": "ods",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""What a name's end promises. Another end is no obstacle: the content decides."""

_SPREADSHEETS = ("xlsx", "xls", "ods")
_NOTHING = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


def read_table(
    source: Path | bytes,
    *,
    name: str,
    encoding: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    progress: Progress | None = None,
    row_limit: int = ROW_LIMIT,
) -> Table:
    """The table in ``source``: a path, or the bytes of an upload. ``name`` is the file's, for its suffix and messages.

    ``encoding``, ``delimiter`` and ``sheet`` are detected when not given. ``progress`` is called with a share from 0 to
    1 and ends at 1. InputError when the file is missing, empty, has no rows or is not what its name says; UsageError
    for an option that cannot be. Single bad rows raise nothing: they are in ``Table.rejected``.
    """
    with _opened(source, name) as (stream, size):
        head = stream.read(sniff.HEAD)
        stream.seek(0)
        if not head.strip(_NOTHING):
            what = "holds nothing but NUL bytes" if b"\x00" in head[4:] and not wide(head) else "is empty"
            raise InputError(f"{name} {what}.", "Choose a file with a header and rows.")
        promised = SUFFIXES.get(os.path.splitext(name)[1].lower())
        format = _format(promised, sniff.container(head, stream), name)
        if format == "parquet":
            table = read_parquet(stream, name=name, progress=progress)
        elif format in _SPREADSHEETS:
            table = read_sheet(stream, name=name, format=format, sheet=sheet, progress=progress)
        else:
            table = _read_text(stream, head, size, name, format, promised, encoding, delimiter, progress, row_limit)
    if progress is not None:
        progress(1.0)
    return table


@contextmanager
def _opened(source: Path | bytes, name: str) -> Iterator[tuple[BinaryIO, int]]:
    if isinstance(source, bytes):
        yield io.BytesIO(source), len(source)
        return
    try:
        with source.open("rb") as stream:
            yield stream, os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        raise InputError(f"There is no file {source}.", "Check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{source} is a folder.", "Give a file.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.", "Check its permissions.") from error


def _format(promised: Format | None, found: sniff.Found | None, name: str) -> Format:
    """What to read the file as. InputError when its content is not what its name says."""
    spreadsheet, parquet = promised in _SPREADSHEETS, promised == "parquet"
    if found is None:
        if spreadsheet or parquet:
            what = "a Parquet file" if parquet else "a workbook"
            raise InputError(f"{name} is not {what}.", "If it is text, rename it to end in .csv or .jsonl.")
        return promised or "csv"
    if found.container == "spreadsheet" and (spreadsheet or promised is None):
        return promised or ("ods" if "OpenDocument" in found.what else "xls" if "old" in found.what else "xlsx")
    if found.container == "parquet" and (parquet or promised is None):
        return "parquet"
    expected = "a workbook" if spreadsheet else "a Parquet file" if parquet else "text"
    raise InputError(f"{name} is not {expected} but {found.what}.", found.remedy)


def _read_text(
    stream: BinaryIO,
    head: bytes,
    size: int,
    name: str,
    format: Format,
    promised: Format | None,
    encoding: str | None,
    delimiter: str | None,
    progress: Progress | None,
    limit: int,
) -> Table:
    _check_text(head, name)
    decoding = detect(stream, encoding, name)
    start = head.decode(decoding.encoding, "ignore").lstrip("\ufeff \t\r\n")[:1]
    if promised is None and start in ("{", "["):
        format = "json"
    if format not in ("json", "jsonl"):
        return read_delimited(
            stream,
            name=name,
            format=format,
            size=size,
            decoding=decoding,
            delimiter=delimiter,
            limit=limit,
            progress=progress,
        )
    whole: NotJson | None = None
    if format == "json" or start == "[":
        try:
            return read_json(stream, name=name, decoding=decoding, progress=progress)
        except NotJson as error:
            whole = error
    table = read_jsonl(stream, name=name, size=size, decoding=decoding, limit=limit, progress=progress)
    if whole is not None and not len(table):
        raise whole
    return table


def _check_text(head: bytes, name: str) -> None:
    encoding = wide(head)
    if encoding is not None:
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    if sniff.is_binary(head):
        raise InputError(f"{name} is not text: it holds binary data.", "Save the table as csv, xlsx, jsonl or parquet.")
