"""Load slow libraries in a thread, and prefetch what Review and Evaluate show first.

Home needs none of these libraries. The thread begins once a page is drawn, so that neither the start nor a later click
waits for them. Another page that is requested before loads those that it may need. A page that imports one of the
others meanwhile waits for Python's lock on that library. So that no thread sees a half initialised library, the thread
imports each under the name that the rest of the code uses, one after the other.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from core.services.project_session import ProjectSession

BEFORE_PAGES = ("narwhals.stable.v1", "pandas")
"""Libraries that two threads must not import at once. The modules of narwhals (part of Altair and scikit-learn) import
each other, so that the threads would wait for each other. Altair uses pandas as soon as another thread begins to import
it."""
LIBRARIES = ("keyring", "genai_prices", "altair", "scipy.special", "scipy.stats", "sklearn.feature_extraction.text")
"""Libraries of keys, prices, charts, metrics and the classifier: more than half of the time of all imports."""
DELAY_SECONDS = 1.0
"""Seconds in which the browser draws the first page, for which it needs a processor as well."""

_ready = threading.Event()
_ready.set()  # without ``running``, as in tests, a page loads what it needs itself
_importing = threading.Lock()
_page_drawn = threading.Event()
_stopping = threading.Event()


@contextmanager
def running() -> Iterator[None]:
    """Load the libraries in a thread, from ``DELAY_SECONDS`` after ``note_page`` on."""
    _ready.clear()
    thread = threading.Thread(target=_load, name="preload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        for event in (_stopping, _ready, _page_drawn):
            event.set()
        thread.join(5)  # a thread that still runs at the end of the interpreter keeps objects of libraries


def load_before_pages() -> None:
    """Load the libraries that two threads must not import at once, unless they are loaded. Home does without them."""
    with _importing:
        try:
            for name in () if _ready.is_set() else BEFORE_PAGES:
                import_module(name)
        finally:
            _ready.set()


def note_page() -> None:
    _page_drawn.set()


def _load() -> None:
    _page_drawn.wait()
    _ready.wait(DELAY_SECONDS)
    load_before_pages()
    _stopping.wait(DELAY_SECONDS)
    for name in LIBRARIES:
        if _stopping.is_set():
            return
        import_module(name)
    gc.freeze()  # exclude these objects from garbage collection; the engine undoes this when it stops


def prefetch_results(session: ProjectSession) -> None:
    """Start preparing the review queue and the scores of the latest run in the background.

    Returns immediately. Nothing is computed while a run is active, as each verdict would invalidate it.
    """

    def compute() -> None:
        _ready.wait()
        from core.services.evaluation.annotation_arrays import ranked_runs
        from core.services.evaluation.prefetch import prefetch_scores
        from core.services.review import queue
        from core.services.review.actions import default_reviewer

        if not session.active_runs() and (runs := ranked_runs(session)):
            queue.list_queue(session, runs[0], queue.QueueFilter(sort="queue", size=1), actor=default_reviewer())
            prefetch_scores(session, runs[0])

    session.prefetcher.submit_latest(compute)
