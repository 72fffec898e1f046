"""Evidence for the labels of a codebook in a text: words found, doubts about them, and scores.

The built-in model argues from this evidence, and the trained classifier starts from it. ``lexicon`` has the words that
are looked for.

A hit is doubted if it is part of another label's phrase or of a set phrase, in a clause like one of the label's exclude
examples, about another place, about something that was not tried, in a question for information, or in quoted labels.
A doubted hit does not carry a label. Weak hits, doubted or supporting, only raise the probability of their label.

If there are vectors, they raise or lower the scores of multiple labels: definitions are also training data. A logistic
regression learns the labels from the vectors of what defines them: name, description, include examples, keywords and
common words. Common aspects that no label is about are further classes, because a text without any word of the codebook
is most often about something else. Without them, two labels would share every text between them.

A text in which nothing carries any label has its fallback: the labels that vectors of the definitions name, if there
are vectors, else the label for the rest ("Miscellaneous: anything else"), if the codebook has one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from core.baseline.lexicon import (
    FOREIGN_WORDS,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    NO_LABEL,
    Lexicon,
    Term,
    Token,
    is_rest,
    lexicon_of,
    other_aspects,
    starters,
    tokenise,
)
from core.classifier.classifier import Example
from core.classifier.text_similarity import Embed, normalised
from core.codebook import Codebook, Label

Span: TypeAlias = tuple[int, int]
Near: TypeAlias = Callable[[Codebook, str], Sequence[float]]
"""Function that returns the probability of each label of a codebook for a text; all 0 if nothing can be compared."""

# Weights. A listed word has the weight 1 and is enough for its label; everything else is measured against it.
DERIVED_WEIGHT = 0.8  # enough where nothing is listed, but nobody vouched for the word
WEAK_FACTOR = 0.25  # of doubted and supporting hits: they rank above no hit and stay below THRESHOLD
FURTHER_FACTOR = 0.5  # of each word beside the strongest: words of one label often occur together, so they tell less
THRESHOLD = 0.5  # score from which a label is present: half of a listed word
# Slope of the probability over the score: 0.12 without a word, 0.5 at the threshold, 0.88 for one listed word. Measured
# shares of present labels, on 800 restaurant sentences and 96 hotel reviews: 0.06 to 0.11 without a word, 0.67 to 0.79
# with one listed word, 0.77 to 0.95 with more. The classifier corrects the rest.
STEEPNESS = 4.0
# Probability by vectors from which a label is present in a text where nothing carries a label. From .3 to .6 there was
# hardly a difference.
NEAR = 0.5
# Beside words: score for a difference of 1 in the log-odds by vectors, from those of a label that has nothing to do
# with the text and shares the probability with about a dozen subjects. So a weak hit carries its label from a
# probability of .5, a derived word does from .004, and one listed word from .0006.
NEAR_WEIGHT = 0.1
UNRELATED = 0.08
CHOICE_SMOOTHING = 0.25  # added to the score of every label of a choice: one listed word makes it 5 times as likely

MAX_WORD_GAP = 3  # characters between the words of a phrase
MAX_QUOTE_CHARACTERS = 160
MIN_CLAUSE_CHARACTERS = 24  # a clause is not cut at a comma closer to its ends


# -- Clauses, which are quoted and compared with examples

_END = re.compile(r"[.!?;…](?=\s|$)|[。！？；]|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|[\"“”„«»{}`]|\s[-–]\s|—|--+")
_JOINT = re.compile(r"[,:](?=\s)|[()\[\]，、：]|\s(?=(?:but|although|though|however|while|whereas)\s)", re.IGNORECASE)
_EDGE = " \t\u00a0.,;:!?-–"


def clauses_of(text: str) -> Iterator[Span]:
    """Yield the clauses of a text in order.

    Clauses are cut at ends of sentences, and at commas and "but" if the pieces are long enough. They are also cut at
    characters that would break a quote or start JSON: line breaks, double quotation marks, braces.
    """
    start = 0
    for mark in (*_END.finditer(text), None):
        end = mark.start() if mark else len(text)
        for joint in _JOINT.finditer(text, start, end):
            if min(joint.start() - start, end - joint.end()) >= MIN_CLAUSE_CHARACTERS:
                yield start, joint.start()
                start = joint.end()
        if end > start:
            yield start, end
        start = mark.end() if mark else end


def quote_around(text: str, start: int, end: int, clauses: Sequence[Span] | None = None) -> str:
    """Return the clause around ``start`` to ``end``; of a long clause the part around them, cut between words."""
    clauses = list(clauses_of(text)) if clauses is None else clauses
    if not clauses:
        return ""
    first, last = clauses[max(0, bisect_right(clauses, (start, len(text))) - 1)]
    end = min(end, last)
    if last - first > MAX_QUOTE_CHARACTERS:
        spare = max(0, MAX_QUOTE_CHARACTERS - (end - start)) // 2
        left, right = max(first, start - spare), min(last, end + spare)
        first = (text.find(" ", left, start) + 1 or left) if left > first else left
        gap = text.rfind(" ", end, right) if right < last else -1
        last = min(gap if gap >= 0 else right, first + MAX_QUOTE_CHARACTERS)
    return text[first:last].strip(_EDGE)


# -- Passages that put a hit in doubt


class _Doubt(NamedTuple):
    """A rule: a hit in a match of ``pattern`` is ``reason``. Searched only if one of ``triggers`` is in the text."""

    triggers: frozenset[str]
    pattern: re.Pattern[str]
    reason: str


def _doubt(triggers: str, pattern: str, reason: str) -> _Doubt:
    return _Doubt(frozenset(triggers.split()), re.compile(pattern, re.IGNORECASE), reason)


_VENUE = r"(?:restaurant|bar|caf[eé]|pub|diner|bistro|pizzeria|hotel|hostel|motel|club|shop|store|place|building)s?"
_ELSEWHERE = _doubt(
    "nearby next across down around round town neighbouring neighboring other another local elsewhere previous last",
    rf"(?:\w+ (?:at|in|from) )?(?:(?:the|a|an|some|any|this|that) )?(?:"
    rf"(?:nearby|neighbou?ring|other|another|local|previous|last) {_VENUE}\b|"
    rf"(?:\w+ )?{_VENUE} (?:right |just )?"
    r"(?:nearby|next door|across the (?:street|road)|down the (?:street|road)|a?round the corner|in town|elsewhere)\b)|"
    r"\w+ (?:elsewhere|next door)\b",
    "about another place",
)
_UNTRIED = _doubt(
    "try tried use used visit visited sample sampled comment opinion judge speak",
    r"(?:(?:did ?n[o'’]?t|did not|have ?n[o'’]?t|have not|never|yet to)(?: (?:even|really|actually|get to|got to))? "
    r"(?:try|tried|use|used|visit|visited|sample|sampled)"
    r"|(?:can ?n[o'’]?t|can not|could ?n[o'’]?t|could not|no) (?:comment|opinion|judge|speak)"
    r"(?: (?:on|about|of|to|for))?)"
    r"(?!\W+(?:\w+\W+){0,2}(?:better|such|so|worse|as)\b)(?:[ \t]+[\w'-]+){1,3}",
    "about something that was not tried",
)
_ASKED = _doubt(
    "is are do does can could has have will",
    r"(?:(?<=[.!?\n])|\A)\s*(?:is|are|do|does|can|could|has|have|will) (?:there|it|you|they|we|i|any\w*|this|the)\b"
    r"(?! (?:believe|imagine))[^.!?\n]*\?",
    "in a question, which is not evidence",
)
_QUOTED = _doubt(
    "final aspects label labels undecided mark classify",
    r"(?:final decision\b|aspects present in [^.:\n]{0,40}\bare\b|\bthe label is\b|\bundecided:|"
    r"\b(?:label|mark|classify) (?:this|it|them|all|everything)(?: \w+){0,2} (?:as|present)\b)[^\n]*|"
    r"\"labels?\"\s*:[^\n\]]*",
    "in a quoted list of labels",
)
_NEGATED = _doubt(
    "no not never without t nor neither hardly cannot",
    r"(?:\b(?:no|not|never|without|nor|neither|hardly|cannot)|n['’]t)\b(?:[ \t-]+[\w'’]+){1,3}",
    "negated",
)
"""For a choice only: "not good" is no ground for a label that lists "good", but it does mention the topic."""


# -- Evidence in a text


@dataclass(frozen=True, slots=True)
class Hit:
    """A term found in the text at ``start`` to ``end``, in clause number ``clause``.

    ``doubt`` ends the sentence "the word is ..." and is empty without a doubt.
    """

    term: Term
    start: int
    end: int
    clause: int
    doubt: str

    @property
    def strength(self) -> float:
        """Weight of the term, reduced if the hit is weak."""
        weight = 1.0 if self.term.listed else DERIVED_WEIGHT
        return weight * (WEAK_FACTOR if self.doubt or not self.term.carries else 1.0)


@dataclass(frozen=True)
class Evidence:
    """The evidence in a text: each label's hits in order of appearance. Labels are identified by their number.

    All roles share it, so scores are computed once. ``foreign`` is True for a text that does not look English; then
    only listed words are looked for. ``fallback`` has the scores of a text in which nothing carries a label, ``near``
    the probabilities of the labels by vectors, 0 for one that cannot be compared; both are empty where there are none.
    """

    lexicon: Lexicon
    text: str
    clauses: tuple[Span, ...]
    hits: tuple[tuple[Hit, ...], ...]
    foreign: bool
    fallback: tuple[float, ...] = ()
    near: tuple[float, ...] = ()

    @cached_property
    def undoubted(self) -> Evidence:
        """The same hits without their doubts."""
        return replace(
            self, hits=tuple(tuple(replace(hit, doubt="") for hit in label_hits) for label_hits in self.hits)
        )

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """The score of each label; from ``THRESHOLD`` on it is present."""
        scores = tuple(map(_score, self.hits))
        if self.near and self.lexicon.codebook.kind == "multilabel":
            scores = tuple(map(_beside_vectors, scores, self.near))
        return tuple(map(max, scores, self.fallback)) if self.fallback and not _is_carried(self, scores) else scores

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The labels with a score, by score, number of hits, and first position in the text."""
        ranks = [
            (-self.scores[n], -len(label_hits), label_hits[0].start if label_hits else 0, n)
            for n, label_hits in enumerate(self.hits)
            if self.scores[n]
        ]
        return tuple(number for *_, number in sorted(ranks))

    @cached_property
    def selected(self) -> tuple[int, ...]:
        """The labels that the words select: those present, or the chosen one if any label has a word."""
        if self.lexicon.codebook.kind == "choice":
            return self.ranked[:1]
        return tuple(number for number, score in enumerate(self.scores) if score >= THRESHOLD)

    def best(self, label: int) -> list[Hit]:
        """Return the label's hits, the strongest first."""
        return sorted(self.hits[label], key=lambda hit: (-hit.strength, hit.start))

    def quote(self, hit: Hit) -> str:
        """Return the clause around a hit as in the text, without a line break or double quotation mark."""
        return quote_around(self.text, hit.start, hit.end, self.clauses)

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
    """Return the score of a label by words and by its probability by vectors."""
    if chance == 0:
        return score
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return max(0.0, score + NEAR_WEIGHT * math.log(chance / (1 - chance) * (1 - UNRELATED) / UNRELATED))


