"""Where quoted words stand in a document."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cached_property

from rapidfuzz import fuzz

from core.debate.folding import INVISIBLE, Folded, fold, joined

MISSING = ("", -1, -1, "missing")

FUZZY_SCORE = 90.0
FUZZY_SHORTEST = 12
FUZZY_LONGEST = 2_000
"""Below the one, words are alike by chance; beyond the other, an alignment takes time and nobody quotes so much."""
GAP = 400
"""How many characters an ellipsis inside a quotation may stand for."""
_STARTS = 200
_PART_SHORTEST = 3
_WORD_REACH = 20

_SWAP = {
    **dict.fromkeys("‘’‚‛′´`", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–—―−⁃", "-"),
    **dict.fromkeys(INVISIBLE + "*", ""),  # an asterisk is the agent's emphasis
}
_ELLIPSIS = re.compile(r"[\[(]?\s?(?:\.\s?){2,}\.[\])]?")


class Haystack:
    """The fields of one document, folded once for any number of quotes."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    @cached_property
    def _folded(self) -> dict[str, Folded]:
        return {name: fold(text, _SWAP) for name, text in self._fields.items()}

    def locate(self, quote: str) -> tuple[str, int, int, str]:
        """See ``locate``."""
        quote = quote.strip()
        if not quote:
            return MISSING
        return self._exact(quote) or self._normalised(quote) or MISSING

    def _exact(self, quote: str) -> tuple[str, int, int, str] | None:
        for name, text in self._fields.items():
            at = _whole_words(text, quote)
            if at >= 0:
                return name, at, at + len(quote), "exact"
        return None

    def _normalised(self, quote: str) -> tuple[str, int, int, str] | None:
        words = fold(quote, _SWAP).text.strip()
        bare = _bare(words)
        parts = [part for part in map(_bare, _ELLIPSIS.split(words)) if len(part) >= _PART_SHORTEST]
        for wanted in dict.fromkeys(filter(None, (words, bare))):
            for name, folded in self._folded.items():
                at = _whole_words(folded.text, wanted)
                if at >= 0:
                    return name, *folded.source(at, at + len(wanted)), "fuzzy"
        if len(parts) > 1:
            for name, folded in self._folded.items():
                span = _in_order(folded.text, parts)
                if span is not None:
                    return name, *folded.source(*span), "fuzzy"
        if FUZZY_SHORTEST <= len(bare) <= FUZZY_LONGEST:
            return self._aligned(bare)
        return None

    def _aligned(self, bare: str) -> tuple[str, int, int, str] | None:
        best: tuple[float, str, int, int] | None = None
        for name, folded in self._folded.items():
            # A text shorter than the quote would be looked for inside it: the wrong way round.
            if len(folded.text) < len(bare):
                score = fuzz.ratio(bare, folded.text, score_cutoff=FUZZY_SCORE)
                begin, end = 0, len(folded.text)
            else:
                found = fuzz.partial_ratio_alignment(bare, folded.text, score_cutoff=FUZZY_SCORE)
                score, begin, end = (found.score, found.dest_start, found.dest_end) if found else (0.0, 0, 0)
            if score >= FUZZY_SCORE and begin < end and (best is None or score > best[0]):
                best = (score, name, *folded.source(begin, end))
        if best is None:
            return None
        _, name, start, stop = best
        return name, *_to_words(self._fields[name], start, stop), "fuzzy"


def locate(quote: str, fields: Mapping[str, str]) -> tuple[str, int, int, str]:
    """Field, start, end and ``match`` of a quote, such that ``fields[field][start:end]`` is what was quoted.

    In this order, each over all fields, the first field first: the very characters (``exact``); the same words after
    folding case, Unicode forms, quotation marks, dashes and white space, with or without punctuation at the ends; the
    parts around an ellipsis, in order and not more than ``GAP`` characters apart; and for 12 characters or more a
    near-identical passage, snapped to whole words (all ``fuzzy``). Whole words are preferred to parts of words. An
    empty quote, and one that is nowhere, is ``missing``: no field, -1, -1.
    """
    return Haystack(fields).locate(quote)


def _whole_words(text: str, wanted: str) -> int:
    """Where ``wanted`` stands as whole words, else where it stands at all, else -1."""
    first = at = text.find(wanted)
    for _ in range(_STARTS):
        if at < 0 or not (joined(text, at) or joined(text, at + len(wanted))):
            break
        at = text.find(wanted, at + 1)
    else:
        return first
    return at if at >= 0 else first


def _bare(words: str) -> str:
    """Without white space, ellipses, quotation marks and punctuation at either end; what may be part of a figure or an
    address stays."""
    start, end = 0, len(words)
    while start < end and _strippable(words[start]):
        start += 1
    while start < end and _strippable(words[end - 1]):
        end -= 1
    return words[start:end]


def _strippable(character: str) -> bool:
    if character in "%&@#/\\":
        return False
    return character.isspace() or unicodedata.category(character) in {"Po", "Pd", "Pi", "Pf", "Pc"}


def _in_order(text: str, parts: list[str]) -> tuple[int, int] | None:
    """From the first part to the last, for the first occurrence of the first part that the others follow."""
    for start in _occurrences(text, parts[0]):
        end = start + len(parts[0])
        for part in parts[1:]:
            at = text.find(part, end, end + GAP + len(part))
            if at < 0:
                break
            end = at + len(part)
        else:
            return start, end
    return None


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = -1
    for _ in range(_STARTS):
        at = text.find(part, at + 1)
        if at < 0:
            return
        yield at


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends to the nearer edge of the word they cut, then off white space and punctuation.

    An alignment may be a character off. A range without any word is left as it is.
    """
    first, last = _nearer(text, start, -1), _nearer(text, end, 1)
    while first < last and _strippable(text[first]):
        first += 1
    while first < last and _strippable(text[last - 1]):
        last -= 1
    return (first, last) if first < last else (start, end)


def _nearer(text: str, at: int, outward: int) -> int:
    """The nearest edge of a word, ``outward`` (-1 or 1) where two are as near."""
    for distance in range(_WORD_REACH):
        for edge in (at + outward * distance, at - outward * distance):
            if 0 <= edge <= len(text) and not joined(text, edge):
                return edge
    return at
