"""The words of a codebook that the built-in model looks for.

A label's words come from two sources. Its author listed its keywords and its name; the words of its description and of
its include examples are derived. A listed word carries its label, and so does a common word of an aspect of its name
("price"). Derived words carry a label that has few better words; beside others they only support it, because many words
of a definition name what an aspect is found on ("how clean the rooms are").

No stemmer is used, because a stemmer merges words ("wine" and "win"). The forms of the few words of a codebook are
written out instead, so that each token of a text needs one dictionary look-up.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import yaml

from core.codebook import Codebook, Kind, Label, normalise
from core.files import shipped_folder

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

Token: TypeAlias = tuple[str, int, int]
"""A token as it is compared, and its offsets in the text."""

Aspect: TypeAlias = tuple[str, tuple[str, ...], str]
"""A common aspect: its name, its starter keywords and the name of the aspect that it includes, or nothing."""

_ASCII_TOKEN = re.compile(r"[a-z0-9]+|[$%]")
_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh", "o")
_ENDINGS = ("s", "ed", "ing", "ly", "er", "est")


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a text in order. Apostrophes, hyphens and other marks separate tokens."""
    if text.isascii():
        return [(match[0], *match.span()) for match in _ASCII_TOKEN.finditer(text.lower())]
    return [(fold(match[0]), *match.span()) for match in _TOKEN.finditer(text)]


def fold(word: str) -> str:
    """Return a word casefolded and without accents."""
    if word.isascii():
        return word.lower()
    stripped = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    return (stripped or word).casefold()


@lru_cache(maxsize=4096)
def forms(word: str) -> frozenset[str]:
    """Return the forms that count as the same word: plurals, tenses, comparisons, adverbs, spellings, families."""
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return frozenset({word, f"{word}s"} if word.isascii() and word.isalpha() else {word})
    bases = frozenset[str]().union(*map(_bases, _bases(word)))
    related = bases.union(*(RELATED.get(base, ()) for base in bases))
    return related.union(*map(_inflections, related))


def _bases(word: str) -> frozenset[str]:
    """Return a word and its possible bases. A base that is not a word does no harm, because no text contains it."""
    if word in NOT_DERIVED or not word.endswith(_ENDINGS) or word.endswith(("ss", "is", "ous")):
        return frozenset({word})
    bases = (word[:-cut] + end for cut in range(1, min(6, len(word) - 1)) for end in ("", "e", "y"))
    valid = (base for base in bases if len(base) > 2 and _VOWEL.search(base) and word in _inflections(base))
    return frozenset({word, *valid})


@lru_cache(maxsize=4096)
def _inflections(base: str) -> frozenset[str]:
    """Return a word with the endings that it can have, as if it were noun, verb and adjective."""
    soft = base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if soft else base
    verb = base[:-1] if base.endswith("e") else base + base[-1] if _CVC.match(base) else stem
    plural = stem + "es" if soft or base.endswith(_SIBILANT) else base + "s"
    inflections = {
        base,
        plural,
        base + "s" if base.endswith("o") else plural,
        stem + "ness",
        verb + "ed",
        "un" + verb + "ed",
    }
    inflections.add((base if soft or base.endswith("ee") else verb) + "ing")
    if base not in NOT_OVER:
        inflections |= {"over" + verb + "ed", "under" + verb + "ed"}
    if base in GRADABLE:
        inflections |= {"un" + base, verb + "er", verb + "est"}
    if base + "ly" not in NOT_ADVERBS:
        inflections.add(base[:-1] + "y" if base.endswith("le") else stem + "ly")
    return frozenset(form for form in inflections if not form.endswith(("s", "ed")) or form not in NOT_DERIVED)


def words(text: str) -> frozenset[str]:
    """Return the words of a list written as running text."""
    return frozenset(text.split())


def _split(text: str) -> tuple[str, ...]:
    """Return groups of words or phrases, separated by bars or line ends."""
    return tuple(part.strip() for part in text.strip().replace("\n", "|").split("|"))


_LISTS = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
"""The word lists; the file describes each."""

GRADABLE, NOT_ADVERBS, NOT_DERIVED, NOT_OVER, FUNCTION_WORDS, CATCH_ALL_NAMES, NEGATIONS, FOREIGN_WORDS, PEOPLE = (
    words(_LISTS[name])
    for name in (
        "gradable", "not_adverbs", "not_derived", "not_over", "function_words", "catch_all_names", "negations",
        "foreign_words", "people",
    )
)  # fmt: skip
RELATED: dict[str, frozenset[str]] = {}
"""The words that count as the same as a word. A spelling may lead to a family: "flavor", "flavour", "flavourless"."""
for _name in ("families", "irregular", "spellings"):
    for _group in map(words, reversed(_split(_LISTS[_name]))):
        RELATED |= dict.fromkeys(_group, _group.union(*(RELATED.get(word, ()) for word in _group)))
IDIOMS = _split(_LISTS["idioms"])
GENERIC_WORDS = words(_LISTS["generic_words"]).union(*map(forms, words(_LISTS["common_words"])))