def _is_carried(evidence: Evidence, scores: Sequence[float]) -> bool:
    """Return True if words decide: any word for a choice, else one that carries a label."""
    least = 0.0 if evidence.lexicon.codebook.kind == "choice" else THRESHOLD - 1e-9
    return max(scores, default=0.0) > least


def with_fallback(evidence: Evidence, near: Near | None = None) -> Evidence:
    """Return the evidence with that of vectors, and with the scores of a text in which nothing carries a label.

    ``near`` returns the probabilities of labels by vectors. It is not called for ratings, nor for a choice with words.
    """
    codebook, text, rest_label = evidence.lexicon.codebook, evidence.text, evidence.lexicon.rest_label
    if codebook.kind == "rating" or not any(map(str.isalpha, text)):
        return evidence
    if (near is None or codebook.kind == "choice") and _is_carried(evidence, tuple(map(_score, evidence.hits))):
        return evidence
    chances = tuple(near(codebook, text)) if near is not None else ()
    least = max(chances, default=0.0) if codebook.kind == "choice" else NEAR
    present = [chance >= least > 0 for chance in chances] or [False] * len(evidence.hits)
    if rest_label is not None and not any(present) and _looks_english(text) and not evidence.foreign:
        present[rest_label] = True
    return replace(evidence, fallback=tuple(DERIVED_WEIGHT * is_present for is_present in present), near=chances)


