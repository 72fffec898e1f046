"""Capabilities of servers and models, learned from refusals and replies, and applied to requests.

The key of a reply comes from the request before this adaptation, so a fallback does not change the key.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from core.debate.turns import Usage
from core.errors import BadRequest, ContextTooLong, ModelError, ServerFault
from core.llm.connections import Connection, lowest
from core.prompts import Message

SchemaLevel: TypeAlias = Literal["", "full", "plain", "ignored", "none"]
"""Support for JSON schemas: not tried yet, full, without lengths and counts, accepted but not followed, refused."""

REMEMBERED_SECONDS = 7 * 86_400.0
"""Age in seconds up to which ``recall`` accepts capabilities; older ones are dropped, because models are replaced."""

_NAMED: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE | re.ASCII)  # a name may stand next to Chinese words without a space
    for name, pattern in {
        "stream_options": r"\bstream_options\b|\binclude_usage\b",
        "top_p": r"\btop_p\b|\btopP\b",  # newer Claude models refuse it beside a temperature
        "temperature": r"\btemperature\b",
        "seed": r"\bseed\b",
        "logprobs": r"\b(top_)?logprobs\b",
        "reasoning_effort": r"\breasoning([_.]?effort)?\b|\bthinking(\b|_)",
        "think": r"\bthink(ing)?\b",
        "stream": r"\bstream(ing)?\b",
    }.items()
}
_SCHEMA = re.compile(
    r"response_format|json_schema|json schema|invalid format|\bschema\b|grammar|structured output|guided"
    r"|json_validate_failed|ChatRequest[. ]format\b",
    re.IGNORECASE,
)
_BOUNDS = re.compile(
    r"max_?length|max_?items|min_?items|not permitted|unsupported keyword|invalid schema", re.IGNORECASE
)
_LENGTHS = re.compile(r"max_?length|max_?items|min_?items", re.IGNORECASE)
_LIMIT = re.compile(
    r"\bmax_?(?:completion_?|output_?|new_?)?tokens\b|num_predict|maximum tokens you", re.IGNORECASE | re.ASCII
)
_MAX_VALUE = re.compile(
    r"(?:at most|up to|less than or equal to|no more than|not exceed|maximum(?: value)?(?: is| of|:)?"
    r"|limit(?: is| of|:)?|<=?|≤|\d >|\[\d+,|\(inclusive\) to)\s*`?(\d{1,7})\b(?!>)(?P<exclusive> \(exclusive\))?",
    re.IGNORECASE,
)
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens", "num_predict")
_CONTEXT_SIZE = re.compile(
    r"context limit: \d+ \+ \d+ > (\d+)|context (?:length|size|window|limit)(?! by\b)\D{0,20}?(\d{3,8})\b"
    r"|(\d{3,8}) (?:tokens? )?(?:maximum )?context|max_new_tokens`? must be <= (\d+)"
    r"|per min\w*\b.{0,20}: limit (\d+), requested",
    re.IGNORECASE,
)
"""The context in a refusal of a prompt and an output limit that do not fit together.

