"""Differences between two codebooks by label and by word, and between two texts by line. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from core.codebook import Codebook, Label

Op: TypeAlias = Literal["same", "added", "removed"]
Piece: TypeAlias = tuple[Op, str]

_NO_LABEL = Label.model_construct(name="")
_CODEBOOK_FIELDS = ("name", "kind", "unit", "domain", "guideline")
_LABEL_FIELDS = ("name", "description", "include", "exclude", "keywords", "code", "open", "scale", "colour")
MAX_EQUAL_PAIRS = 100_000
"""Pairs of equal pieces, in any order, up to which two texts are compared exactly: about 3,000 words, or 300 equal
ones. More take seconds in the worst case, which is a new word beside each of the equal ones."""
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """Changed field: the text before and after as one sequence of pieces."""

    field: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class LabelChange:
    """Change of a label, or of the codebook as a whole if ``label_id`` is empty."""

    label_id: str
    name: str
    colour: int
    kind: Literal["added", "removed", "changed"]
    fields: tuple[FieldChange, ...]


def compare(before: Codebook, after: Codebook) -> tuple[LabelChange, ...]:
    """Return the changes between two codebooks.

    Changes of the whole codebook come first, then labels in the order of ``after``, then removed labels.
    """
    changes = []
    names = after.label_names
    kept = names.keys() & before.label_names.keys()
    old_order, new_order = (tuple(names[id] for id in book.label_names if id in kept) for book in (before, after))
    fields = _changed(
        *((field, getattr(before, field), getattr(after, field)) for field in _CODEBOOK_FIELDS),
        ("scale", _scale(before), _scale(after)),
        ("order", old_order, new_order),
    )
    if fields:
        changes.append(LabelChange("", after.name, 0, "changed", fields))
    remaining = {label.id: label for label in before.labels}
    for label in after.labels:
        old = remaining.pop(label.id, None)
        fields = _label(old or _NO_LABEL, label)
        if old is None or fields:
            changes.append(LabelChange(label.id, label.name, label.colour, "changed" if old else "added", fields))
    gone = (
        LabelChange(label.id, label.name, label.colour, "removed", _label(label, _NO_LABEL))
        for label in remaining.values()
    )
    return (*changes, *gone)


def _label(before: Label, after: Label) -> tuple[FieldChange, ...]:
    fields = _LABEL_FIELDS if before.name and after.name else _LABEL_FIELDS[:-1]  # a new label has a new colour
    return _changed(*((field, getattr(before, field), getattr(after, field)) for field in fields))


def _changed(*fields: tuple[str, Any, Any]) -> tuple[FieldChange, ...]:
    """Return the changes of fields, given as (name, value before, value after)."""
    return tuple(
        FieldChange(name, _items(before, after) if isinstance(after, tuple) else words(_text(before), _text(after)))
        for name, before, after in fields
        if before != after
    )


def words(before: str, after: str) -> tuple[Piece, ...]:
    """Return the word diff of two texts as one sequence of pieces; white space is the same only beside equal words."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    old_words, new_words = ([at for at, piece in enumerate(text) if not piece.isspace()] for text in (old, new))
    pairs: list[tuple[int, int]] = []
    # Only words are matched: difflib finds no sequence of words across white space that it is told to ignore.
    for a, b in _equal([old[at] for at in old_words], [new[at] for at in new_words]):
        for beside in (-1, 0, 1):
            at, other = old_words[a] + beside, new_words[b] + beside
            follows = not pairs or (at > pairs[-1][0] and other > pairs[-1][1])
            if follows and min(at, other) >= 0 and old[at : at + 1] == new[other : other + 1] != []:
                pairs.append((at, other))
    return _pieces(old, new, pairs)


def lines(before: str, after: str) -> tuple[Piece, ...]:
    """Return the line diff of two texts as one sequence of pieces.

    Each piece consists of whole lines, without the last line break.
    """
    old, new = before.split("\n"), after.split("\n")
    return _pieces(old, new, _equal(old, new), "\n")


