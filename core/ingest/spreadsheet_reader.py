"""Reader of xlsx, xls and ods by calamine.

Of a workbook one sheet is read; title rows above the header are left out.
"""

from __future__ import annotations

import fnmatch
import functools
import io
import itertools
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from core.csv_text import unescape_formula
from core.errors import InputError, UsageError
from core.formatting import did_you_mean
from core.ingest.child_process import memory_limit
from core.ingest.table import (
    BELOW_HEADER,
    EXPORT_COLUMNS,
    HEADER_ROWS,
    REPEATED_HEADER,
    Format,
    RowLog,
    Table,
    TableSource,
    as_text,
    check_width,
    clean_columns,
    clean_value,
    further_headers,
    header_row,
    is_repeated_header,
    left_out_note,
    names_with_options,
)

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

UNPACKED_SHARE = 4
"""A workbook may unpack to this part of the memory limit, because its cells take several times the bytes."""
CELL_BYTES = 32
_DIMENSION = re.compile(rb'<(?:\w+:)?dimension\s[^>]*?ref="[A-Z]+\d+:([A-Z]{1,3})(\d{1,7})"')
_ERROR = re.compile(rb'(<(?:\w+:)?c\s[^<>]*\b)t="e"')
"""The attributes of an xlsx cell whose value is an error, such as ``#DIV/0!``, which calamine reads as empty."""
_EMPTY_FORMULA = re.compile(
    rb'<(?:\w+:)?c\s(?![^<>]*\bt="str")[^<>]*><(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)'
    rb"(?:<(?:\w+:)?v(?: ?/>|></(?:\w+:)?v>))?</"
)
"""A cell with a formula and without a value. With ``t="str"`` the value is an empty text."""
_HIDDEN_ROW = re.compile(
    rb'<(?:\w+:)?row\s[^<>]*\bhidden="(?:1|true)"[^<>]*(?<!/)>(?:(?!</(?:\w+:)?row>).)*?<(?:\w+:)?(?:v|is)>', re.DOTALL
)
"""The beginning of a hidden row with a value, which calamine reads like the others."""
MAX_EXACT = 10**15
"""Numbers from here on have more digits than Excel keeps."""
_ODS_BREAK = re.compile(rb"<text:(?:line-break|(tab))(?:\s[^<>]*)?(?:/>|>\s*</text:(?:line-break|tab)>)")
"""A line break or a tab within a paragraph of an ods cell, which calamine leaves out."""
_ODS_ERROR = re.compile(rb'<table:table-cell\b([^<>]*\bcalcext:value-type="error"[^<>]*)>')
"""A cell with an error, which calamine reads as empty or as 0."""
_ODS_VALUE = re.compile(rb'\soffice:(?:value|string-value|value-type)="[^"]*"')