def _looks_english(text: str) -> bool:
    """Return True if a text has an English function word or a common word of judgement."""
    return any(word in FUNCTION_WORDS or word in GENERIC_WORDS for word, _, _ in tokenise(text))


def narrowed(evidence: Evidence, part: Codebook) -> Evidence:
    """Return the evidence for a part of its codebook. The fallback is that of the whole codebook."""
    codebook = evidence.lexicon.codebook
    if part is codebook:
        return evidence
    numbers = [[label.id for label in codebook.labels].index(label.id) for label in part.labels]
    selected = (
        [scores[number] for number in numbers] if scores else () for scores in (evidence.fallback, evidence.near)
    )
    fallback, near = map(tuple, selected)
    return replace(find_evidence(lexicon_of(part), evidence.text), fallback=fallback, near=near)


_Match: TypeAlias = tuple[Term, int, int]


@lru_cache(maxsize=256)
def find_evidence(lexicon: Lexicon, text: str) -> Evidence:
    """Return the evidence in a text. Cached, because several roles read the same text in a row."""
    tokens = tokenise(text)
    foreign = _are_foreign({word for word, _, _ in tokens})
    matches = [
        match for match in _matches(lexicon, text, tokens) if match[0].listed or not foreign or match[0].label < 0
    ]
    clauses = tuple(clauses_of(text)) if any(term.label != NO_LABEL for term, _, _ in matches) else ()
    hits: list[list[Hit]] = [[] for _ in lexicon.usable]
    for hit in _hits(lexicon, text, tokens, matches, clauses):
        hits[hit.term.label].append(hit)
    return with_fallback(Evidence(lexicon, text, clauses, tuple(map(tuple, hits)), foreign))


