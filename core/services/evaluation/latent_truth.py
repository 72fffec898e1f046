"""Latent truth as a reference: the labels that raters, reviewers and runs imply together (Dawid and Skene)."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.codebook import Codebook
from core.formatting import join_names
from core.services.project_session import ProjectSession
from core.services.result_cache import cached_while
from core.stats.latent_truth import dawid_skene
from core.store.annotation_sources import LATENT as LATENT

MIN_ANNOTATORS = 3
"""Annotators of an item that an estimate of its latent truth needs."""
_MIN_ANSWERS = 2
_MIN_PROBABILITY = 0.5


@cached_while(lambda session, **_: session.store.annotations.basis(LATENT))
def refresh(session: ProjectSession, codebook: Codebook) -> tuple[str, ...]:
    """Estimate and store the latent labels of a codebook, and return the annotators. Cheap if no answer has changed.

    Annotators are the gold raters, the reviewers, and the verdicts of each run except canaries and the Lab. A document
    has a latent label where two of them answered, and one value is more probable than all others together. Ratings and
    items with fewer than MIN_ANNOTATORS have none. Values that the codebook does not allow do not count.
    """
    if codebook.kind == "rating":
        return ()
    import pandas as pd

    runs = [run.run_id for run in session.all_runs() if not run.is_canary]
    answers: Any = session.store.latent_labels.answers(runs, codebook).to_pandas(strings_to_categorical=True)
    labels: list[tuple[str, str, str]] = []
    used: set[str] = set()
    for item, of_item in answers.groupby("item", observed=True):
        annotators = set(of_item["annotator"])
        codes, values = pd.factorize(of_item["value"])
        if len(annotators) < MIN_ANNOTATORS:
            continue
        table = of_item.assign(code=codes).pivot(index="document_id", columns="annotator", values="code").fillna(-1)
        patterns, pattern, counts = np.unique(table.to_numpy(np.int64), axis=0, return_inverse=True, return_counts=True)
        probabilities = dawid_skene(patterns, len(values), counts=counts).probabilities
        answered = (patterns >= 0).sum(axis=1)
        is_certain = (probabilities.max(axis=1) > _MIN_PROBABILITY) & (answered >= _MIN_ANSWERS)
        best = np.asarray(values, dtype=object)[probabilities.argmax(axis=1)]
        best[~is_certain] = None
        estimates = zip(table.index, best[pattern.reshape(-1)], strict=True)
        labels += [(document, item, value) for document, value in estimates if value is not None]
        used |= annotators
    session.store.latent_labels.replace(codebook, labels)
    return tuple(sorted(used))


def warning(session: ProjectSession, codebook: Codebook) -> str:
    """Return whose answers the latent truth of a codebook rests on and what it assumes, or what it needs."""
    names = refresh(session, codebook)
    if not names:
        return f"An estimated truth needs the labels of {MIN_ANNOTATORS} raters, reviewers or runs. Ratings have none."
    return (
        f"The truth is estimated from {join_names(names)} (Dawid and Skene, 1979), as if they erred independently. "
        "Models that share errors confirm each other and look better than they are, and the evaluated run is one of "
        "them."
    )
