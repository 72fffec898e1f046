"""A thread that works out what a person is likely to look at next while they look at something else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger(__name__)


class Prefetcher:
    """Owns the thread. What is worked out must be kept by whoever works it out (``core.services.cache``): here it is
    thrown away. What fails is logged, as the page that asks for it says so anyway."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="moot-ahead")
        self._next: Future[None] | None = None
        self._closed = False

    def work(self, what: Callable[[], object]) -> None:
        """Do this when the one under way has ended, in place of what waited till now. Nothing after ``close``."""
        with self._gate:
            if self._closed:
                return
            if self._next is not None:
                self._next.cancel()
            self._next = self._workers.submit(_tried, what)

    def close(self) -> None:
        """Drop what waits, and wait for what is under way."""
        with self._gate:
            self._closed = True
        self._workers.shutdown(cancel_futures=True)


def _tried(what: Callable[[], object]) -> None:
    try:
        what()
    except Exception:
        log.exception("what was worked out ahead failed")
