"""Evidence for the labels of a codebook in a text: words found, doubts about them, and scores.

The built-in model argues from this evidence, and the trained classifier starts from it. A label's words come from two
sources. Its author listed its keywords and its name; the words of its description and of its include examples are
derived. A listed word carries its label, and so does a common word of an aspect of its name ("price"). Derived words
carry a label that has few keywords; beside a list they only support it, because many words of a definition name what an
aspect is found on ("how clean the rooms are").

A hit is doubted if it is part of another label's phrase or of a set phrase, in a clause like one of the label's exclude
examples, about another place, about something that was not tried, in a question for information, or in quoted labels.
A doubted hit does not carry a label. Weak hits, doubted or supporting, only raise the probability of their label.

A text in which no word carries any label has its fallback: the labels that vectors of the definitions name, if there
are vectors, else the label for the rest ("Miscellaneous: anything else"), if the codebook has one.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

from core.baseline.word_forms import (
    CATCH_ALL_NAMES,
    FOREIGN_WORDS,
    FUNCTION_WORDS,
    GENERIC_WORDS,
    IDIOMS,
    NEGATIONS,
    Token,
    content_words,
    forms,
    starters,
    tokens,
)
from core.classifier.classifier import Example
from core.codebook import Codebook, Kind, Label, normalise

Source: TypeAlias = Literal["keyword", "name", "common", "definition", "example", "idiom"]
Span: TypeAlias = tuple[int, int]
Exclusion: TypeAlias = tuple[str, tuple[frozenset[str], ...]]
"""An exclude example of a label: its text, and the forms of each of its content words."""
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
# Probability by vectors from which a label is present in a text without a word for it: the reason is that of the
# threshold of the classifier, and from .3 to .6 there was hardly a difference.
NEAR = 0.4
CHOICE_SMOOTHING = 0.25  # added to the score of every label of a choice: one listed word makes it 5 times as likely

# Words of a description carry a label with fewer keywords than this, because such a list may have forgotten some. Words
# of examples, most of which are incidental, carry only a label that has no other word to look for but its name.
FULL_LIST = 20

NO_LABEL = -1  # label number of an idiom
MAX_WORD_GAP = 3  # characters between the words of a phrase
MAX_QUOTE_CHARACTERS = 160
MIN_CLAUSE_CHARACTERS = 24  # a clause is not cut at a comma closer to its ends


@dataclass(frozen=True)
class Term:
    """A word or phrase that indicates a label (by number). ``pattern`` has the admissible forms of each token.

    ``carries`` is False for a derived word that only supports its label.
    """

    label: int
    text: str
    source: Source
    pattern: tuple[frozenset[str], ...]
    carries: bool = True

    @cached_property
    def key(self) -> frozenset[str]:
        """The forms of a word, the text of a phrase: terms with the same key are the same word or phrase."""
        alone = len(self.pattern) == 1
        return self.pattern[0] if alone else frozenset({" ".join(min(step) for step in self.pattern)})

    @cached_property
    def slot(self) -> tuple[int, frozenset[str]]:
        """A text has one hit for terms with the same slot at a token: the single words of a label, or one phrase."""
        return self.label, self.key if len(self.pattern) > 1 else frozenset()

    @cached_property
    def listed(self) -> bool:
        """True if the codebook's author listed it: a keyword or the label's name."""
        return self.source in ("keyword", "name")


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All terms of a codebook. ``usable`` labels have a word to look for."""

    codebook: Codebook
    terms: tuple[Term, ...]
    exclusions: tuple[tuple[Exclusion, ...], ...]
    usable: tuple[bool, ...]
    rest: int | None
    """Number of the label for what no other label covers."""

    @cached_property
    def index(self) -> Mapping[str, tuple[Term, ...]]:
        """The terms by the forms of their first token."""
        index: dict[str, tuple[Term, ...]] = {}
        for term in sorted(self.terms, key=lambda term: (not term.listed, not term.carries)):
            alone = (term,)
            # of the single words of a label that a token fits, only the strongest is a hit
            for form in term.pattern[0]:
                known = index.setdefault(form, alone)
                if known is not alone and all(one.slot != term.slot for one in known):
                    index[form] = known + alone
        return index