def read_sheet(source: TableSource, format: Format) -> Table:
    """Read the named sheet, or the first visible sheet of two rows or more. Rows without any value are skipped.

    A sheet of a single column is passed over if a later one has more columns and more rows.
    Whole numbers become int, dates ISO text, formulas their last value, errors their names (in ods ``#N/A``, in xls
    None), and empty cells None. UsageError lists the sheets if none has that name. InputError for a file that is not a
    workbook, is protected, or has no rows.
    """
    name = source.name
    _check_size(source.stream, name)
    stream, file_notes = _with_left_out_parts(source.stream)
    names, sheet_name, numbered_rows = _open(replace(source, stream=stream))
    lines, rows = _filled_rows(numbered_rows, source)
    if not rows:
        raise InputError(f"{name} is empty.", "Choose a sheet with a header and rows.")
    above_blank = {index for index, (line, below) in enumerate(itertools.pairwise(lines)) if below > line + 1}
    header_index = header_row(rows[:HEADER_ROWS], above_blank)
    titles, header, below = rows[:header_index], rows[header_index], rows[header_index + 1 :]
    lower_headers = below[: further_headers(header, below)]
    first = len(titles) + 1 + len(lower_headers)
    log: RowLog[list[Any]] = RowLog()
    for line, row in list(zip(lines, rows, strict=True))[first:][: source.max_rows]:
        if is_repeated_header(row, header):
            log.reject(line, REPEATED_HEADER, ", ".join(map(as_text, row)))
        else:
            log.keep(line, row)
    if not log.kept:
        raise InputError(f"Sheet '{sheet_name}' of {name} has a header but no rows.", "Add rows below it.")
    check_width(len(header), name)
    column_names = names_with_options(header, lower_headers)
    data = [tuple(None if cell == "" else cell for cell in column) for column in zip(*log.kept, strict=True)]
    if EXPORT_COLUMNS.issubset(column_names):  # spreadsheet programs keep the apostrophes in the csv that Moot wrote
        column_names = [*map(_unescaped, column_names)]
        data = [tuple(map(_unescaped, cells)) for cells in data]
    used = [
        (title, cells)
        for title, cells in zip(column_names, data, strict=True)
        if title != "" or any(cell is not None for cell in cells)
    ]
    columns, name_notes = clean_columns([title for title, _ in used])
    sheet_note = f"Sheet '{sheet_name}' was read; the file has {len(names)}: {', '.join(names)}."
    notes = (
        *((sheet_note,) if len(names) > 1 else ()),
        *file_notes,
        *left_out_note(titles),
        *left_out_note(lower_headers, BELOW_HEADER),
        *name_notes,
        *(
            f"Excel rounds numbers to 15 digits, and '{title}' has longer ones. As ids they must be text."
            for title, (_, cells) in zip(columns, used, strict=True)
            if any(isinstance(cell, int | float) and abs(cell) >= MAX_EXACT for cell in cells)
        ),
    )
    return log.table(
        name, format, columns, tuple(cells for _, cells in used), notes=notes, sheets=names, sheet=sheet_name
    )


def _filled_rows(
    numbered_rows: Iterator[tuple[int, list[Any]]], source: TableSource
) -> tuple[list[int], list[list[Any]]]:
    """Return the rows with a value up to ``max_rows`` below a header, after their numbers in the sheet."""
    lines: list[int] = []
    rows: list[list[Any]] = []
    for line, row in numbered_rows:
        if all(cell == "" for cell in row):
            continue
        lines.append(line)
        rows.append([_cell(value) for value in row])
        if not line & 0xFFF:
            source.progress(0.5)
        if source.max_rows is not None and len(rows) >= source.max_rows + HEADER_ROWS:
            break
    return lines, rows


def _check_size(stream: BinaryIO, name: str) -> None:
    """Raise InputError if the workbook declares more than the memory limit allows.

    A small archive can unpack to terabytes, and a sheet of one cell can span 17 billion.
    """
    stream.seek(0)
    if zipfile.is_zipfile(stream):
        with zipfile.ZipFile(stream) as archive:
            size = sum(member.file_size for member in archive.infolist())
            limit = memory_limit() // UNPACKED_SHARE
            if size > limit:
                _refuse(f"{name} unpacks to {size >> 20:,} MB, more than {limit >> 20:,} MB.")
            for member in fnmatch.filter(archive.namelist(), "xl/worksheets/*.xml"):
                last = _last_cell(archive, member)
                if last and (cells := _column_number(last[1]) * int(last[2])) * CELL_BYTES > memory_limit():
                    _refuse(f"A sheet of {name} spans {cells:,} cells, up to {(last[1] + last[2]).decode()}.")
    stream.seek(0)


def _last_cell(archive: zipfile.ZipFile, member: str) -> re.Match[bytes] | None:
    """Return the last column and row that a sheet declares, if it declares them and is not damaged."""
    try:
        with archive.open(member) as sheet:
            return _DIMENSION.search(sheet.read(4096))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError):
        return None  # calamine says what is wrong


