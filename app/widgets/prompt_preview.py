"""Prompts of each role, drawn by a component because a prompt contains a document's text."""

from __future__ import annotations

from collections.abc import Sequence

from app.components import component
from app.widgets.labels import role_data
from core.services.codebooks.keyword_matches import RolePreview

_PROMPT_PREVIEW = component("prompt_preview")


def prompt_preview(roles: Sequence[RolePreview], *, height: int = 620, key: str = "prompt") -> None:
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
