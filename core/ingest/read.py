"""Read a file or an upload of any supported format as a table, or a source of personas as text, in a child process.

The format of a table is detected from its content.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, get_args

from core.documents import Rejected, storable
from core.errors import InputError
from core.files import read_bytes
from core.formatting import one_line
from core.ingest import child_process
from core.ingest.csv_reader import read_delimited
from core.ingest.decode import detect_encoding, detect_utf16_or_32
from core.ingest.json_reader import ASSIGNMENT, NotJson, parse_objects, read_json, read_jsonl
from core.ingest.parquet_reader import read_parquet
from core.ingest.spreadsheet_reader import read_sheet
from core.ingest.table import DETECTED, MAX_ROWS, SAVE_AS_TABLE, Format, OnShare, ReadOptions, Table, TableSource
from core.ingest.xml_reader import read_xml

SUFFIXES: dict[str, Format] = {f".{format}": format for format in get_args(Format)}
SUFFIXES |= {".txt": "csv", ".tab": "tsv", ".xlsm": "xlsx", ".ndjson": "jsonl", ".pq": "parquet"}
"""Format by file name suffix. Files with other suffixes are read by their content."""

YAML_SUFFIXES = (".yaml", ".yml")
_SPREADSHEETS = ("xlsx", "xls", "ods")
_NOTHING = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"


def read_table(
    source: Path | bytes,
    *,
    name: str,
    options: ReadOptions = DETECTED,
    progress: OnShare | None = None,
    max_rows: int | None = None,
) -> Table:
    """Return the table in ``source``: a path, or the bytes of an upload. ``name`` is the file name.

    Control characters in the name are replaced, because the table's name, ids and raters are made of it. ``progress``
    is called with a share from 0 to 1 and ends at 1. At most ``max_rows`` rows are read, rejected ones included; a note
    then says so. InputError when the file is missing, empty, has no rows, is not what its name says or meets a limit of
    the child process that reads it (``core.ingest.child_process``); UsageError for an option that cannot be. Single bad
    rows raise nothing: they are in ``Table.rejected``.
    """
    name = one_line(name)
    arguments = {"name": name, "max_rows": max_rows, **asdict(options)}
    with _opened(source) as file:
        parts = child_process.run("core.ingest.read:serve_table", file, arguments, progress=progress)
        described: dict[str, Any] = next(parts)
        rejected = tuple(Rejected(*row) for row in described.pop("rejected"))
        columns = tuple(map(tuple, parts))
    described = {key: tuple(value) if isinstance(value, list) else value for key, value in described.items()}
    return Table(**described, data=columns, rejected=rejected)


def serve_table(stream: BinaryIO, **options: Any) -> Iterator[Any]:
    """Yield a table as plain data: everything but the cells, then column by column."""
    table = parse_table(TableSource(stream, **options))
    described = {field.name: getattr(table, field.name) for field in fields(Table) if field.name != "data"}
    yield described | {"rejected": [(row.line, row.reason, row.raw) for row in table.rejected]}
    yield from table.data


def parse_table(source: TableSource) -> Table:
    """Return the table in a file like ``read_table``, but in this process, without limits on memory and time."""
    name, max_rows = source.name, source.max_rows
    head = source.stream.read(HEAD)
    source.stream.seek(0)
    if not head.strip(_NOTHING):
        problem = "holds nothing but NUL bytes" if b"\x00" in head[4:] and not detect_utf16_or_32(head) else "is empty"
        raise InputError(f"{name} {problem}.", "Choose a file with a header and rows.")
    suffix = os.path.splitext(name)[1].lower()
    if suffix in YAML_SUFFIXES:
        raise InputError(f"{name} is not a table but a YAML file.", f"Import a codebook on Codebook. {SAVE_AS_TABLE}")
    promised = SUFFIXES.get(suffix)
    format = _format(promised, detect_file_type(head, source.stream), name, head)
    if format == "parquet":
        table = read_parquet(source)
    elif format == "xml":
        table = read_xml(source)
    elif format in _SPREADSHEETS:
        table = read_sheet(source, format)
    else:
        table = _read_text(source, head, format, promised)
    if table.read > MAX_ROWS:
        raise InputError(f"{name} has {table.read:,} rows; at most {MAX_ROWS:,} can be read.", "Split the file.")
    if max_rows is not None and table.read >= max_rows:
        table = replace(table, notes=(*table.notes, f"Only the first {max_rows:,} rows were read."))
    source.progress(1.0)
    return table


@contextmanager
def _opened(source: Path | bytes) -> Iterator[BinaryIO | bytes]:
    if isinstance(source, bytes):
        yield source
        return
    try:
        with source.open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror or error}.", "Check the path.") from error


def _format(promised: Format | None, detected: FileType | None, name: str, head: bytes) -> Format:
    """Return the format to read: ``promised`` by the file name if the content allows it.

    Text that is called a workbook is csv, as many programs write it. InputError for other content that does not match
    the file name.
    """
    is_spreadsheet, is_parquet = promised in _SPREADSHEETS, promised == "parquet"
    promised_type = "a workbook" if is_spreadsheet else "a Parquet file" if is_parquet else "a table in text form"
    if detected is None:
        if is_parquet or (is_spreadsheet and _is_binary(head)):
            raise InputError(f"{name} is not {promised_type}.", "If it is text, rename it to end in .csv or .jsonl.")
        return "csv" if is_spreadsheet else promised or "csv"
    if detected.format in _SPREADSHEETS and (is_spreadsheet or promised is None):
        return promised or detected.format
    if detected.format in ("parquet", "xml") and promised in (detected.format, None):
        return detected.format
    raise InputError(f"{name} is not {promised_type} but {detected.description}.", detected.remedy)


def _read_text(source: TableSource, head: bytes, format: Format, promised: Format | None) -> Table:
    """Return the table in a text file."""
    name = source.name
    decoding = detect_encoding(source.stream, source.encoding, name) if source.encoding else None
    if _is_binary(head.decode(decoding.encoding, "ignore").encode("utf-8", "ignore") if decoding else head):
        raise InputError(f"{name} is not text: it holds binary data.", SAVE_AS_TABLE)
    decoding = decoding or detect_encoding(source.stream, None, name)
    text = head.decode(decoding.encoding, "ignore").lstrip("\ufeff \t\r\n")
    start = text[:1]
    if promised is None and (start in ("{", "[") or ASSIGNMENT.match(text)):
        format = "json"
    if format not in ("json", "jsonl"):
        return read_delimited(source, decoding, format)
    not_json: NotJson | None = None
    if format == "json" or start == "[":
        try:
            return read_json(source, decoding)
        except NotJson as error:
            not_json = error
    try:
        table = read_jsonl(source, decoding)
    except InputError as error:
        with suppress(InputError):
            return read_json(source, decoding, parse_objects)
        raise not_json or error from None
    if len(table.rejected) > len(table):  # perhaps objects of several lines
        with suppress(InputError):
            return read_json(source, decoding, parse_objects)
    return table


HEAD = 65_536
"""Number of bytes that are inspected."""


@dataclass(frozen=True, slots=True)
class FileType:
    """A file that is not text: its description, what the user can do, and its format (None if it cannot be read)."""

    description: str
    remedy: str = SAVE_AS_TABLE
    format: Format | None = None


_ARCHIVE = FileType("an archive", "Unpack it and open the file inside.")
_WORDS = FileType(
    "a file with annotations of words or passages",
    "These are not read. Save a csv file with one text in each row, and with its labels in columns.",
)
_FILE_TYPES: Mapping[bytes, FileType] = {
    rb"#FORMAT=WebAnno TSV|\{\s*\"%TYPES\"|<\?xml(?s:.{0,200})<xmi:XMI": _WORDS,  # INCEpTION
    rb"-DOCSTART-\s|# (?:newdoc|sent_id = |global\.columns)|(?:\S+[ \t]+){1,5}?-X-[ \t]": _WORDS,  # CoNLL
    rb"(?:(?:\S+[ \t]){1,5}(?:O|[BI]-[A-Za-z]\S*)[ \t]*\r?\n){3}": _WORDS,
    rb"T\d+\t\S+ \d+ \d+(?:;\d+ \d+)*\t": _WORDS,  # brat
    rb"PAR1[^\t\r\n -~]": FileType("a Parquet file", "Rename it to end in .parquet.", "parquet"),
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": FileType(
        "an old Excel file", "Rename it to end in .xls, or save it as csv in Excel.", "xls"
    ),
    rb"(?s:.{8}DUCK..)\x00{6}": FileType("a DuckDB database", "Open it with --project if it is a Moot project."),
    rb"<\?xml(?s:.*)urn:schemas-microsoft-com:office:spreadsheet": FileType(
        "an Excel file in XML form", "Save it as xlsx in Excel."
    ),
    rb"<\?xml": FileType("an XML file", "Rename it to end in .xml.", "xml"),
    rb"(?i:<!doctype html|<html)": FileType(
        "a web page",
        "Save its table as csv or xlsx. If it asks you to log in, do so and download the file again.",
    ),
    rb"TY  - |@\w+\{[^\s,{}]+,\s*\w+\s*=": FileType(
        "a list of references", "Export the references as csv, for example with Zotero."
    ),
    rb"\x1f\x8b|BZh[1-9](?:1AY&SY|\x17rE8P\x90)|\xfd7zXZ\x00": _ARCHIVE,
    rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd": _ARCHIVE,
    rb"%PDF-": FileType("a PDF document"),
    rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a": FileType("a picture"),
    rb"\{\\rtf": FileType("a rich text document"),
    rb"SQLite format 3\x00": FileType("an SQLite database"),
    rb"ARROW1\x00\x00": FileType("an Arrow file"),
    rb"\$FL2@\(#\)": FileType("an SPSS file"),
    rb"<stata_dta>": FileType("a Stata file"),
    rb"\x7fELF": FileType("a program"),
    rb"\x80\x04\x95": FileType("a Python pickle, which is never loaded"),
}
"""File types by a pattern of the beginning, after any white space and byte-order marks. The first match counts.

