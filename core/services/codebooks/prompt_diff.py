"""Compare the prompts of the edited codebook with those of the saved one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.codebook import Codebook
from core.debate import protocols
from core.debate.protocol_spec import Params
from core.documents import Document
from core.runs import Template
from core.services.codebooks.diff import Piece, lines
from core.services.prompt_preview import RequestPreview, preview_requests
from core.services.prompt_templates import default_settings

STAND_IN = Document("", {"text": "(the text of a document stands here)"})


@dataclass(frozen=True, slots=True)
class PromptPart:
    """Message of a prompt, with its differences from the saved codebook."""

    speaker: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RolePreview:
    """Prompt preview of one role for one document.

    ``tokens`` are estimated from the length; ``token_change`` is the difference from the saved codebook.
    """

    role: str
    title: str
    parts: tuple[PromptPart, ...]
    tokens: int
    token_change: int


def protocol_for(codebook: Codebook, wanted: str) -> str:
    """Return ``wanted`` if that protocol supports the codebook's kind, else the first that does."""
    able = protocols.supporting(codebook.kind)
    return wanted if wanted in able else able[0]


def preview(
    codebook: Codebook,
    document: Document | None,
    protocol: str,
    params: Params,
    against: Codebook | None,
    templates: Mapping[str, Template],
) -> tuple[RolePreview, ...]:
    """Return the prompt preview of each role, with line-by-line differences from the codebook ``against``.

    ``params`` are those of a run with the ``protocol``; another one, for a codebook that it does not support, has its
    defaults. ``templates`` are the project's templates by slot; they replace shipped templates. Raises UsageError for
    parameters that the protocol cannot use, and PromptError.
    """
    name = protocol_for(codebook, protocol)
    params = params if name == protocol else {}

    def sent(book: Codebook) -> tuple[RequestPreview, ...]:
        return preview_requests(default_settings(name, book, templates, params), document or STAND_IN)

    now = sent(codebook)
    same = against is not None and protocol_for(against, name) == name
    before = {(request.role, request.title): request for request in (sent(against) if against and same else now)}
    return tuple(_compared(before.get((request.role, request.title), request), request) for request in now)


def _compared(before: RequestPreview, now: RequestPreview) -> RolePreview:
    parts = []
    for number, message in enumerate(now.messages):
        old = before.messages[number].content if number < len(before.messages) else ""
        parts.append(PromptPart(message.role, lines(old, message.content)))
    return RolePreview(now.role, now.title, tuple(parts), now.tokens, now.tokens - before.tokens)
