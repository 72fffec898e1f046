"""Chat messages, the result of rendering a template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

MessageRole: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: MessageRole
    content: str
