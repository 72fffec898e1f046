"""Prices of replies: the user's own, else those published in genai-prices. Nothing is fetched."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from core.debate.turns import Usage
from core.errors import UsageError
from core.llm.connections import Connection


class Price(BaseModel):
    """The user's price in dollars per million tokens. ``cached`` None means the price of other prompt tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.x.ai": "x-ai",
    "openrouter.ai": "openrouter",
}
ANY_MODEL = "*"
"""Model name for a price that applies to all models of a connection without their own price."""


class Prices:
    """Prices of tokens. ``user_prices`` maps ``connection/model`` or ``connection/*`` to the user's prices."""

    def __init__(self) -> None:
        self.user_prices: dict[str, Price] = {}

    def user_price(self, connection: Connection, model: str) -> Price | None:
        """Return the user's price for this model or its connection."""
        prices, name = self.user_prices, connection.name
        return prices.get(f"{name}/{model}") or prices.get(f"{name}/{ANY_MODEL}")

    def rates(self, connection: Connection, model: str) -> tuple[float, float, float] | None:
        """Return dollars per token: (prompt, cached prompt, completion); None if unknown."""
        price = self.user_price(connection, model)
        return list_rates(connection, model) if price is None else price.per_token

    def cost(self, connection: Connection, model: str, usage: Usage) -> float | None:
        """Return the price of these tokens in dollars, None if unknown."""
        per_token = self.rates(connection, model)
        if per_token is None:
            return None
        fresh, cached, out = per_token
        return (
            max(usage.prompt_tokens - usage.cached_tokens, 0) * fresh
            + usage.cached_tokens * cached
            + usage.completion_tokens * out
        )


def provider_of(connection: Connection) -> str | None:
    """Return the genai-prices name of the provider at an address, None if unknown."""
    return _PROVIDERS.get(urlsplit(connection.base_url).hostname or "")


@lru_cache(maxsize=4096)
def list_rates(connection: Connection, model: str) -> tuple[float, float, float] | None:
    """Return the published dollars per token: (prompt, cached prompt, completion), for a typical prompt length.

    Zeros for the built-in model and a local Ollama, None if unknown.
    """
    if connection.is_builtin or (connection.dialect == "ollama" and connection.local):
        return (0.0, 0.0, 0.0)
    provider = provider_of(connection)
    if provider is None:
        return None
    import genai_prices

    def dollars(**tokens: int) -> float:
        usage = genai_prices.Usage(**tokens)
        return float(genai_prices.calc_price(usage, model_ref=model, provider_id=provider).total_price)

    try:
        unit = 1_000
        prompt = dollars(input_tokens=unit) / unit
        cached = dollars(input_tokens=unit, cache_read_tokens=unit) / unit
        completion = dollars(output_tokens=unit) / unit
    except LookupError:
        return None
    return (prompt, cached, completion)
