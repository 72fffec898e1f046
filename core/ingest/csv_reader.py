"""csv and tsv: a tolerant RFC 4180 reader, row by row, with an account of every row.

Rules: the delimiter is one of ``, ; tab |``, a space (as R writes), or absent (one column). Quotes follow RFC
4180, and line breaks inside them are kept. Stray quotes are part of the text (``"Great" food``). Blank lines are
skipped. A row with a different number of fields than the header is rejected. An unclosed quote ends at the end of the
file, with a note, because its row may contain many others; one that takes in most of the file stops the import. If a
quote further down ends it instead, its line is rejected and the others are rows (``_takes_in_rows``). All quotes are
part of the texts in a table with tabs, or a list of texts, that is written without quotes around cells
(``_is_unquoted``). Formulas that export escaped are unescaped (``core.csv_text``).

DuckDB's ``read_csv`` with ``store_rejects`` is faster. Not strict, it silently drops surplus fields and text behind a
closing quote; strict, it rejects rows with an unclosed quote. It gives no line numbers of kept rows.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import BinaryIO

from core.csv_text import unescape_formula
from core.errors import InputError, UsageError
from core.formatting import format_count
from core.ingest.decode import END, Decoding, LineReader
from core.ingest.table import (
    BELOW_HEADER,
    HEADER_ROWS,
    REPEATED_HEADER,
    SENTENCE_WORDS,
    Format,
    Header,
    RowLog,
    Table,
    TableSource,
    check_width,
    clean_columns,
    clip,
    further_headers,
    header_row,
    is_header,
    is_repeated_header,
    left_out_note,
    names_with_options,
)

DELIMITERS = (",", ";", "\t", "|")
NO_DELIMITER = "\x00"
"""Stands for a file of one column: no line contains this character, because NULs are removed."""

_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_SEP_LINE = re.compile(r"sep=([^\w\s\"]|\t)[\r\n]+", re.IGNORECASE)
_ESCAPED_QUOTE = re.compile(r'(?<!\\)\\(")')
_ESCAPED_CHARACTER = re.compile(r'\\(["\\])')
_SINGLE_BACKSLASH = re.compile(r'(?<!\\)(?:\\\\)*\\(?![\\"])')
_ESCAPED_INSIDE = re.compile(r'(?:^|[,;\t|])"[^"\\\r\n]*+\\"(?=[^,;\t|\r\n"])', re.MULTILINE)
_DOUBLED_INSIDE = re.compile(r'[^,;\t|\r\n"]""[^,;\t|\r\n"]')
_COMMENTS = re.compile(r"(?:#[^\r\n]*[\r\n]+)+")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_QUOTED_BETWEEN_SPACES = re.compile(r'"[^"\r\n]+"(?: "[^"\r\n]+")+\r?\n"')
"""The header of a file that R writes by default."""
_ESCAPED_BETWEEN_SPACES = re.compile(r'\\"(?!\s*$| (?:["\d-]|NA\b))', re.MULTILINE)
"""A quote after a backslash that cannot end a field, before the end of a line or another field."""
_DOUBLED_BETWEEN_SPACES = re.compile(r'[^\s"\\]""|"""')
_MARK = "__label__"
_FASTTEXT = re.compile(rf"((?:{_MARK}\S+(?:\s+|$))+)(.*)", re.DOTALL)
"""A line of fastText: labels and a text."""
_SAMPLE = 1 << 16
MAX_CELL = 2**31 - 1
SAMPLED_LINES = 10_000
"""Most lines with a quote whose cells are compared."""
SAMPLED_ROWS = 200
"""Most rows that are compared with the first line."""
UNQUOTED = "Cells are not in quotes: all quotes are part of the texts."
SWALLOWED_LINES = 20
"""Lines that an unclosed quote may take in; more than these, and more than the lines before it, stop the import."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The delimiter of fields.

    ``skip_space`` is for files with a space before an opening quote. ``escape`` matches characters that are written
    with a backslash, if quotes within fields are. ``quoted`` files have quotes around all names and the first field
    below. In ``unquoted`` files, all quotes are part of the texts.
    """

    delimiter: str
    skip_space: bool = False
    escape: re.Pattern[str] | None = None
    quoted: bool = False
    unquoted: bool = False

    def unescape(self, text: str) -> str:
        """Return a text in which quotes with a backslash are written twice instead."""
        return text if self.escape is None else self.escape.sub(lambda match: match[1].replace('"', '""'), text)

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return a parser of lines."""
        lines = lines if self.escape is None else map(self.unescape, lines)
        if self.unquoted:
            return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.skip_space)


_ESCAPED_CELL = re.compile(r'"[^"]*""[^"]+""[^"]*"')
_WELL_QUOTED = re.compile(r'"(?:[^"]|"")*+"\s*')
_SINGLE_QUOTE = re.compile(r'(?<!")"(?!")')


@lru_cache
def _raw_fields(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of the fields of a row as they are written, with their quotes."""
    d = re.escape(delimiter)
    return re.compile(rf'(?:\A|{d})("(?:[^"]|"")*+"[^{d}]*|[^{d}]*)')