The tokens per minute of an account act as one: Groq and OpenAI refuse a request whose prompt and limit exceed them.
"""
_SYSTEM = re.compile(
    r"system['\"`]?\s(?:role|messages?|prompts?|instructions?)\b.{0,40}\bnot\b|"
    r"\b(?:not support|not allow|unsupported)\w*\b.{0,30}\bsystem\b"
    r"|\broles?\b.{0,40}\balternat|\balternat(?:e|ing)\b.{0,40}\bassistant\b"
    r"|\buser['\"`]? (?:and|or) ['\"`]?assistant\b|developer instruction is not enabled",
    re.IGNORECASE,
)


@dataclass(slots=True)
class ModelCapabilities:
    """Known capabilities of one model at one server. None is not known yet."""

    refused_params: dict[str, list[Any]] = field(default_factory=dict)
    """By name of a parameter, the values that the model refused: it may accept others."""
    limit: str = "max_tokens"
    """The model's name of the output limit, empty for none."""
    max_output_tokens: int | None = None
    """The highest output limit that was accepted."""
    no_system: bool = False
    """True if instructions go into the first user message."""
    levels: bool = True
    """False if Ollama only switches thinking on and off."""
    schema: SchemaLevel = ""
    schema_failed: bool = False
    """True if a request was answered only without its schema, for an unknown reason."""
    context: int | None = None
    """The context in tokens."""
    reasons: bool | None = None
    seed: bool | None = None
    logprobs: bool | None = None
    in_format: bool | None = None
    """True if a probe was answered in the requested form."""
    highest_usd: list[float] | None = None
    """Highest price in dollars of a token of the prompt and of a token of the reply, by the costs that the server
    stated; None without any."""
    num_ctx: int = 0
    """The context last requested from Ollama."""
    at: float = 0.0
    """Unix time of the last reply or refusal."""

    def limited(self, tokens: int) -> int:
        """Return an output limit that the server accepts.

        It is at most half of the context: some servers refuse a request whose prompt and limit exceed the context.
        """
        half = self.context // 2 if self.context else None
        return min(limit for limit in (tokens, self.max_output_tokens, half) if limit is not None)

    def highest_cost(self, usage: Usage) -> float | None:
        """Return the highest price of these tokens in dollars, by stated costs; None without any."""
        if self.highest_usd is None:
            return None
        prompt_usd, completion_usd = self.highest_usd
        return usage.prompt_tokens * prompt_usd + usage.completion_tokens * completion_usd

    def note_cost(self, usage: Usage, stated_usd: float) -> None:
        """Learn the highest prices from a cost in dollars that the server stated for these tokens.

        Neither the tokens of the prompt nor those of the reply alone cost more. Cached ones may be cheaper, so they do
        not count. A cost above the highest one shows that the prices have changed.
        """
        fresh_tokens, written = usage.prompt_tokens - usage.cached_tokens, usage.completion_tokens
        prices = [stated_usd / max(fresh_tokens, 1), stated_usd / written if written else 0.0]  # vectors have no text
        highest = self.highest_cost(usage)
        if self.highest_usd is not None and highest is not None and stated_usd <= highest:
            prices = list(map(min, prices, self.highest_usd))
        self.highest_usd = prices

    def accepted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters, by name, without those that the model refused with the same value.

        A seed is left out if any was refused: each iteration has its own. Without ``levels``, thinking is only switched
        on or off.
        """
        if not self.levels and "think" in params:
            params = {**params, "think": params["think"] is not False}
        refused = self.refused_params
        return {
            name: value
            for name, value in params.items()
            if name not in refused or (name != "seed" and value not in refused[name])
        }

    @property
    def refusals(self) -> list[str]:
        """The refused parameters in words, such as "temperature=1.5", in alphabetical order."""
        return sorted(
            {
                name if name == "seed" or isinstance(value, bool | Mapping) else f"{name}={value}"
                for name, values in self.refused_params.items()
                for value in values
            }
        )

    def messages(self, messages: Iterable[Message]) -> list[dict[str, str]]:
        """Return the messages in the form that the server accepts.

        With ``no_system`` roles alternate, as many chat templates without a system role demand.
        """
        plain = [{"role": message.role, "content": message.content} for message in messages]
        if not self.no_system:
            return plain
        conversation: list[dict[str, str]] = []
        for message in plain:
            role, content = "assistant" if message["role"] == "assistant" else "user", message["content"]
            if conversation and conversation[-1]["role"] == role:
                conversation[-1]["content"] += f"\n\n{content}"
            else:
                conversation.append({"role": role, "content": content})
        return conversation

    def learn(self, error: ModelError, params: Mapping[str, Any]) -> bool:
        """Learn from a refusal of ``params`` (parameters by name); return True if the next attempt will differ.

        Each value of a parameter is given up once.
        """
        message = error.server_text
        match error:
            case ContextTooLong():
                return self._learn_context(message, params)
            case ServerFault():  # some servers report an unsupported system message as their own error
                learned = self._learn_system(message, params)
            case BadRequest():
                learned = (
                    self._learn_schema(message, params)
                    or self._learn_limit(message, params)
                    or self._learn_name(message, params)
                    or self._learn_system(message, params)
                )
            case _:
                return False
        if learned:
            self.at = time.time()
        return learned

    def _learn_system(self, message: str, params: Mapping[str, Any]) -> bool:
        if not params.get("system") or not _SYSTEM.search(message):
            return False
        self.no_system = True
        return True

    def _learn_context(self, message: str, params: Mapping[str, Any]) -> bool:
        """Learn the context from a refusal because prompt and output limit exceed it together."""
        match = _CONTEXT_SIZE.search(message)
        context = int(match[match.lastindex or 0]) if match else 0
        if not context:
            return False
        if self.context is None or context < self.context:
            self.context, self.at = context, time.time()
        return any(self.limited(params[name]) < params[name] for name in _LIMIT_NAMES if name in params)

    def _learn_schema(self, message: str, params: Mapping[str, Any]) -> bool:
        bounded = params.get("schema")
        if bounded is None or not (_SCHEMA.search(message) or _LENGTHS.search(message)):
            return False
        if bounded and _BOUNDS.search(message):
            if self.schema != "none":
                self.schema = "plain"
        else:
            self.schema = "none"
        return True

    def _learn_limit(self, message: str, params: Mapping[str, Any]) -> bool:
        name = next((candidate for candidate in _LIMIT_NAMES if candidate in params), None)
        if name is None or not _LIMIT.search(message):
            return False
        match = _MAX_VALUE.search(message)
        limit = int(match[1]) - bool(match["exclusive"]) if match else 0
        if 0 < limit < int(params[name]):
            self.max_output_tokens = min(self.max_output_tokens or limit, limit)
            return True
        if name == "max_tokens" and re.search(r"\bmax_tokens\b", message, re.ASCII):
            if self.limit == "max_tokens":
                self.limit = "max_completion_tokens"
            return True
        if name == "max_completion_tokens":
            self.limit = ""
            return True
        return False

    def _learn_name(self, message: str, params: Mapping[str, Any]) -> bool:
        if params.get("think") not in (None, True, False) and re.search(r"think value", message, re.IGNORECASE):
            self.levels = False
            return True
        for name, pattern in _NAMED.items():
            if name in params and pattern.search(message):
                refused = self.refused_params.setdefault(name, [])
                if params[name] not in refused:  # requests in flight and those of a batch are refused alike
                    refused.append(params[name])
                return True
        return False


_OF_MODELS = {"context", "reasons", "seed", "logprobs", "in_format", "at"}
"""Capabilities of a model, whatever its server refuses."""


class Capabilities:
    """``ModelCapabilities`` for each (address, model), which any thread may read."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], ModelCapabilities] = {}

    def get(self, connection: Connection, model: str) -> ModelCapabilities:
        """Return the known capabilities of a model at a server; the defaults at first."""
        return self._known.setdefault((connection.base_url, model), ModelCapabilities())

    def seen(self, connection: Connection, model: str) -> ModelCapabilities | None:
        """Return the known capabilities of a model, None before its first reply or refusal."""
        capabilities = self._known.get((connection.base_url, model))
        return capabilities if capabilities is not None and capabilities.at else None

    def forget(self, connection: Connection, model: str) -> None:
        """Forget a model except for its prices, so that its capabilities are learned again."""
        if (known := self._known.get((connection.base_url, model))) is not None:  # a run may depend on its prices
            self._known[connection.base_url, model] = ModelCapabilities(highest_usd=known.highest_usd)

    def to_json(self) -> list[dict[str, Any]]:
        """Return everything learned as plain data."""
        return [
            {"base_url": url, "model": model, **asdict(capabilities)}
            for (url, model), capabilities in self._known.copy().items()
            if capabilities.at
        ]

    def recall(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Load capabilities that another process learned, except old ones.

        For servers on this machine refusals are not loaded. Another server may use the same port now, and repeating a
        refused request costs nothing there.
        """
        names = {field.name for field in fields(ModelCapabilities)}
        for row in rows:
            if time.time() - row["at"] > REMEMBERED_SECONDS:
                continue
            local = Connection(name="any", base_url=row["base_url"]).local
            known = {name: row[name] for name in (_OF_MODELS if local else names) & row.keys()}
            self._known.setdefault((row["base_url"], row["model"]), ModelCapabilities(**known))

    def lower_limits(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take over the lowest limits that other processes of the same run met, also at servers on this machine."""
        for row in rows:
            known = self._known.setdefault((row["base_url"], row["model"]), ModelCapabilities())
            known.max_output_tokens = lowest(known.max_output_tokens, row["max_output_tokens"])
            known.context = lowest(known.context, row["context"])
            known.at = max(known.at, row["at"])
