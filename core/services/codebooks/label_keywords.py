"""Keyword matches in the project's documents, keywords proposed from them, and advice on vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core import baseline
from core.baseline.evidence import find_evidence
from core.baseline.keyword_proposals import KeywordProposal as KeywordProposal
from core.baseline.keyword_proposals import propose_keywords as propose_keywords
from core.baseline.lexicon import FULL_LIST, lexicon_of
from core.codebook import Codebook, Label
from core.formatting import format_count, join_names, plural
from core.services.codebooks import codebook as codebooks
from core.services.codebooks.net_effect import NetEffect, net_effect, present_labels, reviewed_labels
from core.services.document_samples import fixed_sample, held_out_among
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_by_documents, cached_by_reviews

MAX_SEARCHED_DOCUMENTS = 5_000
"""Maximum number of documents to search: a random sample that stays the same."""
MAX_SEARCHED_CHARACTERS = 5_000_000
"""Maximum number of characters to search, about two seconds of processor time: fewer documents if they are long."""
MAX_PROPOSAL_DOCUMENTS = 1_000
"""Maximum number of documents from which keywords are proposed, spread evenly over those that are searched."""
MAX_PROPOSAL_CHARACTERS = 1_000_000
"""Maximum number of characters of these documents, because each change of the codebook reads them again."""
FEW_KEYWORDS = 5
"""Number of keywords below which a label gains from vectors of its description."""
MAX_MISSED_DOCUMENTS = 4
"""Maximum number of listed documents with the label in gold and without a keyword."""
MIN_UNCOVERED_SHARE = 0.1
"""Share of texts without any word of the codebook from which vectors are worth their installation."""
UNUSED_DESCRIPTION = f"With {FULL_LIST} keywords or more, words of the description alone do not select the label."
"""Why the word-list baseline does not use the description of a label with a full list of keywords."""


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """Keyword matches of a label.

    ``with_gold`` documents have gold for the label and are not held out; in ``present`` of them the label is present.
    """

    documents: int
    total: int
    hit: int
    with_gold: int
    present: int
    present_hit: int
    absent_hit: int
    by_word: tuple[tuple[str, int], ...]
    """Number of documents with each keyword, most frequent first."""
    missed_ids: tuple[str, ...]
    """Ids of some documents with the label in gold that contain no keyword."""
    catches: tuple[tuple[str, int], ...]
    """Suggested words with the number of documents that only they find.

    Counted are documents with the label in gold that contain no keyword.
    """

    @property
    def missed(self) -> int:
        """Number of documents with the label in gold that contain no keyword."""
        return self.present - self.present_hit

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Keywords without a match."""
        return tuple(word for word, count in self.by_word if not count and baseline.is_searchable(word))

    @property
    def ignored(self) -> tuple[str, ...]:
        """Keywords that the built-in model does not look for, because they are function words."""
        return tuple(word for word, _ in self.by_word if not baseline.is_searchable(word))


@dataclass(frozen=True, slots=True)
class _SampledDocument:
    """Text of a document that is searched."""

    id: str
    text: str
    is_held_out: bool


def has_full_list(label: Label) -> bool:
    """Return True if the label has so many keywords that words of its description alone do not select it."""
    return len(label.keywords) >= FULL_LIST


def count_matches(
    session: ProjectSession, codebook: Codebook, label_id: str, suggested: Sequence[str] = ()
) -> KeywordMatches:
    """Return the matches of a label's keywords in the documents that are searched, by the rules of the built-in model.

    The gold of several raters is their majority. A document on which they tie has no gold.
    """
    sample, label = _sample(session), codebook.label(label_id)
    words = tuple(dict.fromkeys((*label.keywords, *suggested)))
    found = _found_words(session, words)
    hit = [not found_here.isdisjoint(label.keywords) for found_here in found]
    gold = _gold(session, codebook)
    golds = [gold.get(document.id, {}).get(label_id) for document in sample]
    cells = Counter(zip(golds, hit, strict=True))
    missed = [row for row, cell in enumerate(zip(golds, hit, strict=True)) if cell == (True, False)]
    counts = Counter(word for word in words for found_here in found if word in found_here)
    catching = Counter(word for word in words for row in missed if word in found[row])
    return KeywordMatches(
        documents=len(sample),
        total=session.store.documents.count(),
        hit=sum(hit),
        with_gold=len(sample) - cells[None, True] - cells[None, False],
        present=cells[True, True] + cells[True, False],
        present_hit=cells[True, True],
        absent_hit=cells[False, True],
        by_word=tuple(sorted(((word, counts[word]) for word in label.keywords), key=lambda pair: -pair[1])),
        missed_ids=tuple(sample[row].id for row in missed[:MAX_MISSED_DOCUMENTS]),
        catches=tuple(catching.most_common()),
    )


@cached_by_documents
def _sample(session: ProjectSession) -> tuple[_SampledDocument, ...]:
    affordable = int(MAX_SEARCHED_CHARACTERS / max(session.store.documents.mean_length(), 1.0))
    ids = fixed_sample(session.store.documents.ids(), min(MAX_SEARCHED_DOCUMENTS, max(affordable, 1)))
    held_out = held_out_among(session, ids)
    return tuple(
        _SampledDocument(document.id, document.text, document.id in held_out)
        for document in session.store.documents.load(ids, gold=False)
    )


