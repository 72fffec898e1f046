"""The words of a codebook that the built-in model looks for.

A label's words come from two sources. Its author listed its keywords and its name; the words of its description and of
its include examples are derived. A listed word carries its label, and so does a common word of an aspect of its name
("price"). Derived words carry a label that has few better words; beside others they only support it, because many words
of a definition name what an aspect is found on ("how clean the rooms are").

No stemmer is used, because a stemmer merges words ("wine" and "win"). The forms of the few words of a codebook are
written out instead, so that each token of a text needs one dictionary look-up.
"""

from __future__ import annotations

import csv
import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import yaml

from core.codebook import Codebook, Label, normalise
from core.files import shipped_folder

_SINGLE = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces, or that glue particles to words: each character is a token."""

Token: TypeAlias = tuple[str, int, int]
"""A token as it is compared, and its offsets in the text."""


class Aspect(NamedTuple):
    """A common aspect, its starter keywords, and the name of the aspect that it includes or nothing."""

    name: str
    words: tuple[str, ...]
    included: str


_TOKEN = re.compile(rf"[{_SINGLE}]|(?:[^\W_{_SINGLE}][\u0300-\u036f]*)+|[$€£¥₹%]|[\u2600-\u27bf\U0001f300-\U0001faff]")

_ENDING = re.compile(r"(?<!ou)(?<!s)(?<!i)s$|(?:ed|ing|ly|er|est)$")
_VOWEL = re.compile("[aeiouy]")
_CVC = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
_SIBILANT = ("s", "x", "z", "ch", "sh", "o")


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a text in order. Apostrophes, hyphens and other marks separate tokens."""
    return [(_fold(match[0]), *match.span()) for match in _TOKEN.finditer(text)]


@lru_cache(maxsize=8192)
def _fold(word: str) -> str:
    """Return a word casefolded and without accents."""
    stripped = "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark))
    return (stripped or word).casefold()


@lru_cache(maxsize=4096)
def forms(word: str) -> frozenset[str]:
    """Return the forms that count as the same word: plurals, tenses, comparisons, adverbs, spellings, families."""
    if not word.isascii() or not word.isalpha():
        return frozenset({word})
    bases = _bases(word)
    related = bases.union(*(RELATED.get(base, ()) for base in bases))
    return related.union(*map(_inflections, related))


def _bases(word: str) -> frozenset[str]:
    """Return a word and its possible bases. A base that is not a word does no harm, because no text contains it."""
    cuts = range(1, min(6, len(word) - 1)) if word not in WORDS["not_derived"] and _ENDING.search(word) else ()
    bases = (word[:-cut] + end for cut in cuts for end in ("", "e", "y"))
    valid = (base for base in bases if len(base) > 2 and _VOWEL.search(base) and word in _inflections(base))
    return frozenset({word, *valid})


@lru_cache(maxsize=4096)
def _inflections(base: str) -> frozenset[str]:
    """Return a word with the endings that it can have, as if it were noun, verb and adjective."""
    if len(base) < 3:
        return frozenset({base, f"{base}s"})
    soft = base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if soft else base
    verb = base[:-1] if base.endswith("e") else base + base[-1] if _CVC.match(base) else stem
    endings = [base, f"{base}s", f"{stem}ness", *(f"{prefix}{verb}ed" for prefix in ("", "un", "over", "under"))]
    endings.append((base if soft or base.endswith("ee") else verb) + "ing")
    endings.append(f"{base[:-1]}y" if base.endswith("le") else f"{stem}ly")
    if soft or base.endswith(_SIBILANT):
        endings.append(f"{stem}es")
    if base in WORDS["gradable"]:
        endings += [f"un{base}", f"{verb}er", f"{verb}est"]
    return frozenset(form for form in endings if form.endswith("ing") or form not in WORDS["not_derived"])


_LISTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
"""The word lists; the file describes each."""


def _groups(name: str) -> list[str]:
    """Return the groups of words or phrases of a list, separated by bars or line ends."""
    return [part.strip() for part in re.split(r"[|\n]", _LISTS[name]) if part.strip()]