def _equal(before: list[str], after: list[str]) -> list[tuple[int, int]]:
    """Return the pairs of equal pieces by their places, in order."""
    blocks = _matcher(before, after).get_matching_blocks()
    return [(a + n, b + n) for a, b, size in blocks for n in range(size)]


def _matcher(before: list[str], after: list[str]) -> SequenceMatcher[str]:
    """Return the matcher of two texts.

    In a long text, a frequent piece is equal only beside others (difflib's ``autojunk``), which takes less time.
    """
    frequency = Counter(after)
    is_long = sum(frequency[piece] for piece in before) > MAX_EQUAL_PAIRS
    return SequenceMatcher(None, before, after, autojunk=is_long)


def _items(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[Piece, ...]:
    first, *rest = _pieces(before, after, _equal(list(before), list(after)), ", ")
    start = int(first[0] == "removed" and bool(rest) and rest[0][0] == "added")  # the new first items need no comma
    return (first, *rest[:start], *((op, f", {text}") for op, text in rest[start:]))


def _pieces(
    before: Sequence[str], after: Sequence[str], pairs: Sequence[tuple[int, int]], glue: str = ""
) -> tuple[Piece, ...]:
    """Return texts as pieces; ``pairs`` are the places in both that are the same."""
    marked: list[Piece] = []
    start = other = 0
    for at, place in (*pairs, (len(before), len(after))):
        marked += [("removed", text) for text in before[start:at]]
        marked += [("added", text) for text in after[other:place]]
        marked += [("same", text) for text in before[at : at + 1]]
        start, other = at + 1, place + 1
    return tuple((op, glue.join(text for _, text in group)) for op, group in groupby(marked, itemgetter(0)))


def _scale(codebook: Codebook) -> str:
    return "one for each dimension" if codebook.mixes_scales else str(codebook.scale or "")


def _text(value: object) -> str:
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


MIN_LINE_SIMILARITY = 0.3
"""Minimum share of common characters for two lines to be shown as one changed line."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """Line of the comparison.

    ``before`` and ``after`` are line numbers, 0 if the line is not on that side. ``pieces`` are the words of the line;
    ``removed`` and ``added`` pieces are highlighted.
    """

    op: Op
    before: int
    after: int
    pieces: tuple[Piece, ...]


def compare_lines(before: str, after: str) -> tuple[DiffLine, ...]:
    """Return all lines of both texts in order, removed lines before added lines."""
    old, new = before.rstrip("\n").split("\n"), after.rstrip("\n").split("\n")
    compared: list[DiffLine] = []
    for op, a, b, c, d in _matcher(old, new).get_opcodes():
        if op == "equal":
            compared += [DiffLine("same", a + n + 1, c + n + 1, (("same", old[a + n]),)) for n in range(b - a)]
            continue
        pairs = [words(old[a + n], new[c + n]) for n in range(min(b - a, d - c))]
        compared += [DiffLine("removed", a + n + 1, 0, _side(pairs, n, old[a + n], "removed")) for n in range(b - a)]
        compared += [DiffLine("added", 0, c + n + 1, _side(pairs, n, new[c + n], "added")) for n in range(d - c)]
    return tuple(compared)


def counts(lines: tuple[DiffLine, ...]) -> tuple[int, int]:
    """Return the numbers of added and removed lines."""
    return sum(line.op == "added" for line in lines), sum(line.op == "removed" for line in lines)


def _side(pairs: list[tuple[Piece, ...]], number: int, text: str, side: Op) -> tuple[Piece, ...]:
    """Return the pieces of one side of a changed line.

    The whole line is one piece if the other side has no similar line.
    """
    if number >= len(pairs):
        return ((side, text),)
    common = sum(len(words) for op, words in pairs[number] if op == "same")
    if common < MIN_LINE_SIMILARITY * max(len(text), 1):
        return ((side, text),)
    return tuple((op, words) for op, words in pairs[number] if op in ("same", side))
