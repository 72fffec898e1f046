"""Keywords proposed for a codebook from the user's own texts. Pure.

A proposal has one of four sources. Words of the label's description, of its include examples, and common words of an
aspect of its name are proposed if they carry the label already and occur in the texts. Other words are proposed if
they occur almost only together with the label's own words: the unit is a clause, the association is a z-value of the
log-odds ratio with one half added to each count (Haldane 1956), and the lower end of Wilson's interval of the share
of the word's clauses that have another word of the label must exceed one half, which no word reaches in fewer than
four clauses. Without labelled texts nothing weaker is safe: on 800 restaurant sentences, words with a share of one
half to four fifths were right in only a fifth of the texts that they added to a label.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.baseline.evidence import THRESHOLD, Lexicon, Source, Term, find_evidence, lexicon_of
from core.baseline.word_forms import FUNCTION_WORDS, GENERIC_WORDS, forms, tokens
from core.classifier.error_keywords import log_odds_z, sentence_with
from core.codebook import Codebook
from core.stats.intervals import wilson

ProposalSource: TypeAlias = Literal["definition", "example", "common", "texts"]
LEAST_DOCUMENTS = 2
"""Documents that a proposed word must occur in; a word of one text says little about the others."""
LEAST_Z = 1.96
LEAST_SHARE = 0.5
"""Share of a word's clauses that must have another word of the label, as the lower end of a 95% interval."""
MOST = 12
"""Most proposals for a label."""


@dataclass(frozen=True, slots=True)
class KeywordProposal:
    """A word proposed as a keyword.

    ``documents`` contain the word, ``together`` of them in a clause with another word of the label. ``example`` is a
    sentence with the word.
    """

    label_id: str
    word: str
    source: ProposalSource
    documents: int
    together: int
    example: str


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of document number ``document``: its words, and the terms of each label that it has."""

    document: int
    words: frozenset[str]
    terms: Mapping[int, frozenset[Term]]


def propose_keywords(codebook: Codebook, texts: Sequence[str]) -> tuple[KeywordProposal, ...]:
    """Return proposals for the labels of a codebook, at most ``MOST`` for each, the most frequent words first.

    Empty for texts without any word of the codebook. No word is proposed twice, and none that is a keyword already.
    """
    lexicon = lexicon_of(codebook)
    clauses = [clause for number, text in enumerate(texts) for clause in _clauses(lexicon, number, text)]
    found: dict[int, list[tuple[str, ProposalSource, set[int], set[int]]]] = defaultdict(list)
    for label, word, source, documents, together in (*_defined(clauses), *_associated(lexicon, clauses)):
        if len(documents) >= LEAST_DOCUMENTS:
            found[label].append((word, source, documents, together))
    return tuple(
        KeywordProposal(
            label.id, word, source, len(documents), len(together), _example(texts, together or documents, word)
        )
        for number, label in enumerate(codebook.labels)
        for word, source, documents, together in sorted(found[number], key=_by_frequency)[:MOST]
    )


def _by_frequency(found: tuple[str, ProposalSource, set[int], set[int]]) -> tuple[int, str]:
    return -len(found[2]), found[0]


def _clauses(lexicon: Lexicon, document: int, text: str) -> Iterator[_Clause]:
    evidence = find_evidence(lexicon, text)
    spans = evidence.clauses or ((0, len(text)),)
    words: list[set[str]] = [set() for _ in spans]
    for word, start, _ in tokens(text):
        words[max(0, bisect_right(spans, (start, len(text))) - 1)].add(word)
    terms: list[dict[int, set[Term]]] = [{} for _ in spans]
    for number, hits in enumerate(evidence.hits):
        for hit in hits:
            if hit.carries and not hit.doubt:
                terms[hit.clause].setdefault(number, set()).add(hit.term)
    for own, held in zip(words, terms, strict=True):
        yield _Clause(document, frozenset(own), {number: frozenset(each) for number, each in held.items()})


_SOURCES: Mapping[Source, ProposalSource] = {"common": "common", "include": "example"}
_Found: TypeAlias = tuple[int, str, ProposalSource, set[int], set[int]]


def _defined(clauses: Iterable[_Clause]) -> Iterator[_Found]:
    """Yield words that carry a label by its definition or its name, with the documents that they occur in."""
    documents: dict[Term, set[int]] = defaultdict(set)
    together: dict[Term, set[int]] = defaultdict(set)
    for clause in clauses:
        for terms in clause.terms.values():
            for term in terms:
                if not term.listed and term.weight >= THRESHOLD:
                    documents[term].add(clause.document)
                    if any(other.key.isdisjoint(term.key) for other in terms):
                        together[term].add(clause.document)
    for term, found in documents.items():
        yield term.label, term.text, _SOURCES.get(term.source, "definition"), found, together[term]


def _associated(lexicon: Lexicon, clauses: Sequence[_Clause]) -> Iterator[_Found]:
    """Yield words outside the codebook that occur almost only beside words of one label."""
    known = {form for own in lexicon.index.values() for term in own for step in term.pattern for form in step}
    places: dict[str, set[int]] = defaultdict(set)
    for place, clause in enumerate(clauses):
        for word in clause.words:
            if word not in known and _is_content(word):
                places[word].add(place)
    with_label = Counter(number for clause in clauses for number in clause.terms)
    for word in list(places):
        base = min((form for form in forms(word) if form in places), key=lambda form: (len(form), form), default=word)
        if base != word:
            places[base] |= places.pop(word)
    for word, own in places.items():
        counts = Counter(number for place in own for number in clauses[place].terms)
        ranked = [
            (log_odds_z(count, len(own), with_label[label] - count, len(clauses) - len(own)), label)
            for label, count in counts.items()
        ]
        z, label = max(ranked, default=(0.0, -1))
        interval = wilson(counts[label], len(own))
        if z >= LEAST_Z and interval is not None and interval.low > LEAST_SHARE:
            beside = {clauses[place].document for place in own if label in clauses[place].terms}
            yield label, word, "texts", {clauses[place].document for place in own}, beside


def _is_content(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in FUNCTION_WORDS and word not in GENERIC_WORDS


def _example(texts: Sequence[str], documents: set[int], word: str) -> str:
    """Return a short sentence with the word in one of its forms, empty if none has it as one word."""
    for document in sorted(documents):
        shapes = forms(word) if word.isalpha() else {word}
        used = next((each for each, _, _ in tokens(texts[document]) if each in shapes), word)
        if sentence := sentence_with(texts[document], used):
            return sentence
    return ""
