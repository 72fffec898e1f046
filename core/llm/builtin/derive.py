"""Derived words: what a label's description and include examples add to its keywords and its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from core.codebook import Codebook, Label
from core.llm.builtin.stopwords import COMMON_WORDS, FUNCTION_WORDS, GENERIC_WORDS, NEGATIONS, PREDICATE_NEGATION
from core.llm.builtin.terms import WEIGHTS, Source, Term
from core.llm.builtin.words import forms, tokens

SECOND_HAND = 0.6
"""Factor on the derived words of a label that has keywords: its author already said which words matter."""

MODIFIER = 0.6
"""Factor on a single word of a phrase in a description: "list" of "wine list"."""

LONGEST = 3
"""Most words of a derived phrase."""

_SENTENCE = re.compile(r"[.;:!?\n]+(?=\s|$)")
_CHUNK = re.compile(r"[.,;:!?()\[\]/\"“”‘—–\n]+|\s-\s")


def derive(codebook: Codebook, listed: Sequence[Sequence[Term]]) -> list[Term]:
    """The derived terms of all labels, weighed by how many labels share them; ``listed`` are the labels' own terms."""
    common = commonplace(codebook)
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


def commonplace(codebook: Codebook) -> frozenset[str]:
    """The words of the codebook's unit and domain: they tell no document from another."""
    return frozenset().union(*(forms(word) for word, _, _ in tokens(f"{codebook.unit} {codebook.domain}")))


def phrases(text: str) -> Iterator[list[str]]:
    """Runs of words of content; a run ends at a mark, a function word or a generic word."""
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
    factor = SECOND_HAND if label.keywords else 1.0
    for phrase in (phrase for text in _counting(label.description) for phrase in phrases(text)):
        yield from _parts(number, phrase, "description", factor, MODIFIER)
    for phrase in (phrase for text in label.include for phrase in phrases(text)):
        yield from _parts(number, phrase, "include", factor, 1.0)


def _parts(number: int, phrase: list[str], source: Source, factor: float, part: float) -> Iterator[Term]:
    full = WEIGHTS[source] * factor
    if 1 < len(phrase) <= LONGEST:
        yield Term(number, " ".join(phrase), source, full, tuple(map(forms, phrase)))
    for word in phrase:
        yield Term(number, word, source, full if len(phrase) == 1 else full * part, (forms(word),))


def _counting(description: str) -> Iterator[str]:
    """The parts of a description that say what counts: without sentences on what does not, and without what follows
    a "not"."""
    for sentence in _SENTENCE.split(description):
        if not PREDICATE_NEGATION.search(sentence):
            words = list(tokens(sentence))
            cut = next((start for word, start, _ in words if word in NEGATIONS), len(sentence))
            yield sentence[:cut]


class _Names:
    """One name for all terms that share a form, so that "stain" and "stained" count as one word."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._names: dict[str, str] = {}
        for term in terms:
            short = min(term.key, key=lambda form: (len(form), form))
            known = min((self._names[form] for form in term.key if form in self._names), default=short)
            for form in term.key:
                self._names.setdefault(form, known)

    def of(self, term: Term) -> str:
        return min(self._names[form] for form in term.key)
