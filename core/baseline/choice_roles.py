"""The roles on a choice codebook: one label of several."""

from __future__ import annotations

from collections.abc import Sequence

from core.baseline.match import NAMES, QUOTES, View, listing
from core.debate.turns import Reply

NO_HIT = "No word of the codebook occurs in this text."
"""Said instead of a decision: a choice without any hit is no choice."""

CLOSE = 0.5
"""Less than this lead over the second label is said to be close."""


def propose(view: View, final: bool = False) -> str:
    """The label with most words in the text; ``final`` when there is nobody to weigh."""
    ranked = _ranked(view)
    if not ranked:
        return f"{NAMES}. {NO_HIT}"
    lines = [f"- {_evidence(view, ranked[0])}"]
    if len(ranked) > 1:
        lines.append(f"- {_rival(view, ranked[0], ranked[1])}")
    opening = "no choice to weigh, so the words decide." if final else "counting the words of each label."
    return _reply(view, opening, lines, ranked[0])


def challenge(view: View, extraction: Reply) -> str:
    """Compare the label that was chosen with the one that the words speak for."""
    ranked = _ranked(view)
    chosen = _chosen(view, extraction)
    if not ranked:
        return f"{NAMES}. {NO_HIT}"
    best = ranked[0]
    if chosen is None:
        return _reply(view, "no choice before me could be read.", [f"- {_evidence(view, best)}"], best)
    if chosen == best:
        lines = [f"- {_evidence(view, best)}"]
        if len(ranked) > 1:
            lines.append(f"- {_rival(view, best, ranked[1])}")
        return _reply(view, f"I find no ground against {view.name(best)}.", lines, best)
    against = [f"- {view.name(chosen)}: none of its words is in the text."]
    if chosen in ranked:
        against = [f"- {_evidence(view, chosen)}, which is less."]
    return _reply(view, f"{view.name(chosen)} is doubtful.", [*against, f"- {_evidence(view, best)}"], best)


def decide(view: View, heard: Sequence[Reply]) -> str:
    """What all chose, else the choice that most words speak for. No label is brought in."""
    chosen = [choice for choice in (_chosen(view, reply) for reply in heard) if choice is not None]
    if not chosen:
        return propose(view, True)
    if len(set(chosen)) == 1:
        borne = f", and {view.support(chosen[0])[0]} bears it out" if view.scan.hits[chosen[0]] else ""
        opening = "the sides agree." if len(chosen) > 1 else "one choice to weigh."
        return _reply(view, opening, [f"- It is {view.name(chosen[0])}{borne}."], chosen[0])
    ranked = [number for number in _ranked(view) if number in chosen]
    if not ranked:
        return f"{NAMES}. The sides differ. {NO_HIT}"
    others = listing([view.name(number) for number in sorted(set(chosen) - {ranked[0]})])
    lines = [f"- {_evidence(view, ranked[0])}", f"- Less speaks for {others}."]
    return _reply(view, "the sides differ, so the words decide.", lines, ranked[0])


def _ranked(view: View) -> list[int]:
    """The labels with a hit: by the weight of their words, by their number of words, by who comes first in the text."""
    found = [number for number in view.usable if view.scan.hits[number]]
    return sorted(found, key=lambda n: (-view.scan.weight(n), -len(view.scan.hits[n]), view.scan.hits[n][0].start, n))


def _chosen(view: View, reply: Reply) -> int | None:
    value = reply.reading.values.get("label") if reply.reading.readable else None
    return next((number for number, label in enumerate(view.labels) if label.id == value), None)


def _evidence(view: View, number: int) -> str:
    quotes, words = view.support(number, QUOTES)
    return f"#{view.name(number)}: {quotes} ({words})"


def _rival(view: View, best: int, second: int) -> str:
    place = "close behind" if view.scan.weight(best) - view.scan.weight(second) < CLOSE else "next, with less"
    return f"{view.name(second)} is {place}: {view.support(second)[1]}."


def _reply(view: View, opening: str, lines: Sequence[str], number: int) -> str:
    return "\n".join([f"{NAMES}: {opening}", *lines, f"The label is {view.name(number)}"])
