"""A generator of asks that belongs to no run, such as the one that makes personas: asked, stored, never paid twice."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from core.debate.turns import Reply, Request, Step, T
from core.documents import Document, storable
from core.engine.keys import reply_key, request_hash
from core.engine.limits import retried
from core.engine.ports import Models, StoredReply, TurnStore
from core.llm.reply import ModelReply
from core.runs import RunSettings

AT_ONCE = 8
NOWHERE = Document("", {})


@dataclass(frozen=True, slots=True)
class Spent:
    """What it took. ``cost_usd`` is None as soon as one price is unknown."""

    asks: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, reply: StoredReply, *, paid: bool) -> Spent:
        """With one reply more; one from the store costs nothing."""
        cost = 0.0 if not paid else reply.cost_usd
        return Spent(
            self.asks + 1,
            self.calls + paid,
            self.prompt_tokens + reply.usage.prompt_tokens,
            self.completion_tokens + reply.usage.completion_tokens,
            None if self.cost_usd is None or cost is None else self.cost_usd + cost,
        )


async def drive(
    step: Step[T],
    settings: RunSettings,
    models: Models,
    store: TurnStore,
    tell: Callable[[int, int], None] = lambda _done, _asked: None,
) -> tuple[T, Spent]:
    """What the generator returns, and what that took. Asks go to the seats of ``settings`` by role, some at a time.

    ``tell`` hears of (asks answered, asks made so far). Raises the ModelError that outlasted its retries; what was
    answered by then is stored, so that the next try pays only for the rest. What the generator raises passes through.
    """
    counts: Counter[str] = Counter()
    spent, asked, slots = Spent(), 0, asyncio.Semaphore(AT_ONCE)

    async def answered(ask: Request) -> Reply:
        nonlocal spent
        request = request_hash(
            settings.role_models[ask.role], ask, models.salt(settings.role_models[ask.role], ask, settings), 0
        )
        key = reply_key(request, counts[request], 0)
        counts[request] += 1
        stored = await store.fetch(key) if store.known(key) else None
        paid = stored is None
        if stored is None:
            async with slots:
                stored = await _paid(key, ask, settings, models)
            await store.commit(stored)
        spent = spent.plus(stored, paid=paid)
        tell(spent.asks, asked)
        return Reply(stored.text, stored.reasoning, "length" if stored.finish == "length" else "stop", stored.usage)

    try:
        asks = next(step)
        while True:
            asked += len(asks)
            tell(spent.asks, asked)
            replies = await asyncio.gather(*map(answered, asks), return_exceptions=True)
            asks = step.send(tuple(map(_reply, replies)))
    except StopIteration as end:
        made: T = end.value
        return made, spent


def _reply(reply: Reply | BaseException) -> Reply:
    """Siblings of an ask that fails end first, as they are paid for."""
    if isinstance(reply, BaseException):
        raise reply
    return reply


async def _paid(key: str, ask: Request, settings: RunSettings, models: Models) -> StoredReply:
    began = time.monotonic()
    role_model = settings.role_models[ask.role]
    reply: ModelReply = await retried(
        lambda: models.ask(role_model, ask, settings, NOWHERE, lambda _text, _is_reasoning: None)
    )
    return StoredReply(
        key=key,
        text=storable(reply.text),
        reasoning=storable(reply.reasoning),
        finish=reply.finish,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        seconds=time.monotonic() - began,
        at=time.time(),
        dropped=reply.dropped,
        served=reply.served,
    )
