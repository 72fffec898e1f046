"""Tokens of a text, and the forms of an English word that count as the same word.

There is no stemmer, because a stemmer merges words ("wine" and "win"). The forms of the few words of a codebook are
written out instead, so that each token of a text needs one dictionary look-up.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import yaml

from core import resources
from core.codebook import normalise

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

Token: TypeAlias = tuple[str, int, int]
"""A token as it is compared, and its offsets in the text."""

_ASCII_TOKEN = re.compile(r"[a-z0-9]+|[$%]")
_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh")


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text in order. Apostrophes, hyphens and other marks separate tokens."""
    if text.isascii():
        return [(match[0], *match.span()) for match in _ASCII_TOKEN.finditer(text.lower())]
    return [(fold(match[0]), *match.span()) for match in _TOKEN.finditer(text)]


def fold(word: str) -> str:
    """Return a word casefolded and without accents."""
    if word.isascii():
        return word.lower()
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    return (plain or word).casefold()


@lru_cache(maxsize=4096)
def forms(word: str) -> frozenset[str]:
    """Return the forms that count as the same word: plurals, tenses, comparisons, adverbs, spellings."""
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
    """Return a word and its possible bases. A base that is not a word does no harm, because no text contains it."""
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
    """Yield the possible stems before -ed or -ing."""
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


def words(text: str) -> frozenset[str]:
    """Return the words of a list written as running text."""
    return frozenset(text.split())


def _split(text: str) -> tuple[str, ...]:
    """Return groups of words or phrases, separated by bars or line ends."""
    return tuple(part.strip() for part in text.strip().replace("\n", "|").split("|"))


_LISTS = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
"""The word lists; the file describes each."""

GRADABLE, NOT_ADVERBS, NOT_DERIVED, NOT_OVER, FUNCTION_WORDS, CATCH_ALL_NAMES, NEGATIONS, FOREIGN_WORDS = (
    words(_LISTS[name])
    for name in (
        "gradable", "not_adverbs", "not_derived", "not_over", "function_words", "catch_all_names", "negations",
        "foreign_words",
    )
)  # fmt: skip
IRREGULAR, FAMILIES, SPELLINGS = (
    tuple(map(words, _split(_LISTS[name]))) for name in ("irregular", "families", "spellings")
)
IDIOMS = _split(_LISTS["idioms"])
GENERIC_WORDS = words(_LISTS["generic_words"]).union(*map(forms, words(_LISTS["common_words"])))


@lru_cache(maxsize=1)
def _starter_lists() -> Mapping[str, tuple[str, tuple[str, ...], str]]:
    """Return common aspects by name and alias: their name, their starter keywords and the aspect that they include."""
    data = yaml.safe_load((resources.folder("sample_data") / "starter_keywords.yaml").read_text(encoding="utf-8"))
    aspects: dict[str, tuple[str, tuple[str, ...], str]] = {}
    for name, entry in data.items():
        aspect = (str(name), tuple(map(str, entry["keywords"])), str(entry.get("includes", "")))
        for each in (name, *entry.get("aliases", ())):
            aspects.setdefault(normalise(str(each)), aspect)
    return aspects


def starters(name: str, beside: Iterable[str] = ()) -> tuple[str, ...]:
    """Return starter keywords for a label name, found by the name or an alias of a common aspect.

    If the whole name is not found, each of its words is looked up ("food and drinks"). Empty if nothing is found. An
    aspect's keywords come with those of the aspect that it includes (service includes staff), unless one of the labels
    ``beside`` it in the codebook is about that.
    """
    aspects, others = _starter_lists(), {aspect[0] for other in beside for aspect in _aspects(other)}
    found = _aspects(name)
    others.update(aspect[0] for aspect in found)
    included = (aspects[aspect[2]] for aspect in found if aspect[2] and aspect[2] not in others)
    return tuple(dict.fromkeys(word for _, words, _ in (*found, *included) for word in words))


def _aspects(name: str) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    aspects, whole = _starter_lists(), normalise(name)
    parts = [part for part in "".join(each if each.isalnum() else " " for each in whole).split() if len(part) > 2]

    def find(wanted: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
        shapes = (wanted, wanted.removesuffix("s"), f"{wanted}s")
        yield from [aspects[shape] for shape in shapes if shape in aspects][:1]

    return tuple(find(whole)) or tuple(aspect for part in parts for aspect in find(part))