Letters alone are not enough: a column may be called PAR1.
"""


def detect_file_type(head: bytes, stream: BinaryIO) -> FileType | None:
    """Return the type of a file of a known kind other than text; None for text and unknown binary data.

    ``stream`` is only read for a zip archive, and its position is restored.
    """
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(stream)
    starts = (head, head.lstrip(_NOTHING))
    matching = (kind for pattern, kind in _FILE_TYPES.items() if any(re.match(pattern, start) for start in starts))
    return next(matching, None)


def _zip_type(stream: BinaryIO) -> FileType:
    position = stream.tell()
    try:
        with zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            kind = b""
            if "mimetype" in names:
                with archive.open("mimetype") as member:
                    kind = member.read(80)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError):
        return FileType("a damaged zip archive", "Get the file again.")
    finally:
        stream.seek(position)
    if any(name.startswith("xl/") for name in names):
        return FileType("an Excel file", "Rename it to end in .xlsx, or save it as csv in Excel.", "xlsx")
    if "project.qde" in names:
        remedy = "Export the coded segments as csv or xlsx, and the codebook as .qdc."
        return FileType("a project of a program for qualitative analysis", remedy)
    if b"spreadsheet" in kind:
        return FileType("an OpenDocument spreadsheet", "Rename it to end in .ods.", "ods")
    if any(name.startswith("word/") for name in names):
        return FileType("a Word document")
    return _ARCHIVE


def _is_binary(head: bytes) -> bool:
    """Return True if the bytes cannot be text in any encoding: too many control characters, including NULs.

    A text with a few NULs passes: up to a tenth of the bytes in a small file, up to a fiftieth in a larger one. Random
    bytes hold 11% control characters.
    """
    if (wide := detect_utf16_or_32(head)) is not None:
        head = head.decode(wide, "ignore").encode("utf-8", "ignore")
    if not head:
        return False
    control = len(head) - len(head.translate(None, _CONTROL))
    share = control / len(head)
    return (share > 0.1 and control >= 6) or (share > 0.02 and control >= 16)


_CONTROL = bytes(code for code in (*range(32), 127) if code not in b"\t\n\v\f\r\x1a\x1b\x1c\x1d\x1e\x1f")


TEXT_SUFFIXES = (".txt", ".md", ".pdf")
MAX_BYTES = 200_000_000
MAX_CHARACTERS = 2_000_000


def read_text_file(source: bytes | Path, name: str) -> str:
    """Return the text of a file, which a child process reads (``core.ingest.child_process``).

    InputError for other kinds of files, and if it cannot be read, meets a limit or has no words. A scanned PDF has no
    words, only pictures of them.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in TEXT_SUFFIXES:
        raise InputError(f"{name} is not a supported text file.", f"Use {', '.join(TEXT_SUFFIXES)}.")
    if isinstance(source, Path):
        source = read_bytes(source, max_bytes=MAX_BYTES)
    return "".join(child_process.run("core.ingest.read:serve_text", source, {"name": name}))


def serve_text(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the text of a file like ``read_text_file``, but in this process, without limits on memory and time."""
    is_pdf = name.lower().endswith(".pdf")
    if is_pdf:
        text = _pdf(stream, name)
    else:
        decoding = detect_encoding(stream, None, name)
        text = stream.read().decode(decoding.encoding, decoding.errors)
    text = storable(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if not any(map(str.isalpha, text)):
        why = "It may be scanned: use one with text in it." if is_pdf else "Use another."
        raise InputError(f"{name} has no words.", why)
    yield text[:MAX_CHARACTERS]


def _pdf(stream: BinaryIO, name: str) -> str:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(stream)
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(f"{name} is locked with a password.", "Save it without one.")
        return "\n\n".join(page.extract_text() for page in reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, NotImplementedError) as error:
        raise InputError(f"{name} cannot be read as a PDF ({error}).", "Save it again, or as text.") from error
