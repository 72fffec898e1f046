"""Label names in running text and as entries of a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.codebook import MAX_NAME, Codebook, normalise
from core.debate.reading.normalise import INVISIBLE, Folded, fold, replace_ranges, unspaced

IGNORED = "#*\"'`“”„‘’«»" + INVISIBLE
"""Characters that ``codebook.normalise`` removes from a name, and invisible ones; they may occur anywhere in a name."""

_GAP = f"[{re.escape(IGNORED)}]*+"
_SPACE = rf"{_GAP}(?:\ [\s{re.escape(IGNORED[1:])}]*+|\\?_)"
"""Between the words of a name: "#" begins another name there. Some replies write "_", in Markdown "\\_"."""
_LONGEST = 10 * MAX_NAME
"""Longest text that is compared with names: NFKC takes quadratic time for many accents on one letter."""
_SLASHED = re.compile(r" ?([/&]) ?")
_JOINT = re.compile(r"(?<=.)( and |[ /&]|(?<=[^\W\d])-(?=[^\W\d]))(?=.)")
"""Joints between the words of a name, in its visible form."""
_AND = re.compile(r" and |&")
_UNJOINED = str.maketrans("", "", " -–/&")
"""Removes the marks between the words of a visible name: "lawandorder"."""
_SPACES = re.compile("( )")
_ORDINAL = re.compile(
    r"(?<![^\s,;:|*_])\(?(?P<place>\d{1,2}|[a-h])[.)](?=[\s*_#`\"'“(\[]*+(?P<entry>\S))", re.IGNORECASE
)

_NUMBERED = re.compile(r"(?:\(?(?P<number>\d{1,3})(?: ?[.):]| [-–—])|\(?[a-z]\)) ?(?=[^\W\d])")
"""Start of a name that numbers its label, as in "1. Methods"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A label's name in a text, from ``start`` to ``end`` in the stored text."""

    item: str
    start: int
    end: int


class Names:
    """The names (and codes) of one codebook, compiled for search, the longest first.

    ``labels`` are (item, name, code). Without labels nothing is found. "2. Methods" is also found as "Methods" unless
    another label has that name, and its number is its code unless labels have codes. ``unit`` is that of the codebook.
    """

    def __init__(self, labels: tuple[tuple[str, str, float | None], ...], unit: str = "text") -> None:
        self.unit = unit
        self._exact = {normalise(name): item for item, name, _ in labels}
        self._loose: dict[str, str] = {}
        for item, name, _ in labels:
            self._loose.setdefault(_visible(normalise(name)), item)
        numbered = {item: match for key, item in self._loose.items() if (match := _NUMBERED.match(key))}
        unnumbered = Counter(match.string[match.end() :] for match in numbered.values())
        for item, match in numbered.items():
            if unnumbered[name := match.string[match.end() :]] == 1:
                self._loose.setdefault(name, item)
        self._respelt: dict[str, str | None] = {}
        for key, item in self._loose.items():
            for spelling in _respellings(key, self._loose):
                self._respelt[spelling] = item if self._respelt.get(spelling, item) == item else None
        self._written = {item: name for item, name, _ in labels}
        codes = [(code, item) for item, _, code in labels if code is not None]
        codes = codes or [(float(number), item) for item, match in numbered.items() if (number := match["number"])]
        self._codes = {float(code): item for code, item in reversed(codes)}
        keys = sorted(self._loose, key=lambda key: (-len(key), key))
        self._anywhere = re.compile("|".join(_bounded(keys))) if keys else None

    @property
    def items(self) -> Collection[str]:
        """The items in the order of the codebook."""
        return self._written.keys()

    def written(self, item: str) -> str:
        """Return the label's name as in the codebook. Raises KeyError for an unknown item."""
        return self._written[item]

    def find(self, name: str) -> str | None:
        """Return the item with this name, or None; other names match only if they differ in what joins their words."""
        if name.isascii() and (item := self._exact.get(name)) is not None:
            return item  # the name is normalised
        if len(name) > _LONGEST:
            return None
        key = normalise(name)
        if item := self._exact.get(key):
            return item
        visible = _visible(key)
        is_words = visible[:1].isalnum() and visible[-1:].isalnum()
        return self._loose.get(visible) or (self._respelt.get(visible.translate(_UNJOINED)) if is_words else None)

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

    def masked(self, text: str) -> str:
        """Return the folded text with § in place of every name, and without marks of emphasis and quotation."""
        ranges = ((mention.start, mention.end) for mention in self.mentions(text))
        masked = replace_ranges(text.replace("§", " "), ranges, lambda _: "§")
        return re.sub(f"[{re.escape(IGNORED)}]", "", fold(masked).text)