# -- Words of a codebook

_SENTENCE = re.compile(r"[.;:!?\n]+(?=\s|$)")
_DENIAL = re.compile(
    r"\b(?:(?:is|are) (?:not|no)|(?:do|does|should|must|may) not (?:count|belong|include|qualify|apply|fall|be|mean)|"
    r"doesn't count|don't count|isn't|aren't|says? nothing|not enough|neither (?:is|are|do|does))\b",
    re.IGNORECASE,
)
"""Makes a sentence of a description one about what does not count."""
_FRAME = re.compile(
    r"\bhow (?:(?!(?:the|a|an|their|its|this|that|they|it)\b)\w+[,/]? ){1,6}?(?:the|a|an|their|its|this)\b"
    r"(?P<subject>[^.;:]*?)(?= (?:is|are|was|were|feels?|looks?|seems?)\b|[.;:]|$)",
    re.IGNORECASE,
)
"""The subject of "how clean or dirty the rooms are": the adjectives are the aspect, the subject merely has it."""


_REST = re.compile(
    r"\b(?:any|every)thing (?:else|(?:that|which)\b[^.]{0,30}? (?:not|none)|not|beyond|outside)\b|"
    r"(?:\bnot|n['’]t) (?:\w+ )?(?:fit|belong|go|fall|covered|listed|mentioned)(?: in)? (?:elsewhere|anywhere else)\b|"
    r"\b(?:all|any|the) (?:the )?rest\b|\bno other (?:category|aspect|label|topic)\b|"
    r"(?:\b(?:none|outside|instead|other than|neither|not)\b|n['’]t\b)(?: \w+){0,6}? (?:"
    r"(?:other|above|remaining|listed|defined|preceding|previous|these|those|any)(?: \w+)? "
    r"(?:categor\w+|aspects?|labels?|topics?|classes|ones)|(?:the )?(?:others|above|rest)\b(?! \w))",
    re.IGNORECASE,
)
"""Makes a description one of what the other labels leave: "anything else", "fits none of the other categories"."""


def is_rest(codebook: Codebook, label: Label) -> bool:
    """Return True if a label is for what the others leave, by its description or by a part of its name.

    "Other" alone says too little: it stays undecided, as its author may have meant to add words. A label about a common
    aspect ("Facilities: pool, gym and everything else") is never the rest.
    """
    if codebook.kind != "multilabel" or len(codebook.labels) < 2 or starters(label.name):
        return False
    parts = [part for part in re.split(r"[/_&,+]", normalise(label.name)) if part.strip()]
    general = len(parts) > 1 and any(part.strip() in CATCH_ALL_NAMES for part in parts)
    return general or bool(_REST.search(label.description))


@lru_cache(maxsize=64)
def lexicon_of(codebook: Codebook) -> Lexicon:
    """Return the lexicon of a codebook; the same object for an equal codebook."""
    labels, numbers = codebook.labels, range(len(codebook.labels))
    everywhere = frozenset[str]().union(*(forms(word) for word, _, _ in tokens(f"{codebook.unit} {codebook.domain}")))
    rest = next((number for number in numbers if is_rest(codebook, labels[number])), None)
    listed = [term for number in numbers for term in _listed(number, labels[number], codebook.kind)]
    derived = [
        term
        for number in numbers
        for term in (*_common(number, codebook.names, labels[number], codebook.kind), *_derived(number, labels[number]))
    ]
    own, several = _words_by_label(listed, len(labels)), _in_several(_words_by_label(derived, len(labels)))
    contested, every = _in_several(own), set[str]().union(*own)
    elsewhere = [contested.union(every - words) for words in own]
    terms, defined = list(listed), {term.label for term in listed if term.source == "keyword"}
    for term in derived:
        # Words of the unit and the domain are in every document, and a word that another label lists belongs to that.
        if term.key.isdisjoint(everywhere) and term.key.isdisjoint(elsewhere[term.label]):
            spare = term.label == rest or (term.source == "example" and term.label in defined)
            decides = term.key.isdisjoint(several)  # a word of several definitions decides for none
            carries = term.carries and decides and not spare
            terms.append(term if carries == term.carries else replace(term, carries=carries))
            if carries and term.source != "example":
                defined.add(term.label)
    found = {term.label for term in terms}
    usable = tuple(number == rest or number in found for number in numbers)
    terms += [term for idiom in IDIOMS for term in _terms(NO_LABEL, idiom, "idiom")]
    return Lexicon(
        codebook,
        tuple(terms),
        tuple(tuple(_exclusions(label, everywhere)) for label in labels),
        usable,
        rest,
    )


