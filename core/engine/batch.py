"""The batch driver: all debates a stage at a time, each stage a few files of requests.

Nothing of a debate is kept in memory while its replies are out, for hours perhaps: each pass drives debates anew from
the stored replies to the asks that have none, and those go out. So a process that was closed for a day goes on as one
that never stopped.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from core.debate.turns import ReplyError, ReplyForm, Usage
from core.engine import serialize
from core.engine.debate import Placed
from core.engine.engine import LOADED_AT_ONCE
from core.engine.jobs import Batches, Job, Jobs
from core.engine.limits import BudgetSpent
from core.engine.model_calls import CallContext
from core.engine.ports import AttemptRow, Ports, StoredReply, Work
from core.engine.staged import ReplayingEngine
from core.errors import ModelError, NoSuchModel, TimedOut, Unauthorised, UsageError
from core.llm.batches import MOST_BYTES, MOST_REQUESTS, SHARE, BatchServer, BatchState, answers, line, read_row
from core.runs import RoleModel, StopReason

MOST_TRIES = 3
"""Files in which one request may be tried."""
FIRST_LOOK, LONGEST_LOOK = 0.5, 30.0
"""Seconds between two looks at what is out; they grow from the one to the other."""
SILENT_LOOKS = 10
"""Looks in a row that may fail before the run pauses."""
COMMITTED_AT_ONCE = 500
"""What the message of a run says that was left while it waits for a batch."""

_CROWDED = re.compile(r"enqueued token limit|token_limit_exceeded|too many (?:enqueued|batches)", re.IGNORECASE)


@dataclass(slots=True)
class _Asker:
    """Who waits for a reply: the role that asks for it, and in the debates on which documents."""

    role: str
    form: ReplyForm
    characters: int
    reserved: float
    documents: dict[str, None] = field(default_factory=dict)


class BatchEngine(ReplayingEngine):
    """A run whose asks go out in files. Pausing leaves them out, to be collected when the run goes on; stopping asks
    the server to cancel them. Seats that take no files (the built-in model, Ollama) are asked as in a live run."""

    def __init__(self, work: Work, ports: Ports, batches: Batches, jobs: Jobs) -> None:
        super().__init__(work, ports)
        self._batches = batches
        self._jobs = jobs
        self._caller = self._calls()
        self._out: dict[str, Job] = {}
        self._out_keys: dict[str, str] = {}
        self._askers: dict[str, _Asker] = {}
        self._tries: Counter[str] = Counter()
        self._deferred: dict[str, None] = {}
        self._most = MOST_REQUESTS
        self._crowded = False
        self._silent = 0

    async def _move(self) -> None:
        stages = asyncio.create_task(self._stages())
        self._tasks = [stages]
        try:
            await stages
        except asyncio.CancelledError:
            if self.pending_state is None:
                raise
            if self.pending_state == "stopped":
                await self._cancel_out()
        finally:
            await self._batches.close()

    # -- one pass after another

    async def _stages(self) -> None:
        with tempfile.TemporaryDirectory(prefix="moot-batch-") as spare:
            folder = self._folder(spare)
            try:
                for job in await self._jobs.out():
                    await self._take_up(job)
            except ModelError as error:
                self.pause(StopReason("errors", str(error)))
            ids: Sequence[str] = list(self._todo)
            self._todo.clear()
            while ids and self.pending_state is None:
                await self._advance(ids, folder)
                if self.pending_state is None and self._deferred and not self._askers:
                    self.pause_for_budget()
                ids = await self._collected() if self.pending_state is None and self._askers else ()

    def _folder(self, spare: str) -> Path:
        if not self.settings.engine.batch_dir:
            return Path(spare)
        folder = Path(self.settings.engine.batch_dir).expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}.", "Name another batch_dir.") from error
        return folder

    async def _advance(self, ids: Sequence[str], folder: Path) -> None:
        """Drive the debates on these documents as far as the stored replies go, and hand over what they ask next."""
        outbox = Outbox(folder, self.run_id, self._most, self._mark, self._send)
        self._deferred = {}
        try:
            for start in range(0, len(ids), LOADED_AT_ONCE):
                documents = await self.ports.documents(ids[start : start + LOADED_AT_ONCE])
                for wanted in await asyncio.gather(*(self._replay(document) for document in documents)):
                    for key, placed in wanted:
                        await self._post(outbox, key, placed)
                self.progress.in_flight = len({id for asker in self._askers.values() for id in asker.documents})
                if self.pending_state is not None:
                    return
            await outbox.flush()
        except BudgetSpent:
            self.pause_for_budget()
        finally:
            outbox.drop()

    async def _ask_now(self, key: str, placed: Placed) -> tuple[StoredReply, bool] | None:
        """A reply from a seat that takes no files; None for one that does."""
        if self._batches.batchable(placed.role_model):
            return None
        place = CallContext(self.run_id, placed.document, placed.turn, placed.ask.role, placed.role_model)
        return await self._caller.paid(key, placed.ask, place)

    # -- handing over

    async def _post(self, outbox: Outbox, key: str, placed: Placed) -> None:
        """Put an ask into a file, unless it is out already."""
        asker = self._askers.get(key)
        if asker is None:
            most = 0.0 if key in self._out_keys else self.ports.models.dearest(placed.role_model, placed.ask) * SHARE
            if not self._affordable(most):
                self._deferred[placed.document.id] = None
                return
            characters = sum(len(message.content) for message in placed.ask.messages)
            asker = self._askers[key] = _Asker(placed.ask.role, placed.ask.form, characters, most)
            if key not in self._out_keys:
                body = self._batches.body(placed.role_model, placed.ask, self.settings)
                await outbox.add(key, placed.role_model, line(key, body))
        asker.documents[placed.document.id] = None

    def _affordable(self, most: float) -> bool:
        if self.budget.ceiling is None:
            return True
        reserved = sum(asker.reserved for asker in self._askers.values())
        return self.budget.spent + reserved + most <= self.budget.ceiling

    async def _mark(self) -> str:
        return f"{self.run_id}-{await self._jobs.count(self.run_id) + 1}-{uuid.uuid4().hex[:8]}"

    async def _send(self, job: Job, part: Path) -> None:
        """Hand a complete file over. What is on its way is on record first, so that it is never handed over twice."""
        if self._crowded and self._out:
            self._release(job.keys, self._deferred)
            part.unlink()
            return
        await self._jobs.begin(job)
        path = part.rename(part.with_suffix(".jsonl"))
        server = await self._server(job.role_model)
        try:
            remote = await self._submit(server, path, job.mark)
        except ModelError as error:
            await self._jobs.over(job.mark, f"refused: {error.message}")
            self._release(job.keys, self._deferred)
            self.pause(StopReason("errors", str(error)))
            return
        await self._jobs.went(job.mark, remote)
        self._hold(Job(job.mark, job.run_id, job.role_model, job.keys, remote))

    async def _submit(self, server: BatchServer, path: Path, mark: str) -> str:
        """Hand a file over; after a fault look first whether it got there all the same."""
        wait = FIRST_LOOK
        for tries in range(MOST_TRIES, 0, -1):
            try:
                return await server.submit(path, mark)
            except ModelError as error:
                with suppress(ModelError):
                    if (remote := await server.find(mark)) is not None:
                        return remote
                if not error.retryable or tries == 1:
                    raise
            await asyncio.sleep(wait)
            wait *= 4
        raise AssertionError("unreachable: the last try returns or raises")  # pragma: no cover

    async def _server(self, role_model: RoleModel) -> BatchServer:
        return await self._batches.server(role_model, self.settings.engine.batch_dir)

    # -- collecting

    async def _take_up(self, job: Job) -> None:
        """A job that an earlier process handed over, or was about to."""
        if not job.remote:
            try:
                remote = await (await self._server(job.role_model)).find(job.mark)
            except NoSuchModel:
                remote = None
            if remote is None:
                await self._jobs.over(job.mark, "never went out")
                return
            await self._jobs.went(job.mark, remote)
            job = Job(job.mark, job.run_id, job.role_model, job.keys, remote)
        self._hold(job)

    def _hold(self, job: Job) -> None:
        self._out[job.mark] = job
        self._out_keys |= dict.fromkeys(job.keys, job.mark)

    async def _collected(self) -> Sequence[str]:
        """Wait until something has come back; the documents whose debates may go on. Empty when the run is to end."""
        began, wait = time.monotonic(), FIRST_LOOK
        while self.pending_state is None:
            back: dict[str, None] = {}
            answered = asked = 0
            for job in [job for job in self._out.values() if any(key in self._askers for key in job.keys)]:
                state = await self._look(job)
                if state is not None and state.ended:
                    back |= await self._collect(job, state)
                asked += len(job.keys)
                answered += state.answered if state else 0
            if back:
                return list(back | self._deferred)
            self.note = self._waiting_for(answered, asked)
            if time.monotonic() - began >= self.settings.engine.patience:
                self.pause(StopReason("batch", self.note))
            else:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, LONGEST_LOOK)
        return ()

    def _waiting_for(self, answered: int, asked: int) -> str:
        if self.settings.engine.batch_dir:
            name = next((job.remote for job in self._out.values()), "")
            path = Path(self.settings.engine.batch_dir) / name
            return (
                f"{asked} requests of a batch are in {path}; put the replies beside it, as in: "
                f"vllm run-batch -i {path} -o {path.with_suffix('.output.jsonl')} --model MODEL"
            )
        return f"{answered} of {asked} requests of a batch are answered"

    async def _look(self, job: Job) -> BatchState | None:
        try:
            state = await (await self._server(job.role_model)).look(job.remote)
        except NoSuchModel:
            return BatchState(ended=True)
        except ModelError as error:
            self._silent += 1
            if isinstance(error, Unauthorised) or self._silent >= SILENT_LOOKS:
                self.pause(StopReason("errors", str(error)))
            return None
        self._silent = 0
        return state

    async def _collect(self, job: Job, state: BatchState) -> dict[str, None]:
        """Commit all replies of a job that has ended; the documents that waited for any of its requests.

        Rows come in any order and may come twice: of a request that failed and was answered, the answer counts.
        """
        missing = dict.fromkeys(job.keys)
        failed: dict[str, Mapping[str, Any]] = {}
        rows: list[tuple[str, Mapping[str, Any]]] = []
        server = await self._server(job.role_model)
        for output in state.outputs:
            async for raw in server.rows(output):
                row = read_row(raw)
                if row is None or row[0] not in missing:
                    continue
                if not answers(row[1]):
                    failed[row[0]] = row[1]
                    continue
                del missing[row[0]]
                rows.append(row)
                if len(rows) >= COMMITTED_AT_ONCE:
                    await self._keep(job, rows)
                    rows = []
        unanswered = [(key, failed[key]) for key in missing if key in failed]
        await self._keep(job, (*rows, *unanswered))
        if state.problem:
            self._refused(job, state.problem)
        else:
            lost = TimedOut(
                f"{job.role_model.model} at {job.role_model.connection} sent no row for it in {job.mark}.", ""
            )
            for key in (key for key in missing if key not in failed):
                self._note_fault(job, key, lost)
        await self._jobs.over(job.mark, state.problem or "collected")
        del self._out[job.mark]
        back: dict[str, None] = {}
        self._release(job.keys, back)
        return back

    async def _keep(self, job: Job, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        commits = []
        for key, row in rows:
            asker = self._askers.get(key)
            try:
                form: ReplyForm = asker.form if asker else "labels"
                reply = self._batches.reply(job.role_model, row, self.settings, form, asker.characters if asker else 0)
            except ModelError as error:
                self._note_fault(job, key, error)
                continue
            if not self.store.known(key):
                self.progress.paid(reply.usage, reply.cost_usd)
                self.budget.spent += reply.cost_usd or 0.0
                self._fresh.add(key)
                stored = serialize.stored_reply(key, reply, seconds=0.0, at=time.time(), run_id=job.run_id)
                commits.append(self.store.commit(stored))
        await asyncio.gather(*commits)

    def _note_fault(self, job: Job, key: str, error: ModelError) -> None:
        """A request that was not answered: it goes out again, or its debate hears of the fault."""
        self._tries[key] += 1
        usage = Usage(*error.billed, estimated=True)
        cost = self._batches.cost(job.role_model, usage)
        self.progress.billed(usage, cost)
        self.budget.spent += cost or 0.0
        if not error.retryable or self._tries[key] >= MOST_TRIES:
            self._faults[key] = ReplyError(error.kind, str(error))
        if (asker := self._askers.get(key)) is not None:
            self.sink.attempt(
                AttemptRow(
                    run_id=job.run_id,
                    document_id=next(iter(asker.documents), ""),
                    role=asker.role,
                    key=key,
                    kind=error.kind,
                    message=error.message,
                    text="",
                    usage=usage,
                    cost_usd=cost,
                    seconds=0.0,
                    at=time.time(),
                )
            )

    def _refused(self, job: Job, problem: str) -> None:
        """Nothing of a job was asked. When the account has too much out already, the next ones are smaller and go one
        after another; whatever else it is, a person has to know."""
        if _CROWDED.search(problem) and len(job.keys) > 1:
            self._crowded, self._most = True, max(1, len(job.keys) // 2)
        else:
            self.pause(StopReason("errors", f"{job.role_model.connection} refused the batch: {problem}"))

    def _release(self, keys: Iterable[str], documents: dict[str, None]) -> None:
        """These requests are out no longer; whoever waited for them is added to ``documents``."""
        for key in keys:
            self._out_keys.pop(key, None)
            if (asker := self._askers.pop(key, None)) is not None:
                documents |= asker.documents

    async def _cancel_out(self) -> None:
        for job in self._out.values():
            if job.run_id == self.run_id:
                with suppress(ModelError):
                    await (await self._server(job.role_model)).cancel(job.remote)


Send = Callable[[Job, Path], Awaitable[None]]
Name = Callable[[], Awaitable[str]]


@dataclass(slots=True)
class _Box:
    mark: str
    role_model: RoleModel
    path: Path
    file: IO[bytes]
    keys: list[str] = field(default_factory=list)
    size: int = 0


class Outbox:
    """Gathers requests and sends each file off when it is full, the rest on ``flush``.

    A file carries another name until it is complete, so that nobody answers a part of it.
    """

    def __init__(self, folder: Path, run_id: str, most: int, name: Name, send: Send) -> None:
        self._folder = folder
        self._run_id = run_id
        self._most = most
        self._name = name
        self._send = send
        self._boxes: dict[tuple[str, str, str], _Box] = {}

    async def add(self, key: str, role_model: RoleModel, line: bytes) -> None:
        """Take one request."""
        series = (role_model.connection, role_model.base_url, role_model.model)
        box = self._boxes.get(series)
        if box is not None and (len(box.keys) >= self._most or box.size + len(line) > MOST_BYTES):
            await self._close(self._boxes.pop(series))
            box = None
        if box is None:
            mark = await self._name()
            path = self._folder / f"{mark}.part"
            bare = RoleModel(connection=role_model.connection, model=role_model.model, base_url=role_model.base_url)
            box = self._boxes[series] = _Box(mark, bare, path, path.open("wb"))
        box.file.write(line)
        box.keys.append(key)
        box.size += len(line)

    async def flush(self) -> None:
        """Send off what has gathered."""
        while self._boxes:
            await self._close(self._boxes.popitem()[1])

    def drop(self) -> None:
        """Throw away what has gathered: nobody has been told of it."""
        for box in self._boxes.values():
            box.file.close()
            box.path.unlink(missing_ok=True)
        self._boxes.clear()

    async def _close(self, box: _Box) -> None:
        box.file.close()
        await self._send(Job(box.mark, self._run_id, box.role_model, tuple(box.keys)), box.path)
