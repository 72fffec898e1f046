"""Quotes that a role offers for a label, located in the document. Pure; never raises."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from rapidfuzz import fuzz

from core.codebook import CHOICE_ITEM, Codebook, normalise
from core.debate.reading.decision_markers import MarkedReply, parse_markers
from core.debate.reading.json_answers import by_name
from core.debate.reading.json_blocks import Block, entry_name, lookup
from core.debate.reading.label_names import Names
from core.debate.reading.normalise import INVISIBLE, Folded, fold, joined
from core.debate.reading.quotation_marks import Span, double_quoted, outermost, single_quoted
from core.documents import Evidence, Value, storable

MAX_QUOTES = 200
MAX_QUOTE_CHARACTERS = 4_000
"""Most quotes of one reply, and most characters of each."""

_EVIDENCE = ("quotes", "evidence", "quote", "quotations", "quotation")
"""Keys of quotes in JSON."""
_BULLET = re.compile(r"[^\S\n]*(?:>[^\S\n]*)*(?:[-*+•‣◦–—·](?=\s)|\d{1,3}[.)](?!\d)|#{1,6}(?=\s))?[\s*_#\"'“`(\[]*")
_HEADING = re.compile(r"[^\S\n]*(?:#{1,6}\s|\*\*[^*\n]{1,120}\*\*:?\s*$)")
_CROSSING = re.compile(r"\n[^\S\n]*(?:\n|[-*+•][^\S\n]|\d{1,3}[.)][^\S\n])")
_AFTER_NAME = re.compile(r"[*_`\"'”’)\]\s]*(?::|\s[-–—]\s|—|\()")
_ALONE = re.compile(r"[\s*_`\"'”’)\]:.#-]*$")
_MARKED = frozenset("#*_`\"'“‘[")
_SPEAKS_FOR = re.compile(
    r"\s*(?:->|=>|→|[-–—=:]\s|\(|\[|,?\s(?:(?:clearly|directly|strongly|also)\s)?"
    r"(?:supports?|shows?|indicates?|suggests?|speaks?\sfor|points?\sto|refers?\sto|relates?\sto|concerns?"
    r"|(?:is|are)\s(?:about|evidence\s(?:of|for)))\s)\s*(?:the\s)?(?:(?:aspect|label|category)\s)?[#*_`\"'“‘\[(]*"
)
_NEXT_QUOTE = re.compile(r"\s*(?:,|;|and|&|,\s*and)\s*")
_ENDS_CLAUSE = re.compile(r"[*_`\"'”’]*(?:\s*[.,;)\]]|\s*$|\s+and\b)")


@dataclass(frozen=True, slots=True)
class _Name:
    """A label's name in a line.

    ``strong`` if it is used as the label: marked, spelt as in the codebook, or before a colon, and not just a word of
    the sentence that happens to be a label's name.
    """

    item: str
    start: int
    end: int
    strong: bool


class _Quotation(NamedTuple):
    """Words that are offered for a label, in order of ``place``. ``start`` is their position in the reply, or -1."""

    place: int
    item: str
    quote: str
    start: int


def locate_evidence(
    text: str, codebook: Codebook, fields: Mapping[str, str], chosen_label: Value | None = None
) -> tuple[Evidence, ...]:
    """Return the quotes that a reply offers for a label, located in the document's ``fields`` and in the reply.

    They are in the order of the reply, at most ``MAX_QUOTES``. A quote belongs to the label that it supports
    (``"tasty soup" supports #Food``), else to the label named last before it on its line, else in the lines above
    in its paragraph, else in the heading above. Quotes in a decision line, quotes of a label's name, and those without
    a label are left out, as is the reasoning at the start of a reply. In JSON they are the ``quotes`` or ``evidence``
    of an entry. In a choice the item is ``"label"``; if the reply chooses ``chosen_label``, only quotes for it count.
    The same passage for the same label counts once, however it was quoted.
    """
    marked = parse_markers(text, codebook)
    skipped = len(text) - len(marked.text)  # the thinking at the start of the reply
    offered = [
        *islice(_from_blocks(marked), MAX_QUOTES),
        *islice(_from_lines(marked), MAX_QUOTES),
    ]
    if codebook.kind == "choice":
        offered = [quoted._replace(item=CHOICE_ITEM) for quoted in offered if chosen_label in (None, quoted.item)]
    haystack = Haystack(fields)
    evidence: dict[tuple[object, ...], Evidence] = {}
    for _, item, quote, begin in sorted(offered, key=attrgetter("place"))[:MAX_QUOTES]:
        passage = haystack.locate(quote)
        key = (item, *passage[:3]) if passage is not MISSING else (item, normalise(quote))
        reply_span = (-1, -1) if begin < 0 else (skipped + begin, skipped + begin + len(quote))
        evidence.setdefault(key, Evidence(item, quote, *passage, *reply_span))
    return tuple(evidence.values())


def _from_blocks(marked: MarkedReply) -> Iterator[_Quotation]:
    names = marked.names
    for block in marked.blocks:
        position = block.start
        for entry, words in _entries(block, names):
            name = entry_name(entry)
            item = names.find(name) if isinstance(name, str) else names.find_code(name) if name is not None else None
            quote = _tidy(words)
            if item is not None and quote:
                start = marked.text.find(quote, position, block.end)
                if start >= 0:
                    position = start + len(quote)
                yield _Quotation(block.start, item, quote, start)


def _entries(block: Block, names: Names) -> Iterator[tuple[Any, str]]:
    """Yield each entry of a JSON reply with each of its quotes.

    Entries are under ``labels`` and the like, or the object has the names of labels as keys, also under ``evidence``.
    """
    value = lookup(block.data, "labels", "aspects", "ratings", "label", "aspect")
    if evidence := by_name(lookup(block.data, *_EVIDENCE), names):
        entries: list[Any] = [{"name": name, "quotes": quotes} for name, quotes in evidence.items()]
    elif answers := value if isinstance(value, dict) else by_name(block.data, names):
        entries = [{"name": name, **answer} for name, answer in answers.items() if isinstance(answer, dict)]
        entries += [{"name": name, "quotes": answer} for name, answer in answers.items() if isinstance(answer, list)]
    elif isinstance(value, list):
        entries = value
    else:
        entries = [{"label": value, **(block.data if isinstance(block.data, dict) else {})}]
    for entry in entries:
        quotes = lookup(entry, *_EVIDENCE) if isinstance(entry, dict) else None
        for quote in quotes if isinstance(quotes, list) else [quotes]:
            words = quote.get("quote", quote.get("text")) if isinstance(quote, dict) else quote
            if isinstance(words, str):
                yield entry, words


@dataclass(slots=True)
class _CurrentLabel:
    """The label that the lines at hand belong to."""

    section: str | None = None
    above: str | None = None
    meant: str | None = None
    word: str | None = None

    @property
    def item(self) -> str | None:
        return self.meant or self.word or self.above or self.section

    def note(self, name: _Name) -> None:
        if name.strong:
            self.meant = name.item
        else:
            self.word = name.item

    def end_line(self) -> None:
        self.above, self.meant, self.word = self.meant or self.above or self.word, None, None


def _from_lines(marked: MarkedReply) -> Iterator[_Quotation]:
    names = marked.names
    decided = sorted((m.start, m.limit) for m in (*marked.markers, *marked.undecided))
    spans = [span for span in _spans(marked) if not _within(span.start, decided)]
    if not spans:
        return
    current = _CurrentLabel()
    for position, end in marked.spans():
        if position > spans[-1].start:
            return
        inside = spans[bisect_left(spans, (position, 0)) : bisect_left(spans, (end, 0))]
        if not marked.lines[position:end].strip():
            current.above = None
        if _HEADING.match(marked.text, position, end):
            current = _CurrentLabel()
        line_names = [
            name
            for name in _names_in(marked, position, end)
            if not _within(name.start, decided) and not _within(name.start, inside)
        ]
        if len(line_names) == 1 and not inside and _stands_alone(marked, line_names[0], position, end):
            current.section = line_names[0].item
        pointed = _spoken_for(marked.text, line_names, inside, end)
        if line_names and marked.lines.count("|", position, end) > 1:  # in a table row the label may follow the quote
            current = _CurrentLabel(above=line_names[0].item if len({name.item for name in line_names}) == 1 else None)
        marks: list[_Name | Span] = [*set(line_names).difference(pointed.values()), *inside]
        for mark in sorted(marks, key=attrgetter("start")):
            if isinstance(mark, _Name):
                current.note(mark)
                continue
            start, stop = mark
            quote = _tidy(marked.text[start + 1 : stop - 1])
            quoted_item = names.find(quote.strip("#* "))
            is_spelt = quoted_item is not None and names.written(quoted_item) == quote.strip("#* ")
            item = pointed[start].item if start in pointed else current.item
            if is_spelt and quoted_item not in (current.meant, current.word):
                current.meant = quoted_item  # "Service": "friendly staff"
            elif quote and item is not None:
                yield _Quotation(start, item, quote, marked.text.find(quote, start + 1, stop - 1))
        current.end_line()
        if bisect_left(decided, (end, 0)) > bisect_left(decided, (position, 0)):
            current = _CurrentLabel()


def _spoken_for(text: str, line_names: Sequence[_Name], spans: Sequence[Span], line_end: int) -> dict[int, _Name]:
    """Return the label that each quote of a line supports and that follows it, by the start of the quote.

    In ``"tasty soup" and "good eggs" support #Food`` both do. A word that is also the name of a label does not count
    after a marked label: ``#Service: "kind and quick" (food)``.
    """
    by_start: dict[int, _Name] = {}
    starts = [name.start for name in line_names]
    first_strong = next((name.start for name in line_names if name.strong), line_end)
    following = line_end
    name = None
    for start, stop in reversed(spans):
        index = bisect_left(starts, stop)
        if index < len(starts) and starts[index] < following:
            ahead = line_names[index]
            speaks = _SPEAKS_FOR.fullmatch(text, stop, ahead.start)
            ends = _ENDS_CLAUSE.match(text, ahead.end, line_end)
            name = ahead if speaks and ends and (ahead.strong or first_strong > start) else None
        elif not _NEXT_QUOTE.fullmatch(text, stop, following):
            name = None
        if name is not None:
            by_start[start] = name
        following = start
    return by_start


def _spans(marked: MarkedReply) -> tuple[Span, ...]:
    doubles = [s for s in double_quoted(marked.lines) if not _CROSSING.search(marked.lines, s.start, s.end)]
    outer = outermost(doubles)
    return tuple(sorted((*outer, *single_quoted(marked.lines, outer))))


def _within(position: int, ranges: Sequence[tuple[int, int]]) -> bool:
    index = bisect_left(ranges, (position + 1, 0)) - 1
    return index >= 0 and position < ranges[index][1]


def _names_in(marked: MarkedReply, position: int, end: int) -> Iterator[_Name]:
    text = marked.text
    head = _BULLET.match(text, position, end)
    first = head.end() if head else position
    for mention in marked.names.mentions(text[position:end]):
        start, stop = position + mention.start, position + mention.end
        spelling = marked.names.written(mention.item)
        strong = (
            start <= first
            or text[start - 1] in _MARKED
            or (text[start:stop] == spelling and spelling != spelling.lower())
            or _AFTER_NAME.match(text, stop, end) is not None
        )
        yield _Name(mention.item, start, stop, strong)


def _stands_alone(marked: MarkedReply, name: _Name, position: int, end: int) -> bool:
    """Return True if the line is only the label's name: a heading for the lines below."""
    head = _BULLET.match(marked.text, position, end)
    return bool(head and head.end() >= name.start and _ALONE.match(marked.text, name.end, end))


def _tidy(words: str) -> str:
    """Return the quote without white space around it; empty if it has no letter or digit."""
    words = storable(words[:MAX_QUOTE_CHARACTERS]).strip()
    return words if any(character.isalnum() for character in words) else ""


class Passage(NamedTuple):
    """The place of a quote: ``fields[field][start:end]`` is the quoted text."""

    field: str
    start: int
    end: int
    match: Literal["exact", "fuzzy", "missing"]


MISSING = Passage("", -1, -1, "missing")

FUZZY_SCORE = 90.0
MIN_FUZZY_CHARACTERS = 12
MAX_FUZZY_CHARACTERS = 2_000
"""Shorter words are alike by chance; longer ones take time to align and are not quotes."""
MAX_ELLIPSIS_CHARACTERS = 400
"""Most characters that an ellipsis inside a quote may stand for."""
FUZZY_WORK = 10_000_000_000
"""Limit of the alignments of one reply, as text length times squared quote length over 64: at worst ten seconds."""
_STARTS = 200
_MIN_PART_CHARACTERS = 3
_WORD_REACH = 20

_SWAP = {
    **dict.fromkeys("‘’‚‛′´`", "'"),
    **dict.fromkeys("“”„‟«»″", '"'),
    **dict.fromkeys("‐‑‒–—―−⁃", "-"),
    **dict.fromkeys(INVISIBLE + "*", ""),  # an asterisk is the agent's emphasis
}
_ELLIPSIS = re.compile(r"[\[(]?\s?(?:\.\s?){2,}\.[\])]?")


class Haystack:
    """The fields of one document, folded once for any number of quotes."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields
        self._work = 0

    @cached_property
    def _folded(self) -> dict[str, Folded]:
        return {name: fold(text, _SWAP) for name, text in self._fields.items()}

    def locate(self, quote: str) -> Passage:
        """Return the place of a quote.

        The search goes in this order, each step over all fields in order. First the exact characters (``exact``). Then
        (all ``fuzzy``) the same words after folding case, Unicode forms, quotation marks, dashes and white space, with
        or without punctuation at the ends; the parts around an ellipsis, in order and at most
        ``MAX_ELLIPSIS_CHARACTERS`` characters apart; and for 12 characters or more a near-identical passage, extended
        to whole words, within ``FUZZY_WORK``. Whole words are preferred to parts of words. An empty quote and one that
        is not found are ``missing``: no field, -1, -1.
        """
        quote = quote.strip()
        if not quote:
            return MISSING
        for name, text in self._fields.items():
            if (at := _whole_words(text, quote)) >= 0:
                return Passage(name, at, at + len(quote), "exact")
        words = fold(quote, _SWAP).text.strip()
        bare_quote = _bare(words)
        for phrase in dict.fromkeys(filter(None, (words, bare_quote))):
            for name, folded in self._folded.items():
                if (at := _whole_words(folded.text, phrase)) >= 0:
                    return Passage(name, *folded.source(at, at + len(phrase)), "fuzzy")
        parts = [part for part in map(_bare, _ELLIPSIS.split(words)) if len(part) >= _MIN_PART_CHARACTERS]
        for name, folded in self._folded.items() if len(parts) > 1 else ():
            if span := _in_order(folded.text, parts):
                return Passage(name, *folded.source(*span), "fuzzy")
        if MIN_FUZZY_CHARACTERS <= len(bare_quote) <= MAX_FUZZY_CHARACTERS:
            return self._aligned(bare_quote)
        return MISSING

    def _aligned(self, bare_quote: str) -> Passage:
        """Return the place of the passage that is most like a quote."""
        best_match: tuple[float, str, int, int] | None = None
        for name, folded in self._folded.items():
            work = len(folded.text) * len(bare_quote) ** 2 // 64
            if self._work + work > FUZZY_WORK:
                continue
            self._work += work
            # A text shorter than the quote would be looked for inside it: the wrong way round.
            if len(folded.text) < len(bare_quote):
                score = fuzz.ratio(bare_quote, folded.text, score_cutoff=FUZZY_SCORE)
                begin, end = 0, len(folded.text)
            else:
                alignment = fuzz.partial_ratio_alignment(bare_quote, folded.text, score_cutoff=FUZZY_SCORE)
                score, begin, end = (
                    (alignment.score, alignment.dest_start, alignment.dest_end) if alignment else (0.0, 0, 0)
                )
            if score >= FUZZY_SCORE and begin < end and (best_match is None or score > best_match[0]):
                best_match = (score, name, *folded.source(begin, end))
        if best_match is None:
            return MISSING
        _, name, start, stop = best_match
        return Passage(name, *_to_words(self._fields[name], start, stop), "fuzzy")


def _whole_words(text: str, phrase: str) -> int:
    """Return the position of ``phrase`` as whole words, else of any occurrence, else -1."""
    first = -1
    for at in _occurrences(text, phrase):
        if not (joined(text, at) or joined(text, at + len(phrase))):
            return at
        first = at if first < 0 else first
    return first


def _bare(words: str) -> str:
    """Return the words without white space, ellipses, quotation marks and punctuation at either end.

    Characters that may be part of a figure or an address are kept.
    """
    start, end = _stripped(words, 0, len(words))
    return words[start:end]


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends of a range off white space and punctuation."""
    while start < end and _strippable(text[start]):
        start += 1
    while start < end and _strippable(text[end - 1]):
        end -= 1
    return start, end


def _strippable(character: str) -> bool:
    if character in "%&@#/\\":
        return False
    return character.isspace() or unicodedata.category(character) in {"Po", "Pd", "Pi", "Pf", "Pc"}


def _in_order(text: str, parts: list[str]) -> tuple[int, int] | None:
    """Return the span from the first part to the last, for the first occurrence that the others follow."""
    for start in _occurrences(text, parts[0]):
        end = start + len(parts[0])
        for part in parts[1:]:
            at = text.find(part, end, end + MAX_ELLIPSIS_CHARACTERS + len(part))
            if at < 0:
                break
            end = at + len(part)
        else:
            return start, end
    return None


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = -1
    for _ in range(_STARTS):
        at = text.find(part, at + 1)
        if at < 0:
            return
        yield at


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Move both ends to the nearer edge of the word they cut, then off white space and punctuation.

    An alignment may be a character off. A range without any word is left as it is.
    """
    first, last = _stripped(text, _nearer(text, start, -1), _nearer(text, end, 1))
    return (first, last) if first < last else (start, end)


def _nearer(text: str, at: int, outward: int) -> int:
    """Return the nearest edge of a word, ``outward`` (-1 or 1) if two are equally near."""
    for distance in range(_WORD_REACH):
        for edge in (at + outward * distance, at - outward * distance):
            if 0 <= edge <= len(text) and not joined(text, edge):
                return edge
    return at