def _hits(
    lexicon: Lexicon, text: str, tokens: Sequence[Token], matches: Sequence[_Match], clauses: Sequence[Span]
) -> Iterator[Hit]:
    """Yield the hits among the matches in order, without those inside a longer phrase of the same label."""
    phrases: dict[int, list[_Match]] = defaultdict(list)  # by the position of each of their tokens
    for match in matches:
        if match[2] > match[1]:
            for position in range(match[1], match[2] + 1):
                phrases[position].append(match)
    doubts = _doubts_by_position(lexicon, text, tokens) if clauses else {}
    # A label that lists "next door" or "nearby" is about just such places.
    about_places = {term.label for term, first, _ in matches if term.listed and tokens[first][0] in _ELSEWHERE.triggers}
    words_of_clause: dict[int, set[str]] = {}
    for term, first, last in matches:
        longer = [
            phrase for phrase, start, end in phrases.get(first, ())
            if start <= first and last <= end and end - start > last - first
        ]  # fmt: skip
        if term.label == NO_LABEL or any(phrase.label == term.label for phrase in longer):
            continue
        start, end = tokens[first][1], tokens[last][2]
        clause = max(0, bisect_right(clauses, (start, len(text))) - 1)
        if clause not in words_of_clause:
            words_of_clause[clause] = {tokens[position][0] for position in _positions(tokens, *clauses[clause])}
        doubt = (
            _exclusion_doubt(lexicon, term, words_of_clause[clause])
            or _phrase_doubt(lexicon, term, longer)
            or next(
                (
                    rule.reason
                    for rule in doubts.get(first, ())
                    if rule is not _ELSEWHERE or term.label not in about_places
                ),
                "",
            )
        )
        yield Hit(term, start, end, clause, doubt)


