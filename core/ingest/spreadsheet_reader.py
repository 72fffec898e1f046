"""xlsx, xls and ods reader based on calamine. It reads one sheet, whose first row that is not empty is the header."""

from __future__ import annotations

import difflib
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from core.errors import InputError, UsageError
from core.ingest.decode import Progress
from core.ingest.table import Format, Table, check_width, clean_columns, clean_value

UNPACKED_LIMIT = 2 << 30
"""Bytes that a workbook may unpack to: a small archive can hide terabytes."""


def read_sheet(
    stream: BinaryIO, *, name: str, format: Format, sheet: str | None = None, progress: Progress | None = None
) -> Table:
    """Read the named sheet, or the first visible sheet that is not empty. Rows without any value are skipped.

    Whole numbers become int, dates ISO text, and formulas their last value. UsageError lists the sheets if none has
    that name. InputError for a file that is not a workbook, is protected, or has no rows.
    """
    _check_size(stream, name)
    names, chosen, rows = _open(stream, name, sheet)
    header: list[Any] | None = None
    kept: list[list[Any]] = []
    lines: list[int] = []
    for line, row in rows:
        if all(cell == "" for cell in row):
            continue
        if header is None:
            header = row
        else:
            kept.append([_cell(value) for value in row])
            lines.append(line)
        if progress is not None and not line & 0xFFF:
            progress(0.5)
    if header is None:
        raise InputError(f"{name} is empty.", "Choose a sheet with a header and rows.")
    if not kept:
        raise InputError(f"Sheet '{chosen}' of {name} has a header but no rows.", "Add rows below it.")
    check_width(len(header), name)
    data = tuple(zip(*kept, strict=True))
    used = [index for index, title in enumerate(header) if title != "" or any(cell != "" for cell in data[index])]
    columns, notes = clean_columns([_cell(header[index]) for index in used])
    if len(names) > 1:
        notes = (f"Sheet '{chosen}' was read; the file has {len(names)}: {', '.join(names)}.", *notes)
    return Table(
        name=name,
        format=format,
        columns=columns,
        data=tuple(data[index] for index in used),
        line_numbers=tuple(lines),
        row_numbers=tuple(range(1, len(kept) + 1)),
        read=len(kept),
        notes=notes,
        sheets=names,
    )


def _check_size(stream: BinaryIO, name: str) -> None:
    stream.seek(0)
    if zipfile.is_zipfile(stream):
        with zipfile.ZipFile(stream) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > UNPACKED_LIMIT:
            raise InputError(f"{name} unpacks to {size >> 20:,} MB.", "Save the table as csv.")
    stream.seek(0)


def _open(
    stream: BinaryIO, name: str, sheet: str | None
) -> tuple[tuple[str, ...], str, Iterator[tuple[int, list[Any]]]]:
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

    try:
        book = CalamineWorkbook.from_filelike(stream)
        names = tuple(book.sheet_names)
        if sheet is not None and sheet not in names:
            near = difflib.get_close_matches(sheet, names, 1)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise UsageError(f"{name} has no sheet '{sheet}'.", f"{hint}It has: {', '.join(names)}.")
        shown = [each.name for each in book.sheets_metadata if each.visible == SheetVisibleEnum.Visible]
        sheets = [book.get_sheet_by_name(each) for each in ([sheet] if sheet is not None else shown or names)]
    except PasswordError as error:
        raise InputError(f"{name} is protected by a password.", "Save it without one.") from error
    except CalamineError as error:
        raise InputError(f"{name} cannot be read as a workbook: {error}.", "Save it again, or as csv.") from error
    except OSError as error:
        raise InputError(f"{name} is a damaged workbook: {error}.", "Save it again, or as csv.") from error
    chosen = next((each for each in sheets if each.height and each.width), sheets[0] if sheets else None)
    if chosen is None:
        raise InputError(f"{name} has no sheets.", "Save it again, or as csv.")
    return names, chosen.name, enumerate(chosen.iter_rows(), 1)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return clean_value(value)
