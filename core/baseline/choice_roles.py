"""Replies of the roles for a choice codebook: one label of several."""

from __future__ import annotations

from collections.abc import Sequence

from core.baseline.match import BASELINE_NAME, MAX_QUOTES, Matches, join_names
from core.debate.turns import Reply

NO_HIT = "No word of the codebook occurs in this text."
"""The reply without a decision: without any hit there is no choice."""

CLOSE = 0.5
"""A lead over the second label below this is called close."""


def propose(matches: Matches, final: bool = False) -> str:
    """Choose the label with most words in the text; ``final`` if no other role weighs the reply."""
    ranked = _ranked(matches)
    if not ranked:
        return f"{BASELINE_NAME}. {NO_HIT}"
    lines = [f"- {_evidence(matches, ranked[0])}"]
    if len(ranked) > 1:
        lines.append(f"- {_rival(matches, ranked[0], ranked[1])}")
    opening = "no choice to weigh, so the words decide." if final else "counting the words of each label."
    return _reply(matches, opening, lines, ranked[0])


def challenge(matches: Matches, extraction: Reply) -> str:
    """Compare the chosen label with the label that the words favour."""
    ranked = _ranked(matches)
    chosen = _chosen(matches, extraction)
    if not ranked:
        return f"{BASELINE_NAME}. {NO_HIT}"
    best = ranked[0]
    if chosen is None:
        return _reply(matches, "no choice before me could be read.", [f"- {_evidence(matches, best)}"], best)
    if chosen == best:
        lines = [f"- {_evidence(matches, best)}"]
        if len(ranked) > 1:
            lines.append(f"- {_rival(matches, best, ranked[1])}")
        return _reply(matches, f"I find no ground against {matches.name(best)}.", lines, best)
    against = [f"- {matches.name(chosen)}: none of its words is in the text."]
    if chosen in ranked:
        against = [f"- {_evidence(matches, chosen)}, which is less."]
    return _reply(matches, f"{matches.name(chosen)} is doubtful.", [*against, f"- {_evidence(matches, best)}"], best)


def decide(matches: Matches, replies: Sequence[Reply]) -> str:
    """Return the label that all chose, else the chosen label that most words favour. No label is added."""
    chosen = [choice for choice in (_chosen(matches, reply) for reply in replies) if choice is not None]
    if not chosen:
        return propose(matches, True)
    if len(set(chosen)) == 1:
        borne = f", and {matches.support(chosen[0])[0]} bears it out" if matches.scan.hits[chosen[0]] else ""
        opening = "the sides agree." if len(chosen) > 1 else "one choice to weigh."
        return _reply(matches, opening, [f"- It is {matches.name(chosen[0])}{borne}."], chosen[0])
    ranked = [number for number in _ranked(matches) if number in chosen]
    if not ranked:
        return f"{BASELINE_NAME}. The sides differ. {NO_HIT}"
    others = join_names([matches.name(number) for number in sorted(set(chosen) - {ranked[0]})])
    lines = [f"- {_evidence(matches, ranked[0])}", f"- Less speaks for {others}."]
    return _reply(matches, "the sides differ, so the words decide.", lines, ranked[0])


def _ranked(matches: Matches) -> list[int]:
    """Return the labels with a hit by weight of their words, number of words, and first position in the text."""
    found = [number for number in matches.usable if matches.scan.hits[number]]
    return sorted(
        found, key=lambda n: (-matches.scan.weight(n), -len(matches.scan.hits[n]), matches.scan.hits[n][0].start, n)
    )


def _chosen(matches: Matches, reply: Reply) -> int | None:
    value = reply.reading.values.get("label") if reply.reading.readable else None
    return next((number for number, label in enumerate(matches.labels) if label.id == value), None)


def _evidence(matches: Matches, number: int) -> str:
    quotes, words = matches.support(number, MAX_QUOTES)
    return f"#{matches.name(number)}: {quotes} ({words})"


def _rival(matches: Matches, best: int, second: int) -> str:
    place = "close behind" if matches.scan.weight(best) - matches.scan.weight(second) < CLOSE else "next, with less"
    return f"{matches.name(second)} is {place}: {matches.support(second)[1]}."


def _reply(matches: Matches, opening: str, lines: Sequence[str], number: int) -> str:
    return "\n".join([f"{BASELINE_NAME}: {opening}", *lines, f"The label is {matches.name(number)}"])
