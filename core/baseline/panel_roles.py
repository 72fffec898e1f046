"""The built-in model on a panel: personas who count words, a chair who follows the order, a clerk who lists.

It never changes its mind, as no argument changes which words are there. A persona speaks up once where others differ
from it and then has no more comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.baseline.match import NAMES, View
from core.baseline.roles import Voice
from core.debate.personas import FAMILY
from core.debate.reading import parse
from core.debate.turns import AttributedReply, Reply, Request, family
from core.documents import Value

COORDINATOR, AGGREGATOR = "coordinator", "aggregator"
NO_MORE = "NO MORE COMMENTS"


def concern(request: Request) -> str:
    """What the persona who is asked looks for, in its own words; empty for anybody else."""
    persona = request.inputs.get("persona")
    return str(persona.get("dimension", "")) if isinstance(persona, Mapping) else ""


def is_persona(request: Request) -> bool:
    """Whether a persona of a panel is asked."""
    return family(request.role) == FAMILY and isinstance(request.inputs.get("persona"), Mapping)


def speak(request: Request, voice: Voice) -> str:
    """A persona alone, in the debate, or asked for what it owes."""
    history = _history(request)
    if not history or request.form != "text":
        return voice.propose(final=True)
    own = next((said.reply for said in history if said.role == request.role), None)
    others = _latest(said for said in history if said.role != request.role)
    against = [said for said in others if own is not None and _differ(own, said.reply)]
    spoken = sum(said.role == request.role for said in history) > 1
    if against and not spoken:
        return f"{against[0].speaker} says otherwise.\n{voice.challenge(against[0].reply)}"
    return f"{NO_MORE}\n{voice.propose(final=True)}"


def chair(request: Request) -> str | None:
    """The first of those who may speak; None when this is no coordinator's ask."""
    waiting = request.inputs.get("waiting")
    if request.role != COORDINATOR or not isinstance(waiting, Sequence) or not waiting:
        return None
    return f"Next: {waiting[0]}"


def clerk(request: Request) -> str | None:
    """The figures, and who ended apart; None when this is no aggregator's ask."""
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
    return "\n".join([f"{NAMES}, which lists and does not weigh: {agreement}", *(f"- {line}" for line in lines)])


def _history(request: Request) -> tuple[AttributedReply, ...]:
    said = request.inputs.get("history", ())
    return tuple(each for each in said if isinstance(each, AttributedReply))


def _latest(history: Iterator[AttributedReply]) -> list[AttributedReply]:
    """The last word of each that holds a decision."""
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


def answer(request: Request, view: View) -> str | None:
    """The argument for the ``position`` that an ask states; None when it states none."""
    position = request.inputs.get("position")
    if not isinstance(position, str):
        return None
    named = parse.mentions(position, view.lexicon.codebook)
    number = next((n for n, label in enumerate(view.labels) if label.id in named), None)
    if number is None:
        return "The word-list baseline knows no word for that answer."
    name, found = view.name(number), view.scan.hits[number]
    if position.rstrip(" .").endswith(_NEGATED):
        if not found:
            return f"No word of {name} is in the text."
        return f"For {name} there is nothing but {view.support(number)[1]}, and {view.objection(number)}."
    if not found:
        return f"No word of {name} is in the text, which leaves little to say for it."
    quote, words = view.support(number)
    return f"For {name} speaks {quote}, by the words {words}."
