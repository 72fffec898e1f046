"""The built-in model in the roles of a panel: personas, coordinator and aggregator, and advocates with a position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.baseline.match import BASELINE_NAME, Matches
from core.baseline.roles import BaselineRoles
from core.debate.personas import FAMILY
from core.debate.reading import parse
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Value

COORDINATOR, AGGREGATOR = "coordinator", "aggregator"
NO_MORE = "NO MORE COMMENTS"


def persona_focus(request: Request) -> str:
    """Return the focus of the requested persona in its own words; empty for other roles."""
    persona = request.inputs.get("persona")
    return str(persona.get("dimension", "")) if isinstance(persona, Mapping) else ""


def is_persona(request: Request) -> bool:
    """Return True if the request is to a persona of a panel."""
    return family(request.role) == FAMILY and isinstance(request.inputs.get("persona"), Mapping)


def persona_reply(request: Request, roles: BaselineRoles) -> str:
    """Return a persona's reply: first decision, turn in the debate, or final decision."""
    history = _history(request)
    if not history or request.form != "text":
        return roles.propose(final=True)
    own = next((said.reply for said in history if said.role == request.role), None)
    others = _latest(said for said in history if said.role != request.role)
    against = [said for said in others if own is not None and _differ(own, said.reply)]
    spoken = sum(said.role == request.role for said in history) > 1
    if against and not spoken:
        return f"{against[0].speaker} says otherwise.\n{roles.challenge(against[0].reply)}"
    return f"{NO_MORE}\n{roles.propose(final=True)}"


def coordinator_reply(request: Request) -> str | None:
    """Return the first persona that may speak; None if the request is not to a coordinator."""
    waiting = request.inputs.get("waiting")
    if request.role != COORDINATOR or not isinstance(waiting, Sequence) or not waiting:
        return None
    return f"Next: {waiting[0]}"


def aggregator_reply(request: Request) -> str | None:
    """Return the figures and the personas that disagree; None if the request is not to an aggregator."""
    lines = request.inputs.get("averages")
    if request.role != AGGREGATOR or not isinstance(lines, Sequence):
        return None
    finals = [said for said in request.inputs.get("finals", ()) if isinstance(said, AttributedReply)]
    apart = [said.speaker for said in finals if any(_differ(said.reply, other.reply) for other in finals)]
    if not apart:
        agreement = "all of them end with the same decision."
    else:
        shown = ", ".join(dict.fromkeys(apart))
        agreement = f"these end apart from somebody: {shown}."
    return "\n".join(
        [f"{BASELINE_NAME}, which lists and does not weigh: {agreement}", *(f"- {line}" for line in lines)]
    )


def _history(request: Request) -> tuple[AttributedReply, ...]:
    said = request.inputs.get("history", ())
    return tuple(each for each in said if isinstance(each, AttributedReply))


def _latest(history: Iterator[AttributedReply]) -> list[AttributedReply]:
    """Return the last reply with a decision of each speaker."""
    last: dict[str, AttributedReply] = {}
    for said in history:
        if said.reply.reading.readable and said.reply.reading.values:
            last[said.role] = said
    return list(last.values())


def _differ(one: Reply, other: Reply) -> bool:
    mine: Mapping[str, Value] = one.reading.values
    theirs: Mapping[str, Value] = other.reading.values
    return any(item in theirs and theirs[item] != value for item, value in mine.items())


_NEGATED = (" not present", " absent", " not there")


def argument_reply(request: Request, matches: Matches) -> str | None:
    """Return the argument for the ``position`` that a request states; None if it states none."""
    position = request.inputs.get("position")
    if not isinstance(position, str):
        return None
    named = parse.mentions(position, matches.lexicon.codebook)
    number = next((n for n, label in enumerate(matches.labels) if label.id in named), None)
    if number is None:
        return "The word-list baseline knows no word for that answer."
    name, found = matches.name(number), matches.scan.hits[number]
    if position.rstrip(" .").endswith(_NEGATED):
        if not found:
            return f"No word of {name} is in the text."
        return f"For {name} there is nothing but {matches.support(number)[1]}, and {matches.objection(number)}."
    if not found:
        return f"No word of {name} is in the text, which leaves little to say for it."
    quote, words = matches.support(number)
    return f"For {name} speaks {quote}, by the words {words}."
