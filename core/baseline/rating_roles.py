"""The roles on a rating codebook: each dimension gets a place on the scale by what the words tell, and no more.

There is no judgement in it. A dimension's place between the ends of the scale, 0 to 1, is 1 - (1 - w)(1 - o)(1 - c):

- w = 1 - 2^(-s) by the score s of the dimension's words in the first field (``Scan.score``; a word that stands there as
  in an exclude example hardly counts), so that one keyword reaches the middle;
- o, in a document of several fields, is the share of the first field's words of content that stand in the others too;
- c, for a persona, is the share of the words of its concern that the document has.

No word at all is the lower end, as it means absent on a multilabel codebook. A dimension without a word to look for is
left undecided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.baseline.match import NAMES, View
from core.baseline.words import FUNCTION_WORDS, forms, tokens
from core.codebook import Scale
from core.debate.turns import Reply
from core.documents import Document


@dataclass(frozen=True, slots=True)
class Weighed:
    """What speaks for a rating besides the dimension's own words: ``shared`` with the other fields and ``concern`` of a
    persona, shares from 0 to 1, None where there is nothing to compare."""

    shared: float | None = None
    concern: float | None = None

    @classmethod
    def of(cls, document: Document, concern: str = "") -> Weighed:
        """Of a document, for one whose concern is said in these words (nobody's in particular without)."""
        first, *others = document.fields.values()
        context = _words(" ".join(others))
        return cls(
            shared=_share(_words(first), context) if others else None,
            concern=_share(_words(concern), _words(first) | context) if concern else None,
        )


def propose(view: View, weighed: Weighed) -> str:
    """A rating for each dimension that has a word to look for."""
    if not view.scan.text.strip():
        return _reply(view, "the text is empty, so there is nothing to rate.", [], {})
    rated = _rated(view, weighed)
    return _reply(view, "words counted, nothing judged.", [_because(view, n, weighed) for n in rated], rated)


def challenge(view: View, weighed: Weighed, heard: Reply) -> str:
    """Compare each rating with what the words give."""
    own, theirs = _rated(view, weighed), _heard(view, heard)
    if not theirs:
        lines = [_because(view, n, weighed) for n in own]
        return _reply(view, "no rating before me could be read; this is what the words say.", lines, own)
    lines = []
    for number, rating in own.items():
        said = theirs.get(number)
        name = view.name(number)
        if said is None:
            lines.append(f"- {name} was left out. {_because(view, number, weighed)[2:]}")
        elif abs(said - rating) < 1:
            lines.append(f"- {name}: I find no ground against {_number(said)}.")
        else:
            lines.append(f"- {name}: {_number(said)} seems too {'high' if said > rating else 'low'}. "
                         f"{_because(view, number, weighed)[2:]}")  # fmt: skip
    differ = sum(abs(theirs.get(n, rating) - rating) >= 1 for n, rating in own.items())
    opening = f"I differ on {differ} of {len(own)} dimensions." if differ else "I find no ground to differ."
    return _reply(view, opening, lines, own)


def decide(view: View, weighed: Weighed, heard: Sequence[Reply]) -> str:
    """The median of the ratings heard; where that lies between two of them, the one that the words are nearer to."""
    lists = [rated for reply in heard if (rated := _heard(view, reply))]
    if not lists:
        return propose(view, weighed)
    own = _rated(view, weighed)
    ruled: dict[int, int | float] = {}
    lines = []
    for number in range(len(view.labels)):
        said = sorted(each[number] for each in lists if number in each)
        if not said:
            continue
        low, high = said[(len(said) - 1) // 2], said[len(said) // 2]
        words = own.get(number, low)
        ruled[number] = low if abs(low - words) <= abs(high - words) else high
        if low == high:
            lines.append(f"- {view.name(number)}: {_number(low)} is what they say.")
        else:
            lines.append(f"- {view.name(number)}: of {_number(low)} and {_number(high)} the words are nearer to "
                         f"{_number(ruled[number])}.")  # fmt: skip
    return _reply(view, "weighing the ratings.", lines, ruled)


def place(score: float, weighed: Weighed) -> float:
    """The place between the ends of the scale, 0 to 1."""
    missing = float(2.0**-score)
    for share in (weighed.shared, weighed.concern):
        missing *= 1 - (share or 0.0)
    return 1 - missing


def on_scale(share: float, scale: Scale) -> int:
    """The whole point of the scale that is nearest to this place, the upper one half-way between two."""
    return scale.min + math.floor(share * (scale.max - scale.min) + 0.5)


def _rated(view: View, weighed: Weighed) -> dict[int, int]:
    scale = view.lexicon.codebook.scale or Scale()
    return {number: on_scale(place(view.scan.score(number), weighed), scale) for number in view.usable}


def _heard(view: View, reply: Reply) -> dict[int, int | float]:
    if not reply.reading.readable:
        return {}
    values = reply.reading.values
    said = {number: values.get(label.id) for number, label in enumerate(view.labels)}
    return {n: value for n, value in said.items() if isinstance(value, int | float) and not isinstance(value, bool)}


def _because(view: View, number: int, weighed: Weighed) -> str:
    grounds = []
    if view.scan.hits[number]:
        quotes, words = view.support(number)
        grounds.append(f"{quotes} has {words}")
    else:
        grounds.append("none of its words is there")
    if weighed.shared is not None:
        grounds.append(f"{weighed.shared:.0%} of the words stand in the other fields too")
    if weighed.concern is not None:
        grounds.append(f"{weighed.concern:.0%} of the words of my concern are there")
    return f"- {view.name(number)}: {'; '.join(grounds)}."


def _reply(view: View, opening: str, lines: Sequence[str], rated: Mapping[int, int | float]) -> str:
    missing = [f"Undecided: #{label.name}" for n, label in enumerate(view.labels) if n not in rated]
    ratings = ["Final ratings:", *(f"{view.name(n)}: {_number(rating)}" for n, rating in rated.items())]
    return "\n".join([f"{NAMES}: {opening}", *lines, *missing, *(ratings if rated else ())])


def _number(rating: int | float) -> str:
    return f"{rating:g}"


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word, _, _ in tokens(text) if word not in FUNCTION_WORDS and len(word) > 1)


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    """The share of the words that occur among the others in some form, 0 without words."""
    return sum(not among.isdisjoint(forms(word)) for word in words) / len(words) if words else 0.0
