"""Lexicon of a codebook: words and phrases that indicate a label, with their forms and weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from core.baseline.words import (
    CATCH_ALL_NAMES,
    COMMON_WORDS,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    IDIOMS,
    NEGATIONS,
    PREDICATE_NEGATION,
    forms,
    tokens,
)
from core.codebook import Codebook, Label, normalise

Source: TypeAlias = Literal["keyword", "name", "description", "include", "idiom"]

WEIGHTS: Mapping[Source, float] = {"keyword": 1.0, "name": 1.0, "description": 0.8, "include": 0.5, "idiom": 0.0}
"""Weight of a hit by the source of its word.

Words of a definition count in full only if no other label's definition has them.
"""

NO_LABEL = -1
"""Label number of an idiom."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase that indicates a label (by number). ``pattern`` has the admissible forms of each token."""

    label: int
    text: str
    source: Source
    weight: float
    pattern: tuple[frozenset[str], ...]
    key: frozenset[str] = field(init=False, repr=False, compare=False)
    """Terms with the same key are the same word or phrase."""

    def __post_init__(self) -> None:
        alone = len(self.pattern) == 1
        key = self.pattern[0] if alone else frozenset({" ".join(min(step) for step in self.pattern)})
        object.__setattr__(self, "key", key)

    @property
    def listed(self) -> bool:
        """True if the codebook's author listed it: a keyword or the label's name."""
        return self.source in ("keyword", "name")


def make_terms(label: int, text: str, source: Source, factor: float = 1.0) -> Iterator[Term]:
    """Yield the term for ``text``; none if it has no word to look for."""
    words = [token for token, _, _ in tokens(text)]
    if words and (len(words) > 1 or words[0] not in FUNCTION_WORDS):
        yield Term(label, text, source, WEIGHTS[source] * factor, tuple(map(forms, words)))


DERIVED_FACTOR = 0.6
"""Factor for derived words of a label with keywords, because its author already named the words that matter."""

MODIFIER_FACTOR = 0.6
"""Factor for a single word of a phrase in a description: "list" of "wine list"."""

MAX_PHRASE_WORDS = 3
"""Most words of a derived phrase."""

_SENTENCE = re.compile(r"[.;:!?\n]+(?=\s|$)")
_CHUNK = re.compile(r"[.,;:!?()\[\]/\"“”‘—–\n]+|\s-\s")


def derive_terms(codebook: Codebook, listed: Sequence[Sequence[Term]]) -> list[Term]:
    """Return the derived terms of all labels, weighted by how many labels share them.

    ``listed`` are the labels' own terms.
    """
    common = common_words(codebook)
    derived = [
        [term for term in _derived(number, label) if term.key.isdisjoint(common)]
        for number, label in enumerate(codebook.labels)
    ]
    if not any(derived):
        return []
    from sklearn.feature_extraction.text import TfidfVectorizer

    names = _Names([term for own in (*listed, *derived) for term in own])
    vectorizer = TfidfVectorizer(analyzer=lambda terms: map(names.of, terms), norm=None)
    vectorizer.fit([[*own, *told] for own, told in zip(listed, derived, strict=True)])
    idf = dict(zip(vectorizer.get_feature_names_out(), map(float, vectorizer.idf_), strict=True))
    top = max(idf.values())
    owners: dict[str, set[int]] = {}
    for term in (term for own in listed for term in own):
        owners.setdefault(names.of(term), set()).add(term.label)
    kept = []
    for term in (term for own in derived for term in own):
        name = names.of(term)
        share = 1.0 if idf[name] == top else ((idf[name] - 1) / (top - 1)) ** 2
        if share > 0 and term.label in owners.get(name, {term.label}):
            kept.append(replace(term, weight=term.weight * share))
    return kept


def common_words(codebook: Codebook) -> frozenset[str]:
    """Return the words of the codebook's unit and domain, which do not distinguish documents."""
    return frozenset().union(*(forms(word) for word, _, _ in tokens(f"{codebook.unit} {codebook.domain}")))


def phrases(text: str) -> Iterator[list[str]]:
    """Yield runs of content words; a run ends at a mark, a function word or a generic word."""
    for chunk in _CHUNK.split(text):
        run: list[str] = []
        for word, _, _ in tokens(chunk):
            if word not in _general() and not _bare(word):
                run.append(word)
            elif run:
                yield run
                run = []
        if run:
            yield run


