"""What takes seconds to load is loaded before the studio serves, so that no click waits for it.

Not beside the first page: libraries that two threads load at once can meet half made; nor at its end: what a person
presses while a page's script still runs can get lost.
"""

from __future__ import annotations

import gc
from importlib import import_module

from core.services.session import ProjectSession

LIBRARIES = ("altair", "sklearn.feature_extraction.text", "sklearn.linear_model")


def load() -> None:
    """Load what charts, metrics and the student stand on. Takes a second or two."""
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()  # no look for cycles walks over all this again; the end of the engine takes it back


def prepare(session: ProjectSession) -> None:
    """Have the scores of the latest run and their chart made in the background. Comes back at once."""

    def make() -> None:
        from app.screens.evaluate import charts
        from core.services.evaluation import evaluated

        found = evaluated.first(session)
        if found is not None:
            charts.spec(found)

    session.prefetcher.work(make)
