"""The parts of a reply between quotation marks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_PARTNER = {"”": "“„", "“": "„", "»": "«", "«": "»", "」": "「", "』": "『"}
"""Opening marks that each closing mark closes. “ closes German „, and « closes » where they point inwards."""

_TOKEN = re.compile(r'["“”„«»「」『』]|\n[^\S\n]*(?=\n)|\n[^\S\n]*(?:[-*+•]|\d{1,3}[.)])[^\S\n]')
_BEFORE = frozenset(" \n\t([{<-–—/:;,=#*_>`|~“‘«'")
_AFTER = frozenset(" \n\t.,;:!?)]}>-–—/*_'’”»|~#<`…")
_SINGLE_OPEN = re.compile(r"(?<![^\s(\[{:;,=/–—-])['‘](?=\w)(?!\d\ds?\b|(?:tis|twas|em|til|n)\b)", re.IGNORECASE)
_SINGLE_CLOSE = re.compile(r"(?<=[\w.,;!?…)])['’](?!\w)")
_STRONG_AFTER = frozenset(".,;:!?)]}\n")
_MAX_DEPTH = 50


class Span(NamedTuple):
    """A quotation: ``start`` is its opening mark, ``end`` is after its closing mark."""

    start: int
    end: int


def double_quoted(text: str) -> tuple[Span, ...]:
    """All spans between "…", “…”, „…“, «…», 「…」, 『…』, nested ones included, in order of their start.

    Straight marks open or close by the characters beside them and end at the latest with their paragraph or bullet;
    typographic ones may go on over several. A mark without partner quotes nothing.
    """
    spans: list[Span] = []
    opened: list[tuple[str, int]] = []
    inch: Span | None = None  # the last span, if what closed it may as well mean inches: 5" wide
    for token in _TOKEN.finditer(text):
        mark, at = token.group(), token.start()
        if mark[0] == "\n":
            opened = [opening for opening in opened if opening[0] != '"']
            inch = None
            continue
        depth = _closes(mark, opened, text, at)
        if depth is not None:
            spans.append(Span(opened[depth][1], at + 1))
            del opened[depth:]
            inch = spans[-1] if mark == '"' and text[at - 1].isdigit() and text[at + 1 : at + 2] == " " else None
        elif _may_open(mark, text, at):
            if len(opened) < _MAX_DEPTH:
                opened.append((mark, at))
        elif inch is not None and mark == '"':
            spans[-1] = Span(inch.start, at + 1)
            inch = None
    return tuple(sorted(spans))


def _closes(mark: str, opened: Sequence[tuple[str, int]], text: str, at: int) -> int | None:
    """Return the position in ``opened`` of the mark that this one closes, or None."""
    if not opened:
        return None
    if mark == '"':
        opens, closes = _shape(text, at)
        if opens and not closes:
            return None
        wanted = '"'
    else:
        wanted = _PARTNER.get(mark, "")
    for depth in range(len(opened) - 1, -1, -1):
        if opened[depth][0] in wanted:
            return depth
    # An agent that opens with one kind of mark and closes with another still quotes.
    mixed = (mark == '"' and opened[-1][0] in "“„") or (mark == "”" and opened[-1][0] in '"”')
    return len(opened) - 1 if mixed else None


def _may_open(mark: str, text: str, at: int) -> bool:
    opens, closes = _shape(text, at)
    return opens or mark in "“„«「『" or (mark == '"' and not closes)


def _shape(text: str, at: int) -> tuple[bool, bool]:
    """Return if the mark can open and if it can close a quotation, by its neighbours."""
    before = text[at - 1] if at else "\n"
    after = text[at + 1] if at + 1 < len(text) else "\n"
    opens = before in _BEFORE and not after.isspace()
    closes = after in _AFTER and not before.isspace()
    return opens, closes


def single_quoted(text: str, excluded: Sequence[Span]) -> tuple[Span, ...]:
    """Spans between '…' or ‘…’ on one line, outside ``excluded``, and only where an apostrophe is out of the question.

    The first closing mark before punctuation or a line's end counts (the one after "guests" in 'the guests' rooms.'
    does not), else the last one before the next opening mark. Fewer than three characters quote nothing.
    """
    if "'" not in text and "‘" not in text:
        return ()
    plain = list(text)
    for span in excluded:
        plain[span.start : span.end] = ["\n" if mark == "\n" else "\x00" for mark in text[span.start : span.end]]
    masked = "".join(plain)
    spans: list[Span] = []
    start = 0
    for line in masked.split("\n"):
        openings = [match.start() for match in _SINGLE_OPEN.finditer(line)]
        closings = [match.start() for match in _SINGLE_CLOSE.finditer(line)] if openings else []
        for opening, limit in pairwise((*openings, len(line))):
            before_next = closings[bisect_right(closings, opening) : bisect_left(closings, limit)] or [opening]
            closing = next((c for c in before_next if (line[c + 1 : c + 2] or "\n") in _STRONG_AFTER), before_next[-1])
            if closing - opening > 3:
                spans.append(Span(start + opening, start + closing + 1))
        start += len(line) + 1
    return tuple(spans)


def outermost(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the outermost spans in order of their start."""
    outer: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not outer or span.start >= outer[-1].end:
            outer.append(span)
    return tuple(outer)
