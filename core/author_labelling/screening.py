"""Screening of a text before anything else: rules that exclude it, and masking of personal data.

Excluded are greetings, spam, very short, repeated and sensitive texts. Masked are e-mail addresses, phone numbers, card
numbers and names of a list, before a text is stored, sent to a model or exported. Phone numbers are found by Google's
libphonenumber (package ``phonenumberslite``), because their formats differ by country; card numbers by their length and
Luhn checksum (ISO/IEC 7812-1, annex B). Names are matched as whole words that begin with a capital letter, so a name
that is also a common word stays out of the shipped list. In scripts without spaces between words, a name is masked
wherever it occurs. A list misses what is not on it: masking lowers the risk but does not guarantee anonymity, as the
page states.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from core.author_labelling.questions import Answer, ConversationMessage, Entry, Submission
from core.debate.reading.normalise import UNSPACED, unspaced

MIN_WORDS = 4
"""Shorter texts say too little to ask about."""
MIN_LETTERS = 8
"""The same for letters of scripts without spaces, where a whole clause is one word."""
_LISTS = tomllib.loads(Path(__file__).with_name("greetings_and_names.toml").read_text(encoding="utf-8"))
GREETINGS = frozenset(_LISTS["greetings"].split())
NAMES = frozenset(_LISTS["given_names"].split())
"""Frequent given names that are seldom ordinary words. A project adds its own."""

REGIONS = ("US", "GB", "DE", "AT", "CH", "FR", "IT", "ES", "NL", "BE")
"""Countries whose national phone numbers are found; international ones (+49 ...) always are."""
_MIN_PHONE_DIGITS = 8
"""Shorter national numbers look like prices and years."""
_BARE = re.compile(r"[1-9]\d+")
"""A number that may as well be one of an order or ticket: without separators and without 0 or + at its start."""
_PHONE_WORD = re.compile(
    r"\bt[eé]l(?:\b|[eé]f|[eé]ph)|phone|\bfon|fax|\bcall|\bring\b|\bdial|mobile?\b|mobiel|m[oó]vil|\bcell|whatsapp"
    r"|telegram|\bsms\b|\btext (?:me|us)|\breach|contact|kontakt|my number|anruf|\bruf|handy|meine nummer"
    r"|appel|portable|mon num[eé]ro|llam|mi n[uú]mero|chiam|mio numero|\bbel\b|mijn nummer",
    re.IGNORECASE,
)
_BEFORE_PHONE, _AFTER_PHONE = 40, 20
"""Characters before and after such a number in which a word shows that it is a phone number."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\b\d\d?\.\d\d?\.\d{4}")

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")  # each run of letters is tried once
_CARD = re.compile(r"(?<![\d.,-])\d(?:[ -]?\d){12,18}(?![\d-])")
_LETTER = rf"[^\W{UNSPACED}]"
_EDGE = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"  # any position that is not inside a word with spaces around it
_NAME = re.compile(rf"{_EDGE}[A-ZÀ-Þ]{_LETTER}*")


# -- exclusion

EXCLUSIONS: Mapping[str, str] = {
    "empty": "The text is empty.",
    "greeting": "The text is only a greeting.",
    "too short": f"The text has fewer than {MIN_WORDS} words, or {MIN_LETTERS} letters of a script without spaces.",
    "spam": "The text repeats itself, or consists mostly of links or signs.",
    "repeated": "You wrote the same text before.",
    "sensitive": (
        "The text, or an earlier message of its conversation, has a word of a short English list on health, religion "
        "and personal finances. Such texts are not stored and not used for questions."
    ),
    "nothing relevant": "Too few labels of the codebook are relevant to the text, or the model's reply is unreadable.",
}

_LINK = re.compile(r"https?://\S+|www\.\S+")
_RUN = re.compile(r"(\S)\1{5,}")
_SENSITIVE = re.compile(
    r"\b(?:diagnos\w+|cancer|tumou?rs?|chemo\w*|hiv|aids|depress(?:ed|ion)|suicid\w+|self[- ]harm|antidepressants?|"
    r"miscarriage|abortion|pregnan(?:t|cy)|my (?:illness|disease|medication|therapist|psychiatrist)|bipolar|"
    r"schizophreni\w+|church|mosque|synagogue|prayer|praying|bible|quran|koran|torah|christian|muslim|jewish|hindu|"
    r"atheist|my (?:faith|religion|salary|debts?|mortgage|loan|bank account|tax return)|bankrupt(?:cy)?|"
    r"credit score|payday loan)\b",
    re.IGNORECASE,
)
"""Words of personal health, religion and finances, which the paper leaves out (section 7). Others are not found."""


def exclusion(text: str, earlier: Container[str] = (), before: Iterable[ConversationMessage] = ()) -> str:
    """Return the rule of ``EXCLUSIONS`` that excludes a text, empty if the text may be asked about.

    ``earlier`` has the ``repetition_key`` of each text that the same author must not repeat. A sensitive message of the
    author in the conversation ``before`` excludes the text, too, because annotators see it. Sources: the spam and
    greetings filter of Ma et al. 2025, section 2.2, sensitive topics of section 7, repeated messages of appendix A.1.
    The rules are our own.
    """
    words = _words(_LINK.sub(" ", text))
    if not text.strip():
        return "empty"
    if words and all(word in GREETINGS for word in words):
        return "greeting"
    marks = len(_LINK.findall(text))
    letters = sum(one.isalpha() or one.isspace() or _is_mark(one) for one in _LINK.sub("", text))
    runs = sum(len(run[0]) for run in _RUN.finditer(text))
    if runs * 2 > len("".join(text.split())) or marks > len(words) or letters * 2 < len(_LINK.sub("", text)):
        return "spam"
    if len(words) < MIN_WORDS and sum(map(unspaced, filter(str.isalpha, "".join(words)))) < MIN_LETTERS:
        return "too short"
    if len(words) >= 2 * MIN_WORDS and Counter(words).most_common(1)[0][1] * 2 > len(words):
        return "spam"
    if repetition_key(text) in earlier:
        return "repeated"
    written = (text, *(message.text for message in before if message.role == "author"))
    return "sensitive" if any(map(_SENSITIVE.search, written)) else ""


