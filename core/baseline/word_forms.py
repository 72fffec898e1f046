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

from core.codebook import normalise
from core.files import shipped_folder

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

Token: TypeAlias = tuple[str, int, int]
"""A token as it is compared, and its offsets in the text."""

Aspect: TypeAlias = tuple[str, tuple[str, ...], str]
"""A common aspect: its name, its starter keywords and the name of the aspect that it includes, or nothing."""

_ASCII_TOKEN = re.compile(r"[a-z0-9]+|[$%]")
_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh", "o")
_ENDINGS = ("s", "ed", "ing", "ly", "er", "est")


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
    """Return the forms that count as the same word: plurals, tenses, comparisons, adverbs, spellings, families."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return frozenset({word, f"{word}s"} if word.isascii() and word.isalpha() else {word})
    bases = frozenset[str]().union(*map(_bases, _bases(word)))
    related = bases.union(*(RELATED.get(base, ()) for base in bases))
    return related.union(*map(_inflections, related))


def _bases(word: str) -> frozenset[str]:
    """Return a word and its possible bases. A base that is not a word does no harm, because no text contains it."""
    if word in NOT_DERIVED or not word.endswith(_ENDINGS) or word.endswith(("ss", "is", "ous")):
        return frozenset({word})
    bases = (word[:-cut] + end for cut in range(1, min(6, len(word) - 1)) for end in ("", "e", "y"))
    known = (base for base in bases if len(base) > 2 and _VOWEL.search(base) and word in _inflections(base))
    return frozenset({word, *known})


@lru_cache(maxsize=4096)
def _inflections(base: str) -> frozenset[str]:
    """Return a word with the endings that it can have, as if it were noun, verb and adjective."""
    soft = base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if soft else base
    verb = base[:-1] if base.endswith("e") else base + base[-1] if _CVC.match(base) else stem
    plural = stem + "es" if soft or base.endswith(_SIBILANT) else base + "s"
    found = {base, plural, base + "s" if base.endswith("o") else plural, stem + "ness", verb + "ed", "un" + verb + "ed"}
    found.add((base if soft or base.endswith("ee") else verb) + "ing")
    if base not in NOT_OVER:
        found |= {"over" + verb + "ed", "under" + verb + "ed"}
    if base in GRADABLE:
        found |= {"un" + base, verb + "er", verb + "est"}
    if base + "ly" not in NOT_ADVERBS:
        found.add(base[:-1] + "y" if base.endswith("le") else stem + "ly")
    return frozenset(form for form in found if not form.endswith(("s", "ed")) or form not in NOT_DERIVED)


def words(text: str) -> frozenset[str]:
    """Return the words of a list written as running text."""
    return frozenset(text.split())


def _split(text: str) -> tuple[str, ...]:
    """Return groups of words or phrases, separated by bars or line ends."""
    return tuple(part.strip() for part in text.strip().replace("\n", "|").split("|"))


_LISTS = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
"""The word lists; the file describes each."""

GRADABLE, NOT_ADVERBS, NOT_DERIVED, NOT_OVER, FUNCTION_WORDS, CATCH_ALL_NAMES, NEGATIONS, FOREIGN_WORDS, PEOPLE = (
    words(_LISTS[name])
    for name in (
        "gradable", "not_adverbs", "not_derived", "not_over", "function_words", "catch_all_names", "negations",
        "foreign_words", "people",
    )
)  # fmt: skip
RELATED: dict[str, frozenset[str]] = {}
"""The words that count as the same as a word. A spelling may lead to a family: "flavor", "flavour", "flavourless"."""
for _name in ("families", "irregular", "spellings"):
    for _group in map(words, reversed(_split(_LISTS[_name]))):
        RELATED |= dict.fromkeys(_group, _group.union(*(RELATED.get(word, ()) for word in _group)))
IDIOMS = _split(_LISTS["idioms"])
GENERIC_WORDS = words(_LISTS["generic_words"]).union(*map(forms, words(_LISTS["common_words"])))


def content_words(text: str) -> Iterator[str]:
    """Yield the words of a text without function words, generic words, numbers and single letters."""
    for word, _, _ in tokens(text):
        bare = word.isdigit() or (len(word) < 2 and word.isascii())
        if not bare and word not in FUNCTION_WORDS and word not in GENERIC_WORDS:
            yield word


@lru_cache(maxsize=1)
def _starter_lists() -> Mapping[str, Aspect]:
    """Return common aspects by name and alias."""
    text = (shipped_folder("sample_data") / "starter_keywords.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    aspects: dict[str, Aspect] = {}
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
    found, others = _aspects(name), {aspect[0] for other in (*beside, name) for aspect in _aspects(other)}
    included = (_starter_lists()[aspect[2]] for aspect in found if aspect[2] and aspect[2] not in others)
    return tuple(dict.fromkeys(word for _, words, _ in (*found, *included) for word in words))


def other_aspects(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the keywords of each common aspect that none of the names is about, not even by including it."""
    found = {part for name in names for aspect in _aspects(name) for part in (aspect[0], aspect[2])}
    aspects = dict.fromkeys(_starter_lists().values())
    return [words for name, words, included in aspects if name not in found and included not in found - {""}]


@lru_cache(maxsize=1024)
def _aspects(name: str) -> tuple[Aspect, ...]:
    aspects, whole = _starter_lists(), normalise(name)
    parts = [part for part in "".join(each if each.isalnum() else " " for each in whole).split() if len(part) > 2]

    def find(wanted: str) -> list[Aspect]:
        return [aspects[shape] for shape in (wanted, wanted.removesuffix("s"), f"{wanted}s") if shape in aspects][:1]

    return tuple(find(whole) or (aspect for part in parts for aspect in find(part)))
