"""What a template is filled in to: the messages of a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Speaker: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Speaker
    content: str
