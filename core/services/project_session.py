"""An open project: its store, its active runs, and the live state that the pages show."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from core.debate.events import Event, RunStatus, TurnDone
from core.documents import Document
from core.engine import worker_pool_engine
from core.engine.base_engine import INTERRUPTED, Engine
from core.engine.batch_engine import BatchEngine, cancel_jobs
from core.engine.event_loop import EngineThread, gather_all
from core.engine.interfaces import Dependencies, Publish, Work
from core.engine.live_engine import LiveEngine
from core.engine.model_calls import embed_stored
from core.errors import ExportError, ProjectError, UsageError
from core.llm import embeddings
from core.llm.batch_servers import BatchLibrary
from core.llm.model_library import ModelLibrary
from core.runs import RoleModel, RunRow, State, StopReason
from core.services import few_shot_examples
from core.services.background_jobs import Job, OnStep, Prefetcher
from core.services.classifier_training import ClassifierTrainer, Embedder
from core.services.live_state import SHOWN_OPEN, DocumentText, LiveRunState, StoredDebate, status_of
from core.store.project import Project, Store
from core.store.project_lock import PROJECT_SUFFIXES
from core.store.transcripts import FinishedPage

logger = logging.getLogger(__name__)
PAUSED = StopReason("user", "paused by you")
STOPPED = StopReason("user", "stopped by you")
CLOSING_SECONDS = 5.0
"""Seconds for which closing waits for paid calls in flight, before it cancels them."""
KEPT_LIVE_RUNS = 5
"""Live states of ended runs in memory; pages show older runs as after a restart. Lab runs have none when they ended."""
EMBED_ATTEMPTS = 3
"""Attempts for the vectors of a batch of texts outside of a run."""
Listener = Callable[[Event], None]


def check_output_path(project: Path, path: Path) -> Path:
    """Return ``path`` if an export may be written there.

    Raises ExportError for the project file and the files that belong to it (lock, write-ahead log, reply log): writing
    there would destroy the project.
    """
    project_files = {project.with_name(project.name + suffix) for suffix in PROJECT_SUFFIXES}
    if path.expanduser().resolve() in project_files:
        raise ExportError(f"{path} belongs to the open project.", "Write to another file.")
    return path


def document_source(store: Store, document: Document) -> str:
    """Return the source of a document, such as "reviews.csv, no. 427"."""
    number = f"no. {document.position + 1:,}"
    file_name = store.documents.file_name(document.id)
    return f"{file_name}, {number}" if file_name else number


class ProjectSession:
    """An open project.

    Runs are executed one after another, in the order in which they were queued; lab runs wait only for each other. All
    methods may be called from any thread except the engine's.
    """

    def __init__(self, project: Project, engine: EngineThread, models: ModelLibrary) -> None:
        self.project = project
        self.store = project.store
        self.engine = engine
        self.models = models
        self.trainer = ClassifierTrainer(project.store, self._embedder)
        models.classifiers.append(self.trainer.find)
        self.prefetcher = Prefetcher()
        self.active_sweeps: dict[int, threading.Event] = {}
        """By number of each sweep that runs in this process, the event that pauses it."""
        self.jobs: dict[str, Job[Any]] = {}
        """By name, each job of a page that is running or whose end was not shown yet."""
        self._live_runs: dict[str, LiveRunState] = {}
        self._engines: dict[str, Engine] = {}
        self._futures: dict[str, Future[RunStatus]] = {}
        self._listeners: list[Listener] = []
        self._starting = threading.Lock()
        """Held while a run or job is started or ended, so that what is being started can be ended, too."""
        self._guard = threading.Lock()
        """Held only to look up or change which runs are active: the engine's loop waits for it."""
        self._run_lock = asyncio.Lock()
        self._executing: dict[str, Engine] = {}
        self._lab_runs: set[str] = set()
        self._lab_lock = asyncio.Lock()

    def _embedder(self, spec: str | None = None) -> Embedder | None:
        """Return the embedder of vectors with this name, the choice of the user for None; None without a connection."""
        spec = self.models.embedder_spec if spec is None else spec
        with suppress(UsageError):
            embed = embeddings.embedder(spec, self.models.connections)
            if isinstance(embed, embeddings.ServerEmbedder):
                role_model = self.models.resolve(RoleModel.parse(spec))
                replies = self.project.replies
                embed = partial(embed_stored, self.models, replies, role_model, attempts=EMBED_ATTEMPTS)
            return Embedder(spec, embed) if embed is not None else None
        return None

    @property
    def path(self) -> Path:
        """The project file."""
        return self.project.path

    @property
    def name(self) -> str:
        """The display name of the project."""
        return self.path.stem

    @property
    def file_problem(self) -> ProjectError | None:
        """An error if nothing can be saved any more, because of the project file or its disk, else None."""
        return self.project.file_problem

    # -- active runs

    def start_or_resume(
        self, run_id: str, *, retry_unresolved: bool = False, retry_failed: bool = False, pace: float | None = None
    ) -> Future[RunStatus]:
        """Start or resume a run, after the runs queued before it, and return its future status.

        ``pace`` replaces the speed of the built-in model in a run that was started to be watched. An active run returns
        its existing future, a finished run its status. A run that is about to pause is waited for first. Raises
        UsageError for an unknown run.
        """
        with self._guard:
            ending = self._futures.get(run_id)
        if ending is not None and self.pending_state(run_id) is not None:
            with suppress(CancelledError):  # the run left the queue
                ending.exception()
        with self._starting:
            with self._guard:
                active = self._futures.get(run_id)
            if active is not None and not active.done():
                return active
            self.project.write_refused()
            work = self.store.runs.work(run_id, retry_unresolved=retry_unresolved, retry_failed=retry_failed)
            if pace is not None and work.run.settings.pace:
                settings = work.run.settings.model_copy(update={"pace": pace})
                work = replace(work, run=work.run.model_copy(update={"settings": settings}))
            live_run = self._live_runs.get(run_id) or LiveRunState(run_id)
            if work.run.state == "done" and not work.todo:  # running it again would add to its time
                finished: Future[RunStatus] = Future()
                finished.set_result(status_of(work.run))
                self._publish(live_run, finished.result())
                return finished
            run_engine = self._make_engine(work, partial(self._publish, live_run))
            live_run.publish(status_of(work.run, "queued"))
            with self._guard:
                self._engines[run_id] = run_engine
                self._live_runs.pop(run_id, None)  # in the order of their last start
                self._live_runs[run_id] = live_run
                if work.run.purpose == "lab":
                    self._lab_runs.add(run_id)
                future = self.engine.submit(
                    self._execute(run_engine, self._lab_lock if run_id in self._lab_runs else self._run_lock)
                )
                self._futures[run_id] = future
            return future

    def pause(self, run_id: str, reason: StopReason = PAUSED) -> None:
        """Pause a run: start no further call, and keep the replies of calls in flight.

        A queued run leaves the queue. A run that has ended is left unchanged.
        """
        with self._starting:
            self.engine.submit(self._end(run_id, "paused", reason)).result()

    def stop(self, *run_ids: str) -> None:
        """Stop runs at the same time: cancel calls in flight, and keep what is committed.

        A queued or paused run becomes stopped as it is, and its servers are asked to cancel its open batches.
        """
        with self._starting:
            self.engine.submit(gather_all(self._end(run_id, "stopped", STOPPED) for run_id in run_ids)).result()

    def state(self, run_id: str) -> State:
        """Return the state of a run: queued or running while it is active, else the stored state.

        Raises UsageError for an unknown run.
        """
        live_run = self._live_runs.get(run_id)
        status = live_run.status if live_run is not None else None
        if status is not None and self.is_active(run_id):
            return status.state
        stored = self.run(run_id).state
        # A full disk refuses the state in which a run ends: without its engine, no run is running.
        return status.state if status is not None and stored == "running" else stored

    def pending_state(self, run_id: str) -> State | None:
        """Return the state in which an active run was requested to end, None without a request."""
        with self._guard:
            run_engine, future = self._engines.get(run_id), self._futures.get(run_id)
        return run_engine.pending_state if run_engine is not None and future is not None and not future.done() else None

    def active_runs(self) -> tuple[str, ...]:
        """Return the ids of active and queued runs in their order, without lab runs."""
        return tuple(run_id for run_id in self.open_runs() if run_id not in self._lab_runs)

    def wait_for_runs(self, run_ids: Sequence[str], seconds: float) -> bool:
        """Wait at most this many seconds for active runs, and return True if all of them have ended."""
        with self._guard:
            futures = [self._futures[run_id] for run_id in run_ids if run_id in self._futures]
        return not wait(futures, seconds).not_done

    def last_error(self, run_id: str) -> BaseException | None:
        """Return the error that ended the run's last session in this process, or None."""
        with self._guard:
            future = self._futures.get(run_id)
        return future.exception() if future is not None and future.done() and not future.cancelled() else None

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` with every event of every run, in the engine's thread. It must not block."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Pause active runs, wait some seconds for their paid calls in flight, and close the file."""
        with self._starting:
            self._end_work()
            self.project.close()

    def rescue(self) -> Path:
        """Pause active runs and close the file, which cannot be written; return a copy of everything in the project.

        Raises ProjectError without room for a copy; the project then stays open.
        """
        self.project.check_room()
        with self._starting:
            self._end_work()
            return self.project.rescue()

    def _end_work(self) -> None:
        with self._guard:
            engines, futures = list(self._engines.values()), list(self._futures.values())
        for job in list(self.jobs.values()):
            job.stop()
        for run_engine in engines:
            end = run_engine.interrupt if run_engine.settings.is_builtin else partial(run_engine.pause, INTERRUPTED)
            self.engine.loop.call_soon_threadsafe(end)
        wait(futures, CLOSING_SECONDS)
        for run_engine in engines:
            self.engine.loop.call_soon_threadsafe(run_engine.interrupt)
        wait(futures)
        with suppress(ValueError):  # a rescue that failed has removed it
            self.models.classifiers.remove(self.trainer.find)
        self.trainer.close()
        self.prefetcher.close()

    # -- for the live route

    def live_run(self, run_id: str) -> LiveRunState | None:
        """Return the live state of a run, None for an unknown run.

        For a run that has not been active in this process, the live state holds the stored status, and the stored
        turns of open debates if the run is paused.
        """
        live_run = self._live_runs.get(run_id)
        if live_run is not None:
            return live_run
        run = self.store.runs.get(run_id)
        if run is None:
            return None
        live_run = LiveRunState(run_id)
        live_run.publish(status_of(run))
        if run.state == "paused":
            for turn in self.store.transcripts.open_turns(run_id, SHOWN_OPEN):
                live_run.publish(TurnDone(turn))
        return self._live_runs.setdefault(run_id, live_run)

    def document(self, document_id: str) -> DocumentText | None:
        """Return a document's text and its source, None if the project does not have it."""
        document = self.store.documents.get(document_id)
        if document is None:
            return None
        return DocumentText(document.id, dict(document.fields), document_source(self.store, document))

    def replay(self, run_id: str, document_id: str) -> StoredDebate | None:
        """Return the stored debate on a document, None if it has neither turns nor a verdict.

        The text is empty if the project no longer has the document.
        """
        turns = tuple(self.store.transcripts.of(run_id, [document_id]))
        verdict = self.store.transcripts.verdict(run_id, document_id)
        text = self.document(document_id) or DocumentText(document_id, {})
        return StoredDebate(text, turns, verdict) if turns or verdict else None

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        """Return a page of finished debates, newest first.

        ``query`` is searched for in ids and texts; an empty ``status`` matches all.
        """
        return self.store.transcripts.page(run_id, search=query, status=status, offset=offset, limit=limit)

    # -- stored runs

    def all_runs(self) -> list[RunRow]:
        """Return all runs with their counts, oldest first, without runs of the Lab."""
        return self.store.runs.all()

    def run(self, run_id: str) -> RunRow:
        """Return a run with its counts. Raises NoSuchRun."""
        return self.store.runs.require(run_id)

    def last_read_run(self, run_id: str) -> RunRow:
        """Return a run whose counts and state may be outdated, without counting again. Raises NoSuchRun."""
        return self.store.runs.last_read(run_id)

    def has_run(self, run_id: str) -> bool:
        """Return True if the project has this run, without counting its documents."""
        return self.store.runs.settings(run_id) is not None

    def latest_run(self) -> str | None:
        """Return the id of the newest run, None before the first."""
        return self.store.runs.latest_id()

    def run_name(self, run_id: str) -> str:
        """Return the name under which a run is shown."""
        return self.store.runs.details(run_id).title(run_id)

    def saved_at(self) -> float | None:
        """Return the time of the last commit since the file was opened (Unix seconds), None before the first."""
        return self.project.saved_at

    def is_active(self, run_id: str) -> bool:
        """Return True if a run is active or queued; lab runs included."""
        return run_id in self.open_runs()

    @property
    def activity(self) -> str:
        """Current work, such as "a run is active"; empty for none. Runs and sweeps of the Lab included."""
        if self.open_runs() or self.active_sweeps:
            return "a run is active"
        return next((name for name, job in list(self.jobs.items()) if not job.wait(0)), "")

    def start_job(self, name: str, start: Callable[[OnStep], Future[Any]], step: str) -> None:
        """Start a job, unless one of this name is running or its end was not shown yet. Raises the errors of ``start``.

        ``name`` is a clause such as "a model writes personas", ``step`` the first step of the job.
        """
        with self._starting:
            if name not in self.jobs:
                self.jobs[name] = Job(start, step)

    def open_runs(self) -> tuple[str, ...]:
        """Return the ids of active and queued runs in their order, with lab runs."""
        with self._guard:
            return tuple(run_id for run_id, future in self._futures.items() if not future.done())

    def _make_engine(self, work: Work, publish: Publish) -> Engine:
        """Return the engine that the settings of a run name."""
        project, models, engine, load = self.project, self.models, work.run.settings.engine, self.load_documents
        find_examples = few_shot_examples.example_library(self.store, models, load, work.run)
        dependencies = Dependencies(load, models, project.replies, project.sink, publish, find_examples)
        match engine.name:
            case "live" if worker_pool_engine.is_faster(work):
                return worker_pool_engine.WorkerPoolEngine(work, dependencies)
            case "live":
                return LiveEngine(work, dependencies)
            case "batch":
                return BatchEngine(work, dependencies, BatchLibrary(models), project.jobs)
            case "ray":
                from core.engine.ray_engine import RayEngine  # with Parquet, which nothing else in a run needs

                folder = Path(engine.ray_dir or self.path.with_suffix(".ray")).expanduser().resolve()
                return RayEngine(work, dependencies, models, folder)

    def _publish(self, live_run: LiveRunState, event: Event) -> None:
        live_run.publish(event)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("A listener failed.")

    async def _execute(self, run_engine: Engine, lock: asyncio.Lock) -> RunStatus:
        try:
            async with lock:
                self._executing[run_engine.run_id] = run_engine
                try:
                    return await run_engine.run()
                finally:
                    del self._executing[run_engine.run_id]
        finally:
            self._release(run_engine)

    def _release(self, run_engine: Engine) -> None:
        """Release what no page needs of a run that has ended."""
        with self._guard:
            if self._engines.get(run_engine.run_id) is run_engine:  # else it left the queue and was queued again
                del self._engines[run_engine.run_id]
            ended = [run_id for run_id in list(self._live_runs) if run_id not in self._engines]
            kept = [run_id for run_id in ended if run_id not in self._lab_runs][-KEPT_LIVE_RUNS:]
            for run_id in set(ended).difference(kept):
                del self._live_runs[run_id]

    async def _end(self, run_id: str, state: Literal["paused", "stopped"], reason: StopReason) -> None:
        """Pause or stop a run; in the engine's thread, so that the run cannot start while it leaves the queue."""
        run_engine = self._executing.get(run_id)
        if run_engine is not None:
            (run_engine.pause if state == "paused" else run_engine.stop)(reason)
            return
        with self._guard:
            future = self._futures.get(run_id)
            waits = future is not None and not future.done()
            if future is not None and waits:
                del self._futures[run_id]
                future.cancel()
        row = await asyncio.to_thread(self.store.runs.get, run_id)
        still = ("queued", "paused") if state == "stopped" else ("queued",)
        if row is None or not (waits or row.state in still):
            return
        await self.project.sink.state(run_id, state, reason)
        if state == "stopped" and row.settings.engine.name == "batch" and (problem := await self._cancel_batches(row)):
            await self.project.sink.state(run_id, state, StopReason("errors", problem))
        if (row := await asyncio.to_thread(self.store.runs.get, run_id)) is not None and run_id in self._live_runs:
            self._live_runs[run_id].publish(status_of(row))

    async def _cancel_batches(self, run: RunRow) -> str:
        """Cancel the open batches of a run that is not active. Returns a sentence on those that are not cancelled."""
        folder = run.settings.engine.batch_dir
        batches, jobs = BatchLibrary(self.models), await self.project.jobs.open_jobs(folder)
        try:
            return await cancel_jobs(run.run_id, jobs, batches, folder)
        finally:
            await batches.close()

    async def load_documents(self, ids: Sequence[str]) -> Sequence[Document]:
        """Return these documents without their gold, as a run gets them."""
        return await asyncio.to_thread(self.store.documents.load, ids, gold=False)
