"""Words: cutting a text into tokens, and the forms under which an English word turns up in it.

There is no stemmer. A stemmer merges words of the text ("wine" and "win"); writing out the forms of the few words that
a codebook holds does not, and leaves one dictionary look-up per token of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from core.llm.builtin.english import FAMILIES, GRADABLE, IRREGULAR, NOT_ADVERBS, NOT_DERIVED, NOT_OVER, SPELLINGS

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh")


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token of ``text`` as it is compared, with its offsets. Apostrophes, hyphens and other marks separate."""
    for match in _TOKEN.finditer(text):
        yield fold(match.group()), match.start(), match.end()


def fold(word: str) -> str:
    """``word`` casefolded and without accents."""
    if word.isascii():
        return word.lower()
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    return (plain or word).casefold()


@lru_cache(maxsize=4096)
def forms(word: str) -> frozenset[str]:
    """Every form under which ``word`` (a token) counts as found: plurals, tenses, comparisons, adverbs, spellings."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return frozenset({word, f"{word}s"} if word.isascii() and word.isalpha() else {word})
    found: set[str] = {word}
    for base in _bases(word):
        for spelling in _related(base, SPELLINGS):
            for related in _related(spelling, IRREGULAR):
                for kin in _related(related, FAMILIES):
                    found.update(_inflections(kin))
    return frozenset(found)


def _related(word: str, groups: tuple[frozenset[str], ...]) -> frozenset[str]:
    return frozenset({word}).union(*(group for group in groups if word in group))


def _bases(word: str, depth: int = 0) -> set[str]:
    """``word`` and what it may be a form of; a base that is no word does no harm, as no text contains its forms."""
    if word in NOT_DERIVED:
        return {word}
    bases = {base for base in _shorter(word) if len(base) > 2 and _VOWEL.search(base)}
    if depth < 2:
        bases = bases.union(*(_bases(base, depth + 1) for base in bases))
    return {word} | bases


def _shorter(word: str) -> Iterator[str]:
    if word.endswith("ies"):
        yield word[:-3] + "y"
        yield word[:-1]
    elif word.endswith("es") and word[:-2].endswith((*_SIBILANT, "o")):
        yield word[:-2]
        yield word[:-1]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
    elif word.endswith("ied"):
        yield word[:-3] + "y"
    elif word.endswith("ed") and not word.endswith("eed"):
        yield from _stems(word[:-2])
    elif word.endswith("ing"):
        yield from _stems(word[:-3])
    elif word.endswith("iness"):
        yield word[:-5] + "y"
    elif word.endswith("ness"):
        yield word[:-4]
    elif word.endswith("ly") and word not in NOT_ADVERBS:
        yield word[:-3] + "y" if word.endswith("ily") else word[:-2]
        if word.endswith("bly"):
            yield word[:-1] + "e"
    elif word.endswith(("er", "est")):
        stem = word.removesuffix("er") if word.endswith("er") else word.removesuffix("est")
        longer = stem[:-1] + "y" if stem.endswith("i") else stem + "e"
        for base in (stem, longer, stem[:-1]):
            if base in GRADABLE:
                yield base


def _stems(stem: str) -> Iterator[str]:
    """What may have stood before -ed or -ing."""
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        yield stem[:-1]
        yield stem
    elif _CVC.match(stem):
        yield stem + "e"
    else:
        yield stem
        yield stem + "e"


def _inflections(base: str) -> Iterator[str]:
    yield base
    soft = len(base) > 2 and base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if soft else base
    if base not in ("new", "mean", "good", "custom"):
        yield stem + "es" if soft or base.endswith((*_SIBILANT, "o")) else base + "s"
        if base.endswith("o"):
            yield base + "s"
    if base.endswith("e"):
        verb = gerund = base[:-1]
    else:
        verb, gerund = stem, base
        if _CVC.match(base):
            verb = gerund = base + base[-1]
    yield verb + "ed"
    yield "un" + verb + "ed"
    if base not in NOT_OVER:
        yield "over" + verb + "ed"
        yield "under" + verb + "ed"
    if not base.endswith("ee"):
        yield gerund + "ing"
    if base in GRADABLE:
        yield "un" + base
        yield verb + "er"
        yield verb + "est"
    if base + "ly" not in NOT_ADVERBS:
        yield base[:-1] + "y" if base.endswith("le") else stem + "ly"
    for noun in (stem + "ness", stem + "liness"):
        if noun not in NOT_DERIVED:
            yield noun
