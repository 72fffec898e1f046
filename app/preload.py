"""Loading of slow libraries at start-up, and prefetching of the evaluation.

The libraries are loaded before the studio serves, so that no click waits for them. A thread beside the first page is
not safe: libraries that two threads import at once can meet half initialised. After the first page is too late: a
click while a page's script still runs can get lost.
"""

from __future__ import annotations

import gc
from importlib import import_module

from core.services.session import ProjectSession

LIBRARIES = ("altair", "sklearn.feature_extraction.text", "sklearn.linear_model")


def load() -> None:
    """Load the libraries of charts, metrics and the classifier. Takes a second or two."""
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()  # the collector does not walk over all this again; the end of the engine undoes it


def prefetch_evaluation(session: ProjectSession) -> None:
    """Compute the scores of the latest run and their chart in the background. Returns at once."""

    def compute() -> None:
        from app.screens.evaluate import charts
        from core.services.evaluation.debate_effect import debate_effect
        from core.services.evaluation.prefetch import prefetch_scores
        from core.services.evaluation.scores import role_scores

        found = prefetch_scores(session)
        if found is not None:
            roles = role_scores(session, found.run, found.reference)
            charts.preload(found, roles, debate_effect(session, found.run, found.reference))

    session.prefetcher.work(compute)