@lru_cache(maxsize=64)
def names_of(codebook: Codebook) -> Names:
    """Return the codebook's names; built once per codebook."""
    return Names(tuple((label.id, label.name, label.code) for label in codebook.labels), codebook.unit)


def split_ordinals(text: str, names: Names) -> str:
    """Return a line of the same length in which "1. A 2. B" and "a) A, b) B" are "A ; B".

    The places must be consecutive from the first one on, each before a label's name. Other lines are returned as they
    are.
    """
    ordinals = list(_ORDINAL.finditer(text))
    if len(ordinals) < 2:
        return text
    starts = {mention.start for mention in names.mentions(text)}
    ordinals = [ordinal for ordinal in ordinals if ordinal.start("entry") in starts]
    places = [ordinal["place"].casefold() for ordinal in ordinals]
    count = len(places)
    if count < 2 or places not in ([str(number) for number in range(1, count + 1)], list("abcdefgh")[:count]):
        return text
    parts, position = [], 0
    for ordinal in ordinals:
        apart = text[: ordinal.start()].rstrip(" *_")[-1:] in ("", ",", ";", ":", "|")
        parts += [text[position : ordinal.start()], (" " if apart else ";").ljust(len(ordinal.group()))]
        position = ordinal.end()
    return "".join(parts) + text[position:]


def _visible(key: str) -> str:
    """Return a name as most replies spell it: with plain hyphens, and spaces for underscores."""
    visible = "".join(character for character in key if character not in INVISIBLE)
    visible = visible.replace("\u2010", "-").replace("\\_", "_").replace("_", " ").strip()
    return _SLASHED.sub(r"\1", visible) or key


def _respellings(key: str, keys: Container[str]) -> set[str]:
    """Return how else replies spell a visible name of several words, squeezed, as in a hashtag.

    A name of which a word is itself a label, as "Food" is beside "Food & drink", has no other spelling.
    """
    words = _JOINT.split(key)[::2]
    if len(words) == 1 or any(word in keys for word in words):
        return set()
    return {_AND.sub(word, key).replace(",", "").translate(_UNJOINED) for word in ("", "and")}


def _between(joint: str) -> str:
    """Return the pattern of what replies write for the characters between two words of a name."""
    if joint in (" & ", " and ", "&"):
        return rf"(?:{_SPACE}and{_SPACE}|{_GAP}\ ?&\ ?{_GAP}|{_GAP}-(?:and|&)-)"
    return rf"(?:{_SPACE}|{_GAP}[-–]{_GAP}" + (rf"|{_GAP}\ ?[/&]\ ?{_GAP})" if joint == "/" else ")")


def _bounded(keys: list[str]) -> Iterator[str]:
    """Yield alternatives that match whole words; last the names that begin unlike a word (``.NET``, an emoji)."""
    for key in sorted(keys, key=lambda key: not _edge(key[0])):
        first = re.escape(key[0])  # first in the pattern, so that the search skips all other characters
        start = rf"(?<![^\W_]{first})(?<![^\W_]_{first})" if _edge(key[0]) else ""
        end = r"(?!_?[^\W_])" if _edge(key[-1]) else ""
        if len(key) == 1 or key.isdecimal():  # "A-" and "-2" are other names than "A" and "2"
            start, end = start + f"(?<![-+−]{first})", end + "(?![-+−])"
        respellings = _respellings(key, keys)
        joint = _JOINT if respellings else _SPACES
        parts = joint.split(key)
        words = (_GAP.join(rf"\ ?{c}\ ?" if c in "/&" else re.escape(c) for c in word) for word in parts[::2])
        joints = [*map(_between if respellings else lambda _: _SPACE, parts[1::2]), ""]
        spelt = "".join(word + joint for word, joint in zip(words, joints, strict=True))
        yield first + start + spelt[len(first) :] + end
        if respellings and _edge(key[0]):
            hashtags = "|".join(re.escape(tag[1:]) for tag in sorted(respellings))
            yield rf"{first}(?<=#{first})(?:{hashtags}){end}"


def _edge(character: str) -> bool:
    return character.isalnum() and not unspaced(character)
