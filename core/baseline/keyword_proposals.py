"""Keywords proposed for a codebook from the user's own texts. Pure.

A proposal has one of five sources. Words of the label's description, of its include examples, and common words of an
aspect of its name are proposed if they carry the label already and occur in the texts. So are words that begin or end
with a keyword in texts that are not in English, because languages such as German write compounds as one word
(Mehrwertsteuer). Other words are proposed if they occur almost only together with the label's own words. The unit is a
clause. Of the clauses that have the word, a share has another word of the label: the lower end of Wilson's interval of
this share must exceed one half and the label's share of all clauses. No word reaches that in fewer than four clauses.
Without labelled texts nothing weaker is safe: on 800 restaurant sentences, words with a share of one half to four
fifths were right in only a fifth of the texts that they added to a label.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from core.baseline.evidence import MAX_QUOTE_CHARACTERS, clauses_of, find_evidence
from core.baseline.lexicon import WORDS, Lexicon, Source, Term, content_tokens, forms, lexicon_of
from core.codebook import Codebook
from core.stats.intervals import wilson

ProposalSource: TypeAlias = Source | Literal["compound", "texts"]
MIN_DOCUMENTS = 2
"""Documents that a proposed word must occur in; a word of one text says little about the others."""
MIN_SHARE = 0.5
"""Share of a word's clauses that must have another word of the label, as the lower end of a 95% interval."""
MIN_START, MIN_END, MIN_REST = 4, 6, 3
"""Characters of a keyword at the start and at the end of compounds, and of their rest, which is more than an ending.

Short words end many others: German "essen" is food, but "vergessen" is to forget.
"""
MAX_PROPOSALS = 12
"""Most proposals for a label."""
_FOREIGN = WORDS["foreign_words"] | WORDS["foreign_homographs"]


@dataclass(frozen=True, slots=True)
class KeywordProposal:
    """A word proposed as a keyword.

    ``documents`` contain the word, ``together`` of them in a clause with another word of the label. ``example`` is a
    clause with the word.
    """

    label_id: str
    word: str
    source: ProposalSource
    documents: int
    together: int
    example: str


class _Clause(NamedTuple):
    """A clause of document number ``document``, and the terms and labels that are carried in it."""

    document: int
    text: str
    is_foreign: bool
    terms: set[Term]
    labels: set[int]


_Candidate: TypeAlias = tuple[int, str, ProposalSource, Collection[int], Collection[int]]
"""Label number, word, source, the numbers of the clauses with the word, and of those with another word of the label."""


def propose_keywords(codebook: Codebook, texts: Sequence[str]) -> tuple[KeywordProposal, ...]:
    """Return proposals for the labels of a codebook, at most ``MAX_PROPOSALS`` for each, the most frequent words first.

    Empty for texts without any word of the codebook. No word is proposed twice, and none that is a keyword already.
    """
    lexicon = lexicon_of(codebook)
    clauses = [clause for number, text in enumerate(texts) for clause in _clauses(lexicon, number, text)]
    proposals: dict[int, list[KeywordProposal]] = {number: [] for number in range(len(codebook.labels))}
    for label, word, source, places, together in (*_defined(clauses), *_associated(lexicon, clauses)):
        documents, beside = (len({clauses[number].document for number in group}) for group in (places, together))
        if documents >= MIN_DOCUMENTS:
            example = textwrap.shorten(clauses[min(together or places)].text, MAX_QUOTE_CHARACTERS, placeholder=" …")
            id = codebook.labels[label].id
            proposals[label].append(KeywordProposal(id, word, source, documents, beside, example))
    ranked = (sorted(group, key=lambda proposal: (-proposal.documents, proposal.word)) for group in proposals.values())
    return tuple(proposal for group in ranked for proposal in group[:MAX_PROPOSALS])


def _clauses(lexicon: Lexicon, document: int, text: str) -> Iterator[_Clause]:
    evidence = find_evidence(lexicon, text)
    hits = [hit for label_hits in evidence.hits for hit in label_hits if hit.carries]
    for start, end in clauses_of(text):
        terms = {hit.term for hit in hits if start <= hit.start < end}
        yield _Clause(document, text[start:end], evidence.english is False, terms, {term.label for term in terms})


def _defined(clauses: Sequence[_Clause]) -> Iterator[_Candidate]:
    """Yield words that carry a label by its definition or its name."""
    places: dict[Term, list[int]] = defaultdict(list)
    for number, clause in enumerate(clauses):
        for term in clause.terms:
            places[term].append(number)
    for term, numbers in places.items():
        others = {other for number in numbers for other in clauses[number].terms if other.label == term.label}
        others = {other for other in others if other.key.isdisjoint(term.key)}
        if not term.listed:
            yield term.label, term.text, term.source, numbers, [n for n in numbers if clauses[n].terms & others]


def _associated(lexicon: Lexicon, clauses: Sequence[_Clause]) -> Iterator[_Candidate]:
    """Yield words outside the codebook that are compounds with words of one label, or occur almost only beside them."""
    known = frozenset[str]().union(*(step for term in lexicon.terms for step in term.pattern))
    words: dict[str, set[int]] = defaultdict(set)
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for number, clause in enumerate(clauses):
        ignored = known | _FOREIGN if clause.is_foreign else known
        for word, start, end in content_tokens(clause.text):
            if len(word) > 2 and word.isalpha() and word not in ignored:
                words[word].add(number)
                spelling = clause.text[start:end]  # German nouns keep their capital
                spellings[word][spelling if clause.is_foreign else spelling.lower()] += 1
    places: dict[str, set[int]] = defaultdict(set)
    for word, numbers in words.items():
        places[min(forms(word) & words.keys(), key=lambda form: (len(form), form))] |= numbers
    shares = Counter(label for clause in clauses for label in clause.labels)
    for word, numbers in places.items():
        spelling = max(spellings[word], key=spellings[word].__getitem__)
        foreign = [number for number in numbers if clauses[number].is_foreign]
        if foreign and len(labels := _labels_of_parts(lexicon, word)) == 1:
            (label,) = labels
            yield label, spelling, "compound", foreign, [n for n in foreign if label in clauses[n].labels]
            continue
        distinct = {clauses[number].text.casefold(): clauses[number].labels for number in numbers}
        for label, count in Counter(label for labels in distinct.values() for label in labels).most_common(1):
            interval = wilson(count, len(distinct))
            if interval is not None and interval.low > max(MIN_SHARE, shares[label] / len(clauses)):
                yield label, spelling, "texts", numbers, [n for n in numbers if label in clauses[n].labels]


def _labels_of_parts(lexicon: Lexicon, word: str) -> set[int]:
    """Return the labels with a keyword or name that the word begins or ends with."""
    lengths = range(MIN_START, len(word) - MIN_REST + 1)
    parts = {*(word[:length] for length in lengths), *(word[-length:] for length in lengths if length >= MIN_END)}
    terms = (term for part in parts for term in lexicon.index.get(part, ()))
    return {term.label for term in terms if term.listed and len(term.pattern) == 1 and term.label >= 0}
