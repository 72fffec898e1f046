"""The text that a marker announces: the rest of its line, or the lines below it."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from core.debate.reading.label_names import Names
from core.debate.reading.lists import Listing, read_list
from core.debate.reading.markers import MarkedReply, Marker

_CONTENT = re.compile(r"[^\s*_`\"'“”‘’«»„:,.#>|\-\x00()\[\]]")
_UNFINISHED = re.compile(r"(?:[,;/&]|\band)[\s*_]*$", re.IGNORECASE)
BULLET = re.compile(
    r"(?P<indent>(?:[^\S\n]|>)*+)(?P<mark>[-+*–—](?=\s)|[•‣◦·]|\d{1,3}[.)](?!\d)|\(\d{1,3}\)|#(?=[^\s#])"
    r"|(?=[✓✔✅✗✘❌☑☐]|\[[ xX✓✔]?\]\s))\s*(?P<box>\[[ xX✓✔]?\]|[✓✔✅✗✘❌☑☐])?"
)
_HEADED = re.compile(r"[^:,;\n]{1,80}?(?::|—| [-–] )")
CROSSED = frozenset(["[ ]", "[]", "✗", "✘", "❌", "☐"])
_FENCE = re.compile(r"\s*(?:```|~~~)")
_BLANK_LINES = 2


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a body, from ``start`` to ``end`` in the reply's text.

    ``bullet`` lines have one entry each, ``crossed`` lines deny it. An ``extra`` line belongs to the list only if it
    consists of names.
    """

    start: int
    end: int
    bullet: bool = False
    crossed: bool = False
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The lines that a marker announces; ``complete`` is False if the reply may have been cut inside them."""

    lines: tuple[Line, ...]
    complete: bool


def body_of(page: MarkedReply, marker: Marker) -> Body:
    """Return the rest of the marker's line; if that is empty, the bullets below, or the next line and its continuation.

    A line that ends with a comma continues, too. The body ends at the next marker. Without any words it has no lines.
    """
    start = page.past_marker(marker.end, marker.limit)
    if _CONTENT.search(page.lines, start, marker.limit):
        return _line_and_continuation(page, start, marker.limit)
    if marker.limit < page.line_end(marker.end):
        return Body((), complete=True)
    return _below(page, marker.limit + 1)


def _line_and_continuation(page: MarkedReply, start: int, limit: int) -> Body:
    lines = [Line(start, limit)]
    end = page.line_end(start)
    barrier = _barrier(page, start)
    while limit == end and end + 1 < barrier and _UNFINISHED.search(page.lines, max(start, end - 10), end):
        start, end = end + 1, page.line_end(end + 1)
        limit = end
        if not _CONTENT.search(page.lines, start, end):
            break
        lines.append(Line(start, end))
    unfinished = limit == end and bool(_UNFINISHED.search(page.lines, max(start, end - 10), end))
    return Body(tuple(lines), complete=limit < end or (end < len(page.lines) and not unfinished))


def _barrier(page: MarkedReply, position: int) -> int:
    """Return the start of the line with the next marker, or the text's end."""
    first = len(page.lines)
    for markers in (page.markers, page.undecided):
        index = bisect_left(markers, position, key=lambda marker: marker.start)
        if index < len(markers):
            first = min(first, page.lines.rfind("\n", 0, markers[index].start) + 1)
    return first


def _below(page: MarkedReply, position: int) -> Body:
    lines: list[Line] = []
    barrier = _barrier(page, position)
    bullets, depth, blanks = False, 0, 0
    while position < barrier:
        end = page.line_end(position)
        start, position = position, end + 1
        text = page.text[start:end]
        if _FENCE.match(text):
            continue
        if not _CONTENT.search(page.lines, start, end):
            blanks += 1
            if (lines and not bullets) or blanks > _BLANK_LINES + len(lines):
                return Body(tuple(lines), complete=True)
            continue
        match = BULLET.match(text)
        indent = len(match["indent"]) if match else len(text) - len(text.lstrip(" \t>"))
        if match and (bullets or not lines):
            depth = depth if bullets else indent
            bullets = True
            if indent <= depth:
                crossed = match["box"] in CROSSED
                lines.append(Line(start + match.end(), end, bullet=match["mark"] != "#", crossed=crossed))
        elif bullets and indent > depth:
            continue  # explains the bullet above
        elif lines and (bullets or match):
            return Body(tuple(lines), complete=True)
        else:
            start = page.past_marker(start, end)
            headed = bool(_HEADED.match(page.lines, start, end))
            lines.append(Line(start, end, bullet=headed, extra=bool(lines)))
    # Bullets may go on where a reply was cut; a line is over when it was ended.
    over = barrier < len(page.lines) or (bool(lines) and not bullets and position <= len(page.lines))
    return Body(tuple(lines), complete=over)


def listing_of(page: MarkedReply, marker: Marker, names: Names, *, codes: bool = False) -> tuple[Listing, bool]:
    """Return the list that a marker announces, and True if it is complete."""
    body = body_of(page, marker)
    listing = Listing()
    for line in body.lines:
        part = read_list(names, page.text[line.start : line.end], codes=codes, bullet=line.bullet)
        if line.crossed:
            part.excluded |= part.listed.keys()
            part.listed = {}
        if line.extra and not part.clean:
            break
        listing.add(part)
    return listing, body.complete
