"""Prompts of each role, drawn by a component because a prompt contains a document's text."""

from __future__ import annotations

from collections.abc import Sequence

from app.components import component
from app.widgets.labels import role_data
from core.services.codebooks.prompt_diff import PromptPart, RolePreview
from core.services.prompt_preview import RequestPreview

_PROMPT_PREVIEW = component("prompt_preview")


def request_preview(requests: Sequence[RequestPreview], *, key: str) -> None:
    roles = []
    for request in requests:
        parts = tuple(PromptPart(message.role, (("same", message.content),)) for message in request.messages)
        roles.append(RolePreview(request.role, request.title, parts, request.tokens, 0))
    role_previews(roles, height=400, key=key)


def role_previews(roles: Sequence[RolePreview], *, height: int, key: str = "prompt") -> None:
    """Draw a tab for each role. Lines that were added or removed since the saved version are marked."""
    rows = [
        {
            "role": role_data({role.role: role.title})[0] if role.role else None,
            "title": role.title,
            "tokens": role.tokens,
            "token_change": role.token_change,
            "parts": [{"speaker": part.speaker, "pieces": part.pieces} for part in role.parts],
        }
        for role in roles
    ]
    _PROMPT_PREVIEW(key=key, data={"height": height, "roles": rows})
