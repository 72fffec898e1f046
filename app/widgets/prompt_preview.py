"""Prompts of each role, drawn by a component because a prompt contains a document's text."""

from __future__ import annotations

from collections.abc import Sequence

from app.components import component
from app.widgets.labels import role_data
from core.services.codebooks.keyword_matches import Part, RolePreview
from core.services.prompt_templates import RequestPreview

_PROMPT_PREVIEW = component("prompt_preview")


def request_preview(requests: Sequence[RequestPreview], *, height: int, key: str) -> None:
    """Draw a tab for each request with its messages."""
    prompt_preview(
        [
            RolePreview(
                one.role, one.title, tuple(Part(each.role, (("same", each.content),)) for each in one.messages),
                one.tokens, 0,
            )
            for one in requests
        ],
        height=height, key=key,
    )  # fmt: skip


def prompt_preview(roles: Sequence[RolePreview], *, height: int, key: str = "prompt") -> None:
    """Draw a tab for each role. Lines that were added or removed since the saved version are marked."""
    _PROMPT_PREVIEW(
        key=key,
        data={
            "height": height,
            "roles": [
                {
                    "role": role_data({role.role: role.title})[0] if role.role else None,
                    "title": role.title,
                    "tokens": role.tokens,
                    "token_change": role.more,
                    "parts": [
                        {"speaker": part.speaker, "pieces": [list(each) for each in part.pieces]} for part in role.parts
                    ],
                }
                for role in roles
            ],
        },
    )
