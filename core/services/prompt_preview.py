"""Preview the requests of a debate, simulated with placeholders for the replies of models and for examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.codebook import CHOICE_ITEM, Codebook
from core.debate import protocols
from core.debate.context import DebateContext, run_protocol
from core.debate.turns import Reading, Reply, Request
from core.documents import Document, Precedent, Precedents, Value
from core.engine.pending_turns import request_hash
from core.hashing import digest
from core.llm.model_library import ModelLibrary
from core.llm.streaming import estimate_usage
from core.prompts import Message
from core.runs import RunSettings
from core.services.project_session import ProjectSession

MAX_REQUESTS = 400
"""Number of requests after which a simulation stops."""
_REPLY, _EXAMPLE = "(reply of the ", "(text of a labelled document)"
"""Beginning of a placeholder for a reply, and the placeholder for the text of an example."""


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


def expected_tokens(messages: Sequence[Message], *, reply: int, example: int) -> int:
    """Return the estimated tokens of simulated messages, given those of one reply and of the text of one example."""
    replies, examples = (sum(message.content.count(text) for message in messages) for text in (_REPLY, _EXAMPLE))
    return prompt_tokens(messages) + replies * reply + examples * example


def simulate_requests(settings: RunSettings, document: Document) -> list[Request]:
    """Return all requests of a debate on the document, simulated with placeholder replies that keep it going."""
    return [ask for asks in _simulate_steps(settings, document) for ask in asks]


def requests_with_history(
    models: ModelLibrary, settings: RunSettings, document: Document
) -> Iterator[tuple[Request, str]]:
    """Yield each simulated request with the hash of it and of all that were replied to before it.

    Two runs share a request if these hashes are equal. Requests alone may look equal because their placeholders do.
    """
    history = ""
    for asks in _simulate_steps(settings, document):
        hashes = [request_hash(models, ask, settings) for ask in asks]
        yield from zip(asks, (digest([history, hash]) for hash in hashes), strict=True)
        history = digest([history, *hashes])


def _simulate_steps(settings: RunSettings, document: Document) -> Iterator[tuple[Request, ...]]:
    """Yield the requests of a simulated debate, together if they are sent together."""
    spec = protocols.for_settings(settings)
    titles = {role.name: role.title for role in spec.roles(settings.params)}
    count = 0
    step = run_protocol(spec.debate, DebateContext(document, settings, _placeholder_examples(settings)))
    try:
        asks = next(step)
        while count < MAX_REQUESTS:
            yield asks
            replies = tuple(
                _placeholder_reply(ask, titles.get(ask.role, ask.role), settings.codebook, number)
                for number, ask in enumerate(asks, start=count)
            )
            count += len(asks)
            asks = step.send(replies)
    except StopIteration:
        pass
    finally:
        step.close()


def preview_requests(settings: RunSettings, document: Document) -> tuple[RequestPreview, ...]:
    """Return the exact messages that each role receives on a document, in speaking order.

    Placeholders stand for earlier replies and for the texts of examples. Of each system prompt that a role receives,
    the first request is returned. Titles are unique. Raises PromptError and UsageError.
    """
    titles = {role.name: role.title for role in protocols.roles_of(settings)}
    sent: dict[tuple[str, str], RequestPreview] = {}
    for ask in simulate_requests(settings, document):
        title = titles.get(ask.role, ask.role)
        key = (ask.role, "" if ask.item else ask.messages[0].content)
        earlier = sum(role == ask.role for role, _ in sent)
        numbered = f"{title}, request {earlier + 1}" if earlier else title
        sent.setdefault(key, RequestPreview(ask.role, numbered, ask.messages))
    return tuple(sent.values())


def preview_first_document(session: ProjectSession, settings: RunSettings) -> tuple[str, tuple[RequestPreview, ...]]:
    """Return the id of the project's first document, and ``preview_requests`` for this document."""
    document = session.store.documents.page(0, 1)[0]
    return document.id, preview_requests(settings, document)


def _placeholder_reply(ask: Request, title: str, codebook: Codebook, number: int) -> Reply:
    """Return a readable reply that differs from the one before, so that a protocol passes through all its stages."""
    codebook = codebook.narrowed(ask.item) if ask.item else codebook
    values: dict[str, Value]
    match codebook.kind:
        case "choice":
            values = {CHOICE_ITEM: codebook.labels[number % len(codebook.labels)].id}
        case "rating":
            scales = {label.id: codebook.scale_of(label.id) for label in codebook.labels}
            values = {item: (scale.min, scale.max)[number % 2] for item, scale in scales.items()}
        case _:
            values = {label.id: number % 2 == 0 for label in codebook.labels}
    return replace(Reply(text=f"{_REPLY}{title})"), reading=Reading(values=values))


def _placeholder_examples(settings: RunSettings) -> Precedents:
    """Return the number of examples that a run wants for each value of each item, as if there were enough."""
    codebook, shots = settings.codebook, range(protocols.shots(settings))
    others: dict[str, Value] = {}
    pairs: list[tuple[str, Value]]
    match codebook.kind:
        case "choice":
            pairs = [(CHOICE_ITEM, label.id) for label in codebook.labels]
        case "rating":
            scales = {label.id: codebook.scale_of(label.id) for label in codebook.labels}
            others = {item: scale.min for item, scale in scales.items()}
            pairs = [(item, end) for item, scale in scales.items() for end in (scale.min, scale.max)]
        case _:
            others = dict.fromkeys(codebook.items, False)
            pairs = [(item, value) for item in codebook.items for value in (True, False)]
    return {
        (item, value): tuple(Precedent(f"{item} {value} {n}", _EXAMPLE, {**others, item: value}) for n in shots)
        for item, value in pairs
    }