WORDS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _LISTS.items()}
RELATED = {word: frozenset(group.split()) for group in _groups("families") for word in group.split()}
FUNCTION_WORDS = WORDS["function_words"]
GENERIC_WORDS = WORDS["generic_words"]
BASELINE_NAME = "Word-list baseline"
ASPECT_WORDS = 10  # of a common aspect that no label is about, which stand for it: the first ones are the most typical
_ENGLISH = FUNCTION_WORDS | GENERIC_WORDS


def is_english(words: Set[str]) -> bool | None:
    """Return False if words of another language or script prevail; True for words of English, None for neither."""
    other = sum(word in WORDS["foreign_words"] or word[0] > "\u024f" for word in words)
    if other > 1 and other > len(words & FUNCTION_WORDS):
        return False
    return True if not _ENGLISH.isdisjoint(words) else None


def content_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text without function words, generic words, numbers and single letters."""
    for token in tokenise(text):
        word = token[0]
        bare = word.isdigit() or (len(word) < 2 and word.isascii())
        if not bare and word not in FUNCTION_WORDS and word not in GENERIC_WORDS:
            yield token


def content_words(text: str) -> list[str]:
    """Return the words of ``content_tokens``."""
    return [word for word, _, _ in content_tokens(text)]


@lru_cache(maxsize=1)
def _starter_lists() -> Mapping[str, Aspect]:
    """Return common aspects by name and alias, both in the singular and the plural."""
    text = (shipped_folder("sample_data") / "starter_keywords.yaml").read_text(encoding="utf-8")
    aspects: dict[str, Aspect] = {}
    for name, entry in yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items():
        aspect = Aspect(str(name), tuple(map(str, entry["keywords"])), str(entry.get("includes", "")))
        aspects = {normalise(str(alias)): aspect for alias in (name, *entry.get("aliases", ()))} | aspects
    plurals = {f"{name}s": aspect for name, aspect in aspects.items()}
    singulars = {name.removesuffix("s"): aspect for name, aspect in aspects.items()}
    return plurals | singulars | aspects


def starters(name: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Return starter keywords for a label name, found by the name or an alias of a common aspect.

    If the whole name is not found, each of its words is looked up ("food and drinks"). Empty if nothing is found. An
    aspect's keywords come with those of the aspect that it includes (service includes staff), unless a label of the
    codebook, which has ``names``, is about that.
    """
    return tuple(dict.fromkeys(word for aspect in _covered_aspects(name, names) for word in aspect.words))


def _covered_aspects(name: str, names: Iterable[str]) -> list[Aspect]:
    """Return the common aspects of a label name, then those that they include if no label has a name about them."""
    aspects, all_aspects = _aspects(name), {aspect.name for other in (*names, name) for aspect in _aspects(other)}
    included = [aspect.included for aspect in aspects if aspect.included and aspect.included not in all_aspects]
    return [*aspects, *map(_starter_lists().__getitem__, included)]


def other_aspects(names: Iterable[str]) -> list[Aspect]:
    """Return the common aspects that none of the names is about, not even by including them."""
    named = [aspect for name in names for aspect in _aspects(name)]
    covered = {part for aspect in named for part in (aspect.name, aspect.included) if part}
    aspects = dict.fromkeys(_starter_lists().values())
    return [aspect for aspect in aspects if covered.isdisjoint((aspect.name, aspect.included))]


@lru_cache(maxsize=1024)
def _aspects(name: str) -> list[Aspect]:
    """Return the common aspects of a name, or of its words if the whole name is not one."""
    known, key = _starter_lists(), normalise(name)
    return [known[part] for part in ([key] if key in known else re.findall(r"[^\W_]{3,}", key)) if part in known]


class ReviewSentence(NamedTuple):
    """A sentence of a review, the common aspects that it is about, and those on which annotators may differ."""

    text: str
    aspects: frozenset[str]
    possible: frozenset[str]


@lru_cache(maxsize=1)
def _review_sentences() -> tuple[ReviewSentence, ...]:
    """Return the shipped sentences of reviews."""
    with (shipped_folder("sample_data") / "review_sentences.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            ReviewSentence(
                text, frozenset(filter(None, aspects.split("|"))), frozenset(filter(None, possible.split("|")))
            )
            for text, aspects, possible in islice(csv.reader(file), 1, None)
        )


