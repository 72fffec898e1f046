"""Preflight: one short request to each distinct role model tests it before a run costs anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from core.debate.reading.parse import read
from core.debate.turns import Reply
from core.engine.retries import with_retries
from core.errors import ModelError, NoSuchModel, TimedOut, Unauthorised, Unreachable
from core.formatting import one_line
from core.llm.model_library import ModelLibrary
from core.llm.probe import BOOK, DOCUMENT, WEATHER
from core.llm.streaming import ignore_delta
from core.runs import RoleModel, RunSettings

PROBE_ATTEMPTS = 3
PROBE_SECONDS = 45.0
"""Longest wait for a role model, retries included; enough to load most models while a person waits."""
SHOWN_CHARACTERS = 80
STOPPING = (Unreachable, Unauthorised, NoSuchModel)
"""Errors that stop a run before it starts. Other errors are recorded, and the run starts."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one request to a role model; ``in_format`` is True if the reply had a readable decision line."""

    role_model: RoleModel
    roles: tuple[str, ...]
    seconds: float
    error: ModelError | None = None
    in_format: bool = False
    refused_params: tuple[str, ...] = ()
    beginning: str = ""
    """The first characters of the reply, on one line."""

    @property
    def stops(self) -> bool:
        """True if a run must not start with this role model."""
        return isinstance(self.error, STOPPING)


async def probe_role_models(settings: RunSettings, models: ModelLibrary) -> tuple[Probe, ...]:
    """Probe every distinct role model of a run in parallel, with a few retries; 401, 403 and 404 are not retried.

    A model that does not reply is given up after ``PROBE_SECONDS``.
    """
    role_models: dict[RoleModel, list[str]] = {}
    for role, role_model in settings.role_models.items():
        role_models.setdefault(role_model, []).append(role)
    return tuple(
        await asyncio.gather(
            *(_probe(role_model, roles, settings, models) for role_model, roles in role_models.items())
        )
    )


async def _probe(role_model: RoleModel, roles: Iterable[str], settings: RunSettings, models: ModelLibrary) -> Probe:
    probe_settings = settings.model_copy(update={"codebook": BOOK, "pace": 0.0})
    began = time.monotonic()
    reply = Reply()
    error: ModelError | None = None
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reply = await with_retries(
                lambda: models.ask(role_model, WEATHER, probe_settings, DOCUMENT, ignore_delta),
                PROBE_ATTEMPTS,
                seconds=PROBE_SECONDS,
            )
    except ModelError as failed:
        error = failed
    except TimeoutError:
        error = TimedOut(
            f"{role_model.model} at {role_model.connection} did not answer within {PROBE_SECONDS:.0f} s.",
            "It may still be loading, or the server hangs.",
        )
    reading = read(reply.text, BOOK, finish_reason=reply.finish_reason)
    text = one_line(reply.text)
    beginning = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    return Probe(
        role_model, tuple(roles), time.monotonic() - began, error, reading.readable, reply.refused_params, beginning
    )
