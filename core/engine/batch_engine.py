"""The batch engine: all debates one stage at a time, each stage a few files of requests.

No debate stays in memory while its replies are outstanding, which may take hours. Each stage replays the debates from
the stored replies and submits the requests without a reply.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from core.debate.turns import ReplyError, Request, Usage
from core.documents import Document
from core.engine.base_engine import EQUAL_FAILURES, LOADED_AT_ONCE, ReplayingEngine
from core.engine.call_limits import BudgetSpent
from core.engine.event_loop import gather_all
from core.engine.interfaces import BatchJob, BatchJobs, Dependencies, FailedAttempt, Work
from core.engine.model_calls import PaidCall
from core.engine.pending_turns import PendingTurn, paid_reply
from core.engine.retries import with_retries
from core.errors import ModelError, NoSuchModel, PaidTwice, TimedOut, Unauthorised, UsageError
from core.formatting import format_count, join_names, plural
from core.llm.batch_servers import (
    ASK_AGAIN,
    MAX_BYTES,
    MAX_REQUESTS,
    BatchLibrary,
    BatchServer,
    BatchState,
    has_reply,
    read_row,
    request_line,
)
from core.runs import RoleModel, Sampling, StopReason

MAX_ATTEMPTS = 3
"""Files in which one request may fail, in addition to those in which a parameter was refused that is then left out."""
MIN_POLL, MAX_POLL = 0.5, 30.0
"""Bounds of the growing poll interval in seconds."""
MAX_FAILED_POLLS = 10
"""Failed polls in a row after which the run pauses."""
CANCELLING_SECONDS = 10.0
"""Seconds for which stopping a run waits for its servers to cancel its batches."""
COMMITTED_AT_ONCE = 500

_QUOTA_EXCEEDED = re.compile(r"enqueued token limit|token_limit_exceeded|too many (?:enqueued|batches)", re.IGNORECASE)


@dataclass(slots=True)
class _Waiting:
    """A request without a reply, and the documents whose debates wait for it.

    ``request`` is kept without its texts, because there may be thousands; ``characters`` is their length, ``params``
    are the parameters by name, ``unsent`` the names of those that were left out.
    """

    request: Request
    characters: int
    params: Mapping[str, Any]
    unsent: tuple[str, ...]
    reserved: float
    documents: dict[str, None] = field(default_factory=dict)


_NOT_AWAITED = _Waiting(Request("", (), form="labels"), 0, {}, (), 0.0)
"""Stands for a request that no debate of this session waits for."""


class BatchEngine(ReplayingEngine):
    """A run whose requests are submitted in files.

    Pausing leaves submitted files at the server, to be collected when the run resumes; stopping asks the server to
    cancel them. Role models without a Batch API (the built-in model, Ollama) are called as in a live run.
    """

    def __init__(self, work: Work, dependencies: Dependencies, batches: BatchLibrary, jobs: BatchJobs) -> None:
        super().__init__(work, dependencies)
        self._batches = batches
        self._jobs = jobs
        self._jobs_out: dict[str, BatchJob] = {}
        self._resumed_jobs: set[str] = set()
        self._submitted: dict[str, BatchJob] = {}  # by key
        self._waiting: dict[str, _Waiting] = {}
        self._in_flight: set[str] = set()  # documents whose debates wait for a reply
        self._attempts: Counter[str] = Counter()
        self._failure = ""
        """The last failure of a request, as the end of a note."""
        self._deferred: dict[str, None] = {}
        self._max_requests = MAX_REQUESTS
        self._failed_polls = 0

    async def _execute(self) -> None:
        stages = asyncio.create_task(self._run_stages())
        self._tasks = [stages]
        try:
            try:
                await stages
            except asyncio.CancelledError:
                if self.pending_state is None:
                    raise
            if self.pending_state == "stopped":
                jobs, folder = self._jobs_out.values(), self.settings.engine.batch_dir
                if problem := await cancel_jobs(self.run_id, jobs, self._batches, folder):
                    self._pending = ("stopped", StopReason("errors", problem))
        finally:
            await self._batches.close()

    # -- stages

    async def _run_stages(self) -> None:
        with tempfile.TemporaryDirectory(prefix="moot-batch-") as spare:
            folder = Path(self.settings.engine.batch_dir or spare).expanduser()
            folder.mkdir(parents=True, exist_ok=True)
            try:
                await self._resume_open_jobs()
            except ModelError as error:
                self.pause(StopReason("errors", str(error)))
            ids: Sequence[str] = list(self._todo)
            self._todo.clear()
            if self._jobs_out and self.pending_state is None:  # what they may cost is reserved before more is submitted
                await self._submit_stage(ids, folder, only_open=True)
                ids = list(self._deferred)
            while (ids or self._waiting) and self.pending_state is None:
                await self._submit_stage(ids, folder)
                if self.pending_state is None and self._deferred and not self._waiting:
                    self.pause_for_budget()
                ids = await self._next_replies() if self.pending_state is None and self._waiting else ()
            if self.pending_state is None:
                await self._end_unneeded_jobs()

    async def _resume_open_jobs(self) -> None:
        connections = {role_model.base_url: role_model.connection for role_model in self.settings.role_models.values()}
        for job in await self._jobs.open_jobs(self.settings.engine.batch_dir):
            address = job.role_model.base_url
            if address not in connections:  # which is part of the keys of its requests
                continue
            try:
                await self._resume_job(job)
            except UsageError:  # the connection of another run was renamed
                renamed = job.role_model.model_copy(update={"connection": connections[address]})
                await self._resume_job(replace(job, role_model=renamed))

    async def _submit_stage(self, ids: Sequence[str], folder: Path, *, only_open: bool = False) -> None:
        """Replay debates and submit their next requests; ``only_open`` defers those that are not in an open batch."""
        files = BatchFiles(folder, self.run_id, self._max_requests, self._send)
        self._deferred = {}
        try:
            for start in range(0, len(ids), LOADED_AT_ONCE):
                documents = await self._load(ids[start : start + LOADED_AT_ONCE])
                for missing in await gather_all(self._replay_or_defer(document) for document in documents):
                    for key, pending in missing:
                        await self._enqueue(files, key, pending, only_open=only_open)
                self.totals.in_flight = len(self._in_flight)
                if self.pending_state is not None:
                    return
            await files.flush()
        except BudgetSpent:
            self.pause_for_budget()
        finally:
            files.drop()

    async def _replay_or_defer(self, document: Document) -> list[tuple[str, PendingTurn]]:
        """Replay a debate; defer it if the budget has too little left for a call while batches reserve a part of it."""
        try:
            return await self._debate(document, self._answer)
        except BudgetSpent:
            if not self.budget.held:
                raise
            self._deferred[document.id] = None
            return []

    async def _call_now(self, key: str, pending: PendingTurn) -> PaidCall | None:
        """Call a role model without a Batch API; return None for one that has it."""
        if self._batches.batchable(pending.role_model):
            return None
        return await self.caller.call(key, pending)

    # -- submitting

    async def _enqueue(self, files: BatchFiles, key: str, pending: PendingTurn, *, only_open: bool) -> None:
        """Add a request to a file, unless it is submitted already. Defer it if its highest cost exceeds the budget."""
        request = pending.request
        waiting = self._waiting.get(key)
        if waiting is None:
            max_cost = self.dependencies.models.max_cost(pending.role_model, request)
            if max_cost is not None:
                max_cost *= self.settings.engine.price_share
            job = self._submitted.get(key)
            if job is None and (only_open or not self.budget.fits(max_cost)):
                self._deferred[pending.document.id] = None
                return
            # An open batch is collected although its price is unknown by now. Another run pays for its own.
            reserved = 0.0 if max_cost is None or (job is not None and job.run_id != self.run_id) else max_cost
            body, params, unsent = self._batches.body(pending.role_model, request, self.settings)
            stored_request = replace(request, messages=(), inputs={}, document=None)
            waiting = _Waiting(stored_request, request.characters, params, unsent, reserved)
            self._waiting[key] = waiting
            self.budget.held += reserved
            if job is None:
                await files.add(key, pending.role_model, request_line(key, body))
        waiting.documents[pending.document.id] = None
        self._in_flight.add(pending.document.id)

    async def _send(self, job: BatchJob, part: Path) -> None:
        """Submit a complete file. The job is recorded first, and therefore never submitted twice."""
        if self._max_requests < MAX_REQUESTS and self._awaited_jobs():  # a quota was exceeded
            self._deferred |= self._release(job.keys)
            part.unlink()
            return
        await self._jobs.begin(job)
        path = part.rename(part.with_suffix(".jsonl"))
        server = await self._server(job.role_model)
        try:
            remote = await self._submit(server, path, job.name)
        except ModelError as error:
            self._deferred |= self._release(job.keys)
            self.pause(StopReason("errors", str(error)))
            return
        await self._jobs.submitted(job.name, remote)
        self._track(replace(job, remote_id=remote))

    async def _submit(self, server: BatchServer, path: Path, name: str) -> str:
        """Submit a file. After an error that may hide its arrival, search for it here or in the next session."""
        may_have_arrived = False

        async def attempt() -> str:
            nonlocal may_have_arrived
            if may_have_arrived and (remote := await _find(server, name)) is not None:
                return remote
            try:
                return await server.submit(path, name)
            except ModelError as error:
                may_have_arrived = error.retryable
                with suppress(ModelError):
                    if (remote := await _find(server, name)) is not None:
                        return remote
                    may_have_arrived = False
                raise

        try:
            return await with_retries(attempt, MAX_ATTEMPTS)
        except ModelError as error:
            if not may_have_arrived:
                await self._jobs.close_job(name, f"refused: {error.message}")
            raise

    async def _server(self, role_model: RoleModel) -> BatchServer:
        return await self._batches.server(role_model, self.settings.engine.batch_dir)

    # -- collecting

    async def _resume_job(self, job: BatchJob) -> None:
        """Track a job that an earlier process submitted, or was about to submit. Raises UsageError, ModelError."""
        server = await self._server(job.role_model)
        if not job.remote_id:
            remote = await _find(server, job.name)
            if remote is None:
                if job.run_id == self.run_id:  # another run may be submitting its job just now
                    await self._jobs.close_job(job.name, "never submitted")
                return
            await self._jobs.submitted(job.name, remote)
            job = replace(job, remote_id=remote)
        self._resumed_jobs.add(job.name)
        self._track(job)

    def _track(self, job: BatchJob) -> None:
        self._jobs_out[job.name] = job
        self._submitted |= dict.fromkeys(job.keys, job)

    async def _next_replies(self) -> Sequence[str]:
        """Wait for replies and return the documents whose debates can continue; empty if the run is to end."""
        began = time.monotonic()
        wait = MIN_POLL
        while self.pending_state is None:
            states, ready = await self._poll_all(self._awaited_jobs())
            if ready:
                return list(ready | self._deferred)
            self.note = self._waiting_for(states)
            if time.monotonic() - began >= self.settings.engine.stage_timeout:
                self.pause(StopReason("batch", self.note))
            else:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, MAX_POLL)
        return ()

    async def _poll_all(self, jobs: Iterable[BatchJob]) -> tuple[dict[str, BatchState], dict[str, None]]:
        """Poll jobs and collect those that have ended.

        Return the states by name of the job, and the documents that waited for the collected replies.
        """
        states: dict[str, BatchState] = {}
        ready: dict[str, None] = {}
        for job in jobs:
            try:
                state = await self._poll(job)
                if state is not None:
                    states[job.name] = state
                    if state.ended:
                        ready |= await self._collect(job, state)
                    self._failed_polls = 0
            except ModelError as error:  # rows committed before it are found when the job is collected again
                self._failed_polls += 1
                if isinstance(error, Unauthorised) or self._failed_polls >= MAX_FAILED_POLLS:
                    self.pause(StopReason("errors", str(error)))
        return states, ready

    async def _end_unneeded_jobs(self) -> None:
        """Cancel the batches of this run that no debate waits for any more, and collect what the server bills."""
        jobs = {job.name: job for job in self._jobs_out.values() if job.run_id == self.run_id}
        if self.settings.engine.batch_dir:  # no server bills them
            for name in jobs:
                await self._jobs.close_job(name, "no longer needed")
            return
        self._resumed_jobs |= jobs.keys()  # so that a cancelled one is not reported as a problem
        self.note = await cancel_jobs(self.run_id, jobs.values(), self._batches, "")
        wait, began = MIN_POLL, time.monotonic()
        while self.pending_state is None and (open_jobs := [*(jobs.keys() & self._jobs_out.keys())]):
            await self._poll_all(map(jobs.__getitem__, open_jobs))
            if time.monotonic() - began >= self.settings.engine.stage_timeout:
                return
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, MAX_POLL)

    def _awaited_jobs(self) -> list[BatchJob]:
        """Return the submitted jobs with a request that a debate waits for."""
        return [job for job in self._jobs_out.values() if any(key in self._waiting for key in job.keys)]

    def _waiting_for(self, states: Mapping[str, BatchState]) -> str:
        jobs = self._awaited_jobs()
        if not self.settings.engine.batch_dir or not jobs:
            answered = sum(states[job.name].answered for job in jobs if job.name in states)
            return f"{answered} of {sum(len(job.keys) for job in jobs)} requests of a batch are answered"
        job = jobs[0]
        path = Path(self.settings.engine.batch_dir).expanduser() / job.remote_id
        request_count, answer_note = len(job.keys), ""
        if (state := states.get(job.name)) is not None and state.outputs:
            answered = state.answered
            none = f"; {join_names(state.outputs)} {plural(len(state.outputs), 'has', 'have')} no reply to them"
            answer_note = f", {answered} {plural(answered, 'is', 'are')} answered" if answered else none
        output, model = str(path.with_suffix(".output.jsonl")), job.role_model.model
        command = shlex.join(["vllm", "run-batch", "-i", str(path), "-o", output, "--model", model])
        return (
            f"{format_count(request_count, 'request')} of a batch {plural(request_count, 'is', 'are')} in {path}"
            f"{answer_note}; put the replies beside it, as in: {command}{self._failure}"
        )

    async def _poll(self, job: BatchJob) -> BatchState | None:
        """Return the state of a job; None for one that its server does not know, which pauses the run."""
        try:
            return await (await self._server(job.role_model)).status(job.remote_id, job.keys)
        except NoSuchModel:
            await self._jobs.submitted(job.name, "")  # the next session searches for it by its name
            problem = f"{job.role_model.connection} does not know the batch {job.remote_id}."
            remedy = "Is the key that of another project? If the batch is gone, resuming pays for another one."
            self.pause(StopReason("errors", f"{problem} {remedy}"))
            return None

    async def _collect(self, job: BatchJob, state: BatchState) -> dict[str, None]:
        """Commit all replies of a finished job and return the documents that waited for them."""
        missing, failures, is_gone = await self._commit_outputs(job, state.outputs)
        server_name = job.role_model.connection
        if state.problem:
            self._batch_refused(job, state.problem)
        elif is_gone:
            problem = f"{server_name} no longer has the replies of the batch {job.remote_id}."
            self.pause(StopReason("errors", f"{problem} Resuming pays for them again."))
        elif state.cancelled and job.name not in self._resumed_jobs:
            self.pause(StopReason("errors", f"the batch {job.remote_id} was cancelled at {server_name}"))
        else:
            self._record_missing(job, missing, failures)
        await self._jobs.close_job(job.name, state.problem or "collected")
        del self._jobs_out[job.name]
        return self._release(job.keys)

    async def _commit_outputs(
        self, job: BatchJob, outputs: Iterable[str]
    ) -> tuple[Sequence[str], Sequence[ModelError], bool]:
        """Commit the replies in the outputs of a job, and record the errors.

        Of several rows for a request, the first reply counts. Return the keys without a row, the errors of failed
        requests, and True if an output is gone.
        """
        missing = dict.fromkeys(job.keys)
        failed: dict[str, Mapping[str, Any]] = {}
        rows: list[tuple[str, Mapping[str, Any]]] = []
        failures: list[tuple[str, ModelError]] = []
        server = await self._server(job.role_model)
        is_gone = False
        for output in outputs:
            try:
                async for raw in server.rows(output):
                    row = read_row(raw)
                    if row is None or row[0] not in missing:
                        continue
                    if not has_reply(row[1]):
                        failed[row[0]] = row[1]
                        continue
                    del missing[row[0]]
                    rows.append(row)
                    if len(rows) >= COMMITTED_AT_ONCE:
                        failures += await self._commit_rows(job, rows)
                        rows = []
            except NoSuchModel:  # servers delete files after some weeks
                is_gone = True
        failures += await self._commit_rows(job, (*rows, *((key, failed[key]) for key in missing if key in failed)))
        for key, error in failures:  # once all outputs are read, because a download that breaks off is repeated
            self._record_failure(job, key, error)
        return [key for key in missing if key not in failed], [error for _, error in failures], is_gone

    def _record_missing(self, job: BatchJob, missing: Iterable[str], errors: Iterable[ModelError]) -> None:
        """Record the requests without a row; pause the run if all requests were billed and failed."""
        lost = TimedOut(
            f"{job.role_model.model} at {job.role_model.connection} sent no row for it in {job.name}.", ASK_AGAIN
        )
        for key in missing:
            self._record_failure(job, key, lost)
        billed = [error for error in errors if error.retryable and any(error.billed)]
        if len(billed) == len(job.keys) >= EQUAL_FAILURES:
            problem = f"all {len(billed)} requests of the batch {job.remote_id} were billed and failed"
            self.pause(StopReason("errors", f"{problem}: {billed[0]} Resuming pays for them again."))

    async def _commit_rows(
        self, job: BatchJob, rows: Iterable[tuple[str, Mapping[str, Any]]]
    ) -> list[tuple[str, ModelError]]:
        """Commit the replies in rows and return the errors of the other rows by key."""
        commits, failures = [], []
        for key, row in rows:
            asked = self._waiting.get(key, _NOT_AWAITED)
            try:
                reply = self._batches.reply(
                    job.role_model, row, self.settings, asked.request, asked.characters, asked.unsent
                )
            except ModelError as error:
                failures.append((key, error))
                continue
            stored = await self.store.fetch(key)
            if stored is not None and stored.run_id != job.run_id:
                twice = PaidTwice("Another run paid for the same reply while the batch was open.")
                twice.billed = reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens
                failures.append((key, twice))
            elif stored is None:
                limit = 0  # of a request of another run, which may have another one, and of one that is not awaited
                if job.run_id == self.run_id:
                    if (role_model := self.settings.role_models.get(asked.request.role)) is not None:
                        limit = self.dependencies.models.sent_limit(role_model, asked.request.output_limit(role_model))
                    self.totals.paid(reply)
                    self.budget.pay(reply.cost_usd)
                    self._fresh.add(key)
                commits.append(self.store.commit(paid_reply(reply, key, run_id=job.run_id, output_limit=limit)))
        await gather_all(commits)
        return failures

    def _record_failure(self, job: BatchJob, key: str, error: ModelError) -> None:
        """Record a failed request: it is submitted again, without refused parameters, or its debate gets the error."""
        waiting = self._waiting.get(key, _NOT_AWAITED)
        is_awaited = waiting is not _NOT_AWAITED
        differs = is_awaited and self._batches.learn(job.role_model, error, waiting.params)
        if not differs:
            self._attempts[key] += 1
        usage = Usage(*error.billed, estimated=True)
        cost = self._batches.cost(job.role_model, usage, self.settings)
        if job.run_id == self.run_id:
            self.totals.billed(usage, cost)
            self.budget.pay(cost)
        self._failure = f". An earlier reply failed: {error.message.rstrip('.')}"
        if not differs and (not error.retryable or self._attempts[key] >= MAX_ATTEMPTS):
            self._errors[key] = ReplyError(error.kind, str(error))
        if is_awaited or any(error.billed):  # a later run of the owner asks again and pays again
            first, *others = waiting.documents or ("",)
            role = waiting.request.role
            attempt = FailedAttempt(job.run_id, first, role, key, error.kind, error.message, usage, cost)
            self.sink.attempt(attempt)
            for document_id in others:
                self.sink.attempt(replace(attempt, document_id=document_id, usage=Usage(), cost_usd=0.0))

    def _batch_refused(self, job: BatchJob, problem: str) -> None:
        """Submit smaller batches one after another if the account's quota is exceeded, else pause the run."""
        if _QUOTA_EXCEEDED.search(problem) and len(job.keys) > 1:
            self._max_requests = max(1, len(job.keys) // 2)
        else:
            self.pause(StopReason("errors", f"{job.role_model.connection} refused the batch: {problem}"))

    def _release(self, keys: Iterable[str]) -> dict[str, None]:
        """Forget requests that are no longer submitted, and return the documents that waited for them."""
        documents: dict[str, None] = {}
        for key in keys:
            self._submitted.pop(key, None)
            if (waiting := self._waiting.pop(key, None)) is not None:
                documents |= waiting.documents
                self.budget.held = self.budget.held - waiting.reserved if self._waiting else 0.0
        self._in_flight -= documents.keys()  # one that waits for another reply, too, is replayed and added again
        return documents


async def cancel_jobs(run_id: str, jobs: Iterable[BatchJob], batches: BatchLibrary, folder: str) -> str:
    """Cancel the jobs of a run. Return a sentence on those not cancelled within ``CANCELLING_SECONDS``, or ""."""

    async def cancel(job: BatchJob) -> str:
        """Return the connection if the job is not cancelled, else an empty string."""
        try:
            async with asyncio.timeout(CANCELLING_SECONDS):
                server = await batches.server(job.role_model, folder)
                if remote := job.remote_id or await _find(server, job.name):
                    await server.cancel(remote)
        except (ModelError, UsageError, TimeoutError):  # the connection may have been removed
            return job.role_model.connection
        return ""

    cancelled = await gather_all(cancel(job) for job in jobs if job.run_id == run_id)
    if not (left := [connection for connection in cancelled if connection]):
        return ""
    return (
        f"{format_count(len(left), 'batch', 'batches')} at {join_names(sorted(set(left)))} could not be cancelled. "
        f"The server may still answer and bill {plural(len(left), 'it', 'them')}."
    )


async def _find(server: BatchServer, name: str) -> str | None:
    """Return the server's id of a batch, None if it has none or no list of batches. Raises ModelError."""
    with suppress(NoSuchModel):
        return await server.find(name)
    return None


Send = Callable[[BatchJob, Path], Awaitable[None]]


@dataclass(slots=True)
class _OpenFile:
    path: Path
    file: IO[bytes]
    keys: list[str] = field(default_factory=list)
    size: int = 0


class BatchFiles:
    """Writer of request files. A full file is sent at once, the rest on ``flush``.

    A file has a temporary name until it is complete, so that no server answers a part of it.
    """

    def __init__(self, folder: Path, run_id: str, max_requests: int, send: Send) -> None:
        self._folder = folder
        self._run_id = run_id
        self._max_requests = max_requests
        self._send = send
        self._open: dict[RoleModel, _OpenFile] = {}

    async def add(self, key: str, role_model: RoleModel, line: bytes) -> None:
        """Add a request."""
        model = role_model.model_copy(update={"sampling": Sampling()})
        file = self._open.get(model)
        if file is not None and (len(file.keys) >= self._max_requests or file.size + len(line) > MAX_BYTES):
            await self._close(model)
            file = None
        if file is None:
            name = f"{self._run_id}-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
            path = self._folder / f"{name}.part"
            file = self._open[model] = _OpenFile(path, path.open("wb"))
        file.file.write(line)
        file.keys.append(key)
        file.size += len(line)

    async def flush(self) -> None:
        """Send all open files."""
        for model in list(self._open):
            await self._close(model)

    def drop(self) -> None:
        """Delete all open files, which were not submitted."""
        for file in self._open.values():
            file.file.close()
            file.path.unlink(missing_ok=True)
        self._open.clear()

    async def _close(self, model: RoleModel) -> None:
        file = self._open.pop(model)
        file.file.close()
        await self._send(BatchJob(file.path.stem, self._run_id, model, tuple(file.keys)), file.path)
