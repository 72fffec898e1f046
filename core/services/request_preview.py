"""Preview the requests of a run by simulating its protocol with placeholder replies, before any model is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.codebook import CHOICE_ITEM, Codebook
from core.debate import protocols
from core.debate.context import DebateContext, run_protocol
from core.debate.turns import Reading, Reply, Request
from core.documents import Document, Value
from core.llm.streaming import estimate_usage
from core.prompts.messages import Message
from core.runs import RunSettings
from core.services.session import ProjectSession

MAX_ASKS = 400
"""Number of requests after which a simulation stops."""


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """Messages of one kind of request; ``title`` is the role's, marked if the role has several kinds."""

    role: str
    title: str
    messages: tuple[Message, ...]

    @property
    def tokens(self) -> int:
        """Estimated tokens of all messages."""
        return prompt_tokens(self.messages)


def prompt_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of messages, estimated from their length."""
    return estimate_usage(sum(len(message.content) for message in messages), 0).prompt_tokens


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
            scales = {label.id: codebook.scale_of(label.id) for label in codebook.labels}
            values = {item: (scale.min, scale.max)[number % 2] for item, scale in scales.items()}
        case _:
            values = {label.id: number % 2 == 0 for label in codebook.labels}
    return replace(Reply(text=f"(reply of the {title})"), reading=Reading(values=values))
