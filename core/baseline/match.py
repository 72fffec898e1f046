"""What the roles share: a text seen through a lexicon, and how the baseline speaks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.baseline.lexicon import NO_LABEL, Lexicon
from core.baseline.scan import Hit, Scan
from core.codebook import Label
from core.debate.turns import Reply

NAMES = "Word-list baseline"

PROPOSED = 0.35
"""What an extractor takes to name a label, objections left aside: in a label with keywords, more than one word of an
include example."""
DOUBTED = 0.6
"""Below this a critic challenges: less than a keyword, the name or a clear word of the description."""
NEEDED = 0.4
"""What a judge takes to keep a label that somebody doubts, objections counted."""

WORDS = 3
QUOTES = 2

_FROM = {
    "keyword": "a keyword",
    "name": "the label's name",
    "description": "a word of the description",
    "include": "a word of the examples",
}


@dataclass(frozen=True, slots=True)
class View:
    """A text seen through a lexicon. Labels go by their number."""

    lexicon: Lexicon
    scan: Scan

    @property
    def labels(self) -> tuple[Label, ...]:
        return self.lexicon.codebook.labels

    @property
    def usable(self) -> list[int]:
        """The labels that have a word to look for."""
        return [number for number, usable in enumerate(self.lexicon.usable) if usable]

    @property
    def unit(self) -> str:
        """What one document is, on one line."""
        return " ".join(self.lexicon.codebook.unit.split()) or "text"

    def name(self, number: int) -> str:
        return self.labels[number].name

    def named(self, reply: Reply) -> list[int]:
        """The labels that a reply's list holds."""
        present = set(reply.reading.present)
        return [number for number, label in enumerate(self.labels) if label.id in present]

    def support(self, number: int, most: int = 1, least: float = 0.0) -> tuple[str, str]:
        """What stands behind a label: the clauses of its strongest hits, quoted, and the words hit in them."""
        best = self.scan.best(number)
        hits = [hit for hit in best if hit.strength >= least] or best[:1]
        clauses = list(dict.fromkeys(hit.clause for hit in hits))[:most]
        shown = [next(hit for hit in hits if hit.clause == clause) for clause in clauses]
        quotes = dict.fromkeys(f'"{self.scan.quote(hit)}"' for hit in shown)
        words = list(dict.fromkeys(self.scan.word(hit) for hit in hits if hit.clause in clauses))
        more = f" and {len(words) - WORDS} more" if len(words) > WORDS else ""
        return " and ".join(quotes), ", ".join(words[:WORDS]) + more

    def origin(self, hit: Hit) -> str:
        """Where in the codebook the word comes from."""
        return _FROM[hit.term.source]

    def objection(self, number: int) -> str:
        """What speaks against a label's strongest hit, as the end of a sentence."""
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
        """A line for each label without a usable word."""
        return [f"Undecided: #{self.name(n)}" for n, usable in enumerate(self.lexicon.usable) if not usable]


def readable(reply: Reply) -> bool:
    """Whether a reply's decision could be read."""
    return reply.reading.readable and bool(reply.reading.values or reply.reading.undecided)


def listing(names: Sequence[str]) -> str:
    """The names as a sentence has them: A; A and B; A, B and C."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _plain(text: str) -> str:
    return " ".join(text.translate(dict.fromkeys(map(ord, "\"“”„«»'‘’"), " ")).split())
