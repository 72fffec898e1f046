"""A project on the desk: its store, its runs in motion, and what the screens watch of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Literal

from core.debate.events import Event, RunStatus
from core.documents import Document
from core.engine.driver import Driver
from core.engine.thread import EngineThread
from core.errors import ExportError, NoSuchRun
from core.llm.models import ModelLibrary
from core.runs import State, StopReason
from core.services import engines, run_view
from core.services.classifier.trainer import ClassifierTrainer
from core.services.live_run import DocumentText, FinishedPage, LiveRunState, Replay
from core.services.prefetch import Prefetcher
from core.store.project import Project

PAUSED = StopReason("user", "paused by you")
STOPPED = StopReason("user", "stopped by you")
Listener = Callable[[Event], None]


def elsewhere(project: Path, path: Path) -> Path:
    """``path``, which may be written. ExportError when it is the project file or one that lies beside it for it (lock,
    write-ahead log, replies): an export there would be the project's end."""
    own = {project.with_name(project.name + end) for end in ("", ".wal", ".replies", ".lock", ".lock.json")}
    if path.expanduser().resolve() in own:
        raise ExportError(f"{path} belongs to the open project.", "Write to another file.")
    return path


class ProjectSession:
    """One open project. Runs go one after another, in the order they were queued; those of the lab wait only
    for each other. Screens only look.

    All methods may be called from any thread except the engine's own.
    """

    def __init__(self, project: Project, engine: EngineThread, models: ModelLibrary) -> None:
        self.project = project
        self.store = project.store
        self.engine = engine
        self.models = models
        self.tutor = ClassifierTrainer(project.store)
        models.students.append(self.tutor.find)
        self.ahead = Prefetcher()
        self._boards: dict[str, LiveRunState] = {}
        self._live: dict[str, Driver] = {}
        self._queued: dict[str, Future[RunStatus]] = {}
        self._listeners: list[Listener] = []
        self._guard = threading.Lock()
        self._turn = asyncio.Lock()
        self._moving: dict[str, Driver] = {}
        self._beside: set[str] = set()
        self._lab_turn = asyncio.Lock()

    @property
    def path(self) -> Path:
        """The project file."""
        return self.project.path

    @property
    def name(self) -> str:
        """What the project is called on the screen."""
        return self.path.stem

    # -- runs in motion

    def go(self, run_id: str, *, retry_unresolved: bool = False, retry_failed: bool = False) -> Future[RunStatus]:
        """Start a run or go on with it, after those queued before it. The future gives where it stands at its end;
        a run that is already under way gives the future it has, and one that is about to pause is waited for.

        Raises UsageError for an unknown run.
        """
        if self.ending(run_id) is not None:
            self._queued[run_id].exception()
        with self._guard:
            under_way = self._queued.get(run_id)
            if under_way is not None and not under_way.done():
                return under_way
            work = self.store.runs.work(run_id, retry_unresolved=retry_unresolved, retry_failed=retry_failed)
            board = self._boards.setdefault(run_id, LiveRunState(run_id))
            if (row := self.store.runs.get(run_id)) is not None:
                board.publish(run_view.status_of(row, "queued"))
            live = engines.driver(self.project, self.models, self._load, self._publisher(board), work)
            self._live[run_id] = live
            if work.run.purpose == "lab":
                self._beside.add(run_id)
            future = self.engine.submit(self._drive(live, self._lab_turn if run_id in self._beside else self._turn))
            self._queued[run_id] = future
            return future

    def pause(self, run_id: str, reason: StopReason = PAUSED) -> None:
        """Start no further call; what is in flight ends and is kept. A queued run leaves the queue and is paused.
        Nothing happens to a run that has ended."""
        self.engine.submit(self._halt(run_id, "paused", reason)).result()

    def stop(self, run_id: str) -> None:
        """Cancel what is in flight; what is committed is kept. A queued or paused run is stopped as it stands."""
        self.engine.submit(self._halt(run_id, "stopped", STOPPED)).result()

    def state(self, run_id: str) -> State:
        """Where a run stands now: queued or running while it is under way, else as stored. UsageError for an unknown
        one."""
        if self.moves(run_id):
            status = self._boards[run_id].status
            if status is not None:
                return status.state
        row = self.store.runs.get(run_id)
        if row is None:
            raise NoSuchRun(run_id)
        return row.state

    def ending(self, run_id: str) -> State | None:
        """What a run that still moves has been told to become; None when it just goes on or does not move."""
        with self._guard:
            live, future = self._live.get(run_id), self._queued.get(run_id)
        return live.ending if live is not None and future is not None and not future.done() else None

    def under_way(self) -> tuple[str, ...]:
        """Runs that move or are queued, in their order; those of the lab are left out."""
        return tuple(run_id for run_id in self._open_runs() if run_id not in self._beside)

    def outcome(self, run_id: str) -> BaseException | None:
        """The error that ended the run's last session in this process, or None."""
        with self._guard:
            future = self._queued.get(run_id)
        return future.exception() if future is not None and future.done() and not future.cancelled() else None

    def listen(self, listener: Listener) -> None:
        """Hear of every event of every run, in the engine's thread: must not block."""
        self._listeners.append(listener)

    def close(self) -> None:
        """Pause what moves, wait for what is in flight, close the file."""
        for run_id in self._open_runs():
            self._tell(run_id, Driver.interrupt)
        with self._guard:
            futures = list(self._queued.values())
        for future in futures:
            future.exception()
        self.models.students.remove(self.tutor.find)
        self.tutor.close()
        self.ahead.close()
        self.project.close()

    # -- what the live route looks at

    def board(self, run_id: str) -> LiveRunState | None:
        """The run's board; of a run that has not moved in this process, one with only its status. None: no such run."""
        board = self._boards.get(run_id)
        if board is not None:
            return board
        run = self.store.runs.get(run_id)
        if run is None:
            return None
        board = LiveRunState(run_id)
        board.publish(run_view.status_of(run))
        return self._boards.setdefault(run_id, board)

    def document(self, _run_id: str, document_id: str) -> DocumentText | None:
        """A document's text, or None."""
        return run_view.document(self.store, document_id)

    def replay(self, run_id: str, document_id: str) -> Replay | None:
        """The stored debate on a document, None when there is none."""
        return run_view.replay(self.store, run_id, document_id)

    def finished(self, run_id: str, *, query: str, status: str, offset: int, limit: int) -> FinishedPage:
        """Debates that have ended, newest first; ``query`` is looked for in ids and texts, ``status`` may be empty."""
        return run_view.finished(self.store, run_id, query=query, status=status, offset=offset, limit=limit)

    # -- what the frame shows

    def latest_run(self) -> str | None:
        """The run that was made last, None before the first."""
        return self.store.runs.latest_id()

    def run_name(self, run_id: str) -> str:
        """What a run is called on the screen."""
        return f"Run {run_id}"

    def saved_at(self) -> float | None:
        """When something was last written to the file (unix seconds), None when nothing was since it was opened."""
        return self.project.saved_at

    def moves(self, run_id: str) -> bool:
        """Whether a run moves or is queued, be it one of the lab."""
        return run_id in self._open_runs()

    def _open_runs(self) -> tuple[str, ...]:
        with self._guard:
            return tuple(run_id for run_id, future in self._queued.items() if not future.done())

    def _publisher(self, board: LiveRunState) -> Listener:
        def publish(event: Event) -> None:
            board.publish(event)
            for listener in self._listeners:
                listener(event)

        return publish

    async def _drive(self, live: Driver, turn: asyncio.Lock) -> RunStatus:
        async with turn:
            self._moving[live.run_id] = live
            try:
                return await live.run()
            finally:
                del self._moving[live.run_id]

    async def _halt(self, run_id: str, state: Literal["paused", "stopped"], reason: StopReason) -> None:
        """In the engine's thread, so that a run cannot begin to move while it is taken out of the queue."""
        live = self._moving.get(run_id)
        if live is not None:
            (live.pause if state == "paused" else live.stop)(reason)
            return
        with self._guard:
            future = self._queued.get(run_id)
            waits = future is not None and not future.done()
            if future is not None and waits:
                del self._queued[run_id]
                future.cancel()
        row = await asyncio.to_thread(self.store.runs.get, run_id)
        still = ("queued", "paused") if state == "stopped" else ("queued",)
        if row is None or not (waits or row.state in still):
            return
        await self.project.sink.state(run_id, state, reason)
        if (row := await asyncio.to_thread(self.store.runs.get, run_id)) is not None and run_id in self._boards:
            self._boards[run_id].publish(run_view.status_of(row))

    async def _load(self, ids: Sequence[str]) -> Sequence[Document]:
        return await asyncio.to_thread(self.store.documents.load, ids, gold=False)

    def _tell(self, run_id: str, order: Callable[[Driver], None]) -> None:
        with self._guard:
            live = self._live.get(run_id)
        if live is not None:
            self.engine.loop.call_soon_threadsafe(order, live)