def changed_words(before: Lexicon, after: Lexicon) -> frozenset[str]:
    """Return the words of which a text must contain one to have other evidence in ``after`` than in ``before``."""
    known = [
        {(term.label, term.text, term.source, term.carries): term for term in one.terms} for one in (before, after)
    ]
    differing = known[0].keys() ^ known[1].keys()
    found = {word for one in known for key in differing & one.keys() for word in one[key].pattern[0]}
    excluded = [{(n, each) for n, own in enumerate(book.exclusions) for each in own} for book in (before, after)]
    return frozenset(found.union(*(step for _, (_, words) in excluded[0] ^ excluded[1] for step in words)))


def _words_by_label(terms: Iterable[Term], count: int) -> list[set[str]]:
    """Return the words of the terms of each label."""
    words: list[set[str]] = [set() for _ in range(count)]
    for term in terms:
        words[term.label] |= term.key
    return words


def _in_several(words: Iterable[Iterable[str]]) -> set[str]:
    """Return the words of more than one label."""
    return {word for word, count in Counter(word for own in words for word in own).items() if count > 1}


@lru_cache(maxsize=8192)  # most terms of a changed codebook are the same
def _terms(label: int, text: str, source: Source) -> tuple[Term, ...]:
    """Return the term for a listed text; none if it has no word to look for."""
    found = [token for token, _, _ in tokens(text)]
    if found and (len(found) > 1 or found[0] not in FUNCTION_WORDS):
        return (Term(label, text, source, tuple(map(forms, found))),)
    return ()


def _listed(number: int, label: Label, kind: Kind) -> Iterator[Term]:
    """Yield the terms that the label's author listed, and the label's own name.

    A name such as "other" or "overall" is not a term of a label, but it is of a dimension: "Overall" is rated, too.
    """
    for keyword in label.keywords:
        yield from _terms(number, keyword, "keyword")
    if kind != "rating" and normalise(label.name) in CATCH_ALL_NAMES:
        return
    name = [token for token, _, _ in tokens(label.name)]
    content = [word for word in name if word not in FUNCTION_WORDS]
    if len(name) > 1:
        yield from _terms(number, label.name, "name")
    for word in content:
        if len(content) == 1 or (len(content) <= 3 and word not in GENERIC_WORDS and len(word) > 1):
            yield from _terms(number, word, "name")


@lru_cache(maxsize=256)
def _common(number: int, names: tuple[str, ...], label: Label, kind: Kind) -> tuple[Term, ...]:
    """Return the common words of an aspect of a label's name, without those that its definition denies.

    None if the label lists half of them or more: its author took over the list, and what was deleted stays deleted.
    """
    words, listed = starters(label.name, (*names[:number], *names[number + 1 :])), set(map(normalise, label.keywords))
    if kind == "rating" or 2 * sum(normalise(word) in listed for word in words) >= len(words):
        return ()
    counted, whole = " ".join(_counted(label.description)), " ".join((label.description, *label.exclude))
    denied = {word for word, _, _ in tokens(whole)}.difference(word for word, _, _ in tokens(counted))
    terms = (term for word in words for term in _terms(number, word, "common"))
    return tuple(term for term in terms if all(denied.isdisjoint(step) for step in term.pattern))