def has_stray_quote(text: str, delimiter: str) -> bool:
    """Return True if a row as it is written may have a quote within a field that is not written twice."""
    if '"' not in text:
        return False
    for structure in ('""', f'"{delimiter}"', f'{delimiter}"', f'"{delimiter}'):
        text = text.replace(structure, "")
    return '"' in text.strip('"\r\n')


def keep_stray_quotes(row: list[str], text: str, delimiter: str) -> list[str]:
    """Return a row in which the quotes of fields that begin with a quotation are kept, as ``text`` has them.

    ``"Great" food`` is that text. In ``"He said "hi" to me"`` the outer quotes are those of the field. Python's parser
    drops the first two quotes of either.
    """
    fields = _raw_fields(delimiter).findall(text.rstrip("\r\n"))
    if len(fields) != len(row):
        return row
    return [
        _unquoted(field) if field[:1] == '"' and not _WELL_QUOTED.fullmatch(field) else cell
        for cell, field in zip(row, fields, strict=True)
    ]


def _unquoted(field: str) -> str:
    """Return the text of a field with stray quotes. Its outer quotes are its own if those between them fit.

    They do if their number is odd, or if the first one opens a quotation.
    """
    outer = field.strip()
    between = [match.start() for match in _SINGLE_QUOTE.finditer(outer, 1, len(outer) - 1)]
    if outer[-1] == '"' and between and (len(between) % 2 or outer[between[0] - 1] in " (\t\r\n"):
        return outer[1:-1].replace('""', '"')
    return field


def read_delimited(source: TableSource, decoding: Decoding, format: Format) -> Table:
    """Return the table in ``source``. InputError without a header or rows, UsageError for an impossible delimiter.

    Without ``header``, a txt file has none if its first line reads like a text, and any file if its first line reads
    like the others (``_is_data``). Columns without a header are ``text`` if there is one, and ``column_1`` and so on if
    there are several.
    """
    name = source.name
    dialect, header, first_rows, header_index = _detect(source, decoding, format)
    csv.field_size_limit(MAX_CELL)
    with LineReader(source, decoding, mark_end=True) as lines:
        reader = dialect.rows(lines)
        titles: list[list[str]] = []
        lower_headers: list[list[str]] = []
        if header == "none" and first_rows:
            names = ["text"] if len(first_rows[0]) == 1 else [""] * len(first_rows[0])
        else:
            *titles, names = (_header(lines, reader, name) for _ in range(header_index + 1))
            below = first_rows[header_index + 1 :]
            lower_headers = [_header(lines, reader, name) for _ in range(further_headers(names, below))]
            names = _as_wide_as(below[len(lower_headers) :], names, dialect)
        check_width(len(names), name)
        columns, notes = clean_columns([unescape_formula(cell) for cell in names_with_options(names, lower_headers)])
        if header == "none" and columns[1:]:
            notes = (f"No line names the columns: they are called {columns[0]} to {columns[-1]}.",)
        keeps_quotes = not (dialect.escape or dialect.skip_space or dialect.unquoted)
        rows, unclosed = _read_rows(lines, reader, names, source.max_rows, dialect.delimiter if keeps_quotes else "")
    header_note = () if columns[1:] or is_header(columns) else ("The first line is the name of the column.",)
    if not rows.read:
        raise InputError(f"{name} has a header ({clip(', '.join(columns), 200)}) but no rows.", "Add rows below it.")
    data, unescaped = _columns(rows.kept, len(columns))
    if columns == ("text",) and (labels_and_texts := _labels_and_texts(data[0])):
        columns, data = ("labels", "text"), labels_and_texts
    if unescaped:
        notes += (f"Cells with escaped formulas (an apostrophe before = + - @) that were unescaped: {unescaped:,}.",)
    return rows.table(
        name,
        format,
        columns,
        data,
        encoding=decoding.encoding,
        delimiter="" if dialect.delimiter == NO_DELIMITER else dialect.delimiter,
        header=header,
        notes=(
            *left_out_note(titles),
            *left_out_note(lower_headers, BELOW_HEADER),
            *header_note,
            *unclosed,
            *((UNQUOTED,) if dialect.unquoted else ()),
            *lines.notes,
            *notes,
        ),
    )


