"""Terms: a word or phrase that speaks for a label, with the forms it is found under and what a hit on it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from core.llm.builtin.stopwords import FUNCTION_WORDS
from core.llm.builtin.words import forms, tokens

Source: TypeAlias = Literal["keyword", "name", "description", "include", "idiom"]

WEIGHTS: Mapping[Source, float] = {"keyword": 1.0, "name": 1.0, "description": 0.8, "include": 0.5, "idiom": 0.0}
"""What a hit counts. Of a definition, only words that no other label's definition has count in full."""

NO_LABEL = -1
"""The label of an idiom."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase that speaks for a label (its number). ``pattern`` has the admissible forms of each token."""

    label: int
    text: str
    source: Source
    weight: float
    pattern: tuple[frozenset[str], ...]
    key: frozenset[str] = field(init=False, repr=False, compare=False)
    """Terms with the same key are the same word or phrase."""

    def __post_init__(self) -> None:
        alone = len(self.pattern) == 1
        key = self.pattern[0] if alone else frozenset({" ".join(min(step) for step in self.pattern)})
        object.__setattr__(self, "key", key)

    @property
    def listed(self) -> bool:
        """Whether the codebook's author listed it: a keyword or the label's name."""
        return self.source in ("keyword", "name")


def term(label: int, text: str, source: Source, factor: float = 1.0) -> Iterator[Term]:
    """The term for ``text``; none when there is nothing in it to look for."""
    words = [token for token, _, _ in tokens(text)]
    if words and (len(words) > 1 or words[0] not in FUNCTION_WORDS):
        yield Term(label, text, source, WEIGHTS[source] * factor, tuple(map(forms, words)))
