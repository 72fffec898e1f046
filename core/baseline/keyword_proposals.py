"""Keywords proposed for a codebook from the user's own texts. Pure.

A proposal has one of four sources. Words of the label's description, of its include examples, and common words of an
aspect of its name are proposed if they carry the label already and occur in the texts. Other words are proposed if
they occur almost only together with the label's own words: the unit is a clause, and the lower end of Wilson's
interval of the share of the word's clauses that have another word of the label must exceed one half and the label's
share of all clauses. No word reaches that in fewer than four clauses. Without labelled texts nothing weaker is safe: on
800 restaurant sentences, words with a share of one half to four fifths were right in only a fifth of the texts that
they added to a label.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.baseline.evidence import MAX_QUOTE_CHARACTERS, find_evidence
from core.baseline.lexicon import Lexicon, Source, Term, content_words, forms, lexicon_of
from core.codebook import Codebook
from core.stats.intervals import wilson

ProposalSource: TypeAlias = Source | Literal["texts"]
LEAST_DOCUMENTS = 2
"""Documents that a proposed word must occur in; a word of one text says little about the others."""
LEAST_SHARE = 0.5
"""Share of a word's clauses that must have another word of the label, as the lower end of a 95% interval."""
MOST = 12
"""Most proposals for a label."""


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


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of document number ``document``, and the terms that carry labels in it."""

    document: int
    text: str
    terms: frozenset[Term]

    @property
    def labels(self) -> set[int]:
        return {term.label for term in self.terms}


_Found: TypeAlias = tuple[int, str, ProposalSource, set[int], set[int]]
"""Label number, word, source, the numbers of the clauses with the word, and of those with another word of the label."""


def propose_keywords(codebook: Codebook, texts: Sequence[str]) -> tuple[KeywordProposal, ...]:
    """Return proposals for the labels of a codebook, at most ``MOST`` for each, the most frequent words first.

    Empty for texts without any word of the codebook. No word is proposed twice, and none that is a keyword already.
    """
    lexicon = lexicon_of(codebook)
    clauses = [clause for number, text in enumerate(texts) for clause in _clauses(lexicon, number, text)]
    proposals: dict[int, list[KeywordProposal]] = defaultdict(list)
    for label, word, source, indices, together in (*_defined(clauses), *_associated(lexicon, clauses)):
        documents, beside = ({clauses[index].document for index in group} for group in (indices, together))
        if len(documents) >= LEAST_DOCUMENTS:
            example = textwrap.shorten(clauses[min(together or indices)].text, MAX_QUOTE_CHARACTERS, placeholder=" …")
            id = codebook.labels[label].id
            proposals[label].append(KeywordProposal(id, word, source, len(documents), len(beside), example))
    ranked = (
        sorted(proposals[n], key=lambda proposal: (-proposal.documents, proposal.word))
        for n in range(len(codebook.labels))
    )
    return tuple(proposal for label_proposals in ranked for proposal in label_proposals[:MOST])


def _clauses(lexicon: Lexicon, document: int, text: str) -> Iterator[_Clause]:
    evidence = find_evidence(lexicon, text)
    hits = [hit for label_hits in evidence.hits for hit in label_hits if hit.term.carries and not hit.doubt]
    for number, (start, end) in enumerate(evidence.clauses or ((0, len(text)),)):
        yield _Clause(document, text[start:end], frozenset(hit.term for hit in hits if hit.clause == number))


def _defined(clauses: Sequence[_Clause]) -> Iterator[_Found]:
    """Yield words that carry a label by its definition or its name."""
    occurrences: dict[Term, set[int]] = defaultdict(set)
    together: dict[Term, set[int]] = defaultdict(set)
    for index, clause in enumerate(clauses):
        for term in clause.terms:
            if not term.listed:
                occurrences[term].add(index)
                if any(other.label == term.label and other.key.isdisjoint(term.key) for other in clause.terms):
                    together[term].add(index)
    for term, indices in occurrences.items():
        yield term.label, term.text, term.source, indices, together[term]


def _associated(lexicon: Lexicon, clauses: Sequence[_Clause]) -> Iterator[_Found]:
    """Yield words outside the codebook that occur almost only beside words of one label."""
    codebook_forms = {
        form for terms in lexicon.index.values() for term in terms for step in term.pattern for form in step
    }
    words = [{word for word in content_words(clause.text) if len(word) > 2 and word.isalpha()} for clause in clauses]
    vocabulary = frozenset[str]().union(*words)
    occurrences: dict[str, set[int]] = defaultdict(set)
    for index, clause_words in enumerate(words):
        for word in clause_words:
            if word not in codebook_forms:
                occurrences[min(forms(word) & vocabulary, key=lambda form: (len(form), form))].add(index)
    with_label = Counter(label for clause in clauses for label in clause.labels)
    for word, indices in occurrences.items():
        counts = Counter(label for index in indices for label in clauses[index].labels)
        for label, count in counts.most_common(1):
            interval = wilson(count, len(indices))
            if interval is not None and interval.low > max(LEAST_SHARE, with_label[label] / len(clauses)):
                yield label, word, "texts", indices, {index for index in indices if label in clauses[index].labels}