def _detect(source: TableSource, decoding: Decoding, format: Format) -> tuple[Dialect, Header, list[list[str]], int]:
    """Return the dialect, where the names of the columns are (both as chosen or detected), and the first rows.

    The last value is the position of the header in these rows, if there is one.
    """
    head = _head(source.stream, decoding)
    escape = _find_escape(source, decoding, is_between_spaces=_QUOTED_BETWEEN_SPACES.match(head) is not None)
    head = Dialect(NO_DELIMITER, escape=escape).unescape(head)
    dialect = find_dialect(head, format) if source.delimiter is None else _parse_delimiter(source.delimiter)
    delimiter = re.escape(dialect.delimiter)
    quoted = re.match(rf'"[^"\r\n]*"(?:{delimiter}"[^"\r\n]*")*[\r\n]+"', head) is not None
    dialect = replace(dialect, escape=escape, quoted=quoted)
    header = source.header
    if head.startswith(_MARK) and source.delimiter is None and header is None:
        dialect, header = Dialect(NO_DELIMITER), "none"
    elif header is None:
        is_list = _is_list_of_texts(source.name, _first_rows(head, dialect))
        header = "none" if is_list or _is_data(_first_rows(head, dialect, SAMPLED_ROWS)) else "first line"
        if is_list and source.delimiter is None and dialect.delimiter == ",":  # the commas of sentences
            dialect = Dialect(NO_DELIMITER)
    is_list = dialect.delimiter == NO_DELIMITER and header == "none" and source.name.lower().endswith(".txt")
    is_tabbed = dialect.delimiter == "\t" and escape is None
    if (is_list or is_tabbed) and _is_unquoted(source, decoding, dialect.delimiter):
        dialect = replace(dialect, unquoted=True)
    first_rows = _first_rows(head, dialect)
    return dialect, header, first_rows, header_row(first_rows, _rows_above_blank(head, dialect))


