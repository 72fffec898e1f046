"""Clauses: the pieces of a text that are quoted, and within which examples are compared."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

LONGEST = 160
"""Longest quotation, in characters."""
SHORT = 24
"""A piece between commas that is shorter than this stays with its neighbour."""

_END = re.compile(r"[.!?;…](?=\s|$)|[。！？；]|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|[\"“”„«»{}`]|\s[-–]\s|—|--+")
_JOINT = re.compile(r"[,:](?=\s)|[()\[\]，、：]|\s(?=(?:but|although|though|however|while|whereas)\s)", re.IGNORECASE)
_EDGE = " \t\u00a0.,;:!?-–"


def clauses_of(text: str) -> Iterator[Span]:
    """The clauses of a text in order: cut at ends of sentences, at commas and "but" where the pieces are long enough to
    stand alone, and at what would break a quotation or start JSON: line breaks, double quotation marks, braces."""
    for start, end in _pieces(text, 0, len(text), _END):
        clause: Span | None = None
        for piece in _pieces(text, start, end, _JOINT):
            if clause is None:
                clause = piece
            elif min(clause[1] - clause[0], piece[1] - piece[0]) < SHORT:
                clause = (clause[0], piece[1])
            else:
                yield clause
                clause = piece
        if clause is not None:
            yield clause


def locate(clauses: Sequence[Span], at: int) -> int:
    """The number of the clause that begins last before ``at``."""
    return max(0, bisect_right(clauses, (at, len(clauses) and clauses[-1][1])) - 1)


def window(text: str, clause: Span, start: int, end: int) -> Span:
    """The clause, or when it is too long the part of it around ``start`` to ``end``, cut between words."""
    first, last = clause
    end = min(end, last)
    if last - first > LONGEST:
        spare = max(0, LONGEST - (end - start)) // 2
        left, right = max(first, start - spare), min(last, end + spare)
        gap = text.find(" ", left, start) if left > first else -1
        first = gap + 1 if gap >= 0 else left
        gap = text.rfind(" ", end, right) if right < last else -1
        last = min(gap if gap >= 0 else right, first + LONGEST)
    part = text[first:last]
    return first + len(part) - len(part.lstrip(_EDGE)), last - len(part) + len(part.rstrip(_EDGE))


def _pieces(text: str, start: int, end: int, mark: re.Pattern[str]) -> Iterator[Span]:
    at = start
    for match in mark.finditer(text, start, end):
        if match.start() > at:
            yield at, match.start()
        at = max(at, match.end())
    if at < end:
        yield at, end
