"""The lexicon: the words that a codebook gives for each label, with their weights, ready to be looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from core.codebook import Codebook, Label, normalise
from core.llm.builtin.derive import commonplace, derive, phrases
from core.llm.builtin.idioms import IDIOMS
from core.llm.builtin.stopwords import CATCH_ALL_NAMES, FUNCTION_WORDS, GENERIC_WORDS
from core.llm.builtin.terms import NO_LABEL, Term, term
from core.llm.builtin.words import forms, tokens


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An exclude example of a label: what it says, and the forms of each of its words of content."""

    label: int
    text: str
    words: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """All of a codebook's terms, found by the token that they begin with.

    ``exclusions`` and ``usable`` (does the label have any word?) go by label.
    """

    codebook: Codebook
    index: Mapping[str, tuple[Term, ...]]
    exclusions: tuple[tuple[Exclusion, ...], ...]
    usable: tuple[bool, ...]


@lru_cache(maxsize=64)
def lexicon_of(codebook: Codebook) -> Lexicon:
    """The lexicon of a codebook; the same object for an equal one."""
    listed = [list(_listed(number, label)) for number, label in enumerate(codebook.labels)]
    terms = [
        *(one for own in listed for one in own),
        *derive(codebook, listed),
        *(one for idiom in IDIOMS for one in term(NO_LABEL, idiom, "idiom")),
    ]
    index: dict[str, dict[tuple[int, frozenset[str]], Term]] = {}
    for one in terms:
        place = (one.label, one.key if len(one.pattern) > 1 else frozenset())
        for form in one.pattern[0]:
            found = index.setdefault(form, {})
            if place not in found or found[place].weight < one.weight:
                found[place] = one
    common = commonplace(codebook)
    numbers = range(len(codebook.labels))
    return Lexicon(
        codebook,
        {form: tuple(found.values()) for form, found in index.items()},
        tuple(tuple(_exclusions(number, label, common)) for number, label in enumerate(codebook.labels)),
        tuple(any(one.label == number for one in terms) for number in numbers),
    )


def _listed(number: int, label: Label) -> Iterator[Term]:
    """Terms that the label's author listed, and the label's own name."""
    for keyword in label.keywords:
        yield from term(number, keyword, "keyword")
    if normalise(label.name) in CATCH_ALL_NAMES:
        return
    words = [token for token, _, _ in tokens(label.name)]
    content = [word for word in words if word not in FUNCTION_WORDS]
    if len(words) > 1:
        yield from term(number, label.name, "name")
    for word in content:
        if len(content) == 1 or (len(content) <= 3 and word not in GENERIC_WORDS and len(word) > 1):
            yield from term(number, word, "name")


def _exclusions(number: int, label: Label, common: frozenset[str]) -> Iterator[Exclusion]:
    for example in label.exclude:
        words = dict.fromkeys(word for phrase in phrases(example) for word in phrase if word not in common)
        if words:
            yield Exclusion(number, example, tuple(forms(word) for word in words))
