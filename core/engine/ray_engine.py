"""The Ray engine: debates on the machines of a Ray cluster, which all have access to the job's folder.

Documents are written as Parquet. Each reply comes back through a log of files as soon as it is paid for, and the status
of each debate as Parquet. Every debate is then replayed here from its replies.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from core.debate.turns import Reply, ReplyError
from core.engine.base_engine import LOADED_AT_ONCE, ReplayingEngine
from core.engine.event_loop import gather_all, start_python, terminate
from core.engine.interfaces import Dependencies, FailedAttempt, Work
from core.engine.ray_job import require_cluster, require_ray
from core.engine.ray_worker import (
    ATTEMPTS,
    STOP,
    ReplyLogReader,
    append_replies,
    encode_case,
    take_attempts,
)
from core.errors import UsageError
from core.files import atomic_write, own_problem
from core.llm.model_library import ModelLibrary
from core.runs import StopReason

MERGED = "merged.json"
"""File in a job's folder with the bytes of each file of replies that are merged."""
REPEATED = "Another worker made the same call at the same time."
POLL_SECONDS = 0.5
ERROR_LINES = 5


class RayEngine(ReplayingEngine):
    """A run on Ray.

    Pausing and stopping end the job. The replies that its workers paid for are in the log by then, and are merged now
    or when the run resumes. So are failed attempts, but not those that were under way when a worker was ended.
    """

    def __init__(self, work: Work, dependencies: Dependencies, models: ModelLibrary, folder: Path) -> None:
        super().__init__(work, dependencies)
        require_ray(self.settings)
        require_cluster(self.settings.engine.ray_address)
        used = {role_model.connection for role_model in models.billed_models(self.settings)}
        self._connections = [
            connection for name, connection in models.connections.items() if name in used and not connection.is_builtin
        ]
        self._limits = {name: limits for name, limits in models.own_limits.items() if name in used}
        self._prices = models.prices
        self._capabilities = models.capabilities
        # Deleted when the run is done. Without the prefix, a foreign project file could name any folder of the user.
        self._folder = folder / f"moot-{self.run_id}"
        self._reader = ReplyLogReader(self._folder / "replies")
        self._to_share: list[Reply] = []
        self._merged_files: set[Path] = set()

    async def _execute(self) -> None:
        self._make_folders("", "replies", ATTEMPTS)
        with suppress(FileNotFoundError):
            self._reader.offsets |= orjson.loads((self._folder / MERGED).read_bytes())
        await self._merge_calls()  # of a job whose run was interrupted
        ids = list(self._todo)
        self._todo.clear()
        while ids and self.pending_state is None:
            unfinished, ids = await self._prepare(ids)
            if unfinished and self.pending_state is None:
                process = await self._start()
                following = asyncio.create_task(self._follow(process, unfinished))
                self._tasks = [following]
                try:
                    await following
                except asyncio.CancelledError:
                    if self.pending_state is None:
                        raise
        if self.pending_state is None:
            shutil.rmtree(self._folder, ignore_errors=True)  # all of it is in the project

    def _make_folders(self, *names: str) -> None:
        """Create subfolders that only this user can access. Raises UsageError if one is a link or another user's."""
        for folder in (self._folder / name for name in names):
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700, parents=True)
            if problem := own_problem(folder, folder=True):
                raise UsageError(f"{folder} {problem}.", "Delete it, or name another ray_dir.")

    async def _prepare(self, ids: Sequence[str]) -> tuple[set[str], list[str]]:
        """Conclude debates whose replies are all stored, and write out other documents.

        Return the ids of the documents written out, and of those that need the same reply as one of them: workers do
        not share calls, so these wait for the end of the job.
        """
        for name in ("in", "out", "checkpoint"):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        (self._folder / STOP).unlink(missing_ok=True)
        self._make_folders("in", "out")
        self._merged_files.clear()
        unfinished: set[str] = set()
        waiting: list[str] = []
        requested: set[str] = set()
        for number, start in enumerate(range(0, len(ids), LOADED_AT_ONCE)):
            documents = await self._load(ids[start : start + LOADED_AT_ONCE])
            missing = await gather_all(self._debate(document, self._answer) for document in documents)
            out = []
            for document, wanted in zip(documents, missing, strict=True):
                keys = {key for key, _ in wanted}
                if not requested.isdisjoint(keys):
                    waiting.append(document.id)
                elif keys and (examples := await self._find_examples(document)) is not None:
                    requested |= keys
                    out.append({"id": document.id, "case": encode_case(document, examples)})
            unfinished |= {row["id"] for row in out}
            if out:
                pq.write_table(pa.Table.from_pylist(out), self._folder / "in" / f"{number:06d}.parquet")
        self._write_job()
        if self._to_share:
            await asyncio.to_thread(append_replies, self._folder / "replies" / "project.jsonl", *self._to_share)
            self._to_share = []
        return unfinished, waiting

    def _write_job(self) -> None:
        """Write the settings of the job for the workers, which have no other source."""
        engine = self.settings.engine
        job = {
            "run_id": self.run_id,
            "settings": self.settings.model_dump(mode="json"),
            "retry_rounds": self.retry_rounds,
            "connections": [connection.model_dump(mode="json") for connection in self._connections],
            "limits": {name: limits.model_dump(mode="json") for name, limits in self._limits.items()},
            "prices": {spec: price.model_dump(mode="json") for spec, price in self._prices.user_prices.items()},
            "passed_on": list(self._prices.passed_on),
            "capabilities": self._capabilities.to_json(),
            "address": engine.ray_address,
            "workers": engine.ray_workers or os.cpu_count() or 1,
        }
        with atomic_write(self._folder / "job.json", private=True) as file:
            file.write(orjson.dumps(job))

    async def _fetch(self, key: str) -> Reply | None:
        """Return a stored reply, and share it: workers have to pass over the same replies."""
        reply = await super()._fetch(key)
        if reply is not None:
            self._to_share.append(reply)
        return reply

    async def _start(self) -> asyncio.subprocess.Process:
        return await start_python(
            "-m",
            "core.engine.ray_job",
            str(self._folder),
            env={"RAY_DEDUP_LOGS": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )

    async def _follow(self, process: asyncio.subprocess.Process, unfinished: set[str]) -> None:
        """Merge results until the job has ended."""
        assert process.stderr is not None
        stderr = asyncio.create_task(process.stderr.read())
        ended = asyncio.create_task(process.wait())
        self.totals.in_flight = len(unfinished)
        try:
            while not ended.done() and self.pending_state is None:
                await asyncio.wait((ended,), timeout=POLL_SECONDS)
                await self._merge(unfinished)
        finally:
            if process.returncode is None:
                terminate(process)
            await ended
            await self._merge(unfinished)
            words = (await stderr).decode("utf-8", "replace").strip().splitlines()
        if not unfinished or self.pending_state is not None:
            return
        stop = self._folder / STOP
        if stop.exists():
            self.pause(StopReason("errors", stop.read_text(encoding="utf-8")))
        else:
            job = " ".join(words[-ERROR_LINES:]) or f"it ended with {process.returncode}"
            self.pause(StopReason("errors", f"the Ray job left {len(unfinished)} documents undone: {job}"))

    async def _merge(self, unfinished: set[str]) -> None:
        """Commit new calls, then conclude the debates that have ended since the last poll."""
        parts = [path for path in sorted((self._folder / "out").glob("*.parquet")) if path not in self._merged_files]
        await self._merge_calls()
        for path in parts:
            try:
                rows = pq.read_table(path).to_pylist()
            except pa.ArrowInvalid:  # it is being written, or its process was ended meanwhile
                continue
            self._merged_files.add(path)
            for learned in {row["capabilities"] for row in rows}:  # a reply cut by a limit unknown here is passed over
                self._capabilities.lower_limits(orjson.loads(learned))
            ended = {row["id"]: row for row in rows if row["status"] and row["id"] in unfinished}
            documents = await self._load(list(ended))
            unfinished -= ended.keys() - {document.id for document in documents}
            for document in documents:
                row = ended[document.id]
                wanted = await self._debate(document, self._answer)
                if wanted and row["error"]:
                    self._errors |= {key: ReplyError(row["error"], row["message"]) for key, _ in wanted}
                    wanted = await self._debate(document, self._answer)
                if not wanted:
                    unfinished.discard(document.id)
        self.totals.in_flight = len(unfinished)

    async def _merge_calls(self) -> None:
        """Commit the replies and the failed attempts that are new in the folder.

        A reply that two workers paid for counts for both, once as an attempt without a reply.
        """
        first: dict[str, Reply] = {}
        repeated: list[Reply] = []
        logged = await asyncio.to_thread(lambda: list(self._reader.new_replies()))
        for reply in logged:
            known = first.get(reply.key) or await self.store.fetch(reply.key)
            if known is None:
                first[reply.key] = reply
                self._fresh.add(reply.key)
                if reply.run_id == self.run_id:
                    self.totals.paid(reply)
            elif reply.run_id == self.run_id and reply.unix_time != known.unix_time:
                repeated.append(reply)
        await gather_all(map(self.store.commit, first.values()))
        for reply in repeated:
            paid = reply.usage, reply.cost_usd, reply.text, reply.seconds, reply.unix_time
            self._bill(FailedAttempt(reply.run_id, "", "", reply.key, "repeated", REPEATED, *paid))
        if logged:
            with atomic_write(self._folder / MERGED, private=True) as file:
                file.write(orjson.dumps(self._reader.offsets))
        for attempt in await asyncio.to_thread(take_attempts, self._folder / ATTEMPTS):
            self._bill(attempt)

    def _bill(self, attempt: FailedAttempt) -> None:
        self.totals.billed(attempt.usage, attempt.cost_usd)
        self.sink.attempt(attempt)
