"""A request to a server, complete, before the parameters that the server refuses are left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from core.debate.turns import Request, Usage
from core.documents import storable
from core.llm.capabilities import ModelCapabilities
from core.llm.connections import Connection
from core.llm.schemas import Schema, instruction, without_bounds
from core.runs import RoleModel


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The request of a role (``role_request``) with the address and the settings of its model.

    ``seed`` is the seed of the iteration, ``schema`` the schema of the reply, ``silence`` the longest wait for the next
    byte and ``deadline`` the longest time for the reply, both in seconds. ``price`` returns dollars for tokens, or
    None.
    """

    connection: Connection
    key: str | None
    role_model: RoleModel
    role_request: Request
    seed: int | None
    schema: Schema | None
    silence: float
    deadline: float
    price: Callable[[Usage], float | None]
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters by name, which a server may refuse like any other."""

    @property
    def output_limit(self) -> int:
        """Output limit in tokens."""
        return self.role_request.output_limit(self.role_model)

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers."""
        return {"authorization": f"Bearer {self.key}"} if self.key else {}

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
        system = any(message.role == "system" for message in self.role_request.messages)
        parameters = {**body, **body.get("options", {}), "system": system}
        return parameters if schema is None else {**parameters, "schema": schema == self.schema}

    def unsent(self, capabilities: ModelCapabilities, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of parameters that were left out, for the reply."""
        names = {name for name in capabilities.refused_params if name in parameters}
        if self.schema is not None and capabilities.schema == "none":
            names.add("response_format")
        return tuple(sorted(names))


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON.

    Lone surrogates are replaced; integers beyond 64 bits are sent as they are, for the server to refuse.
    """
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return storable(json.dumps(body, ensure_ascii=False)).encode()
