"""Work in the background: jobs for a page that polls, and results for pages that the user will probably open next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

from core.errors import MootError, WorkStopped

log = logging.getLogger(__name__)

T = TypeVar("T")
OnStep: TypeAlias = Callable[[float, str], None]
"""Called with a share from 0 to 1 and the current step."""


def in_thread(work: Callable[[], T], name: str) -> Future[T]:
    """Start work in a daemon thread of its own and return its future result, which cannot be cancelled."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # raised again by result()
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


class Job(Generic[T]):
    """Progress and result of work that neither a rerun nor leaving the page stops or repeats.

    ``start`` begins the work and returns its future; it gets a function that reports the progress.
    """

    def __init__(self, start: Callable[[OnStep], Future[T]], step: str) -> None:
        self.share = 0.0
        self.step = step
        self._future = start(self._report)

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds`` and return True if the job has ended."""
        futures.wait([self._future], seconds)
        return self._future.done()

    def result(self) -> T:
        """Return the result, waiting for it if necessary.

        Raises the error that ended the job, and WorkStopped if it was stopped.
        """
        try:
            return self._future.result()
        except CancelledError:
            remedy = "Replies received by then are stored, and are not paid for again."
            raise WorkStopped("The work was stopped.", remedy) from None

    @property
    def can_stop(self) -> bool:
        """True until the job ends, if the engine does its work. A thread cannot be stopped."""
        return not (self._future.running() or self._future.done())

    def stop(self) -> None:
        """Cancel the job and its calls in flight. Does nothing if it cannot be stopped."""
        self._future.cancel()

    def _report(self, share: float, step: str) -> None:
        self.share, self.step = min(1.0, share), step


class Prefetcher:
    """One background thread that computes results for the pages that the user will probably open next.

    The functions must cache their results (``cached_while``): return values are discarded. The page that
    needs the result shows its MootError; other errors are logged.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="moot-prefetch")
        self._next: Future[None] | None = None

    def submit_latest(self, compute: Callable[[], object]) -> None:
        """Run a function after the current one, replacing a waiting one. Ignored after ``close``."""
        with self._gate, suppress(RuntimeError):  # closed
            if self._next is not None:
                self._next.cancel()
            self._next = self._workers.submit(_run, compute)

    def close(self) -> None:
        """Drop the waiting function and wait for the current one."""
        self._workers.shutdown(cancel_futures=True)


def _run(compute: Callable[[], object]) -> None:
    try:
        with suppress(MootError):
            compute()
    except Exception:
        log.exception("prefetching failed")
