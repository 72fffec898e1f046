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

from core.baseline.match import BASELINE_NAME, Matches
from core.baseline.words import FUNCTION_WORDS, forms, tokens
from core.codebook import Scale
from core.debate.turns import Reply
from core.documents import Document


@dataclass(frozen=True, slots=True)
class RatingFeatures:
    """Features of a rating besides the dimension's own words.

    ``shared`` is the share of words in common with the other fields, ``concern`` with the focus of a persona. Both are
    from 0 to 1, and None if there is nothing to compare with.
    """

    shared: float | None = None
    concern: float | None = None

    @classmethod
    def of(cls, document: Document, concern: str = "") -> RatingFeatures:
        """Return the features of a document, with a persona's focus if given."""
        first, *others = document.fields.values()
        context = _words(" ".join(others))
        return cls(
            shared=_share(_words(first), context) if others else None,
            concern=_share(_words(concern), _words(first) | context) if concern else None,
        )


def propose(matches: Matches, features: RatingFeatures) -> str:
    """Rate each dimension that has a word to look for."""
    if not matches.scan.text.strip():
        return _reply(matches, "the text is empty, so there is nothing to rate.", [], {})
    rated = _rated(matches, features)
    return _reply(matches, "words counted, nothing judged.", [_because(matches, n, features) for n in rated], rated)


def challenge(matches: Matches, features: RatingFeatures, replies: Reply) -> str:
    """Compare each rating with the rating by words."""
    own, theirs = _rated(matches, features), _ratings_of(matches, replies)
    if not theirs:
        lines = [_because(matches, n, features) for n in own]
        return _reply(matches, "no rating before me could be read; this is what the words say.", lines, own)
    lines = []
    for number, rating in own.items():
        said = theirs.get(number)
        name = matches.name(number)
        if said is None:
            lines.append(f"- {name} was left out. {_because(matches, number, features)[2:]}")
        elif abs(said - rating) < 1:
            lines.append(f"- {name}: I find no ground against {_number(said)}.")
        else:
            lines.append(f"- {name}: {_number(said)} seems too {'high' if said > rating else 'low'}. "
                         f"{_because(matches, number, features)[2:]}")  # fmt: skip
    differ = sum(abs(theirs.get(n, rating) - rating) >= 1 for n, rating in own.items())
    opening = f"I differ on {differ} of {len(own)} dimensions." if differ else "I find no ground to differ."
    return _reply(matches, opening, lines, own)


def decide(matches: Matches, features: RatingFeatures, replies: Sequence[Reply]) -> str:
    """Return the median rating; between two ratings, the one nearer to the rating by words."""
    lists = [rated for reply in replies if (rated := _ratings_of(matches, reply))]
    if not lists:
        return propose(matches, features)
    own = _rated(matches, features)
    ruled: dict[int, int | float] = {}
    lines = []
    for number in range(len(matches.labels)):
        said = sorted(each[number] for each in lists if number in each)
        if not said:
            continue
        low, high = said[(len(said) - 1) // 2], said[len(said) // 2]
        words = own.get(number, low)
        ruled[number] = low if abs(low - words) <= abs(high - words) else high
        if low == high:
            lines.append(f"- {matches.name(number)}: {_number(low)} is what they say.")
        else:
            lines.append(f"- {matches.name(number)}: of {_number(low)} and {_number(high)} the words are nearer to "
                         f"{_number(ruled[number])}.")  # fmt: skip
    return _reply(matches, "weighing the ratings.", lines, ruled)


def scale_share(score: float, features: RatingFeatures) -> float:
    """Return the position between the ends of the scale, 0 to 1."""
    missing = float(2.0**-score)
    for share in (features.shared, features.concern):
        missing *= 1 - (share or 0.0)
    return 1 - missing


def to_scale_point(share: float, scale: Scale) -> int:
    """Return the nearest point of the scale, the upper one half-way between two."""
    return scale.min + math.floor(share * (scale.max - scale.min) + 0.5)


def _rated(matches: Matches, features: RatingFeatures) -> dict[int, int]:
    scale = matches.lexicon.codebook.scale or Scale()
    return {
        number: to_scale_point(scale_share(matches.scan.score(number), features), scale) for number in matches.usable
    }


def _ratings_of(matches: Matches, reply: Reply) -> dict[int, int | float]:
    if not reply.reading.readable:
        return {}
    values = reply.reading.values
    said = {number: values.get(label.id) for number, label in enumerate(matches.labels)}
    return {n: value for n, value in said.items() if isinstance(value, int | float) and not isinstance(value, bool)}


def _because(matches: Matches, number: int, features: RatingFeatures) -> str:
    grounds = []
    if matches.scan.hits[number]:
        quotes, words = matches.support(number)
        grounds.append(f"{quotes} has {words}")
    else:
        grounds.append("none of its words is there")
    if features.shared is not None:
        grounds.append(f"{features.shared:.0%} of the words stand in the other fields too")
    if features.concern is not None:
        grounds.append(f"{features.concern:.0%} of the words of my concern are there")
    return f"- {matches.name(number)}: {'; '.join(grounds)}."


def _reply(matches: Matches, opening: str, lines: Sequence[str], rated: Mapping[int, int | float]) -> str:
    missing = [f"Undecided: #{label.name}" for n, label in enumerate(matches.labels) if n not in rated]
    ratings = ["Final ratings:", *(f"{matches.name(n)}: {_number(rating)}" for n, rating in rated.items())]
    return "\n".join([f"{BASELINE_NAME}: {opening}", *lines, *missing, *(ratings if rated else ())])


def _number(rating: int | float) -> str:
    return f"{rating:g}"


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word, _, _ in tokens(text) if word not in FUNCTION_WORDS and len(word) > 1)


def _share(words: frozenset[str], among: frozenset[str]) -> float:
    """Return the share of the words that occur among the others in some form, 0 without words."""
    return sum(not among.isdisjoint(forms(word)) for word in words) / len(words) if words else 0.0