def _counted(description: str) -> Iterator[str]:
    """Yield the parts of a description that say what counts: no denying sentence, and nothing after "not"."""
    for sentence in _SENTENCE.split(description):
        if not _DENIAL.search(sentence):
            yield sentence[: next((start for word, start, _ in tokens(sentence) if word in NEGATIONS), len(sentence))]


def _derived(number: int, label: Label) -> Iterator[Term]:
    """Yield the words of a description, then those of the include examples."""
    for sentence in _counted(label.description):
        own = _FRAME.sub(lambda match: match[0].removesuffix(match["subject"]), sentence)
        subjects = " ; ".join(match["subject"] for match in _FRAME.finditer(sentence))
        for text, carries in ((own, len(label.keywords) < FULL_LIST), (subjects, False)):
            yield from (Term(number, word, "definition", (forms(word),), carries) for word in content_words(text))
    yield from (Term(number, word, "example", (forms(word),)) for text in label.include for word in content_words(text))


def _exclusions(label: Label, everywhere: frozenset[str]) -> Iterator[Exclusion]:
    for example in label.exclude:
        words = dict.fromkeys(word for word in content_words(example) if word not in everywhere)
        if words:
            yield example, tuple(map(forms, words))


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
    only listed words are looked for. ``fallback`` has the scores of a text in which no word carries a label,
    ``near`` the probabilities of the labels by vectors; both are empty where there are none.
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
        return replace(self, hits=tuple(tuple(replace(hit, doubt="") for hit in own) for own in self.hits))

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """The score of each label; from ``THRESHOLD`` on it is present."""
        own = tuple(map(_score, self.hits))
        return tuple(map(max, own, self.fallback)) if self.fallback and not _is_carried(self, own) else own

    @cached_property
    def ranked(self) -> tuple[int, ...]:
        """The labels with a score, by score, number of hits, and first position in the text."""
        found = [
            (-self.scores[n], -len(own), own[0].start if own else 0, n)
            for n, own in enumerate(self.hits)
            if self.scores[n]
        ]
        return tuple(number for *_, number in sorted(found))

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
    best, *others = sorted(strengths.values(), reverse=True) or [0.0]
    return best + FURTHER_FACTOR * sum(each for each in others if each >= THRESHOLD)


def _is_carried(evidence: Evidence, scores: Sequence[float]) -> bool:
    """Return True if words decide: any word for a choice, else one that carries a label."""
    least = 0.0 if evidence.lexicon.codebook.kind == "choice" else THRESHOLD - 1e-9
    return max(scores, default=0.0) > least


def with_fallback(evidence: Evidence, near: Near | None = None) -> Evidence:
    """Return the evidence with the scores of a text in which no word carries a label.

    ``near`` returns the probabilities of labels by vectors. It is called only for such a text, and for no ratings.
    """
    codebook, text, rest = evidence.lexicon.codebook, evidence.text, evidence.lexicon.rest
    if codebook.kind == "rating" or not any(map(str.isalpha, text)):
        return evidence
    if _is_carried(evidence, tuple(map(_score, evidence.hits))):
        return evidence
    chances = tuple(near(codebook, text)) if near is not None else ()
    least = max(chances, default=0.0) if codebook.kind == "choice" else NEAR
    found = [chance >= least > 0 for chance in chances] or [False] * len(evidence.hits)
    if rest is not None and not any(found) and _looks_english(text) and not evidence.foreign:
        found[rest] = True
    return replace(evidence, fallback=tuple(DERIVED_WEIGHT * each for each in found), near=chances)


def _looks_english(text: str) -> bool:
    """Return True if a text has an English function word or a common word of judgement."""
    return any(word in FUNCTION_WORDS or word in GENERIC_WORDS for word, _, _ in tokens(text))