def screened(submission: Submission, earlier: Container[str]) -> Submission:
    """Return a masked text as it is stored: if a rule excludes it, with the rule and without its words."""
    rule = exclusion(submission.text, earlier, submission.before)
    return replace(submission, text="", before=(), excluded=rule) if rule else submission


def repetition_key(text: str) -> str:
    """Return what two texts have in common if one repeats the other: their words, in lower case."""
    return " ".join(_words(text))


def may_be_sent_again(submission: Submission) -> bool:
    """Return True if a model asked nothing about a text: its reply may have been unreadable."""
    return bool(submission.model) and not submission.questions


SPAM_SHARE, SPAM_TEXTS = 0.5, 5
"""Authors with this share of spam or repeated texts, of at least this many, are left out of every analysis."""


def spam_authors(log: Iterable[Entry]) -> frozenset[str]:
    """Return the authors whose texts are mostly spam or repetitions.

    They are left out of every analysis, as in Ma et al. 2025 (section 5 and appendices A.1 and B.2, which name no
    numbers).
    """
    texts: Counter[str] = Counter()
    spam: Counter[str] = Counter()
    for entry in log:
        if isinstance(entry, Submission):
            texts[entry.author] += 1
            spam[entry.author] += entry.excluded in ("spam", "repeated")
    return frozenset(
        author for author, count in texts.items() if count >= SPAM_TEXTS and spam[author] / count >= SPAM_SHARE
    )


def without_spam_authors(log: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return a log without the texts, impressions and reactions of spam authors. Answers about these texts remain."""
    authors = spam_authors(log)
    return tuple(entry for entry in log if isinstance(entry, Answer) or entry.author not in authors)


def _words(text: str) -> list[str]:
    marks = "".join(sorted(filter(_is_mark, set(text))))  # vowels of Hindi and tones of Thai, which \w leaves out
    letter = rf"(?:[^\W_]|[{marks}])" if marks else r"[^\W_]"
    pattern = rf"[^\W_]{letter}*(?:['’]{letter}+)?"
    return [word.casefold().replace("’", "'") for word in re.findall(pattern, text)]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


# -- masking


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without the personal data that was found, and the number of masked passages by kind."""

    text: str
    counts: Mapping[str, int]


def mask(text: str, names: Collection[str] = ()) -> Masked:
    """Return a text with personal data replaced by ``[email]``, ``[card]``, ``[phone]`` and ``[name]``.

    ``names`` are masked in addition to ``NAMES``, in any case. Masking a masked text changes nothing.
    """
    counts: Counter[str] = Counter()
    finders: dict[str, Callable[[str], Iterator[_Span]]] = {
        "email": lambda text: (match.span() for match in _EMAIL.finditer(text)),
        "card": _cards,
        "phone": _phones,
        "name": lambda text: _names(text, names),
    }
    masks = {f"[{kind}]" for kind in finders}
    before = None
    while text != before:  # a number may be found only after the one beside it is masked
        before = text
        for kind, find in finders.items():
            parts, end = list[str](), len(text)  # from the end of the text to its beginning
            for first, last in sorted(find(text), reverse=True):
                if last <= end and text[max(0, first - 1) : last + 1] not in masks:  # not twice
                    parts += [text[last:end], f"[{kind}]"]
                    counts[kind] += 1
                    end = first
            text = text[:end] + "".join(reversed(parts))
    return Masked(text, dict(counts))


_Span: TypeAlias = tuple[int, int]


def _cards(text: str) -> Iterator[_Span]:
    for match in _CARD.finditer(text):
        if passes_luhn("".join(filter(str.isdigit, match[0]))):
            yield match.span()


def _phones(text: str) -> Iterator[_Span]:
    from phonenumbers import Leniency, PhoneNumberMatcher

    for region in REGIONS:
        for match in PhoneNumberMatcher(text, region, Leniency.VALID):
            found = match.raw_string
            if sum(map(str.isdigit, found)) < _MIN_PHONE_DIGITS or _DATE.search(found):
                continue
            context = text[max(0, match.start - _BEFORE_PHONE) : match.end + _AFTER_PHONE]
            if not _BARE.fullmatch(found) or _PHONE_WORD.search(context):
                yield match.start, match.end


def _names(text: str, names: Collection[str]) -> Iterator[_Span]:
    parts = (part.strip() for name in names for part in re.split(r"[\[\]]", name))  # masks have brackets, too
    longest_first = sorted((part for part in parts if any(map(str.isalnum, part))), key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    for match in re.finditer(rf"{_EDGE}(?:{pattern}){_EDGE}", text, re.IGNORECASE) if pattern else ():
        yield match.span()
    yield from (match.span() for match in _NAME.finditer(text) if {match[0], match[0].capitalize()} & NAMES)


def passes_luhn(digits: str) -> bool:
    """Return True if the last digit is the Luhn check digit of the others; False for anything but digits."""
    if not digits.isdigit() or not digits.isascii():
        return False
    doubled = (int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
