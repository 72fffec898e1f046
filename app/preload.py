"""Loading of slow libraries in a thread, and prefetching of the evaluation.

The thread first loads what the first page needs, while the browser loads Streamlit's own scripts on another processor.
Once the first page is drawn, it loads the rest, so that neither the start nor a later click waits for it. A page that
imports one of these libraries meanwhile waits for Python's lock on that library. So that no thread sees a half
initialised library, the thread imports each under the name that the rest of the code uses, one after the other.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from core.services.session import ProjectSession

BEFORE_PAGES = ("narwhals.stable.v1", "pandas")
"""Libraries that two threads must not import at once. The modules of narwhals (part of Altair and scikit-learn) import
each other, so that the threads would wait for each other. Altair uses pandas as soon as another thread begins to import
it."""
LIBRARIES = (
    "keyring", "genai_prices", "altair", "scipy.special", "scipy.stats", "sklearn.feature_extraction.text",
)  # fmt: skip
"""Libraries of keys, prices, charts, metrics and the classifier: more than half of the time of all imports."""
DELAY_SECONDS = 2.0
"""Seconds in which the browser draws the first page, for which it needs a processor as well."""

_ready = threading.Event()
_ready.set()  # without ``running``, as in tests, a page loads what it needs itself
_page_drawn = threading.Event()
_stopping = threading.Event()


@contextmanager
def running() -> Iterator[None]:
    """Load what the first page needs in a thread, and ``DELAY_SECONDS`` after ``note_page`` the other libraries."""
    _ready.clear()
    thread = threading.Thread(target=_load, name="preload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        _stopping.set()
        _page_drawn.set()
        thread.join(5)  # a thread that still runs at the end of the interpreter keeps objects of libraries


def wait_until_ready() -> None:
    """Wait until what the first page needs is loaded."""
    _ready.wait()


def note_page() -> None:
    """Note that a page is drawn."""
    _page_drawn.set()


def _load() -> None:
    try:
        for name in BEFORE_PAGES:
            import_module(name)
        from core.services.authors import files as author_files
        from core.services.data import sample_projects

        sample_projects.sample_cards()
        author_files.sample_card()
    finally:
        _ready.set()
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
