"""What a reply costs, by the published list prices that genai-prices ships (nothing is fetched)."""

from __future__ import annotations

from functools import lru_cache

from core.debate.turns import Usage
from core.llm.connections import Connection

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "api.x.ai": "x-ai",
    "openrouter.ai": "openrouter",
}


def cost(place: Connection, model: str, usage: Usage) -> float | None:
    """Dollars for these tokens: 0 for the built-in model and Ollama on this machine, None when no price is known."""
    if place.dialect == "builtin":
        return 0.0
    per_token = rates(place, model)
    if per_token is None:
        return None
    fresh, cached, out = per_token
    return (
        (usage.prompt_tokens - usage.cached_tokens) * fresh
        + usage.cached_tokens * cached
        + (usage.completion_tokens * out)
    )


@lru_cache(maxsize=512)
def rates(place: Connection, model: str) -> tuple[float, float, float] | None:
    """Dollars a token: (prompt, cached prompt, completion), at a typical prompt length; None when no price is known."""
    if place.dialect == "builtin" or (place.dialect == "ollama" and _local(place)):
        return (0.0, 0.0, 0.0)
    provider = next((name for host, name in _PROVIDERS.items() if f"//{host}" in place.base_url), None)
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


def _local(place: Connection) -> bool:
    return any(host in place.base_url for host in ("//127.0.0.1", "//localhost", "//[::1]"))