def content_words(text: str) -> Iterator[str]:
    """Yield the words of a text without function words, generic words, numbers and single letters."""
    for word, _, _ in tokenise(text):
        bare = word.isdigit() or (len(word) < 2 and word.isascii())
        if not bare and word not in FUNCTION_WORDS and word not in GENERIC_WORDS:
            yield word


@lru_cache(maxsize=1)
def _starter_lists() -> Mapping[str, Aspect]:
    """Return common aspects by name and alias."""
    text = (shipped_folder("sample_data") / "starter_keywords.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    aspects: dict[str, Aspect] = {}
    for name, entry in data.items():
        aspect = (str(name), tuple(map(str, entry["keywords"])), str(entry.get("includes", "")))
        for alias in (name, *entry.get("aliases", ())):
            aspects.setdefault(normalise(str(alias)), aspect)
    return aspects


def starters(name: str, beside: Iterable[str] = ()) -> tuple[str, ...]:
    """Return starter keywords for a label name, found by the name or an alias of a common aspect.

    If the whole name is not found, each of its words is looked up ("food and drinks"). Empty if nothing is found. An
    aspect's keywords come with those of the aspect that it includes (service includes staff), unless one of the labels
    ``beside`` it in the codebook is about that.
    """
    aspects, other_names = _aspects(name), {aspect[0] for other in (*beside, name) for aspect in _aspects(other)}
    included = (_starter_lists()[aspect[2]] for aspect in aspects if aspect[2] and aspect[2] not in other_names)
    return tuple(dict.fromkeys(word for _, words, _ in (*aspects, *included) for word in words))


def other_aspects(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the keywords of each common aspect that none of the names is about, not even by including it."""
    covered = {part for name in names for aspect in _aspects(name) for part in (aspect[0], aspect[2])}
    aspects = dict.fromkeys(_starter_lists().values())
    return [words for name, words, included in aspects if name not in covered and included not in covered - {""}]


@lru_cache(maxsize=1024)
def _aspects(name: str) -> tuple[Aspect, ...]:
    aspects, key = _starter_lists(), normalise(name)
    parts = [
        part
        for part in "".join(character if character.isalnum() else " " for character in key).split()
        if len(part) > 2
    ]

    def find(wanted: str) -> list[Aspect]:
        return [aspects[shape] for shape in (wanted, wanted.removesuffix("s"), f"{wanted}s") if shape in aspects][:1]

    return tuple(find(key) or (aspect for part in parts for aspect in find(part)))


Source: TypeAlias = Literal["keyword", "name", "common", "definition", "example", "idiom"]
Exclusion: TypeAlias = tuple[str, tuple[frozenset[str], ...]]
"""An exclude example of a label: its text, and the forms of each of its content words."""

# Words of a description carry a label with fewer keywords than this, because such a list may have forgotten some.
FULL_LIST = 20
# Words of examples, many of which are incidental, carry a label with fewer other words than this beside its name. A
# description of one sentence has fewer, and names only a small part of what its label is about.
FEW_WORDS = 8
NO_LABEL = -1  # label number of an idiom


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
    rest_label: int | None
    """Number of the label for what no other label covers."""

    @cached_property
    def index(self) -> Mapping[str, tuple[Term, ...]]:
        """The terms by the forms of their first token."""
        index: dict[str, tuple[Term, ...]] = {}
        for term in sorted(self.terms, key=lambda term: (not term.listed, not term.carries)):
            alone = (term,)
            # of the single words of a label that a token fits, only the strongest is a hit
            for form in term.pattern[0]:
                terms = index.setdefault(form, alone)
                if terms is not alone and all(other.slot != term.slot for other in terms):
                    index[form] = terms + alone
        return index


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
    everywhere = frozenset[str]().union(*(forms(word) for word, _, _ in tokenise(f"{codebook.unit} {codebook.domain}")))
    rest_label = next((number for number in numbers if is_rest(codebook, labels[number])), None)
    listed_terms = [term for number in numbers for term in _listed(number, labels[number], codebook.kind)]
    derived = [
        term
        for number in numbers
        for term in (*_common(number, codebook.names, labels[number], codebook.kind), *_derived(number, labels[number]))
    ]
    defining = [term for term in derived if term.carries and term.source != "example"]
    label_words = _words_by_label(listed_terms, len(labels))
    shared_words = _in_several(_words_by_label(defining, len(labels)))
    contested, all_words = _in_several(label_words), set[str]().union(*label_words)
    elsewhere = [contested.union(all_words - words) for words in label_words]
    better = {(term.label, term.key) for term in (*listed_terms, *defining) if term.source != "name"}
    word_counts, terms = Counter(number for number, _ in better), list(listed_terms)
    for term in derived:
        # Words of the unit and the domain are in every document, and a word that another label lists belongs to that.
        if term.key.isdisjoint(everywhere) and term.key.isdisjoint(elsewhere[term.label]):
            spare = term.label == rest_label or (term.source == "example" and word_counts[term.label] >= FEW_WORDS)
            decides = term.key.isdisjoint(shared_words)  # a word of several definitions decides for none
            carries = term.carries and decides and not spare
            terms.append(term if carries == term.carries else replace(term, carries=carries))
    searchable = {term.label for term in terms}
    usable = tuple(number == rest_label or number in searchable for number in numbers)
    terms += [term for idiom in IDIOMS for term in _terms(NO_LABEL, idiom, "idiom")]
    return Lexicon(
        codebook,
        tuple(terms),
        tuple(tuple(_exclusions(label, everywhere)) for label in labels),
        usable,
        rest_label,
    )


def changed_words(before: Lexicon, after: Lexicon) -> frozenset[str]:
    """Return the words of which a text must contain one to have other evidence in ``after`` than in ``before``."""
    term_indexes = [
        {(term.label, term.text, term.source, term.carries): term for term in lexicon.terms}
        for lexicon in (before, after)
    ]
    differing = term_indexes[0].keys() ^ term_indexes[1].keys()
    changed = {word for index in term_indexes for key in differing & index.keys() for word in index[key].pattern[0]}
    excluded = [
        {(n, exclusion) for n, exclusions in enumerate(book.exclusions) for exclusion in exclusions}
        for book in (before, after)
    ]
    return frozenset(changed.union(*(step for _, (_, words) in excluded[0] ^ excluded[1] for step in words)))


def _words_by_label(terms: Iterable[Term], count: int) -> list[set[str]]:
    """Return the words of the terms of each label."""
    words: list[set[str]] = [set() for _ in range(count)]
    for term in terms:
        words[term.label] |= term.key
    return words


def _in_several(words: Iterable[Iterable[str]]) -> set[str]:
    """Return the words of more than one label."""
    return {word for word, count in Counter(word for label_words in words for word in label_words).items() if count > 1}


@lru_cache(maxsize=8192)  # most terms of a changed codebook are the same
def _terms(label: int, text: str, source: Source) -> tuple[Term, ...]:
    """Return the term for a listed text; none if it has no word to look for."""
    tokens = [token for token, _, _ in tokenise(text)]
    if tokens and (len(tokens) > 1 or tokens[0] not in FUNCTION_WORDS):
        return (Term(label, text, source, tuple(map(forms, tokens))),)
    return ()


def _listed(number: int, label: Label, kind: Kind) -> Iterator[Term]:
    """Yield the terms that the label's author listed, and the label's own name.

    A name such as "other" or "overall" is not a term of a label, but it is of a dimension: "Overall" is rated, too.
    """
    for keyword in label.keywords:
        yield from _terms(number, keyword, "keyword")
    if kind != "rating" and normalise(label.name) in CATCH_ALL_NAMES:
        return
    name = [token for token, _, _ in tokenise(label.name)]
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
    words, keywords = starters(label.name, (*names[:number], *names[number + 1 :])), set(map(normalise, label.keywords))
    if kind == "rating" or 2 * sum(normalise(word) in keywords for word in words) >= len(words):
        return ()
    counted, full_text = " ".join(_counted(label.description)), " ".join((label.description, *label.exclude))
    denied = {word for word, _, _ in tokenise(full_text)}.difference(word for word, _, _ in tokenise(counted))
    terms = (term for word in words for term in _terms(number, word, "common"))
    return tuple(term for term in terms if all(denied.isdisjoint(step) for step in term.pattern))


def _counted(description: str) -> Iterator[str]:
    """Yield the parts of a description that say what counts: no denying sentence, and nothing after "not"."""
    for sentence in _SENTENCE.split(description):
        if not _DENIAL.search(sentence):
            yield sentence[: next((start for word, start, _ in tokenise(sentence) if word in NEGATIONS), len(sentence))]


def _derived(number: int, label: Label) -> Iterator[Term]:
    """Yield the words of a description, then those of the include examples."""
    for sentence in _counted(label.description):
        remainder = _FRAME.sub(lambda match: match[0].removesuffix(match["subject"]), sentence)
        subjects = " ; ".join(match["subject"] for match in _FRAME.finditer(sentence))
        for text, carries in ((remainder, len(label.keywords) < FULL_LIST), (subjects, False)):
            yield from (Term(number, word, "definition", (forms(word),), carries) for word in content_words(text))
    yield from (Term(number, word, "example", (forms(word),)) for text in label.include for word in content_words(text))


def _exclusions(label: Label, everywhere: frozenset[str]) -> Iterator[Exclusion]:
    for example in label.exclude:
        words = dict.fromkeys(word for word in content_words(example) if word not in everywhere)
        if words:
            yield example, tuple(map(forms, words))


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
    sentences = [
        f"'{label.name}' has no word that the word-list baseline could look for and {consequence}: add "
        + (f"more specific keywords than '{label.keywords[0]}'" if label.keywords else "keywords")
        + ", or typical things to its description."
        for label in labels_without_words(codebook)
    ]
    return [RATING_NOTICE, *sentences] if codebook.kind == "rating" else sentences


def is_searchable(keyword: str) -> bool:
    """Return True if texts are searched for a keyword: False for a function word such as "too"."""
    return any(_terms(0, keyword, "keyword"))
