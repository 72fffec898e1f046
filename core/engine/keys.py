"""The name under which a reply is stored: a hash of what was meant, before any server-side fallback."""

from __future__ import annotations

from collections.abc import Mapping

from core.debate.turns import Request
from core.hashing import digest
from core.runs import RoleModel


def request_hash(role_model: RoleModel, ask: Request, salt: Mapping[str, object], iteration: int) -> str:
    """Equal for asks that would put the same request to the same model, within one iteration."""
    return digest(
        {
            "base_url": role_model.base_url,
            "model": role_model.model,
            # Whether this very ask is held to a schema is in the salt: the seat's rule for it decides no reply.
            "sampling": role_model.sampling.model_dump(mode="json", exclude={"json_schema"}),
            "messages": [[message.role, message.content] for message in ask.messages],
            "form": ask.form,
            "iteration": iteration,
            "salt": dict(salt),
        }
    )


def reply_key(request: str, occurrence: int, retry: int) -> str:
    """The key in the turn store.

    ``occurrence`` counts identical requests within one debate in yield order, so that three annotators on one model do
    not share a reply; ``retry`` is raised when an unreadable reply is asked for again on a later day.
    """
    return digest([request, occurrence, retry])
