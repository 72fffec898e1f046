"""The student as a speaker: what it learned from people's decisions, said in the form of a debate.

It reads the text and nothing else, so it says the same in every role: its own values, how sure it is, and the words
that weighed most. It never weighs what others said. It is no language model, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from core.baseline.scan import clauses_of, locate, window
from core.codebook import Codebook
from core.debate.turns import Request
from core.documents import Document, Value

NAME = "student"
"""The model's name at the built-in connection; ``student@HASH`` is one that was taught certain decisions."""

_DECIDING = frozenset({"judge"})


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the student says of one item: its value (None for one it was not taught), how sure it is of it (0 to 1), and
    the words of the text that speak most for it."""

    item: str
    value: Value | None
    certainty: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassifierModel:
    """A trained student: after how many documents, and what it says of one under a codebook: an entry for each item."""

    documents: int
    judge: Callable[[Codebook, Document], Sequence[Prediction]]


Lookup: TypeAlias = Callable[[str], ClassifierModel | None]
"""The student with a hash; with an empty one, the latest."""


def answer(ask: Request, codebook: Codebook, document: Document, pupil: ClassifierModel) -> str:
    """The reply to an ask, in the formats that the parser reads."""
    said = pupil.judge(codebook, document)
    opening = f"Student, no language model, taught on {pupil.documents} reviewed documents:"
    lines = [line for one in said if (line := _line(one, codebook, document.text))]
    return "\n".join([opening, *lines, *_decision(ask, codebook, said)])


def _decision(ask: Request, codebook: Codebook, said: Sequence[Prediction]) -> list[str]:
    names = {label.id: label.name for label in codebook.labels}
    if codebook.kind == "choice":
        chosen = said[0].value if said else None
        if chosen not in names:
            return ["I was not taught these labels and leave the choice open."]
        return [f"The label is {names[str(chosen)]}"]
    if codebook.kind == "rating":
        told = {names[one.item]: one.value for one in said if one.value is not None}
        return ["```json", json.dumps({"ratings": told}, ensure_ascii=False), "```"]
    open_ones = [f"Undecided: #{names[one.item]}" for one in said if one.value is None]
    present = [names[one.item] for one in said if one.value is True]
    if ask.role in _DECIDING:
        return [*open_ones, f"Final Decision: The present aspects are: {', '.join(present) or 'none'}"]
    unit = " ".join(codebook.unit.split()) or "text"
    listed = ", ".join(f"#{name}" for name in present) or "none"
    return [*open_ones, f"The aspects present in this {unit} are: {listed}"]


def _line(said: Prediction, codebook: Codebook, text: str) -> str:
    """One label's line, with the clause that holds the weightiest word; nothing for a label that is surely absent."""
    if said.value is None or (said.value is False and said.certainty > 0.75):
        return ""
    if codebook.kind == "choice":
        name = next((label.name for label in codebook.labels if label.id == said.value), "")
    else:
        name = codebook.label(said.item).name
    words = f", by {', '.join(said.words)}" if said.words else ""
    stance = "absent" if said.value is False else "present" if said.value is True else f"{said.value}"
    if codebook.kind == "choice":
        return f"- {name}: certainty {said.certainty:.2f}{words}{_quoted(text, said.words)}"
    return f"- {name}: {stance}, certainty {said.certainty:.2f}{words}{_quoted(text, said.words)}"


def _quoted(text: str, words: Sequence[str]) -> str:
    lowered = text.lower()
    for word in words:
        at = lowered.find(word)
        if at >= 0 and len(lowered) == len(text):
            clauses = list(clauses_of(text))
            if clauses:
                start, end = window(text, clauses[locate(clauses, at)], at, at + len(word))
                return f': "{text[start:end]}"' if text[start:end].strip() else ""
    return ""