def _doubts_by_position(lexicon: Lexicon, text: str, tokens: Sequence[Token]) -> Mapping[int, Sequence[_Doubt]]:
    """Return the rules that put each token in doubt, by its position."""
    words = {word for word, _, _ in tokens}
    rules = (_ELSEWHERE, _UNTRIED, _ASKED, _QUOTED, *((_NEGATED,) if lexicon.codebook.kind == "choice" else ()))
    passages = [
        (match.start(), match.end(), rule)
        for rule in rules
        if not rule.triggers.isdisjoint(words)
        for match in rule.pattern.finditer(text)
    ]
    passages += [(mark.end(), mark.end() + 1, _QUOTED) for mark in re.finditer("#", text)]
    doubts: dict[int, list[_Doubt]] = defaultdict(list)
    for start, end, rule in passages:
        for position in _positions(tokens, start, end):
            doubts[position].append(rule)
    return doubts


def _positions(tokens: Sequence[Token], start: int, end: int) -> range:
    """Return the positions of the tokens that begin between two offsets."""
    return range(*(bisect_left(tokens, offset, key=itemgetter(1)) for offset in (start, end)))


def _are_foreign(words: set[str]) -> bool:
    """Return True if words of another language or another script prevail among the words of a text."""
    other = sum(word in FOREIGN_WORDS or word[0] > "\u024f" for word in words)
    return other > 1 and other > len(words & FUNCTION_WORDS)


def _matches(lexicon: Lexicon, text: str, tokens: Sequence[Token]) -> Iterator[_Match]:
    for position, (word, _, _) in enumerate(tokens):
        for term in lexicon.index.get(word, ()):
            last = position + len(term.pattern) - 1
            if (
                last == position
                or (
                    last < len(tokens)
                    and tokens[last][0] in term.pattern[-1]  # nearly all others fail here
                    and _is_phrase(term, text, tokens[position : last + 1])
                )
            ):
                yield term, position, last


def _is_phrase(term: Term, text: str, tokens: Sequence[Token]) -> bool:
    """Return True if the tokens are the term's phrase, with only spaces and hyphens between them."""
    for (word, _, _), step in zip(tokens, term.pattern, strict=True):
        if word not in step:
            return False
    gaps = (text[end:start] for (_, _, end), (_, start, _) in pairwise(tokens))
    return all(len(gap) <= MAX_WORD_GAP and not gap.strip(" \t\r\n-–'’`/&") for gap in gaps)


def _exclusion_doubt(lexicon: Lexicon, term: Term, clause: AbstractSet[str]) -> str:
    """Return the doubt about a hit on a word of an exclude example, half of whose other words are in the clause."""
    for example, content in lexicon.exclusions[term.label]:
        other_words = [forms for forms in content if all(forms.isdisjoint(step) for step in term.pattern)]
        shared = sum(not forms.isdisjoint(clause) for forms in other_words)
        if len(other_words) < len(content) and shared * 2 >= len(other_words):
            return f"used as in the exclude example: {_plain(example)}"
    return ""


def _phrase_doubt(lexicon: Lexicon, term: Term, longer: Sequence[Term]) -> str:
    """Return the doubt about a hit inside longer phrases. A derived phrase does not outweigh a listed word."""
    for phrase in longer:
        if phrase.label == NO_LABEL:
            return f"part of a set phrase: {phrase.text}"
        if phrase.listed or not term.listed:
            return f"part of {_plain(phrase.text)}, which belongs to {lexicon.codebook.labels[phrase.label].name}"
    return ""


def _plain(text: str) -> str:
    return " ".join(text.translate(dict.fromkeys(map(ord, "\"“”„«»'‘’"), " ")).split())


# -- Words found, for other packages


def keyword_spans(codebook: Codebook, text: str) -> Mapping[str, tuple[Span, ...]]:
    """Return the positions of each label's keywords in a text, as offsets by label id; empty if there are none."""
    hits = find_evidence(lexicon_of(codebook), text).hits
    return {
        label.id: tuple((hit.start, hit.end) for hit in label_hits if hit.term.source == "keyword")
        for label, label_hits in zip(codebook.labels, hits, strict=True)
    }


