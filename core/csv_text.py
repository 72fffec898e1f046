"""CSV text for spreadsheets: rows as csv, and the one rule that escapes formulas, with its exact inverse.

A spreadsheet runs a cell that starts with ``= + - @`` (or a tab, carriage return or line feed before one, or one of
them in full width) as a formula. Export puts one apostrophe before a text that starts with such a character, also after
apostrophes. Import removes one from a text in which such a character follows apostrophes. So every text survives the
round trip: ``=1`` -> ``'=1`` -> ``=1`` and ``'=1`` -> ``''=1`` -> ``'=1``. If a file of another program has a text that
really starts with ``'=``, that apostrophe is lost. The reader counts such cells and adds a note.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FIRST = "=+-@\t\r\n＝＋－＠"
_RISKY = re.compile(f"'*[{re.escape(_FIRST)}]")
_STARTS = frozenset(f"'{_FIRST}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")


def escape_formula(text: str) -> str:
    """Return ``text`` for a csv cell: with one more apostrophe if a spreadsheet could take it for a formula."""
    return "'" + text if text[:1] in _STARTS and _RISKY.match(text) else text


def unescape_formula(text: str) -> str:
    """Undo ``escape_formula``: ``unescape_formula(escape_formula(text)) == text`` for every text."""
    return text[1:] if text[:1] == "'" and _RISKY.match(text) else text


def is_number_text(text: str) -> bool:
    """Return True if ``text`` is only a number, such as ``-5`` or ``+1.2e3``: harmless in a spreadsheet."""
    return _NUMBER.fullmatch(text) is not None


def to_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Return rows as csv text with a byte order mark and escaped formulas.

    None becomes an empty cell, True and False become 1 and 0: R does not read Python's names as logical values.
    ``columns`` defaults to all keys of the rows, in order of first appearance.
    """
    rows = list(rows)
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(map(escape_formula, columns))
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return "\ufeff" + out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return escape_formula(value)
    return int(value) if isinstance(value, bool) else value
