"""Run a generator of requests that belongs to no run, such as one that creates personas."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from core.debate.turns import Reply, ReplyError, Request, Step, T, Usage
from core.documents import Document
from core.engine.call_limits import Budget
from core.engine.event_loop import gather_all
from core.engine.interfaces import ReplyStore
from core.engine.model_calls import ModelCaller
from core.engine.pending_turns import PendingTurn, equal_replies, request_hash
from core.errors import ModelError, TimedOut
from core.formatting import join_names
from core.llm.model_library import ModelLibrary
from core.runs import RunSettings, total_cost

NO_DOCUMENT = Document("", {})


@dataclass(slots=True)
class Spent:
    """Answered requests, calls, tokens and cost so far; ``cost_usd`` is None as soon as one price is unknown.

    Tokens and cost are also those of calls without a reply, as far as known.
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

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Add these tokens, and their cost in dollars."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        self.cost_usd = total_cost((self.cost_usd, cost_usd))

    def add_reply(self, reply: Reply) -> None:
        """Add the call for a reply."""
        self.calls += 1
        self.add(reply.usage, reply.cost_usd)


async def run_standalone(
    step: Step[T],
    settings: RunSettings,
    models: ModelLibrary,
    store: ReplyStore,
    on_progress: Callable[[int, int], None] = lambda _done, _asked: None,
    seconds: float | None = None,
    errors_as_replies: tuple[type[ModelError], ...] = (),
    occurrence: int = 0,
) -> tuple[T, Spent]:
    """Run a generator of requests and return its result and its cost.

    Requests go to the role models of ``settings``, within the limits of their servers. ``on_progress`` is called with
    (replies received, requests made). Raises the ModelError that outlasted its retries; replies received by then are
    stored, so that the next attempt pays only for the rest. Raises TimedOut after ``seconds``, and sends nothing more
    then, and BudgetSpent if the rest of the budget of ``settings`` is too small for a call. Errors of the classes
    ``errors_as_replies`` are not raised: the generator receives them as replies. Its exceptions pass through. Equal
    requests count from ``occurrence``: a step that asks again gets other replies than before if it counts on. A cut
    reply stands in for the one to the same request with a raised limit if the server does not allow a higher one.
    """
    counts: Counter[str] = Counter()
    spent = Spent()
    requested = 0
    caller = ModelCaller(settings, models, store, Budget(settings.budget_usd), spent.add_reply, spent.add)

    async def answer(request: Request, equal: Reply | None) -> Reply:
        role_model = settings.role_models[request.role]
        hash = request_hash(models, request, settings)
        pending = PendingTurn(NO_DOCUMENT, 0, request, role_model, hash, occurrence + counts[hash])
        counts[hash] += 1
        key = pending.key(0)
        reply = await store.fetch(key)
        if reply is None and equal is not None and equal.error is None:
            reply = equal
        if reply is None:
            try:
                reply = (await caller.call(key, pending)).reply
            except errors_as_replies as error:
                return Reply(error=ReplyError(error.kind, str(error)))
        spent.requests += 1
        on_progress(spent.requests, requested)
        return reply

    clock = asyncio.timeout(seconds)
    try:
        requests = next(step)
        answered: list[tuple[Request, Reply]] = []
        async with clock:
            while True:
                requested += len(requests)
                on_progress(spent.requests, requested)
                equal = equal_replies(requests, answered, settings, models)
                replies = await gather_all(answer(request, equal.get(index)) for index, request in enumerate(requests))
                answered = list(zip(requests, replies, strict=True))
                requests = step.send(tuple(replies))
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


async def run_until_usable(
    start: Callable[[], Step[T]],
    is_usable: Callable[[T], bool],
    settings: RunSettings,
    models: ModelLibrary,
    store: ReplyStore,
    on_progress: Callable[[int, int], None] = lambda _done, _asked: None,
    seconds: float | None = None,
) -> tuple[T, Spent]:
    """Run a generator as ``run_standalone`` does, from new replies if those in the store give no usable result."""
    for occurrence in itertools.count():
        result, spent = await run_standalone(
            start(), settings, models, store, on_progress, seconds, occurrence=occurrence
        )
        if is_usable(result) or spent.calls:
            break
    return result, spent