def definitions(codebook: Codebook) -> list[tuple[int, str]]:
    """Return pairs of a label's number and a text that defines it or is about it, none for the label for the rest.

    Sentences of reviews are about the labels of common aspects. For several labels, higher numbers stand for the common
    aspects that no label is about, with their words and sentences, and the last one for sentences about no aspect.
    """
    pairs = []
    numbers: dict[str, list[int]] = defaultdict(list)
    """Those of the labels that are about an aspect, by the name of the aspect."""
    for number, label in enumerate(codebook.labels):
        described = [f"{label.name}: {label.description}"] if label.description else []
        texts = (label.name, *described, *label.include, *label.keywords, *starters(label.name, codebook.names))
        if number != lexicon_of(codebook).rest_label:
            pairs += [(number, text) for text in dict.fromkeys(texts)]
            for aspect in _covered_aspects(label.name, codebook.names):
                numbers[aspect.name].append(number)
    defined = {text.casefold() for _, text in pairs}
    others = other_aspects(codebook.names) if codebook.kind == "multilabel" else []
    sentences = _review_sentences() if numbers else ()
    for number, aspect in enumerate(others, len(codebook.labels)):
        pairs += [(number, word) for word in aspect.words[:ASPECT_WORDS] if word.casefold() not in defined]
        numbers[aspect.name].append(number)
    for text, aspects, possible in sentences:
        about = {number for aspect in aspects for number in numbers[aspect]}
        pairs += [(number, text) for number in sorted(about)]
        if not aspects | possible and codebook.kind == "multilabel":
            pairs.append((len(codebook.labels) + len(others), text))
    return pairs


Source: TypeAlias = Literal["keyword", "name", "common", "definition", "example", "idiom"]
Exclusion: TypeAlias = tuple[str, tuple[frozenset[str], ...]]
"""An exclude example of a label: its text, and the forms of each of its content words."""

