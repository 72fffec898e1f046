"""The engine for long runs of the built-in model: debates in worker processes, one for each processor.

Workers receive blocks of documents and return their debates, which this process stores in the order of the documents.
Stored values equal those of the live engine, except for times.

A worker (``python -m core.engine.worker_pool_engine``) exchanges pickles with its parent over standard input and
output, and ends when the parent does. ``multiprocessing`` would import the caller's main module in each worker, which a
script without a guard does not survive.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, TypeAlias

from core.debate.turns import Reply, Verdict
from core.documents import Document, Precedents
from core.engine.base_engine import Engine
from core.engine.event_loop import start_python, tune_garbage_collection
from core.engine.interfaces import Work
from core.engine.pending_turns import Debate, PendingTurn, paid_reply, read_reply
from core.llm.model_library import ModelLibrary
from core.llm.streaming import ignore_delta
from core.runs import LEXICAL_MODEL, RunSettings, StopReason

MIN_DOCUMENTS = 1_000
"""Remaining documents from which a run gains more than the start of the workers costs, with two processors."""
MAX_WORKERS = 4
"""More workers compute debates faster than one process can store them."""
BLOCK = 32
"""Documents that a worker debates before it answers, about a tenth of a second."""
BLOCKS_AHEAD = 3
"""Blocks sent to each worker before its first answer: the worker never waits."""
UNCOMMITTED = 1_024
"""Verdicts that may wait for their commit."""

_SIZE = 8
"""Bytes of the length before each answer."""
_Block: TypeAlias = list[tuple[Document, Precedents]]
_Debated: TypeAlias = tuple[list[tuple[PendingTurn, Reply]], Verdict]


def is_faster(work: Work) -> bool:
    """Return True if worker processes shorten a run: long, unpaced and unlimited, with the word-list model only."""
    settings = work.run.settings
    return (
        len(work.todo) >= MIN_DOCUMENTS
        and not work.retry_rounds
        and (os.cpu_count() or 1) > 1
        and not settings.pace
        and settings.handling.requests_per_minute is None
        and settings.handling.tokens_per_minute is None
        and settings.is_builtin
        and all(role_model.model == LEXICAL_MODEL for role_model in settings.role_models.values())
    )


class WorkerPoolEngine(Engine):
    """A run of the built-in model in worker processes.

    Pausing and stopping discard the debates that the workers have not returned. They cost nothing.
    """

    async def _execute(self) -> None:
        workers = [await self._start() for _ in range(min(os.cpu_count() or 1, MAX_WORKERS))]
        try:
            await self._debate_blocks(workers)
        except asyncio.IncompleteReadError:
            self.pause(StopReason("errors", "a worker process ended unexpectedly, perhaps for lack of memory"))
        finally:
            for worker in workers:
                if worker.returncode is None:
                    worker.kill()
                await worker.communicate()  # ``wait`` alone never returns while output is unread

    async def _start(self) -> asyncio.subprocess.Process:
        worker = await start_python(
            "-m", "core.engine.worker_pool_engine", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        _send(worker, (self.run_id, self.settings))
        return worker

    async def _debate_blocks(self, workers: Sequence[asyncio.subprocess.Process]) -> None:
        """Send blocks to the workers in turn, and record what they return in the same order."""
        sent: deque[tuple[asyncio.subprocess.Process, _Block]] = deque()
        conclusions: deque[asyncio.Task[None]] = deque()
        next_worker = cycle(workers)
        try:
            while self.pending_state is None:
                while len(sent) < len(workers) * BLOCKS_AHEAD and (block := await self._block()):
                    worker = next(next_worker)
                    _send(worker, block)
                    sent.append((worker, block))
                    self.totals.in_flight += len(block)
                if not sent:
                    break
                worker, block = sent.popleft()
                debates: list[_Debated] = await _receive(worker)
                for (document, _), (turns, verdict) in zip(block, debates, strict=True):
                    for pending, reply in turns:
                        await self._record(pending, reply)
                    conclusions.append(asyncio.create_task(self._conclude(document, verdict)))
                self.totals.in_flight -= len(block)
                while len(conclusions) > UNCOMMITTED:
                    await conclusions.popleft()
            while conclusions:
                await conclusions.popleft()
        finally:
            await asyncio.gather(*conclusions, return_exceptions=True)

    async def _block(self) -> _Block:
        """Return the next documents with their examples, none if no more are left."""
        block: _Block = []
        while self.pending_state is None and len(block) < BLOCK and (document := await self._next()) is not None:
            if (examples := await self._find_examples(document)) is not None:
                block.append((document, examples))
        return block

    async def _record(self, pending: PendingTurn, reply: Reply) -> None:
        """Commit a reply, unless the store contains it, and record its turn."""
        stored = await self.store.fetch(reply.key)
        if stored is None:
            await self.store.commit(reply)
            self.totals.paid(reply)
        else:
            reply = replace(stored, reading=reply.reading, evidence=reply.evidence)
        self._record_turn(pending, reply, cached=stored is not None)


def _send(worker: asyncio.subprocess.Process, message: object) -> None:
    assert worker.stdin is not None
    worker.stdin.write(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


async def _receive(worker: asyncio.subprocess.Process) -> Any:
    assert worker.stdout is not None
    size = int.from_bytes(await worker.stdout.readexactly(_SIZE))
    return pickle.loads(await worker.stdout.readexactly(size))


# -- In a worker


async def debate_document(
    document: Document, examples: Precedents, run_id: str, settings: RunSettings, models: ModelLibrary
) -> _Debated:
    """Debate a document with the built-in model and return its turns and the verdict."""
    debate = Debate(document, settings, models, examples)
    turns = []
    while debate.verdict is None:
        replies = []
        for pending in debate.pending:
            began = time.monotonic()
            request = pending.request
            document_asked = request.document or pending.document
            reply = await models.ask(pending.role_model, request, settings, document_asked, ignore_delta)
            reply = paid_reply(reply, pending.key(0), seconds=time.monotonic() - began, run_id=run_id)
            replies.append(read_reply(reply, pending, settings))
            turns.append((replace(pending, request=replace(request, inputs={})), replies[-1]))
        debate.send(replies)
    return turns, debate.verdict


async def _answer_blocks() -> None:
    """Debate each block from standard input, and write the debates to standard output.

    Raises EOFError or UnpicklingError at the end of the input, and BrokenPipeError without a reader of the output: the
    parent has ended.
    """
    tune_garbage_collection()
    models = ModelLibrary()
    blocks, answers = sys.stdin.buffer, sys.stdout.buffer
    run_id, settings = pickle.load(blocks)
    while True:
        block = pickle.load(blocks)
        debates = [await debate_document(document, examples, run_id, settings, models) for document, examples in block]
        answer = pickle.dumps(debates, pickle.HIGHEST_PROTOCOL)
        answers.write(len(answer).to_bytes(_SIZE) + answer)
        answers.flush()


if __name__ == "__main__":
    try:
        asyncio.run(_answer_blocks())
    except (EOFError, pickle.UnpicklingError, BrokenPipeError):
        os._exit(0)  # at a usual exit, Python would report that it cannot write the rest of the output