def _bare(word: str) -> bool:
    return word.isdigit() or (len(word) < 2 and word.isascii())


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    return FUNCTION_WORDS.union(GENERIC_WORDS, *map(forms, COMMON_WORDS))


def _derived(number: int, label: Label) -> Iterator[Term]:
    factor = DERIVED_FACTOR if label.keywords else 1.0
    for phrase in (phrase for text in _counting(label.description) for phrase in phrases(text)):
        yield from _parts(number, phrase, "description", factor, MODIFIER_FACTOR)
    for phrase in (phrase for text in label.include for phrase in phrases(text)):
        yield from _parts(number, phrase, "include", factor, 1.0)


def _parts(number: int, phrase: list[str], source: Source, factor: float, part: float) -> Iterator[Term]:
    full = WEIGHTS[source] * factor
    if 1 < len(phrase) <= MAX_PHRASE_WORDS:
        yield Term(number, " ".join(phrase), source, full, tuple(map(forms, phrase)))
    for word in phrase:
        yield Term(number, word, source, full if len(phrase) == 1 else full * part, (forms(word),))


def _counting(description: str) -> Iterator[str]:
    """Yield the parts of a description that say what counts, without negative sentences and text after "not"."""
    for sentence in _SENTENCE.split(description):
        if not PREDICATE_NEGATION.search(sentence):
            words = list(tokens(sentence))
            cut = next((start for word, start, _ in words if word in NEGATIONS), len(sentence))
            yield sentence[:cut]


class _Names:
    """A common name for terms that share a form, so that "stain" and "stained" count as one word."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._names: dict[str, str] = {}
        for term in terms:
            short = min(term.key, key=lambda form: (len(form), form))
            known = min((self._names[form] for form in term.key if form in self._names), default=short)
            for form in term.key:
                self._names.setdefault(form, known)

    def of(self, term: Term) -> str:
        return min(self._names[form] for form in term.key)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An exclude example of a label: its text, and the forms of each of its content words."""

    label: int
    text: str
    words: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """All terms of a codebook, indexed by their first token."""

    codebook: Codebook
    index: Mapping[str, tuple[Term, ...]]
    exclusions: tuple[tuple[Exclusion, ...], ...]
    usable: tuple[bool, ...]


@lru_cache(maxsize=64)
def lexicon_of(codebook: Codebook) -> Lexicon:
    """Return the lexicon of a codebook; the same object for an equal codebook."""
    listed = [list(_listed(number, label)) for number, label in enumerate(codebook.labels)]
    terms = [
        *(one for own in listed for one in own),
        *derive_terms(codebook, listed),
        *(one for idiom in IDIOMS for one in make_terms(NO_LABEL, idiom, "idiom")),
    ]
    index: dict[str, dict[tuple[int, frozenset[str]], Term]] = {}
    for one in terms:
        place = (one.label, one.key if len(one.pattern) > 1 else frozenset())
        for form in one.pattern[0]:
            found = index.setdefault(form, {})
            if place not in found or found[place].weight < one.weight:
                found[place] = one
    common = common_words(codebook)
    numbers = range(len(codebook.labels))
    return Lexicon(
        codebook,
        {form: tuple(found.values()) for form, found in index.items()},
        tuple(tuple(_exclusions(number, label, common)) for number, label in enumerate(codebook.labels)),
        tuple(any(one.label == number for one in terms) for number in numbers),
    )


def _listed(number: int, label: Label) -> Iterator[Term]:
    """Yield the terms that the label's author listed, and the label's own name."""
    for keyword in label.keywords:
        yield from make_terms(number, keyword, "keyword")
    if normalise(label.name) in CATCH_ALL_NAMES:
        return
    words = [token for token, _, _ in tokens(label.name)]
    content = [word for word in words if word not in FUNCTION_WORDS]
    if len(words) > 1:
        yield from make_terms(number, label.name, "name")
    for word in content:
        if len(content) == 1 or (len(content) <= 3 and word not in GENERIC_WORDS and len(word) > 1):
            yield from make_terms(number, word, "name")


def _exclusions(number: int, label: Label, common: frozenset[str]) -> Iterator[Exclusion]:
    for example in label.exclude:
        words = dict.fromkeys(word for phrase in phrases(example) for word in phrase if word not in common)
        if words:
            yield Exclusion(number, example, tuple(forms(word) for word in words))
