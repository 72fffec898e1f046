"""What each role would be sent on a document: the protocol is played with stand-ins for what nobody has said yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.codebook import CHOICE_ITEM, Codebook
from core.debate import protocols
from core.debate.context import DebateContext, conduct
from core.debate.turns import Reading, Reply, Request
from core.documents import Document, Value
from core.prompts.messages import Message
from core.runs import RunSettings

MOST_ASKS = 400
"""Asks after which a protocol has shown all it asks for."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The messages of one kind of ask: ``title`` is the role's, with what tells this ask from its first one."""

    role: str
    title: str
    messages: tuple[Message, ...]


def asks_of(settings: RunSettings, document: Document) -> list[Request]:
    """Every ask that a debate on the document makes when the replies are stand-ins that keep it going."""
    card = protocols.of(settings)
    titles = {role.name: role.title for role in card.roles(settings.params)}
    made: list[Request] = []
    step = conduct(card.debate, DebateContext(document, settings))
    try:
        asks = next(step)
        while len(made) < MOST_ASKS:
            first = len(made)
            made += asks
            asks = step.send(
                tuple(
                    _stand_in(ask, titles.get(ask.role, ask.role), settings.codebook, first + place)
                    for place, ask in enumerate(asks)
                )
            )
    except StopIteration:
        pass
    finally:
        step.close()
    return made


def preview(settings: RunSettings, document: Document) -> tuple[Sent, ...]:
    """The exact messages that each role would get on a document, in speaking order, with stand-ins for what others have
    not said yet: the first of each system prompt that a role is given. Raises PromptError, UsageError."""
    titles = {role.name: role.title for role in protocols.roles_of(settings)}
    sent: dict[tuple[str, str], Sent] = {}
    for ask in asks_of(settings, document):
        title = titles.get(ask.role, ask.role)
        key = (ask.role, "" if ask.item else ask.messages[0].content)
        earlier = sum(role == ask.role for role, _ in sent)
        sent.setdefault(key, Sent(ask.role, f"{title}, later" if earlier else title, ask.messages))
    return tuple(sent.values())


def first_messages(settings: RunSettings, document: Document) -> dict[str, tuple[Message, ...]]:
    """The first messages of each role on a document, by role."""
    first: dict[str, tuple[Message, ...]] = {}
    for one in preview(settings, document):
        first.setdefault(one.role, one.messages)
    return first


def _stand_in(ask: Request, title: str, codebook: Codebook, number: int) -> Reply:
    """A reply that can be read and differs from the one before, so that a protocol goes through all its stages."""
    codebook = codebook.only(ask.item) if ask.item else codebook
    values: dict[str, Value]
    match codebook.kind:
        case "choice":
            values = {CHOICE_ITEM: codebook.labels[number % len(codebook.labels)].id}
        case "rating":
            scale = codebook.scale
            ends = (scale.min, scale.max) if scale else (1, 5)
            values = {label.id: ends[number % 2] for label in codebook.labels}
        case _:
            values = {label.id: number % 2 == 0 for label in codebook.labels}
    return replace(Reply(text=f"(what the {title} will have said)"), reading=Reading(values=values))
