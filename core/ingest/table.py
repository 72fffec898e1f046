"""A table as read from a file, before its columns are mapped; cells, column names and rejected rows."""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Generic, Literal, TypeAlias, TypeVar

import orjson

from core.csv_text import to_csv
from core.documents import Rejected, storable
from core.errors import InputError
from core.formatting import join_names

T = TypeVar("T")
Format: TypeAlias = Literal["csv", "tsv", "xlsx", "xls", "ods", "jsonl", "json", "xml", "parquet"]
Header: TypeAlias = Literal["first line", "none"]
OnShare: TypeAlias = Callable[[float], None]
Cells: TypeAlias = tuple[tuple[Any, ...], ...]
"""Cells, with a tuple for each column."""

SAVE_AS_TABLE = "Save the table as csv, xlsx, jsonl or parquet."
"""Advice on a file that cannot be read as a table."""
MAX_COLUMNS = 4096
MAX_ROWS = 2_000_000
"""Maximum rows of a file. Their documents take 2 GB of memory; a file of kilobytes can have more."""
RAW_LIMIT = 10_000
"""Characters of a rejected row that are kept, so that the user can fix it."""

NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The user's choices on how to read a file; None leaves them to detection."""

    encoding: str | None = None
    delimiter: str | None = None
    header: Header | None = None
    sheet: str | None = None


DETECTED = ReadOptions()


