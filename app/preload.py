"""Loading of slow libraries around the first page, and prefetching of the evaluation.

Libraries that the first page needs are loaded before the server starts. The others are loaded in a thread once the
first page is drawn, so that neither the start nor a later click waits for them. A page that imports one of them
meanwhile waits for Python's lock on that library. So that no thread sees a half initialised library, the thread imports
each under the name that the rest of the code uses, one after the other.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from core.services.session import ProjectSession

AT_START = ("pandas", "keyring", "genai_prices")
"""Libraries of tables, keys and prices."""
AFTER_FIRST_PAGE = ("altair", "scipy.special", "scipy.stats", "sklearn.feature_extraction.text")
"""Libraries of charts, metrics and the classifier: more than half of the time of all imports."""

_page_drawn = threading.Event()
_stopping = threading.Event()


@contextmanager
def running() -> Iterator[None]:
    """Load what the first page needs. Meanwhile, a thread loads the rest after ``note_page``."""
    for name in AT_START:
        import_module(name)
    thread = threading.Thread(target=_load_rest, name="preload", daemon=True)
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


def _load_rest() -> None:
    _page_drawn.wait()
    for name in AFTER_FIRST_PAGE:
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