def narrowed(evidence: Evidence, part: Codebook) -> Evidence:
    """Return the evidence for a part of its codebook. The fallback is that of the whole codebook."""
    whole = evidence.lexicon.codebook
    if part is whole:
        return evidence
    places = [[label.id for label in whole.labels].index(label.id) for label in part.labels]
    kept = ([own[place] for place in places] if own else () for own in (evidence.fallback, evidence.near))
    fallback, near = map(tuple, kept)
    return replace(find_evidence(lexicon_of(part), evidence.text), fallback=fallback, near=near)


_Match: TypeAlias = tuple[Term, int, int]


@lru_cache(maxsize=256)
def find_evidence(lexicon: Lexicon, text: str) -> Evidence:
    """Return the evidence in a text. Cached, because several roles read the same text in a row."""
    found = tokens(text)
    seen = {word for word, _, _ in found}
    foreign = _are_foreign(seen)
    matches = [
        match for match in _matches(lexicon, text, found) if match[0].listed or not foreign or match[0].label < 0
    ]
    hits: list[list[Hit]] = [[] for _ in lexicon.usable]
    if all(term.label == NO_LABEL for term, _, _ in matches):
        return with_fallback(Evidence(lexicon, text, (), tuple(map(tuple, hits)), foreign))
    clauses = tuple(clauses_of(text))
    around: dict[int, list[_Match]] = {}
    for match in matches:
        if match[2] > match[1]:
            for position in range(match[1], match[2] + 1):
                around.setdefault(position, []).append(match)
    rules = [_ELSEWHERE, _UNTRIED, _ASKED, _QUOTED] + [_NEGATED] * (lexicon.codebook.kind == "choice")
    doubtful = [
        (match.start(), match.end(), rule)
        for rule in rules
        if not rule.triggers.isdisjoint(seen)
        for match in rule.pattern.finditer(text)
    ]
    doubtful += [(mark.end(), mark.end() + 1, _QUOTED) for mark in re.finditer("#", text)]
    rules_at: dict[int, list[_Doubt]] = {}
    for start, end, rule in doubtful:
        for position in range(*(bisect_left(found, edge, key=itemgetter(1)) for edge in (start, end))):
            rules_at.setdefault(position, []).append(rule)
    # A label that lists "next door" or "nearby" is about just such places.
    places = {term.label for term, first, _ in matches if term.listed and found[first][0] in _ELSEWHERE.triggers}
    words_of: dict[int, set[str]] = {}
    for term, first, last in matches:
        longer = [one for one, a, b in around.get(first, ()) if a <= first and last <= b and b - a > last - first]
        if term.label == NO_LABEL or any(one.label == term.label for one in longer):
            continue
        start, end = found[first][1], found[last][2]
        clause = max(0, bisect_right(clauses, (start, len(text))) - 1)
        if clause not in words_of:
            at, to = (bisect_left(found, edge, key=itemgetter(1)) for edge in clauses[clause])
            words_of[clause] = {word for word, _, _ in found[at:to]}
        near = (rule for rule in rules_at.get(first, ()) if rule is not _ELSEWHERE or term.label not in places)
        doubt = (
            _exclusion_doubt(lexicon, term, words_of[clause])
            or _phrase_doubt(lexicon, term, longer)
            or next((rule.reason for rule in near), "")
        )
        hits[term.label].append(Hit(term, start, end, clause, doubt))
    return with_fallback(Evidence(lexicon, text, clauses, tuple(map(tuple, hits)), foreign))


def _are_foreign(seen: set[str]) -> bool:
    """Return True if words of another language or another script prevail among the words of a text."""
    other = sum(word in FOREIGN_WORDS or word[0] > "\u024f" for word in seen)
    return other > 1 and other > len(seen & FUNCTION_WORDS)


def _matches(lexicon: Lexicon, text: str, found: Sequence[Token]) -> Iterator[_Match]:
    for position, (word, _, _) in enumerate(found):
        for term in lexicon.index.get(word, ()):
            last = position + len(term.pattern) - 1
            if (
                last == position
                or (
                    last < len(found)
                    and found[last][0] in term.pattern[-1]  # nearly all others fail here
                    and _is_phrase(term, text, found[position : last + 1])
                )
            ):
                yield term, position, last


