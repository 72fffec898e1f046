"""Two texts line by line, changed lines word by word, with the line numbers of both. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from core.studio.codebooks.differences import Op, Piece, words

ALIKE = 0.3
"""Share of common characters from which two lines count as one that was changed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the comparison: ``before`` and ``after`` are its numbers, 0 where it is not; ``pieces`` are its words,
    of which ``removed`` or ``added`` ones stand out."""

    op: Op
    before: int
    after: int
    pieces: tuple[Piece, ...]


def compare(before: str, after: str) -> tuple[Line, ...]:
    """All lines of both texts in order, removed ones before added ones."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    found: list[Line] = []
    for op, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "equal":
            found += [Line("same", a + n + 1, c + n + 1, (("same", old[a + n]),)) for n in range(b - a)]
            continue
        pairs = [words(old[a + n], new[c + n]) for n in range(min(b - a, d - c))]
        for n in range(b - a):
            found.append(Line("removed", a + n + 1, 0, _side(pairs, n, old[a + n], "removed")))
        for n in range(d - c):
            found.append(Line("added", 0, c + n + 1, _side(pairs, n, new[c + n], "added")))
    return tuple(found)


def counts(lines: tuple[Line, ...]) -> tuple[int, int]:
    """How many lines were added and removed."""
    return sum(line.op == "added" for line in lines), sum(line.op == "removed" for line in lines)


def _side(pairs: list[tuple[Piece, ...]], number: int, text: str, side: Op) -> tuple[Piece, ...]:
    """One side of a changed line; a line that has no like on the other side stands out as a whole."""
    if number >= len(pairs):
        return ((side, text),)
    common = sum(len(words) for op, words in pairs[number] if op == "same")
    if common < ALIKE * max(len(text), 1):
        return ((side, text),)
    return tuple((op, words) for op, words in pairs[number] if op in ("same", side))
