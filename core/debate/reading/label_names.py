"""Label names in running text and as entries of a list."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.codebook import Codebook, normalise
from core.debate.reading.normalise import INVISIBLE, Folded, fold, unspaced

IGNORED = "#*\"'`“”‘’«»" + INVISIBLE
"""Characters that ``codebook.normalise`` removes from a name, and invisible ones; they may occur anywhere in a name."""

_GAP = f"[{re.escape(IGNORED)}]*+"
_SPACE = rf"{_GAP}(?:\ [\s{re.escape(IGNORED[1:])}]*+|\\?_)"
"""Between the words of a name: "#" begins another name there. Some replies write "_", in Markdown "\\_"."""
_SLASHED = re.compile(r" ?([/&]) ?")


@dataclass(frozen=True, slots=True)
class Mention:
    """A label's name in a text, from ``start`` to ``end`` in the stored text."""

    item: str
    start: int
    end: int


class Names:
    """The names (and codes) of one codebook, compiled for search, the longest first.

    ``labels`` are (item, name, code). Without labels nothing is found.
    """

    def __init__(self, labels: tuple[tuple[str, str, float | None], ...]) -> None:
        self._exact = {normalise(name): item for item, name, _ in labels}
        self._loose: dict[str, str] = {}
        for item, name, _ in labels:
            self._loose.setdefault(_visible(normalise(name)), item)
        self._written = {item: name for item, name, _ in labels}
        self._spelt = {name: item for item, name, _ in labels}
        self._codes = {float(code): item for item, _, code in reversed(labels) if code is not None}
        keys = sorted(self._loose, key=lambda key: (-len(key), key))
        self._anywhere = re.compile("|".join(_bounded(keys))) if keys else None

    @property
    def items(self) -> Collection[str]:
        """The items in the order of the codebook."""
        return self._written.keys()

    def written(self, item: str) -> str:
        """Return the label's name as in the codebook. Raises KeyError for an unknown item."""
        return self._written[item]

    def spelt(self, name: str) -> str | None:
        """Return the item whose name is exactly this one in the codebook, or None."""
        return self._spelt.get(name)

    def find(self, name: str) -> str | None:
        """Return the item with this name, or None; similar names do not match."""
        if name.isascii() and (item := self._exact.get(name)) is not None:
            return item  # the name is normalised
        key = normalise(name)
        return self._exact.get(key) or self._loose.get(_visible(key))

    def find_code(self, code: float) -> str | None:
        """Return the item with this numeric code, or None; the first of two labels with one code."""
        return self._codes.get(code)

    def at(self, folded: Folded, position: int) -> tuple[str, int] | None:
        """Return the item whose name is at ``position`` as whole words, and the end of that name; the longest name."""
        match = self._anywhere.match(folded.text, position) if self._anywhere else None
        if match is None or not folded.whole(*match.span()):
            return None
        item = self.find(match.group())
        return (item, match.end()) if item is not None else None

    def mentions(self, text: str) -> list[Mention]:
        """Return every name that occurs as whole words, in order; a longer name hides a shorter one inside it."""
        folded = fold(text)
        mentions = []
        for match in self._anywhere.finditer(folded.text) if self._anywhere else ():
            item = self.find(match.group())
            if item is not None and folded.whole(*match.span()):
                mentions.append(Mention(item, *folded.source(*match.span())))
        return mentions


@lru_cache(maxsize=64)
def names_of(codebook: Codebook) -> Names:
    """Return the codebook's names; built once per codebook."""
    return Names(tuple((label.id, label.name, label.code) for label in codebook.labels))


def _visible(key: str) -> str:
    """Return a name as most replies spell it: with plain hyphens, and spaces for underscores."""
    seen = "".join(character for character in key if character not in INVISIBLE)
    seen = seen.replace("\u2010", "-").replace("\\_", "_").replace("_", " ").strip()
    return _SLASHED.sub(r"\1", seen) or key


def _character(character: str) -> str:
    return rf"\ ?{character}\ ?" if character in "/&" else re.escape(character)


def _bounded(keys: list[str]) -> Iterator[str]:
    """Yield alternatives that match whole words; last the names that begin unlike a word (``.NET``, an emoji)."""
    for key in sorted(keys, key=lambda key: not _edge(key[0])):
        first = re.escape(key[0])  # first in the pattern, so that the search skips all other characters
        start = rf"(?<![^\W_]{first})(?<![^\W_]_{first})" if _edge(key[0]) else ""
        end = r"(?!_?[^\W_])" if _edge(key[-1]) else ""
        if len(key) == 1 or key.isdecimal():  # "A-" and "-2" are other names than "A" and "2"
            start, end = start + f"(?<![-+−]{first})", end + "(?![-+−])"
        words = (_GAP.join(map(_character, word)) for word in key.split(" "))
        yield first + start + _SPACE.join(words)[len(first) :] + end


def _edge(character: str) -> bool:
    return character.isalnum() and not unspaced(character)
