"""Streamed pieces and token counts of replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from core.debate.turns import Usage

CHARACTERS_PER_TOKEN = 4
"""Estimate for servers that report no usage."""

_MAX_TOKENS = 10**9

OnDelta: TypeAlias = Callable[[str, bool], None]
"""Receiver of (text, is_reasoning) for every piece of a streamed reply."""


def estimate_usage(prompt_characters: int, reply_characters: int) -> Usage:
    """Return token counts estimated from lengths in characters, marked as an estimate."""
    return Usage(
        prompt_tokens=-(-prompt_characters // CHARACTERS_PER_TOKEN),
        completion_tokens=-(-reply_characters // CHARACTERS_PER_TOKEN),
        estimated=True,
    )


def parse_token_count(reported: Any) -> int:
    """Return a token count that a server reported; 0 for an impossible value."""
    return reported if isinstance(reported, int) and 0 < reported <= _MAX_TOKENS else 0