_RANKS: Mapping[Source, int] = {"keyword": 2, "name": 2, "common": 1, "definition": 1, "example": 0, "idiom": 2}
"""Ranks of terms: a word of two labels belongs to the one whose author listed it, else to the one that it defines."""
LISTED_RANK = 2
# Words of a description carry a label with fewer keywords than this, because such a list may have forgotten some.
FULL_LIST = 20
# Words of examples are often incidental. They carry a label with fewer other words than this beside its name. A
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
    def listed(self) -> bool:
        """True if the codebook's author listed it: a keyword or the label's name."""
        return _RANKS[self.source] == LISTED_RANK


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All terms of a codebook. ``usable`` are the numbers of the labels with a word to look for."""

    codebook: Codebook
    terms: tuple[Term, ...]
    exclusions: tuple[tuple[Exclusion, ...], ...]
    usable: frozenset[int | None]
    rest_label: int | None
    """Number of the label for what no other label covers."""

    @cached_property
    def index(self) -> Mapping[str, list[Term]]:
        """The terms by the forms of their first token."""
        return _index(self.terms)

    @cached_property
    def about_places(self) -> frozenset[int]:
        """The labels that list words such as "nearby" or "next door"."""
        return frozenset(term.label for term in self.terms if term.listed and _PLACE.search(term.text))


_PLACE = re.compile(
    r"\b(?:nearby|neighbou?ring|elsewhere|next (?:door|to)|around here|across from|"
    r"(?:a?round|across) (?:the )?(?:corner|street|road))\b",
    re.IGNORECASE,
)
"""Found in keywords of labels about other places."""

_REST = re.compile(
    r"\b(?:any|every)thing (?:else|(?:that|which)\b[^.]{0,30}? (?:not|none)|not|beyond|outside)\b|\bthe rest\b|"
    r"(?:\b(?:not?|none|outside|instead|other than|neither)\b|n['’]t\b)(?: \w+){0,6}? (?:"
    r"(?:fit|belong|go|fall|covered|listed|mentioned)(?: in)? (?:elsewhere|anywhere else)\b|(?:others|above)\b(?! \w)|"
    r"(?:other|above|remaining|listed|defined|preceding|previous|these|those|any)(?: \w+)? "
    r"(?:categor\w+|aspects?|labels?|topics?|classes|ones))",
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
    parts = [part.strip() for part in re.split(r"[/_&,+]", normalise(label.name)) if part.strip()]
    return bool(_REST.search(label.description)) or (len(parts) > 1 and not WORDS["catch_all_names"].isdisjoint(parts))


def _index(terms: Iterable[Term]) -> Mapping[str, list[Term]]:
    index: dict[str, list[Term]] = defaultdict(list)
    for term in terms:
        for form in term.pattern[0]:
            index[form].append(term)
    return index


@lru_cache(maxsize=16)
def index_keywords(keywords: tuple[str, ...]) -> Mapping[str, list[Term]]:
    """Return an index of keywords, as that of a lexicon; the label of each term is the number of its keyword."""
    patterns = enumerate(map(_pattern, keywords))
    return _index(Term(number, keywords[number], "keyword", pattern) for number, pattern in patterns if pattern)


@lru_cache(maxsize=64)
def lexicon_of(codebook: Codebook) -> Lexicon:
    """Return the lexicon of a codebook; the same object for an equal codebook.

    Words of the unit and the domain are in every document, so that they are not derived.
    """
    labels = codebook.labels
    everywhere = frozenset[str]().union(*(forms(word) for word, _, _ in tokenise(f"{codebook.unit} {codebook.domain}")))
    rest_label = next((number for number, label in enumerate(labels) if is_rest(codebook, label)), None)
    all_terms = [
        term
        for number, label in enumerate(labels)
        for term in _terms(number, label, codebook.names, codebook.kind == "rating")
    ]
    terms = _without_rivals(all_terms, everywhere, rest_label)
    usable = frozenset((rest_label, *(term.label for term in terms)))
    idioms = (Term(NO_LABEL, idiom, "idiom", _pattern(idiom)) for idiom in _groups("idioms"))
    exclusions = (
        tuple((text, tuple(map(forms, sorted({*content_words(text)} - everywhere)))) for text in label.exclude)
        for label in labels
    )
    return Lexicon(codebook, (*terms, *idioms), tuple(exclusions), usable, rest_label)


def _without_rivals(terms: Sequence[Term], everywhere: frozenset[str], rest_label: int | None) -> list[Term]:
    """Return the listed terms, and the derived ones that no other label lists and that are not ``everywhere``.

    A word that several labels have belongs to those of the highest rank. Where it is only derived, it decides for none
    of several.
    """
    ranks: dict[str, dict[int, int]] = defaultdict(dict)  # the highest rank of a word that carries, by its labels
    for term in sorted(terms, key=lambda term: _RANKS[term.source]):
        for word in term.key if term.carries else ():
            ranks[word][term.label] = _RANKS[term.source]
    kept = []
    for term in terms:
        rivals = (rank for word in term.key for label, rank in ranks[word].items() if label != term.label)
        rival = max(rivals, default=-1)
        if term.listed:
            kept.append(term)
        elif rival < LISTED_RANK and term.key.isdisjoint(everywhere):
            carries = term.carries and rival < _RANKS[term.source] and term.label != rest_label
            kept.append(replace(term, carries=carries))
    return kept


def changed_words(before: Lexicon, after: Lexicon) -> frozenset[str]:
    """Return the changed words: without one of them, a text has the same evidence in ``before`` and ``after``."""
    other_places = before.about_places ^ after.about_places
    terms = set(before.terms) ^ set(after.terms) | {term for term in after.terms if term.label in other_places}
    exclusions = () if before.exclusions == after.exclusions else (*before.exclusions, *after.exclusions)
    steps = [step for texts in exclusions for _, words in texts for step in words]
    return frozenset().union(*(term.pattern[0] for term in terms), *steps)


@lru_cache(maxsize=8192)
def _pattern(text: str) -> tuple[frozenset[str], ...]:
    """Return the forms of each token of a listed text; empty if it has no word to look for."""
    tokens = [token for token, _, _ in tokenise(text)]
    return () if len(tokens) == 1 and tokens[0] in FUNCTION_WORDS else tuple(map(forms, tokens))


@lru_cache(maxsize=256)  # most labels of a changed codebook are the same
def _terms(number: int, label: Label, names: tuple[str, ...], is_rated: bool) -> tuple[Term, ...]:
    """Return the terms of a label, without regard to the words of the other labels."""
    texts: list[tuple[str, Source, bool]] = [(keyword, "keyword", True) for keyword in label.keywords]
    # A name such as "other" or "overall" is not a term of a label, but it is of a dimension: "Overall" is rated, too.
    if is_rated or normalise(label.name) not in WORDS["catch_all_names"]:
        texts += [(text, "name", True) for text in _texts_of_name(label.name)]
    if not is_rated:
        texts += [(word, "common", True) for word in _common(label, names)]
    derives = is_english({word for text in (label.description, *label.include) for word, _, _ in tokenise(text)})
    for sentence in _counted(label.description) if derives is not False else ():
        subjects = " ; ".join(match["subject"] for match in _FRAME.finditer(sentence))
        rest = _FRAME.sub(lambda match: match[0].removesuffix(match["subject"]), sentence)
        texts += [(word, "definition", len(label.keywords) < FULL_LIST) for word in content_words(rest)]
        texts += [(word, "definition", False) for word in content_words(subjects)]
    better = {word for word, source, carries in texts if carries and source != "name"}
    for example in label.include if derives is not False else ():
        texts += [(word, "example", len(better) < FEW_WORDS) for word in content_words(example)]
    patterns = ((text, source, _pattern(text), carries) for text, source, carries in texts)
    return tuple(Term(number, text, source, pattern, carries) for text, source, pattern, carries in patterns if pattern)


def _texts_of_name(name: str) -> list[str]:
    """Return a name if it has several words, and its words with a meaning of their own if there are at most three."""
    tokens = [word for word, _, _ in tokenise(name)]
    content = [word for word in tokens if word not in FUNCTION_WORDS]
    whole = [name] if len(tokens) > 1 else []
    if len(content) > 3:
        return whole
    if len(content) > 1:
        content = [word for word in content if word not in GENERIC_WORDS and len(word) > 1]
    return [*whole, *content]


def _common(label: Label, names: Sequence[str]) -> list[str]:
    """Return the common words of an aspect of a label's name, without those that its definition denies.

    None if the label lists half of them or more: its author took over the list, and what was deleted stays deleted.
    """
    words, keywords = starters(label.name, names), set(map(normalise, label.keywords))
    if 2 * sum(normalise(word) in keywords for word in words) >= len(words):
        return []
    described, counted = (
        {word for word, _, _ in tokenise(" ".join(texts))}
        for texts in ((label.description, *label.exclude), _counted(label.description))
    )
    denied = described - counted
    return [word for word in words if all(denied.isdisjoint(step) for step in _pattern(word))]


_FRAME = re.compile(
    r"\bhow (?:(?!(?:the|a|an|their|its|this|that|they|it)\b)\w+[,/]? ){1,6}?(?:the|a|an|their|its|this)\b"
    r"(?P<subject>[^.;:]*?)(?= (?:is|are|was|were|feels?|looks?|seems?)\b|[.;:]|$)",
    re.IGNORECASE,
)
"""The subject of "how clean or dirty the rooms are": the adjectives are the aspect, the subject merely has it."""
_DENYING_WORDS = re.compile(
    r"\b(?:(?:is|are|do|does|should|must|may|says?) (?:not?|nothing)|neither)\b|n['’]t\b", re.IGNORECASE
)
"""Makes a sentence of a description one about what does not count."""


def _counted(description: str) -> Iterator[str]:
    """Yield the parts of a description that say what counts: no denying sentence, and nothing after "not"."""
    for sentence in re.split(r"[.;:!?\n]+(?=\s|$)", description):
        if not _DENYING_WORDS.search(sentence):
            ends = (start for word, start, _ in tokenise(sentence) if word in WORDS["negations"])
            yield sentence[: next(ends, len(sentence))]


RATING_NOTICE = (
    "The word-list baseline rates by counting the words of a dimension in the text, and the words that the text shares "
    "with its other fields. It does not understand the text."
)


def labels_without_words(codebook: Codebook) -> tuple[Label, ...]:
    """Return the labels that the built-in model cannot look for."""
    usable = lexicon_of(codebook).usable
    return tuple(label for number, label in enumerate(codebook.labels) if number not in usable)


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
    return bool(_pattern(keyword))
