"""The start-up token: whoever opens the address that Moot printed may use the studio's own routes, nobody else on the
machine."""

from __future__ import annotations

import secrets
from functools import lru_cache


@lru_cache(maxsize=1)
def token() -> str:
    """The token of this process: 192 random bits, made at the first call, kept in memory only."""
    return secrets.token_urlsafe(24)
