"""One ask on its way to a server: all that is meant, before anything is left out for the server's sake."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from core.debate.turns import Request, Usage
from core.documents import storable
from core.llm.capabilities import Known
from core.llm.connections import Connection
from core.llm.schemas import Schema, instruction, without_bounds
from core.runs import RoleModel


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Where it goes, what it asks, and what the caller knows. ``seed`` is that of the iteration, ``schema`` what the
    reply is to be held to, ``silence`` the seconds without a byte after which the server is given up, ``price`` gives
    dollars for tokens or None."""

    place: Connection
    key: str | None
    role_model: RoleModel
    ask: Request
    seed: int | None
    schema: Schema | None
    silence: float
    price: Callable[[Usage], float | None]
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters by name, which a server may refuse like any other."""

    @property
    def headers(self) -> dict[str, str]:
        """What goes out besides the body."""
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

    @property
    def characters(self) -> int:
        """Length of the prompt."""
        return sum(len(message.content) for message in self.ask.messages)

    def schema_for(self, known: Known) -> Schema | None:
        """The schema as this server takes it; None where it takes none or none is wanted."""
        if self.schema is None or known.schema == "none":
            return None
        plain: Schema = without_bounds(self.schema)
        return plain if known.schema == "plain" else self.schema

    def messages(self, known: Known, schema: Schema | None) -> list[dict[str, str]]:
        """The messages as this server takes them; with a schema, a sentence on it stands at the end."""
        messages = known.messages(self.ask.messages)
        if schema is not None:
            last = messages[-1]
            messages[-1] = {**last, "content": f"{last['content']}\n\n{instruction(schema)}"}
        return messages

    def sent(self, body: Mapping[str, Any], schema: Schema | None) -> dict[str, Any]:
        """What went out, by the names of ``Known.learn``; ``schema`` tells whether it had its bounds."""
        system = any(message.role == "system" for message in self.ask.messages)
        told = {**body, **body.get("options", {}), "system": system}
        return told if schema is None else {**told, "schema": schema == self.schema}

    def unsent(self, known: Known, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of what was meant and left out, as the reply reports them."""
        names = {name for name in known.dropped if name in parameters}
        if self.schema is not None and known.schema == "none":
            names.add("response_format")
        return tuple(sorted(names))


def packed(body: Mapping[str, Any]) -> bytes:
    """A body as JSON. It always can be: half a character is replaced, and an integer beyond 64 bits goes out as it is,
    for the server to refuse."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return storable(json.dumps(body, ensure_ascii=False)).encode()
