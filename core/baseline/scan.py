"""Scan of a text: its clauses, which are quoted and compared with examples, and the hits of a lexicon."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from core.baseline.lexicon import NO_LABEL, Exclusion, Lexicon, Term
from core.baseline.words import tokens

Span: TypeAlias = tuple[int, int]

MAX_QUOTE_CHARACTERS = 160
"""Most characters of a quote."""
MIN_CLAUSE_CHARACTERS = 24
"""A piece between commas shorter than this is joined with its neighbour."""

_END = re.compile(r"[.!?;…](?=\s|$)|[。！？；]|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|[\"“”„«»{}`]|\s[-–]\s|—|--+")
_JOINT = re.compile(r"[,:](?=\s)|[()\[\]，、：]|\s(?=(?:but|although|though|however|while|whereas)\s)", re.IGNORECASE)
_EDGE = " \t\u00a0.,;:!?-–"


def clauses_of(text: str) -> Iterator[Span]:
    """Yield the clauses of a text in order.

    Clauses are cut at ends of sentences, and at commas and "but" if the pieces are long enough. They are also cut at
    characters that would break a quote or start JSON: line breaks, double quotation marks, braces.
    """
    for start, end in _pieces(text, 0, len(text), _END):
        clause: Span | None = None
        for piece in _pieces(text, start, end, _JOINT):
            if clause is None:
                clause = piece
            elif min(clause[1] - clause[0], piece[1] - piece[0]) < MIN_CLAUSE_CHARACTERS:
                clause = (clause[0], piece[1])
            else:
                yield clause
                clause = piece
        if clause is not None:
            yield clause


def clause_at(clauses: Sequence[Span], at: int) -> int:
    """Return the number of the clause that begins last before ``at``."""
    return max(0, bisect_right(clauses, (at, len(clauses) and clauses[-1][1])) - 1)


def quote_window(text: str, clause: Span, start: int, end: int) -> Span:
    """Return the clause, or if it is too long the part around ``start`` to ``end``, cut between words."""
    first, last = clause
    end = min(end, last)
    if last - first > MAX_QUOTE_CHARACTERS:
        spare = max(0, MAX_QUOTE_CHARACTERS - (end - start)) // 2
        left, right = max(first, start - spare), min(last, end + spare)
        gap = text.find(" ", left, start) if left > first else -1
        first = gap + 1 if gap >= 0 else left
        gap = text.rfind(" ", end, right) if right < last else -1
        last = min(gap if gap >= 0 else right, first + MAX_QUOTE_CHARACTERS)
    part = text[first:last]
    return first + len(part) - len(part.lstrip(_EDGE)), last - len(part) + len(part.rstrip(_EDGE))


def _pieces(text: str, start: int, end: int, mark: re.Pattern[str]) -> Iterator[Span]:
    at = start
    for match in mark.finditer(text, start, end):
        if match.start() > at:
            yield at, match.start()
        at = max(at, match.end())
    if at < end:
        yield at, end


COVERED_FACTOR = 0.2
"""Factor for a hit that is only part of a longer phrase: another label's, or an idiom."""
EXCLUDED_FACTOR = 0.2
"""Factor for a hit in a clause similar to one of the label's exclude examples."""
FURTHER_WORD_FACTOR = 0.5
"""Factor for the further words of a label beside its best one."""
MAX_WORD_GAP = 3
"""Most characters between the words of a phrase."""

_JOINTS = " \t\r\n-–'’`/&"


@dataclass(frozen=True, slots=True)
class Hit:
    """A term found in the text at ``start`` to ``end``, in clause number ``clause``, with its objections."""

    term: Term
    start: int
    end: int
    clause: int
    covered: Term | None = None
    excluded: Exclusion | None = None

    @property
    def strength(self) -> float:
        """The term's weight, reduced by the objections."""
        return (
            self.term.weight * (COVERED_FACTOR if self.covered else 1.0) * (EXCLUDED_FACTOR if self.excluded else 1.0)
        )


