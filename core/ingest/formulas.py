"""The one rule by which spreadsheet formulas are disarmed in csv files, and its exact inverse.

A spreadsheet runs a cell that starts with ``= + - @`` (or a tab or carriage return before one) as a formula. Export
puts one apostrophe before a text that matches ``'*[=+-@\\t\\r]``, import takes one away from a text that matches
``'+[=+-@\\t\\r]``. As texts that already start with apostrophes get one more, every text survives the round trip:
``=1`` -> ``'=1`` -> ``=1`` and ``'=1`` -> ``''=1`` -> ``'=1``. A file from elsewhere with a text that truly starts with
``'=`` loses that apostrophe; the reader counts such cells and says so.
"""

from __future__ import annotations

import re

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")
_STARTS = frozenset("'=+-@\t\r")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")


def escape(text: str) -> str:
    """``text`` as it can stand in a csv cell: with one more apostrophe if a spreadsheet could take it for a formula."""
    return "'" + text if text[:1] in _STARTS and _RISKY.match(text) else text


def unescape(text: str) -> str:
    """The inverse of ``escape``: ``unescape(escape(text)) == text`` for every text."""
    return text[1:] if text[:1] == "'" and _ESCAPED.match(text) else text


def is_number(text: str) -> bool:
    """Whether ``text`` is nothing but a number, such as ``-5`` or ``+1.2e3``: harmless in a spreadsheet."""
    return _NUMBER.fullmatch(text) is not None
