"""Requests that belong to no run.

Those that create personas, for example, are sent, stored, and never paid twice. One short request to each distinct role
model tests it before a run costs anything.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.debate.reading.parse import read
from core.debate.turns import Reply, ReplyError, Request, Step, T, Usage
from core.documents import Document
from core.engine.debate_runner import paid_reply, reply_key, request_hash
from core.engine.event_loop import gather_all
from core.engine.interfaces import Models, ReplyStore
from core.engine.limits import with_retries
from core.errors import ModelError, NoSuchModel, TimedOut, Unauthorised, Unreachable
from core.formatting import join_names
from core.llm.probe import BOOK, DOCUMENT, WEATHER
from core.runs import RoleModel, RunSettings

CONCURRENCY = 8
NO_DOCUMENT = Document("", {})


@dataclass(frozen=True, slots=True)
class Spent:
    """Requests, calls, tokens and cost so far. ``cost_usd`` is None as soon as one price is unknown.

    ``requests`` are those that were answered, from the store or by a call. Tokens and cost are those of all calls, also
    of those without a reply, as far as known.
    """

    requests: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, usage: Usage, cost_usd: float | None, *, requests: int = 0, calls: int = 0) -> Spent:
        """Return the sum with these tokens, and their cost in dollars, in addition."""
        return Spent(
            self.requests + requests,
            self.calls + calls,
            self.prompt_tokens + usage.prompt_tokens,
            self.completion_tokens + usage.completion_tokens,
            None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd,
        )


async def drive(
    step: Step[T],
    settings: RunSettings,
    models: Models,
    store: ReplyStore,
    on_progress: Callable[[int, int], None] = lambda _done, _asked: None,
    seconds: float | None = None,
    replied: tuple[type[ModelError], ...] = (),
) -> tuple[T, Spent]:
    """Run a generator of requests and return its result and its cost.

    Requests go to the role models of ``settings``, some at a time. ``on_progress`` is called with (replies received,
    requests made). Raises the ModelError that outlasted its retries; replies received by then are stored, so that the
    next attempt pays only for the rest. Raises TimedOut after ``seconds``, and sends nothing more then. Errors of the
    classes ``replied`` are not raised: the generator receives them as replies. Its exceptions pass through.
    """
    counts: Counter[str] = Counter()
    slots = asyncio.Semaphore(CONCURRENCY)
    spent = Spent()
    requested = 0

    async def answer(request: Request) -> Reply:
        nonlocal spent
        role_model = settings.role_models[request.role]

        async def attempt() -> Reply:
            nonlocal spent
            try:
                return await models.ask(role_model, request, settings, NO_DOCUMENT, lambda _text, _reasoning: None)
            except ModelError as error:
                usage = Usage(*error.billed, estimated=True)
                spent = spent.plus(usage, models.cost(role_model, usage))
                raise

        hash = request_hash(role_model, request, models.salt(role_model, request, settings), 0)
        key = reply_key(hash, counts[hash], 0)
        counts[hash] += 1
        reply = await store.fetch(key) if store.contains(key) else None
        if reply is not None:
            spent = spent.plus(Usage(), 0.0, requests=1)
        else:
            async with slots:
                began = time.monotonic()
                try:
                    reply = await with_retries(attempt)
                except replied as error:
                    return Reply(error=ReplyError(error.kind, str(error)))
                reply = paid_reply(reply, key, seconds=time.monotonic() - began)
            await store.commit(reply)
            spent = spent.plus(reply.usage, reply.cost_usd, requests=1, calls=1)
        on_progress(spent.requests, requested)
        return reply

    clock = asyncio.timeout(seconds)
    try:
        requests = next(step)
        async with clock:
            while True:
                requested += len(requests)
                on_progress(spent.requests, requested)
                requests = step.send(tuple(await gather_all(map(answer, requests))))
    except TimeoutError:
        if not clock.expired():
            raise
        models_used = join_names(sorted({settings.role_models[request.role].spec for request in requests}))
        raise TimedOut(
            f"{models_used} did not answer within {seconds:,g} seconds.",
            "Replies received so far are stored: try again.",
        ) from None
    except StopIteration as end:
        result: T = end.value
        return result, spent
    finally:
        step.close()


PROBE_ATTEMPTS = 3
PROBE_SECONDS = 45.0
"""Longest wait for a role model, retries included; enough to load most models while a person waits."""
STOPPING = (Unreachable, Unauthorised, NoSuchModel)
"""Errors that stop a run before it starts. Other errors are recorded, and the run starts."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one request to a role model.

    ``error`` is None if it replied. ``in_format`` is True if the reply had a readable decision line.
    ``refused_params`` are parameters that the server refused.
    """

    role_model: RoleModel
    roles: tuple[str, ...]
    seconds: float
    error: ModelError | None = None
    in_format: bool = False
    refused_params: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        """True if a run must not start with this role model."""
        return isinstance(self.error, STOPPING)


async def probe_role_models(settings: RunSettings, models: Models) -> tuple[Probe, ...]:
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


async def _probe(role_model: RoleModel, roles: Iterable[str], settings: RunSettings, models: Models) -> Probe:
    probe_settings = settings.model_copy(update={"codebook": BOOK, "pace": 0.0})
    began = time.monotonic()
    reply = Reply()
    error: ModelError | None = None

    async def attempt() -> Reply:
        nonlocal error
        try:
            return await models.ask(role_model, WEATHER, probe_settings, DOCUMENT, lambda _text, _is_reasoning: None)
        except ModelError as failed:
            error = failed
            raise

    async def wait(seconds: float) -> None:
        if error is not None and time.monotonic() + seconds > began + PROBE_SECONDS:
            raise error
        await asyncio.sleep(seconds)

    try:
        async with asyncio.timeout(PROBE_SECONDS):
            reply = await with_retries(attempt, PROBE_ATTEMPTS, sleep=wait)
            error = None
    except ModelError as failed:
        error = failed
    except TimeoutError:
        error = TimedOut(
            f"{role_model.model} at {role_model.connection} did not answer within {PROBE_SECONDS:.0f} s.",
            "It may still be loading, or the server hangs.",
        )
    reading = read(reply.text, BOOK, finish_reason=reply.finish_reason)
    return Probe(role_model, tuple(roles), time.monotonic() - began, error, reading.readable, reply.refused_params)
