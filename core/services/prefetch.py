"""Prefetch results for the pages that the user will probably open next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from core.errors import MootError

log = logging.getLogger(__name__)


class Prefetcher:
    """One background thread that computes results for the cache.

    The functions must cache their results (``core.services.cache``): return values are discarded. The page that needs
    the result shows its MootError; other errors are logged.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="moot-prefetch")
        self._next: Future[None] | None = None
        self._closed = False

    def submit_latest(self, compute: Callable[[], object]) -> None:
        """Run a function after the current one, replacing a waiting one. Ignored after ``close``."""
        with self._gate:
            if self._closed:
                return
            if self._next is not None:
                self._next.cancel()
            self._next = self._workers.submit(_run, compute)

    def close(self) -> None:
        """Drop the waiting function and wait for the current one."""
        with self._gate:
            self._closed = True
        self._workers.shutdown(cancel_futures=True)


def _run(compute: Callable[[], object]) -> None:
    try:
        compute()
    except MootError:
        pass
    except Exception:
        log.exception("prefetching failed")
