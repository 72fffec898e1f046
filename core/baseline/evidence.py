"""Evidence for the labels of a codebook in a text: words found, doubts about them, and scores.

The built-in model argues from this evidence, and the trained classifier starts from it. ``lexicon`` has the words that
are looked for.

A hit is doubted if it is

- part of another label's phrase or of a set phrase,
- in a clause like one of the label's exclude examples, in a question for information, or in quoted labels,
- about another place, or about something that was not tried.

A doubted hit does not carry a label. Weak hits, doubted or supporting, only raise the probability of their label.

If there are vectors, they raise or lower the scores of multiple labels. A logistic regression learns the labels from
the vectors of what defines them (name, description, include examples, keywords and common words) and, for common
aspects, from those of sentences of reviews. Common aspects that no label is about are further classes, because a text
without any word of the codebook is most often about something else. Without them, two labels would share every text
between them.

A text in which nothing carries any label gets the labels that the vectors name, if there are vectors, else the label
for the rest ("Miscellaneous: anything else"), if the codebook has one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from core.baseline.lexicon import (
    NO_LABEL,
    Lexicon,
    Term,
    Token,
    definitions,
    index_keywords,
    is_english,
    lexicon_of,
    tokenise,
)
from core.classifier.classifier import ClassifierInput
from core.classifier.text_similarity import Embed, normalised
from core.codebook import Codebook

Span: TypeAlias = tuple[int, int]
LabelProbabilities: TypeAlias = Callable[[Codebook, str], Sequence[float]]
"""Function that returns the probability of each label of a codebook for a text; all 0 if nothing can be compared."""

# Weights. A listed word has the weight 1 and is enough for its label; everything else is measured against it.
DERIVED_WEIGHT = 0.8  # enough where nothing is listed, but nobody vouched for the word
WEAK_FACTOR = 0.25  # of doubted and supporting hits: they rank above no hit and stay below THRESHOLD
FURTHER_FACTOR = 0.5  # of each word beside the strongest: words of one label often occur together, so they tell less
THRESHOLD = 0.5  # score from which a label is present: half of a listed word
# Slope of the probability over the score: 0.06 without a word, 0.5 at the threshold, 0.88 for one listed word. Measured
# shares of present labels, on 800 restaurant sentences and 96 hotel reviews: 0.06 to 0.11 without a word, 0.67 to 0.79
# with one listed word, 0.77 to 0.95 with more. The classifier corrects the rest.
STEEPNESS = 4.0
STEEPNESS_BELOW = 5.6  # below the threshold
# Probability by vectors from which a label is present in a text where nothing carries a label. From .3 to .6 there was
# hardly a difference.
MIN_VECTOR_PROBABILITY = 0.5
# Beside words: score for a difference of 1 in the log-odds by vectors, from those of a label that has nothing to do
# with the text and shares the probability with about a dozen subjects. So a label without a word is present from a
# probability of .71, with a weak hit from .32, a derived word from .012, and one listed word from .003.
VECTOR_WEIGHT = 0.15
UNRELATED_PROBABILITY = 0.08
CHOICE_SMOOTHING = 0.25  # added to the score of every label of a choice: one listed word makes it 5 times as likely

_GAP = re.compile(r"[ \t\r\n\-–'’`/&]{0,3}")
"""Characters between the words of a phrase."""
MAX_QUOTE_CHARACTERS = 160

_CLAUSE_END = re.compile(r"[.!?;…](?=\s|$)|[。！？；]|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|[\"“”„«»{}`]|\s[-–]\s|—|--+")
_EDGE = " \t\u00a0.,;:!?-–"


@lru_cache(maxsize=16)
def clauses_of(text: str) -> tuple[Span, ...]:
    """Return the clauses of a text in order.

    Clauses are cut at ends of sentences, and at characters that would break a quote or start JSON: line breaks, double
    quotation marks, braces.
    """
    cuts = [0, *(offset for mark in _CLAUSE_END.finditer(text) for offset in mark.span()), len(text)]
    return tuple(span for span in zip(cuts[::2], cuts[1::2], strict=True) if span[0] < span[1])


def _clause_at(text: str, offset: int) -> Span:
    clauses = clauses_of(text)
    return clauses[max(0, bisect_right(clauses, (offset, len(text))) - 1)]


def quote_around(text: str, start: int, end: int) -> str:
    """Return the clause around ``start`` to ``end``; of a long clause the part around them, cut between words."""
    first, last = _clause_at(text, start)
    end = min(end, last)
    if last - first > MAX_QUOTE_CHARACTERS:
        left = max(first, (start + end - MAX_QUOTE_CHARACTERS) // 2)
        first = left if left == first else text.find(" ", left, start) + 1 or left
        last = min(last, first + MAX_QUOTE_CHARACTERS)
        last = text.rfind(" ", end, last) if text.rfind(" ", end, last) > 0 else last
    return text[first:last].strip(_EDGE)


_REASONS = {
    "elsewhere": "about another place",
    "untried": "about something that was not tried",
    "question": "in a question, which is not evidence",
    "quoted": "in a quoted list of labels",
    "negated": "negated",
}
"""Reasons to doubt a hit, by the kind of passage in which it is."""
_VENUE = r"(?:restaurant|bar|caf[eé]|pub|diner|bistro|pizzeria|hotel|hostel|motel|club|shop|store|place|building)s?"
_PASSAGES = (
    r"(?P<elsewhere>\b(?:\w+ (?:at|in|from) )?(?:(?:the|an?|some|any|this|that) )?(?:"
    rf"(?:nearby|neighbou?ring|other|another|local|previous|last) {_VENUE}\b|(?:\w+ )?{_VENUE} (?:right |just )?"
    r"(?:nearby|next door|(?:across|down) the (?:street|road)|a?round the corner|in town|elsewhere)\b)|"
    r"\b\w+ (?:elsewhere|next door)\b)|"
    r"(?P<untried>(?:\b(?:did|have) ?(?:not|n[o'’]?t)|\bnever|\byet to)(?: (?:even|really|actually|get to|got to))? "
    r"(?:try|tried|used?|visit(?:ed)?|sampled?)(?!\W+(?:\w+\W+){0,2}(?:better|such|so|worse|as)\b)(?: [\w'-]+){1,3}|"
    r"\b(?:can ?(?:not|n?['’]?t)|could ?(?:not|n['’]?t)|no) (?:comment|opinion|judge|speak)"
    r"(?: (?:on|about|of|to|for))?(?: [\w'-]+){1,3})|"
    r"(?P<question>(?:(?<=[.!?\n])|\A) *(?:is|are|do|does|can|could|has|have|will) "
    r"(?:there|it|you|they|we|i|any\w*|this|the)\b(?! (?:believe|imagine))[^.!?\n]*\?)|"
    r"(?P<quoted>(?:\bfinal decision\b|\baspects present in [^.:\n]{0,40}\bare\b|\bthe label is\b|\bundecided:|"
    r"\b(?:label|mark|classify) (?:this|it|them|all|everything)(?: \w+){0,2} (?:as|present)\b)[^\n]*|"
    r"\"labels?\"\s*:[^\n\]]*|#\w+)"
)
# For a choice only: "not good" does not support a label that lists "good", but it does mention the topic.
_NEGATED = r"|(?P<negated>(?:\b(?:no|not|never|without|nor|neither|hardly|cannot)|n['’]t)\b(?:[ \t-]+[\w'’]+){1,3})"
_OF_LABELS, _OF_CHOICE = (re.compile(pattern, re.IGNORECASE) for pattern in (_PASSAGES, _PASSAGES + _NEGATED))


@dataclass(frozen=True, slots=True)
class Hit:
    """A term found in the text at ``start`` to ``end``.

    ``doubt`` ends the sentence "the word is ..." and is empty without a doubt.
    """

    term: Term
    start: int
    end: int
    doubt: str

    @property
    def carries(self) -> bool:
        """True if the word alone is enough for its label."""
        return self.term.carries and not self.doubt

    @property
    def strength(self) -> float:
        """Weight of the term, reduced if the hit is weak."""
        return (1.0 if self.term.listed else DERIVED_WEIGHT) * (1.0 if self.carries else WEAK_FACTOR)


@dataclass(frozen=True)
class TextEvidence:
    """The evidence in a text: each label's hits in order of appearance. Labels are identified by their number.

    All roles share it, so scores are computed once. ``english`` is None for a text without a known word, and False for
    one in another language; then only listed words are looked for. ``probabilities`` has those of the labels by
    vectors, 0 for one that cannot be compared, and is empty without vectors.
    """

    lexicon: Lexicon
    text: str
    hits: tuple[tuple[Hit, ...], ...]
    english: bool | None
    probabilities: tuple[float, ...] = ()

    @cached_property
    def undoubted(self) -> TextEvidence:
        """The same hits without their doubts."""
        return replace(self, hits=tuple(tuple(replace(hit, doubt="") for hit in hits) for hits in self.hits))

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """The score of each label; from ``THRESHOLD`` on it is present."""
        several = self.lexicon.codebook.kind == "multilabel"
        scores = list(map(_score, self.hits))
        if several and self.probabilities:
            scores = list(map(_beside_vectors, scores, self.probabilities))
        if not (any(score >= THRESHOLD for score in scores) if several else any(scores)):
            minimum = MIN_VECTOR_PROBABILITY if several else max(self.probabilities, default=0.0)
            present = [number for number, chance in enumerate(self.probabilities) if chance >= minimum > 0]
            if not present and self.english and self.lexicon.rest_label is not None:
                present = [self.lexicon.rest_label]
            for number in present:
                scores[number] = max(scores[number], DERIVED_WEIGHT)
        return tuple(scores)

    def present(self, numbers: Iterable[int]) -> set[int]:
        """Return the labels that words select: those present, or the one of these labels with most words, if any."""
        if self.lexicon.codebook.kind != "choice":
            return {number for number, score in enumerate(self.scores) if score >= THRESHOLD}
        firsts = [hits[0].start if hits else 0 for hits in self.hits]
        ranks = [(self.scores[n], len(self.hits[n]), -firsts[n], -n) for n in numbers if self.scores[n]]
        return {-max(ranks)[-1]} if ranks else set()

    def quote(self, hit: Hit) -> str:
        """Return the clause around a hit as in the text, without a line break or double quotation mark."""
        return quote_around(self.text, hit.start, hit.end)

    def word(self, hit: Hit) -> str:
        """Return the words that were hit, in lower case."""
        return " ".join(self.text[hit.start : hit.end].lower().split())


def _score(hits: Iterable[Hit]) -> float:
    """Return the score of a label with these hits, from the strength of each of its words."""
    strengths: dict[frozenset[str], float] = defaultdict(float)
    for hit in hits:
        strengths[hit.term.key] = max(strengths[hit.term.key], hit.strength)
    strongest, *further = sorted(strengths.values(), reverse=True) or [0.0]
    return strongest + FURTHER_FACTOR * sum(strength for strength in further if strength >= THRESHOLD)


def _beside_vectors(score: float, chance: float) -> float:
    """Return the score of a label by words and by its probability by vectors, 0 if it cannot be compared."""
    gain = _log_odds(chance) - _log_odds(UNRELATED_PROBABILITY) if chance else 0.0
    return max(0.0, score + VECTOR_WEIGHT * gain)


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(chance / (1 - chance))


_Match: TypeAlias = tuple[Term, int, int]
"""A term, and the positions of its first and last token in the text."""


def find_evidence(lexicon: Lexicon, text: str, label_probabilities: LabelProbabilities | None = None) -> TextEvidence:
    """Return the evidence in a text, with that of vectors if ``label_probabilities`` returns probabilities by vectors.

    ``label_probabilities`` is not called for ratings, nor for a choice with words.
    """
    evidence, kind = _find_words(lexicon, text), lexicon.codebook.kind
    if label_probabilities is None or kind == "rating" or not text.strip() or (kind == "choice" and any(evidence.hits)):
        return evidence
    return replace(evidence, probabilities=tuple(label_probabilities(lexicon.codebook, text)))


@lru_cache(maxsize=256)
def _find_words(lexicon: Lexicon, text: str) -> TextEvidence:
    """Return the evidence of words. Cached, because several roles read the same text in a row."""
    tokens = tokenise(text)
    english = is_english({word for word, _, _ in tokens})
    matches = [match for match in _matches(lexicon.index, text, tokens) if match[0].listed or english is not False]
    hits: list[list[Hit]] = [[] for _ in lexicon.codebook.labels]
    for hit in sorted(_hits(lexicon, text, tokens, matches), key=lambda hit: hit.start):
        hits[hit.term.label].append(hit)
    return TextEvidence(lexicon, text, tuple(map(tuple, hits)), english)


def _matches(index: Mapping[str, list[Term]], text: str, tokens: Sequence[Token]) -> Iterator[_Match]:
    """Yield the terms found, with only spaces and hyphens between the words of a phrase."""
    for position, (word, _, _) in enumerate(tokens):
        for term in index.get(word, ()):
            last = position + len(term.pattern) - 1
            # nearly all phrases fail at their last word
            if last == position or (last < len(tokens) and tokens[last][0] in term.pattern[-1]):
                phrase = tokens[position : last + 1]
                gaps = (_GAP.fullmatch(text, token[2], following[1]) for token, following in pairwise(phrase))
                if all(token[0] in step for token, step in zip(phrase, term.pattern, strict=True)) and all(gaps):
                    yield term, position, last


def _hits(lexicon: Lexicon, text: str, tokens: Sequence[Token], matches: Iterable[_Match]) -> Iterator[Hit]:
    """Yield the hits among the matches: of each label, the longest term at a token, and of these the strongest."""
    passages = list((_OF_CHOICE if lexicon.codebook.kind == "choice" else _OF_LABELS).finditer(text))
    longest: dict[int, _Match] = {}  # by position
    taken: set[tuple[int, int]] = set()
    words: dict[Span, set[str]] = defaultdict(set)
    for word, start, _ in tokens:
        words[_clause_at(text, start)].add(word)
    for match in sorted(matches, key=lambda match: (match[1] - match[2], not match[0].listed, not match[0].carries)):
        term, first, last = match
        places = [(term.label, position) for position in range(first, last + 1)]
        if taken.issuperset(places):
            continue
        taken.update(places)
        for _, position in places:
            longest.setdefault(position, match)
        if term.label != NO_LABEL:
            start, end = tokens[first][1], tokens[last][2]
            before = bisect_right(passages, start, key=re.Match.start) - 1
            passage = passages[before] if before >= 0 and start < passages[before].end() else None
            doubt = next(_doubts(lexicon, match, longest[first], words[_clause_at(text, start)], passage), "")
            yield Hit(term, start, end, doubt)


def _doubts(
    lexicon: Lexicon, match: _Match, longest: _Match, words: Set[str], passage: re.Match[str] | None
) -> Iterator[str]:
    """Yield the doubts about a hit that is inside a longer phrase, in a clause of some words, and in a passage.

    A word of an exclude example is in doubt if half of the example's other words are in the clause. A derived phrase
    does not outweigh a listed word.
    """
    (term, first, last), (phrase, start, end) = match, longest
    for example, content in lexicon.exclusions[term.label]:
        other_words = [forms for forms in content if all(forms.isdisjoint(step) for step in term.pattern)]
        shared = sum(not forms.isdisjoint(words) for forms in other_words)
        if len(other_words) < len(content) and shared * 2 >= len(other_words):
            yield f"used as in the exclude example: {_plain(example)}"
    if end - start > last - first and end >= last and (phrase.listed or not term.listed):
        if phrase.label == NO_LABEL:
            yield f"part of a set phrase: {phrase.text}"
        else:
            yield f"part of {_plain(phrase.text)}, which belongs to {lexicon.codebook.names[phrase.label]}"
    # A label that lists "next door" or "nearby" is about just such places.
    if passage is not None and (passage.lastgroup != "elsewhere" or term.label not in lexicon.about_places):
        yield _REASONS[str(passage.lastgroup)]


def _plain(text: str) -> str:
    return " ".join(text.translate(dict.fromkeys(map(ord, "\"“”„«»'‘’"), " ")).split())


# -- Words found, for other packages


def find_keywords(keywords: tuple[str, ...], text: str) -> list[tuple[int, int, int]]:
    """Return the number of each keyword in a text, its start and its end. Each is looked for apart from the others."""
    tokens = tokenise(text)
    matches = _matches(index_keywords(keywords), text, tokens)
    return [(term.label, tokens[first][1], tokens[last][2]) for term, first, last in matches]


def select(codebook: Codebook, text: str) -> frozenset[str]:
    """Return the ids of the labels that the words alone select: those present, or the chosen one if there is one."""
    present = find_evidence(lexicon_of(codebook), text).present(range(len(codebook.labels)))
    return frozenset(codebook.labels[number].id for number in present)


def example(codebook: Codebook, text: str, label_probabilities: LabelProbabilities | None = None) -> ClassifierInput:
    """Return a text with the evidence from which the classifier starts, as by ``find_evidence``."""
    evidence = find_evidence(lexicon_of(codebook), text, label_probabilities)
    words: dict[tuple[int, str], float] = {}
    for hit in (hit for label_hits in evidence.hits for hit in label_hits):
        word = hit.term.label, hit.term.text.lower()
        words[word] = max(words.get(word, 0.0), WEAK_FACTOR if hit.doubt else 1.0)
    prior = evidence.scores
    if codebook.kind == "multilabel":
        prior = tuple((STEEPNESS if score >= THRESHOLD else STEEPNESS_BELOW) * (score - THRESHOLD) for score in prior)
    elif codebook.kind == "choice":
        prior = tuple(math.log(score + CHOICE_SMOOTHING) for score in prior)
    return ClassifierInput(text, prior, words)


CACHED = 64
"""Codebooks and texts whose results are kept: several roles read the same text in a row."""
INVERSE_PENALTY = 10.0  # vectors have length 1, so that weights of about 3 tell two words of different labels apart


def definition_probabilities(embed: Embed) -> LabelProbabilities:
    """Return the function that compares texts with definitions by the vectors of ``embed``; it raises what that raises.

    Thread-safe. Each text of a definition is embedded once for all codebooks, which share most of them.
    """
    lock = Lock()
    vectors: dict[str, Any] = {}

    @lru_cache(maxsize=CACHED)
    def train(codebook: Codebook) -> Any:
        """Return the model, whose first classes are the labels that can be compared; None for a single class."""
        from sklearn.linear_model import LogisticRegression

        pairs = definitions(codebook)
        if len({number for number, _ in pairs}) < 2:
            return None
        if new := list(dict.fromkeys(text for _, text in pairs if text not in vectors)):
            vectors.update(zip(new, normalised(embed(new)), strict=True))
        # balanced, because the length of a list tells how much somebody wrote, and not how frequent a label is
        model = LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", max_iter=1000)
        return model.fit(np.stack([vectors[text] for _, text in pairs]), [number for number, _ in pairs])

    @lru_cache(maxsize=CACHED)
    def probabilities(codebook: Codebook, text: str) -> tuple[float, ...]:
        with lock:  # many documents start at once, and all of them would embed the definitions
            model = train(codebook)
        if model is None:
            return (0.0,) * len(codebook.labels)
        chances = dict(zip(model.classes_, model.predict_proba(normalised(embed([text])))[0].tolist(), strict=True))
        return tuple(chances.get(number, 0.0) for number in range(len(codebook.labels)))

    return probabilities
