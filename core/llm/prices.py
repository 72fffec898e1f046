"""Prices of replies: the user's own, else the server's, else those published in genai-prices. Nothing is fetched."""

from __future__ import annotations

from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from core.debate.turns import Usage
from core.errors import UsageError
from core.llm.connections import Connection


class Price(BaseModel):
    """A price in dollars per million tokens.

    ``cached`` (prompt tokens that the server took from its cache) and ``written`` (those that it stored in it) None
    mean the price of other prompt tokens.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    written: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def cost(self, usage: Usage) -> float:
        """Return the price of these tokens in dollars."""
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.written is None else self.written
        fresh_tokens = max(usage.prompt_tokens - usage.cached_tokens - usage.written_tokens, 0)
        prompt = fresh_tokens * self.prompt + usage.cached_tokens * cached + usage.written_tokens * written
        return (prompt + usage.completion_tokens * self.completion) / 1e6

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the price in ``IN/OUT`` or ``IN/CACHED/OUT``, in dollars per million tokens. Raises UsageError."""
        try:
            prompt, *others, completion = map(float, text.split("/"))
            (cached,) = others or (None,)
            return cls(prompt=prompt, cached=cached, completion=completion)
        except ValueError:
            example = "Write dollars for a million tokens, in and out: 0.40/1.60."
            raise UsageError(f"'{text}' is not a price.", example) from None


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
        self.passed_on: set[tuple[str, str]] = set()
        """(address, model) of each model that Ollama is known to send to another machine, whatever its name."""

    def user_price(self, connection: Connection, model: str) -> Price | None:
        """Return the user's price for this model or its connection."""
        prices, name = self.user_prices, connection.name
        return prices.get(f"{name}/{model}") or prices.get(f"{name}/{ANY_MODEL}")

    def price(self, connection: Connection, model: str) -> Price | None:
        """Return the user's price, else the published one; None if unknown."""
        if (price := self.user_price(connection, model)) is not None:
            return price
        return None if (connection.base_url, model) in self.passed_on else list_price(connection, model)

    def cost(self, connection: Connection, model: str, usage: Usage, stated_usd: float | None = None) -> float | None:
        """Return the price of these tokens in dollars, None if unknown; ``stated_usd`` is the server's."""
        if stated_usd is not None and self.user_price(connection, model) is None:
            return stated_usd
        price = self.price(connection, model)
        return None if price is None else price.cost(usage)


def provider_of(connection: Connection) -> str | None:
    """Return the genai-prices name of the provider at an address, None if unknown."""
    return _PROVIDERS.get(urlsplit(connection.base_url).hostname or "")


@lru_cache(maxsize=4096)
def list_price(connection: Connection, model: str) -> Price | None:
    """Return the published price, None if unknown; 0 for built-in models and those of Ollama on this machine."""
    if connection.is_builtin or (
        connection.dialect == "ollama" and connection.local and not connection.is_cloud(model)
    ):
        return Price(prompt=0, completion=0)
    provider = provider_of(connection)
    if provider is None:
        return None
    import genai_prices

    def per_million(**tokens: int) -> float:
        """Return 1,000 times the price of 1,000 tokens."""
        usage = genai_prices.Usage(**tokens)
        return float(genai_prices.calc_price(usage, model_ref=model, provider_id=provider).total_price) * 1_000

    try:
        return Price(
            prompt=per_million(input_tokens=1_000),
            cached=per_million(input_tokens=1_000, cache_read_tokens=1_000),
            written=per_million(input_tokens=1_000, cache_write_tokens=1_000),
            completion=per_million(output_tokens=1_000),
        )
    except LookupError:
        return None
