"""Model calls of a run: one paid call per key, shared by all debates that wait for it, streamed to the browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from core.debate.events import Delta, TurnStarted, TurnWaiting
from core.debate.turns import Reply, Usage
from core.engine.call_limits import Budget, BudgetSpent, ServerLimiter, Settle
from core.engine.interfaces import FailedAttempt, Publish, ReplyStore
from core.engine.pending_turns import PendingTurn, paid_reply
from core.engine.retries import with_retries
from core.errors import EmptyReply, ModelError, RateLimited
from core.hashing import digest
from core.llm.connections import Limits
from core.llm.embeddings import SECONDS, batches, decode_vector, encode_vector, vector_key
from core.llm.failures import is_context_full
from core.llm.model_library import ModelLibrary
from core.llm.quotas import Quota
from core.llm.streaming import CHARACTERS_PER_TOKEN, OnDelta, estimate_usage
from core.runs import RoleModel, RunSettings

T = TypeVar("T")

FLUSH_SECONDS = 0.05
"""Interval at which the deltas of a turn are published: 20 times a second."""

BUDGET_CHARACTERS = 2_000
"""Characters of a streamed reply after which its cost is compared with the budget again."""

SHARED_CONTEXT = (
    "Calls at the same time share the context of this server: lower the calls at once, or start it with more context."
)
MAX_SHARED = 2
"""Attempts of a call that a full shared context ended, after which the call is repeated without others beside it."""

OVER_BUDGET = "budget"
"""Error kind of an attempt that was stopped because its reply cost more than the budget allows."""

CANCELLED = "cancelled"
"""Error kind of an attempt that was stopped while its reply was streamed."""


class StreamBuffer:
    """Streamed text of a turn that has not been published."""

    def __init__(self, run_id: str, pending: PendingTurn, publish: Publish) -> None:
        self._run_id = run_id
        self._pending = pending
        self._publish = publish
        self._pieces: tuple[list[str], list[str]] = ([], [])  # of the text and of the reasoning
        self._sent = [0, 0]
        self._received: list[str] = []
        self.length = 0
        """Characters of this attempt, reasoning included."""

    @property
    def received(self) -> str:
        """All text of this attempt, reasoning included."""
        return "".join(self._received)

    def __call__(self, text: str, is_reasoning: bool) -> None:
        """Add one piece."""
        self._received.append(text)
        self.length += len(text)
        if not any(self._pieces):
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._pieces[is_reasoning].append(text)

    def flush(self) -> None:
        """Publish the buffered text."""
        for index, pieces in enumerate(self._pieces):
            if pieces:
                text = "".join(pieces)
                pieces.clear()
                document_id, turn = self._pending.document.id, self._pending.turn
                self._publish(Delta(self._run_id, document_id, turn, self._sent[index], text, reasoning=index == 1))
                self._sent[index] += len(text)

    def end(self) -> None:
        """Finish the attempt: the reply is complete, and the end of the turn publishes all of its text."""
        for pieces in (*self._pieces, self._received):
            pieces.clear()

    def restart(self) -> None:
        """Forget an attempt that was cut off; the next delta starts at offset 0 again."""
        self.flush()
        self._received.clear()
        self.length = 0
        self._sent = [0, 0]


class PaidCall(NamedTuple):
    """A committed reply; ``is_shared`` is True if another debate made the call."""

    reply: Reply
    is_shared: bool


def ignore(*_: object) -> None:
    """Do nothing."""


def embed_texts(models: ModelLibrary, role_model: RoleModel, texts: Sequence[str], run_id: str = "") -> list[Reply]:
    """Embed texts with a model of a server. Return each vector as the store keeps it, with its share of the cost.

    Blocks. Raises ModelError.
    """
    began = time.monotonic()
    vectors, tokens, stated_usd = models.embed(role_model, texts)
    seconds, characters = (time.monotonic() - began) / len(texts), sum(map(len, texts))
    usd_per_token = None if stated_usd is None else stated_usd / max(tokens, 1)
    replies = []
    for text, vector in zip(texts, vectors, strict=True):
        usage = Usage(prompt_tokens=round(tokens * len(text) / characters) if characters else tokens)
        tokens, characters = tokens - usage.prompt_tokens, characters - len(text)
        cost = models.cost(role_model, usage, None if usd_per_token is None else usage.prompt_tokens * usd_per_token)
        reply = Reply(encode_vector(vector), finish_reason="vector", usage=usage, cost_usd=cost)
        replies.append(paid_reply(reply, vector_key(role_model, text), seconds=seconds, run_id=run_id))
    return replies


async def embed_once(
    store: ReplyStore, role_model: RoleModel, texts: Sequence[str], pay: Callable[[Sequence[str]], Awaitable[object]]
) -> npt.NDArray[np.float32]:
    """Return the vectors of texts ``[text, dimension]``, each of length 1, by a model of a server.

    ``pay`` commits the vectors of the texts of one request. It is called only for texts whose vectors are not stored.
    """
    keys = {text: vector_key(role_model, text) for text in texts}
    for chunk in batches([text for text, key in keys.items() if not store.contains(key)]):
        await pay(chunk)
    replies = await store.fetch_all(keys.values())
    return np.stack([decode_vector(replies[keys[text]].text) for text in texts])


def embed_stored(
    models: ModelLibrary,
    store: ReplyStore,
    role_model: RoleModel,
    texts: Sequence[str],
    *,
    run_id: str = "",
    attempts: int = 1,
    on_paid: Callable[[Reply], object] = ignore,
) -> npt.NDArray[np.float32]:
    """Return the vectors of texts as ``embed_once`` does, and store the new ones. Raises ModelError.

    Blocks a thread, in a loop of its own: the engine's may wait for it. ``on_paid`` is called with each new vector.
    """

    async def pay(chunk: Sequence[str]) -> None:
        embed = partial(asyncio.to_thread, embed_texts, models, role_model, chunk, run_id)
        for vector in await with_retries(embed, attempts, seconds=SECONDS):
            await store.commit(vector)
            on_paid(vector)

    return asyncio.run(embed_once(store, role_model, texts, pay))


@dataclass(slots=True)
class ModelCaller:
    """Caller of models, of one run or of none."""

    settings: RunSettings
    models: ModelLibrary
    store: ReplyStore
    budget: Budget
    on_paid: Callable[[Reply], None]
    """Called with every new reply."""
    on_billed: Callable[[Usage, float | None], None]
    """Called with the tokens and dollars of vectors and of attempts without a reply."""
    run_id: str = ""
    """Empty for calls that belong to no run."""
    publish: Publish = ignore
    record_attempt: Callable[[FailedAttempt], None] = ignore
    """Called with each attempt without a reply."""
    on_limit: Callable[[str, int | None], None] = ignore
    """Called with a connection and the number of concurrent calls to its server when that changes, with None when it is
    back at its highest."""
    _limiters: dict[str, ServerLimiter] = field(default_factory=dict)
    _waiting: set[asyncio.Task[object]] = field(default_factory=set)
    _is_paused: bool = False
    _replied: set[tuple[str, str]] = field(default_factory=set)
    """(address, model) of each model that has replied."""
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.settings.concurrency)

    async def call(self, key: str, pending: PendingTurn) -> PaidCall:
        """Make a call, or wait for that of another debate, and return the committed reply.

        Raises ModelError and BudgetSpent. The error of a shared call is recorded for each of its documents.
        """
        is_own = False

        def make() -> Awaitable[Reply]:
            nonlocal is_own
            is_own = True
            return self._call(key, pending)

        try:
            return PaidCall(*await self._share(key, make))
        except ModelError as error:
            if not is_own:
                document_id, role = pending.document.id, pending.request.role
                self.record_attempt(FailedAttempt(self.run_id, document_id, role, key, error.kind, error.message))
            raise

    async def embed(self, role_model: RoleModel, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of texts ``[text, dimension]``, each of length 1, by a model of a server.

        Each text is paid for once, as a reply is. Raises ModelError and BudgetSpent.
        """

        async def pay(chunk: Sequence[str]) -> None:
            key = digest([vector_key(role_model, text) for text in chunk])
            await self._share(key, partial(self._retry, partial(self._embed, role_model, chunk)))

        return await embed_once(self.store, role_model, texts, pay)

    async def _share(self, key: str, make: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """Return the result of ``make``, and True if another task made the same call at the same time.

        If that call is cancelled, another task makes it again. So does another run if it fails: its budget, its time
        limits and its key for the server may differ.
        """
        calls = self.store.calls
        while (call := calls.get(key)) is not None:
            caller, shared = call
            await self._wait(asyncio.wait, (shared,))
            if not shared.cancelled() and (caller is self or shared.exception() is None):
                return shared.result(), True
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        calls[key] = self, future
        try:
            result = await make()
            future.set_result(result)
        except Exception as error:
            future.set_exception(error)
            future.exception()  # retrieved, in case no other debate waits
            raise
        finally:
            future.cancel()  # unless it is done
            del calls[key]
        return result, False

    async def _call(self, key: str, pending: PendingTurn) -> Reply:
        buffer = StreamBuffer(self.run_id, pending, self.publish)

        def on_wait(kind: str, seconds: float) -> None:
            self.publish(TurnWaiting(self.run_id, pending.document.id, pending.turn, kind, seconds))

        shared = 0

        async def attempt() -> Reply:
            nonlocal shared
            try:
                return await self._attempt(key, pending, buffer, alone=shared >= MAX_SHARED)
            except RateLimited as error:
                shared += error.remedy == SHARED_CONTEXT
                raise

        try:
            return await self._retry(attempt, on_wait)
        except ModelError as error:
            on_wait(error.kind, 0.0)
            raise

    async def _retry(self, attempt: Callable[[], Awaitable[T]], on_wait: Callable[[str, float], None] = ignore) -> T:
        return await with_retries(attempt, on_wait=on_wait, sleep=lambda seconds: self._wait(asyncio.sleep, seconds))

    def pause(self) -> None:
        """Cancel the calls that wait for a rate limit, a retry or another task, and all others before they are sent."""
        self._is_paused = True
        for task in self._waiting:
            task.cancel()

    async def _wait(self, wait: Callable[[T], Awaitable[object]], argument: T) -> None:
        if self._is_paused:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            await wait(argument)
        finally:
            self._waiting.discard(task)

    async def _attempt(self, key: str, pending: PendingTurn, buffer: StreamBuffer, *, alone: bool) -> Reply:
        request, role_model = pending.request, pending.role_model
        # Providers count the prompt and the output limit of a request before it is answered.
        output_limit = 0 if role_model.is_builtin else request.output_limit(role_model)
        max_cost = self.models.max_cost(role_model, request)
        try:
            async with self._admitted(role_model, request.characters, output_limit, max_cost, alone=alone) as settle:
                began = time.monotonic()
                self.publish(TurnStarted(pending.started(self.run_id)))
                reply = await self._ask(key, pending, buffer, settle, max_cost, alone=alone)
                seconds = time.monotonic() - began
                sent = self.models.sent_limit(role_model, output_limit)  # a refusal may just have lowered it
                reply = paid_reply(reply, key, seconds=seconds, run_id=self.run_id, output_limit=sent)
                await self.store.commit(reply)
                buffer.end()
                self.on_paid(reply)
        except ModelError:
            buffer.restart()
            raise
        return reply

    async def _embed(self, role_model: RoleModel, texts: Sequence[str]) -> None:
        """Commit the vectors of texts."""
        characters = sum(map(len, texts))
        max_cost = self.models.highest_cost(role_model, Usage(prompt_tokens=characters))
        async with self._admitted(role_model, characters, 0, max_cost) as settle:
            for reply in await asyncio.to_thread(embed_texts, self.models, role_model, texts, self.run_id):
                await self.store.commit(reply)
                self._bill(settle, reply)

    def _bill(self, settle: Settle, vector: Reply) -> None:
        settle(vector.cost_usd)
        self.on_billed(vector.usage, vector.cost_usd)

    @asynccontextmanager
    async def _admitted(
        self,
        role_model: RoleModel,
        characters: int,
        output_limit: int,
        max_cost: float | None,
        *,
        alone: bool = False,
    ) -> AsyncIterator[Settle]:
        """Wait until the limits of the server, the concurrency and the budget of the run allow a call."""
        limiter = self._limiter(role_model)
        async with AsyncExitStack() as stack:
            tokens = characters // CHARACTERS_PER_TOKEN + output_limit
            await self._wait(stack.enter_async_context, limiter.call(tokens, alone=alone))
            try:
                async with self._slots, self.budget.reserve(max_cost) as settle:
                    if self._is_paused:  # since this call began to wait for its slot or for the budget
                        raise asyncio.CancelledError
                    yield settle
            except RateLimited as error:
                limiter.limited(error.retry_after)
                raise
        limiter.succeeded()

    async def _ask(
        self,
        key: str,
        pending: PendingTurn,
        buffer: StreamBuffer,
        settle: Settle,
        max_cost: float | None,
        *,
        alone: bool,
    ) -> Reply:
        """Return the model's reply; record an attempt without a reply and its billed tokens."""
        began = time.monotonic()
        request, role_model, models = pending.request, pending.role_model, self.models
        on_delta = self._within_budget(pending, buffer, max_cost)

        def failed(kind: str, message: str, text: str, usage: Usage, stated_usd: float | None = None) -> None:
            is_billed = usage.prompt_tokens or usage.completion_tokens
            cost = models.cost(role_model, usage, stated_usd) if is_billed else 0.0
            if cost is None:  # the server states the cost of whole replies only
                cost = models.highest_cost(role_model, usage)
            settle(cost)
            self.on_billed(usage, cost)
            seconds, document_id = time.monotonic() - began, pending.document.id
            self.record_attempt(
                FailedAttempt(self.run_id, document_id, request.role, key, kind, message, usage, cost, text, seconds)
            )

        loop = asyncio.get_running_loop()
        called = loop.time()

        def on_vector(vector: Reply) -> None:
            loop.call_soon_threadsafe(self._bill, settle, vector)

        try:
            document = request.document or pending.document
            embed = partial(embed_stored, models, self.store, run_id=self.run_id, on_paid=on_vector)
            reply = await models.ask(role_model, request, self.settings, document, on_delta, embed)
        except BudgetSpent:
            usage = estimate_usage(request.characters, buffer.length)
            failed(OVER_BUDGET, "stopped because the reply exceeded the budget", buffer.received, usage)
            raise
        except ModelError as error:
            if (
                isinstance(error, EmptyReply)
                and self.run_id
                and buffer.length
                and (role_model.base_url, role_model.model) not in self._replied
            ):
                error.retryable = False  # most likely the server takes every reply for reasoning, and bills it
            had_others = not alone and self._limiter(role_model).had_several(since=called)
            is_shared = is_context_full(error) and had_others
            usage = Usage(*error.billed, estimated=True)
            kind = RateLimited.kind if is_shared else error.kind
            failed(kind, error.message, error.partial, usage, error.billed_usd)
            if is_shared:
                raise RateLimited(error.message, SHARED_CONTEXT) from error
            raise
        except asyncio.CancelledError:
            buffer.flush()
            if text := buffer.received:  # most likely the provider bills what the server had written by then
                usage = estimate_usage(request.characters, len(text))
                failed(CANCELLED, "stopped while the reply was streamed", text, usage)
            raise
        settle(reply.cost_usd)
        self._replied.add((role_model.base_url, role_model.model))
        return reply

    def _within_budget(self, pending: PendingTurn, buffer: StreamBuffer, max_cost: float | None) -> OnDelta:
        """Return the buffer with a check: BudgetSpent once a reply with ``max_cost`` reserved exceeds the budget."""
        checked = 0

        def on_delta(text: str, is_reasoning: bool) -> None:
            nonlocal checked
            buffer(text, is_reasoning)
            if buffer.length - checked >= BUDGET_CHARACTERS:
                checked = buffer.length
                usage = estimate_usage(pending.request.characters, buffer.length)
                cost = self.models.highest_cost(pending.role_model, usage)
                if cost is not None and max_cost is not None and self.budget.exceeded(cost - max_cost):
                    raise BudgetSpent

        return on_delta

    def _limiter(self, role_model: RoleModel) -> ServerLimiter:
        """Return the limiter of the role model's server."""
        role_model = self.models.billed_model(role_model)
        limiter = self._limiters.get(role_model.base_url)
        if limiter is None:
            handling = self.settings.handling
            own = Limits(requests_per_minute=handling.requests_per_minute, tokens_per_minute=handling.tokens_per_minute)
            limiter = self._limiters[role_model.base_url] = ServerLimiter(
                self.settings.concurrency,
                Quota(own),
                self.models.quota(role_model),
                on_change=lambda now: self.on_limit(role_model.connection, now),
            )
        return limiter
