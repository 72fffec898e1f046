"""The JSON schema of a reply with a decision, for servers that support structured output.

The schema describes the same content that ``core.debate.reading.parse`` reads in any case. A schema only keeps a model
in this format. The role model's setting ``Sampling.json_schema`` decides when a schema is requested. ``off``: never, so
that debates are streamed as text. ``auto``: in the retry after an unreadable reply. ``on``: in every request for a
decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from core.codebook import Codebook, Scale
from core.debate.turns import Request
from core.runs import Sampling

Schema: TypeAlias = dict[str, Any]

NAME = "decision"
REASON_CHARACTERS, QUOTE_CHARACTERS, QUOTES = 1200, 300, 4
_BOUNDS = frozenset({"maxLength", "maxItems", "minItems"})
_LISTED_SCALE = 21
"""Largest number of scale points that are listed; some servers enforce lists of numbers, but not ranges."""

INSTRUCTION = (
    "Give this answer as one JSON object and nothing else, in place of the closing line. Its keys are {keys}. "
    "Write the reasoning first, and the names exactly as listed."
)


def request_schema(sampling: Sampling, request: Request, codebook: Codebook) -> Schema | None:
    """Return the schema for a request, None for a plain-text reply."""
    if request.form == "text" or not codebook.labels:
        return None
    if sampling.json_schema == "on" or (sampling.json_schema == "auto" and request.retry > 0):
        return schema_for(request, request.narrow(codebook))
    return None


def schema_for(request: Request, codebook: Codebook) -> Schema:
    """Return the schema of a reply form. Every key is required and no other is allowed, as strict servers demand."""
    match request.form:
        case "choice":
            decision: Schema = {"quotes": _quotes(), "label": {"type": "string", "enum": list(codebook.names)}}
        case "ratings":
            ratings = {label.name: _rating(codebook.scale_of(label.id)) for label in codebook.labels}
            decision = {"ratings": _object(ratings)}
        case _:
            entry = _object({"label": {"type": "string", "enum": list(codebook.names)}, "quotes": _quotes()})
            decision = {"labels": {"type": "array", "items": entry, "maxItems": len(codebook.labels)}}
    return _object({"reasoning": {"type": "string", "maxLength": REASON_CHARACTERS}, **decision})


def instruction(schema: Schema) -> str:
    """Return a sentence for the prompt, because a schema constrains a model without explaining the format."""
    return INSTRUCTION.format(keys=", ".join(f'"{key}"' for key in schema["properties"]))


def without_bounds(schema: Any) -> Any:
    """Return the schema without lengths and counts, which some servers refuse."""
    if isinstance(schema, Mapping):
        kept = {key: value for key, value in schema.items() if not (key in _BOUNDS and isinstance(value, int))}
        return {key: without_bounds(value) for key, value in kept.items()}
    return [without_bounds(value) for value in schema] if isinstance(schema, list) else schema


def _object(properties: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _quotes() -> Schema:
    return {"type": "array", "items": {"type": "string", "maxLength": QUOTE_CHARACTERS}, "maxItems": QUOTES}


def _rating(scale: Scale) -> Schema:
    if len(scale.points) <= _LISTED_SCALE:
        return {"type": "integer", "enum": list(scale.points)}
    return {"type": "integer", "minimum": scale.min, "maximum": scale.max}
