"""Stored replies as lines of JSON: the format of the reply logs of a project and of Ray workers."""

from __future__ import annotations

import json
from dataclasses import asdict

import orjson
from pydantic import TypeAdapter

from core.debate.turns import Reply

_STORED = tuple(name for name in Reply.__dataclass_fields__ if name not in ("error", "reading", "evidence"))
"""Fields of a stored reply; the others are parsed from its text."""
_ADAPTER = TypeAdapter(Reply)


def encode_reply(reply: Reply) -> bytes:
    """Return a reply as a line of JSON."""
    fields = {name: getattr(reply, name) for name in _STORED}
    try:
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:  # a lone surrogate, in text that was not made storable
        return json.dumps({**fields, "usage": asdict(reply.usage)}).encode() + b"\n"


def decode_reply(line: bytes) -> Reply:
    """Return the reply in a line of JSON. Raises ValueError for anything else."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError:
        fields = json.loads(line)
    if not isinstance(fields, dict) or {*fields, "output_limit"} != set(_STORED):  # which older lines lack
        raise ValueError("not a stored reply")
    return _ADAPTER.validate_python(fields)
