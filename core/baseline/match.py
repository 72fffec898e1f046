"""Matches of a lexicon in a text, and the phrases in which the baseline reports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.baseline.lexicon import NO_LABEL, Lexicon
from core.baseline.scan import Hit, Scan
from core.codebook import Label
from core.debate.turns import Reply

BASELINE_NAME = "Word-list baseline"

PROPOSE_THRESHOLD = 0.35
"""Score from which an extractor names a label, without objections.

For a label with keywords this is more than one word of an include example.
"""
CHALLENGE_THRESHOLD = 0.6
"""Score below which a critic challenges: less than a keyword, the name or a clear word of the description."""
KEEP_THRESHOLD = 0.4
"""Score from which a judge keeps a disputed label, with objections."""

MAX_WORDS = 3
MAX_QUOTES = 2

_FROM = {
    "keyword": "a keyword",
    "name": "the label's name",
    "description": "a word of the description",
    "include": "a word of the examples",
}


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches of a lexicon in a text. Labels are identified by their number."""

    lexicon: Lexicon
    scan: Scan

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.lexicon.codebook.labels

    @property
    def usable(self) -> list[int]:
        """Labels that have a word to look for."""
        return [number for number, usable in enumerate(self.lexicon.usable) if usable]

    @property
    def unit(self) -> str:
        """The unit of a document, on one line."""
        return " ".join(self.lexicon.codebook.unit.split()) or "text"

    def name(self, number: int) -> str:
        return self.labels[number].name

    def named(self, reply: Reply) -> list[int]:
        """Return the labels that a reply's list contains."""
        present = set(reply.reading.present)
        return [number for number, label in enumerate(self.labels) if label.id in present]

    def support(self, number: int, most: int = 1, least: float = 0.0) -> tuple[str, str]:
        """Return (quotes, words) of a label: the clauses of its strongest hits, quoted, and the words hit in them."""
        best = self.scan.best(number)
        hits = [hit for hit in best if hit.strength >= least] or best[:1]
        clauses = list(dict.fromkeys(hit.clause for hit in hits))[:most]
        shown = [next(hit for hit in hits if hit.clause == clause) for clause in clauses]
        quotes = dict.fromkeys(f'"{self.scan.quote(hit)}"' for hit in shown)
        words = list(dict.fromkeys(self.scan.word(hit) for hit in hits if hit.clause in clauses))
        more = f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else ""
        return " and ".join(quotes), ", ".join(words[:MAX_WORDS]) + more

    def origin(self, hit: Hit) -> str:
        """Return the part of the codebook that the word comes from."""
        return _FROM[hit.term.source]

    def objection(self, number: int) -> str:
        """Return the objection to a label's strongest hit, as the end of a sentence."""
        hit = self.scan.best(number)[0]
        word = self.scan.word(hit)
        if hit.excluded is not None:
            return f"{word} stands there as in the exclude example: {_plain(hit.excluded.text)}"
        if hit.covered is not None and hit.covered.label == NO_LABEL:
            return f"{word} is part of a set phrase there: {hit.covered.text}"
        if hit.covered is not None:
            owner = self.name(hit.covered.label)
            return f"{word} is part of {_plain(hit.covered.text)} there, which belongs to {owner}"
        return f"{word} is only {self.origin(hit)}"

    def undecided(self) -> list[str]:
        """Return a line for each label without a usable word."""
        return [f"Undecided: #{self.name(n)}" for n, usable in enumerate(self.lexicon.usable) if not usable]


def is_readable(reply: Reply) -> bool:
    """Return True if a reply has a readable decision."""
    return reply.reading.readable and bool(reply.reading.values or reply.reading.undecided)


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence: A; A and B; A, B and C."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _plain(text: str) -> str:
    return " ".join(text.translate(dict.fromkeys(map(ord, "\"“”„«»'‘’"), " ")).split())
