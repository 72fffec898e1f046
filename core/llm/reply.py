"""What a model says, as the llm package hands it over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from core.debate.turns import Usage

CHARACTERS_PER_TOKEN = 4
"""For the estimate when a server reports no usage."""

_MOST_TOKENS = 10**9

OnDelta: TypeAlias = Callable[[str, bool], None]
"""Called with (text, is_reasoning) for every piece of a streamed reply."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply. ``finish`` is ``stop`` or ``length``, ``cost_usd`` None when the price is unknown, ``dropped`` names
    the parameters that the server refused and that went unsent."""

    text: str
    reasoning: str = ""
    finish: str = "stop"
    usage: Usage = Usage()
    cost_usd: float | None = None
    dropped: tuple[str, ...] = ()
    logprobs: bool = False
    """Whether log probabilities came along; nothing asks for them but ``examining``."""
    served: str = ""
    """What the server calls the model that answered, which may change behind one name; empty when it does not say."""


def estimated(prompt_characters: int, reply_characters: int) -> Usage:
    """Token counts by length, marked as an estimate."""
    return Usage(
        prompt_tokens=-(-prompt_characters // CHARACTERS_PER_TOKEN),
        completion_tokens=-(-reply_characters // CHARACTERS_PER_TOKEN),
        estimated=True,
    )


def count(told: Any) -> int:
    """A number of tokens as a server tells it; 0 for what cannot be one."""
    return told if isinstance(told, int) and 0 < told <= _MOST_TOKENS else 0
