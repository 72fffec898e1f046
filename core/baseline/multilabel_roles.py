"""The roles on a multilabel codebook: each label is present or absent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.baseline.match import DOUBTED, NAMES, NEEDED, PROPOSED, QUOTES, View, listing, readable
from core.debate.turns import Reply


def propose(view: View, final: bool = False) -> str:
    """Name every label that has a hit, with the clauses that were hit; ``final`` when there is nobody to weigh."""
    needed = NEEDED if final else PROPOSED
    found = [n for n in view.usable if view.scan.score(n, doubted=final) >= needed]
    if not view.scan.text.strip():
        opening = "the text is empty."
    elif not found:
        amount = "too little" if any(view.scan.hits[n] for n in view.usable) else "no word"
        opening = f"{amount} of the codebook occurs in this {view.unit}."
    else:
        opening = f"words of {len(found)} of {len(view.labels)} labels occur in this {view.unit}."
    return _reply(view, opening, (f"- {_evidence(view, n)}" for n in found), found, final=final)


def challenge(view: View, extraction: Reply) -> str:
    """Test what was claimed, label by label; name what was missed."""
    if not readable(extraction):
        found = [n for n in view.usable if view.scan.score(n) >= DOUBTED]
        lines = [f"- {_evidence(view, n)}" for n in found]
        return _reply(view, "the list before me could not be read; this is what the words say.", lines, found)
    claimed = [n for n in view.named(extraction) if view.lexicon.usable[n]]
    kept = [n for n in claimed if view.scan.score(n) >= DOUBTED]
    missed = [n for n in view.usable if n not in claimed and view.scan.score(n) >= 1.0]
    lines = []
    for number in claimed:
        name = view.name(number)
        if not view.scan.hits[number]:
            lines.append(f"- #{name} is doubtful: no word of its definition is in the text.")
            continue
        quote, words = view.support(number)
        if number in kept:
            lines.append(f"- #{name} holds: {quote} has {words}.")
        else:
            lines.append(f"- #{name} is doubtful: in {quote}, {view.objection(number)}.")
    lines += [f"- {_evidence(view, number, ' was missed')}" for number in missed]
    return _reply(view, _findings(len(claimed), len(kept), len(missed)), lines, sorted(kept + missed))


def decide(view: View, heard: Sequence[Reply]) -> str:
    """Weigh what was heard. What all name stays; what only some name stays if its words carry it. Nothing is added."""
    lists = [set(view.named(reply)) for reply in heard if readable(reply)]
    if not lists:
        return propose(view, True)
    named = [n for n in view.usable if any(n in own for own in lists)]
    agreed = [n for n in named if all(n in own for own in lists)] if len(lists) > 1 else []
    kept = list(agreed)
    lines = []
    if agreed:
        both = "Both sides name" if len(lists) == 2 else "All name"
        lines.append(f"- {both} {listing([view.name(n) for n in agreed])}{_borne_out(view, agreed)}")
    for number in named:
        if number in agreed:
            continue
        name = view.name(number)
        if not view.scan.hits[number]:
            lines.append(f"- {name} goes: none of its words is in the text.")
            continue
        quote, words = view.support(number)
        if view.scan.score(number) >= NEEDED:
            kept.append(number)
            lines.append(f"- {name} stays: {quote} has {words}, and nothing weighs more against it.")
        else:
            lines.append(f"- {name} goes: in {quote}, {view.objection(number)}.")
    opening = "weighing the sides." if named else "nothing was named, so there is nothing to weigh."
    return _reply(view, opening, lines, sorted(kept), final=True)


def _evidence(view: View, number: int, remark: str = "") -> str:
    quotes, words = view.support(number, QUOTES, DOUBTED)
    best = view.scan.best(number)[0]
    thin = f", only {view.origin(best)}" if best.term.weight < DOUBTED else ""
    return f"#{view.name(number)}{remark}: {quotes} ({words}{thin})"


def _findings(claimed: int, kept: int, missed: int) -> str:
    if not claimed:
        opening = "nothing was claimed"
    elif kept == claimed:
        opening = f"I find no ground against {'the claim' if claimed == 1 else f'the {claimed} claims'}"
    else:
        opening = f"{kept} of {claimed} claims hold" if kept else "no claim holds"
    return f"{opening}, but {missed} {'is' if missed == 1 else 'are'} missing." if missed else f"{opening}."


def _borne_out(view: View, agreed: Sequence[int]) -> str:
    hit = sum(bool(view.scan.hits[number]) for number in agreed)
    if hit == len(agreed):
        return ", and words of the text bear it out."
    return ", and I leave it at that, though I find words for only some." if hit else ", so I leave it at that."


def _reply(view: View, opening: str, lines: Iterable[str], present: Sequence[int], *, final: bool = False) -> str:
    names = [view.name(number) for number in present]
    if final:
        decision = f"Final Decision: The present aspects are: {', '.join(names) or 'none'}"
    else:
        decision = f"The aspects present in this {view.unit} are: {', '.join(f'#{name}' for name in names) or 'none'}"
    return "\n".join([f"{NAMES}: {opening}", *lines, *view.undecided(), decision])
