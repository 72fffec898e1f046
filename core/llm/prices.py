"""What a reply costs: by the person's own prices, else by the published ones that genai-prices ships (nothing is
fetched)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from core.debate.turns import Usage
from core.llm.connections import Connection
from core.llm.limits import Price

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.x.ai": "x-ai",
    "openrouter.ai": "openrouter",
}
ANY_MODEL = "*"
"""In the place of a model's name: the own price of every model of a connection that has none of its own."""


class Prices:
    """Dollars for tokens. ``own`` maps ``connection/model``, or ``connection/*``, to what a person typed."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self.own: dict[str, Price] = dict(own or {})

    def own_price(self, place: Connection, model: str) -> Price | None:
        """What the person typed for this model, or for all of its connection's."""
        return self.own.get(f"{place.name}/{model}") or self.own.get(f"{place.name}/{ANY_MODEL}")

    def rates(self, place: Connection, model: str) -> tuple[float, float, float] | None:
        """Dollars a token: (prompt, cached prompt, completion); None when no price is known."""
        own = self.own_price(place, model)
        return list_rates(place, model) if own is None else own.per_token

    def cost(self, place: Connection, model: str, usage: Usage) -> float | None:
        """Dollars for these tokens, None when no price is known."""
        per_token = self.rates(place, model)
        if per_token is None:
            return None
        fresh, cached, out = per_token
        return (
            max(usage.prompt_tokens - usage.cached_tokens, 0) * fresh
            + usage.cached_tokens * cached
            + usage.completion_tokens * out
        )


def provider_of(place: Connection) -> str | None:
    """The name by which genai-prices knows who answers at an address, None for anybody else."""
    return next((name for host, name in _PROVIDERS.items() if f"//{host}" in place.base_url), None)


@lru_cache(maxsize=4096)
def list_rates(place: Connection, model: str) -> tuple[float, float, float] | None:
    """The published price in dollars a token: (prompt, cached prompt, completion), at a typical prompt length; zeros
    for the built-in model and Ollama on this machine, None when no price is known."""
    if place.dialect == "builtin" or (place.dialect == "ollama" and place.local):
        return (0.0, 0.0, 0.0)
    provider = provider_of(place)
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
