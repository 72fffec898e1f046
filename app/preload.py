"""Loading of slow libraries after the first page, and prefetching of the evaluation.

A thread loads the libraries once the first page is drawn, so that neither the start nor a later click waits for them. A
page that imports one of them meanwhile waits for Python's lock on that library. So that no thread sees a half
initialised library, the thread imports each under the name that the rest of the code uses, one after the other.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from core.services.session import ProjectSession

AT_START = ("narwhals.stable.v1", "pandas")
"""Libraries that two threads must not import at once. The modules of narwhals (part of Altair and scikit-learn) import
each other, so that the threads would wait for each other. Altair uses pandas as soon as another thread begins to import
it."""
LIBRARIES = (
    "keyring", "genai_prices", "altair", "scipy.special", "scipy.stats", "sklearn.feature_extraction.text",
)  # fmt: skip
"""Libraries of keys, prices, charts, metrics and the classifier: more than half of the time of all imports."""
DELAY_SECONDS = 2.0
"""Seconds in which the browser draws the first page, for which it needs a processor as well."""

_page_drawn = threading.Event()
_stopping = threading.Event()


@contextmanager
def running() -> Iterator[None]:
    """Load the libraries in a thread, ``DELAY_SECONDS`` after ``note_page``."""
    for name in AT_START:
        import_module(name)
    thread = threading.Thread(target=_load, name="preload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        _stopping.set()
        _page_drawn.set()
        thread.join(5)  # a thread that still runs at the end of the interpreter keeps objects of libraries


def note_page() -> None:
    """Note that a page is drawn."""
    _page_drawn.set()


def _load() -> None:
    _page_drawn.wait()
    _stopping.wait(DELAY_SECONDS)
    for name in LIBRARIES:
        if _stopping.is_set():
            return
        import_module(name)
    gc.freeze()  # exclude these objects from garbage collection; the engine undoes this when it stops


def prefetch_evaluation(session: ProjectSession) -> None:
    """Start computing the scores of the latest run and their chart in the background.

    Returns immediately.
    """

    def compute() -> None:
        from app.screens.evaluate import score_bars
        from core.services.evaluation.debate_effect import debate_effect
        from core.services.evaluation.prefetch import prefetch_scores
        from core.services.evaluation.scores import role_scores

        found = prefetch_scores(session)
        if found is not None:
            roles = role_scores(session, found.run, found.reference)
            score_bars.preload(found, roles, debate_effect(session, found.run, found.reference))

    session.prefetcher.submit_latest(compute)
