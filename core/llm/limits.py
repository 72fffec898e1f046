"""Rate limits and prices that the user sets, because servers do not report them."""

from __future__ import annotations

import math
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from core.errors import UsageError


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Frozen):
    """Rate limits of a connection. None: limited only by the run's own concurrency."""

    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """Prompt and reply tokens together."""
    at_once: int | None = Field(default=None, ge=1)
    """Number of calls in flight."""

    def and_also(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> Limits:
        """Return these limits combined with those of a run: the lower of each."""
        return Limits(
            requests_per_minute=_tighter(self.requests_per_minute, requests_per_minute),
            tokens_per_minute=_tighter(self.tokens_per_minute, tokens_per_minute),
            at_once=self.at_once,
        )

    @property
    def empty(self) -> bool:
        """True if there are no limits."""
        return self == Limits()


def _tighter(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


class Price(_Frozen):
    """The user's price in dollars per million tokens. ``cached`` None means the price of other prompt tokens."""

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def per_token(self) -> tuple[float, float, float]:
        """Dollars per token: (prompt, cached prompt, completion)."""
        cached = self.prompt if self.cached is None else self.cached
        return self.prompt / 1e6, cached / 1e6, self.completion / 1e6

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the price in ``IN/OUT`` or ``IN/CACHED/OUT``, in dollars per million tokens.

        Raises UsageError for any other text.
        """
        try:
            numbers = [float(part) for part in text.split("/")]
        except ValueError:
            numbers = []
        if len(numbers) not in (2, 3) or not all(math.isfinite(number) and number >= 0 for number in numbers):
            raise UsageError(f"'{text}' is not a price.", "Write dollars for a million tokens, in and out: 0.40/1.60.")
        return cls(prompt=numbers[0], completion=numbers[-1], cached=numbers[1] if len(numbers) == 3 else None)
