"""The JSON schema of a reply that must hold a decision, for servers that can be held to one.

What it describes is what ``core.debate.reading.parse`` reads in any case: a schema only keeps a model from straying.
It is asked for as the seat says (``Sampling.json_schema``): ``off``, never, so that a debate is read live as the text
that the prompts ask for; ``auto``, in the second try after a reply that could not be read; ``on``, in every ask that
must hold a decision.
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
"""Steps up to which a scale is spelt out: some servers enforce lists of numbers, but not ranges."""

INSTRUCTION = (
    "Give this answer as one JSON object and nothing else, in place of the closing line. Its keys are {keys}. "
    "Write the reasoning first; names letter by letter as they are listed."
)


def wanted(sampling: Sampling, ask: Request, codebook: Codebook) -> Schema | None:
    """The schema that this ask is meant to go out with, None when it is to be answered in plain text."""
    if ask.form == "text" or not codebook.labels:
        return None
    if sampling.json_schema == "on" or (sampling.json_schema == "auto" and ask.retry > 0):
        return schema_for(ask, codebook.only(ask.item) if ask.item else codebook)
    return None


def schema_for(ask: Request, codebook: Codebook) -> Schema:
    """The schema of what an ask expects. Every key is required and no other allowed, as strict servers demand."""
    match ask.form:
        case "choice":
            decision: Schema = {"quotes": _quotes(), "label": {"type": "string", "enum": list(codebook.names)}}
        case "ratings":
            rating = _rating(codebook.scale or Scale())
            decision = {"ratings": _object(dict.fromkeys(codebook.names, rating))}
        case _:
            entry = _object({"label": {"type": "string", "enum": list(codebook.names)}, "quotes": _quotes()})
            decision = {"labels": {"type": "array", "items": entry, "maxItems": len(codebook.labels)}}
    return _object({"reasoning": {"type": "string", "maxLength": REASON_CHARACTERS}, **decision})


def instruction(schema: Schema) -> str:
    """One sentence for the model, as a schema alone constrains it without info it why."""
    return INSTRUCTION.format(keys=", ".join(f'"{key}"' for key in schema["properties"]))


def without_bounds(schema: Any) -> Any:
    """The schema without lengths and counts, which some servers refuse."""
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
    steps = list(range(scale.min, scale.max + 1))
    if len(steps) <= _LISTED_SCALE:
        return {"type": "integer", "enum": steps}
    return {"type": "integer", "minimum": scale.min, "maximum": scale.max}