def _with_left_out_parts(stream: BinaryIO) -> tuple[BinaryIO, tuple[str, ...]]:
    """Return an xlsx or ods file with errors as texts, and with line breaks and tabs of ods cells as characters.

    The file itself is returned if it has none, is damaged, or is of another format. The notes are on formulas without a
    result and on hidden rows in an xlsx file.
    """
    formulas = hidden = 0
    damage = (zipfile.BadZipFile, zlib.error, KeyError, RuntimeError, NotImplementedError, EOFError)
    with suppress(*damage), zipfile.ZipFile(stream) as file:
        changed: dict[str, bytes] = {}
        for name in fnmatch.filter(file.namelist(), "xl/worksheets/*.xml"):
            content, errors = _ERROR.subn(rb'\1t="str"', file.read(name))
            formulas += len(_EMPTY_FORMULA.findall(content))
            hidden += len(_HIDDEN_ROW.findall(content))
            if errors:
                changed[name] = content
        if "content.xml" in file.namelist():
            content, breaks = _ODS_BREAK.subn(lambda found: b"\t" if found[1] else b"\n", file.read("content.xml"))
            content, errors = _ODS_ERROR.subn(_ods_error, content)
            if breaks or errors:
                changed["content.xml"] = content
        if changed:
            copy = io.BytesIO()
            with zipfile.ZipFile(copy, "w") as target:
                for name in file.namelist():
                    target.writestr(name, changed[name] if name in changed else file.read(name))
            stream = copy
    stream.seek(0)
    notes = []
    if formulas:
        notes.append(
            f"The file has formulas without results ({formulas:,}); their cells are empty here. Open it in a "
            "spreadsheet program and save it to store the results."
        )
    if hidden:
        notes.append(f"The file has hidden rows ({hidden:,}), which are read like the others.")
    return stream, tuple(notes)


def _ods_error(cell: re.Match[bytes]) -> bytes:
    value = b'office:value-type="string" office:string-value="#N/A"'
    return b"<table:table-cell " + value + _ODS_VALUE.sub(b"", cell[1]) + b">"


def _refuse(message: str) -> NoReturn:
    remedy = "Delete cells far from the table, save the table as csv, or set MOOT_READ_MEMORY_GB to a higher limit."
    raise InputError(message, remedy)


def _column_number(letters: bytes) -> int:
    return functools.reduce(lambda number, letter: number * 26 + letter - 64, letters, 0)


def _open(source: TableSource) -> tuple[tuple[str, ...], str, Iterator[tuple[int, list[Any]]]]:
    """Return the names of the sheets, that of the one to read, and its rows, numbered from 1."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

    name, sheet = source.name, source.sheet
    try:
        book = CalamineWorkbook.from_filelike(source.stream)
        names = tuple(book.sheet_names)
        if sheet is not None and sheet not in names:
            hint = did_you_mean(sheet, names)
            raise UsageError(f"{name} has no sheet '{sheet}'.", f"{hint}It has: {', '.join(names)}.")
        visible = [metadata.name for metadata in book.sheets_metadata if metadata.visible == SheetVisibleEnum.Visible]
        best = None
        for title in [sheet] if sheet is not None else visible or names:
            loaded = book.get_sheet_by_name(title)
            if best is None or _is_better(loaded, best):
                best = loaded
            if best.width > 1 and best.height > 1:
                break
    except PasswordError as error:
        raise InputError(f"{name} is protected by a password.", "Save it without one.") from error
    except (CalamineError, OSError) as error:
        raise InputError(f"{name} cannot be read as a workbook: {error}.", "Save it again, or as csv.") from error
    if best is None:
        raise InputError(f"{name} has no sheets.", "Save it again, or as csv.")
    return names, best.name, enumerate(best.iter_rows(), 1)


def _is_better(sheet: CalamineSheet, earlier: CalamineSheet) -> bool:
    """Return True for a sheet after a title (a line alone) or after a single column that may hold notes."""
    if not earlier.width or earlier.height < 2:
        return sheet.width > 0 and sheet.height > earlier.height
    return earlier.width == 1 < sheet.width and sheet.height > earlier.height


def _unescaped(cell: Any) -> Any:
    return unescape_formula(cell) if isinstance(cell, str) else cell


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return clean_value(value)