def _labels_and_texts(lines: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the labels and the texts of the lines of a fastText file, empty for other lines."""
    matches = [match for line in lines if (match := _FASTTEXT.fullmatch(line))]
    if len(matches) < len(lines):
        return ()
    return tuple("|".join(match[1].replace(_MARK, "").split()) for match in matches), tuple(m[2] for m in matches)


def _lines(source: TableSource, decoding: Decoding) -> Iterator[str]:
    """Yield the lines of a file."""
    with LineReader(replace(source, progress=lambda _share: None), decoding, mark_end=False) as lines:
        yield from lines


def _find_escape(source: TableSource, decoding: Decoding, *, is_between_spaces: bool) -> re.Pattern[str] | None:
    """Return the pattern of characters with a backslash, None if quotes within fields are written twice.

    A program that writes backslashes twice as well leaves no single one, except before a quote.
    """
    inside, doubled = _ESCAPED_INSIDE, _DOUBLED_INSIDE
    if is_between_spaces:
        inside, doubled = _ESCAPED_BETWEEN_SPACES, _DOUBLED_BETWEEN_SPACES
    source.stream.seek(0)
    is_wide = decoding.encoding.startswith(("utf-16", "utf-32"))
    if not is_wide and b'\\"' not in source.stream.read():
        return None
    surplus, has_single_backslash = 0, False
    for line in _lines(source, decoding):
        if '"' in line:
            surplus += (inside.search(line) is not None) - (doubled.search(line) is not None)
        if "\\" in line:
            has_single_backslash = has_single_backslash or _SINGLE_BACKSLASH.search(line) is not None
    if surplus <= 0:
        return None
    return _ESCAPED_QUOTE if has_single_backslash else _ESCAPED_CHARACTER


def _is_unquoted(source: TableSource, decoding: Decoding, delimiter: str) -> bool:
    """Return True if the lines of a file are its rows, and most of their cells with a quote are not in quotes.

    Lines of another width than most lines are parts of cells in quotes, if they have a quote. A quote within a cell
    that is not written twice proves that cells are not in quotes. Without such a quote, no cell may have a double one
    or nothing but quotes, and all lines must have the same width, of other than two cells: a text of several lines may
    have one tab in each. A cell in quotes with a quotation in double quotes proves that cells are, unless another cell
    opens a quote that its line does not close. In a single column, a line that begins with a quote and a later one that
    ends with one are a cell.
    """
    widths: Counter[int] = Counter()
    lines_with_quotes: Counter[int] = Counter()
    surplus: Counter[int] = Counter()
    """Cells with a quote that are not in quotes, less those in quotes, by the width of their line."""
    opened: Counter[int] = Counter()
    """Cells with a quote that their line does not close, by the width of the line."""
    is_proved = is_doubtful = is_open = is_escaped = False
    for line in _lines(source, decoding):
        width = line.count(delimiter) + 1
        if line.strip():
            widths[width] += 1
        if '"' not in line or lines_with_quotes.total() == SAMPLED_LINES:
            continue
        lines_with_quotes[width] += 1
        for cell in (part.strip() for part in line.split(delimiter) if '"' in part):
            surplus[width] += -1 if cell[1:] and cell[0] == cell[-1] == '"' else 1
            opened[width] += cell[0] == '"' and cell.count('"') % 2
            is_escaped |= _ESCAPED_CELL.fullmatch(cell) is not None
            inside = cell.strip('"')
            is_proved |= '"' in inside.replace('""', "")
            is_doubtful |= not inside or '""' in inside
            if width == 1 and cell.count('"') % 2:
                if is_open and cell.endswith('"'):
                    surplus[width] -= 3  # together with the line that opens it, a single cell in quotes
                is_open = not is_open and cell.startswith('"')
    if not lines_with_quotes:
        return False
    ((width, _),) = widths.most_common(1)
    if is_escaped and not opened[width]:
        return False
    is_likely = is_proved or (len(widths) == 1 and width != 2 and not is_doubtful)
    return is_likely and surplus[width] > lines_with_quotes.total() - lines_with_quotes[width]


def _is_list_of_texts(name: str, first_rows: list[list[str]]) -> bool:
    """Return True for a txt file whose first line is not a header."""
    if not name.lower().endswith(".txt") or not first_rows:
        return False
    return header_row(first_rows) == 0 and not is_header(first_rows[0])


def _is_data(first_rows: list[list[str]]) -> bool:
    """Return True if the first line is data: it has a sentence, and a class that occurs again among others below it.

    Many labelled sets begin so: ``3,"Shares fell sharply on Monday."`` or ``The soup was cold again,Food``. Lines that
    repeat the first one, as in joined files, prove nothing.
    """
    first, *other_rows = first_rows or [[]]
    if not any(len(cell.split()) >= SENTENCE_WORDS for cell in first):
        return False
    other_rows = [row for row in other_rows if row != first]
    for column, cell in enumerate(first):
        classes = {row[column].strip() for row in other_rows if len(row) > column} - {""}
        if 0 < len(cell.split()) < SENTENCE_WORDS and cell.strip() in classes and len(classes) > 1:
            return True
    return False


def _parse_delimiter(delimiter: str) -> Dialect:
    character = _NAMES.get(delimiter.strip().lower() or delimiter, delimiter)
    if len(character) != 1 or character in '"\r\n\x00':
        raise UsageError(f"'{delimiter}' cannot separate columns.", "Give one character: , ; | or tab.")
    return Dialect(character)


def _header(lines: LineReader, reader: Iterator[list[str]], name: str) -> list[str]:
    """Read up to the next row that is neither blank nor a ``sep=`` line. Raises InputError if there is none."""
    while True:
        lines.begin()
        row = next(reader)
        if lines.ended:
            if lines.text:
                raise InputError(f"The header of {name} opens a quote that is never closed.", "Close it in line 1.")
            raise InputError(f"{name} is empty.", "Choose a file with a header and rows.")
        if "".join(row).strip() and not _is_sep_line(lines):
            return row


def _is_sep_line(lines: LineReader) -> bool:
    """Return True if the row just read is the line with the delimiter for Excel."""
    return lines.number == 1 and _SEP_LINE.fullmatch(lines.text) is not None


def _as_wide_as(rows: list[list[str]], header: list[str], dialect: Dialect) -> list[str]:
    """Return the header with empty names for fields that it lacks and that all of the first rows have.

    Those are empty fields at the end, or the names of rows, which R's ``write.table`` writes without a name. Without
    quotes, one more field between commas may be a part of a text.
    """
    widths = set(map(len, rows))
    missing = widths.pop() - len(header) if len(widths) == 1 else 0
    if missing > 0 and not any("".join(row[-missing:]).strip() for row in rows):
        return header + [""] * missing
    return ["", *header] if missing == 1 and (dialect.quoted or dialect.delimiter in "\t ") else header


def _read_rows(
    lines: LineReader, reader: Iterator[list[str]], header: list[str], max_rows: int | None, delimiter: str
) -> tuple[RowLog[list[str]], tuple[str, ...]]:
    """Return the rows, and a note on a quote that is never closed.

    With the ``delimiter`` of a file with quotes by RFC 4180, stray quotes are kept.
    """
    width = len(header)
    rows: RowLog[list[str]] = RowLog()
    notes: tuple[str, ...] = ()
    while not notes and (max_rows is None or rows.read < max_rows):
        start = lines.number + 1
        lines.begin()
        row = next(reader)
        if _is_sep_line(lines):  # a file without a header begins with it
            continue
        if lines.ended:
            if not lines.text:
                break
            # The row began before the end: a quote swallowed the mark.
            if lines.number - start > max(SWALLOWED_LINES, start):
                raise InputError(
                    f"{_unclosed(row, start, lines.number)} That is most of the file.",
                    "Close the quote, or double every quote within a cell.",
                )
            notes = (f"{_unclosed(row, start, lines.number)} Close it if rows are missing.",)
            row[-1] = row[-1].removesuffix(END).rstrip("\r\n")
        if delimiter and not lines.ended and lines.number > start and _takes_in_rows(lines.text, delimiter, width):
            first, *below = io.StringIO(lines.text, newline="")
            rows.reject(start, "a quote that is never closed", first)
            lines.unread(below)
            continue
        if len(row) == width and (width > 1 or lines.text.strip()):
            if row[-1] == header[-1] and is_repeated_header(row, header):
                rows.reject(start, REPEATED_HEADER, lines.text)
                continue
            if delimiter and not lines.ended and has_stray_quote(lines.text, delimiter):
                row = keep_stray_quotes(row, lines.text, delimiter)
            rows.keep(start, row)
        elif lines.text.strip():  # a blank line is not a row
            reason = f"{format_count(len(row), 'field')}, expected {width}"
            rows.reject(start, f"{reason}, with a quote that is never closed" if notes else reason, lines.text)
    return rows, notes


def _takes_in_rows(text: str, delimiter: str, width: int) -> bool:
    """Return True if the first line of a row has an unclosed quote that took in the lines below it, which are rows.

    In a table of several columns, the first line then has the fields of a row, each line below has as many fields
    as the header, and the quote ends where the next cell in quotes begins. The number of quotes is odd, or the last
    line leaves a quote open as well: the quotes around a cell and around its quotations are even in number.
    """
    first, *below = io.StringIO(text, newline="")
    broken = [field for field in _raw_fields(delimiter).findall(text.rstrip("\r\n")) if "\n" in field or "\r" in field]
    quoted = _WELL_QUOTED.match(broken[0]) if broken and width > 1 else None
    if quoted is None or quoted[0] == broken[0]:
        return False
    if quoted[0].rstrip().rstrip('"')[-1:] not in (delimiter, "\n", "\r"):
        return False
    if _count_fields(first, delimiter) < width or any(_count_fields(line, delimiter) != width for line in below):
        return False
    if width == 2:  # a sentence with a comma has two fields, too; it may end with a quotation and the quote of its cell
        quotation = re.compile(rf'[^\s"{re.escape(delimiter)}]""\s*\Z')
        if any(has_stray_quote(line, delimiter) or quotation.search(line) for line in below):
            return False
    return text.count('"') % 2 == 1 or next(csv.reader([below[-1], END], delimiter=delimiter))[-1].endswith(END)


def _count_fields(line: str, delimiter: str) -> int:
    """Return the number of fields of a line, which an open quote at its end does not join."""
    row = next(csv.reader([line, END], delimiter=delimiter)) or [""]
    return len(row) + (row[-1].count(delimiter) if row[-1].endswith(END) else 0)


def _unclosed(row: list[str], first_line: int, last_line: int) -> str:
    return (
        f"Row {first_line}: the quote opened in field {len(row)} is never closed, "
        f"so everything up to the end (line {last_line}) is in it."
    )


def _columns(rows: list[list[str]], width: int) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Return the cells by column, with formulas unescaped, and the number of cells that were escaped."""
    data: list[tuple[str, ...]] = []
    count = 0
    for cells in zip(*rows, strict=True):
        unescaped = cells
        if any(cell[:1] == "'" for cell in cells):
            unescaped = tuple(map(unescape_formula, cells))
            count += sum(map(str.__ne__, unescaped, cells))
        data.append(unescaped)
    return tuple(data) or ((),) * width, count


def _head(stream: BinaryIO, decoding: Decoding) -> str:
    stream.seek(0)
    head = stream.read(_SAMPLE)
    text = codecs.getincrementaldecoder(decoding.encoding)("replace").decode(head).lstrip("\ufeff")
    if len(head) == _SAMPLE:  # the last row is cut: leave it out unless it is the only one
        text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
    return text.replace("\x00", "")


def find_dialect(head: str, prefer: Format, max_titles: int = HEADER_ROWS) -> Dialect:
    """Return the dialect in which most rows of ``head`` have as many fields as the header.

    One column if no delimiter splits the header, or if that delimiter hardly occurs in the rows: a header such as
    ``What did you like, if anything`` above answers. A title with a blank line below is not the header, if there are at
    most ``max_titles``. Ties go to the tab in a tsv, then to the order , ; tab |.
    """
    if line := _SEP_LINE.match(head):
        return Dialect(line[1])
    if (comments := _COMMENTS.match(head)) and comments.end() < len(head):
        dialect_below = find_dialect(head[comments.end() :], prefer, max_titles)
        if header_row(_first_rows(head, dialect_below)):
            return dialect_below
    if _QUOTED_BETWEEN_SPACES.match(head):
        return Dialect(" ")
    delimiters = ("\t", *DELIMITERS) if prefer == "tsv" else DELIMITERS
    best, best_score = Dialect(NO_DELIMITER), (0.0, 0)
    for delimiter, skip_space in itertools.product(delimiters, (False, True)):
        if skip_space and delimiter + ' "' not in head:
            continue
        dialect = Dialect(delimiter, skip_space)
        widths = _widths(head, dialect)
        if not widths or widths[0] < 2:
            continue
        rows = widths[1:]
        share_as_wide = sum(width == widths[0] for width in rows) / len(rows) if rows else 1.0
        share_split = sum(width > 1 for width in rows) / len(rows) if rows else 1.0
        if (share_as_wide >= 0.3 or share_split >= 0.8) and (share_as_wide, widths[0]) > best_score:
            best, best_score = dialect, (share_as_wide, widths[0])
    if best_score == (0.0, 0) and ' "' in head and '"' not in head.partition("\n")[0]:  # readr quotes few cells
        widths = _widths(head, Dialect(" "))
        if len(widths) > 2 and widths[0] > 1 and len(set(widths)) == 1:
            return Dialect(" ")
    if best_score == (0.0, 0) and max_titles and (blank := _BLANK_LINES.search(head)):
        # a line of text alone may be a title
        dialect_below = find_dialect(head[blank.end() :], prefer, max_titles - 1)
        if header_row(_first_rows(head, dialect_below)):
            return dialect_below
    return best


def _first_rows(head: str, dialect: Dialect, max_rows: int = HEADER_ROWS) -> list[list[str]]:
    """Return up to ``max_rows`` of the first rows that are not blank, without a ``sep=`` line."""
    return list(itertools.islice((row for row in _head_rows(head, dialect) if "".join(row).strip()), max_rows))


def _rows_above_blank(head: str, dialect: Dialect) -> set[int]:
    """Return which of the first rows that are not blank have a blank one below."""
    filled = [bool("".join(row).strip()) for row in itertools.islice(_head_rows(head, dialect), HEADER_ROWS)]
    return {sum(filled[:row]) - 1 for row, is_filled in enumerate(filled) if not is_filled and any(filled[:row])}


def _head_rows(head: str, dialect: Dialect) -> Iterator[list[str]]:
    text = _SEP_LINE.sub("", head, count=1) if _SEP_LINE.match(head) else head
    return replace(dialect, escape=None).rows(io.StringIO(text, newline=""))  # of a head without backslashes


def _widths(head: str, dialect: Dialect) -> list[int]:
    """Return the number of fields of each complete row of ``head`` that is not blank."""
    rows = dialect.rows(itertools.chain(io.StringIO(head, newline=""), [END]))
    complete = itertools.takewhile(lambda row: not (row and row[-1].endswith(END)), rows)  # END may be in an open quote
    return [len(row) for row in complete if "".join(row).strip()]
