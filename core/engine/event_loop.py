"""One asyncio loop in one thread for everything that calls models, and child processes that the loop ends."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

YOUNG, MIDDLE, OLD = 20_000, 20, 20
"""Thresholds of the garbage collector; the defaults cost a run a seventh of its processor time."""


def tune_garbage_collection() -> None:
    """Collect less often, and never the existing objects, which stay until the end."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


async def gather_all(awaitables: Iterable[Awaitable[T]]) -> list[T]:
    """Return the results of parallel awaitables in order; raise their first error when all have ended.

    Plain ``gather`` raises at once and leaves the others running, with nobody to count or cancel what they pay for.
    """
    work = list(awaitables)
    if len(work) == 1:
        return [await work[0]]  # most requests are single and need no task
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


class EngineThread:
    """The engine's loop, started on construction. ``stop`` cancels the remaining tasks and joins the thread."""

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        tune_garbage_collection()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._run, name="moot-engine", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; the future may be waited for from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stop(self) -> None:
        """Cancel the running tasks, wait for them and close the loop. Safe to call twice."""
        if self.loop.is_closed():
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        with self._runner:  # cancels the remaining tasks and closes the loop
            self.loop.run_forever()


async def start_python(
    *arguments: str, env: Mapping[str, str] | None = None, **options: Any
) -> asyncio.subprocess.Process:
    """Start Python with this import path in a process group of its own, which Ctrl-C does not reach.

    Nothing is imported from the current folder (``-P``), which may be somebody else's.
    ``env`` are further environment variables, ``options`` those of ``create_subprocess_exec``.
    """
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
    else:
        options["start_new_session"] = True
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", *arguments, env={**os.environ, **path, **(env or {})}, **options
    )


def terminate(process: asyncio.subprocess.Process) -> None:
    """Ask a process and its children to end. On Windows, end the process."""
    if sys.platform == "win32":
        process.terminate()
    else:
        os.killpg(process.pid, signal.SIGTERM)
