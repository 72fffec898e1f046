"""What each server refused: learned from its own words, applied to what is sent, shown with the reply.

What was *meant* is hashed for the turn store before any of this, so that a fallback does not change a reply's key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from core.llm.connections import Connection

_DROPPABLE = ("temperature", "top_p", "seed", "reasoning_effort", "stream_options")


@dataclass(slots=True)
class Known:
    """What one model at one server refused. ``dropped`` names parameters; ``max_completion_tokens`` says that the limit
    goes by its newer name there."""

    dropped: set[str] = field(default_factory=set)
    max_completion_tokens: bool = False

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this server takes it."""
        sent = {name: value for name, value in body.items() if name not in self.dropped}
        if self.max_completion_tokens:
            sent["max_completion_tokens"] = sent.pop("max_tokens")
        return sent

    def learn(self, message: str, sent: dict[str, Any]) -> bool:
        """Take a lesson from a 400: True when the next try will differ. Each parameter is given up once."""
        if "max_tokens" in sent and re.search(r"\bmax_tokens\b", message) and "max_completion_tokens" in message:
            self.max_completion_tokens = True
            return True
        for name in _DROPPABLE:
            if name in sent and re.search(rf"\b{name}\b", message):
                self.dropped.add(name)
                return True
        return False


class Capabilities:
    """``Known`` for each (address, model), for as long as the process lives."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Known] = {}

    def of(self, place: Connection, model: str) -> Known:
        """What is known of a model at a server; nothing at first."""
        return self._known.setdefault((place.base_url, model), Known())