@dataclass(frozen=True, slots=True)
class Scan:
    """A scanned text: its clauses, and each label's hits in order of appearance."""

    text: str
    clauses: tuple[Span, ...]
    hits: tuple[tuple[Hit, ...], ...]

    def score(self, label: int, *, doubted: bool = True) -> float:
        """Return the score of a label: its best word in full, every other word in part.

        Without ``doubted``, objections do not count.
        """
        ranked = sorted(self._strengths(label, doubted), reverse=True)
        return ranked[0] + FURTHER_WORD_FACTOR * sum(ranked[1:]) if ranked else 0.0

    def weight(self, label: int) -> float:
        """Return the score of a label that competes with others: every word counts in full."""
        return sum(self._strengths(label, True))

    def _strengths(self, label: int, doubted: bool) -> list[float]:
        best: dict[frozenset[str], float] = {}
        for hit in self.hits[label]:
            value = hit.strength if doubted else hit.term.weight
            best[hit.term.key] = max(best.get(hit.term.key, 0.0), value)
        return list(best.values())

    def best(self, label: int) -> list[Hit]:
        """Return the label's hits, the strongest first."""
        return sorted(self.hits[label], key=lambda hit: (-hit.strength, hit.start))

    def quote(self, hit: Hit) -> str:
        """Return the clause around a hit as in the text, without a line break or double quotation mark."""
        start, end = quote_window(self.text, self.clauses[hit.clause], hit.start, hit.end)
        return self.text[start:end]

    def word(self, hit: Hit) -> str:
        """Return the words that were hit, in lower case."""
        return " ".join(self.text[hit.start : hit.end].lower().split())


_Match = tuple[Term, int, int]
_Token = tuple[str, int, int]


@lru_cache(maxsize=256)
def scan(lexicon: Lexicon, text: str) -> Scan:
    """Scan a text. Cached, because several roles read the same text in a row."""
    found = list(tokens(text))
    matches = list(_matches(lexicon, text, found))
    hits: list[list[Hit]] = [[] for _ in lexicon.usable]
    if all(term.label == NO_LABEL for term, _, _ in matches):
        return Scan(text, (), tuple(map(tuple, hits)))
    clauses = tuple(clauses_of(text))
    starts = [start for _, start, _ in found]
    around: dict[int, list[_Match]] = {}
    for match in matches:
        if match[2] > match[1]:
            for position in range(match[1], match[2] + 1):
                around.setdefault(position, []).append(match)
    words: dict[int, frozenset[str]] = {}
    for term, first, last in matches:
        if term.label == NO_LABEL:
            continue
        longer = [one for one, a, b in around.get(first, ()) if a <= first and last <= b and b - a > last - first]
        if any(one.label == term.label for one in longer):
            continue
        start, end = found[first][1], found[last][2]
        clause = clause_at(clauses, start)
        excluded = None
        if lexicon.exclusions[term.label]:
            if clause not in words:
                words[clause] = _words(found, starts, clauses[clause])
            excluded = next((e for e in lexicon.exclusions[term.label] if _reads_like(e, term, words[clause])), None)
        hits[term.label].append(Hit(term, start, end, clause, longer[0] if longer else None, excluded))
    return Scan(text, clauses, tuple(map(tuple, hits)))


def _matches(lexicon: Lexicon, text: str, found: Sequence[_Token]) -> Iterator[_Match]:
    index, size = lexicon.index, len(found)
    for position, (word, _, _) in enumerate(found):
        for term in index.get(word, ()):
            length = len(term.pattern)
            if length == 1:
                yield term, position, position
            elif (
                position + length <= size
                and found[position + 1][0] in term.pattern[1]
                and _follows(term, text, found[position : position + length])
            ):
                yield term, position, position + length - 1


def _follows(term: Term, text: str, found: Sequence[_Token]) -> bool:
    """Return True if the tokens are the term's phrase, with only spaces and hyphens between them."""
    if any(word not in step for (word, _, _), step in zip(found, term.pattern, strict=True)):
        return False
    gaps = (text[end:start] for (_, _, end), (_, start, _) in pairwise(found))
    return all(len(gap) <= MAX_WORD_GAP and not gap.strip(_JOINTS) for gap in gaps)


def _words(found: Sequence[_Token], starts: Sequence[int], clause: Span) -> frozenset[str]:
    return frozenset(word for word, _, _ in found[bisect_left(starts, clause[0]) : bisect_left(starts, clause[1])])


def _reads_like(exclusion: Exclusion, term: Term, words: frozenset[str]) -> bool:
    """Return True if a clause is similar to an exclude example.

    For a hit on a word of the example, at least half of its other words must occur. For another hit on a derived word,
    at least three quarters of two or more words must occur.
    """
    others = [forms for forms in exclusion.words if all(forms.isdisjoint(step) for step in term.pattern)]
    shared = sum(not forms.isdisjoint(words) for forms in others)
    if len(others) < len(exclusion.words):
        return shared * 2 >= len(others) if others else len(term.pattern) == 1
    return not term.listed and len(others) > 1 and shared * 4 >= len(others) * 3
