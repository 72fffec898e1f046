"""Prices of replies: the user's own, else those published in genai-prices. Nothing is fetched."""

from __future__ import annotations

from functools import lru_cache

from core.debate.turns import Usage
from core.llm.connections import Connection, Price

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
    """Prices of tokens. ``own`` maps ``connection/model`` or ``connection/*`` to the user's prices."""

    def __init__(self) -> None:
        self.own: dict[str, Price] = {}

    def own_price(self, connection: Connection, model: str) -> Price | None:
        """Return the user's price for this model or its connection."""
        return self.own.get(f"{connection.name}/{model}") or self.own.get(f"{connection.name}/{ANY_MODEL}")

    def rates(self, connection: Connection, model: str) -> tuple[float, float, float] | None:
        """Return dollars per token: (prompt, cached prompt, completion); None if unknown."""
        own = self.own_price(connection, model)
        return list_rates(connection, model) if own is None else own.per_token

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
    return next((name for host, name in _PROVIDERS.items() if f"//{host}" in connection.base_url), None)


@lru_cache(maxsize=4096)
def list_rates(connection: Connection, model: str) -> tuple[float, float, float] | None:
    """Return the published dollars per token: (prompt, cached prompt, completion), for a typical prompt length.

    Zeros for the built-in model and a local Ollama, None if unknown.
    """
    if connection.dialect == "builtin" or (connection.dialect == "ollama" and connection.local):
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
