"""Loading of slow libraries at start-up, and prefetching of the evaluation.

The libraries are loaded before the server starts, so that no click waits for them. Loading them in a thread beside the
first page is not safe: two threads that import one library can see it half initialised. Loading them after the first
page is too late: a click during a script run can get lost.
"""

from __future__ import annotations

import gc
from importlib import import_module

from core.services.session import ProjectSession

LIBRARIES = ("altair", "sklearn.feature_extraction.text", "sklearn.linear_model", "keyring", "genai_prices")


def load() -> None:
    """Load the libraries of charts, metrics, the classifier, keys and prices, which takes one or two seconds."""
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()  # exclude these objects from garbage collection; the engine undoes this when it stops


def prefetch_evaluation(session: ProjectSession) -> None:
    """Start computing the scores of the latest run and their chart in the background.

    Returns immediately.
    """

    def compute() -> None:
        from app.screens.evaluate import charts
        from core.services.evaluation.debate_effect import debate_effect
        from core.services.evaluation.prefetch import prefetch_scores
        from core.services.evaluation.scores import role_scores

        found = prefetch_scores(session)
        if found is not None:
            roles = role_scores(session, found.run, found.reference)
            charts.preload(found, roles, debate_effect(session, found.run, found.reference))

    session.prefetcher.submit_latest(compute)