def labels_with_keywords(codebook: Codebook, text: str) -> frozenset[str]:
    """Return the ids of the labels with a keyword in a text, in doubt or not."""
    matches = _matches(lexicon_of(codebook), text, tokenise(text))
    return frozenset(codebook.labels[term.label].id for term, _, _ in matches if term.source == "keyword")


def select(codebook: Codebook, text: str) -> frozenset[str]:
    """Return the ids of the labels that the words alone select: those present, or the chosen one if there is one."""
    return frozenset(codebook.labels[number].id for number in find_evidence(lexicon_of(codebook), text).selected)


def example(codebook: Codebook, text: str, near: Near | None = None) -> Example:
    """Return a text with the evidence from which the classifier starts. ``near`` is that of ``with_fallback``."""
    evidence = with_fallback(find_evidence(lexicon_of(codebook), text), near)
    words: dict[str, float] = {}
    for hit in (hit for label_hits in evidence.hits for hit in label_hits):
        name = hit.term.text.lower()
        words[name] = max(words.get(name, 0.0), WEAK_FACTOR if hit.doubt else 1.0)
    if codebook.kind == "multilabel":
        prior = tuple(STEEPNESS * (score - THRESHOLD) for score in evidence.scores)
    elif codebook.kind == "choice":
        prior = tuple(math.log(score + CHOICE_SMOOTHING) for score in evidence.scores)
    else:
        prior = evidence.scores
    return Example(text, prior, words)


CACHED = 64
"""Codebooks and texts whose results are kept: several roles read the same text in a row."""
INVERSE_PENALTY = 10.0  # vectors have length 1, so that weights of about 3 tell two words of different labels apart
ASPECT_WORDS = 40  # of a common aspect that no label is about, which stand for it: the first ones are the most typical


def definition_probabilities(embed: Embed) -> Near:
    """Return the function that compares texts with definitions by the vectors of ``embed``; it raises what that raises.

    Thread-safe. Definitions are embedded once per codebook.
    """
    lock = Lock()

    @lru_cache(maxsize=CACHED)
    def train(codebook: Codebook) -> tuple[list[int], Any]:
        """Return the numbers of the labels that can be compared, and the model, whose first classes they are."""
        from sklearn.linear_model import LogisticRegression

        labels = [number for number, label in enumerate(codebook.labels) if not is_rest(codebook, label)]
        classes = [_definition(codebook, codebook.labels[number]) for number in labels]
        definition_texts = {text.casefold() for texts in classes for text in texts}
        other_classes = other_aspects(codebook.names) if codebook.kind == "multilabel" else []
        classes += [
            [word for word in words[:ASPECT_WORDS] if word.casefold() not in definition_texts]
            for words in other_classes
        ]
        texts = [text for class_texts in classes for text in class_texts]
        answers = [number for number, class_texts in enumerate(classes) for _ in class_texts]
        # balanced, because the length of a list tells how much somebody wrote, and not how frequent a label is
        model = LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", max_iter=1000)
        return labels, model.fit(normalised(embed(texts)), answers) if len(set(answers)) > 1 else None

    @lru_cache(maxsize=CACHED)
    def probabilities(codebook: Codebook, text: str) -> tuple[float, ...]:
        with lock:  # many documents start at once, and all of them would embed the definitions
            labels, model = train(codebook)
        result = [0.0] * len(codebook.labels)
        if model is not None and text.strip():
            for number, chance in zip(labels, model.predict_proba(normalised(embed([text])))[0], strict=False):
                result[number] = float(chance)
        return tuple(result)

    return probabilities


def _definition(codebook: Codebook, label: Label) -> list[str]:
    common_words = starters(label.name, (other.name for other in codebook.labels if other.id != label.id))
    described = f"{label.name}: {label.description}" if label.description else ""
    texts = (label.name, described, *label.include, *label.keywords, *common_words)
    return list(dict.fromkeys(text for text in texts if text.strip()))