def _is_phrase(term: Term, text: str, found: Sequence[Token]) -> bool:
    """Return True if the tokens are the term's phrase, with only spaces and hyphens between them."""
    for (word, _, _), step in zip(found, term.pattern, strict=True):
        if word not in step:
            return False
    gaps = (text[end:start] for (_, _, end), (_, start, _) in pairwise(found))
    return all(len(gap) <= MAX_WORD_GAP and not gap.strip(" \t\r\n-–'’`/&") for gap in gaps)


def _exclusion_doubt(lexicon: Lexicon, term: Term, clause: AbstractSet[str]) -> str:
    """Return the doubt about a hit on a word of an exclude example, half of whose other words are in the clause."""
    for example, content in lexicon.exclusions[term.label]:
        others = [forms for forms in content if all(forms.isdisjoint(step) for step in term.pattern)]
        shared = sum(not forms.isdisjoint(clause) for forms in others)
        if len(others) < len(content) and shared * 2 >= len(others):
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


# -- A codebook's words for other packages

RATING_NOTICE = (
    "The word-list baseline rates by counting the words of a dimension in the text, and the words that the text shares "
    "with its other fields. It does not understand the text."
)


def labels_without_words(codebook: Codebook) -> tuple[Label, ...]:
    """Return the labels that the built-in model cannot look for."""
    return tuple(
        label for label, usable in zip(codebook.labels, lexicon_of(codebook).usable, strict=True) if not usable
    )


def describe(codebook: Codebook) -> list[str]:
    """Return a sentence for each label that the built-in model cannot look for, and its notice on ratings."""
    consequence = "can never be chosen" if codebook.kind == "choice" else "stays unresolved"
    found = [
        f"'{label.name}' has no word that the word-list baseline could look for and {consequence}: add keywords, or "
        "typical things to its description."
        for label in labels_without_words(codebook)
    ]
    return [RATING_NOTICE, *found] if codebook.kind == "rating" else found


def keyword_spans(codebook: Codebook, text: str) -> Mapping[str, tuple[Span, ...]]:
    """Return the positions of each label's keywords in a text, as offsets by label id; empty if there are none."""
    found = find_evidence(lexicon_of(codebook), text).hits
    return {
        label.id: tuple((hit.start, hit.end) for hit in own if hit.term.source == "keyword")
        for label, own in zip(codebook.labels, found, strict=True)
    }


def is_searchable(keyword: str) -> bool:
    """Return True if texts are searched for a keyword: False for a function word such as "too"."""
    return any(_terms(0, keyword, "keyword"))


def labels_with_keywords(codebook: Codebook, text: str) -> frozenset[str]:
    """Return the ids of the labels with a keyword in a text, in doubt or not."""
    matches = _matches(lexicon_of(codebook), text, tokens(text))
    return frozenset(codebook.labels[term.label].id for term, _, _ in matches if term.source == "keyword")


def select(codebook: Codebook, text: str) -> frozenset[str]:
    """Return the ids of the labels that the words alone select: those present, or the chosen one if there is one."""
    return frozenset(codebook.labels[number].id for number in find_evidence(lexicon_of(codebook), text).selected)


def example(codebook: Codebook, text: str, near: Near | None = None) -> Example:
    """Return a text with the evidence from which the classifier starts. ``near`` is that of ``with_fallback``."""
    found = with_fallback(find_evidence(lexicon_of(codebook), text), near)
    words: dict[str, float] = {}
    for hit in (hit for own in found.hits for hit in own):
        name = hit.term.text.lower()
        words[name] = max(words.get(name, 0.0), WEAK_FACTOR if hit.doubt else 1.0)
    if codebook.kind == "multilabel":
        prior = tuple(STEEPNESS * (score - THRESHOLD) for score in found.scores)
    elif codebook.kind == "choice":
        prior = tuple(math.log(score + CHOICE_SMOOTHING) for score in found.scores)
    else:
        prior = found.scores
    return Example(text, prior, words)