@dataclass(frozen=True, slots=True)
class TableSource(ReadOptions):
    """A file that holds a table, and how to read it.

    At most ``max_rows`` rows are read, rejected ones included. ``progress`` is called with a share from 0 to 1.
    """

    stream: BinaryIO
    name: str
    progress: OnShare = lambda _share: None
    max_rows: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that could be read, by column, and the rejected rows.

    ``read == len(table) + len(rejected)``: blank lines are not rows. A cell is a string in csv and tsv; elsewhere it
    may be a number, a bool, None, a list or a dict. No string in it holds a lone surrogate or NUL.
    """

    name: str
    format: Format
    columns: tuple[str, ...]
    data: Cells
    """In the order of ``columns``."""
    line_numbers: tuple[int, ...]
    """Position of each kept row: the physical line of a csv or jsonl, the row of a sheet, or the record number."""
    row_numbers: tuple[int, ...]
    """Number of each kept row in the data, from 1. Rejected rows count: fixing a row does not renumber others."""
    read: int
    rejected: tuple[Rejected, ...] = ()
    encoding: str = ""
    delimiter: str = ""
    """Empty for a file of one column and for formats that have none."""
    header: Header = "first line"
    """Where the names of the columns are from; changes only the reading of csv and tsv."""
    notes: tuple[str, ...] = ()
    """Notes for the user on how the file was read."""
    sheets: tuple[str, ...] = ()
    """All sheets of a workbook; with several, a note names the one that was read."""
    sheet: str = ""
    """The sheet of a workbook that was read."""
    file_column: str = ""
    """The column with the name of each row's file, in a table of several files (``join_tables``)."""

    def __len__(self) -> int:
        return len(self.line_numbers)

    def column(self, name: str) -> tuple[Any, ...]:
        """Return the cells of one column. Raises KeyError for an unknown name."""
        try:
            return self.data[self.columns.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def row(self, index: int) -> dict[str, Any]:
        """Return one kept row by position, from 0."""
        return {name: cells[index] for name, cells in zip(self.columns, self.data, strict=True)}


@dataclass(slots=True)
class RowLog(Generic[T]):
    """The rows of a file as they are read: the kept ones with line and number, and the rejected ones."""

    kept: list[T] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    read: int = 0

    def keep(self, line: int, row: T) -> None:
        """Add a row."""
        self.read += 1
        self.kept.append(row)
        self.lines.append(line)
        self.numbers.append(self.read)

    def reject(self, line: int, reason: str, raw: str) -> None:
        """Add a row that cannot be read."""
        self.read += 1
        self.rejected.append(Rejected(line, reason, clip(raw)))

    def table(self, name: str, format: Format, columns: tuple[str, ...], data: Cells, **details: Any) -> Table:
        """Return the table with the kept rows as ``data`` by column, and the account of all rows."""
        account = (tuple(self.lines), tuple(self.numbers), self.read, tuple(self.rejected))
        return Table(name, format, columns, data, *account, **details)


def join_tables(tables: Sequence[Table]) -> Table:
    """Return the rows of several files as one table, in the order of the files; a single table stays as it is.

    A new column ``file`` has the name of each row's file. A column that a file lacks is empty in its rows, and a note
    says so. Row numbers count over all files, lines within each file. Encoding and delimiter are empty if they differ.
    The header is that of the first file. InputError for more than ``MAX_COLUMNS`` columns or ``MAX_ROWS`` rows.
    """
    if len(tables) == 1:
        return tables[0]
    files = unique_names([table.name for table in tables], ())
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    (file_column,) = unique_names(["file"], columns)
    if len(columns) >= MAX_COLUMNS:
        raise InputError(f"The files have {len(columns):,} different columns.", "Import them one by one.")
    if (rows := sum(table.read for table in tables)) > MAX_ROWS:
        raise InputError(f"The files have {rows:,} rows; at most {MAX_ROWS:,} can be read.", "Import them one by one.")
    log: RowLog[Any] = RowLog()
    notes: list[str] = []
    for file, table in zip(files, tables, strict=True):
        log.lines += table.line_numbers
        log.numbers += [log.read + number for number in table.row_numbers]
        log.rejected += [Rejected(row.line, f"{file}: {row.reason}", row.raw) for row in table.rejected]
        log.read += table.read
        notes += [f"{file}: {note}" for note in table.notes]
        if missing := [name for name in columns if name not in table.columns]:
            notes.append(f"{file} has no column {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}.")
    data: list[tuple[Any, ...]] = []
    for name in columns:
        parts = (table.column(name) if name in table.columns else (None,) * len(table) for table in tables)
        data.append(tuple(itertools.chain.from_iterable(parts)))
    data.append(tuple(file for file, table in zip(files, tables, strict=True) for _ in range(len(table))))
    encodings, delimiters = ({getattr(table, part) for table in tables} for part in ("encoding", "delimiter"))
    return log.table(
        join_names(files[:3] if len(files) < 4 else [files[0], f"{len(files) - 1} more files"]),
        tables[0].format,
        (*columns, file_column),
        tuple(data),
        encoding="".join(encodings) if len(encodings) == 1 else "",
        delimiter="".join(delimiters) if len(delimiters) == 1 else "",
        header=tables[0].header,
        notes=tuple(notes),
        file_column=file_column,
    )


REVIEW_DETAILS = ("review_note", "review_flag", "review_error_types", "reviewers")
"""The last columns of a table that Moot exports: the remarks of the reviewers and their names."""
EXPORT_COLUMNS = frozenset(("run_id", "review_status"))
"""Columns that every table has that Moot exports."""


def unique_names(wanted: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the wanted names, with ``_2``, ``_3`` ... if a column or an earlier name is the same."""
    used_names, names = set(columns), []
    for name in wanted:
        names.append(_free(name, used_names))
        used_names.add(names[-1])
    return names


HEADER_ROWS = 12
"""Rows at the start of a file among which the header is looked for."""
BELOW_HEADER = "Below the header"
_MAX_NAME_CHARACTERS = 60
SENTENCE_WORDS = 5
"""Words from which on the name of a column may be a text; beside a number it most likely is."""


def header_row(rows: Sequence[Sequence[Any]], above_blank: Container[int] = ()) -> int:
    """Return which of the first rows that are not blank is the header: 0, unless those above it are a title.

    Rows that begin with # and have fewer cells are comments. A title row fills at most a third of the columns of a
    table of three or more, and does not begin with a single word, which may name a column, unless a blank row is below
    it (``above_blank``). The header is then the first row with a cell in all but one of the columns, all of them short
    and different texts. ``rows`` are at most ``HEADER_ROWS``.
    """
    filled = [[text for cell in row if (text := as_text(cell).strip())] for row in rows]
    width = max(map(len, filled), default=0)
    comments = sum(1 for _ in itertools.takewhile(lambda cells: _is_comment(cells, width), filled))
    if comments:
        return comments if comments < len(rows) else 0
    for index, cells in enumerate(filled):
        if index and len(cells) >= max(3, width - 1):
            named = [cell for cell in cells if len(cell) <= _MAX_NAME_CHARACTERS and not NUMBER.fullmatch(cell)]
            return index if len(set(named)) == len(cells) else 0
        is_name = index not in above_blank and len(as_text(rows[index][0]).split()) == 1
        if 3 * len(cells) > width or is_name:
            return 0
    return 0


def _is_comment(cells: Sequence[str], width: int) -> bool:
    return 0 < len(cells) < width and cells[0].startswith("#") and (len(cells) == 1 or " " in cells[0])


def is_header(row: Sequence[str]) -> bool:
    """Return True if all cells look like names of columns: short, of few words, and without the end of a sentence."""
    return all(
        len(cell) <= _MAX_NAME_CHARACTERS
        and len(cell.split()) < SENTENCE_WORDS
        and not cell.rstrip().endswith((".", "!", "?"))
        for cell in row
    )


def further_headers(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> int:
    """Return how many of the rows below a header are further headers.

    Qualtrics writes question texts and import ids. SurveyMonkey writes the options of a question, which name the
    columns that have no name, below a first column without an option. There are no sentences below other questions.
    """
    for count, row in enumerate(rows[:2], 1):
        cells = [text for cell in row if (text := as_text(cell).strip())]
        if cells and all(cell.startswith('{"ImportId":') for cell in cells):
            return count
    names, options = ([as_text(cell).strip() for cell in row] for row in (header, rows[0] if rows else ()))
    unnamed = [option for name, option in zip(names, options, strict=False) if not name]
    others = [option for *pair, option in zip(names, [*names[1:], "end"], options, strict=False) if all(pair)]
    has_sentence = any(len(option.split()) >= SENTENCE_WORDS for option in others)
    if unnamed and all(unnamed) and names[0] and not options[0] and not any(map(NUMBER.fullmatch, unnamed)):
        return 0 if has_sentence else 1
    return 0


def names_with_options(header: Sequence[Any], below: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the header, with the options in the row below as the names of the columns of a question with several.

    If questions have the same options, the name of the question follows: ``Food_Coder 2``.
    """
    if not below:
        return list(header)
    is_blank = [not as_text(name).strip() for name in (*header, "end")]
    names: list[tuple[Any, Any]] = []
    question: Any = ""
    for name, option, blank, next_blank in zip(header, below[0], is_blank, is_blank[1:], strict=False):
        question = question if blank else name
        names.append((option, question) if as_text(option).strip() and (blank or next_blank) else (name, ""))
    counts = Counter(as_text(name) for name, _ in names)
    return [f"{name}_{question}" if question and counts[as_text(name)] > 1 else name for name, question in names]


def is_repeated_header(row: Sequence[Any], header: Sequence[Any]) -> bool:
    """Return True if a row repeats the header of several columns, as in joined files, maybe after a byte-order mark."""
    if len(row) < 2 or list(row[1:]) != list(header[1:]) or not any(header):
        return False
    return as_text(row[0]).lstrip("\ufeff").strip('"') == as_text(header[0])


REPEATED_HEADER = "it repeats the header"


def left_out_note(rows: Sequence[Sequence[Any]], location: str = "Above the header") -> tuple[str, ...]:
    """Return the note on rows above or below a header that are not data; none without such rows."""
    titles = [" ".join(" ".join(map(as_text, row)).split()) for row in rows]
    return (f"{location}, and left out: {clip('; '.join(titles), 200)}.",) if titles else ()


def clean_columns(names: Sequence[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return usable column names, and notes on the changes.

    White space is folded and trimmed, a blank name becomes ``column_N`` by its position from 1, and a repeated one
    gets ``_2``, ``_3`` and so on. The names are unique.
    """
    wanted = [" ".join(storable(as_text(name)).split()).strip("\ufeff") for name in names]
    used_names = {name for name in wanted if name}
    seen: set[str] = set()
    result: list[str] = []
    notes: list[str] = []
    for position, name in enumerate(wanted, 1):
        fresh = name or _free(f"column_{position}", used_names)
        if not name:
            notes.append(f"Column {position} has no name: it is called '{fresh}'.")
        elif name in seen:
            fresh = _free(name, used_names)
            notes.append(f"The column name '{name}' is repeated: column {position} is called '{fresh}'.")
        seen.add(name)
        used_names.add(fresh)
        result.append(fresh)
    if any(map(NUMBER.fullmatch, wanted)) and any(len(name.split()) >= SENTENCE_WORDS for name in wanted):
        notes.append("The first row looks like data. If it is, add a row with the names of the columns above it.")
    return tuple(result), tuple(notes)


def _free(name: str, used_names: set[str]) -> str:
    candidate, number = name, 1
    while candidate in used_names:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def check_width(count: int, name: str) -> None:
    """Raise InputError if a table has too many columns to be plausible."""
    if count > MAX_COLUMNS:
        raise InputError(f"{name} has {count:,} columns; at most {MAX_COLUMNS:,} can be read.", "Check the delimiter.")


def dump_json(value: Any) -> bytes:
    """Return UTF-8 JSON on one line. NaN becomes null; lone surrogates, huge integers and sets become text."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return orjson.dumps(clean_value(value), default=str, option=orjson.OPT_NON_STR_KEYS)


def as_text(value: Any) -> str:
    """Return a cell as text: empty for None, ``1`` for 1.0, JSON for lists and dicts."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case list() | dict() | tuple():
            return dump_json(value).decode()
        case _:
            return str(value)


_SPEAKER, _MESSAGE = ("role", "from", "speaker", "author", "sender"), ("content", "value", "text", "message")


def chat_messages(cell: Any) -> list[str]:
    """Return the messages of a chat, such as ``user: Hello``; empty for other cells.

    A chat is a list of objects with a speaker and a text, as the API of OpenAI and ShareGPT have it.
    """
    if not isinstance(cell, list) or not all(isinstance(item, dict) for item in cell):
        return []
    speaker = next((key for key in _SPEAKER if all(isinstance(item.get(key), str) for item in cell)), None)
    message = next((key for key in _MESSAGE if any(item.get(key) for item in cell)), None)
    if speaker is None or message is None:
        return []
    return [f"{item[speaker]}: {field_text(item.get(message))}" for item in cell]


def field_text(cell: Any) -> str:
    """Return a cell as the text of a document. Tokens in a list are joined by spaces, longer texts by lines.

    Texts and objects with a text (Telegram) are the parts of one text. Messages of a chat have a line each.
    """
    if isinstance(cell, list) and cell:
        if messages := chat_messages(cell):
            return "\n".join(messages)
        if all(isinstance(item, str) for item in cell):
            return ("\n" if any(" " in item.strip() for item in cell) else " ").join(cell)
        parts = [str(item["text"]) if isinstance(item, dict) and "text" in item else item for item in cell]
        if any(isinstance(item, str) for item in cell) and all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
    return as_text(cell)


EXCEL_ERRORS = (
    "#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#GETTING_DATA", "#SPILL!", "#CALC!",
)  # fmt: skip
NO_TEXT = frozenset(("", "NA", "<NA>", "NaN", "nan", "NULL", "\\N", "[deleted]", "[removed]", *EXCEL_ERRORS))
"""Texts that stand for a missing one, as R, Excel, pandas, databases and Reddit write it; also quoted, as pandas reads
them."""


def has_text(cell: Any) -> bool:
    """Return False for an empty cell and for a text for a missing one, such as ``NA``."""
    return field_text(cell).strip() not in NO_TEXT


def clean_value(value: Any) -> Any:
    """Return a cell that can be stored and written as JSON.

    Text is made storable, dates become ISO text, NaN and infinity None, whole numbers beyond 64 bits text.
    """
    match value:
        case str():
            return storable(value)
        case None | bool():
            return value
        case int():
            return value if -(2**63) <= value < 2**63 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case decimal.Decimal():
            is_whole = value.is_finite() and value == value.to_integral_value()
            return clean_value(int(value) if is_whole else float(value))  # a float has too few digits for long ids
        case datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return storable(value.decode("utf-8", "replace"))
        case Mapping():
            return {storable(as_text(key)): clean_value(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [clean_value(item) for item in value]
        case _:
            return storable(str(value))


def clip(text: str, limit: int = RAW_LIMIT) -> str:
    """Return ``text``, truncated with a note about its length if it is long."""
    text = text.rstrip("\r\n")
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def rejected_csv(rejected: Iterable[Rejected]) -> bytes:
    """Return the rejected rows as a csv file (line, reason, raw); only a header if there are none."""
    rows = ({"line": row.line, "reason": row.reason, "raw": storable(row.raw)} for row in rejected)
    return to_csv(rows, ("line", "reason", "raw")).encode()
