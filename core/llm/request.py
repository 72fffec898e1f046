"""A request to a server, complete, before the parameters that the server refuses are left out.

The JSON schema of a reply with a decision, for servers that support structured output, describes the same content that
``core.debate.reading.parse`` reads in any case. A schema only keeps a model in this format. The role model's setting
``Sampling.json_schema`` decides when a schema is requested. ``off``: never, so that debates are streamed as text.
``auto``: in the retry after an unreadable reply. ``on``: in every request for a decision.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import orjson

from core.codebook import Codebook, Scale
from core.debate.turns import Request, Usage
from core.documents import storable
from core.llm.capabilities import ModelCapabilities
from core.llm.connections import Connection
from core.runs import RoleModel, Sampling


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The request of a role with the address and the settings of its model."""

    connection: Connection
    key: str | None
    role_model: RoleModel
    role_request: Request
    seed: int | None
    """The seed of the iteration."""
    schema: Schema | None
    """The schema of the reply."""
    idle_timeout: float
    """Longest wait for the next byte in seconds."""
    reply_timeout: float
    """Longest time for the reply in seconds."""
    price: Callable[[Usage, float | None], float | None]
    """Returns dollars for tokens and the price that the server stated, or None."""
    extra_params: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters by name, which a server may refuse like any other."""

    @property
    def output_limit(self) -> int:
        """Output limit in tokens."""
        return self.role_request.output_limit(self.role_model)

    @property
    def sampling(self) -> dict[str, Any]:
        """Sampling parameters that are set, under the names that all APIs share."""
        sampling = self.role_model.sampling
        params = {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": self.seed}
        return {name: value for name, value in params.items() if value is not None}

    def schema_for(self, capabilities: ModelCapabilities) -> Schema | None:
        """Return the schema that this server accepts, None if there is none."""
        if self.schema is None or capabilities.schema == "none":
            return None
        plain: Schema = without_bounds(self.schema)
        return plain if capabilities.schema == "plain" else self.schema

    def messages(self, capabilities: ModelCapabilities, schema: Schema | None) -> list[dict[str, str]]:
        """Return the messages in the form that this server accepts, with a sentence on the schema at the end."""
        messages = capabilities.messages(self.role_request.messages)
        if schema is not None:
            last = messages[-1]
            messages[-1] = {**last, "content": f"{last['content']}\n\n{instruction(schema)}"}
        return messages

    def sent(self, body: Mapping[str, Any], schema: Schema | None) -> dict[str, Any]:
        """Return the sent parameters by name, for ``ModelCapabilities.learn``; ``schema`` is True with bounds."""
        roles = [message["role"] for message in body["messages"]]
        system = "system" in roles or any(role == following for role, following in pairwise(roles))
        parameters = {**body, **body.get("options", {}), "system": system}
        return parameters if schema is None else {**parameters, "schema": schema == self.schema}

    def unsent(self, capabilities: ModelCapabilities, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of parameters that were left out, for the reply."""
        names = parameters.keys() - capabilities.accepted(parameters).keys()
        if self.schema is not None and capabilities.schema == "none":
            names.add("response_format")
        return tuple(sorted(names))


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON, without lone surrogates. Integers may have any size."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return storable(json.dumps(body, ensure_ascii=False)).encode()


Schema: TypeAlias = dict[str, Any]

NAME = "decision"
REASON_CHARACTERS, QUOTE_CHARACTERS, QUOTES = 1200, 300, 4
_BOUNDS = frozenset({"maxLength", "maxItems", "minItems"})
_QUOTE = {"type": "string", "maxLength": QUOTE_CHARACTERS}
_LISTED_SCALE = 21
"""Largest number of scale points that are listed; some servers enforce lists of numbers, but not ranges."""

INSTRUCTION = (
    "Give this answer as one JSON object and nothing else, instead of the form above. {keys}. Write names exactly as "
    "listed."
)


def request_schema(sampling: Sampling, request: Request, codebook: Codebook) -> Schema | None:
    """Return the schema for a request, None for a plain-text reply."""
    if request.form == "text" or not codebook.labels:
        return None
    if sampling.json_schema == "on" or (sampling.json_schema == "auto" and request.reask > 0):
        return schema_for(request, request.narrow(codebook))
    return None


def schema_for(request: Request, codebook: Codebook) -> Schema:
    """Return the schema of a reply form. Every key is required and no other is allowed, as strict servers demand."""
    reasoning: Schema = {"reasoning": {"type": "string", "maxLength": REASON_CHARACTERS}}
    quotes: Schema = {"quotes": {"type": "array", "items": _QUOTE, "maxItems": QUOTES}}
    name = {"label": {"type": "string", "enum": list(codebook.names)}}
    if request.answer_only:
        reasoning, quotes = {}, {}
    match request.form:
        case "choice":
            decision: Schema = {**quotes, **name}
        case "ratings":
            ratings = {label.name: _rating(codebook.scale_of(label.id)) for label in codebook.labels}
            decision = {"ratings": _object(ratings)}
        case _:
            entry = _object({**name, **quotes})
            decision = {"labels": {"type": "array", "items": entry, "maxItems": len(codebook.labels)}}
    return _object({**reasoning, **decision})


def instruction(schema: Schema) -> str:
    """Return a sentence for the prompt, because a schema constrains a model without explaining the format."""
    keys = [f'"{key}"' for key in schema["properties"]]
    words = f"Its keys, in this order, are {', '.join(keys)}" if len(keys) > 1 else f"Its only key is {keys[0]}"
    listed = " List only the aspects that are present." if "labels" in schema["properties"] else ""
    return INSTRUCTION.format(keys=words) + listed


def without_bounds(schema: Any) -> Any:
    """Return the schema without lengths and counts, which some servers refuse."""
    if isinstance(schema, Mapping):
        unbounded = {key: value for key, value in schema.items() if not (key in _BOUNDS and isinstance(value, int))}
        return {key: without_bounds(value) for key, value in unbounded.items()}
    return [without_bounds(value) for value in schema] if isinstance(schema, list) else schema


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _rating(scale: Scale) -> Schema:
    if len(scale.points) <= _LISTED_SCALE:
        return {"type": "integer", "enum": list(scale.points)}
    return {"type": "integer", "minimum": scale.min, "maximum": scale.max}
