"""Preview the requests of a run by simulating its protocol with placeholder replies, before any model is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from core import prompts
from core.codebook import CHOICE_ITEM, Codebook
from core.debate import protocols
from core.debate.context import DebateContext, run_protocol
from core.debate.turns import Reading, Reply, Request
from core.documents import Document, Value
from core.formatting import format_count
from core.llm.models import ModelLibrary
from core.llm.streaming import estimate_usage
from core.prompts.messages import Message
from core.runs import BUILTIN, RoleModel, RunRow, RunSettings, Template
from core.services.session import ProjectSession
from core.services.templates import Slot, with_template

MAX_ASKS = 400
"""Number of requests after which a simulation stops."""


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """Messages of one kind of request; ``title`` is the role's, marked if the role has several kinds."""

    role: str
    title: str
    messages: tuple[Message, ...]


def simulate_asks(settings: RunSettings, document: Document) -> list[Request]:
    """Return all requests of a debate on the document, simulated with placeholder replies that keep it going."""
    spec = protocols.of(settings)
    titles = {role.name: role.title for role in spec.roles(settings.params)}
    made: list[Request] = []
    step = run_protocol(spec.debate, DebateContext(document, settings))
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
    """Return the exact messages that each role receives on a document, in speaking order.

    Placeholders stand for replies of other roles. Of each system prompt that a role receives, the first request is
    returned. Raises PromptError and UsageError.
    """
    titles = {role.name: role.title for role in protocols.roles_of(settings)}
    sent: dict[tuple[str, str], RequestPreview] = {}
    for ask in simulate_asks(settings, document):
        title = titles.get(ask.role, ask.role)
        key = (ask.role, "" if ask.item else ask.messages[0].content)
        earlier = sum(role == ask.role for role, _ in sent)
        sent.setdefault(key, RequestPreview(ask.role, f"{title}, later request" if earlier else title, ask.messages))
    return tuple(sent.values())


def preview_first_document(session: ProjectSession, settings: RunSettings) -> tuple[str, tuple[RequestPreview, ...]]:
    """Return the id of the project's first document, and ``preview_requests`` for this document."""
    document = session.store.documents.page(0, 1)[0]
    return document.id, preview_requests(settings, document)


def first_messages(settings: RunSettings, document: Document) -> dict[str, tuple[Message, ...]]:
    """Return the first messages of each role on a document, by role."""
    first: dict[str, tuple[Message, ...]] = {}
    for one in preview_requests(settings, document):
        first.setdefault(one.role, one.messages)
    return first


def _placeholder_reply(ask: Request, title: str, codebook: Codebook, number: int) -> Reply:
    """Return a readable reply that differs from the one before, so that a protocol passes through all its stages."""
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
    return replace(Reply(text=f"(reply of the {title})"), reading=Reading(values=values))


CONTEXT_TOKENS_PER_ROLE = 250
"""Assumed tokens that each earlier role adds to a prompt."""


@dataclass(frozen=True, slots=True)
class ContextOverflow:
    """A role model whose context the longest document may exceed.

    ``tokens`` is the estimated sum of prompt and reply, ``context`` the size of the model's context.
    """

    role_model: RoleModel
    role: str
    document_id: str
    tokens: int
    context: int

    def sentence(self, settings: RunSettings) -> str:
        """Return the warning to show."""
        then = {
            "fail": "It would fail. You can choose to truncate or skip such documents.",
            "cut": "Such documents will be truncated and marked.",
            "skip": "Such documents will be skipped for you to label.",
        }[settings.handling.on_long]
        return (
            f"The longest document ({self.document_id}) needs about {self.tokens:,} tokens for the {self.role}'s "
            f"prompt and reply; the context of {self.role_model.spec} is {self.context:,} tokens. {then}"
        )


def describe_truncation(run: RunRow, cut: int) -> str:
    """Return a warning about replies that reached their output limit; empty if there are none."""
    if not cut:
        return ""
    limits = sorted(
        {
            role_model.sampling.output_limit
            for role_model in run.settings.role_models.values()
            if role_model.connection != BUILTIN
        }
    )
    tokens = " or ".join(f"{limit:,}" for limit in limits)
    return (
        f"{cut:,} of {format_count(run.calls, 'reply', 'replies')} reached the output limit of {tokens} tokens. Labels "
        "that they had not decided are unresolved. Raise max tokens or lower the reasoning effort."
    )


def longest_document(documents: Sequence[Document]) -> Document | None:
    """Return the document with the most characters, None if there are no documents."""
    return max(documents, key=lambda one: sum(map(len, one.fields.values())), default=None)


def context_overflows(
    settings: RunSettings, models: ModelLibrary, longest: Callable[[], Document | None]
) -> list[ContextOverflow]:
    """Return the models whose known context the longest document may exceed, each with its longest prompt.

    ``longest`` is called only if the context of a model is known.
    """
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
    for position, (role, messages) in enumerate(first_messages(settings, document).items()):
        role_model = settings.role_models[role]
        known = models.capabilities.seen(models.place(role_model.connection), role_model.model)
        if known is None or known.context is None:
            continue
        prompt = estimate_usage(sum(len(message.content) for message in messages), 0).prompt_tokens
        reply = known.limited(role_model.sampling.output_limit)
        tokens = prompt + position * CONTEXT_TOKENS_PER_ROLE + reply
        if tokens > known.context and tokens > getattr(found.get(role_model.spec), "tokens", 0):
            found[role_model.spec] = ContextOverflow(role_model, role, document.id, tokens, known.context)
    return list(found.values())


TEMPLATE_MARK = "\u2063"
"""Invisible character at the end of a template that marks the messages in which the template is used."""


@dataclass(frozen=True, slots=True)
class RenderedTemplate:
    """Messages of a request that uses a template."""

    title: str
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return estimate_usage(sum(len(message.content) for message in self.messages), 0).prompt_tokens


def render_template(settings: RunSettings, slot: Slot, text: str, document: Document) -> tuple[RenderedTemplate, ...]:
    """Return every request on the document that uses this text in a slot, with placeholders for earlier replies.

    A shared text that no request uses is rendered alone. Raises PromptError, with the line, for a text that cannot
    be rendered or runs too long.
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


def _without_mark(message: Message) -> Message:
    return Message(message.role, message.content.replace(TEMPLATE_MARK, ""))
