"""What each role would be sent on a document: the protocol is played with stand-ins for what nobody has said yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook
from core.debate import protocols
from core.debate.context import DebateContext, conduct
from core.debate.turns import Reading, Reply, Request
from core.documents import Document, Value
from core.llm.models import ModelLibrary
from core.llm.reply import estimated
from core.prompts.messages import Message
from core.runs import BUILTIN, RoleModel, RunRow, RunSettings, Template
from core.services.templates import Slot, Version, with_template

MAX_ASKS = 400
"""Asks after which a protocol has shown all it asks for."""


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """The messages of one kind of ask: ``title`` is the role's, with what tells this ask from its first one."""

    role: str
    title: str
    messages: tuple[Message, ...]


def simulate_asks(settings: RunSettings, document: Document) -> list[Request]:
    """Every ask that a debate on the document makes when the replies are stand-ins that keep it going."""
    card = protocols.of(settings)
    titles = {role.name: role.title for role in card.roles(settings.params)}
    made: list[Request] = []
    step = conduct(card.debate, DebateContext(document, settings))
    try:
        asks = next(step)
        while len(made) < MAX_ASKS:
            first = len(made)
            made += asks
            asks = step.send(
                tuple(
                    _placeholder_reply(ask, titles.get(ask.role, ask.role), settings.codebook, first + place)
                    for place, ask in enumerate(asks)
                )
            )
    except StopIteration:
        pass
    finally:
        step.close()
    return made


def preview_requests(settings: RunSettings, document: Document) -> tuple[RequestPreview, ...]:
    """The exact messages that each role would get on a document, in speaking order, with stand-ins for what others have
    not said yet: the first of each system prompt that a role is given. Raises PromptError, UsageError."""
    titles = {role.name: role.title for role in protocols.roles_of(settings)}
    sent: dict[tuple[str, str], RequestPreview] = {}
    for ask in simulate_asks(settings, document):
        title = titles.get(ask.role, ask.role)
        key = (ask.role, "" if ask.item else ask.messages[0].content)
        earlier = sum(role == ask.role for role, _ in sent)
        sent.setdefault(key, RequestPreview(ask.role, f"{title}, later" if earlier else title, ask.messages))
    return tuple(sent.values())


def first_messages(settings: RunSettings, document: Document) -> dict[str, tuple[Message, ...]]:
    """The first messages of each role on a document, by role."""
    first: dict[str, tuple[Message, ...]] = {}
    for one in preview_requests(settings, document):
        first.setdefault(one.role, one.messages)
    return first


def _placeholder_reply(ask: Request, title: str, codebook: Codebook, number: int) -> Reply:
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


CONTEXT_TOKENS_PER_ROLE = 250
"""What a role is taken to say, in the prompts of those who hear it."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """A seat whose context the longest document may exceed: ``tokens`` of prompt and reply, estimated, against
    ``context``."""

    role_model: RoleModel
    role: str
    document_id: str
    tokens: int
    context: int

    def sentence(self, settings: RunSettings) -> str:
        """What a person should know."""
        then = {
            "fail": "It would fail; a run can also cut or skip what is too long.",
            "cut": "What is too long will be cut, and say so.",
            "skip": "What is too long will be skipped, and left to you.",
        }[settings.handling.on_long]
        return (
            f"The longest document ({self.document_id}) takes about {self.tokens:,} tokens as the {self.role}'s prompt "
            f"and reply, the context of {self.role_model.spec} has {self.context:,}. {then}"
        )


def describe_truncation(run: RunRow, cut: int) -> str:
    """What a person should know of replies that were cut by their output limit; empty when none was."""
    if not cut:
        return ""
    limits = sorted(
        {
            role_model.sampling.max_tokens
            for role_model in run.settings.role_models.values()
            if role_model.connection != BUILTIN
        }
    )
    tokens = " or ".join(f"{limit:,}" for limit in limits)
    return (
        f"{cut:,} of {run.calls:,} replies were cut by their output limit of {tokens} tokens. What they had not "
        "decided by then is unresolved: raise max tokens, or lower the reasoning effort."
    )


def longest_document(documents: Sequence[Document]) -> Document | None:
    """The document with the most characters, None of none."""
    return max(documents, key=lambda one: sum(map(len, one.fields.values())), default=None)


def context_overflows(
    settings: RunSettings, models: ModelLibrary, longest: Callable[[], Document | None]
) -> list[ContextOverflow]:
    """Seats whose known context the longest document may exceed; the tightest role of each. It is looked for only when
    the context of a seat is known."""
    seen = (
        models.capabilities.seen(models.place(role_model.connection), role_model.model)
        for role_model in settings.role_models.values()
    )
    if not any(known is not None and known.context is not None for known in seen):
        return []
    document = longest()
    if document is None:
        return []
    found: dict[str, ContextOverflow] = {}
    for heard, (role, messages) in enumerate(first_messages(settings, document).items()):
        role_model = settings.role_models[role]
        known = models.capabilities.seen(models.place(role_model.connection), role_model.model)
        if known is None or known.context is None:
            continue
        prompt = estimated(sum(len(message.content) for message in messages), 0).prompt_tokens
        tokens = prompt + heard * CONTEXT_TOKENS_PER_ROLE + role_model.sampling.max_tokens
        if tokens > known.context and tokens > getattr(found.get(role_model.spec), "tokens", 0):
            found[role_model.spec] = ContextOverflow(role_model, role, document.id, tokens, known.context)
    return list(found.values())


TEMPLATE_MARK = "\u2063"
"""A character that nobody sees: put at the end of the template, it tells in which messages the template was used."""


@dataclass(frozen=True, slots=True)
class RenderedTemplate:
    """Messages that a template has a part in. ``template_tokens`` are estimated by length."""

    title: str
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return estimated(sum(len(message.content) for message in self.messages), 0).prompt_tokens


def render_template(settings: RunSettings, slot: Slot, text: str, document: Document) -> tuple[RenderedTemplate, ...]:
    """Every ask on the document in which this text for a slot is used, stand-ins for what nobody has said yet.

    A shared text that no ask needs stands alone. Raises PromptError, with the line, for a text that cannot be filled
    in or has to be stopped.
    """
    marked = Template(name=slot.slot, text=text.rstrip() + TEMPLATE_MARK)
    asks = preview_requests(with_template(settings, slot.key, marked), document)
    found = tuple(
        RenderedTemplate(ask.title, tuple(_without_mark(message) for message in ask.messages))
        for ask in asks
        if any(TEMPLATE_MARK in message.content for message in ask.messages)
    )
    if found:
        return found
    values = prompts.variables(settings.codebook, document, settings.templates) | {"problem": "it names no label"}
    if slot.parts:
        return ()
    return (
        RenderedTemplate(
            slot.title, (Message("user", prompts.render_text(marked, values).replace(TEMPLATE_MARK, "")),)
        ),
    )


def template_tokens(settings: RunSettings, slot: Slot, version: Version, document: Document) -> int:
    """Tokens of the first ask that a version is used in."""
    found = render_template(settings, slot, version.text, document)
    return found[0].tokens if found else 0


def _without_mark(message: Message) -> Message:
    return Message(message.role, message.content.replace(TEMPLATE_MARK, ""))