@cached_by_documents
def _gold(session: ProjectSession, codebook: Codebook) -> dict[str, dict[str, bool]]:
    """Return the gold of documents of the sample by id, as ``present_labels``; held-out documents have none."""
    ids = [document.id for document in _sample(session) if not document.is_held_out]
    gold = session.store.annotations.gold(codebook, ids)
    return {id: present_labels(codebook, values) for id, values in gold.items()}


def _texts(session: ProjectSession) -> list[_SampledDocument]:
    """Return documents from which keywords are proposed, spread evenly over the sample."""
    sample = _sample(session)
    characters = sum(len(document.text) for document in sample)
    excess = max(len(sample) / MAX_PROPOSAL_DOCUMENTS, characters / MAX_PROPOSAL_CHARACTERS)
    return list(sample[:: math.ceil(excess) or 1])


@cached_by_documents
def _found_words(session: ProjectSession, words: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """Return for each document of the sample the words that it contains."""
    matches = (baseline.find_keywords(words, document.text) for document in _sample(session))
    return tuple(frozenset(words[number] for number, _, _ in found) for found in matches)


# -- keywords proposed from the documents


@dataclass(frozen=True, slots=True)
class KeywordProposals:
    """Keywords proposed from ``documents`` documents.

    ``net`` is the effect of all of them together on the built-in model's decisions, None without labelled documents.
    ``without`` are the names of labels that have no keyword and get no proposal.
    """

    proposals: tuple[KeywordProposal, ...]
    documents: int
    net: NetEffect | None
    without: tuple[str, ...]


@cached_by_reviews
def propose(session: ProjectSession, codebook: Codebook) -> KeywordProposals:
    """Return the keywords that the project's documents suggest for a codebook, none for open labels.

    A word that would break at least as many of the built-in model's decisions on labelled documents as it corrects,
    and breaks any, is not proposed.
    """
    codebook, sample = codebook.closed, _texts(session)
    proposals = propose_keywords(codebook, [document.text for document in sample])
    labelled = _known_labels(session, codebook, sample)
    net = net_effect(codebook, with_keywords(codebook, proposals), labelled) if labelled else None
    if net is not None and net.regressed:
        proposals = tuple(
            proposal
            for proposal in proposals
            if net_effect(codebook, with_keywords(codebook, [proposal]), labelled).pays
        )
        net = net_effect(codebook, with_keywords(codebook, proposals), labelled)
    return KeywordProposals(proposals, len(sample), net, labels_without_keywords(codebook, proposals))


def labels_without_keywords(codebook: Codebook, proposals: Sequence[KeywordProposal]) -> tuple[str, ...]:
    """Return the names of the labels that have no keyword and get none by the proposals."""
    helped = {proposal.label_id for proposal in proposals}
    return tuple(label.name for label in codebook.labels if not label.keywords and label.id not in helped)


def with_keywords(codebook: Codebook, proposals: Sequence[KeywordProposal]) -> Codebook:
    """Return the codebook with proposed keywords added. KeyError for a label that it does not have."""
    for label_id in dict.fromkeys(proposal.label_id for proposal in proposals):
        words = (proposal.word for proposal in proposals if proposal.label_id == label_id)
        codebook = codebooks.extend_label(codebook, label_id, "keywords", *words)
    return codebook


def _known_labels(
    session: ProjectSession, codebook: Codebook, sample: Sequence[_SampledDocument]
) -> list[tuple[str, dict[str, bool]]]:
    """Return the text and the known labels of documents of a sample, not held out: the reviewed ones, else gold."""
    if codebook.kind == "rating":
        return []
    reviewed = reviewed_labels(session, codebook)
    held_out = held_out_among(session, list(reviewed))
    decided = {id: labels for id, (_, labels) in reviewed.items() if id not in held_out}
    gold = _gold(session, codebook)
    known = [(document.text, gold.get(document.id, {}) | decided.get(document.id, {})) for document in sample]
    return [(text, labels) for text, labels in known if labels]


# -- where vectors help


@dataclass(frozen=True, slots=True)
class VectorsAdvice:
    """Advice on vectors of texts for a codebook.

    ``needed`` are reasons why words alone are not enough, empty if vectors would change little. ``foreign`` is True if
    most texts are not English, which MiniLM does not know.
    """

    needed: tuple[str, ...]
    foreign: bool


def advise_vectors(session: ProjectSession) -> VectorsAdvice:
    """Return where vectors would help with the codebook in the editor, by the words found in the documents."""
    return _advise_vectors(session, codebooks.codebook_status(session).codebook.closed)


@cached_by_documents
def _advise_vectors(session: ProjectSession, codebook: Codebook) -> VectorsAdvice:
    sample = _texts(session)
    evidence = [find_evidence(lexicon_of(codebook), document.text) for document in sample]
    foreign = 2 * sum(item.english is False for item in evidence) > len(sample)
    needed = []
    short = [label.name for label in codebook.labels if label.description and len(label.keywords) < FEW_KEYWORDS]
    if foreign:
        needed.append("Most texts are not in English, so only your own keywords are looked for.")
    if codebook.kind != "rating":
        bare = sum(not any(item.hits) for item in evidence)
        if bare > MIN_UNCOVERED_SHARE * len(sample):
            needed.append(f"{bare:,} of {format_count(len(sample), 'text')} have no word of the codebook.")
    if short and codebook.kind != "rating":
        have = plural(len(short), "has", "have")
        after = "" if codebook.kind == "choice" else ": the classifier learns such labels faster from vectors"
        needed.append(f"{join_names(short)} {have} a description, but fewer than {FEW_KEYWORDS} keywords{after}.")
    return VectorsAdvice(tuple(needed), foreign)
