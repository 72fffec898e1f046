"""Text as it is compared, with the position of each character in the stored text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_CLUSTER = 32
"""Longest run that is normalised as one: NFKC sorts combining marks, which takes quadratic time on a long run."""

_SWAPPED = {"\ufe0e": "", "\ufe0f": "", "\u2010": "-"}
"""Variation selectors, and the hyphen that NFKC makes of a non-breaking one."""

INVISIBLE = (
    "\u00ad\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff"
)
"""Soft hyphen, zero-width space, direction marks, variation selectors: seen by nobody. The zero-width joiners are not
among them, as Persian words and emoji are spelt with them."""


@dataclass(frozen=True, slots=True)
class Folded:
    """``text`` is what is compared; its character k comes from ``starts[k]:ends[k]`` of the source.

    Characters that were normalised together (a letter and its accents, the ``fi`` of a ligature) share one range.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the source that ``text[start:end]`` comes from. ``start < end`` is required."""
        return self.starts[start], self.ends[end - 1]

    def whole(self, start: int, end: int) -> bool:
        """Return True if ``text[start:end]`` consists of whole characters of the source."""
        before = start == 0 or self.starts[start - 1] != self.starts[start]
        after = end == len(self.text) or self.starts[end] != self.starts[end - 1]
        return before and after


def fold(text: str, swap: Mapping[str, str] | None = None) -> Folded:
    """Return ``text`` in NFKC, casefolded, with every run of white space as one space.

    ``swap`` replaces single characters before and after that; an empty replacement drops them. Variation selectors are
    dropped ("❤" is "❤️"), and typographic hyphens are replaced by plain ones. Otherwise the result equals that of
    ``codebook.normalise``, which also removes hashes, asterisks, quotes and hidden characters. Empty text folds to
    empty text.
    """
    if text.isascii() and text.isprintable() and "  " not in text and not (swap and any(map(text.__contains__, swap))):
        return Folded(text.lower(), range(len(text)), range(1, len(text) + 1))  # nothing moves: most of what is said
    swap = {**_SWAPPED, **(swap or {})}
    plain = _plain_words("".join(filter(str.isascii, swap)))
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position, size = 0, len(text)
    while position < size:
        if words := plain.match(text, position):
            end = words.end()
            out.append(words[0].lower())
            starts += range(position, end)
            ends += range(position + 1, end + 1)
            position = end
            continue
        end = position + 1
        while end < size and end - position < _CLUSTER and text[end] > "\u02ff" and _joins(text[end]):
            end += 1
        piece = text[position:end]
        if not piece.isascii():
            piece = unicodedata.normalize("NFKC", "".join(swap.get(character, character) for character in piece))
        for folded in piece.casefold():
            for character in swap.get(folded, folded):
                if not character.isspace():
                    out.append(character)
                elif out and out[-1] == " ":
                    ends[-1] = end
                    continue
                else:
                    out.append(" ")
                starts.append(position)
                ends.append(end)
        position = end
    return Folded("".join(out), tuple(starts), tuple(ends))


@lru_cache(maxsize=8)
def _plain_words(swapped: str) -> re.Pattern[str]:
    """Return a pattern for words in which only the case changes: ASCII, with single spaces between, before no mark."""
    word = "".join(re.escape(character) for character in map(chr, range(0x21, 0x7F)) if character not in swapped)
    return re.compile(rf"[{word}]+(?: [{word}]+)*(?![\u0300-\U0010ffff])")


def _joins(character: str) -> bool:
    """Return True if NFKC may merge the character with the one before it.

    These are marks, Hangul vowels and finals, the halfwidth forms of both and of the Japanese sound marks, and the two
    vowels whose compatibility form begins with a mark.
    """
    return (
        unicodedata.category(character).startswith("M")
        or "\u1160" <= character <= "\u11ff"
        or "\uff9e" <= character <= "\uffdc"
        or character in "\u0e33\u0eb3"
    )


def replace_ranges(text: str, ranges: Iterable[tuple[int, int]], replacement: Callable[[str], str]) -> str:
    """Return a text with each of the ranges replaced, which are in order and do not overlap."""
    parts, position = [], 0
    for start, end in ranges:
        parts += [text[position:start], replacement(text[start:end])]
        position = end
    return "".join(parts) + text[position:]


def is_word(character: str) -> bool:
    """Return True if the character belongs to a word: a letter, a digit or a mark on one."""
    return character.isalnum() or unicodedata.category(character).startswith("M")


UNSPACED = "\u2e80-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters of scripts that do not separate words by spaces, as ranges of a regular expression."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


def unspaced(character: str) -> bool:
    """Return True if the character's script does not separate words by spaces.

    These are Chinese, Japanese, Thai, Lao, Burmese and Khmer, and Korean, which attaches particles to words.
    """
    return _UNSPACED.match(character) is not None


def joined(text: str, at: int) -> bool:
    """Return True if the characters before and at ``at`` belong to one word; False at either end of the text."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if not (is_word(left) and is_word(right)):
        return False
    return not (unspaced(left) or unspaced(right))
