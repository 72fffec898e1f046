"""Replies of the roles for a multilabel codebook: each label is present or absent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.baseline.match import (
    BASELINE_NAME,
    CHALLENGE_THRESHOLD,
    KEEP_THRESHOLD,
    MAX_QUOTES,
    PROPOSE_THRESHOLD,
    Matches,
    is_readable,
    join_names,
)
from core.debate.turns import Reply


def propose(matches: Matches, final: bool = False) -> str:
    """Name every label with a hit and quote the hit clauses; ``final`` if no other role weighs the reply."""
    needed = KEEP_THRESHOLD if final else PROPOSE_THRESHOLD
    found = [n for n in matches.usable if matches.scan.score(n, doubted=final) >= needed]
    if not matches.scan.text.strip():
        opening = "the text is empty."
    elif not found:
        amount = "too little" if any(matches.scan.hits[n] for n in matches.usable) else "no word"
        opening = f"{amount} of the codebook occurs in this {matches.unit}."
    else:
        opening = f"words of {len(found)} of {len(matches.labels)} labels occur in this {matches.unit}."
    return _reply(matches, opening, (f"- {_evidence(matches, n)}" for n in found), found, final=final)


def challenge(matches: Matches, extraction: Reply) -> str:
    """Check the extraction label by label and name missed labels."""
    if not is_readable(extraction):
        found = [n for n in matches.usable if matches.scan.score(n) >= CHALLENGE_THRESHOLD]
        lines = [f"- {_evidence(matches, n)}" for n in found]
        return _reply(matches, "the list before me could not be read; this is what the words say.", lines, found)
    claimed = [n for n in matches.named(extraction) if matches.lexicon.usable[n]]
    kept = [n for n in claimed if matches.scan.score(n) >= CHALLENGE_THRESHOLD]
    missed = [n for n in matches.usable if n not in claimed and matches.scan.score(n) >= 1.0]
    lines = []
    for number in claimed:
        name = matches.name(number)
        if not matches.scan.hits[number]:
            lines.append(f"- #{name} is doubtful: no word of its definition is in the text.")
            continue
        quote, words = matches.support(number)
        if number in kept:
            lines.append(f"- #{name} holds: {quote} has {words}.")
        else:
            lines.append(f"- #{name} is doubtful: in {quote}, {matches.objection(number)}.")
    lines += [f"- {_evidence(matches, number, ' was missed')}" for number in missed]
    return _reply(matches, _findings(len(claimed), len(kept), len(missed)), lines, sorted(kept + missed))


def decide(matches: Matches, replies: Sequence[Reply]) -> str:
    """Decide between the replies.

    Labels that all name are kept. Labels that some name are kept if their words score enough. No label is added.
    """
    lists = [set(matches.named(reply)) for reply in replies if is_readable(reply)]
    if not lists:
        return propose(matches, True)
    named = [n for n in matches.usable if any(n in own for own in lists)]
    agreed = [n for n in named if all(n in own for own in lists)] if len(lists) > 1 else []
    kept = list(agreed)
    lines = []
    if agreed:
        both = "Both sides name" if len(lists) == 2 else "All name"
        lines.append(f"- {both} {join_names([matches.name(n) for n in agreed])}{_borne_out(matches, agreed)}")
    for number in named:
        if number in agreed:
            continue
        name = matches.name(number)
        if not matches.scan.hits[number]:
            lines.append(f"- {name} goes: none of its words is in the text.")
            continue
        quote, words = matches.support(number)
        if matches.scan.score(number) >= KEEP_THRESHOLD:
            kept.append(number)
            lines.append(f"- {name} stays: {quote} has {words}, and nothing weighs more against it.")
        else:
            lines.append(f"- {name} goes: in {quote}, {matches.objection(number)}.")
    opening = "weighing the sides." if named else "nothing was named, so there is nothing to weigh."
    return _reply(matches, opening, lines, sorted(kept), final=True)


def _evidence(matches: Matches, number: int, remark: str = "") -> str:
    quotes, words = matches.support(number, MAX_QUOTES, CHALLENGE_THRESHOLD)
    best = matches.scan.best(number)[0]
    thin = f", only {matches.origin(best)}" if best.term.weight < CHALLENGE_THRESHOLD else ""
    return f"#{matches.name(number)}{remark}: {quotes} ({words}{thin})"


def _findings(claimed: int, kept: int, missed: int) -> str:
    if not claimed:
        opening = "nothing was claimed"
    elif kept == claimed:
        opening = f"I find no ground against {'the claim' if claimed == 1 else f'the {claimed} claims'}"
    else:
        opening = f"{kept} of {claimed} claims hold" if kept else "no claim holds"
    return f"{opening}, but {missed} {'is' if missed == 1 else 'are'} missing." if missed else f"{opening}."


def _borne_out(matches: Matches, agreed: Sequence[int]) -> str:
    hit = sum(bool(matches.scan.hits[number]) for number in agreed)
    if hit == len(agreed):
        return ", and words of the text bear it out."
    return ", and I leave it at that, though I find words for only some." if hit else ", so I leave it at that."


def _reply(matches: Matches, opening: str, lines: Iterable[str], present: Sequence[int], *, final: bool = False) -> str:
    names = [matches.name(number) for number in present]
    if final:
        decision = f"Final Decision: The present aspects are: {', '.join(names) or 'none'}"
    else:
        decision = (
            f"The aspects present in this {matches.unit} are: {', '.join(f'#{name}' for name in names) or 'none'}"
        )
    return "\n".join([f"{BASELINE_NAME}: {opening}", *lines, *matches.undecided(), decision])
