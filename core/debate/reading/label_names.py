"""Label names: how they are found in running text and as entries of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.codebook import Codebook, normalise
from core.debate.reading.normalise import INVISIBLE, Folded, unspaced

IGNORED = "#*\"'`“”‘’«»" + INVISIBLE
"""What ``codebook.normalise`` removes from a name, and what nobody sees: it may stand anywhere in one."""

_GAP = f"[{re.escape(IGNORED)}]*+"

# What may follow a list entry. The patterns are made for folded text, in which a run of white space is one space, and
# for re.VERBOSE.
CLOSERS = rf"""[\])}}>_{re.escape(IGNORED)}]*+"""
STOP = r"""(?:[.!?](?=["'”’»“*`_)\]]*+(?:\s|$|<))|\.{2,}|[。！？])"""
AND = r"(?:(?:and|as\ well\ as|plus)\b|&)"
COMMENT = r"""(?:[(\[]|:(?=\s|$|["“«])|\s[-–—]+\s|—|\s?(?:=|->|→)|\s(?:because|since|although|though|whereas|but|given
    |based\ on|due\ to|rather\ than|in\ this|(?:is|are)\ (?:present|mentioned))\b)"""
ENTRY_END = rf"""(?=
    {CLOSERS}(?:\s?(?:$|[,;/|、،؛•·<]|{STOP}|{AND}(?=\s|$))|\s["“«‘'\#]|\s?{COMMENT}|\s[✓✔✗✘])
)"""


@dataclass(frozen=True, slots=True)
class Mention:
    """A label's name in a text: ``start`` and ``end`` in that text as stored."""

    item: str
    start: int
    end: int


class Names:
    """The names (and codes) of one codebook, ready to be looked for, the longest first.

    ``labels`` are (item, name, code). Without labels nothing is ever found.
    """

    def __init__(self, labels: tuple[tuple[str, str, float | None], ...]) -> None:
        self._exact = {normalise(name): item for item, name, _ in labels}
        self._loose: dict[str, str] = {}
        for item, name, _ in labels:
            self._loose.setdefault(_visible(normalise(name)), item)
        self._written = {item: name for item, name, _ in labels}
        self._codes = {float(code): item for item, _, code in reversed(labels) if code is not None}
        keys = sorted(self._loose, key=lambda key: (-len(key), key))
        self._entry = re.compile(f"(?:{'|'.join(map(_pattern, keys))}){ENTRY_END}", re.VERBOSE) if keys else None
        self._anywhere = re.compile("|".join(_bounded(keys))) if keys else None

    def written(self, item: str) -> str:
        """The label's name as the codebook has it; KeyError for an item that is none of its labels."""
        return self._written[item]

    def find(self, name: str) -> str | None:
        """The item with this name, or None: never a near one."""
        key = normalise(name)
        return self._exact.get(key) or self._loose.get(_visible(key))

    def find_code(self, code: float) -> str | None:
        """The item with this numeric code, or None. Of two labels with one code it is the first."""
        return self._codes.get(code)

    def entry(self, folded: Folded, position: int) -> tuple[str, int] | None:
        """The item whose name stands at ``position`` as a whole list entry, and where that name ends.

        ``Food quality`` is no entry ``Food``: a separator, a stop, a comment or the end has to follow.
        """
        match = self._entry.match(folded.text, position) if self._entry else None
        if match is None or not folded.whole(*match.span()):
            return None
        item = self.find(match.group())
        return (item, match.end()) if item is not None else None

    def mentions(self, folded: Folded) -> Iterator[Mention]:
        """Every name that occurs as whole words, from left to right; a longer name hides a shorter one inside it."""
        for match in self._anywhere.finditer(folded.text) if self._anywhere else ():
            item = self.find(match.group())
            if item is not None and folded.whole(*match.span()):
                yield Mention(item, *folded.source(*match.span()))


def names_of(codebook: Codebook) -> Names:
    """The codebook's names; made once per set of names."""
    return _names(tuple((label.id, label.name, label.code) for label in codebook.labels))


@lru_cache(maxsize=32)
def _names(labels: tuple[tuple[str, str, float | None], ...]) -> Names:
    return Names(labels)


def _visible(key: str) -> str:
    return "".join(character for character in key if character not in INVISIBLE).strip() or key


def _pattern(key: str) -> str:
    return _GAP.join(r"\ [\s" + _GAP[1:] if character == " " else re.escape(character) for character in key)


def _bounded(keys: list[str]) -> Iterator[str]:
    """Alternatives that match whole words: one group for names that begin like a word, one for the others (``.NET``,
    an emoji, a script without spaces)."""
    for wordlike in (True, False):
        group = [key for key in keys if _edge(key[0]) == wordlike]
        if group:
            ends = "|".join(_pattern(key) + (r"(?!_?[^\W_])" if _edge(key[-1]) else "") for key in group)
            yield (r"(?<![^\W_])(?<![^\W_]_)" if wordlike else "") + f"(?:{ends})"


def _edge(character: str) -> bool:
    return character.isalnum() and not unspaced(character)
